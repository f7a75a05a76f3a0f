"""tagmix watch: tag new photos as they arrive."""

from contextlib import closing
from pathlib import Path
from typing import Any

import click

from tagmix.cli.annotate import open_annotator, with_networks
from tagmix.cli.library import catalogue_option
from tagmix.cli.options import SHARE, cache, cache_folder, jobs, no_cache, plural
from tagmix.cli.tag_output import Output
from tagmix.errors import AlbumError, printable
from tagmix.library.opening import open_library, real_place
from tagmix.library.watch import Watching, watch
from tagmix.library.wishes import Wishes


@click.command("watch", short_help="tag new photos as they arrive")
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--model", "-m", type=click.Path(path_type=Path), required=True, help="What `train` wrote.")
@click.option(
    "--existing", is_flag=True, help="Also tag photos that were there when the folder was first watched."
)
@click.option(
    "--poll/--no-poll", default=None, show_default="on network drives",
    help="Look at the folder every ten seconds, for drives that report no changes.",
)  # fmt: skip
@click.option(
    "--min-probability", type=SHARE, metavar="SHARE", help="Write tags of at least this probability."
)
@click.option("--precision", type=float, metavar="SHARE", help="As in `tagmix tag`.")
@click.option(
    "--regions", type=click.Choice(["iptc", "mwg", "none"]), default="iptc", show_default=True,
    help="As in `tagmix tag`.",
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
    folder: Path,
    model: Path,
    existing: bool,
    poll: bool | None,
    networks: tuple[Path, ...],
    catalogue: Path | None,
    jobs: int,
    cache: Path | None,
    no_cache: bool,
    **wanted: Any,
) -> None:
    """Tag new photos below FOLDER as soon as they are whole, until Ctrl-C or SIGTERM.

    Photos that are there when the folder is first watched stay as they are; those that arrive while nobody
    watches are tagged at the next start. All photos of one call are one run: `tagmix undo` takes it back.

    \b
    Examples:
      tagmix watch ~/Photos -m photos.tagmix
      tagmix watch /mnt/nas/Photos -m photos.tagmix --poll
    """
    place = real_place(folder)
    if not place.is_dir():
        raise AlbumError(
            f"{printable(repr(str(folder)))} must be a folder to watch: name the photo to `tag`."
        )
    annotator = open_annotator(model).with_(n_jobs=jobs, cache=cache_folder(cache, no_cache))
    annotator = with_networks(annotator, networks)
    with open_library(place, catalogue) as library:
        output = Output(library.root, catalogue, dry=False, live=True)
        events = watch(library, annotator, place, Wishes(**wanted), existing=existing, poll=poll)
        try:
            with closing(events):
                for event in events:
                    if isinstance(event, Watching):
                        _begin(event, place)
                    else:
                        output.show(event)
        finally:
            output.summary()


def _begin(event: Watching, folder: Path) -> None:
    how = "every ten seconds" if event.is_polled else "by events"
    click.echo(
        f"watching {printable(folder)} {how}, {plural(event.photos, 'photo')} known; Ctrl-C ends", err=True
    )
