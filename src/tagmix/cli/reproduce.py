"""tagmix reproduce: the paper's experiments, with its rivals and those it left out."""

import re
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import click
import numpy as np

from tagmix.cli.evaluate import outside
from tagmix.cli.options import alone_in, jobs, network, report_problems
from tagmix.cli.progress import bars
from tagmix.datasets import READERS, Album, open_album
from tagmix.datasets.scenes import draw_album
from tagmix.errors import AlbumError
from tagmix.experiments.data import DataSet, Part, Progress, prepare_album, save_parts, saved
from tagmix.experiments.run import run_all
from tagmix.experiments.studies import RICH, STUDIES, rich_name, rich_parts, tasks_of
from tagmix.experiments.text import read_text_corpus
from tagmix.images.describe import Describer
from tagmix.images.network import Network, load_network
from tagmix.report.contest.files import write_report

LEAD = (
    "Yang, Bian and Zha compared EMM, learnt by likelihood (EMM_m) and by maximum margins (EMM_d), with DBA "
    "and CorrLDA. Here are the same comparisons on data that can be had, with nearest neighbours, kernel "
    "ridge and other rivals beside them. Every setting was chosen inside the training part."
)
TITLE = "The paper's experiments"
RICH_LEAD = (
    "EMM with context, which tagmix train uses, beside every rival on the same features: whole pictures, and "
    "regions where what they show is known. Every setting was chosen inside the training part."
)
RICH_TITLE = "EMM with context and its rivals"
SCENES, SEED = 900, 7
TEXT_FILE = Path("tate", "tate.jsonl.gz")
TEXT_TRAIN, TEXT_TEST = 5000, 2000  # works: what every method can learn from with 7,848 tags
NEEDS = {
    "figure2": ("corel5k", "scenes"),
    "figure3": ("msrc_v2", "scenes"),
    "figure4": ("corel5k", "scenes"),
    "tags": ("tate",),
    "why": ("corel5k",),
    "flagship": ("corel5k", "msrc_v2"),
    "ablation": ("corel5k", "msrc_v2"),
}
SEEDS = 5  # of patches and words, where an album has its own test pictures
# How `tagmix train` describes pictures, beside what all studies have.
# The paper's comparisons: one word per patch, and no view of the whole picture. The rest is the default.
ONE_WORD: dict[str, Any] = {"mirrored": False, "layout": False, "nearest": 1}
# The album that is cut in other ways too, and the ways beside normalised cuts.
CUT_OTHERWISE = {"msrc_v2": ("grid", "graph")}


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
@network
@jobs
def command(
    studies: tuple[str, ...], data: Path | None, albums: tuple[str, ...], out: Path, again: bool,
    pictures: bool, network: Path | None, jobs: int,
) -> None:  # fmt: skip
    """Repeat the paper's experiments and write a page of what came out.

    \b
    figure2   pictures: top-k accuracy over k, over the number of tags, over training pictures
    figure3   regions, with and without captions
    figure4   example pictures with every method's tags
    tags      up to 7,848 tags, on the text of the Tate catalogue
    why       what decides the order of the paper's methods
    flagship  EMM with context beside every rival, on all features, over five seeds
    ablation  EMM with context with one thing changed at a time

    Without names, all of them, on the data sets in the folder and on the drawn scenes, which are always
    there. Each figure on its own data takes from minutes to half an hour on two cores, flagship and ablation
    take hours. Those two describe pictures as `tagmix train` does, and by the network of --network too; they
    read drawn scenes only where no photos are given.

    \b
    Examples:
      tagmix reproduce figure3
      tagmix reproduce --data ~/data
      tagmix reproduce figure2 figure3 --album labelme:~/LabelMe --out labelme
      tagmix reproduce flagship --data ~/data --network efficientnet-lite0.toml
    """
    chosen = studies or tuple(STUDIES)
    only_rich = all(study in RICH for study in chosen)
    with alone_in(out), bars() as tell:
        loaded = _network(network, chosen)
        sets = prepare(chosen, data, albums, out, loaded, jobs, tell)
        tasks = tasks_of(chosen, sets)
        if not tasks:
            raise AlbumError(f"{', '.join(chosen)} need data that is not there: give its folder by --data")
        outcome = run_all(tasks, out, n_jobs=jobs, again=again, progress=tell)
        tell("page", 0, 1)
        page = write_report(
            out, outcome.records, outcome.problems,
            title=RICH_TITLE if only_rich else TITLE, lead=RICH_LEAD if only_rich else LEAD,
            facts={}, pictures=pictures,
        )  # fmt: skip
    report_problems([f"{one.name}: {line}" for one in sets.values() for line in one.problems], "item")
    report_problems([f"{p.task.name}: {p.reason}" for p in outcome.problems], "task", "failed")
    click.echo(f"{len(outcome.records):,} results")
    click.echo(str(page))


