"""The patches of captioned pictures that contribute most to a tag."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

from tagmix.annotate import Annotator
from tagmix.arrays import Floats
from tagmix.datasets import Item
from tagmix.errors import TagmixError
from tagmix.images.decode import decode
from tagmix.images.picture import sample_picture
from tagmix.images.quantise import word_views
from tagmix.images.sources import content_of
from tagmix.metadata.read import photo_source
from tagmix.model.instance import Multinomial

SIDE = 48  # pixels of a patch on the page
SMALLEST = 12.0  # smaller patches are a few pixels: too small to recognise
RGB = NDArray[np.uint8]


class _Patch(NamedTuple):
    gain: float
    picture: int
    box: tuple[int, int, int]


def patches_of(
    annotator: Annotator, items: Sequence[Item], tags: Sequence[str], n_patches: int = 10
) -> dict[str, list[RGB]]:
    """Return, for each tag, the patches whose words contribute most to it, at most one per picture.

    Only pictures with the tag are used; ``items`` may be a sample of the training pictures. A model whose
    regions are not modelled by words has no such patches.
    """
    names = annotator.model.tag_names_
    instances = annotator.model._instances().instances
    if not any(isinstance(own, Multinomial) for own in instances.values()):
        return {}
    columns = {tag: names.index(tag) for tag in tags}
    best_of: dict[str, list[_Patch]] = {tag: [] for tag in tags}
    images: dict[int, RGB] = {}
    for number, item in enumerate(items):
        own = [tag for tag in item.tags if tag in columns]
        seen = _gains(annotator, item.image, [columns[tag] for tag in own]) if own else None
        if seen is None:
            continue
        images[number], boxes, gains = seen
        for tag, values in zip(own, gains, strict=True):
            best = int(values.argmax())
            best_of[tag].append(_Patch(float(values[best]), number, boxes[best]))
    chosen = {tag: sorted(found, reverse=True)[:n_patches] for tag, found in best_of.items()}
    return {tag: [_cut(images[p.picture], p.box) for p in found] for tag, found in chosen.items()}


def _gains(
    annotator: Annotator, path: Path, columns: list[int]
) -> tuple[RGB, list[tuple[int, int, int]], list[Floats]] | None:
    """Return the picture, its larger patches, and the nats that each adds to each tag."""
    config, model = annotator.describer.config, annotator.model
    try:
        content, orientation = content_of(photo_source(path))
        found = sample_picture(content, config, orientation)
    except (TagmixError, OSError):
        return None
    words = {
        view.name: view.describe(found, annotator.describer.vocabularies_)[view.name]
        for view in word_views(config)
    }
    large = np.flatnonzero(found.patches[:, 2] >= min(SMALLEST, float(found.patches[:, 2].max())))
    gains = []
    for column in columns:
        total = np.zeros(len(large))
        for view, instance in model._instances().instances.items():
            if isinstance(instance, Multinomial) and view in words:
                gain = instance.E_log_beta[column] - instance.E_log_beta.mean(axis=0)
                own = words[view].reshape(-1, len(found.patches))[:, large]  # all its words
                total += model.settings_.evidence[view] * gain[own].sum(axis=0)
        gains.append(total)
    boxes = [_box(patch) for patch in found.patches[large]]
    return decode(content, max_side=config.max_side, orientation=orientation), boxes, gains


def _box(patch: Floats) -> tuple[int, int, int]:
    side = round(float(patch[2]))
    return round(float(patch[0] + 0.5 - patch[2] / 2)), round(float(patch[1] + 0.5 - patch[2] / 2)), side


def _cut(image: RGB, box: tuple[int, int, int]) -> RGB:
    x, y, side = max(box[0], 0), max(box[1], 0), max(box[2], 1)
    part = image[y : y + side, x : x + side]
    return np.asarray(cv2.resize(part, (SIDE, SIDE), interpolation=cv2.INTER_CUBIC), dtype=np.uint8)
