"""Sources of pictures: files, or bytes with a name; and the problem of one that cannot be used."""

import os
from pathlib import Path
from typing import NamedTuple, TypeAlias

from tagmix.errors import printable
from tagmix.images.process_pool import read_content


class PictureBytes(NamedTuple):
    """A picture in memory: the bytes of a picture file, and a name for results and messages."""

    name: str
    content: bytes


Source: TypeAlias = str | os.PathLike[str] | bytes | PictureBytes

UNNAMED = "<bytes>"
# How ``decode`` names its input; in a problem the name of the source stands there.
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
        return f"{printable(self.source)}: {self.reason.removeprefix(BYTES)}"


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
