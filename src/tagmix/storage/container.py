"""One file of named arrays and plain fields: versioned, checksummed, safe to open from any source.

Layout: a header of 48 bytes (``TAGMIX`` and a zero byte, the format as one byte, the length of the
manifest, its SHA-256), the manifest as JSON padded with spaces, then the arrays: raw, little-endian,
C order, each starting at a multiple of 64 bytes with zeros between. No pickle anywhere.
"""

import hashlib
import os
import stat
import struct
from collections.abc import Iterator, Mapping
from importlib.metadata import PackageNotFoundError, version
from io import BufferedReader
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tagmix.errors import ModelFileError
from tagmix.storage import atomic
from tagmix.storage import manifest as _manifest
from tagmix.storage.manifest import FORMAT, JSON, MAX_MANIFEST_BYTES, Entry, Manifest, aligned, damaged

Arrays: TypeAlias = Mapping[str, NDArray[Any]]

MAGIC = b"TAGMIX\x00"
HEADER = struct.Struct("<7sBQ32s")  # magic, format, bytes of manifest, SHA-256 of manifest
CHUNK = 2**20


class Contents(NamedTuple):
    """What was in a file: its kind, its fields, its arrays (which cannot be written to)."""

    kind: str
    fields: dict[str, JSON]
    arrays: dict[str, NDArray[Any]]


def write(
    path: str | os.PathLike[str],
    kind: str,
    fields: Mapping[str, JSON],
    arrays: Arrays,
    *,
    scratch: bool = False,
) -> None:
    """Write fields and arrays to ``path``, whole or not at all, and the same bytes for the same input.

    A crash, a full disk or Ctrl-C leaves the old file as it was and nothing beside it. A link is followed.
    ``scratch`` is for what can be made again: it does not wait for the disk, and replaces a link itself,
    which another user may have put there.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write(f"{folder}/m", "demo", {"tags": ["sky", "sea"]}, {"beta": np.array([0.25, 0.75])})
    ...     contents = read(f"{folder}/m", "demo")
    >>> contents.fields["tags"], contents.arrays["beta"].tolist()
    (['sky', 'sea'], [0.25, 0.75])
    """
    file = _shown(path)
    _check_storable(kind, fields, arrays, file)
    stored = {name: _storable(name, arrays[name], file) for name in sorted(arrays)}
    preamble = _preamble(kind, fields, stored, file)
    try:
        target = Path(path) if scratch else Path(os.path.realpath(path))
        atomic.replace(target, (preamble, *_payload(stored)), scratch=scratch)
    except OSError as error:
        raise ModelFileError(
            f"{file} was not written ({error.strerror or error}): check the folder, its permissions and "
            "the space left"
        ) from error


def read(path: str | os.PathLike[str], kind: str | None = None) -> Contents:
    """Return what :func:`write` put into ``path``, after checking every byte of it.

    Memory for arrays is allocated only when sizes and checksums fit, so that an untrusted file can neither
    run code nor fill the memory. ``kind``, if given, must be the file's own.
    """
    file = _shown(path)
    try:
        with open(path, "rb", opener=_open_without_waiting) as stream:
            return _read(stream, file, kind)
    except OSError as error:
        raise ModelFileError(f"{file} {_trouble(error)}") from error
    except MemoryError as error:
        raise ModelFileError(f"{file} does not fit into memory: use a machine with more of it") from error


def read_manifest(path: str | os.PathLike[str]) -> Manifest:
    """Return the manifest of a file, checked; its arrays are neither read nor checked."""
    file = _shown(path)
    try:
        with open(path, "rb", opener=_open_without_waiting) as stream:
            return _read_manifest(stream, _size_of(stream, file), file)
    except OSError as error:
        raise ModelFileError(f"{file} {_trouble(error)}") from error


def manifest_of(kind: str, fields: Mapping[str, JSON], arrays: Arrays, file: str = "a file") -> Manifest:
    """Return the manifest that ``write`` gives to these fields and arrays."""
    _check_storable(kind, fields, arrays, file)
    return _manifest_of(kind, fields, {n: _storable(n, arrays[n], file) for n in sorted(arrays)})