def _network(path: Path | None, studies: Sequence[str]) -> Network | None:
    """Return the network; say where there is none that could be used, or no study that uses it."""
    used = [study for study in studies if study in RICH]
    if used and path is None:
        click.echo(f"features of a network are left out of {' and '.join(used)}: no --network", err=True)
    if path is not None and not used:
        click.echo(f"--network is not used: only {' and '.join(RICH)} read it", err=True)
    return load_network(path) if path is not None and used else None


def prepare(
    studies: Sequence[str],
    data: Path | None,
    specs: Sequence[str],
    out: Path,
    network: Network | None,
    n_jobs: int,
    tell: Progress,
) -> dict[str, DataSet]:
    """Return the data sets that the studies need, described; those that are not there are told about."""
    paper, rich = ([study for study in studies if (study in RICH) == own] for own in (False, True))
    needed = dict.fromkeys(name for study in (*paper, *rich) for name in NEEDS[study])
    there = [name for name in needed if name == "scenes" or (data is not None and _is_there(data, name))]
    # What `tagmix train` does is meant for photos: drawn scenes stand in for them where there are none.
    drawn = bool(rich) and not specs and not any(name in there for name in NEEDS["flagship"])
    there += ["scenes"] if drawn and "scenes" not in there else []
    albums = _albums(specs, there, out)
    for name in needed:
        if name not in (*there, *albums):
            why = "no --data was given" if data is None else "it is not in the folder of --data"
            click.echo(f"{name} is left out: {why}", err=True)
    describe = partial(_described, out=out, n_jobs=n_jobs, tell=tell)
    wanted = {name for study in paper for name in NEEDS[study]} | (set(albums) if paper else set())
    sets: dict[str, DataSet] = {}
    for name in (*there, *albums):
        if name == "tate":
            sets[name] = _text((data or Path()) / TEXT_FILE, out)
            continue
        album = albums[name] if name in albums else _album(name, data or Path(), out, n_jobs, tell)
        sets |= {name: describe(name, album, **ONE_WORD)} if name in wanted else {}
        if rich and (drawn or name != "scenes"):
            full = rich_name(name)
            sets[full] = describe(full, album, seeds=SEEDS, network=network)
        for segmenter in CUT_OTHERWISE.get(name, ()) if "ablation" in rich else ():
            full = rich_name(name, segmenter)
            sets[full] = describe(full, album, segmenter=segmenter)
    return sets


def _albums(specs: Sequence[str], there: Sequence[str], out: Path) -> dict[str, Album]:
    """Return further albums by names of their own."""
    albums: dict[str, Album] = {}
    for spec in specs:
        name = album_name(spec)
        if name in (*there, *albums):
            raise AlbumError(f"albums must have names of their own, got {name!r} twice: rename one")
        if rich_parts(name) is not None:
            raise AlbumError(f"{name!r} is named like another album's description: rename it")
        albums[name] = outside(open_album(spec), out / "figures", out / "scenes")
    return albums


def _album(name: str, data: Path, out: Path, n_jobs: int, tell: Progress) -> Album:
    return _scenes(out, n_jobs, tell) if name == "scenes" else open_album(data / name)


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


def _described(
    name: str, album: Album, out: Path, n_jobs: int, tell: Progress, *, seeds: int = 1, **how: Any
) -> DataSet:
    describer = Describer(cache=out / "cache", n_jobs=n_jobs, **how)
    return prepare_album(out / "data", name, album, describer, seeds=seeds, progress=tell)


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
