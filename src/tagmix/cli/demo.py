"""tagmix demo: the whole story on the built-in album."""

import warnings
from collections.abc import Mapping
from pathlib import Path

import click

from tagmix import __version__
from tagmix.annotate import product_model
from tagmix.cli.options import check_writable, is_page, is_stored, jobs
from tagmix.cli.progress import bars
from tagmix.datasets import open_album
from tagmix.datasets.scenes import draw_album
from tagmix.errors import AlbumError
from tagmix.images.describe import Describer
from tagmix.report.album_demo import travel
from tagmix.report.album_page import album_page
from tagmix.report.album_results import Score
from tagmix.storage import write_atomic


@click.command("demo", short_help="the whole journey")
@click.option(
    "--out", type=click.Path(path_type=Path, file_okay=False), default="demo-out", show_default=True,
    help="Folder for the album, the model and the page.",
)  # fmt: skip
@click.option("--pictures", type=click.IntRange(30), default=900, show_default=True, help="To draw.")
@click.option(
    "--seed", type=click.IntRange(0), default=7, show_default=True, help="Another seed draws another album."
)
@jobs
def command(out: Path, pictures: int, seed: int, jobs: int) -> None:
    """Draw an album of captioned scenes, learn from most of it, tag the rest and write a page.

    Everything is made by tagmix itself: no download, and the truth of every region is known. The page shows
    held-out pictures with their regions and tags, and how often these are right.

    \b
    Examples:
      tagmix demo
      tagmix demo --pictures 300 --out quick
      tagmix annotate demo-out/album/images/0003.jpg --model demo-out/model.tagmix
    """
    out.mkdir(parents=True, exist_ok=True)
    check_writable(out / "index.html", is_page)
    check_writable(out / "model.tagmix", is_stored)
    _check_album(out)
    with bars() as tell, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a rare tag on few pictures is no news here
        folder = draw_album(
            out / "album", pictures, seed, n_jobs=jobs, progress=lambda done, of: tell("album", done, of)
        )
        # Drawn textures come from a few generators: one word per patch separates them better (decision 12).
        describer = Describer(nearest=1, cache=out / "cache", n_jobs=jobs)
        model = product_model()
        facts = {
            "album": f"{pictures:,} drawn scenes, seed {seed}; tagmix demo --seed {seed + 1} draws others"
        }
        journey = travel(
            "Tags learnt from the built-in album", open_album(folder), describer, model, tell, facts=facts
        )
        tell("page", 0, 1)
        journey.training.annotator.save(out / "model.tagmix")
        page = album_page(journey.results, f"tagmix {__version__}")
        write_atomic(out / "index.html", page.encode())
    for line in lines_of(journey.results.scores):
        click.echo(line)
    click.echo(str(out / "index.html"))


def _check_album(out: Path) -> None:
    """Refuse to draw over somebody's album: where we have drawn, the folder of finished pictures is there."""
    drawn = out / "cache"
    if (out / "album").exists() and not drawn.is_dir():
        raise AlbumError(
            f"{str(out / 'album')!r} is there and was not drawn by tagmix demo: choose another --out"
        )
    drawn.mkdir(exist_ok=True)


def lines_of(scores: Mapping[str, Score]) -> list[str]:
    """Return the scores as lines for the terminal."""
    found, frequency, chance = scores["tagmix"], scores["tag frequency"], scores["chance"]
    return [
        f"tags of a picture              top-5 accuracy {found.top5:.3f} of at most "
        f"{scores['ceiling'].top5:.3f}; tag frequency alone {frequency.top5:.3f}, chance {chance.top5:.3f}",
        f"tag of a region, no caption    {found.free:.3f} right; most frequent tag {frequency.free:.3f}, "
        f"chance {chance.free:.3f}",
        f"tag of a region, with caption  {found.captioned:.3f} right; most frequent tag "
        f"{frequency.captioned:.3f}, chance {chance.captioned:.3f}",
    ]
