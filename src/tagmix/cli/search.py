"""tagmix search: photos by their tags, as paths, JSON or a page."""

import tempfile
import webbrowser
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import click

from tagmix.catalogue import Photo, Verdict
from tagmix.cli.library import catalogue_option, folder_argument, raw_line, shown_json, warn_if_older
from tagmix.cli.options import check_writable, is_page, plural, report_problems
from tagmix.cli.progress import bars
from tagmix.errors import printable
from tagmix.library.existing import Existing, existing
from tagmix.report.search_page import Shot, search_page, thumbnail
from tagmix.storage.atomic import write_atomic

MOST_ON_PAGE = 1000
THREADS = 4  # that decode photos, each of which may need some 100 MB


class _Question(click.Command):
    """A command whose first argument may be ``-night``, which is no option."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Put a space before such arguments, which a question ignores."""
        own = {option for parameter in self.get_params(ctx) for option in parameter.opts}
        return super().parse_args(ctx, [f" {one}" if _negates(one, own) else one for one in args])


def _negates(argument: str, options: set[str]) -> bool:
    return len(argument) > 1 and argument[0] == "-" and argument[1] != "-" and argument not in options


@click.command("search", cls=_Question, short_help="find photos by their tags")
@click.argument("question")
@folder_argument
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per photo: path, tags, sources.")
@click.option("--count", is_flag=True, help="Print only how many photos there are.")
@click.option("--null", "-0", is_flag=True, help="End each path with a zero byte, for xargs -0.")
@click.option("--open-page", is_flag=True, help="Write a page with the photos and open it in the browser.")
@click.option(
    "--page", type=click.Path(path_type=Path), help="Write the page into this file, and do not open it."
)
@click.option(
    "--most", type=click.IntRange(1, MOST_ON_PAGE), default=200, show_default=True,
    help="Photos on the page, at most.",
)  # fmt: skip
@catalogue_option
def command(
    question: str, folder: Path | None, as_json: bool, count: bool, null: bool, open_page: bool,
    page: Path | None, most: int, catalogue: Path | None,
) -> None:  # fmt: skip
    """Print the photos below FOLDER for which QUESTION holds, by the catalogue of the library.

    FOLDER is by default the current one. Words must all hold; -word must not; OR joins two words; a tag above
    finds the photos of those below it; no:word finds what was denied. Also: path:2019/, source:human,
    tagged:no, reviewed:no, missing:yes.

    \b
    Examples:
      tagmix search 'boat -night'
      tagmix search 'boat OR ship path:2019/' ~/Photos --open-page
      tagmix search 'tagged:no' -0 | xargs -0 ls -l
    """
    if sum((as_json, count, null, open_page or page is not None)) > 1:
        raise click.UsageError("--json, --count, --null and --open-page are different answers: choose one.")
    if page is not None:
        check_writable(page, is_page)
    with existing(folder, catalogue) as library:
        found = library.catalogue.search(question)
        photos = list(found) if not library.below else [photo for photo in found if library.holds(photo)]
        warn_if_older(library, photos)
        if count:
            click.echo(str(len(photos)))
        elif open_page or page:
            _show(library, question.strip(), photos, most, page)
        else:
            _print(library, photos, as_json, null)


def _print(library: Existing, photos: Sequence[Photo], as_json: bool, null: bool) -> None:
    for photo in photos:
        name = library.name(photo)
        if as_json:
            verdicts = library.catalogue.verdicts.of(photo.id)
            click.echo(shown_json(_content(photo, name, verdicts)))
        elif null:
            raw_line(name)
        else:
            click.echo(printable(name))


def _content(photo: Photo, name: str, verdicts: Sequence[Verdict]) -> dict[str, Any]:
    return {
        "path": name,
        "missing": photo.missing,
        "reviewed": photo.reviewed,
        "tags": [
            {
                "tag": one.tag,
                "verdict": one.answer,
                "source": one.source,
                "confirmed": one.confirmed,
                "probability": None if one.probability is None else round(one.probability, 4),
                "run": one.run,
            }
            for one in verdicts
        ],
    }


def _show(
    library: Existing,
    question: str,
    photos: Sequence[Photo],
    most: int,
    page: Path | None,
) -> None:
    """Write the page, and open it if it has no name of its own."""
    shots = _shots(library, photos[:most])
    content = search_page(question, str(library.folder), shots, len(photos))
    target = page or Path(tempfile.mkdtemp(prefix="tagmix-")) / "photos.html"
    write_atomic(target, content.encode("utf-8", "backslashreplace"))
    report_problems([f"{shot.name}: cannot be shown" for shot in shots if shot.thumbnail is None], "photo")
    click.echo(f"{plural(len(photos), 'photo')}, {len(shots):,} on the page", err=True)
    if page is None and not webbrowser.open(target.as_uri()):
        click.echo("no browser was found: open the page yourself", err=True)
    click.echo(printable(target))


def _shots(library: Existing, photos: Sequence[Photo]) -> list[Shot]:
    paths = [library.catalogue.root / photo.place for photo in photos]
    shots: list[Shot] = []
    with bars() as report_progress, ThreadPoolExecutor(THREADS) as threads:
        for photo, path, picture in zip(photos, paths, threads.map(thumbnail, paths), strict=True):
            report_progress("thumbnails", len(shots), len(photos))
            verdicts = library.catalogue.verdicts.of(photo.id)
            shots.append(Shot(library.name(photo), path, picture, verdicts))
    return shots
