"""Places of photos as bytes: any name of a file survives, valid text or not."""

import os
from pathlib import Path, PurePath

from tagmix.errors import CatalogueError, printable

# No system has longer paths.
LONGEST = 1 << 16


def place_bytes(place: str | PurePath) -> bytes:
    r"""Return a relative place as bytes, with ``/`` between levels; CatalogueError if it leads elsewhere.

    >>> place_bytes("2019/sea.jpg"), place_bytes("bad" + chr(0xDCFF))
    (b'2019/sea.jpg', b'bad\xff')
    """
    text = place.as_posix() if isinstance(place, PurePath) else place
    try:
        raw = os.fsencode(text)
    except UnicodeEncodeError:
        raw = b""
    parts = raw.split(b"/")
    if not raw or b"\0" in raw or b"" in parts or b"." in parts or b".." in parts:
        raise CatalogueError(
            f"the place of a photo must be relative to the library's folder, got "
            f"{printable(repr(text)):.200}: leave out '.', '..' and a leading '/'."
        )
    return raw


def place_text(raw: bytes) -> str:
    r"""Return a place as the text that Python uses for names of files.

    >>> place_text(b"bad\xff") == "bad" + chr(0xDCFF)
    True
    """
    if raw[:1] == b"/" or (b".." in raw and b".." in raw.split(b"/")):
        raise CatalogueError(
            f"the catalogue has a photo outside of its folder, {printable(repr(raw)):.200}: use another one."
        )
    return os.fsdecode(raw)


def after(start: bytes) -> bytes:
    r"""Return the first place behind all that begin with these bytes.

    >>> after(b"2019/"), after(b"")[:2]
    (b'20190', b'\xff\xff')
    """
    shorter = start.rstrip(b"\xff")
    return shorter[:-1] + bytes([shorter[-1] + 1]) if shorter else b"\xff" * LONGEST


def relative_place(root: Path, path: Path) -> str:
    """Return where a file is below the root; CatalogueError if it is not below it."""
    try:
        return path.relative_to(root).as_posix()
    except ValueError:
        raise CatalogueError(
            f"{printable(repr(str(path)))} is not below {printable(repr(str(root)))}, the folder of this "
            "catalogue: name a photo in it, or another --catalogue."
        ) from None
