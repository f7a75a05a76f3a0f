"""tagmix annotate: tags for photos and for the regions in them."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import click

from tagmix.annotate import CHUNK, Annotation, Annotator
from tagmix.cli.annotated import Annotated, percent
from tagmix.cli.exits import Exit
from tagmix.cli.options import cache, cache_folder, jobs, no_cache, report_problems
from tagmix.cli.progress import bars
from tagmix.datasets.elements import files_below
from tagmix.errors import AlbumError, ModelFileError, NetworkError, printable
from tagmix.files import load
from tagmix.images.decode import SUFFIXES
from tagmix.images.published import PUBLISHED
from tagmix.images.sources import Problem
from tagmix.metadata.read import read_photo
from tagmix.tag_names import short_names

__all__ = ["all_photos", "command", "in_parts", "open_annotator", "percent", "with_networks"]


@click.command("annotate", short_help="tag photos")
@click.argument("photos", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--model", "-m", type=click.Path(path_type=Path), required=True, help="What `train` wrote.")
@click.option(
    "--top", type=click.IntRange(1), help="Print this many tags, instead of those above the threshold."
)
@click.option(
    "--precision", type=float, metavar="SHARE",
    help="Print as many tags as possible of which this share is expected to be right, such as 0.8.",
)  # fmt: skip
@click.option("--regions", is_flag=True, help="Also print the regions of each photo.")
@click.option(
    "--parents", is_flag=True,
    help="Also suggest tags above others, such as Places of Places|Rome, on their own.",
)  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per photo, each on a line.")
@click.option(
    "--network", "networks", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE.toml",
    multiple=True,
    help="The TOML of a network that the model was trained with, if it was moved; may be repeated, in the "
    "order of training. EfficientNet-Lite needs none.",
)  # fmt: skip
@jobs
@cache
@no_cache
def command(
    photos: tuple[Path, ...],
    model: Path,
    top: int | None,
    precision: float | None,
    regions: bool,
    as_json: bool,
    parents: bool,
    networks: tuple[Path, ...],
    jobs: int,
    cache: Path | None,
    no_cache: bool,
) -> None:
    """Print the tags of PHOTOS (files or folders) with their probabilities, most probable first.

    Without --top and --precision the tags above a threshold are printed, one that `train` chose by
    cross-validation so that at least six in ten are right; for a photo without such a tag, its most probable
    one, if it is at least half as probable as the threshold. Tags that a photo has already are marked, and
    others that it has are listed behind. Photos and metadata that cannot be read are listed on stderr and the
    exit status is 1; all other photos are annotated.

    \b
    Examples:
      tagmix annotate beach.jpg -m photos.tagmix
      tagmix annotate ~/New --regions -m photos.tagmix
      tagmix annotate ~/New --precision 0.8 -m photos.tagmix
      tagmix annotate ~/New --json -m photos.tagmix > tags.jsonl
    """
    if top is not None and precision is not None:
        raise click.UsageError("--top and --precision exclude each other: give one of them.")
    annotator = open_annotator(model).with_(n_jobs=jobs, cache=cache_folder(cache, no_cache))
    annotator.check_precision(precision)
    annotator = with_networks(annotator, networks)
    files, problems = all_photos(photos)
    short = short_names(annotator.model.tag_names_)
    damaged: list[str] = []
    for found in in_parts(annotator, files, top, precision, parents=parents):
        if isinstance(found, Problem):
            problems.append(str(found))
            continue
        known = read_photo(found.source)
        damaged += [f"{printable(found.source)}: {line}" for line in known.problems]
        page = Annotated(found, short, known, regions=regions, every=bool(top))
        click.echo(page.json() if as_json else page.text())
    report_problems(problems, "photo", "could not be read", most=len(problems))
    report_problems(damaged, "problem", "in metadata", most=len(damaged))
    if problems or damaged:
        raise click.exceptions.Exit(Exit.FAILED)


def in_parts(
    annotator: Annotator,
    photos: list[Path],
    top: int | None,
    precision: float | None = None,
    *,
    parents: bool = False,
) -> Iterator[Annotation | Problem]:
    """Yield the result of each photo, described in parts: no bar is shown while results are printed."""
    for start in range(0, len(photos), CHUNK):
        with bars() as report_progress:

            def report(stage: str, done: int, of: int, start: int = start) -> None:
                report_progress(stage, start + done, len(photos))

            part = photos[start : start + CHUNK]
            k = top or len(annotator.model.tag_names_)
            found = list(annotator.annotate(part, k, precision=precision, parents=parents, progress=report))
        yield from found


def open_annotator(path: Path) -> Annotator:
    """Return the annotator in a file; other tagmix files are refused."""
    found = load(path)
    if not isinstance(found, Annotator):
        raise ModelFileError(
            f"{str(path)!r} must be what `tagmix train` wrote, got {type(found).__name__}: give another file"
        )
    return found


def with_networks(annotator: Annotator, places: Sequence[Path]) -> Annotator:
    """Return the annotator with the networks it was trained with, found where they were or at new places."""
    networks, folder = annotator.describer.networks, annotator.describer.cache.folder
    if any(str(place) in PUBLISHED for place in places):
        raise NetworkError("the model finds EfficientNet-Lite itself: leave --network out")
    n_tomls = sum(network.published is None for network in networks)
    if not networks and places:
        raise NetworkError("the model was trained without a network: leave --network out")
    if len(places) > n_tomls:
        raise NetworkError(
            f"the model was trained with {n_tomls} networks of a TOML, got {len(places)} times --network: "
            "leave out those of EfficientNet-Lite"
        )
    given = iter(places)
    found = [one.found(None if one.published else next(given, None), folder) for one in networks]
    return annotator.with_(network=tuple(found))


def all_photos(given: tuple[Path, ...]) -> tuple[list[Path], list[str]]:
    """Return the photos given and those below the folders given; and a line for each folder without any."""
    photos, problems = [], []
    for path in given:
        below = [path / name for name in files_below(path, SUFFIXES)] if path.is_dir() else [path]
        photos += below
        if not below:
            problems.append(f"{printable(path)}: must have photos below it, got none: check the path.")
    if not photos:
        raise AlbumError(problems[0])
    return photos, problems
