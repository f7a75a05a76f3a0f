"""Which of the tags that a model finds are written: wanted ones that the photo lacks and nobody rejected."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

from tagmix.annotate import Annotation, Guess, Region
from tagmix.catalogue import Catalogue, PhotoId
from tagmix.errors import ParameterError
from tagmix.library.events import Likely
from tagmix.library.records import taken_out
from tagmix.metadata.write import STYLES, RegionTag
from tagmix.tag_names import ancestors

# Regions smaller than this share of the photo are not written.
SMALLEST_REGION = 0.01


@dataclass(frozen=True)
class Wishes:
    """Which tags are wanted, and where they go.

    By default the tags above the model's threshold. ``precision``: as many as possible of which this share is
    expected to be right; ``top``: this many; ``min_probability``: those at least as probable, instead of
    the threshold or in addition to the others. ``only_untagged`` leaves photos alone that have a tag.
    ``regions`` is "iptc", "mwg" or "none"; without ``sidecars`` tags go into the catalogue alone,
    with ``embed`` into JPEGs themselves that have no sidecar, by exiftool.
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
        """Return the values that a run records; a run with the same ones goes on with the same work."""
        return {name: value for name, value in asdict(self).items() if name != "only_untagged"}

    def wanted(self, guesses: Iterable[Guess]) -> Likely:
        """Return the tags that are wanted of those found, best first."""
        every = list(guesses)
        if self.top is not None:
            every = every[: self.top]
        elif self.precision is not None or self.min_probability is None:
            every = [guess for guess in every if guess.shown]
        least = self.min_probability or 0.0
        return tuple((guess.tag, guess.probability) for guess in every if guess.probability >= least)


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
    """Return the regions that show these tags best, the largest first."""
    wanted = set(tags)
    own = sorted((one for one in annotation.regions if one.tags), key=lambda region: -region.area)
    named = [(catalogue.tags.resolve(one.tags[0][0], exact=True) or one.tags[0][0], one) for one in own]
    return tuple(_region_tag(tag, region) for tag, region in named if tag in wanted and _is_large(region))


def _is_large(region: Region) -> bool:
    return region.area >= SMALLEST_REGION and bool(region.polygons)


def _region_tag(tag: str, region: Region) -> RegionTag:
    return RegionTag(tag, region.polygons, region.box, region.tags[0][1])
