"""From picture files to words: time and loss beside the obvious way (see ``obvious``), on drawn scenes.

Times are of one process with one thread, CPU and wall, both ways in turn on the same pictures: the median of
the repeats of each picture, averaged over pictures. The obvious way's total is the sum of its parts. Loss is
looked for where the two differ: descriptors patch by patch, and tags found for whole pictures.

The rule for tags, set before the first run: both ways describe the same album, each learns its own words and
its own EMM, for three draws of patches; the lower end of the 95 % interval (paired bootstrap over test
pictures) of the difference in Top-5 accuracy must stay above −.02.
"""

import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

import tagmix as tm
from benchmarks import obvious
from benchmarks.measure import isolated
from tagmix.datasets import Album, open_album
from tagmix.datasets.scenes import draw_album
from tagmix.evaluation.metrics import top_tags
from tagmix.images.cache import Cache
from tagmix.images.decode import decode
from tagmix.images.describe import Describer
from tagmix.images.patches import content_key, patch_generator, random_patches
from tagmix.images.picture import sample_picture
from tagmix.images.quantise import Quantiser, word_views
from tagmix.images.segment import segment
from tagmix.images.views.colour import patch_colours
from tagmix.images.views.sift import describe_patches

N_TIMED, SIZE, REPEATS = 16, (640, 480), 3
N_PATCHES, N_WORDS, N_COLOURS = 1000, 1000, 200
LEAST_TIME = 0.05
SMALL_SIDE = 160  # the longer side of the copy that ours is cut on
BUCKETS = ((5, 8, 0.96), (8, 10, 0.96), (10, 16, 0.98), (16, 32, 0.98), (32, 64, 0.98), (64, 200, 0.98))
N_TRAIN, N_TEST, ALBUM_WORDS, DRAWS = 240, 360, 300, 3
LEAST_DIFFERENCE = -0.02
PROCESSES = 2

Laps = dict[str, Callable[[], Any]]


def album_of(folder: str) -> Album:
    """Return a drawn album."""
    return open_album(str(Path(folder) / "annotations.jsonl"))


def patches_of(content: bytes, image: NDArray[Any], seed: int = 0) -> NDArray[Any]:
    """Return the patches that ``sample_picture`` draws of a picture."""
    rng = patch_generator(content_key(content), seed)
    return random_patches(image.shape[0], image.shape[1], N_PATCHES, rng)


def descriptors_of(content: bytes, describer: Describer) -> dict[str, NDArray[Any]]:
    """Return the descriptors of a picture's patches by view."""
    picture = sample_picture(content, describer.config)
    return {view.name: view.examples(picture) for view in word_views(describer.config)}


def laps_of(content: bytes, describer: Describer, sift_words: Any, colour_words: Any) -> Laps:
    """Return what is timed on a picture: our stages, ours whole, and the stages of the obvious way."""
    image = decode(content)
    grey, patches = cv2.cvtColor(image, cv2.COLOR_RGB2GRAY), patches_of(content, image)
    found, pieces = descriptors_of(content, describer), obvious.superpixels(image)
    words = describer.vocabularies_
    quantise = Quantiser.of(describer.config, words, Cache(None))
    return {
        "decode": lambda: decode(content),
        "cut": lambda: segment(image),
        "sift": lambda: describe_patches(grey, patches),
        "colour": lambda: patch_colours(image, patches),
        "words": lambda: [words[view].words_of(own) for view, own in found.items()],
        "all": lambda: quantise(content),
        "obvious decode": lambda: obvious.decode(content),
        "obvious slic": lambda: obvious.superpixels(image),
        "obvious cut": lambda: obvious.cut(image, pieces),
        "obvious small": lambda: obvious.cut_small(image, SMALL_SIDE),
        "obvious sift": lambda: obvious.sift(grey, patches),
        "obvious words": lambda: (sift_words.predict(found["sift"]), colour_words.predict(found["colour"])),
    }


def clocked(work: Callable[[], Any]) -> tuple[float, float]:
    """Return CPU and wall milliseconds of a call; short ones are called until ``LEAST_TIME`` has passed."""
    calls, wall, cpu = 0, time.perf_counter(), time.process_time()
    while not calls or time.perf_counter() - wall < LEAST_TIME:
        work()
        calls += 1
    return 1e3 * (time.process_time() - cpu) / calls, 1e3 * (time.perf_counter() - wall) / calls


