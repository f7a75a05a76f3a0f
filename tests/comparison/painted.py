"""Small albums of painted pictures, each of two tags that the words can tell apart, with masks."""

import json
from pathlib import Path

import numpy as np
from PIL import Image

from tagmix.datasets import Album, Item
from tagmix.images.describe import Describer

COLOURS = {"sky": (90, 150, 230), "sea": (20, 60, 120), "sand": (220, 190, 120), "wood": (60, 100, 30)}
NAMES = list(COLOURS)


def paint(path, upper, lower, rng):
    """Write a picture of two tags, one above the other, and the mask that says so."""
    half = int(rng.integers(12, 25))
    pixels = np.empty((36, 48, 3))
    pixels[:half], pixels[half:] = COLOURS[upper], COLOURS[lower]
    pixels += rng.normal(0, 12, pixels.shape)
    Image.fromarray(pixels.clip(0, 255).astype(np.uint8)).save(path)
    mask = np.full((36, 48), 1 + NAMES.index(lower), np.uint8)
    mask[:half] = 1 + NAMES.index(upper)
    mask[half - 2 : half] = 0  # nobody knows what the edge is
    Image.fromarray(mask).save(path.with_suffix(".mask.png"))


def album_of(folder: Path, n=12, split=False, masks=True) -> Album:
    """Return an album of painted pictures; every fourth is for the test if there is a split."""
    rng = np.random.default_rng(5)
    items = []
    for i in range(n):
        path = folder / f"{i:02d}.png"
        upper, lower = NAMES[i % 4], NAMES[(i % 4 + 1 + i % 3) % 4]
        paint(path, upper, lower, rng)
        side = ("test" if i % 4 == 1 else "train") if split else None
        items.append(Item(path, (upper, lower), side, path.with_suffix(".mask.png") if masks else None))
    return Album(tuple(items), folder, mask_labels=dict(enumerate(NAMES, start=1)))


def written_album(folder: Path, n=12, **how) -> Path:
    """Write the same album as files, for those who read it from there."""
    folder.mkdir(parents=True, exist_ok=True)
    entries = [
        {
            "image": item.image.name,
            "tags": item.tags,
            "split": item.split,
            "mask": item.mask and item.mask.name,
        }
        for item in album_of(folder, n, **how)
    ]
    kept = ({key: value for key, value in entry.items() if value is not None} for entry in entries)
    (folder / "annotations.jsonl").write_text("\n".join(map(json.dumps, kept)))
    (folder / "labels.txt").write_text("".join(f"{i} {name}\n" for i, name in enumerate(NAMES, start=1)))
    return folder


def describer(**how):
    few = {"n_words": 6, "n_colours": 4, "n_patches": 24, "n_regions": 4, "restarts": 1}
    return Describer.paper(**{**few, "vocabulary_pictures": 8, "vocabulary_patches": 12, **how})
