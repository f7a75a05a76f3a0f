"""Segmentation: time a picture and quality on MSRC v2, beside scikit-image's SLIC, RAG and cut_normalized.

Quality is told on pictures with odd index; the affinity was chosen on those with even index. The peer cuts
while Ncut stays below a threshold, so its threshold is searched, picture by picture, for the number of
regions nearest to ten, and ours is asked for as many as it found. Four figures, as shares:

boundary recall   of true boundary pixels (the unlabelled counts as a label) within 2 pixels of ours
purity            of labelled pixels that have the majority label of their region
pure regions      of regions with at least 90 % of their labelled pixels of one label
objects           of true connected regions of 1 % and more that some region covers with IoU >= 0.5
"""

import json
import math
import os
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from benchmarks.measure import isolated, timed
from tagmix.images.decode import decode, decode_labels
from tagmix.images.segment import segment

DATA = Path(os.environ.get("TAGMIX_DATA", Path(__file__).parents[2] / "shared" / "data")) / "msrc_v2"
PEER_PICTURES = 60
PEER_TRIALS = 5
N_REGIONS = 10
MEASURES = ("boundary recall", "purity", "pure regions", "objects")
NEAR = np.array([[abs(y) + abs(x) <= 2 for x in range(-2, 3)] for y in range(-2, 3)], np.uint8)


class Truth(NamedTuple):
    """What a mask says: labels, boundary pixels, connected regions (0 = unlabelled) and the large ones."""

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
    """Return what the figures need of a mask."""
    objects = np.zeros(mask.shape, np.int64)
    for label in np.unique(mask[mask > 0]):
        pieces, _ = ndimage.label(mask == label)
        objects[pieces > 0] = pieces[pieces > 0] + objects.max()
    areas = np.bincount(objects.ravel())
    large = np.flatnonzero(areas >= 0.01 * mask.size)
    return Truth(mask.astype(np.int64), boundary(mask), objects, large[large > 0])


def table(rows: NDArray[Any], columns: NDArray[Any]) -> NDArray[Any]:
    """Return how many pixels have each pair of labels, without column 0, the unlabelled."""
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


def ours_on_all(method: str) -> dict[str, Any]:
    """Return the figures of one of our methods on all odd pictures, and its mean number of regions."""
    found = [(segment(image, method, N_REGIONS), truth) for image, truth in pictures()]
    regions = float(np.mean([labels.max() + 1 for labels, _ in found]))
    return mean_scores([judge(*pair) for pair in found]) | {"regions": regions, "pictures": len(found)}


def peer_cutter(image: NDArray[Any]) -> Callable[[float], NDArray[Any]]:
    """Return the peer's cut of a picture as a function of its threshold; superpixels are made once."""
    from skimage import graph, segmentation

    superpixels = segmentation.slic(image, compactness=30, n_segments=400, start_label=0)
    similar = graph.rag_mean_color(image, superpixels, mode="similarity")

    def cut(threshold: float) -> NDArray[Any]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # eigsh on graphs of two nodes
            labels = graph.cut_normalized(superpixels, similar.copy(), thresh=threshold, rng=0)
        return np.unique(labels, return_inverse=True)[1].reshape(labels.shape)

    return cut


def peer_nearest(image: NDArray[Any]) -> NDArray[Any]:
    """Return the peer's cut with nearly ``N_REGIONS`` regions, by bisection of log threshold."""
    cut = peer_cutter(image)
    low, high, at = math.log(1e-12), math.log(1e-2), math.log(1e-5)
    tried = []
    for _ in range(PEER_TRIALS):
        tried.append(cut(math.exp(at)))
        count = tried[-1].max() + 1
        if abs(count - N_REGIONS) <= 1:
            break
        low, high = (at, high) if count < N_REGIONS else (low, at)
        at = (low + high) / 2
    return min(tried, key=lambda labels: abs(labels.max() + 1 - N_REGIONS))


