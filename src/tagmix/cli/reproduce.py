"""tagmix reproduce: the paper's experiments, with its methods and those that it left out."""

from collections.abc import Sequence
from pathlib import Path

import click

from tagmix.cli.options import (
    alone_in,
    check_writable,
    is_page,
    jobs,
    network,
    networks_named,
    report_networks,
    report_problems,
)
from tagmix.cli.progress import bars
from tagmix.comparison.run import provenance, run_all
from tagmix.errors import AlbumError
from tagmix.images.network import Network
from tagmix.report.comparison.files import write_report
from tagmix.studies.datasets import Sources, further_albums, prepare
from tagmix.studies.documents import check_commit, check_documented, documents_of, write_documents
from tagmix.studies.openworld import OPEN
from tagmix.studies.page import PaperPage
from tagmix.studies.tasks import RICH, STUDIES, USUAL, tasks_of

LEAD = (
    "Yang, Bian and Zha compared EMM, trained by maximum likelihood (EMM_m) and by maximum margin (EMM_d), "
    "with DBA and CorrLDA. This page has the same comparisons on available data, with nearest neighbours, "
    "kernel ridge and other methods. Every setting was chosen inside the training part."
)
TITLE = "The paper's experiments"
RICH_LEAD = (
    "EMM with context, which tagmix train uses, compared with other methods on the same features: whole "
    "pictures, and regions if their tags are known. Every setting was chosen inside the training part."
)
RICH_TITLE = "EMM with context and other methods"


@click.command("reproduce", short_help="the paper's experiments")
@click.argument("studies", nargs=-1, type=click.Choice(list(STUDIES)))
@click.option(
    "--data", type=click.Path(path_type=Path, exists=True, file_okay=False), default=None,
    envvar="TAGMIX_DATA", show_envvar=True,
    help="Folder with corel5k/, msrc_v2/, coco_part/ and tate/; missing ones are left out.",
)  # fmt: skip
@click.option(
    "--album", "albums", multiple=True, help="A further album, such as labelme:PATH; may be repeated."
)
@click.option(
    "--out", type=click.Path(path_type=Path, file_okay=False), default="reproduce-out", show_default=True,
    help="Folder for the results and the page; run the same command to resume.",
)  # fmt: skip
@click.option("--again", is_flag=True, help="Replace existing results.")
@click.option("--pictures/--no-pictures", default=True, help="Show pictures of the albums on the page.")
@click.option(
    "--docs", type=click.Path(path_type=Path, file_okay=False), default=None, metavar="FOLDER",
    help="Write the tables as Markdown and a few figures to this folder too: only results of one clean "
    "commit, with every fold.",
)  # fmt: skip
@network
@jobs
def command(
    studies: tuple[str, ...], data: Path | None, albums: tuple[str, ...], out: Path, again: bool,
    pictures: bool, docs: Path | None, network: tuple[str, ...], jobs: int,
) -> None:  # fmt: skip
    """Repeat the paper's experiments and write a page with the results.

    \b
    figure2   pictures: top-k accuracy by k, by the number of tags, by training pictures
    figure3   regions, with and without captions
    figure4   example pictures with the tags of every method
    tags      up to 7,848 tags, on the text of the Tate catalogue
    why       what decides the order of the paper's methods
    margins   what margins gain, on Corel5k and on data drawn from the model
    flagship  EMM with context and rivals, on all features, with three seeds
    ablation  EMM with context with one change at a time
    openworld regions that may be none of the tags, pointing, and pictures, with rivals
    development  as openworld, in folds of the odd pictures of MSRC v2; only by name

    Without names, all studies but development are run on the data sets in the folder and on drawn scenes,
    which are always available. The studies of the paper take from minutes to half an hour per data set on two
    cores, flagship and ablation take 40 minutes. These two and openworld describe pictures as `tagmix train`
    does, with the same networks; flagship uses drawn scenes only if there are no photos.

    \b
    Examples:
      tagmix reproduce figure3
      tagmix reproduce --data ~/data
      tagmix reproduce figure2 figure3 --album labelme:~/LabelMe --out labelme
      tagmix reproduce flagship --data ~/data --docs docs/reproduce
      tagmix reproduce openworld --data ~/data --out open
    """
    chosen = studies or USUAL
    only_rich = all(study in (*RICH, *OPEN) for study in chosen)
    if docs is not None:
        check_commit(provenance()["commit"])
        docs.mkdir(parents=True, exist_ok=True)
        for path in documents_of(docs):
            check_writable(path, is_page)
    with alone_in(out), bars() as report_progress:
        loaded = _networks(network, chosen)
        further = further_albums(albums, chosen, data, out)
        sources = Sources(data, further, out, loaded, jobs, report_progress)
        sets = prepare(chosen, sources, lambda name: _left_out(name, data))
        tasks = tasks_of(chosen, sets)
        if not tasks:
            raise AlbumError(f"{', '.join(chosen)} needs data, got none: give its folder by --data")
        outcome = run_all(tasks, out, n_jobs=jobs, again=again, progress=report_progress)
        report_progress("page", 0, 1)
        page = write_report(
            out, outcome.records, outcome.problems,
            title=RICH_TITLE if only_rich else TITLE, lead=RICH_LEAD if only_rich else LEAD,
            pictures=pictures, extras=PaperPage(),
        )  # fmt: skip
    report_problems([f"{one.name}: {line}" for one in sets.values() for line in one.problems], "item")
    report_problems([f"{p.task.name}: {p.reason}" for p in outcome.problems], "task", "failed")
    click.echo(f"{len(outcome.records):,} results\n{page}")
    if docs is not None:
        check_documented(tasks, outcome)
        for path in write_documents(docs, outcome.records):
            click.echo(str(path))


def _networks(given: Sequence[str], studies: Sequence[str]) -> tuple[Network, ...]:
    """Return the networks of the studies; print if no study uses one that is given."""
    readers = (*RICH, *OPEN)
    if any(study in readers for study in studies):
        networks = networks_named(given)
        report_networks(networks, given)
        return networks
    if given:
        click.echo(f"--network is not used: only {', '.join(readers)} read it", err=True)
    return ()


def _left_out(name: str, data: Path | None) -> None:
    why = "no --data was given" if data is None else "it is not in the folder of --data"
    click.echo(f"{name} is left out: {why}", err=True)
