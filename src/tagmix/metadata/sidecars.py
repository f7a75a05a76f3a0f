"""Which file beside a photo is its sidecar."""

import os
import stat
from pathlib import Path

from tagmix.errors import MetadataError, printable
from tagmix.images.raw import SUFFIXES as RAW_SUFFIXES
from tagmix.metadata.xmp import MOST_BYTES

ENDINGS = (".xmp", ".XMP")


def sidecar_of(photo: Path) -> Path | None:
    """Return the sidecar in use: ``photo.jpg.xmp`` before ``photo.xmp``; None if there is neither.

    Beside a raw file of the same name, ``photo.xmp`` belongs to that raw file, as in Adobe's programs.
    """
    own = _first(photo.name, photo.parent)
    if own is not None:
        return own
    shared = _first(photo.stem, photo.parent)
    if shared is None or photo.suffix.lower() in RAW_SUFFIXES:
        return shared
    return None if raw_of(photo) is not None else shared


def raw_of(photo: Path) -> Path | None:
    """Return the raw file of the same name beside a photo that is none itself, as cameras write pairs."""
    if photo.suffix.lower() in RAW_SUFFIXES:
        return None
    endings = (form for suffix in sorted(RAW_SUFFIXES) for form in (suffix.upper(), suffix))
    return next((path for end in endings if _exists(path := photo.with_name(photo.stem + end))), None)


def _first(name: str, folder: Path) -> Path | None:
    return next((path for end in ENDINGS if _exists(path := folder / f"{name}{end}")), None)


def _exists(path: Path) -> bool:
    try:
        return os.path.lexists(path)
    except (OSError, ValueError):
        return False


def read_sidecar(path: Path, within: Path | None = None) -> bytes:
    """Return the bytes of a sidecar; MetadataError if it is no plain file, or too large.

    ``within`` is a folder that a link must not lead out of.
    """
    label = printable(repr(path.name))
    try:
        if within is not None and not path.resolve().is_relative_to(within.resolve()):
            raise MetadataError(f"{label} is a link that leads out of the folder: copy the file instead")
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):  # a pipe would wait for ever, a device never end
            raise MetadataError(f"{label} must be a plain file, got a folder, pipe or device: remove it")
        if status.st_size > MOST_BYTES:
            raise MetadataError(
                f"{label} must have at most {MOST_BYTES:,} bytes, got {status.st_size:,}: write it again"
            )
        with path.open("rb") as stream:
            return stream.read(MOST_BYTES)
    except (OSError, ValueError, RuntimeError) as error:
        if isinstance(error, MetadataError):
            raise
        reason = getattr(error, "strerror", None) or "not a possible name"
        raise MetadataError(f"{label} cannot be read ({reason}): check the file") from error
