"""Sources of pictures: files, or bytes with a name; and the problem of one that cannot be used."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from tagmix.errors import ParameterError, printable
from tagmix.images.process_pool import read_content


class PictureBytes(NamedTuple):
    """A picture in memory: the bytes of a picture file, and a name for results and messages."""

    name: str
    content: bytes


Source: TypeAlias = str | os.PathLike[str] | bytes | PictureBytes

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
    return isinstance(source, str | bytes | os.PathLike)


def name_of(source: Source) -> Path | str:
    """Return what a result calls its source: the path of a file, the name of bytes."""
    if isinstance(source, PictureBytes):
        return source.name
    return UNNAMED if isinstance(source, bytes) else Path(source)


def content_of(source: Source) -> bytes:
    """Return the bytes of a picture; ImageError, without a name, if there are none."""
    if isinstance(source, PictureBytes):
        return source.content
    return source if isinstance(source, bytes) else read_content(Path(source))