def stage_times(folder: str) -> dict[str, Any]:
    """Return CPU and wall milliseconds a picture of each stage."""
    obvious.one_thread()
    album = album_of(folder)
    settings = {"n_words": N_WORDS, "n_colours": N_COLOURS, "restarts": 1, "vocabulary_patches": 400}
    describer = Describer.paper(**settings).fit(album)
    contents = [item.image.read_bytes() for item in album]
    found = [descriptors_of(content, describer) for content in contents]
    peers = [
        obvious.learn_words(np.vstack([one[view][:400] for one in found]), n, max_iter=5)
        for view, n in (("sift", N_WORDS), ("colour", N_COLOURS))
    ]
    pictures = [laps_of(content, describer, *peers) for content in contents]
    for work in pictures[0].values():
        work()
    spent = [
        [[clocked(work) for work in laps.values()] for laps in pictures] for _ in range(REPEATS)
    ]  # repeats × pictures × stages × (CPU, wall)
    return dict(zip(pictures[0], np.median(spent, axis=0).mean(axis=0).tolist(), strict=True))


def agreement(folder: str) -> dict[str, Any]:
    """Return, for each range of sides, the mean cosine with OpenCV's SIFT and its lowest twentieth."""
    obvious.one_thread()
    rng = np.random.default_rng(0)
    cosines: dict[str, list[Any]] = {f"{low}–{high}": [] for low, high, _ in BUCKETS}
    for item in album_of(folder):
        grey = cv2.cvtColor(decode(item.image), cv2.COLOR_RGB2GRAY)
        for low, high, _ in BUCKETS:
            sides = rng.uniform(low, high, 100)
            x, y = (rng.uniform(sides / 2, length - 1 - sides / 2) for length in grey.shape[::-1])
            patches = np.stack([x, y, sides], axis=1)
            ours, theirs = describe_patches(grey, patches), obvious.sift(grey, patches)
            sound = ours.any(axis=1) & theirs.any(axis=1)  # a flat patch has no direction to compare
            cosines[f"{low}–{high}"].append((ours * theirs).sum(axis=1)[sound])
    joined = {size: np.concatenate(found) for size, found in cosines.items()}
    return {size: [float(found.mean()), float(np.quantile(found, 0.05))] for size, found in joined.items()}


def regions_of(path: Path) -> NDArray[Any]:
    """Return the regions of the obvious way."""
    image = obvious.decode(path.read_bytes())
    return obvious.cut(image, obvious.superpixels(image)).astype(np.int16)


