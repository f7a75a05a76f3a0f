"""A describer with a network: views of its own, the cache, any number of processes, broken pictures."""

import subprocess
import sys

import numpy as np
import pytest
from PIL import Image
from tests.networks import averages, node, save_network, save_toml

from tagmix import Describer, NetworkError, ParameterError
from tagmix.datasets import open_album
from tagmix.datasets.scenes import draw_album
from tagmix.images.network import Network, load_network
from tagmix.images.picture import segment_picture

SMALL = {"n_words": 20, "n_colours": 8, "n_patches": 80, "vocabulary_patches": 40, "restarts": 1}


@pytest.fixture(scope="module")
def album(tmp_path_factory):
    return open_album(draw_album(tmp_path_factory.mktemp("album"), 5, size=(97, 61)))


@pytest.fixture(scope="module")
def toml(tmp_path_factory):
    folder = tmp_path_factory.mktemp("network")
    return save_network(folder, regions=["map", "means"], picture=["vector", "map"])


def described(album, toml, **how):
    describer = Describer.paper(**{**SMALL, **how}, network=toml)
    return describer, describer.fit(album).transform(album)


def assert_same_bits(one, other):
    assert (list(one.views), list(one.pictures)) == (list(other.views), list(other.pictures))
    for name, view in one.views.items():
        a, b = (v if isinstance(v, np.ndarray) else v.toarray() for v in (view, other.views[name]))
        np.testing.assert_array_equal(a, b)
    for name, view in one.pictures.items():
        np.testing.assert_array_equal(view, other.pictures[name])


def test_outputs_become_dense_views_of_regions_and_of_pictures_beside_the_words(album, toml):
    describer, (bags, _, _) = described(album, toml)
    assert list(bags.views) == ["sift", "colour", "map", "means"]
    assert {name: view.shape for name, view in bags.pictures.items()} == {"vector": (5, 3), "map": (5, 3)}
    assert describer.widths() == {"sift": 20, "colour": 8, "map": 3, "means": 3}
    network = load_network(toml)
    for n, item in enumerate(album):
        rows = slice(bags.offsets[n], bags.offsets[n + 1])
        found = network.describe(*segment_picture(item.image.read_bytes(), describer.config))
        np.testing.assert_array_equal(bags.views["map"][rows], found.regions[0])
        np.testing.assert_array_equal(bags.pictures["vector"][n], found.picture[0])
    assert np.ptp(bags.views["map"], axis=0).min() > 0.1  # regions differ


def test_words_are_the_same_with_a_network_and_without(album, toml):
    bags = described(album, toml)[1].bags
    plain = Describer.paper(**SMALL).fit(album).transform(album).bags
    assert list(plain.views) == ["sift", "colour"]
    assert not plain.pictures
    for name, view in plain.views.items():
        np.testing.assert_array_equal(view.toarray(), bags.views[name].toarray())


@pytest.mark.parametrize("n_jobs", [2])
def test_the_number_of_processes_changes_no_bit(album, toml, n_jobs):
    assert_same_bits(described(album, toml)[1].bags, described(album, toml, n_jobs=n_jobs)[1].bags)


def test_finished_features_come_from_the_cache(album, toml, tmp_path, monkeypatch):
    _, first = described(album, toml, cache=tmp_path)
    network = load_network(toml)
    monkeypatch.setattr(Network, "describe", None)
    _, again = described(album, network, cache=tmp_path)
    assert again.n_reused == 5
    assert_same_bits(first.bags, again.bags)


def test_a_network_beside_kept_words_describes_what_it_has_not_seen(album, toml, tmp_path):
    Describer.paper(**SMALL, cache=tmp_path).fit(album).transform(album)
    _, (bags, _, n_reused) = described(album, toml, cache=tmp_path)
    assert n_reused == 0
    assert_same_bits(bags, described(album, toml)[1].bags)


@pytest.mark.parametrize(
    "change", [{"mean": 90}, {"size": 36}, {"regions": ["means", "map"]}, {"weights": 1}]
)
def test_other_settings_or_weights_never_come_from_the_cache(album, toml, tmp_path, change):
    described(album, toml, cache=tmp_path / "cache")
    fields = {"regions": ["map", "means"], "picture": ["vector", "map"], **change}
    doubled = [node("Add", ["image", "image"], "twice"), *averages()]
    doubled[1].input[0] = "twice"
    other = save_network(tmp_path / "other", doubled if fields.pop("weights", 0) else None, **fields)
    _, (bags, _, n_reused) = described(album, other, cache=tmp_path / "cache")
    assert n_reused == 0
    assert_same_bits(bags, described(album, other)[1].bags)


def test_other_regions_never_come_from_the_cache(album, toml, tmp_path):
    described(album, toml, cache=tmp_path)
    _, (bags, _, n_reused) = described(album, toml, cache=tmp_path, segmenter="grid")
    assert n_reused == 0
    assert_same_bits(bags, described(album, toml, segmenter="grid")[1].bags)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_picture_without_sound_features_is_set_aside(tmp_path, n_jobs):
    nodes = [node("Sqrt", ["image"], "map")]
    toml = save_network(tmp_path, nodes, ["map"], mean=50, picture=[])
    for name, grey in (("a", 60), ("b", 20), ("c", 200)):
        Image.new("RGB", (40, 30), (grey, grey, grey)).save(tmp_path / f"{name}.png")
    pictures = [f'{{"image": "{name}.png", "tags": ["x"]}}' for name in "abc"]
    (tmp_path / "album.jsonl").write_text("\n".join(pictures))
    album = open_album(tmp_path / "album.jsonl")
    _, (bags, (problem,), _) = described(album, toml, n_jobs=n_jobs)
    assert len(bags) == 2
    assert str(problem).endswith(
        "b.png: makes the network's output 'map' NaN, infinite or beyond 1e+15: leave it out."
    )


def test_a_network_that_vanishes_ends_the_run_with_its_own_error(album, tmp_path):
    toml = save_network(tmp_path)
    describer = Describer.paper(**SMALL, network=toml, n_jobs=2).fit(album)
    (tmp_path / "tiny.onnx").unlink()
    with pytest.raises(NetworkError, match="it does not exist"):
        describer.transform(album)


def test_without_the_extra_words_work_as_before(album):
    code = f"""
import sys
from importlib import import_module

sys.modules["onnx"] = sys.modules["onnxruntime"] = None
import tagmix
from tagmix.cli import VERBS

for verb in VERBS:
    import_module(f"tagmix.cli.{{verb}}")
album = tagmix.open_album({str(album.root)!r})
print(list(tagmix.Describer.paper(**{SMALL!r}).fit(album).transform(album).bags.views))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "['sift', 'colour']", done.stderr


def test_a_toml_with_an_error_is_refused_before_any_work(tmp_path):
    save_network(tmp_path)
    with pytest.raises(NetworkError, match="size must be"):
        Describer(network=save_toml(tmp_path, size=-1))


@pytest.mark.parametrize("outputs", [{"regions": ["place"]}, {"regions": ["map"], "picture": ["layout"]}])
def test_an_output_with_the_name_of_another_view_is_refused(tmp_path, outputs):
    nodes = [node("Identity", ["image"], "map"), node("Identity", ["image"], "place"),
             node("Identity", ["image"], "layout")]  # fmt: skip
    toml = save_network(tmp_path, nodes, ["map", "place", "layout"], **{"picture": [], **outputs})
    with pytest.raises(ParameterError, match=r"different names, got '(place|layout)' twice"):
        Describer.paper(network=toml)
