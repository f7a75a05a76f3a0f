"""Checks of folders and files: cache, catalogues, a library of photos, a model."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from importlib import import_module
from pathlib import Path

from tagmix.cli.checks.finding import OK, PROBLEM, WARNING, Finding, findings_of, in_bytes, plural
from tagmix.cli.places import usual_cache

SCARCE, NONE_LEFT = 1e9, 5e7  # bytes free on a disk
MOST_FILES = 200_000
LEFT_OVER = (".tagmix-", ".tmp")  # how files are named until they are complete


def cache() -> Iterator[Finding]:
    """Yield the place and size of the cache folder, whether it can be written, and the space left."""
    folder = usual_cache()
    size, files = size_of(folder)
    yield from writable(
        "cache", folder, f"{plural(files, 'file')}, {in_bytes(size)}; it can be deleted at any time"
    )


def writable(check: str, folder: Path, about: str) -> Iterator[Finding]:
    """Yield whether files can be made in a folder, or in the one that it would be made in."""
    existing = next(one for one in (folder, *folder.parents) if one.exists())
    shown = str(folder) if existing == folder else f"{folder}, which does not exist yet"
    try:
        with tempfile.TemporaryFile(dir=existing):
            free = shutil.disk_usage(existing).free
    except OSError as error:
        yield Finding(check, PROBLEM, f"{shown} cannot be written: {error.strerror}", "check its permissions")
        return
    shown = f"{shown}: {about}, {in_bytes(free)} free"
    state = PROBLEM if free < NONE_LEFT else WARNING if free < SCARCE else OK
    yield Finding(check, state, shown, "" if state == OK else "free some space on this disk")


def size_of(folder: Path) -> tuple[int, int]:
    """Return the bytes and the number of files below a folder; of a huge one, of a part."""
    size = files = 0
    for place, _, names in os.walk(folder):
        for name in names:
            with suppress(OSError):
                size += os.lstat(os.path.join(place, name)).st_size
            files += 1
        if files > MOST_FILES:
            break
    return size, files


def catalogues() -> Iterator[Finding]:
    """Yield the place of the catalogues, and for each of them whether it is sound."""
    folder = import_module("tagmix.catalogue.roots").data_folder()
    files = sorted(folder.glob("*.sqlite")) if folder.is_dir() else []
    size = sum(size_of(folder)[:1])
    yield from writable("data", folder, f"{plural(len(files), 'catalogue')}, {in_bytes(size)}")
    for number, file in enumerate(files, 1):
        yield from catalogue(f"catalogue {number}", file)


def catalogue(check: str, file: Path) -> list[Finding]:
    """Return what is wrong with a catalogue; every page of it is read."""
    return findings_of(check, partial(_catalogue, check, file))


def _catalogue(check: str, file: Path) -> Iterator[Finding]:
    opening = import_module("tagmix.catalogue.opening")
    store = opening.open_store(file)
    try:
        wrong = opening.check_all(store)
        photos = store.rows("SELECT count(*) FROM photo")[0][0]
    finally:
        store.close()
    if wrong:
        more = f", and {len(wrong) - 1} more" if len(wrong) > 1 else ""
        way_out = f"restore {file.name} from a backup, or move it away and scan the photos again"
        yield Finding(check, PROBLEM, f"damaged: {wrong[0]}{more}", way_out)
    else:
        yield Finding(check, OK, f"sound, {plural(photos, 'photo')}, {in_bytes(file.stat().st_size)}")


def library(folder: Path) -> Iterator[Finding]:
    """Yield whether a folder of photos can be written, its catalogue is sound, and nothing is left over."""
    elements, decode = import_module("tagmix.datasets.elements"), import_module("tagmix.images.decode")
    photos = sum(1 for _ in elements.files_below(folder, decode.SUFFIXES))
    yield from writable("photos", folder, plural(photos, "photo"))
    place = import_module("tagmix.catalogue").place_of(folder)
    if place.exists():
        yield from catalogue("its catalogue", place)
    else:
        yield Finding("its catalogue", OK, "none yet")
    left = _left_over(folder)
    if left:
        found = f"{plural(len(left), 'file')} of writes that were killed, such as {left[0].name}"
        yield Finding("left over", WARNING, found, "delete them when no tagmix is running")


def _left_over(folder: Path) -> list[Path]:
    start, end = LEFT_OVER
    return [
        Path(place, name)
        for place, _, names in os.walk(folder)
        for name in names
        if name.startswith(start) and name.endswith(end)
    ]


def model(path: Path) -> Iterator[Finding]:
    """Yield whether a model can be read and used."""
    files, images = import_module("tagmix.files"), import_module("tagmix.images.published")
    thing = files.load(path)
    kind, identity = type(thing).__name__, files.model_id(path)
    yield Finding("model", OK, f"{path.name}: {kind}, id {identity}, {in_bytes(path.stat().st_size)}")
    for network in getattr(getattr(thing, "describer", None), "networks", ()):
        known = network.published
        lacking = images.missing(known.name) if known else "" if network.place.exists() else "its TOML"
        if lacking:
            way_out = (
                "python -m pip install '.[network]'" if known else "give its place by annotate --network"
            )
            yield Finding("model", PROBLEM, f"{network.title} is needed, {lacking} is missing", way_out)
        else:
            yield Finding("model", OK, f"{network.title} is there")
