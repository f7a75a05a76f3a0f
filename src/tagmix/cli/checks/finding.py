"""What a check finds, and checks that cannot fail themselves."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from tagmix.errors import TagmixError, printable

REPORT = "install tagmix again; if that does not help, report it"
OK, WARNING, PROBLEM = "ok", "warning", "problem"


class Finding(NamedTuple):
    """A line of the doctor: what was checked, its state, what was found, and what to do about it."""

    check: str
    state: str
    found: str
    way_out: str = ""


Check = Callable[[], Iterator[Finding]]


def findings_of(name: str, check: Check) -> list[Finding]:
    """Return what a check finds; if it fails itself, that is the finding."""
    try:
        found = list(check())
    except TagmixError as error:
        text, _, way_out = str(error).rpartition(": ")
        found = [Finding(name, PROBLEM, text or way_out, way_out if text else "")]
    except Exception as error:  # whatever is broken must not hide the other findings
        found = [Finding(name, PROBLEM, f"{type(error).__name__}: {error!s:.200}", REPORT)]
    return [Finding(*(homeless(printable(part)) for part in one)) for one in found]


def homeless(text: str) -> str:
    """Return a text with the home folder as ~: what is pasted into a report names nobody."""
    try:
        home = str(Path.home())
    except RuntimeError:
        return text
    return text.replace(home, "~") if len(home) > 1 else text


def in_bytes(number: float) -> str:
    """Return a number of bytes as people read it.

    >>> in_bytes(512), in_bytes(30_000_000), in_bytes(8.1e9)
    ('512 bytes', '30 MB', '8.1 GB')
    """
    if number >= 1e9:
        return f"{number / 1e9:.1f} GB"
    return f"{number / 1e6:,.0f} MB" if number >= 1e6 else f"{number:,.0f} bytes"


def plural(number: int, what: str) -> str:
    """Return a number of things in words; the same as in ``cli.options``, which imports too much here.

    >>> plural(1, "file"), plural(0, "file")
    ('1 file', '0 files')
    """
    return f"{number:,} {what}" if number == 1 else f"{number:,} {what}s"