def _size_of(stream: BufferedReader, file: str) -> int:
    status = os.fstat(stream.fileno())
    if not stat.S_ISREG(status.st_mode):
        raise ModelFileError(
            f"{file} is a pipe or a device, not a tagmix file: copy it to a plain file first"
        )
    return status.st_size


def _read(stream: BufferedReader, file: str, kind: str | None) -> Contents:
    size = _size_of(stream, file)
    described = _read_manifest(stream, size, file)
    if kind is not None and described.kind != kind:
        raise ModelFileError(
            f"{file} holds {described.kind!r} where {kind!r} was expected: give another file"
        )
    start = stream.tell()
    _check_size(size, start + described.payload_bytes, file)
    digest = hashlib.sha256()
    while block := stream.read(CHUNK):
        digest.update(block)
    if digest.hexdigest() != described.sha256:
        damaged(file, "the checksum of its arrays does not fit")
    arrays = {entry.name: _read_array(stream, start, entry, file) for entry in described.entries}
    return Contents(described.kind, described.fields, arrays)


def _read_manifest(stream: BufferedReader, size: int, file: str) -> Manifest:
    header = stream.read(HEADER.size)
    _check_format(header, file)
    if len(header) < HEADER.size:
        _check_size(len(header), HEADER.size, file)
    _, _, length, digest = HEADER.unpack(header)
    if length > MAX_MANIFEST_BYTES:
        damaged(file, f"a manifest of {length:,} bytes, at most {MAX_MANIFEST_BYTES:,} are allowed")
    if HEADER.size + length > size:
        _check_size(size, HEADER.size + length, file)
    raw = stream.read(length)
    if hashlib.sha256(raw).digest() != digest:
        damaged(file, "the checksum of its manifest does not fit")
    if aligned(HEADER.size + length) != HEADER.size + length:
        damaged(file, "its arrays do not start at a multiple of 64 bytes")
    return _manifest.decode(raw, file)


def _check_format(header: bytes, file: str) -> None:
    if not header.startswith(MAGIC):
        raise ModelFileError(f"{file} is not a tagmix file: pass a file that tagmix saved")
    # A header cut before its format byte is reported by the check of its length.
    found = header[len(MAGIC)] if len(header) > len(MAGIC) else FORMAT
    if found > FORMAT:
        raise ModelFileError(
            f"{file} was written by a newer tagmix (format {found}, this one reads {FORMAT}): upgrade tagmix"
        )
    if found < 1:
        damaged(file, f"there is no format {found}")
    if found < FORMAT:
        raise ModelFileError(
            f"{file} was written by an older tagmix (format {found}, this one reads {FORMAT}): train the "
            "model again, or describe the album again"
        )


def _check_size(have: int, announced: int, file: str) -> None:
    if have != announced:
        raise ModelFileError(
            f"{file} is {'shorter' if have < announced else 'longer'} than it says "
            f"({have:,} of {announced:,} bytes): copy or download it again"
        )


def _read_array(stream: BufferedReader, start: int, entry: Entry, file: str) -> NDArray[Any]:
    buffer = np.empty(entry.nbytes, dtype=np.uint8)
    stream.seek(start + entry.offset)
    # The file was whole a moment ago; another program may have cut it since.
    if stream.readinto(buffer.data) != entry.nbytes:
        damaged(file, "it changed while it was read")
    if entry.dtype == "|b1" and entry.nbytes and buffer.max() > 1:
        damaged(file, f"array {entry.name!r} holds bytes that are neither true nor false")
    # Before the view is taken: an array on a locked buffer cannot be unlocked again.
    buffer.setflags(write=False)
    return buffer.view(entry.dtype).reshape(entry.shape)


def _open_without_waiting(path: str, flags: int) -> int:
    # Opening a named pipe would wait for its other end for ever.
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def _trouble(error: OSError) -> str:
    if isinstance(error, FileNotFoundError):
        return "does not exist: check the path"
    if isinstance(error, IsADirectoryError):
        return "is a folder, not a tagmix file: give the path of a file"
    if isinstance(error, PermissionError):
        return "may not be read by this user: change its permissions"
    return f"could not be read ({error.strerror or error}): check the path and the disk"


