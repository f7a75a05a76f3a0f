"""Options that several verbs share, and the objects built from them."""

import math
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import Field
from pathlib import Path
from typing import Any, TypeVar

import click

from tagmix.cli.places import usual_cache
from tagmix.cli.progress import bars
from tagmix.datasets import Album, open_album
from tagmix.errors import AlbumError, ModelFileError, NetworkError, printable
from tagmix.images.config import DescriberConfig
from tagmix.images.describe import Describer
from tagmix.images.network import LOST, Network, networks_of
from tagmix.images.published import DEFAULT, PUBLISHED, missing
from tagmix.images.settings import about, settings_of
from tagmix.images.views import VIEWS
from tagmix.images.views.network import NetworkView
from tagmix.report.page import GENERATOR
from tagmix.storage.container import MAGIC

try:
    import fcntl
except ImportError:  # Windows: two runs may get in each other's way
    fcntl = None  # type: ignore[assignment]

NO_NETWORK = "none"
BEGINNING = 1000  # bytes that identify a file
F = TypeVar("F", bound=Callable[..., Any])


class Share(click.FloatRange):
    """A number above 0 and up to 1; nan passes through click's own range."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return the number, or fail with click's own words."""
        number = float(super().convert(value, param, ctx))
        if math.isnan(number):
            self.fail("nan is not in the range.", param, ctx)
        return number


SHARE = Share(0, 1, min_open=True)


def _not_zero(ctx: click.Context, option: click.Parameter, value: int) -> int:
    if value == 0:
        raise click.BadParameter("0 processes do no work: use 1 or more, or -1 for all cores.")
    return value


jobs = click.option(
    "--jobs",
    "-j",
    type=click.IntRange(-1),
    default=-1,
    callback=_not_zero,
    show_default="all cores",
    help="Processes that read pictures.",
)
cache = click.option(
    "--cache",
    type=click.Path(path_type=Path),
    default=None,
    show_default="your cache folder",
    help="Folder for finished pictures (about 80 KB each, 26 KB with --network none) and converted networks "
    "(24 MB each); a stopped run resumes from it.",
)
no_cache = click.option("--no-cache", is_flag=True, help="Keep nothing between runs.")


def option_of(name: str, own: Field[Any]) -> Callable[[F], F]:
    """Return the option of a setting: its type, limits and default are those of the setting."""
    known, flag = about(own), about(own).option or ""
    kind: Any = click.IntRange(known.low, known.high)
    if isinstance(own.default, bool):
        kind, flag = None, f"{flag}/--no-{flag.removeprefix('--')}"
    elif known.several:
        return click.option(
            flag, name, multiple=True, metavar=known.several, help=known.help, show_default=False
        )
    elif known.choices:
        kind = click.Choice(known.choices)
    elif known.share:
        kind = SHARE
    return click.option(
        flag, name, type=kind, default=own.default, show_default=True, help=known.help,
    )  # fmt: skip


def described_settings() -> dict[str, Field[Any]]:
    """Return the settings of the views, then those of the describer, that have an option."""
    kinds: list[Any] = [*VIEWS.values(), DescriberConfig]
    every = {name: own for kind in kinds for name, own in settings_of(kind).items()}
    return {name: own for name, own in every.items() if about(own).option}


network = option_of("network", settings_of(NetworkView)["network"])


def describing(function: F) -> F:
    """Add the options for describing pictures: those of every view, and those that all share."""
    options = [option_of(name, own) for name, own in described_settings().items()]
    for option in reversed([*options, jobs, cache, no_cache]):
        function = option(function)
    return function


def describer_of(options: Mapping[str, Any]) -> Describer:
    """Return the describer of the options that ``describing`` added."""
    settings = {name: options[name] for name in described_settings()}
    settings["network"] = networks_named(options["network"])
    return Describer(
        cache=cache_folder(options["cache"], options["no_cache"]), n_jobs=options["jobs"], **settings
    )


def networks_named(given: Sequence[str]) -> tuple[Network, ...]:
    """Return the networks of --network; if none is given, the default one if it is installed."""
    if NO_NETWORK in given and len(given) > 1:
        raise click.UsageError(f"--network {NO_NETWORK} must be alone, got {', '.join(given)!r:.100}")
    if NO_NETWORK in given or (not given and missing()):
        return ()
    for one in given:
        if one not in PUBLISHED and not one.endswith(".toml") and not Path(one).exists():
            raise NetworkError(
                f"--network must be {', '.join(PUBLISHED)}, {NO_NETWORK} or a TOML that exists, got "
                f"{one!r:.100}: check the name."
            )
    return networks_of(given or DEFAULT)


