"""Learn from a dozen drawn pictures and annotate one: ``python -m tagmix.cli.checks.self_test``."""

import time
import warnings
from tempfile import TemporaryDirectory

from tagmix import ContextEMM, Describer, open_album, train
from tagmix.annotate import Annotation
from tagmix.datasets.scenes import draw_album


def report() -> str:
    """Return in one line that it works, and how long it took."""
    start = time.perf_counter()
    with TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        album = open_album(draw_album(folder, 12, seed=1, size=(80, 60)))
        quick = Describer.paper(n_words=20, n_patches=50, restarts=1)
        annotator = train(album, quick, ContextEMM(tol=0.1, evidence=0.1)).annotator
        (found,) = annotator.annotate([album[0].image], k=1)
    if not isinstance(found, Annotation) or not found.tags or not found.regions:
        raise RuntimeError(f"expected an annotation, got {found!r:.100}")
    return f"a drawn picture was annotated, in {time.perf_counter() - start:.1f} s"


if __name__ == "__main__":
    import sys

    sys.stdout.write(report() + "\n")
