"""Learning 10 corrected tags, and 50 new pictures, beside a full fit: CPU seconds of one core.

The pictures are sampled and described as `tagmix train` describes photos: 40 regions each with three maps of
a network and words of SIFT, colour and place, and two vectors of the whole picture. 80 tags.
"""

from time import process_time
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from benchmarks.albums import network_like
from tagmix import Bags
from tagmix.learners import ContextEMM
from tagmix.learners.continued.remember import remember
from tagmix.learners.continued.update import refit, update
from tagmix.learners.continued.verdicts import Correction, labels_of

SIZES, N_NEW, N_TEST = (2000, 5000), 50, 100
CORRECTED, EXTENDED = 20.0, 5.0
WORDS = {"sift": (1000, 12), "colour": (200, 12), "place": (32, 8)}


def run() -> list[dict[str, Any]]:
    """Return how many times faster updates are than a full fit, and how far they are from a refit."""
    with threadpool_limits(limits=1):
        warm = described(120)
        model = ContextEMM(n_jobs=1)
        update(*remember(model, model.learn(warm[:110])), (), warm[110:])  # compile before timing
        return [row for n in SIZES for row in _rows(n)]


def described(n: int) -> Bags:
    """Return sampled pictures with all views that `tagmix train` gives by default."""
    bags = network_like(n)
    rng = np.random.default_rng(1)
    views: dict[str, Any] = {}
    for name, (width, length) in WORDS.items():
        columns = rng.zipf(1.3, (bags.n_regions, length)) % width
        starts = np.arange(bags.n_regions + 1) * length
        counts = csr_array(
            (np.ones(columns.size, np.int64), columns.ravel(), starts), (bags.n_regions, width)
        )
        counts.sum_duplicates()
        views[name] = counts
    pictures = {"layout": rng.standard_normal((n, 600)), **bags.pictures}
    ids = [f"picture {i}" for i in range(n)]
    return Bags({**views, **bags.views}, bags.offsets, bags.tags, bags.tag_names, ids, pictures)


def _rows(n: int) -> list[dict[str, Any]]:
    bags = described(n + N_NEW + N_TEST)
    old, new, test = bags[:n], bags[n : n + N_NEW], bags[n + N_NEW :].with_tags(None)
    model = ContextEMM(n_jobs=1)
    learnt, whole = _timed(lambda: model.learn(old))
    (model, memory), kept = _timed(lambda: remember(model, learnt))
    names = model.tag_names_
    said = [Correction(old.ids[7 * i + 3], names[i], "no" if i % 2 else "yes") for i in range(10)]
    corrected, first = _timed(lambda: update(model, memory, said))
    extended, second = _timed(lambda: update(model, memory, (), new))
    rows = []
    for what, after, took, promise in (
        ("10 corrected tags", corrected, first, CORRECTED),
        ("50 new pictures", extended, second, EXTENDED),
    ):
        pictures = old if after is corrected else Bags.concat([old, new])
        apart = _apart(after, pictures, test)
        rows.append(
            {
                "what": f"{what}, {n:,} pictures known, {len(names)} tags",
                "ours": f"{took:.2f} s; from a refit {apart:.0e}",
                "peer": f"full fit {whole:.1f} s, and {kept:.1f} s to remember it",
                "ratio": whole / took,
                "promise": promise,
            }
        )
    return rows


def _apart(after: Any, bags: Bags, test: Bags) -> float:
    """Return the largest difference of a probability, or of a share of a region, from a refit."""
    pictures = Bags(
        bags.views,
        bags.offsets,
        ids=bags.ids,
        pictures=bags.pictures,
        **labels_of(after.memory.codes, bags.tag_names or ()),
    )
    again = refit(after.model, after.memory, pictures)
    one, other = after.model.predict_both(test), again.model.predict_both(test)
    return max(float(np.abs(a - b).max()) for a, b in zip(one, other, strict=True))


def _timed(run: Any) -> tuple[Any, float]:
    began = process_time()
    found = run()
    return found, process_time() - began
