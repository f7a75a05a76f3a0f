"""Write tags into a JPEG itself, for programs that ignore its sidecar, with exiftool where it is installed.

Nothing here runs unless a person asks for it: it is the only part of tagmix that changes a photo. The XMP
packet is spliced as a sidecar is, with the same provenance and the same undo; exiftool only puts it into a
copy of the photo. The copy is compared with the photo, and then takes its place in one step.
"""

import hashlib
import io
import os
import shutil
import subprocess
import tempfile
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tagmix.errors import MetadataError, printable
from tagmix.images.jpeg import jpeg_segments
from tagmix.metadata.addition import Written, write_into
from tagmix.metadata.embedded import ADOBE, EXTENSION, embedded
from tagmix.metadata.held import held_in_iptc
from tagmix.metadata.removal import remove_from, remove_tags_from
from tagmix.metadata.write import Addition, label_of, wanted_of
from tagmix.storage.atomic import read_limited, replace

PATIENCE: Final = 120  # seconds that exiftool may take for one photo
APP1: Final = 0xE1
MOST_PHOTO: Final = 512 * 2**20  # bytes
MOST_PACKET: Final = 65_000  # bytes: a JPEG holds the packet in one segment


@dataclass(frozen=True)
class Embedding:
    """The XMP packet of a JPEG before and after; None stands for none. Equal packets: nothing to do.

    ``digest`` is that of the whole photo when it was planned.
    """

    photo: Path
    before: bytes | None
    after: bytes | None
    digest: str
    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()


def plan_embedding(photo: str | os.PathLike[str], addition: Addition, *, regions: str = "iptc") -> Embedding:
    """Return the change that writes tags, regions and provenance into a JPEG; nothing is written yet."""
    path = Path(photo)
    content = _content(path)
    before = _packet(path, content)
    wanted = wanted_of(path, addition, regions)
    written = write_into(before, _inside(path), held_in_iptc(embedded(content).iptc), wanted)
    return _embedding(path, content, before, written, added=True)


def plan_unembedding(
    photo: str | os.PathLike[str], run: str | None, *, keep: Collection[str] = ()
) -> Embedding:
    """Return the change that takes out of a JPEG what tagmix wrote into it in a run (None: in any run)."""
    path = Path(photo)
    content = _content(path)
    before = _packet(path, content)
    if before is None:
        return Embedding(path, None, None, _digest(content))
    written = remove_from(before, _inside(path), held_in_iptc(embedded(content).iptc), run, frozenset(keep))
    return _embedding(path, content, before, written, added=False)


def plan_tag_unembedding(photo: str | os.PathLike[str], tags: Collection[str]) -> Embedding:
    """Return the change that takes out of a JPEG what tagmix wrote into it of these tags, in any run."""
    path = Path(photo)
    content = _content(path)
    before = _packet(path, content)
    if before is None:
        return Embedding(path, None, None, _digest(content))
    held = held_in_iptc(embedded(content).iptc)
    written = remove_tags_from(before, _inside(path), held, frozenset(tags))
    return _embedding(path, content, before, written, added=False)


def apply_embedding(change: Embedding) -> None:
    """Write a planned change through exiftool; refuse if the photo is no longer as it was when planned."""
    if change.before == change.after:
        return
    content = _unchanged(change)
    copy = _copy(change, content)
    packet = _packet(change.photo, copy) or b""
    # exiftool puts the wrapper of the standard around a packet without one
    if (change.after or b"").strip() not in packet or _without_xmp(copy) != _without_xmp(content):
        raise MetadataError(
            f"{label_of(change.photo)} would not be the same picture after exiftool: leave it to a sidecar"
        )
    try:
        # The time of change moves on: backups and photo programs notice by it that the photo is another file
        replace(change.photo, (copy,), scratch=False, check=lambda: _check(change))
    except OSError as error:
        raise MetadataError(
            f"{label_of(change.photo)} was not written ({error.strerror or error}): check the folder, its "
            "permissions and the space left"
        ) from error


