"""Bags of words from off-the-shelf parts: Pillow, scikit-image, OpenCV, scikit-learn.

Each part is used in its fastest reasonable form: arrays of the type it wants, one call for all patches, no
copies, one thread (scikit-image's small eigenproblems are many times slower with two).
"""

import io
import warnings
from typing import Any

import cv2
import numba
import numpy as np
import scipy.sparse.linalg  # noqa: F401 (its BLAS must be there when threads are limited)
from numpy.typing import NDArray
from PIL import Image
from skimage import graph, segmentation
from sklearn.cluster import KMeans
from threadpoolctl import threadpool_limits

from tagmix.images.views.sift import level_of

SUPERPIXELS = 150  # as many as ours
COMPACTNESS = 30  # the value of scikit-image's own example of a normalised cut
THRESHOLD = 1e-3  # scikit-image's default; about ten regions on drawn scenes


def one_thread() -> None:
    """Limit every library to one thread, for the rest of the process."""
    threadpool_limits(1)
    cv2.setNumThreads(1)
    numba.set_num_threads(1)


def decode(content: bytes) -> NDArray[np.uint8]:
    """Return the pixels of a file, as Pillow gives them."""
    return np.asarray(Image.open(io.BytesIO(content)).convert("RGB"))


def superpixels(image: NDArray[Any], n: int = SUPERPIXELS) -> NDArray[Any]:
    """Return SLIC superpixels."""
    return segmentation.slic(image, n_segments=n, compactness=COMPACTNESS, start_label=0)


def cut(image: NDArray[Any], pieces: NDArray[Any], threshold: float = THRESHOLD) -> NDArray[Any]:
    """Return regions 0 … k − 1: superpixels joined by a normalised cut of their neighbourhood graph."""
    return cut_graph(pieces, graph.rag_mean_color(image, pieces, mode="similarity"), threshold)


def cut_graph(pieces: NDArray[Any], similar: Any, threshold: float) -> NDArray[Any]:
    """Return regions 0 … k − 1 of a graph of superpixels, which is used up."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # eigsh on graphs of two nodes
        labels = graph.cut_normalized(pieces, similar, thresh=threshold, rng=0)
    return np.unique(labels, return_inverse=True)[1].reshape(labels.shape)


def cut_small(image: NDArray[Any], side: int) -> NDArray[Any]:
    """Return regions cut on a small copy, whose longer side is given, and carried back."""
    height, width = image.shape[:2]
    scale = side / max(height, width)
    small = cv2.resize(image, None, fx=scale, fy=scale, interpolation=cv2.INTER_AREA)
    labels = cut(small, superpixels(small)).astype(np.int32)
    return cv2.resize(labels, (width, height), interpolation=cv2.INTER_NEAREST)


def sift(grey: NDArray[Any], patches: NDArray[Any]) -> NDArray[np.float32]:
    """Return OpenCV's SIFT of upright patches (x, y, side) as unit vectors, 0 where a patch is flat.

    A key point names the smoothed image to read in its packed octave; without it OpenCV reads every patch,
    however large, from the sharpest image. Its size is two σ, and a side has twelve.
    """
    levels = level_of(patches[:, 2])
    octaves = ((levels // 3 - 1) & 255) | (levels % 3) << 8
    points = [
        cv2.KeyPoint(x, y, side / 6, 0.0, 0.0, octave)
        for (x, y, side), octave in zip(patches.tolist(), octaves.tolist(), strict=True)
    ]
    _, found = cv2.SIFT_create().compute(grey, points)
    return found / np.maximum(np.linalg.norm(found, axis=1, keepdims=True), 1e-9)


def learn_words(descriptors: NDArray[Any], n_words: int, max_iter: int = 30, seed: int = 0) -> KMeans:
    """Return k-means from one random start."""
    words = KMeans(n_words, init="random", n_init=1, max_iter=max_iter, random_state=seed)
    return words.fit(descriptors.astype(np.float32))
