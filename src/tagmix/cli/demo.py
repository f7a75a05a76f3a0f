"""tagmix demo: all steps on the built-in album."""

import warnings
from collections.abc import Mapping
from pathlib import Path

import click

from tagmix import __version__
from tagmix.cli.options import check_writable, is_page, is_stored, jobs
from tagmix.cli.progress import bars
from tagmix.datasets import open_album
from tagmix.datasets.scenes import draw_album
from tagmix.errors import AlbumError
from tagmix.images.describe import Describer
from tagmix.learners import ContextEMM
from tagmix.report.album_demo import run_demo
from tagmix.report.album_page import album_page
from tagmix.report.album_results import Score
from tagmix.storage import write_atomic


@click.command("demo", short_help="all steps on a drawn album")
@click.option(
    "--out", type=click.Path(path_type=Path, file_okay=False), default="demo-out", show_default=True,
    help="Folder for the album, the model and the page.",
)  # fmt: skip
@click.option("--pictures", type=click.IntRange(30), default=900, show_default=True, help="Pictures to draw.")
@click.option("--seed", type=click.IntRange(0), default=7, show_default=True, help="Seed of the drawn album.")
@jobs
def command(out: Path, pictures: int, seed: int, jobs: int) -> None:
    """Draw an album of captioned scenes, train on most of it, tag the rest and write a page.

    Nothing is downloaded, and the true tag of every region is known. The page shows test pictures with their
    regions and tags, and the accuracy of both.

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
    with bars() as report_progress, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # rare tags of a small album are expected here
        folder = draw_album(
            out / "album",
            pictures,
            seed,
            n_jobs=jobs,
            progress=lambda done, of: report_progress("album", done, of),
        )
        # Drawn textures come from a few generators: one word per patch separates them better, also beside
        # the network (decisions 12 and 14).
        describer = Describer(nearest=1, cache=out / "cache", n_jobs=jobs)
        model = ContextEMM(n_jobs=-1)
        facts = {
            "album": f"{pictures:,} drawn scenes, seed {seed}; tagmix demo --seed {seed + 1} draws others"
        }
        demo = run_demo(
            "Tags learnt from the built-in album",
            open_album(folder),
            describer,
            model,
            report_progress,
            facts=facts,
        )
        report_progress("page", 0, 1)
        demo.training.annotator.save(out / "model.tagmix")
        page = album_page(demo.results, f"tagmix {__version__}")
        write_atomic(out / "index.html", page.encode())
    for line in lines_of(demo.results.scores, demo.results.k):
        click.echo(line)
    click.echo(str(out / "index.html"))


def _check_album(out: Path) -> None:
    """Refuse to replace another album: a drawn one has a cache folder beside it."""
    drawn = out / "cache"
    if (out / "album").exists() and not drawn.is_dir():
        raise AlbumError(
            f"{str(out / 'album')!r} must be new or drawn by tagmix demo, got another: choose another --out"
        )
    drawn.mkdir(exist_ok=True)


def lines_of(scores: Mapping[str, Score], k: int) -> list[str]:
    """Return the scores as lines for the terminal."""
    found, frequency, chance = scores["tagmix"], scores["tag frequency"], scores["chance"]
    return [
        f"tags of pictures               top-{k} accuracy {found.top_k:.3f} of at most "
        f"{scores['ceiling'].top_k:.3f}; most frequent tags {frequency.top_k:.3f}, chance {chance.top_k:.3f}",
        f"tags of regions, no caption    {found.free:.3f} right; most frequent tag {frequency.free:.3f}, "
        f"chance {chance.free:.3f}",
        f"tags of regions, with caption  {found.captioned:.3f} right; most frequent tag "
        f"{frequency.captioned:.3f}, chance {chance.captioned:.3f}",
    ]
