"""The cost of a context: EMM with its search for κ beside kernel ridge alone, on one core."""

from time import perf_counter
from typing import Any

from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from benchmarks.albums import corel_like
from tagmix.learners import ContextEMM, KernelRidge

N_TRAIN, N_TEST = 4500, 500
TIMES, MILLISECONDS = 3.0, 5.0


def run() -> list[dict[str, Any]]:
    """Return the cost of training, as a multiple of kernel ridge, and of annotation per picture."""
    bags = corel_like(N_TRAIN + N_TEST)
    train, test = bags[:N_TRAIN], bags[N_TRAIN:].with_tags(None)
    with threadpool_limits(limits=1, user_api="blas"):
        ContextEMM(evidence=0.1).fit(train[:100])  # compile before timing
        began = perf_counter()
        KernelRidge().fit(train)
        alone = perf_counter() - began
        began = perf_counter()
        model = ContextEMM().fit(train)
        whole = perf_counter() - began
        began = perf_counter()
        model.predict_both(test)
        each = (perf_counter() - began) / N_TEST * 1e3
    return [
        {
            "what": f"learning from {N_TRAIN:,} pictures, {bags.n_tags} tags",
            "ours": f"{whole:.1f} s, the choice of κ included",
            "peer": f"KernelRidge {alone:.1f} s",
            "ratio": whole / alone,
            "limit": TIMES,
        },
        {
            "what": "annotating a described picture and its regions",
            "ours": f"{each:.2f} ms",
            "ratio": each,
            "limit": MILLISECONDS,
            "unit": "ms",
        },
    ]
