"""Segmentation: quality on MSRC v2 and time, beside scikit-image's SLIC, RAG and cut_normalized.

Needs MSRC v2 in the folder msrc_v2 (annotations.jsonl, images, masks) of the folder of TAGMIX_DATA.

Quality is measured on pictures with odd index; the affinity was chosen on those with even index. scikit-image
cuts while Ncut is below a threshold, so its threshold is searched per picture for the number of regions
nearest to ten, and ours use the same number. Four shares:

boundary recall   of true boundary pixels (the unlabelled counts as a label) within 2 pixels of ours
purity            of labelled pixels that have the majority label of their region
pure regions      of regions with at least 90 % of their labelled pixels of one label
objects           of true connected regions of 1 % and more that some region covers with IoU >= 0.5

A ratio is that of ncuts to the best rival that it is promised not to be behind: the grid in all four, and
scikit-image in boundary recall and purity. Between ncuts and graph nothing is promised; the interval of their
difference (paired bootstrap over pictures) says which of the two is ahead.
"""

import json
import math
import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from benchmarks import obvious
from benchmarks.measure import isolated, timed
from tagmix.images.decode import decode, decode_labels
from tagmix.images.segment import segment

DATA = Path(os.environ.get("TAGMIX_DATA", "data")) / "msrc_v2"
PEER_PICTURES = 60
PEER_TRIALS = 5
PEER_SUPERPIXELS = 400  # scikit-image's own example
PEER = "scikit-image"
METHODS = ("ncuts", "graph", "grid")
N_REGIONS = 10
MEASURES = ("boundary recall", "purity", "pure regions", "objects")
NEAR = np.array([[abs(y) + abs(x) <= 2 for x in range(-2, 3)] for y in range(-2, 3)], np.uint8)


class Truth(NamedTuple):
    """A mask: labels, boundary pixels, connected regions (0 = unlabelled) and the large ones."""

    labels: NDArray[Any]
    boundary: NDArray[Any]
    objects: NDArray[Any]
    large: NDArray[Any]


def boundary(labels: NDArray[Any]) -> NDArray[Any]:
    """Return which pixels touch another label."""
    found = np.zeros(labels.shape, bool)
    for here, there in ((np.s_[1:], np.s_[:-1]), (np.s_[:, 1:], np.s_[:, :-1])):
        differ = labels[here] != labels[there]
        found[here] |= differ
        found[there] |= differ
    return found


def truth_of(mask: NDArray[Any]) -> Truth:
    """Return the contents of a mask."""
    objects = np.zeros(mask.shape, np.int64)
    for label in np.unique(mask[mask > 0]):
        pieces, _ = ndimage.label(mask == label)
        objects[pieces > 0] = pieces[pieces > 0] + objects.max()
    areas = np.bincount(objects.ravel())
    large = np.flatnonzero(areas >= 0.01 * mask.size)
    return Truth(mask.astype(np.int64), boundary(mask), objects, large[large > 0])


def table(rows: NDArray[Any], columns: NDArray[Any]) -> NDArray[Any]:
    """Return the number of pixels with each pair of labels, without column 0, the unlabelled."""
    counts = np.zeros((rows.max() + 1, columns.max() + 1))
    np.add.at(counts, (rows.ravel(), columns.ravel()), 1)
    return counts[:, 1:]


def judge(regions: NDArray[Any], truth: Truth) -> list[tuple[float, float]]:
    """Return (hits, cases) of each measure; ratios are averaged over pictures, objects over all objects."""
    near = cv2.dilate(boundary(regions).astype(np.uint8), NEAR)
    recall = near[truth.boundary].mean() if truth.boundary.any() else math.nan
    shares = table(regions, truth.labels)
    known, most = shares.sum(axis=1), shares.max(axis=1)
    overlap = table(regions, truth.objects)
    union = overlap.sum(axis=1)[:, None] + overlap.sum(axis=0) - overlap
    covered = (overlap / np.maximum(union, 1)).max(axis=0)[truth.large - 1] >= 0.5
    ratios = (recall, most.sum() / known.sum(), (most >= 0.9 * known)[known > 0].mean())
    scored = [(0.0, 0.0) if math.isnan(ratio) else (float(ratio), 1.0) for ratio in ratios]
    return [*scored, (float(covered.sum()), float(covered.size))]


