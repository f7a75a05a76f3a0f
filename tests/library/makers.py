"""A library of tiny photos, and an annotator that needs no training."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from tagmix.annotate import Annotation, Guess, Region
from tagmix.errors import ImageError
from tagmix.images.decode import decode
from tagmix.images.sources import Problem

RING = ((0.0, 0.0), (0.5, 0.0), (0.5, 0.5), (0.0, 0.5))
REGION = Region((("boat", 0.7),), (0.0, 0.0, 0.5, 0.5), 0.25, 0.1, ((RING,),))
HUMAN = """<?xml version="1.0"?>
<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">
<rdf:Description rdf:about="" xmlns:dc="http://purl.org/dc/elements/1.1/"><!-- mine -->
<dc:subject><rdf:Bag>{}</rdf:Bag></dc:subject></rdf:Description></rdf:RDF></x:xmpmeta>
"""


class FixedModel:
    tag_names_ = ("boat", "sea", "sky", "Places|Berlin", "night")
    calibration_ = None


class FixedAnnotator:
    """Gives every photo the same tags, at once; what is no picture is a problem."""

    model = FixedModel()

    def __init__(self, name: str = "0123456789ab", tags: Sequence[tuple[str, float]] | None = None) -> None:
        self.name = name
        self.tags = tags or [("boat", 0.9), ("sea", 0.8), ("Places|Berlin", 0.7), ("night", 0.2)]
        self.calls = 0

    def check_precision(self, precision: float | None) -> None: ...

    def annotate(
        self,
        sources: Sequence[Path],
        k: int = 5,
        region_k: int = 3,
        *,
        precision: Any = None,
        progress: Any = None,
    ) -> Iterator[Annotation | Problem]:
        for number, source in enumerate(sources):
            self.calls += 1
            if progress:
                progress("pictures", number + 1, len(sources))
            try:
                decode(source, max_side=4)
            except ImageError as error:
                yield Problem(source, str(error))
            else:
                yield Annotation(source, tuple(Guess(t, p, p > 0.5) for t, p in self.tags[:k]), (REGION,))


def draw_photo(path: Path, shade: int = 0) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("RGB", (16, 12), (shade % 256, shade // 256 % 256, 90)).save(path)
    return path


def sidecar(photo: Path, *keywords: str) -> Path:
    """Write a sidecar as a person's program would."""
    path = photo.with_name(f"{photo.name}.xmp")
    items = "".join(f"<rdf:li>{keyword}</rdf:li>" for keyword in keywords)
    path.write_text(HUMAN.format(items), encoding="utf-8")
    return path


def contents(folder: Path) -> dict[str, bytes]:
    """Return the bytes of all files below a folder."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def use_fixed_model(patch: pytest.MonkeyPatch) -> None:
    patch.setattr("tagmix.library.tag.model_id", lambda annotator: annotator.name)
