"""tagmix annotate: tags for photos and for the regions in them."""

import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import click

from tagmix.annotate import CHUNK, Annotation, Annotator, Region
from tagmix.cli.exits import Exit
from tagmix.cli.options import cache, cache_folder, jobs, no_cache, plural, report_problems
from tagmix.cli.progress import bars
from tagmix.datasets.elements import files_below
from tagmix.errors import AlbumError, ModelFileError, NetworkError, printable
from tagmix.files import load
from tagmix.images.decode import SUFFIXES
from tagmix.images.published import PUBLISHED
from tagmix.images.sources import Problem

NONE = "none of the tags"


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
    networks: tuple[Path, ...],
    jobs: int,
    cache: Path | None,
    no_cache: bool,
) -> None:
    """Print the tags of PHOTOS (files or folders) with their probabilities, most probable first.

    Without --top and --precision the tags above a threshold are printed, one that `train` chose by
    cross-validation so that at least six in ten are right; for a photo without such a tag, its most probable
    one, if it is at least half as probable as the threshold. Photos that cannot be read are listed on stderr
    and the exit status is 1; all others are annotated.

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
    for found in in_parts(annotator, files, top, precision):
        if isinstance(found, Problem):
            problems.append(str(found))
        else:
            click.echo(_json(found, regions, top) if as_json else _text(found, regions, top))
    report_problems(problems, "photo", "could not be read", most=len(problems))
    if problems:
        raise click.exceptions.Exit(Exit.FAILED)


def in_parts(
    annotator: Annotator, photos: list[Path], top: int | None, precision: float | None = None
) -> Iterator[Annotation | Problem]:
    """Yield the result of each photo, described in parts: no bar is shown while results are printed."""
    for start in range(0, len(photos), CHUNK):
        with bars() as report_progress:

            def report(stage: str, done: int, of: int, start: int = start) -> None:
                report_progress(stage, start + done, len(photos))

            part = photos[start : start + CHUNK]
            k = top or len(annotator.model.tag_names_)
            found = list(annotator.annotate(part, k, precision=precision, progress=report))
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


def _text(annotation: Annotation, regions: bool, top: int | None) -> str:
    tags = [f"{printable(g.tag)} {percent(g.probability)}" for g in annotation.tags if top or g.shown]
    lines = [f"{printable(annotation.source)}: {', '.join(tags) or 'nothing sure enough (see --top)'}"]
    return "\n".join(lines + (_regions(annotation.regions) if regions else []))


def percent(p: float) -> str:
    """Return a probability in percent; never 100 %, which no number of pictures shows.

    >>> percent(0.994), percent(0.999)
    ('99%', '>99%')
    """
    return f"{p:.0%}" if p < 0.995 else ">99%"


def _regions(regions: Sequence[Region]) -> list[str]:
    """Return a line per tag of the regions, with the place of its largest, and one for regions of none."""
    by_tag: dict[str, list[Region]] = {}
    for region in sorted((region for region in regions if region.tags), key=lambda r: -r.area):
        by_tag.setdefault(region.tags[0][0], []).append(region)
    rows = [
        (where(own[0]), sum(region.area for region in own), _several(printable(tag), len(own)))
        for tag, own in by_tag.items()
    ]
    rows.sort(key=lambda row: -row[1])
    if rest := [region.area for region in regions if not region.tags]:
        rows.append((plural(len(rest), "region"), sum(rest), NONE))
    return [f"  {place:<13} {area:>4.0%} of the photo   {tag}" for place, area, tag in rows]


def _several(tag: str, n_regions: int) -> str:
    return tag if n_regions == 1 else f"{tag} ({n_regions} regions)"


def where(region: Region) -> str:
    """Return the place of a region's middle in words.

    >>> where(Region((), (0.0, 0.0, 0.2, 0.2), 0.04)), where(Region((), (0.0, 0.3, 1.0, 0.4), 0.4))
    ('top left', 'centre')
    """
    x, y, width, height = region.box
    column = ("left", "", "right")[min(2, int(3 * (x + width / 2)))]
    row = ("top", "", "bottom")[min(2, int(3 * (y + height / 2)))]
    return f"{row} {column}".strip() or "centre"


def _json(annotation: Annotation, regions: bool, top: int | None) -> str:
    tags = [
        {"tag": g.tag, "probability": round(g.probability, 4), "shown": g.shown}
        for g in annotation.tags
        if top or g.shown
    ]
    content: dict[str, object] = {"image": str(annotation.source), "tags": tags}
    if regions:
        content["regions"] = [
            {
                "tags": [{"tag": tag, "share": round(share, 4)} for tag, share in region.tags],
                "box": [round(float(value), 4) for value in region.box],
                "area": round(region.area, 4),
                "none": round(region.none, 4),
                "polygons": [
                    [[[round(x, 4), round(y, 4)] for x, y in ring] for ring in polygon]
                    for polygon in region.polygons
                ],
            }
            for region in annotation.regions
        ]
    # What cannot be printed in a name or a tag, or not on this terminal, is escaped, as JSON allows.
    line = json.dumps(content, ensure_ascii=False)
    return line if line.isprintable() and _is_utf8(sys.stdout) else json.dumps(content)


def _is_utf8(stream: Any) -> bool:
    return str(getattr(stream, "encoding", "")).lower().replace("-", "").startswith("utf8")
