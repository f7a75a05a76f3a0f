"""Regions as other programs read them: polygons of the IPTC standard, or boxes of the Metadata Working Group.

Both standards describe the stored pixels, before the orientation turns them upright; tagmix describes the
upright picture. Numbers are shares of the width and of the height.
"""

import hashlib
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple, TypeAlias

from tagmix.metadata.names import AREA, IPTC_EXT, MWG, TAGMIX
from tagmix.metadata.rdf import Value
from tagmix.metadata.splice import R, quoted
from tagmix.tag_names import last_level

Point: TypeAlias = tuple[float, float]
Ring: TypeAlias = tuple[Point, ...]
Box: TypeAlias = tuple[float, float, float, float]

REGIONS: Final = f"{IPTC_EXT}}}ImageRegion"
MWG_REGIONS: Final = f"{MWG}}}Regions"
MWG_LIST: Final = f"{MWG}}}RegionList"
SUBJECT_AREA: Final = "http://cv.iptc.org/newscodes/imageregionrole/subjectArea"
DECIMALS = 5  # of a share: a tenth of a pixel in the largest photos


class RegionTag(NamedTuple):
    """A tag of a region: its outline or its box as shares of the upright picture.

    ``polygons`` are as in ``tagmix.annotate.Region``: per polygon its outer ring, then its holes; ``box`` is
    x, y (the upper left corner), width, height.
    """

    tag: str
    polygons: tuple[tuple[Ring, ...], ...]
    box: Box
    probability: float


class Drawn(NamedTuple):
    """A region as text to splice, with its id and its tag."""

    id: str
    tag: str
    text: str


def stored_point(point: Point, orientation: int) -> Point:
    """Return where a point of the upright picture lies in the stored one; both as shares.

    >>> [stored_point((0.25, 0.125), n) for n in (1, 3, 6)]
    [(0.25, 0.125), (0.75, 0.875), (0.125, 0.75)]
    """
    x, y = point
    return {
        1: (x, y),
        2: (1 - x, y),
        3: (1 - x, 1 - y),
        4: (x, 1 - y),
        5: (y, x),
        6: (y, 1 - x),
        7: (1 - y, 1 - x),
        8: (1 - y, x),
    }[orientation]


def stored_box(box: Box, orientation: int) -> Box:
    """Return a box of the upright picture in the stored one.

    >>> stored_box((0.5, 0, 0.5, 0.25), 6)
    (0, 0.0, 0.25, 0.5)
    """
    x, y, width, height = box
    (x0, y0), (x1, y1) = (stored_point(p, orientation) for p in ((x, y), (x + width, y + height)))
    return min(x0, x1), min(y0, y1), abs(x1 - x0), abs(y1 - y0)


def iptc_regions(regions: Iterable[RegionTag], run: str, orientation: int) -> Iterator[Drawn]:
    """Yield one item of ``Iptc4xmpExt:ImageRegion`` per polygon; the standard has no holes."""
    number = 0
    for region in regions:
        for polygon in region.polygons:
            number += 1
            identity = f"tagmix:{run}:{number}"
            ring = (stored_point(point, orientation) for point in polygon[0])
            yield Drawn(identity, region.tag, _iptc(identity, last_level(region.tag), ring))


