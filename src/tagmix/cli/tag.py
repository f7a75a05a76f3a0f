"""tagmix tag: write the tags of photos into their sidecars."""

import shutil
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing
from pathlib import Path
from typing import Any

import click

from tagmix.catalogue import Catalogue
from tagmix.cli.annotate import open_annotator, with_networks
from tagmix.cli.exits import Exit
from tagmix.cli.library import catalogue_option
from tagmix.cli.options import SHARE, cache, cache_folder, jobs, no_cache, report_problems
from tagmix.cli.tag_output import Output
from tagmix.cli.tag_questions import ask, check_terminal
from tagmix.errors import AlbumError, MetadataError, printable
from tagmix.images.sources import Problem
from tagmix.library.events import TagEvent
from tagmix.library.opening import copy_of_library, open_library, real_place
from tagmix.library.scan import photos_below
from tagmix.library.tag import tag
from tagmix.library.wishes import Wishes

MWG_WARNING = (
    "regions as mwg-rs: Immich, digiKam and others take each of them for a person's face; "
    "--regions iptc is understood without that"
)


@click.command("tag", short_help="write tags into sidecars")
@click.argument("photos", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--model", "-m", type=click.Path(path_type=Path), required=True, help="What `train` wrote.")
@click.option("--dry-run", is_flag=True, help="Show what would be written, and write nothing.")
@click.option("--confirm", is_flag=True, help="Ask for each photo; your answers are kept as verdicts.")
@click.option("--only-untagged", is_flag=True, help="Leave photos alone that have a tag.")
@click.option(
    "--min-probability", type=SHARE, metavar="SHARE",
    help="Write tags of at least this probability, instead of those above the model's threshold.",
)  # fmt: skip
@click.option(
    "--precision", type=float, metavar="SHARE",
    help="Write as many tags as possible of which this share is expected to be right, such as 0.8.",
)  # fmt: skip
@click.option("--top", type=click.IntRange(1), help="Write this many tags per photo.")
@click.option(
    "--regions", type=click.Choice(["iptc", "mwg", "none"]), default="iptc", show_default=True,
    help="How to write the regions of tags: as polygons of the IPTC, as boxes of the Metadata Working Group, "
    "which many programs take for faces, or not at all.",
)  # fmt: skip
@click.option(
    "--embed", is_flag=True,
    help="Write into JPEGs themselves that have no sidecar, for Lightroom; needs exiftool, alters photos.",
)  # fmt: skip
@click.option(
    "--no-sidecars", is_flag=True,
    help="Keep the tags in the catalogue alone: for `tagmix search`, or photos that are read-only.",
)  # fmt: skip
@click.option(
    "--network", "networks", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE.toml",
    multiple=True, help="As in `tagmix annotate`.",
)  # fmt: skip
@catalogue_option
@jobs
@cache
@no_cache
def command(
    photos: tuple[Path, ...],
    model: Path,
    dry_run: bool,
    confirm: bool,
    networks: tuple[Path, ...],
    catalogue: Path | None,
    jobs: int,
    cache: Path | None,
    no_cache: bool,
    **wanted: Any,
) -> None:
    """Tag PHOTOS (a folder, or photos in it) and write the tags into their sidecars (beach.jpg.xmp).

    The tags are those that `tagmix annotate` shows, but for the one below the threshold that it shows of a
    photo without better ones. A tag that the photo has, or that you rejected, is never added; photos
    themselves are not touched, but by --embed. digiKam, darktable, Lightroom (raw files), Immich and
    PhotoPrism read sidecars. `tagmix undo` takes a run back. An interrupted run goes on with the same
    command; photos that are done are skipped. Photos with problems are listed on stderr, the exit status is
    1, and all others are tagged.

    \b
    Examples:
      tagmix tag ~/Photos -m photos.tagmix --dry-run
      tagmix tag ~/Photos -m photos.tagmix
      tagmix tag ~/Photos/2026 -m photos.tagmix --only-untagged --precision 0.8
      tagmix tag ~/Photos -m photos.tagmix --confirm
    """
    wishes = _wishes(**wanted)
    if confirm and not dry_run:
        check_terminal()
    annotator = open_annotator(model).with_(n_jobs=jobs, cache=cache_folder(cache, no_cache))
    annotator.check_precision(wishes.precision)
    annotator = with_networks(annotator, networks)
    if wishes.regions == "mwg":
        click.echo(f"tagmix: {MWG_WARNING}", err=True)
    places = [real_place(path) for path in photos]
    total = _count(places)
    opened: Callable[..., AbstractContextManager[Catalogue]] = copy_of_library if dry_run else open_library
    with opened(places[0], catalogue) as library:
        output = Output(library.root, catalogue, dry_run, total)
        decide = output.asking(ask) if confirm and not dry_run else None
        events = tag(
            library, annotator, _below(places), wishes, decide=decide, dry=dry_run, progress=output.progress
        )
        with closing(output):
            for event in events:
                output.show(event)
    output.summary()
    report_problems(output.problems, "photo", "had problems", most=len(output.problems))
    if output.problems:
        raise click.exceptions.Exit(Exit.FAILED)


def _wishes(*, no_sidecars: bool, **wanted: Any) -> Wishes:
    if no_sidecars and wanted["embed"]:
        raise click.UsageError("--embed and --no-sidecars exclude each other: give one of them.")
    if wanted["embed"] and shutil.which("exiftool") is None:
        raise MetadataError("--embed needs exiftool, which is not installed: install it, or write sidecars")
    if wanted["top"] is not None and wanted["precision"] is not None:
        raise click.UsageError("--top and --precision exclude each other: give one of them.")
    return Wishes(sidecars=not no_sidecars, **wanted)


def _below(places: list[Path]) -> Iterator[Path | Problem]:
    seen: set[Path] = set()
    for place in places:
        for photo in photos_below(place) if place.is_dir() else (place,):
            if len(places) == 1 or photo not in seen:
                seen |= set() if len(places) == 1 or isinstance(photo, Problem) else {photo}
                yield photo


def _count(places: list[Path]) -> int:
    """Return how many photos there are; AlbumError if there are none, and nothing else to report."""
    found = list(_below(places))
    if not found:
        raise AlbumError(f"{printable(places[0])}: must have photos below it, got none: check the path.")
    return sum(not isinstance(one, Problem) for one in found)


__all__ = ["TagEvent", "command"]
