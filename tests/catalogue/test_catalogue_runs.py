"""Runs are recorded photo by photo, recognised when interrupted, and undone."""

import subprocess
import sys

import pytest

from tagmix.catalogue import open_catalogue
from tagmix.errors import CatalogueError


def test_a_run_goes_from_planned_to_written_to_finished(library):
    photo, runs = library.photo("a.jpg"), library.catalogue.runs
    run = runs.begin("tag", "model", {"k": 5})
    runs.plan(run, photo, {"sea": 0.9, "sky": 0.8}, added=["sea"])
    assert [(one.state, one.tags) for one in runs.entries(run)] == [("planned", ("sea",))]
    runs.wrote(run, photo)
    assert runs.finish(run).state == "finished"
    assert [one.state for one in runs.entries(run)] == ["written"]
    assert runs.entry(run, photo).state == "written"
    assert runs.entry(run, 99) is None
    assert runs.all()[0].arguments == {"k": 5}
    assert runs.get(run.name) == runs.get(run.id)


def test_undoing_a_run_brings_back_what_an_earlier_run_said(library):
    photo, runs = library.photo("a.jpg"), library.catalogue.runs
    for probability in (0.6, 0.9):
        run = runs.begin("tag", "model")
        runs.plan(run, photo, {"sea": probability})
        runs.wrote(run, photo)
        runs.finish(run)
    assert runs.undo(run).state == "undone"
    assert [one.probability for one in library.catalogue.verdicts.of(photo)] == [0.6]


def test_undoing_a_run_keeps_what_humans_and_files_say(library):
    photo, runs = library.photo("a.jpg"), library.catalogue.runs
    run = runs.begin("tag", "model")
    runs.plan(run, photo, {"sea": 0.9, "sky": 0.8, "boat": 0.7})
    runs.wrote(run, photo)
    library.catalogue.verdicts.set(photo, "sea", "yes")
    library.catalogue.verdicts.set(photo, "boat", "no")
    library.catalogue.verdicts.found(photo, ["cliff"])
    assert [one.confirmed for one in runs.entries(run)] == [("sea",)]
    runs.undo(run)
    expected = {"sea": ("human", "yes"), "boat": ("human", "no"), "cliff": ("metadata", "yes")}
    assert library.answers(photo) == expected


def test_a_photo_planned_again_keeps_what_was_added_before(library):
    photo, runs = library.photo("a.jpg"), library.catalogue.runs
    run = runs.begin("tag", "model")
    runs.plan(run, photo, {"sea": 0.9})
    runs.wrote(run, photo)
    runs.plan(run, photo, {"sea": 0.9, "sky": 0.8}, added=["sky"])
    assert next(runs.entries(run)).tags == ("sea", "sky")


def test_a_photo_that_could_not_be_written_leaves_its_run(library):
    photo, runs = library.photo("a.jpg"), library.catalogue.runs
    run = runs.begin("tag", "model")
    runs.plan(run, photo, {"sea": 0.9})
    runs.drop(run, photo)
    assert list(runs.entries(run)) == []
    assert library.answers(photo) == {}


def test_an_undo_is_taken_up_where_it_was_killed(library):
    photos, runs = [library.photo(f"{n}.jpg") for n in range(3)], library.catalogue.runs
    run = runs.begin("tag", "model")
    for photo in photos:
        runs.plan(run, photo, {"sea": 0.9})
        runs.wrote(run, photo)
    runs.finish(run)
    runs.begin_undo(run)
    runs.removed(run, photos[0])
    runs = library.again().runs
    run = runs.begin_undo(runs.get(run.id))
    assert [one.state for one in runs.entries(run)] == ["removed", "written", "written"]
    for photo in photos[1:]:
        runs.removed(run, photo)
    assert runs.finish_undo(run).state == "undone"
    assert [library.answers(photo) for photo in photos] == [{}, {}, {}]


SCRIPT = """
import os, sys
from pathlib import Path
from tagmix.catalogue import open_catalogue
catalogue = open_catalogue(Path(sys.argv[1]), Path(sys.argv[2]))
run = catalogue.runs.begin("tag", "model")
catalogue.runs.plan(run, 1, {"sea": 0.9})
os._exit(0)
"""


def test_a_run_of_a_process_that_is_gone_is_interrupted_and_can_be_taken_up(library):
    photo = library.photo("a.jpg")
    subprocess.run([sys.executable, "-c", SCRIPT, library.path, library.root], check=True)
    runs = library.again().runs
    (run,) = runs.all()
    assert run.state == "interrupted"
    run = runs.resume(run)
    assert run.state == "running"
    runs.wrote(run, photo)
    assert runs.finish(run).state == "finished"


def test_a_run_that_goes_on_is_not_taken_up(library):
    run = library.catalogue.runs.begin("tag", "model")
    with open_catalogue(library.path, library.root) as other:
        assert other.runs.get(run.id).state == "running"
        with pytest.raises(CatalogueError, match="it is running"):
            other.runs.resume(run)


def test_a_finished_run_takes_nothing_more(library):
    photo, runs = library.photo("a.jpg"), library.catalogue.runs
    run = runs.finish(runs.begin("tag", "model"))
    with pytest.raises(CatalogueError, match="is finished"):
        runs.plan(run, photo, {"sea": 0.9})


@pytest.mark.parametrize("name", ["nothing", "99", "9" * 30, "a\nb", "bad\udcff"])
def test_a_run_that_is_not_there_is_refused_in_one_line(library, name):
    with pytest.raises(CatalogueError, match="there is no run") as caught:
        library.catalogue.runs.get(name)
    assert str(caught.value).isprintable()


def test_names_of_runs_differ_and_can_be_taken_over(library):
    runs = library.catalogue.runs
    names = {runs.begin("tag", "model").name for _ in range(20)}
    assert len(names) == 20
    assert runs.begin("tag", "model", name="from-a-sidecar").name == "from-a-sidecar"
    with pytest.raises(CatalogueError, match="already"):
        runs.begin("tag", "model", name="from-a-sidecar")


def test_a_later_run_may_rule_out_what_an_earlier_one_said(library):
    photo, runs = library.photo("a.jpg"), library.catalogue.runs
    first = runs.begin("tag", "model")
    runs.guess(first, photo, {"sea": 0.9})
    second = runs.begin("tag", "model")
    runs.guess(second, photo, {}, no=["sea"])
    assert library.answers(photo) == {"sea": ("machine", "no")}
    assert len(library.catalogue.search("sea")) == 0
    runs.undo(second)
    assert len(library.catalogue.search("sea")) == 1


def test_what_a_damaged_catalogue_says_of_a_run_is_refused_in_one_line(library):
    photo, runs = library.photo("a.jpg"), library.catalogue.runs
    run = runs.begin("tag", "model")
    runs.plan(run, photo, {"sea": 0.9})
    with library.catalogue.batch():
        library.catalogue._store.write("UPDATE entry SET tags = '[\"se'")
    for ask in (lambda: list(runs.entries(run)), lambda: runs.counts(run), lambda: runs.plan(run, photo, {})):
        with pytest.raises(CatalogueError, match="damaged"):
            ask()
