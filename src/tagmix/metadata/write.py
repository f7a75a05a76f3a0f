"""Write tags into the sidecar of a photo, and take them out again: first a plan, then one atomic step.

The photo itself is never touched. A plan reads, splices in memory, reads the result again and compares; only
``apply_change`` writes.
"""

import os
import stat
from collections.abc import Collection
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from tagmix.errors import ImageError, MetadataError, ParameterError, printable
from tagmix.images.decode import size_of
from tagmix.images.orientation import UPRIGHT
from tagmix.metadata.addition import Wanted, Written, write_into
from tagmix.metadata.held import Held, held_inside
from tagmix.metadata.read import read_photo
from tagmix.metadata.regions import Drawn, RegionTag, iptc_regions, mwg_regions
from tagmix.metadata.removal import remove_from, remove_tags_from
from tagmix.metadata.sidecars import read_sidecar, sidecar_of
from tagmix.storage.atomic import remove, replace
from tagmix.tag_names import is_usable, normal_name

STYLES = ("iptc", "mwg", "none")


class Addition(NamedTuple):
    """What a run adds to a photo: tags with probabilities, regions, the run's id and the model's.

    ``date`` is that of the run, now if it is None.
    """

    tags: tuple[tuple[str, float], ...]
    regions: tuple[RegionTag, ...]
    run: str
    model: str
    date: datetime | None = None


@dataclass(frozen=True)
class Change:
    """The content of a sidecar before and after; None stands for no file. Equal contents: nothing to do.

    ``added`` are the tags that the run owns afterwards, ``removed`` those that are gone.
    """

    photo: Path
    sidecar: Path
    before: bytes | None
    after: bytes | None
    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()


def plan_addition(photo: str | os.PathLike[str], addition: Addition, *, regions: str = "iptc") -> Change:
    """Return the change that writes tags, regions and their provenance; nothing is written yet.

    Tags that the photo or its sidecar has already are left out, unless an earlier run of tagmix wrote them.
    ``regions`` is "iptc" (polygons), "mwg" (boxes, of which some programs make people) or "none".
    """
    path = Path(photo)
    if regions not in STYLES:
        raise ParameterError(f"regions must be one of {', '.join(STYLES)}, got {printable(regions)!r}")
    if not path.is_file():
        raise MetadataError(f"{label_of(path)} must be a photo, got no file: check the path")
    wanted = wanted_of(path, addition, regions)
    sidecar, before = _current(path)
    written = write_into(before, label_of(sidecar), held_inside(path), wanted)
    return Change(path, sidecar, before, written.content, added=written.tags)


def plan_removal(photo: str | os.PathLike[str], run: str | None, *, keep: Collection[str] = ()) -> Change:
    """Return the change that takes out all that tagmix wrote in a run (None: in any run).

    Tags in ``keep``, confirmed by a human, stay with their regions, but no longer as tagmix's own.
    """
    path = Path(photo)
    sidecar, before = _current(path)
    if before is None:
        return Change(path, sidecar, None, None)
    inside = held_inside(path) if path.is_file() else Held()
    written = remove_from(before, label_of(sidecar), inside, run, frozenset(keep))
    return Change(path, sidecar, before, written.content, removed=written.tags)


def plan_tag_removal(photo: str | os.PathLike[str], tags: Collection[str]) -> Change:
    """Return the change that takes out what tagmix wrote of these tags, in any run: a human rejected them.

    What anybody else wrote stays, also of these tags, and a later ``plan_removal`` still takes back the rest.
    """
    path = Path(photo)
    sidecar, before = _current(path)
    if before is None:
        return Change(path, sidecar, None, None)
    inside = held_inside(path) if path.is_file() else Held()
    written = remove_tags_from(before, label_of(sidecar), inside, frozenset(tags))
    return Change(path, sidecar, before, written.content, removed=written.tags)


def apply_change(change: Change) -> None:
    """Write a planned change in one step; refuse if the sidecar is no longer as it was when planned."""
    if change.before == change.after:
        return
    _check_unchanged(change)
    try:
        if change.after is None:
            remove(change.sidecar)
        else:
            replace(change.sidecar, (change.after,), scratch=False, check=lambda: _check_unchanged(change))
    except OSError as error:
        raise MetadataError(
            f"{label_of(change.sidecar)} was not written ({error.strerror or error}): check the folder, its "
            "permissions and the space left"
        ) from error


def _check_unchanged(change: Change) -> None:
    if change.before is None and not os.path.lexists(change.photo):
        # Nobody would find a sidecar where no photo is any more
        raise MetadataError(f"{label_of(change.photo)} was moved or deleted meanwhile: try again")
    if _content(change.sidecar) != change.before:
        raise MetadataError(f"{label_of(change.sidecar)} was changed by another program meanwhile: try again")


def _current(photo: Path) -> tuple[Path, bytes | None]:
    """Return the sidecar to write, and its content if it is there."""
    sidecar = sidecar_of(photo) or photo.with_name(f"{photo.name}.xmp")
    return sidecar, _content(sidecar)


def _content(sidecar: Path) -> bytes | None:
    """Return what a sidecar holds, None if there is none; refuse what must not be replaced."""
    try:
        mode = sidecar.lstat().st_mode
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "not a possible name"
        raise MetadataError(f"{label_of(sidecar)} cannot be read ({reason}): check the path") from error
    if stat.S_ISLNK(mode):
        # Replacing would cut the link, following it could leave the folder
        raise MetadataError(f"{label_of(sidecar)} must be a plain file, got a link: put the file there")
    if stat.S_ISREG(mode) and not (mode & 0o222 and os.access(sidecar, os.W_OK)):
        raise MetadataError(
            f"{label_of(sidecar)} must be writable, got a read-only file: change its permissions"
        )
    return read_sidecar(sidecar)


def wanted_of(photo: Path, addition: Addition, style: str) -> Wanted:
    """Return an addition in the terms of the sidecar, its values checked."""
    for text in (addition.run, addition.model):
        if not text or printable(text) != text:
            raise ParameterError(f"run and model must be printable text, got {printable(text)!r}")
    tags = tuple((_checked(tag), f"{probability:.4f}") for tag, probability in addition.tags)
    date = (addition.date or datetime.now(UTC)).isoformat(timespec="seconds")
    drawn: tuple[Drawn, ...] = ()
    size = None
    if addition.regions and style != "none":
        for region in addition.regions:
            _checked(region.tag)
        orientation = read_photo(photo).orientation
        draw = mwg_regions if style == "mwg" else iptc_regions
        drawn = tuple(draw(addition.regions, addition.run, orientation))
        size = _stored_size(photo) if style == "mwg" else None
    return Wanted(addition.run, addition.model, date, tags, drawn, size)


def _checked(tag: str) -> str:
    if not is_usable(tag) or normal_name(tag) != tag:
        raise ParameterError(f"a tag must be in normal form, got {printable(tag)[:60]!r}: use normal_name")
    return tag


def _stored_size(photo: Path) -> tuple[int, int]:
    try:
        height, width = size_of(photo, orientation=UPRIGHT)
    except ImageError as error:
        raise MetadataError(f"{label_of(photo)} needs a known size for boxes: {error}") from error
    return width, height


def label_of(path: Path) -> str:
    """Return the name of a file as messages show it."""
    return printable(repr(path.name))


__all__ = [
    "Addition",
    "Change",
    "RegionTag",
    "Written",
    "apply_change",
    "plan_addition",
    "plan_removal",
    "plan_tag_removal",
]
