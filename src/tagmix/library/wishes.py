"""Which of the tags that a model finds are written: wanted ones that the photo lacks and nobody rejected."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np

from tagmix.annotate import Annotation, Annotator, Guess, Region
from tagmix.catalogue import Catalogue, PhotoId
from tagmix.errors import ParameterError
from tagmix.images.joined import joined, simplified
from tagmix.images.polygons import Ring, area_of
from tagmix.library.events import Likely
from tagmix.library.records import taken_out
from tagmix.metadata.write import STYLES, RegionTag
from tagmix.tag_names import ancestors

# Regions smaller than this share of the photo are not written.
SMALLEST_REGION = 0.01
# How far a written outline may be from the one found, as a share of the photo: an eye does not see it, and
# a sidecar has a fraction of the size.
TOLERANCE = 0.005


@dataclass(frozen=True)
class Wishes:
    """Which tags are wanted, and where they go.

    By default the tags above the model's threshold: not the one below it that `annotate` shows of a photo
    without better ones. ``precision``: as many as possible of which this share is expected to be right;
    ``top``: this many; ``min_probability``: those at least as probable, instead of the threshold or in
    addition to the others. ``only_untagged`` leaves photos alone that have a tag. ``regions`` is "iptc",
    "mwg" or "none"; without ``sidecars`` tags go into the catalogue alone, with ``embed`` into JPEGs
    themselves that have no sidecar, by exiftool.
    """

    top: int | None = None
    precision: float | None = None
    min_probability: float | None = None
    only_untagged: bool = False
    regions: Literal["iptc", "mwg", "none"] = "iptc"
    sidecars: bool = True
    embed: bool = False

    def __post_init__(self) -> None:
        if self.top is not None and self.precision is not None:
            raise ParameterError("top and precision exclude each other: give one of them.")
        if self.regions not in STYLES:
            raise ParameterError(f"regions must be one of {', '.join(STYLES)}, got {self.regions!r:.40}.")

    def plain(self) -> dict[str, Any]:
        """Return the values that a run records; a run with the same ones goes on with the same work.

        Defaults are left out, so that a wish that a later version adds makes no earlier work undone.
        """
        usual = {field.name: field.default for field in fields(self)} | {"only_untagged": self.only_untagged}
        return {name: value for name, value in asdict(self).items() if value != usual[name]}

    def wanted(self, guesses: Iterable[Guess], thresholds: Mapping[str, float] | None = None) -> Likely:
        """Return the tags that are wanted of those found, best first.

        With ``thresholds``, the tag that stands in for better ones below its threshold is not among them.
        """
        every = list(guesses)
        if self.top is not None:
            every = every[: self.top]
        elif self.precision is not None:
            every = [guess for guess in every if guess.shown]
        elif self.min_probability is None:
            known = thresholds or {}
            every = [one for one in every if one.shown and one.probability >= known.get(one.tag, 0.0)]
        least = self.min_probability or 0.0
        return tuple((guess.tag, guess.probability) for guess in every if guess.probability >= least)


def thresholds_of(annotator: Annotator) -> dict[str, float]:
    """Return the threshold of each tag; none for a model that is not calibrated."""
    known, names = annotator.model.calibration_, annotator.model.tag_names_
    return {} if known is None else dict(zip(names, known.thresholds.tolist(), strict=True))


class Known(NamedTuple):
    """The tags of a photo before it is tagged, and those that must not be added."""

    present: frozenset[str]
    rejected: frozenset[str]


class Picked(NamedTuple):
    """The tags that are wanted of a photo: new ones, and those it has."""

    new: Likely
    present: Likely

    @property
    def every(self) -> Likely:
        """Return both, best first."""
        return tuple(sorted((*self.new, *self.present), key=lambda one: -one[1]))


def known_of(catalogue: Catalogue, photo: PhotoId, path: Path) -> Known:
    """Return the tags that a human or the metadata gives to a photo, and those that must not be added.

    That is, those that a human rejected, or took out of the sidecar that tagmix had written.
    """
    said = catalogue.verdicts.by_source(photo)
    human, metadata = said["human"], said["metadata"]
    rejected = frozenset(tag for tag, answer in human.items() if answer == "no")
    present = {tag for one in (human, metadata) for tag, answer in one.items() if answer == "yes"}
    return Known(frozenset(present) - rejected, rejected | (taken_out(path) - present))


def pick(catalogue: Catalogue, likely: Likely, known: Known) -> Picked:
    """Return the tags to add, under the catalogue's names, without rejected and implied ones.

    A tag is implied by those below it, and rejected with any of those above it.
    """
    best: dict[str, float] = {}
    for tag, probability in likely:
        name = catalogue.tags.resolve(tag, exact=True) or tag
        best[name] = max(probability, best.get(name, 0.0))
    allowed = {tag: p for tag, p in best.items() if not known.rejected & {tag, *ancestors(tag)}}
    implied = {above for tag in (*allowed, *known.present) for above in ancestors(tag)}
    kept = sorted(((tag, p) for tag, p in allowed.items() if tag not in implied), key=lambda one: -one[1])
    new = tuple(one for one in kept if one[0] not in known.present)
    return Picked(new, tuple(one for one in kept if one[0] in known.present))


def region_tags(catalogue: Catalogue, annotation: Annotation, tags: Iterable[str]) -> tuple[RegionTag, ...]:
    """Return where these tags are seen, the largest part first: neighbouring regions of a tag are one."""
    wanted = set(tags)
    by_tag: dict[str, list[Region]] = {}
    for region in annotation.regions:
        if region.tags and region.polygons:
            name = catalogue.tags.resolve(region.tags[0][0], exact=True) or region.tags[0][0]
            by_tag.setdefault(name, []).append(region)
    found = [one for tag, own in by_tag.items() if tag in wanted for one in _parts(tag, own)]
    return tuple(part for area, part in sorted(found, key=lambda one: -one[0]) if area >= SMALLEST_REGION)


def _parts(tag: str, regions: list[Region]) -> list[tuple[float, RegionTag]]:
    """Return the connected parts of a tag's regions with their areas."""
    total = sum(region.area for region in regions)
    share = sum(region.area * region.tags[0][1] for region in regions) / max(total, 1e-9)
    parts = []
    for polygon in joined(polygon for region in regions for polygon in region.polygons):
        outline = simplified(polygon, TOLERANCE)
        area = sum(area_of(np.array(ring)) for ring in outline)  # holes count negative
        parts.append((abs(float(area)), RegionTag(tag, (outline,), _box(outline[0]), share)))
    return parts


def _box(ring: Ring) -> tuple[float, float, float, float]:
    xs, ys = zip(*ring, strict=True)
    return min(xs), min(ys), max(xs) - min(xs), max(ys) - min(ys)