def _iptc(identity: str, name: str, ring: Iterable[Point]) -> str:
    corners = "".join(
        f'<{R}li Iptc4xmpExt:rbX="{_number(x)}" Iptc4xmpExt:rbY="{_number(y)}"/>' for x, y in ring
    )
    boundary = (
        "<Iptc4xmpExt:rbShape>polygon</Iptc4xmpExt:rbShape><Iptc4xmpExt:rbUnit>relative</Iptc4xmpExt:rbUnit>"
        f"<Iptc4xmpExt:rbVertices><{R}Seq>{corners}</{R}Seq></Iptc4xmpExt:rbVertices>"
    )
    named = (
        f'<Iptc4xmpExt:Name><{R}Alt><{R}li xml:lang="x-default">{quoted(name)}</{R}li></{R}Alt>'
        "</Iptc4xmpExt:Name>"
    )
    role = f"<xmp:Identifier><{R}Bag><{R}li>{SUBJECT_AREA}</{R}li></{R}Bag></xmp:Identifier>"
    parts = (
        f"<Iptc4xmpExt:rId>{quoted(identity)}</Iptc4xmpExt:rId>",
        named,
        _one("Iptc4xmpExt:rCtype", named),
        _one("Iptc4xmpExt:rRole", role),
        f'<Iptc4xmpExt:RegionBoundary {R}parseType="Resource">{boundary}</Iptc4xmpExt:RegionBoundary>',
    )
    return f'<{R}li {R}parseType="Resource">{"".join(parts)}</{R}li>'


def _one(label: str, fields: str) -> str:
    return f'<{label}><{R}Bag><{R}li {R}parseType="Resource">{fields}</{R}li></{R}Bag></{label}>'


def mwg_regions(regions: Iterable[RegionTag], run: str, orientation: int) -> Iterator[Drawn]:
    """Yield one item of ``mwg-rs:RegionList`` per region; X and Y are the centre of the box."""
    for number, region in enumerate(regions, 1):
        identity = f"tagmix:{run}:{number}"
        x, y, width, height = stored_box(region.box, orientation)
        area = {"x": x + width / 2, "y": y + height / 2, "w": width, "h": height}
        numbers = "".join(f"<stArea:{key}>{_number(value)}</stArea:{key}>" for key, value in area.items())
        # The guidelines name four types of regions, none of which is a thing; so none is given
        text = (
            f'<{R}li {R}parseType="Resource"><mwg-rs:Name>{quoted(last_level(region.tag))}</mwg-rs:Name>'
            f'<mwg-rs:Area {R}parseType="Resource">{numbers}<stArea:unit>normalized</stArea:unit>'
            "</mwg-rs:Area>"
            f'<mwg-rs:Extensions {R}parseType="Resource"><tagmix:Region>{quoted(identity)}</tagmix:Region>'
            f"</mwg-rs:Extensions></{R}li>"
        )
        yield Drawn(identity, region.tag, text)


def mwg_lines(items: Iterable[str], size: tuple[int, int]) -> list[tuple[int, str]]:
    """Return a new ``mwg-rs:Regions`` as lines; ``size`` is width and height of the stored pixels."""
    numbers = "".join(f"<stDim:{key}>{side}</stDim:{key}>" for key, side in zip("wh", size, strict=True))
    return [
        (0, f'<mwg-rs:Regions {R}parseType="Resource">'),
        (1, f'<mwg-rs:AppliedToDimensions {R}parseType="Resource">{numbers}<stDim:unit>pixel</stDim:unit>'),
        (1, "</mwg-rs:AppliedToDimensions>"),
        (1, "<mwg-rs:RegionList>"),
        (2, f"<{R}Bag>"),
        *((3, item) for item in items),
        (2, f"</{R}Bag>"),
        (1, "</mwg-rs:RegionList>"),
        (0, "</mwg-rs:Regions>"),
    ]


def _number(share: float) -> str:
    return f"{min(max(share, 0.0), 1.0):.{DECIMALS}f}"


def id_of(region: Value) -> str:
    """Return the id of a region of either standard; empty if it has none."""
    own = region.field(f"{IPTC_EXT}}}rId")
    extensions = region.field(f"{MWG}}}Extensions")
    if own is None and extensions is not None:
        own = extensions.field(f"{TAGMIX}}}Region")
    return "" if own is None else own.text


def check_of(region: Value) -> str:
    """Return a digest of what a region says, by which a change by somebody else is noticed."""
    return hashlib.sha256(repr(region).encode()).hexdigest()[:12]


__all__ = ["AREA", "Drawn", "RegionTag", "check_of", "id_of", "iptc_regions", "mwg_lines", "mwg_regions"]
