"""Options that several verbs share, and what is made of them."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from tagmix.datasets import Album, open_album
from tagmix.errors import AlbumError, ModelFileError
from tagmix.images.describe import Describer
from tagmix.images.segment import SEGMENTERS

F = TypeVar("F", bound=Callable[..., Any])
SHOWN_PROBLEMS = 10

jobs = click.option(
    "--jobs", "-j", type=int, default=-1, show_default="all cores", help="Processes that read pictures."
)
cache = click.option(
    "--cache",
    type=click.Path(path_type=Path),
    default=None,
    show_default="your cache folder",
    help="Folder for finished pictures (about 8 KB each); a stopped run goes on from there.",
)
no_cache = click.option("--no-cache", is_flag=True, help="Keep nothing between runs.")


def describing(function: F) -> F:
    """Add the options that say how pictures are described."""
    for option in reversed(
        (
            click.option("--words", default=1000, show_default=True, help="SIFT words."),
            click.option("--colours", default=200, show_default=True, help="Colour words; 0 for none."),
            click.option(
                "--places/--no-places", default=True, show_default=True, help="Use where a region lies."
            ),
            click.option("--patches", default=1000, show_default=True, help="Random patches a picture."),
            click.option(
                "--largest-patch",
                default=0.125,
                show_default=True,
                help="Side of the largest patch, as a share of √(width × height); 0.5 is the paper.",
            ),
            click.option(
                "--segmenter", type=click.Choice(list(SEGMENTERS)), default="ncuts", show_default=True,
                help="How pictures are cut into regions.",
            ),
            click.option("--regions", "n_regions", default=10, show_default=True, help="Regions a picture."),
            click.option("--seed", default=0, show_default=True, help="Of all that is drawn at random."),
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
        n_patches=options["patches"],
        largest_patch=options["largest_patch"],
        segmenter=options["segmenter"],
        n_regions=options["n_regions"],
        seed=options["seed"],
        cache=cache_folder(options["cache"], options["no_cache"]),
        n_jobs=options["jobs"],
    )


def cache_folder(folder: Path | None, none: bool) -> Path | None:
    """Return where finished pictures are kept: as asked for, or the user's cache folder."""
    if none:
        return None
    home = os.environ.get("XDG_CACHE_HOME")
    return folder or (Path(home) if home else Path.home() / ".cache") / "tagmix"


def album_of(spec: str, subfolders: bool, captions: bool) -> Album:
    """Return the album; options that only photo folders understand are refused elsewhere."""
    chosen = {"subfolders": subfolders, "captions": captions}
    wanted = {name: True for name, value in chosen.items() if value}
    try:
        return open_album(spec, **wanted)
    except TypeError as error:
        raise AlbumError(
            f"{spec!r} is of a format that does not know --{next(iter(wanted))}: leave the option out"
        ) from error


def check_writable(path: Path) -> None:
    """Refuse now what would fail after minutes of work."""
    folder = path.parent
    if path.is_dir() or not folder.is_dir() or not os.access(folder, os.W_OK):
        reason = "it is a folder" if path.is_dir() else f"{str(folder)!r} is not a folder one can write to"
        raise ModelFileError(f"{str(path)!r} cannot be written, {reason}: choose another path")


def some(number: int, what: str) -> str:
    """Return a number of things in words.

    >>> some(1, "picture"), some(1200, "picture")
    ('1 picture', '1,200 pictures')
    """
    return f"{number:,} {what}" if number == 1 else f"{number:,} {what}s"


def tell_problems(problems: list[str], what: str, fate: str = "set aside") -> None:
    """Print the first lines of what went wrong, and how many more there are."""
    if not problems:
        return
    click.echo(f"{some(len(problems), what)} {fate}:", err=True)
    for line in problems[:SHOWN_PROBLEMS]:
        click.echo(f"  {line}", err=True)
    if len(problems) > SHOWN_PROBLEMS:
        click.echo(f"  … and {len(problems) - SHOWN_PROBLEMS:,} more", err=True)
