"""tagmix train --continue: yes and no of the catalogue are learnt, a machine's tags are not."""

import os
import re
import shutil
from pathlib import Path

import numpy as np
import pytest

import tagmix
from tagmix.catalogue import open_catalogue
from tagmix.cli import run
from tagmix.learners.continued.verdicts import NO, YES
from tagmix.training_files import load_pair, training_file
from tests.cli.conftest import QUICK


@pytest.fixture(scope="module")
def trained(album: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the photos of the album, and a model trained on it, with its memory."""
    folder = tmp_path_factory.mktemp("continue") / "place"
    shutil.copytree(album, folder / "photos")
    (source,) = folder.rglob("*.jsonl")
    command = ["train", str(source), "-m", str(folder / "m"), "--split", "train", "--evidence", "0.1"]
    assert run([*command, *QUICK]) == 0
    shutil.copytree(folder, folder.with_name("untouched"))
    return folder


@pytest.fixture
def place(trained: Path) -> Path:
    """The folder as it was after the training: at the same place, which the memory names."""
    shutil.rmtree(trained)
    return Path(shutil.copytree(trained.with_name("untouched"), trained))


def catalogue_of(place: Path, said):
    """Put verdicts on photos, by their place, into a catalogue of the folder."""
    photos = place / "photos"
    names = sorted(str(path.relative_to(photos)) for path in photos.rglob("*.png"))
    names += sorted(str(path.relative_to(photos)) for path in photos.rglob("*.jpg"))
    with open_catalogue(place / "c.sqlite", photos) as catalogue:
        list(catalogue.scan(names))
        for name, tag, answer in said:
            catalogue.verdicts.set(catalogue.photos.at(name), tag, answer)
    return names


def learn(place: Path) -> int:
    return run(
        ["train", "--continue", str(place / "photos"), "-m", str(place / "m"),
         "--catalogue", str(place / "c.sqlite"), "--jobs", "1", "--no-cache"]
    )  # fmt: skip


def test_corrections_and_new_photos_of_the_catalogue_are_learnt(place, capsys) -> None:
    _, memory = load_pair(place / "m")
    tags = tagmix.load(place / "m").model.tag_names_
    photos = os.path.realpath(place / "photos")
    known = [os.path.relpath(name, photos) for name in memory.ids]
    new = [name for name in catalogue_of(place, []) if name not in known][:2]
    moved = Path(known[5]).with_name("moved" + Path(known[5]).suffix)
    (place / "photos" / known[5]).rename(place / "photos" / moved)
    catalogue_of(
        place,
        [(known[0], tags[0], "no"), (known[1], tags[1], "yes"), (str(moved), tags[2], "no")]
        + [(name, tags[0], "yes") for name in new]
        + [(known[2], "a tag of tomorrow", "yes")],
    )
    capsys.readouterr()
    assert learn(place) == 0
    said = capsys.readouterr().out.splitlines()
    assert said[0] == "1 tag new to the model (a tag of tomorrow): train again"
    assert re.fullmatch(r"\d corrected tags and 2 new photos learnt; \d+ photos? changed", said[1])
    after = load_pair(place / "m").memory
    assert [os.path.relpath(name, photos) for name in after.ids[-2:]] == new
    assert (after.codes[0, 0], after.codes[1, 1], after.codes[5, 2]) == (NO, YES, NO)
    assert np.all(after.codes[-2:, 0] == YES)
    assert learn(place) == 0
    assert "nothing new to learn" in capsys.readouterr().out


def test_a_machines_own_tags_are_never_learnt(place, capsys) -> None:
    _, memory = load_pair(place / "m")
    tags = tagmix.load(place / "m").model.tag_names_
    before = (place / "m").read_bytes()
    known = os.path.relpath(memory.ids[0], os.path.realpath(place / "photos"))
    learnt = tags[int(np.flatnonzero(memory.codes[0] == YES)[0])]
    names = catalogue_of(place, [(known, learnt, "yes")])  # a human said something of it, too
    with open_catalogue(place / "c.sqlite", place / "photos") as catalogue:
        run_of_ours = catalogue.runs.begin("tag", "model")
        for name in names:
            catalogue.runs.guess(
                run_of_ours, catalogue.photos.at(name), dict.fromkeys(tags[:3], 0.9), no=tags[3:]
            )
        assert len(catalogue.search("source:machine")) == len(names)
    assert learn(place) == 0
    assert "nothing new to learn" in capsys.readouterr().out
    assert (place / "m").read_bytes() == before
    assert np.array_equal(load_pair(place / "m").memory.codes, memory.codes)


def test_what_cannot_learn_on_is_refused_in_one_line(place, capsys) -> None:
    assert learn(place) != 0
    assert "there is no catalogue of" in capsys.readouterr().err
    catalogue_of(place, [])
    training_file(place / "m").rename(place / "other")
    assert learn(place) != 0
    error = capsys.readouterr().err.splitlines()
    assert len(error) == 1
    assert "cannot learn on without 'm.training'" in error[0]
    assert run(["train", "-m", str(place / "m")]) != 0
    assert "give an ALBUM" in capsys.readouterr().err


def test_no_memory_leaves_out_the_second_file(place, album, capsys) -> None:
    assert training_file(place / "m").exists()
    command = ["train", str(album), "-m", str(place / "m"), "--no-memory", "--evidence", "0.1"]
    assert run([*command, *QUICK]) == 0
    assert not training_file(place / "m").exists()
