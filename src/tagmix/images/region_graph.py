"""Merging of neighbouring regions: a segmenter of its own, and the last step of every other."""

import numpy as np

from tagmix.arrays import Floats
from tagmix.images.superpixels import Superpixels, WorkingPicture, cut_superpixels, measure
from tagmix.kernels.compiled.segmentation import merge_regions
from tagmix.kernels.compiled.superpixels import label_pieces
from tagmix.kernels.reference.superpixels import Labels

# How much more it costs to merge across a contour of one unit of Lab per pixel
CONTOUR_COST = 0.1
TEXTURE_SHARE = 0.5
# Left over for ``tidy``, which first takes the regions away that are too small
SPARE_REGIONS = 4


def merge_superpixels(canvas: WorkingPicture, n_regions: int) -> Labels:
    """Return labels at working size: superpixels merged, cheapest border first, down to about ``n_regions``.

    Long borders go first among equals, which keeps regions round.
    """
    pixels = cut_superpixels(canvas)
    factors = (1 + CONTOUR_COST * pixels.contours) / np.sqrt(pixels.lengths)
    features = np.hstack([pixels.colours, TEXTURE_SHARE * pixels.textures])
    return _merged(pixels, factors, features, pixels.areas, n_regions + SPARE_REGIONS, 0.0)


def tidy(
    labels: Labels, canvas: WorkingPicture, pixel_areas: Floats, n_regions: int, min_area: float
) -> Labels:
    """Return connected regions, none below ``min_area``, at most ``n_regions``: the promises of ``segment``.

    ``pixel_areas`` is the number of pixels of the picture for each pixel of the canvas.
    """
    pieces = measure(label_pieces(labels), canvas)
    areas = np.bincount(pieces.labels.ravel(), pixel_areas.ravel(), len(pieces.areas)).astype(np.float64)
    return _merged(pieces, np.ones(len(pieces.first)), pieces.colours, areas, n_regions, min_area)


def _merged(
    regions: Superpixels, factors: Floats, features: Floats, areas: Floats, n_regions: int, min_area: float
) -> Labels:
    owner = merge_regions(regions.first, regions.second, factors, features, areas, n_regions, min_area)
    return owner.astype(np.int32)[regions.labels]
