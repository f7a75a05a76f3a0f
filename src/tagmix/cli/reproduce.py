"""tagmix reproduce: the paper's experiments, with its rivals and those it left out."""

import re
from collections.abc import Sequence
from pathlib import Path

import click
import numpy as np

from tagmix.cli.evaluate import outside
from tagmix.cli.options import alone_in, jobs, tell_problems
from tagmix.cli.progress import bars
from tagmix.datasets import READERS, Album, open_album
from tagmix.datasets.scenes import draw_album
from tagmix.errors import AlbumError
from tagmix.experiments.data import DataSet, Part, Progress, prepare_album, save_parts, saved
from tagmix.experiments.run import run_all
from tagmix.experiments.studies import STUDIES, tasks_of
from tagmix.experiments.text import read_text_corpus
from tagmix.images.describe import Describer
from tagmix.report.contest.files import write_report

LEAD = (
    "Yang, Bian and Zha compared EMM, learnt by likelihood (EMM_m) and by maximum margins (EMM_d), with DBA "
    "and CorrLDA. Here are the same comparisons on data that can be had, with nearest neighbours, kernel "
    "ridge and other rivals beside them. Every setting was chosen inside the training part."
)
SCENES, SEED = 900, 7
TEXT_FILE = Path("tate", "tate.jsonl.gz")
TEXT_TRAIN, TEXT_TEST = 5000, 2000  # works: what every method can learn from with 7,848 tags
NEEDS = {
    "figure2": ("corel5k", "scenes"),
    "figure3": ("msrc_v2", "scenes"),
    "figure4": ("corel5k", "scenes"),
    "tags": ("tate",),
    "why": ("corel5k",),
}


@click.command("reproduce", short_help="the paper's experiments")
@click.argument("studies", nargs=-1, type=click.Choice(list(STUDIES)))
@click.option(
    "--data", type=click.Path(path_type=Path, exists=True, file_okay=False), default=None,
    envvar="TAGMIX_DATA", show_envvar=True,
    help="Folder with corel5k/, msrc_v2/ and tate/; what is missing is left out.",
)  # fmt: skip
@click.option(
    "--album", "albums", multiple=True, help="One more album, such as labelme:PATH; may be repeated."
)
@click.option(
    "--out", type=click.Path(path_type=Path, file_okay=False), default="reproduce-out", show_default=True,
    help="Folder for results and the page; a stopped run goes on from there.",
)  # fmt: skip
@click.option("--again", is_flag=True, help="Measure anew what was measured before.")
@click.option("--pictures/--no-pictures", default=True, help="Show pictures of the albums on the page.")
@jobs
def command(
    studies: tuple[str, ...], data: Path | None, albums: tuple[str, ...], out: Path, again: bool,
    pictures: bool, jobs: int,
) -> None:  # fmt: skip
    """Repeat the paper's experiments and write a page of what came out.

    \b
    figure2   pictures: top-k accuracy over k, over the number of tags, over training pictures
    figure3   regions, with and without captions
    figure4   example pictures with every method's tags
    tags      up to 7,848 tags, on the text of the Tate catalogue
    why       what decides the order of the paper's methods

    Without names, all of them, on the data sets in the folder and on the drawn scenes, which are always
    there. Each figure on its own data takes from minutes to half an hour on two cores.

    \b
    Examples:
      tagmix reproduce figure3
      tagmix reproduce --data ~/data
      tagmix reproduce figure2 figure3 --album labelme:~/LabelMe --out labelme
    """
    chosen = studies or tuple(STUDIES)
    with alone_in(out), bars() as tell:
        sets = prepare(chosen, data, albums, out, jobs, tell)
        tasks = tasks_of(chosen, sets)
        if not tasks:
            raise AlbumError(f"{', '.join(chosen)} need data that is not there: give its folder by --data")
        outcome = run_all(tasks, out, n_jobs=jobs, again=again, progress=tell)
        tell("page", 0, 1)
        page = write_report(
            out, outcome.records, outcome.problems,
            title="The paper's experiments", lead=LEAD, facts={}, pictures=pictures,
        )  # fmt: skip
    tell_problems([f"{one.name}: {line}" for one in sets.values() for line in one.problems], "item")
    tell_problems([f"{p.task.name}: {p.reason}" for p in outcome.problems], "task", "failed")
    click.echo(f"{len(outcome.records):,} results")
    click.echo(str(page))


def prepare(
    studies: Sequence[str], data: Path | None, specs: Sequence[str], out: Path, n_jobs: int, tell: Progress
) -> dict[str, DataSet]:
    """Return the data sets that the studies need, described; those that are not there are told about."""
    needed = dict.fromkeys(name for study in studies for name in NEEDS[study])
    home = data or Path()
    there = [name for name in needed if name == "scenes" or (data is not None and _is_there(data, name))]
    albums: dict[str, Album] = {}
    for spec in specs:
        name = album_name(spec)
        if name in (*there, *albums):
            raise AlbumError(f"albums must have names of their own, got {name!r} twice: rename one")
        albums[name] = outside(open_album(spec), out / "figures", out / "scenes")
    for name in needed:
        if name not in (*there, *albums):
            why = "no --data was given" if data is None else "it is not in the folder of --data"
            click.echo(f"{name} is left out: {why}", err=True)
    sets: dict[str, DataSet] = {}
    for name in there:
        if name == "tate":
            sets[name] = _text(home / TEXT_FILE, out)
        else:
            album = _scenes(out, n_jobs, tell) if name == "scenes" else open_album(home / name)
            sets[name] = _described(name, album, out, n_jobs, tell)
    return sets | {name: _described(name, album, out, n_jobs, tell) for name, album in albums.items()}


def _is_there(data: Path, name: str) -> bool:
    return (data / TEXT_FILE).is_file() if name == "tate" else (data / name).is_dir()


def album_name(spec: str) -> str:
    """Return the name of an album's file or folder, with only such letters as names of results keep.

    >>> album_name("labelme:/data/My photos"), album_name("/")
    ('My_photos', 'album')
    """
    kind, _, rest = spec.partition(":")
    path = Path(rest if kind in READERS else spec).expanduser().resolve()
    return re.sub(r"[^\w+=,.]", "_", path.name)[:60] or "album"


def _scenes(out: Path, n_jobs: int, tell: Progress) -> Album:
    """Return the drawn album; drawn again, its pictures would pass for other ones."""
    folder = out / "scenes"
    if not (folder / "annotations.jsonl").is_file():  # written last
        draw_album(folder, SCENES, SEED, n_jobs=n_jobs, progress=lambda a, b: tell("album", a, b))
    return open_album(folder)


def _described(name: str, album: Album, out: Path, n_jobs: int, tell: Progress) -> DataSet:
    describer = Describer(n_colours=200, places=True, largest_patch=0.125, cache=out / "cache", n_jobs=n_jobs)
    return prepare_album(out / "data", name, album, describer, progress=tell)


def _text(path: Path, out: Path) -> DataSet:
    status = path.stat()
    mark = f"text {TEXT_TRAIN} {TEXT_TEST} {status.st_size} {status.st_mtime_ns}"
    known = saved(out / "data", "tate", mark)
    if known is not None:
        return known
    parts = read_text_corpus(path)
    rng = np.random.default_rng(0)
    train, test = (
        bags[np.sort(rng.permutation(len(bags))[:most])]
        for bags, most in ((parts.train, TEXT_TRAIN), (parts.test, TEXT_TEST))
    )
    unknown = np.full(test.n_regions, -1)  # nobody says which field speaks of which subject
    return save_parts(out / "data", "tate", [Part(train, test, unknown)], mark, parts.problems)