def report_networks(networks: Sequence[Network], given: Sequence[str]) -> None:
    """Print on stderr which networks describe pictures, or what is lost because none is installed."""
    if networks:
        names = " and ".join(f"{one.title} at {one.size_shown} pixels" for one in networks)
        click.echo(printable(f"regions and pictures are described by {names}"), err=True)
    elif not given:
        click.echo(f"without the extra network, {LOST.format(missing())}", err=True)


def cache_folder(folder: Path | None, none: bool) -> Path | None:
    """Return the folder for finished pictures: the one given, or the user's cache folder if there is one."""
    if none or folder is not None:
        return None if none else folder
    try:
        usual = usual_cache()
        usual.mkdir(parents=True, exist_ok=True)
    except (OSError, RuntimeError):
        click.echo(
            "no cache folder can be made: nothing is kept between runs (name one by --cache)", err=True
        )
        return None
    return usual


def album_of(spec: str, subfolders: bool, captions: bool) -> Album:
    """Return the album; options that only photo folders understand are refused elsewhere."""
    chosen = {"subfolders": subfolders, "captions": captions}
    wanted = {name: True for name, value in chosen.items() if value}
    try:
        with bars() as report_progress:
            report_progress("reading", 0, 0)
            return open_album(spec, **wanted)
    except TypeError as error:
        raise AlbumError(
            f"{spec!r} is of a format without --{next(iter(wanted))}, which is for folders of photos: leave "
            "it out"
        ) from error


def check_writable(path: Path, ours: Callable[[bytes], bool] | None = None) -> None:
    """Refuse now what would fail after minutes of work, and to replace a file that is not ``ours``.

    ``ours`` is called with the first bytes of an existing file; without it any file may be replaced.
    """
    target = Path(os.path.realpath(path))
    reason = None
    try:
        if target.is_dir():
            reason = "it is a folder"
        elif not target.parent.is_dir() or not os.access(target.parent, os.W_OK):
            reason = f"{str(target.parent)!r} is not a folder with write permission"
        elif target.exists() and not target.is_file():
            reason = "it is a device or a pipe"
        elif ours is not None and target.is_file() and not ours(_beginning(target)):
            reason = "there is a file of that name that tagmix did not write"
    except OSError as error:
        reason = error.strerror
    if reason:
        raise ModelFileError(f"{str(path)!r} cannot be written, {reason}: choose another path")


def is_stored(beginning: bytes) -> bool:
    """Return whether a file begins as models and bags do, or is empty."""
    return not beginning or beginning.startswith(MAGIC)


def is_page(beginning: bytes) -> bool:
    """Return whether a file begins as a page or a table of results of ours, or is empty."""
    named = (GENERATOR.encode(), b'"generator": "tagmix"')
    return not beginning or any(name in beginning for name in named)


def _beginning(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(BEGINNING)


@contextmanager
def alone_in(out: Path) -> Iterator[None]:
    """Make the folder of a report; refuse now one that could not be written, or that another run writes."""
    for name in ("index.html", "results.json", "figures/x.svg", "records/x.json", "data/x.json"):
        (out / name).parent.mkdir(parents=True, exist_ok=True)
        check_writable(out / name, is_page)
    flags = os.O_CREAT | os.O_RDWR | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    try:
        lock = os.open(out / ".lock", flags, 0o666)
    except OSError as error:
        raise AlbumError(
            f"{str(out / '.lock')!r} must be a file of tagmix, but is not a regular file: delete it"
        ) from error
    try:
        _take(lock, out)
        yield
    finally:
        os.close(lock)  # which lets go of it, as the end of the process does


def _take(lock: int, out: Path) -> None:
    if fcntl is None:
        return
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        raise AlbumError(
            f"{str(out)!r} is being written by another run: wait for it, or give another --out"
        ) from error


def plural(number: int, what: str) -> str:
    """Return a number of things in words.

    >>> plural(1, "picture"), plural(1200, "picture")
    ('1 picture', '1,200 pictures')
    """
    return f"{number:,} {what}" if number == 1 else f"{number:,} {what}s"


def report_problems(problems: Sequence[object], what: str, fate: str = "skipped", most: int = 10) -> None:
    """Print problems to stderr: the first lines, and how many more there are."""
    if not problems:
        return
    click.echo(f"{plural(len(problems), what)} {fate}:", err=True)
    for line in problems[:most]:
        click.echo(f"  {printable(str(line))}", err=True)
    if len(problems) > most:
        click.echo(f"  … and {len(problems) - most:,} more", err=True)