def beside_peer() -> dict[str, Any]:
    """Return figures of the peer and of our methods, asked for as many regions, on the same pictures."""
    scores: dict[str, list[list[tuple[float, float]]]] = {"peer": [], "ncuts": [], "graph": []}
    counts: dict[str, list[int]] = {name: [] for name in scores}
    for image, truth in pictures(PEER_PICTURES):
        found = {"peer": peer_nearest(image)}
        n_regions = int(found["peer"].max()) + 1
        found |= {method: segment(image, method, n_regions) for method in ("ncuts", "graph")}
        for name, labels in found.items():
            scores[name].append(judge(labels, truth))
            counts[name].append(int(labels.max()) + 1)
    return {name: mean_scores(scores[name]) | {"regions": float(np.mean(counts[name]))} for name in scores}


def large_picture() -> NDArray[Any]:
    """Return 640 × 480 pixels: a photograph enlarged if there is one, else soft blobs with noise."""
    if DATA.is_dir():
        return cv2.resize(
            decode(sorted((DATA / "images").iterdir())[8]), (640, 480), interpolation=cv2.INTER_CUBIC
        )
    rng = np.random.default_rng(0)
    blobs = ndimage.gaussian_filter(rng.normal(size=(480, 640, 3)), (20, 20, 0))
    return np.clip(128 + 40 * blobs / blobs.std() + rng.normal(0, 8, blobs.shape), 0, 255).astype(np.uint8)


def our_time(method: str) -> dict[str, Any]:
    """Return the least seconds of one 640 × 480 picture."""
    image = large_picture()
    segment(image, method)
    return dict(timed(lambda: segment(image, method), repeat=50))


def decoding_time() -> dict[str, Any]:
    """Return the least seconds to decode that picture from JPEG."""
    encoded = cv2.imencode(".jpg", large_picture()[..., ::-1], [cv2.IMWRITE_JPEG_QUALITY, 90])[1].tobytes()
    return dict(timed(lambda: decode(encoded), repeat=50))


def peer_time() -> dict[str, Any]:
    """Return the least seconds of the peer, superpixels and graph and cut, at its default threshold."""
    image = large_picture()
    return dict(timed(lambda: peer_cutter(image)(1e-3), repeat=3))


def quality_rows() -> list[dict[str, Any]]:
    """Return a row a measure: ours beside a grid, and beside the peer."""
    on_all = {
        method: isolated("bench_segment", "ours_on_all", method) for method in ("ncuts", "graph", "grid")
    }
    peer = isolated("bench_segment", "beside_peer")
    rows = []
    for rival, ours, theirs in (
        ("grid", on_all["ncuts"], on_all["grid"]),
        ("graph", on_all["ncuts"], on_all["graph"]),
        ("scikit-image", peer["ncuts"], peer["peer"]),
    ):
        n = PEER_PICTURES if rival == "scikit-image" else on_all["ncuts"]["pictures"]
        for measure in MEASURES:
            rows.append(
                {
                    "what": f"{measure}, ncuts beside {rival}, {n} pictures",
                    "ours": f"{ours[measure]:.3f} with {ours['regions']:.1f} regions",
                    "peer": f"{theirs[measure]:.3f} with {theirs['regions']:.1f} regions",
                    "ratio": ours[measure] / theirs[measure],
                }
                # One graph method is no worse than the other: compared, not promised
                | ({} if rival == "graph" else {"promise": 1.0})
            )
    return rows


def run() -> list[dict[str, Any]]:
    """Return times of a 640 × 480 picture and, where MSRC v2 is at hand, quality."""
    peer, decoding = isolated("bench_segment", "peer_time"), isolated("bench_segment", "decoding_time")
    rows = []
    for method in ("ncuts", "graph", "grid"):
        ours = isolated("bench_segment", "our_time", method)
        row = {
            "what": f"640 × 480 picture, {method} beside SLIC + RAG + cut_normalized",
            "ours": f"{ours['cpu'] * 1e3:.1f} ms, {ours['cpu'] / decoding['cpu']:.1f} × decoding it",
            "peer": f"{peer['cpu'] * 1e3:,.0f} ms",
            "ratio": peer["cpu"] / ours["cpu"],
        }
        rows.append(row | ({"promise": 50.0} if method == "ncuts" else {}))
    return rows + (quality_rows() if DATA.is_dir() else [])
