"""tagmix train with the catalogue of its folder."""

import json
import os

import pytest

from tagmix.catalogue import file_digest, open_catalogue, place_of
from tagmix.cli import run, train
from tagmix.datasets.scenes import draw_album
from tagmix.files import load
from tests.cli.conftest import QUICK


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a folder of drawn photos with keywords beside them; every photo of a sky is known."""
    root = tmp_path_factory.mktemp("library") / "photos"
    lines = (draw_album(root, 16, seed=4, size=(80, 60)) / "annotations.jsonl").read_text().splitlines()
    (root / "annotations.jsonl").unlink()
    for line in lines:
        record = json.loads(line)
        (root / record["image"]).with_suffix(".txt").write_text(";".join(record["tags"]))
    return root / "images"


@pytest.fixture
def catalogue(folder, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    with open_catalogue(place_of(folder), folder) as catalogue:
        for photo in sorted(folder.glob("*.jpg")):
            facts = os.stat(photo)
            place = photo.relative_to(folder).as_posix()
            noted = catalogue.photos.note(place, file_digest(photo), facts.st_size, facts.st_mtime_ns)
            tags = photo.with_suffix(".txt").read_text().split(";")
            catalogue.verdicts.found(noted.id, tags)
            if "sky" not in tags:
                catalogue.verdicts.set(noted.id, "sky", "no")
        catalogue.tags.rename("sky", "Himmel")
        yield catalogue


@pytest.fixture
def learnt(monkeypatch):
    """Return the bags that were learnt from."""
    seen = []

    def train_described(describer, described, *rest, **more):
        seen.append(described.bags)
        return original(describer, described, *rest, **more)

    original = train.train_described
    monkeypatch.setattr(train, "train_described", train_described)
    return seen


def test_train_learns_present_names_and_what_was_denied(folder, catalogue, learnt, tmp_path, capsys):
    path = tmp_path / "model.tagmix"
    assert run(["train", str(folder), "-m", str(path), "--evidence", "0.1", *QUICK]) == 0
    assert "the catalogue knows 16 photos: 0 tags added and" in capsys.readouterr().err
    names = load(path).model.tag_names_
    assert "Himmel" in names
    assert "sky" not in names
    (bags,) = learnt
    column = bags.tag_names.index("Himmel")
    given, denied = (matrix[:, [column]].toarray().ravel() for matrix in (bags.tags, bags.rejected))
    assert denied.sum() > 0
    assert (given + denied == 1).all()
    assert bags.rejected.nnz == denied.sum()


def test_train_leaves_the_catalogue_aside_on_demand(folder, catalogue, learnt, tmp_path, capsys):
    path = tmp_path / "model.tagmix"
    words = ["train", str(folder), "-m", str(path), "--evidence", "0.1", *QUICK, "--no-catalogue"]
    assert run(words) == 0
    assert "sky" in load(path).model.tag_names_
    assert learnt[0].rejected is None
    assert run([*words, "--catalogue", str(catalogue.path)]) == 2
