"""Sources of pictures: files, or bytes with a name; and the problem of one that cannot be used."""

import os
import stat
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from tagmix.errors import ParameterError, printable
from tagmix.images.decode import orientation_of
from tagmix.images.process_pool import read_content
from tagmix.images.raw import SUFFIXES as RAW_SUFFIXES
from tagmix.images.raw import Preview, find_preview


class PictureBytes(NamedTuple):
    """A picture in memory: the bytes of a picture file, and a name for results and messages."""

    name: str
    content: bytes


class TurnedPicture(NamedTuple):
    """A file, and the orientation (1 to 8, as in EXIF) that counts instead of the file's own."""

    path: Path
    orientation: int


class Content(NamedTuple):
    """The bytes of a picture, and the orientation that counts instead of their own; None for their own."""

    data: bytes
    orientation: int | None = None

    @property
    def turn(self) -> tuple[str, ...]:
        """What the picture follows from beside its bytes, for a key; empty if there is nothing."""
        return () if self.orientation is None else (f"orientation {self.orientation}",)


Source: TypeAlias = str | os.PathLike[str] | bytes | PictureBytes | TurnedPicture

UNNAMED = "<bytes>"
# How ``decode`` names its input; a problem has the name of its source instead.
BYTES = "the given bytes "


class Problem(NamedTuple):
    """A picture that could not be used, and why.

    >>> str(Problem("beach.jpg", "does not exist: check the path."))
    'beach.jpg: does not exist: check the path.'
    """

    source: Path | str
    reason: str

    def __str__(self) -> str:
        """Return one line, whatever the name holds."""
        return f"{printable(self.source)}: {self.reason}"


def problem_of(source: Source, reason: str) -> Problem:
    """Return the problem of a source, its reason without the name that ``decode`` gives to bytes."""
    return Problem(name_of(source), reason.removeprefix(BYTES))


def check_sources(sources: Any) -> None:
    """Refuse one source where several are expected, and what is no source."""
    if _is_source(sources) or not isinstance(sources, Sequence):
        raise ParameterError(
            f"pictures must be a list of paths or bytes, got {type(sources).__name__}: put them into a list."
        )
    for source in sources:
        if not _is_source(source):
            raise ParameterError(
                "a picture must be a path, bytes, or PictureBytes of a name and bytes, got "
                f"{source!r:.60}: convert it, for example with bytes()."
            )


def _is_source(source: Any) -> bool:
    if isinstance(source, PictureBytes):
        return isinstance(source.name, str) and isinstance(source.content, bytes)
    if isinstance(source, TurnedPicture):
        return isinstance(source.path, Path) and source.orientation in range(1, 9)
    return isinstance(source, str | bytes | os.PathLike)


def name_of(source: Source) -> Path | str:
    """Return what a result calls its source: the path of a file, the name of bytes."""
    if isinstance(source, PictureBytes):
        return source.name
    if isinstance(source, TurnedPicture):
        return source.path
    return UNNAMED if isinstance(source, bytes) else Path(source)


def content_of(source: Source) -> Content:
    """Return the bytes of a picture, of a raw file its preview; ImageError without a name if it has none.

    An orientation that repeats what the bytes say themselves is left out: the same picture has the same key.
    """
    if isinstance(source, PictureBytes | bytes):
        return Content(source.content if isinstance(source, PictureBytes) else source)
    path, orientation = source if isinstance(source, TurnedPicture) else (Path(source), None)
    preview = _preview(path)
    data = read_content(path) if preview is None else preview.content
    if orientation is None and preview is not None:
        orientation = preview.orientation
    if orientation is None or orientation_of(data, orientation) == orientation_of(data):
        return Content(data)
    return Content(data, orientation)


def _preview(path: Path) -> Preview | None:
    """Return the preview of a raw file without reading the rest; None of other files."""
    if path.suffix.lower() not in RAW_SUFFIXES:
        return None
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            return None
        with path.open("rb") as stream:
            return find_preview(stream)
    except (OSError, ValueError):  # said in words by who reads the whole file
        return None
