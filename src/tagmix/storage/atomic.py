"""Files that are written atomically, and read up to a limit without waiting for a pipe."""

import contextlib
import os
import secrets
import stat
from collections.abc import Callable, Iterable
from pathlib import Path

from tagmix.errors import TagmixError


def write_atomic(path: Path, content: bytes) -> None:
    """Write a file that can be made again: whole or not at all; a link is replaced, not followed.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_atomic(Path(folder, "page.html"), b"<p>tags")
    ...     read_limited(Path(folder, "page.html"), most=100)
    b'<p>tags'
    """
    try:
        replace(path, (content,), scratch=True)
    except OSError as error:
        raise TagmixError(
            f"{str(path)!r} was not written ({error.strerror or error}): check the folder, its permissions "
            "and the space left"
        ) from error


def read_limited(path: Path, most: int) -> bytes:
    """Return the content of a regular file of at most ``most`` bytes; else OSError or ValueError."""
    # A pipe would wait for ever, a device never end, and some files are longer than their size
    if path.is_file():
        with path.open("rb") as stream:
            content = stream.read(most + 1)
        if len(content) <= most:
            return content
    raise ValueError(f"not a regular file of at most {most:,} bytes")


def replace(
    target: Path,
    blocks: Iterable[memoryview | bytes],
    *,
    scratch: bool,
    check: Callable[[], None] | None = None,
) -> None:
    """Put a file of these blocks in the place of ``target`` in one step.

    ``check`` is called when the new file is whole and the old one still there; its error keeps the old one.
    """
    mode = None if scratch else _mode_to_keep(target)
    # Not named after the target: its name may already be as long as the system allows.
    temporary = target.with_name(f".tagmix-{secrets.token_hex(8)}.tmp")
    try:
        # "x" creates with the user's umask, where tempfile would make a file for the owner alone.
        with open(temporary, "xb") as stream:
            if mode is not None:
                os.chmod(temporary, mode)
            stream.writelines(blocks)
            if not scratch:
                stream.flush()
                os.fsync(stream.fileno())
        if check is not None:
            check()
        os.replace(temporary, target)
    finally:  # runs for Ctrl-C too; after the replacement there is nothing left to remove
        temporary.unlink(missing_ok=True)
    if not scratch:
        _sync_folder(target.parent)


def remove(target: Path) -> None:
    """Remove a file for good, also where the power is cut right after."""
    target.unlink()
    _sync_folder(target.parent)


def _mode_to_keep(target: Path) -> int | None:
    try:
        mode = target.stat().st_mode
    except FileNotFoundError:
        return None
    if not stat.S_ISREG(mode):
        raise OSError(None, "there is a folder or a device of that name")
    return stat.S_IMODE(mode)


def _sync_folder(folder: Path) -> None:
    # The new name survives a power cut only once the folder is on disk. Systems that cannot
    # open a folder have no such call, and the file itself is safe by now.
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