def _shown(path: str | os.PathLike[str]) -> str:
    """Return the path quoted, so that no file name can break the message into lines."""
    shown = repr(os.fspath(path))
    try:
        usable = b"\x00" not in os.fsencode(path)
    except UnicodeEncodeError:
        usable = False
    if not usable:
        raise ModelFileError(f"{shown} cannot be the name of a file: give a path without special characters")
    return shown


def _writer() -> str:
    try:
        return f"tagmix {version('tagmix')}"
    except PackageNotFoundError:  # run from a source tree that was never installed
        return "tagmix (not installed)"


def _preamble(kind: str, fields: Mapping[str, JSON], arrays: Arrays, file: str) -> bytes:
    """Return header and manifest, as long as it takes for the first array to start aligned."""
    raw = _manifest.encode(_manifest_of(kind, fields, arrays))
    # Spaces are nothing to JSON, and covered by its checksum.
    raw = raw.ljust(aligned(HEADER.size + len(raw)) - HEADER.size)
    if len(raw) > MAX_MANIFEST_BYTES:
        raise ModelFileError(
            f"{file} was not written: fields and names take {len(raw):,} bytes, at most "
            f"{MAX_MANIFEST_BYTES:,} are allowed; put long lists into arrays"
        )
    return HEADER.pack(MAGIC, FORMAT, len(raw), hashlib.sha256(raw).digest()) + raw


def _manifest_of(kind: str, fields: Mapping[str, JSON], arrays: Arrays) -> Manifest:
    digest = hashlib.sha256()
    for block in _payload(arrays):
        digest.update(block)
    return Manifest(kind, _writer(), dict(fields), _placed(arrays), digest.hexdigest())


def _check_storable(kind: str, fields: Mapping[str, JSON], arrays: Arrays, file: str) -> None:
    for name in (kind, *arrays):
        if not _manifest.is_name(name):
            raise ModelFileError(
                f"{file} was not written: {name!r:.60} is not a plain name; use letters, digits and _, "
                f"joined by . or /, at most {_manifest.MAX_NAME} characters"
            )
    if not _manifest.is_plain(dict(fields)):
        raise ModelFileError(
            f"{file} was not written: fields must be plain JSON (dict with str keys, list, str, bool, int, "
            f"finite float, None) at most {_manifest.MAX_DEPTH} deep; convert them or use arrays"
        )


def _storable(name: str, array: NDArray[Any], file: str) -> NDArray[Any]:
    """Return the array as the file holds it: little-endian and in C order, copied only if it is not."""
    # A masked array would lose its mask without a word.
    if not isinstance(array, np.ndarray) or isinstance(array, np.ma.MaskedArray):
        got = type(array).__name__
        raise ModelFileError(f"{file} was not written: {name!r} is a {got}; make it an array with np.asarray")
    dtype = array.dtype.newbyteorder("<")
    if _manifest.array_bytes(dtype.str, array.shape) is None:
        raise ModelFileError(
            f"{file} was not written: {name!r} has type {array.dtype} and shape {array.shape}; use up to "
            f"{_manifest.MAX_NDIM} axes and one of {', '.join(_manifest.ITEM_BYTES)} (with .astype)"
        )
    return np.asarray(array, dtype=dtype, order="C")


def _placed(arrays: Arrays) -> tuple[Entry, ...]:
    entries: list[Entry] = []
    end = 0
    for name, array in arrays.items():
        entries.append(Entry(name, array.dtype.str, array.shape, aligned(end), array.nbytes))
        end = aligned(end) + array.nbytes
    return tuple(entries)


def _payload(arrays: Arrays) -> Iterator[memoryview | bytes]:
    """Give the bytes after the manifest: each array, with zeros up to the start of the next."""
    end = 0
    for array in arrays.values():
        yield bytes(aligned(end) - end)
        yield array.reshape(-1).view(np.uint8).data
        end = aligned(end) + array.nbytes
