"""Cost against the number of tags and of pictures, as curves; MAP with its evidence at 30,000 tags."""

import warnings
from typing import Any

import tagmix as tm
from benchmarks.albums import corel_like
from benchmarks.measure import isolated, timed

TAGS = (100, 300, 1_000, 3_000, 10_000, 30_000)
IMAGES = (500, 1_000, 2_000, 4_000, 8_000)


def one_size(n_images: int, n_tags: int) -> dict[str, Any]:
    """Return CPU seconds of ten iterations and of annotation per picture, by both kinds of inference."""
    n_test = 100
    album = {"n_tags": n_tags, "n_regions": 8, "words_per_region": 60}
    bags = corel_like(n_images + n_test, **album)
    train, test = bags[:n_images], bags[n_images:]
    emm = tm.EMM(learning="likelihood", calibration_folds=0, max_iter=10, tol=0.0)
    warnings.simplefilter("ignore")  # ten iterations are not convergence, and are not meant to be
    tm.EMM(learning="likelihood", calibration_folds=0, max_iter=2).fit(train[:20]).predict_proba(test[:2])
    training = timed(lambda: emm.fit(train))
    result = {"images": n_images, "tags": n_tags, "iteration": training["cpu"] / 10}
    for inference in ("variational", "map"):
        emm.set_params(inference=inference).predict_proba(test[:2])
        result[inference] = timed(lambda: emm.predict_proba(test), repeat=3)["cpu"] / n_test
    return result


def run() -> list[dict[str, Any]]:
    """Return one row per size, and the promise on MAP at 30,000 tags (evidence included)."""
    rows = []
    for n_tags in TAGS:
        rows.append(isolated("bench_scaling", "one_size", 2000, n_tags) | {"curve": "tags"})
    for n_images in IMAGES:
        rows.append(isolated("bench_scaling", "one_size", n_images, 374) | {"curve": "images"})
    for row in rows:
        row["what"] = f"{row['images']:,} images, {row['tags']:,} tags"
        row["ours"] = (
            f"{row['iteration'] * 1e3:.0f} ms an iteration, {1 / row['variational']:,.0f} images/s, "
            f"{1 / row['map']:,.0f} images/s map, {row['peak_mb']:.0f} MB"
        )
    largest = rows[len(TAGS) - 1]
    rows.append(
        {
            "what": "MAP at 30,000 tags, words to scores, images a second a core",
            "ours": f"{1 / largest['map']:,.0f}",
            "peer": "",
            "ratio": 1 / largest["map"] / 100,
            "promise": 1.0,
        }
    )
    return rows