def _embedding(photo: Path, content: bytes, before: bytes | None, written: Written, added: bool) -> Embedding:
    after = written.content
    if after is not None and len(after) > MOST_PACKET:
        raise MetadataError(
            f"{label_of(photo)} can hold at most {MOST_PACKET:,} bytes of XMP, got {len(after):,}: "
            "leave regions to a sidecar"
        )
    gained, lost = (written.tags, ()) if added else ((), written.tags)
    return Embedding(photo, before, after, _digest(content), gained, lost)


def _content(photo: Path) -> bytes:
    """Return the bytes of a JPEG that may be replaced."""
    try:
        if photo.is_symlink():
            raise ValueError("it is a link")  # noqa: TRY301
        if photo.exists() and not (photo.stat().st_mode & 0o222 and os.access(photo, os.W_OK)):
            raise ValueError("it is read-only")  # noqa: TRY301
        content = read_limited(photo, MOST_PHOTO)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise MetadataError(f"{label_of(photo)} must be a plain, writable JPEG, got: {reason}") from error
    if not content.startswith(b"\xff\xd8"):
        raise MetadataError(f"{label_of(photo)} must be a JPEG, got another format: use a sidecar")
    return content


def _packet(photo: Path, content: bytes) -> bytes | None:
    """Return the XMP packet of a JPEG."""
    found = embedded(content).xmp
    if len(found) > 1:
        raise MetadataError(f"{label_of(photo)} has XMP in several parts: leave it to a sidecar")
    return found[0] if found else None


def _without_xmp(content: bytes) -> bytes:
    """Return a JPEG without its XMP: all that has to stay as it is."""
    parts, place = [], 0
    for segment in jpeg_segments(io.BytesIO(content)):
        head = content[segment.place : segment.place + len(EXTENSION)]
        if segment.marker == APP1 and head.startswith((ADOBE, EXTENSION)):
            parts.append(content[place : segment.place - 4])  # marker and length come before the content
            place = segment.place + segment.size
    return b"".join((*parts, content[place:]))


def _copy(change: Embedding, content: bytes) -> bytes:
    """Return the photo with the new packet, as exiftool writes it into a folder of its own."""
    program = shutil.which("exiftool")
    if program is None:
        raise MetadataError(
            "writing into photos needs exiftool, which is not installed: install it, or write sidecars"
        )
    with tempfile.TemporaryDirectory(prefix="tagmix-") as folder:
        # Names of our own: those of photos may start with a dash, or hold line ends or percent signs
        Path(folder, "in.jpg").write_bytes(content)
        Path(folder, "packet.xmp").write_bytes(change.after or b"")
        order = "-XMP:all=" if change.after is None else "-XMP<=packet.xmp"
        complaint = _run([program, "-config", "", "-q", "-q", order, "-o", "out.jpg", "in.jpg"], folder)
        try:
            return Path(folder, "out.jpg").read_bytes()
        except OSError as error:
            label = label_of(change.photo)
            raise MetadataError(f"exiftool did not write {label}, but: {complaint}; use a sidecar") from error


def _run(command: list[str], folder: str) -> str:
    """Run a program without a shell, and return what it complained about."""
    try:
        done = subprocess.run(
            command, cwd=folder, capture_output=True, timeout=PATIENCE, check=False, stdin=subprocess.DEVNULL
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return printable(error)[:120]
    return printable(" ".join(done.stderr.decode("utf-8", "replace").split()))[:120] or "nothing was said"


def _check(change: Embedding) -> None:
    _unchanged(change)


def _unchanged(change: Embedding) -> bytes:
    content = _content(change.photo)
    if _digest(content) != change.digest:
        raise MetadataError(f"{label_of(change.photo)} was changed by another program meanwhile: try again")
    return content


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _inside(photo: Path) -> str:
    return f"the XMP packet inside {label_of(photo)}"