def pictures(n: int | None = None) -> list[tuple[NDArray[Any], Truth]]:
    """Return pictures with odd index, ``n`` of them spread evenly if given, and their truth."""
    notes = [json.loads(line) for line in (DATA / "annotations.jsonl").read_text().splitlines()][1::2]
    notes = notes if n is None else notes[:: len(notes) // n][:n]
    return [(decode(DATA / note["image"]), truth_of(decode_labels(DATA / note["mask"]))) for note in notes]


def mean_scores(scores: list[list[tuple[float, float]]]) -> dict[str, float]:
    """Return each measure over all pictures."""
    hits, cases = np.array(scores).sum(axis=0).T
    return dict(zip(MEASURES, (hits / cases).tolist(), strict=True))


def missing() -> str:
    """Return what is missing to run this benchmark; empty if nothing."""
    if (DATA / "annotations.jsonl").is_file():
        return ""
    return f"MSRC v2 is not at {DATA}: set TAGMIX_DATA to the folder that holds {DATA.name}"


def ours_on_all(method: str) -> dict[str, Any]:
    """Return the quality of one of our methods on all odd pictures, and its mean number of regions."""
    found = [(segment(image, method, N_REGIONS), truth) for image, truth in pictures()]
    regions = float(np.mean([labels.max() + 1 for labels, _ in found]))
    scores = [judge(*pair) for pair in found]
    return mean_scores(scores) | {"regions": regions, "scores": scores}


def peer_nearest(image: NDArray[Any]) -> NDArray[Any]:
    """Return scikit-image's cut with nearly ``N_REGIONS`` regions, by bisection of log threshold."""
    from skimage import graph

    pieces = obvious.superpixels(image, PEER_SUPERPIXELS)
    similar = graph.rag_mean_color(image, pieces, mode="similarity")
    low, high, at = math.log(1e-12), math.log(1e-2), math.log(1e-5)
    tried = []
    for _ in range(PEER_TRIALS):
        tried.append(obvious.cut_graph(pieces, similar.copy(), math.exp(at)))
        count = tried[-1].max() + 1
        if abs(count - N_REGIONS) <= 1:
            break
        low, high = (at, high) if count < N_REGIONS else (low, at)
        at = (low + high) / 2
    return min(tried, key=lambda labels: abs(labels.max() + 1 - N_REGIONS))


def beside_peer() -> dict[str, Any]:
    """Return the quality of scikit-image and of our methods with as many regions, on the same pictures."""
    obvious.one_thread()
    scores: dict[str, list[list[tuple[float, float]]]] = {name: [] for name in (PEER, *METHODS)}
    counts: dict[str, list[int]] = {name: [] for name in scores}
    for image, truth in pictures(PEER_PICTURES):
        found = {PEER: peer_nearest(image)}
        n_regions = int(found[PEER].max()) + 1
        found |= {method: segment(image, method, n_regions) for method in METHODS}
        for name, labels in found.items():
            scores[name].append(judge(labels, truth))
            counts[name].append(int(labels.max()) + 1)
    return {name: mean_scores(scores[name]) | {"regions": float(np.mean(counts[name]))} for name in scores}


def times() -> dict[str, Any]:
    """Return the least CPU milliseconds of a photograph of 640 × 480 on one thread, and of decoding it."""
    obvious.one_thread()
    photo = decode(sorted((DATA / "images").iterdir())[8])
    image = cv2.resize(photo, (640, 480), interpolation=cv2.INTER_CUBIC)
    encoded = cv2.imencode(".jpg", image[..., ::-1], [cv2.IMWRITE_JPEG_QUALITY, 90])[1].tobytes()
    works: dict[str, tuple[Callable[[], Any], int]] = {
        method: (partial(segment, image, method), 50) for method in METHODS
    }
    works["decoding"] = partial(decode, encoded), 50
    works[PEER] = (lambda: obvious.cut(image, obvious.superpixels(image, PEER_SUPERPIXELS))), 3
    segment(image)
    return {name: 1e3 * timed(work, repeat)["cpu"] for name, (work, repeat) in works.items()}


def quality_rows(figures: dict[str, Any], n_pictures: int) -> list[dict[str, Any]]:
    """Return one row per measure, and one on the number of regions."""
    rows: list[dict[str, Any]] = []
    for measure in MEASURES:
        shown = {name: f"{figures[name][measure]:.3f}" for name in figures}
        rivals = ["grid"] + [PEER] * (PEER in figures and measure in ("boundary recall", "purity"))
        ratio = figures["ncuts"][measure] / max(figures[name][measure] for name in rivals)
        rows.append({"what": f"{measure}, {n_pictures} pictures", "ratio": ratio, "promise": 1.0} | shown)
    counts = {name: f"{figures[name]['regions']:.1f}" for name in figures}
    return [*rows, {"what": f"regions, {n_pictures} pictures"} | counts]


def difference_rows(ncuts: Any, graph: Any) -> list[dict[str, Any]]:
    """Return one row per measure: ncuts − graph with its 95 % interval, from the scores of each picture."""
    drawn = np.random.default_rng(0).integers(len(ncuts), size=(4000, len(ncuts)))
    means = []
    for scores in (ncuts, graph):
        hits, cases = np.moveaxis(np.array(scores), 2, 0)
        means.append(np.stack([hits[rows].sum(axis=0) / cases[rows].sum(axis=0) for rows in drawn]))
    low, high = np.quantile(means[0] - means[1], [0.025, 0.975], axis=0)
    return [
        {"what": f"{measure}, ncuts − graph, 95 % interval: {low[k]:+.3f} … {high[k]:+.3f}"}
        for k, measure in enumerate(MEASURES)
    ]


def run() -> list[dict[str, Any]]:
    """Return quality on some pictures beside scikit-image, on all beside a grid, and times."""
    beside = isolated("bench_segment", "beside_peer")
    beside.pop("peak_mb")
    on_all = {method: isolated("bench_segment", "ours_on_all", method) for method in METHODS}
    spent = isolated("bench_segment", "times")
    names = (*METHODS, PEER)
    return [
        *quality_rows({name: beside[name] for name in names}, PEER_PICTURES),
        *quality_rows(on_all, len(on_all["ncuts"]["scores"])),
        *difference_rows(on_all["ncuts"]["scores"], on_all["graph"]["scores"]),
        {"what": "CPU ms of a 640 × 480 picture, ncuts beside scikit-image"}
        | {name: f"{spent[name]:,.1f}" for name in names}
        | {"ratio": spent[PEER] / spent["ncuts"], "promise": 50.0},
        {"what": "the same, in times of decoding it"}
        | {name: f"{spent[name] / spent['decoding']:,.1f}" for name in names},
    ]
