"""Options that several verbs share, and what is made of them."""

import math
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import click

from tagmix.cli.progress import bars
from tagmix.datasets import Album, open_album
from tagmix.errors import AlbumError, ModelFileError, printable
from tagmix.images.describe import Describer
from tagmix.images.segment import SEGMENTERS
from tagmix.images.sketch import LIMITS
from tagmix.report.page import GENERATOR
from tagmix.storage.container import MAGIC

try:
    import fcntl
except ImportError:  # Windows: two runs may get in each other's way
    fcntl = None  # type: ignore[assignment]

BEGINNING = 1000  # bytes that tell what a file is
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
        raise click.BadParameter("0 processes do nothing: use 1 or more, or -1 for all cores.")
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
    help="Folder for finished pictures (about 16 KB each, 33 KB with a network); a stopped run goes on "
    "from there.",
)
network = click.option(
    "--network",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE.toml",
    help="Describe pictures by this network too (see `tagmix network --help`).",
)
no_cache = click.option("--no-cache", is_flag=True, help="Keep nothing between runs.")


def _number(option: str, low: int, *rest: Any, name: str | None = None) -> Any:
    """Return an option for a whole number: lowest, perhaps highest, default, help."""
    *high, default, text = rest
    kind = click.IntRange(low, *high)
    return click.option(option, name or option[2:], type=kind, default=default, show_default=True, help=text)


def describing(function: F) -> F:
    """Add the options that say how pictures are described."""
    for option in reversed(
        (
            _number("--words", 1, 1000, "SIFT words."),
            _number("--colours", 0, 200, "Colour words; 0 for none."),
            click.option(
                "--places/--no-places", default=True, show_default=True, help="Use where a region lies."
            ),
            click.option(
                "--mirrored/--no-mirrored", default=True, show_default=True,
                help="Count the SIFT word of each patch's mirror image too, so that it does not matter "
                "which way things face.",
            ),
            _number("--nearest", *LIMITS["nearest"], 3, "SIFT words that a patch counts: the nearest ones."),
            click.option(
                "--layout/--no-layout", default=True, show_default=True,
                help="Use which colours lie high, in the middle and low, for the whole picture.",
            ),
            _number("--patches", *LIMITS["n_patches"], 1000, "Random patches a picture."),
            click.option(
                "--largest-patch",
                type=SHARE,
                default=0.125,
                show_default=True,
                help="Side of the largest patch, as a share of √(width × height): small patches see detail; "
                "the paper has 0.5.",
            ),
            click.option(
                "--segmenter", type=click.Choice(list(SEGMENTERS)), default="ncuts", show_default=True,
                help="How pictures are cut into regions.",
            ),
            _number("--regions", *LIMITS["n_regions"], 10, "Regions a picture.", name="n_regions"),
            _number("--seed", *LIMITS["seed"], 0, "Of all that is drawn at random."),
            network,
            jobs,
            cache,
            no_cache,
        )
    ):  # fmt: skip
        function = option(function)
    return function


def describer_of(options: dict[str, Any]) -> Describer:
    """Return the describer of the options that ``describing`` added."""
    return Describer(
        n_words=options["words"],
        n_colours=options["colours"],
        places=options["places"],
        mirrored=options["mirrored"],
        layout=options["layout"],
        nearest=options["nearest"],
        n_patches=options["patches"],
        largest_patch=options["largest_patch"],
        segmenter=options["segmenter"],
        n_regions=options["n_regions"],
        seed=options["seed"],
        cache=cache_folder(options["cache"], options["no_cache"]),
        n_jobs=options["jobs"],
        network=options["network"],
    )


def cache_folder(folder: Path | None, none: bool) -> Path | None:
    """Return where finished pictures are kept: as asked for, or the user's cache folder if there is one."""
    if none or folder is not None:
        return None if none else folder
    home = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache")
    try:
        home = home.expanduser() if not home.is_absolute() else home
        usual = (home if home.is_absolute() else Path.home() / ".cache") / "tagmix"
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
            f"{spec!r} is of a format that does not know --{next(iter(wanted))}: leave the option out"
        ) from error


def check_writable(path: Path, ours: Callable[[bytes], bool] | None = None) -> None:
    """Refuse now what would fail after minutes of work, and to replace a file that is not ``ours``.

    ``ours`` is asked with the first bytes of a file that is there; without it any file may be replaced.
    """
    target = Path(os.path.realpath(path))
    reason = None
    try:
        if target.is_dir():
            reason = "it is a folder"
        elif not target.parent.is_dir() or not os.access(target.parent, os.W_OK):
            reason = f"{str(target.parent)!r} is not a folder one can write to"
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
            f"{str(out / '.lock')!r} must be a file of tagmix, got a link or what is no file: delete it"
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


def report_problems(problems: list[str], what: str, fate: str = "set aside", most: int = 10) -> None:
    """Print what went wrong: the first lines, and how many more there are."""
    if not problems:
        return
    click.echo(f"{plural(len(problems), what)} {fate}:", err=True)
    for line in problems[:most]:
        click.echo(f"  {printable(line)}", err=True)
    if len(problems) > most:
        click.echo(f"  … and {len(problems) - most:,} more", err=True)
