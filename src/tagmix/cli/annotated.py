"""The tags of one photo as text and as JSON: what is suggested, what it has already, its regions."""

import json
import sys
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from tagmix.annotate import Annotation, Guess, Region
from tagmix.cli.options import plural
from tagmix.errors import printable
from tagmix.metadata.read import PhotoMetadata
from tagmix.tag_names import SEPARATOR

NONE = "none of the tags"
NOTHING = "nothing sure enough (see --top)"


class Annotated(NamedTuple):
    """An annotation with the short names of the model's tags, and what is known of the photo.

    ``every`` lists all tags of the annotation, else those worth showing.
    """

    annotation: Annotation
    short: Mapping[str, str]
    known: PhotoMetadata
    regions: bool = False
    every: bool = False

    def text(self) -> str:
        """Return a line with tags in short, and one per tag of the regions."""
        guesses = self._guesses()
        listed = {guess.tag for guess in guesses}
        said = (f"{self._name(g.tag)} {percent(g.probability)}{self._mark(g.tag)}" for g in guesses)
        parts = [", ".join(said) or NOTHING]
        for what, tags in (("also has", self.known.tags), ("by tagmix", self.known.machine)):
            if others := [self._name(tag) for tag in tags if tag not in listed]:
                parts.append(f"{what}: {', '.join(others)}")
        lines = [f"{printable(self.annotation.source)}: {'; '.join(parts)}"]
        return "\n".join(lines + (self._regions() if self.regions else []))

    def json(self) -> str:
        """Return an object on one line: canonical tags with their short names, existing ones, regions."""
        content: dict[str, object] = {
            "image": str(self.annotation.source),
            "tags": [
                {
                    "tag": guess.tag,
                    "name": self.short.get(guess.tag, guess.tag),
                    "probability": round(guess.probability, 4),
                    "shown": guess.shown,
                }
                for guess in self._guesses()
            ],
            "existing": list(self.known.tags),
        }
        if self.known.machine:
            content["machine"] = list(self.known.machine)
        if self.regions:
            content["regions"] = [self._region(region) for region in self.annotation.regions]
        # What cannot be printed in a name or a tag, or not on this terminal, is escaped, as JSON allows.
        line = json.dumps(content, ensure_ascii=False)
        return line if line.isprintable() and _is_utf8(sys.stdout) else json.dumps(content)

    def _guesses(self) -> list[Guess]:
        return [guess for guess in self.annotation.tags if self.every or guess.shown]

    def _name(self, tag: str) -> str:
        return printable(self.short.get(tag, tag))

    def _mark(self, tag: str) -> str:
        if _holds(self.known.tags, tag):
            return " (has it)"
        return " (by tagmix)" if _holds(self.known.machine, tag) else ""

    def _regions(self) -> list[str]:
        """Return a line per tag of the regions, with the place of the largest, and one for those of none."""
        by_tag: dict[str, list[Region]] = {}
        regions = self.annotation.regions
        for region in sorted((region for region in regions if region.tags), key=lambda r: -r.area):
            by_tag.setdefault(region.tags[0][0], []).append(region)
        rows = [
            (where(own[0]), sum(region.area for region in own), _several(self._name(tag), len(own)))
            for tag, own in by_tag.items()
        ]
        rows.sort(key=lambda row: -row[1])
        if rest := [region.area for region in regions if not region.tags]:
            rows.append((plural(len(rest), "region"), sum(rest), NONE))
        return [f"  {place:<13} {area:>4.0%} of the photo   {tag}" for place, area, tag in rows]

    def _region(self, region: Region) -> dict[str, object]:
        return {
            "tags": [
                {"tag": tag, "name": self.short.get(tag, tag), "share": round(share, 4)}
                for tag, share in region.tags
            ],
            "box": [round(float(value), 4) for value in region.box],
            "area": round(region.area, 4),
            "none": round(region.none, 4),
            "polygons": [
                [[[round(x, 4), round(y, 4)] for x, y in ring] for ring in polygon]
                for polygon in region.polygons
            ],
        }


def _holds(tags: Sequence[str], tag: str) -> bool:
    """Return whether tags have one, or one below it."""
    return any(one == tag or one.startswith(tag + SEPARATOR) for one in tags)


def percent(p: float) -> str:
    """Return a probability in percent; never 100 %, which no number of pictures shows.

    >>> percent(0.994), percent(0.999)
    ('99%', '>99%')
    """
    return f"{p:.0%}" if p < 0.995 else ">99%"


def _several(tag: str, n_regions: int) -> str:
    return tag if n_regions == 1 else f"{tag} ({n_regions} regions)"


def where(region: Region) -> str:
    """Return the place of a region's middle in words.

    >>> where(Region((), (0.0, 0.0, 0.2, 0.2), 0.04)), where(Region((), (0.0, 0.3, 1.0, 0.4), 0.4))
    ('top left', 'centre')
    """
    x, y, width, height = region.box
    column = ("left", "", "right")[min(2, int(3 * (x + width / 2)))]
    row = ("top", "", "bottom")[min(2, int(3 * (y + height / 2)))]
    return f"{row} {column}".strip() or "centre"


def _is_utf8(stream: Any) -> bool:
    return str(getattr(stream, "encoding", "")).lower().replace("-", "").startswith("utf8")
