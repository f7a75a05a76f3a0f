"""Normalised cuts over superpixels, after Shi and Malik (2000): cut in two, again and again."""

import math
from typing import NamedTuple

import numpy as np

from tagmix.arrays import Floats, Ints
from tagmix.images.superpixels import WorkingPicture, cut_superpixels
from tagmix.kernels.compiled.spectral import affinities, fiedler_vector, two_way_cut
from tagmix.kernels.reference.superpixels import Labels

# Chosen on every second picture of MSRC v2; a wide optimum (see benchmarks/bench_segment.py)
COLOUR_WIDTH = 12.0
TEXTURE_WIDTH = 8.0
CONTOUR_WIDTH = 30.0
PLACE_WIDTH = 0.43  # of the side of a square as large as the picture
FLOOR = 1e-3
# Cut into a few parts too many: what is alike is merged again when all parts are seen side by side
SPARE_PARTS = 2


class CutPart(NamedTuple):
    """Some nodes of a graph and the best way found to cut them in two."""

    nodes: Ints
    value: float
    above: Floats


def cut_normalised(canvas: WorkingPicture, n_regions: int) -> Labels:
    """Return labels at working size by recursive two-way cuts of the superpixel graph."""
    pixels = cut_superpixels(canvas)
    height, width = canvas.shape
    features = np.hstack([pixels.colours / COLOUR_WIDTH, pixels.textures / TEXTURE_WIDTH])
    weights = affinities(
        pixels.places,
        features,
        canvas.contour,
        PLACE_WIDTH * math.sqrt(height * width),
        CONTOUR_WIDTH,
        FLOOR,
    )
    n_parts = n_regions + SPARE_PARTS if n_regions > 1 else 1
    return cut_graph(weights, n_parts)[pixels.labels].astype(np.int32)


def cut_graph(weights: Floats, n_parts: int) -> Ints:
    """Return the part of each node after cutting ``n_parts`` − 1 times, always where Ncut is least.

    >>> cut_graph(np.array([[0, 9, 0.1], [9, 0, 0.1], [0.1, 0.1, 0]]), 2).tolist()
    [0, 0, 1]
    """
    parts: list[CutPart] = []
    fresh = [np.arange(len(weights))]
    for _ in range(n_parts - 1):
        parts += [_part(weights, nodes) for nodes in fresh]
        fresh = []
        chosen = min(range(len(parts)), key=lambda at: parts[at].value)
        if math.isinf(parts[chosen].value):
            break
        nodes, _, above = parts.pop(chosen)
        fresh = [nodes[above == 0], nodes[above > 0]]
    owner = np.empty(len(weights), np.int64)
    for at, nodes in enumerate(
        sorted([*(part.nodes for part in parts), *fresh], key=lambda nodes: int(nodes[0]))
    ):
        owner[nodes] = at
    return owner


def _part(weights: Floats, nodes: Ints) -> CutPart:
    if len(nodes) < 2:
        return CutPart(nodes, math.inf, np.zeros(len(nodes)))
    inner = np.ascontiguousarray(weights[np.ix_(nodes, nodes)])
    return CutPart(nodes, *two_way_cut(inner, fiedler_vector(inner)))
