"""Write an album to disk: pictures, masks, captions and the names of the mask values."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from functools import partial
from io import BytesIO
from pathlib import Path

import numpy as np
from PIL import Image

from tagmix.images.process_pool import Failure, map_files
from tagmix.storage import write_atomic

from .scene import Scene, draw_scene
from .tags import TAGS

_QUALITY = 92


def album_scene(seed: int, index: int, *, size: tuple[int, int] = (320, 240)) -> Scene:
    """Draw scene `index` of the album with this seed; it does not depend on other scenes."""
    return draw_scene(np.random.default_rng([seed, index, 0]), size=size)


def album_split(seed: int, index: int, split: float) -> str:
    """Return the part of scene `index`, which depends on (seed, index) alone."""
    return "train" if np.random.default_rng([seed, index, 1]).random() < split else "test"


def draw_album(
    folder: str | os.PathLike[str],
    n: int,
    seed: int = 0,
    *,
    split: float = 0.8,
    size: tuple[int, int] = (320, 240),
    n_jobs: int = 1,
    progress: Callable[[int, int], None] | None = None,
) -> Path:
    """Draw `n` scenes into a folder and return it; about the fraction `split` is for training.

    The folder contains images/0000.jpg, masks/0000.png, annotations.jsonl and labels.txt (`1 sky`, …; mask
    value 0 is void). Files are written atomically, annotations.jsonl last, so an interrupted run can be
    repeated. Raises ValueError for n < 1 or a split outside 0–1. The result does not depend
    on `n_jobs`; `progress` is called with (done, of).
    """
    if n < 1:
        raise ValueError(f"n must be at least 1, got {n}: an album needs a picture")
    if not 0.0 <= split <= 1.0:
        raise ValueError(f"split must be a fraction from 0 to 1, got {split}: pass for example 0.8")
    root = Path(folder)
    for name in ("images", "masks"):
        (root / name).mkdir(parents=True, exist_ok=True)
    lines = [""] * n
    draw = partial(_draw_one, root=root, seed=seed, split=split, size=size)
    for done, (index, line) in enumerate(map_files(draw, range(n), n_jobs), start=1):
        if isinstance(line, Failure):
            raise OSError(f"picture {index} could not be drawn into {str(root)!r}: {line.reason}")
        lines[index] = line
        if progress is not None:
            progress(done, n)
    names = "".join(f"{value} {tag}\n" for value, tag in enumerate(TAGS, start=1))
    write_atomic(root / "labels.txt", names.encode())
    write_atomic(root / "annotations.jsonl", ("\n".join(lines) + "\n").encode())
    return root


def _draw_one(index: int, root: Path, seed: int, split: float, size: tuple[int, int]) -> str:
    """Draw one scene into the folder and return its line for the annotations."""
    scene = album_scene(seed, index, size=size)
    image, mask = f"images/{index:04d}.jpg", f"masks/{index:04d}.png"
    _save(root / image, scene.image, "JPEG", quality=_QUALITY, subsampling=0)
    _save(root / mask, scene.mask, "PNG")
    side = album_split(seed, index, split)
    return json.dumps({"image": image, "tags": list(scene.tags), "split": side, "mask": mask})


def _save(
    path: Path, pixels: np.ndarray[tuple[int, ...], np.dtype[np.uint8]], form: str, **options: int
) -> None:
    content = BytesIO()
    Image.fromarray(pixels).save(content, form, **options)
    write_atomic(path, content.getvalue())
