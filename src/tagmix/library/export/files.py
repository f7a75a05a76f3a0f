"""Write the files of an export: each appears complete, and none that is not an export is replaced."""

import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from tagmix.catalogue import Catalogue, Photo
from tagmix.errors import AlbumError, TagmixError, printable
from tagmix.library.export.chosen import Choice, Chosen, chosen
from tagmix.library.export.coco import coco_blocks
from tagmix.library.export.labelme import LabelNames, labelme_content
from tagmix.library.export.lines import BYTE_ORDER_MARK, HEADER, csv_blocks, jsonl_blocks
from tagmix.library.export.sheet import MARK, Sheet
from tagmix.storage.atomic import replace, write_atomic

BEGINNING = 200  # bytes of a file in which our mark is sought
MARKS = (MARK.encode(), (BYTE_ORDER_MARK + ",".join(HEADER)).encode())
BLOCKS: dict[str, Callable[[Sheet, Iterable[Chosen]], Iterator[bytes]]] = {
    "coco": coco_blocks,
    "csv": csv_blocks,
    "jsonl": jsonl_blocks,
}
FORMATS = ("labelme", *BLOCKS)


class Exported(NamedTuple):
    """What was exported: numbers of photos, of those with tags, of different tags and of regions.

    ``base`` is the folder to which the paths in the file are relative; ``problems`` has one line per photo
    that is left out, ``notes`` what else a person should know.
    """

    photos: int
    tagged: int
    tags: int
    regions: int
    base: Path
    problems: tuple[str, ...]
    notes: tuple[str, ...]


def export(
    catalogue: Catalogue,
    photos: Iterable[Photo],
    out: Path,
    form: str,
    choice: Choice | None = None,
    *,
    folder: Path | None = None,
    again: bool = False,
) -> Exported:
    """Write photos with their tags to ``out``: a file, or with LabelMe a folder; return what was written.

    ``folder`` has all of these photos, by default the library's. ``again`` replaces an older export; no
    other file is ever replaced. Paths in a file are relative to its own folder if that contains ``folder``,
    so that ``open_album`` reads it, else to ``folder``.
    """
    top = Path(os.path.realpath(folder or catalogue.root))
    problems: list[str] = []
    check_target(out, form, again=again)
    parents = {info.tag: info.parents for info in catalogue.tags.describe()}
    sheet = Sheet(base_of(out, top), parents, problems)
    wanted = chosen(catalogue, photos, choice or Choice(), problems, shapes=form != "csv")
    passing = sheet.counted(wanted)
    if form == "labelme":
        _write_folder(sheet, passing, out, top, again)
    else:
        _write_file(out, BLOCKS[form](sheet, passing))
    counts = (sheet.photos, sheet.tagged, len(sheet.tags), sheet.regions)
    return Exported(*counts, sheet.base, tuple(problems), tuple(sheet.notes()))


def base_of(out: Path, folder: Path) -> Path:
    """Return the folder to which the paths in a file are relative: its own, if it contains the photos."""
    own = Path(os.path.realpath(out.parent))
    return own if own == folder or own in folder.parents else folder


def check_target(out: Path, form: str, *, again: bool) -> None:
    """Refuse, before any work, an ``out`` that cannot be written or that would replace another file."""
    if form == "labelme":
        if os.path.lexists(out) and not out.is_dir():
            raise _refused(out, "is a file, and LabelMe needs a folder")
        return
    if out.is_dir():
        raise _refused(out, "is a folder")
    if not out.parent.is_dir():
        raise _refused(out, "is in a folder that does not exist")
    if os.path.lexists(out):
        _check_ours(out, again)


def _check_ours(file: Path, again: bool) -> None:
    if not is_ours(file):
        raise _refused(file, "exists, and tagmix did not export it")
    if not again:
        raise _refused(file, "exists: --replace writes the export again")


def _refused(out: Path, reason: str) -> AlbumError:
    way = "" if "--replace" in reason else ": choose another path"
    return AlbumError(f"{printable(repr(str(out)))} {reason}{way}.")


def is_ours(file: Path) -> bool:
    """Return whether a file begins as an export of ours."""
    try:
        if not file.is_file() or file.is_symlink():
            return False
        with file.open("rb") as stream:
            beginning = stream.read(BEGINNING)
    except OSError:
        return False
    return any(mark in beginning for mark in MARKS)


def _write_file(out: Path, blocks: Iterator[bytes]) -> None:
    try:
        replace(out, blocks, scratch=True)
    except OSError as error:
        raise TagmixError(
            f"{printable(repr(str(out)))} was not written ({error.strerror or error}): check the folder, its "
            "permissions and the space left."
        ) from error


def _write_folder(sheet: Sheet, photos: Iterable[Chosen], out: Path, top: Path, again: bool) -> None:
    names = LabelNames()
    out.mkdir(parents=True, exist_ok=True)
    real = Path(os.path.realpath(out))
    for photo, height, width in sheet.sized(photos):
        file = real / names.of(photo.path.relative_to(top).as_posix())
        try:
            if os.path.lexists(file):
                _check_ours(file, again)
            file.parent.mkdir(parents=True, exist_ok=True)
            write_atomic(file, labelme_content(photo, height, width, file.parent))
        except (OSError, AlbumError) as error:
            sheet.leave_out(photo, error)