def obvious_features(path: Path, seed: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return OpenCV's SIFT of the patches of a picture, and where they are: row and column."""
    content = path.read_bytes()
    image = obvious.decode(content)
    patches = patches_of(content, image, seed)
    places = np.rint(patches[:, 1::-1]).astype(np.int64)
    return obvious.sift(cv2.cvtColor(image, cv2.COLOR_RGB2GRAY), patches), np.clip(
        places, 0, [image.shape[0] - 1, image.shape[1] - 1]
    )


def obvious_bags(regions: list[Any], features: list[Any], like: tm.Bags) -> tm.Bags:
    """Return the album in words of the obvious way, with the tags of ``like``."""
    seen = np.vstack([sift[:200] for sift, _ in features[:N_TRAIN]])
    words = obvious.learn_words(seen, ALBUM_WORDS)
    starts = np.cumsum([0, *(labels.max() + 1 for labels in regions)])
    rows = [
        labels[tuple(places.T)].astype(np.int64) + start
        for labels, (_, places), start in zip(regions, features, starts, strict=False)
    ]
    columns = [words.predict(sift) for sift, _ in features]
    entries = np.concatenate(rows), np.concatenate(columns)
    counts = csr_array((np.ones(len(entries[0]), np.int64), entries), shape=(int(starts[-1]), ALBUM_WORDS))
    return tm.Bags({"sift": counts}, starts, tags=like.tags, tag_names=like.tag_names)


def hits_of(bags: tm.Bags) -> NDArray[Any]:
    """Return how many of the five best tags each test picture has, after learning from the others."""
    learner = tm.EMM(learning="likelihood", evidence=0.05, calibration_folds=0, max_iter=1000)
    best = top_tags(learner.fit(bags[:N_TRAIN]).predict_proba(bags[N_TRAIN:]), 5)
    return np.take_along_axis(bags[N_TRAIN:].captions.toarray(), best, axis=1).sum(axis=1)


def accuracy(folder: str) -> dict[str, Any]:
    """Return Top-5 accuracy of both ways on the same pictures, and the interval of the difference."""
    album = album_of(folder)
    paths = [item.image for item in album]
    ours, theirs = [], []
    with ProcessPoolExecutor(
        PROCESSES, mp_context=get_context("forkserver"), initializer=obvious.one_thread
    ) as pool:
        regions = list(pool.map(regions_of, paths, chunksize=4))
        for seed in range(DRAWS):
            features = list(pool.map(partial(obvious_features, seed=seed), paths, chunksize=4))
            describer = Describer.paper(n_words=ALBUM_WORDS, restarts=1, n_jobs=PROCESSES, seed=seed)
            bags = describer.fit(album[:N_TRAIN]).transform(album).bags
            ours.append(hits_of(bags))
            theirs.append(hits_of(obvious_bags(regions, features, bags)))
    given = bags[N_TRAIN:].captions.toarray().sum(axis=1)
    mean_regions = float(np.mean([labels.max() + 1 for labels in regions]))
    counts = {"regions": bags.n_regions / len(bags), "obvious regions": mean_regions}
    return counts | compared(np.mean(ours, axis=0), np.mean(theirs, axis=0), given)


def compared(ours: NDArray[Any], theirs: NDArray[Any], given: NDArray[Any]) -> dict[str, Any]:
    """Return both accuracies and the 95 % interval of their difference, from hits and tags a picture."""
    drawn = np.random.default_rng(0).integers(len(ours), size=(5000, len(ours)))
    difference = 2 * (ours - theirs)[drawn].sum(axis=1) / (5 + given)[drawn].sum(axis=1)
    low, high = np.quantile(difference, [0.025, 0.975])
    both = {"ours": ours, "obvious": theirs}
    scores = {name: float(2 * hits.sum() / (5 + given).sum()) for name, hits in both.items()}
    return scores | {"low": float(low), "high": float(high)}


def time_rows(spent: dict[str, list[float]]) -> list[dict[str, Any]]:
    """Return a row a stage and the promises on the whole."""
    at = {name: np.array(both) for name, both in spent.items()}
    at["obvious segment"] = at["obvious slic"] + at["obvious cut"]
    rest = at["obvious decode"] + at["obvious sift"] + at["colour"] + at["obvious words"]
    alone = {"what": "all, beside decoding alone with Pillow", "limit": 15.0}

    def row(what: str, ours: str, peer: str, theirs: Any, turned: bool = False) -> dict[str, Any]:
        ratio = float(at[ours][0] / theirs[0] if turned else theirs[0] / at[ours][0])
        shown = [f"{cpu:,.1f} ms CPU, {wall:,.1f} wall" for cpu, wall in (at[ours], theirs)]
        return {"what": what, "ours": shown[0], "peer": f"{peer} {shown[1]}", "ratio": ratio}

    return [
        row("decode a JPEG of 640 × 480", "decode", "Pillow", at["obvious decode"]),
        row("cut into regions", "cut", "SLIC, RAG, cut_normalized", at["obvious segment"]),
        row(f"SIFT of {N_PATCHES:,} patches", "sift", "OpenCV", at["obvious sift"]),
        row("their colours", "colour", "the same", at["colour"]),
        row(f"nearest of {N_WORDS:,} + {N_COLOURS} words", "words", "scikit-learn", at["obvious words"]),
        row("all", "all", "the obvious way", rest + at["obvious segment"]) | {"promise": 10.0},
        row("all, peer cut on a small copy", "all", "the obvious way", rest + at["obvious small"]),
        row("all, peer without graph and cut", "all", "SLIC only", rest + at["obvious slic"]),
        row("", "all", "Pillow", at["obvious decode"], turned=True) | alone,
    ]


def loss_rows(cosines: dict[str, Any], tags: dict[str, Any]) -> list[dict[str, Any]]:
    """Return a row a size of patches, and one on tags."""
    rows = [
        {
            "what": f"SIFT beside OpenCV, patches of {low}–{high} pixels, mean cosine",
            "ours": f"19 in 20 above {cosines[f'{low}–{high}'][1]:.3f}",
            "ratio": cosines[f"{low}–{high}"][0],
            "promise": promise,
            "unit": "",
        }
        for low, high, promise in BUCKETS
    ]
    difference = tags["ours"] - tags["obvious"]
    note = f"difference {difference:+.3f}, 95 % interval {tags['low']:+.3f} … {tags['high']:+.3f}"
    return [
        *rows,
        {
            "what": f"Top-5 accuracy on {N_TEST} drawn pictures, {note}",
            "ours": f"{tags['ours']:.3f} with {tags['regions']:.1f} regions",
            "peer": f"the obvious way {tags['obvious']:.3f} with {tags['obvious regions']:.1f} regions",
            "ratio": tags["low"],
            "promise": LEAST_DIFFERENCE,
            "unit": "",
        },
    ]


def run() -> list[dict[str, Any]]:
    """Return the figures and promises; takes some minutes, most of them the obvious way's."""
    with tempfile.TemporaryDirectory() as folder:
        large, small = (str(Path(folder) / name) for name in ("large", "small"))
        print(f"  drawing {N_TIMED} pictures to time and {N_TRAIN + N_TEST} to learn from …", flush=True)
        draw_album(large, N_TIMED, size=SIZE)
        draw_album(small, N_TRAIN + N_TEST, seed=1)
        print("  timing both ways …", flush=True)
        spent = isolated("bench_pictures", "stage_times", large)
        cosines = isolated("bench_pictures", "agreement", large)
        print(f"  describing and learning an album both ways, {DRAWS} times …", flush=True)
        tags = isolated("bench_pictures", "accuracy", small)
    spent.pop("peak_mb")
    return time_rows(spent) + loss_rows(cosines, tags)
