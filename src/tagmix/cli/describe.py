"""tagmix describe: from an album to bags, for the Python library."""

from pathlib import Path
from typing import Any

import click

from tagmix.cli.options import (
    album_of,
    check_writable,
    describer_of,
    describing,
    is_stored,
    report_networks,
    report_problems,
)
from tagmix.cli.progress import bars
from tagmix.files import save


@click.command("describe", short_help="make bags of an album")
@click.argument("album")
@click.option(
    "--bags", "-b", "path", type=click.Path(path_type=Path), required=True, help="File for the bags."
)
@click.option("--split", help="Learn the words from this part only; all pictures are described.")
@click.option("--subfolders", is_flag=True, help="Names of sub-folders are tags too (folders of photos).")
@click.option("--captions", is_flag=True, help="Text beside photos is sentences, not lists of keywords.")
@describing
def command(
    album: str, path: Path, split: str | None, subfolders: bool, captions: bool, **describing: Any
) -> None:
    """Cut every picture of ALBUM into regions, describe them by a network and by visual words, write bags.

    In Python, ``tagmix.load`` reads the file. ALBUM is as in `tagmix train --help`.

    \b
    Examples:
      tagmix describe corel5k:Corel5K --split train --bags corel5k.tagmix
      tagmix describe ~/Photos --network efficientnet-lite2 --network efficientnet-lite1 -b bags.tagmix
      tagmix describe Photos --largest-patch 0.5 --colours 0 --nearest 1 --no-places --no-mirrored -b b.tagmix
    """
    check_writable(path, is_stored)
    describer = describer_of(describing)
    found = album_of(album, subfolders, captions)
    report_problems(found.problems, "problem", "in the album")
    part = found.split(split) if split else found
    report_networks(describer.networks, describing["network"])
    with bars() as report_progress:
        describer.fit(part, progress=report_progress)
        described = describer.transform(found, progress=report_progress)
    save(described.bags, path)
    report_problems(described.problems, "picture")
    click.echo(f"{described.bags!r}, {described.n_reused:,} pictures from the cache")
    click.echo(str(path))
