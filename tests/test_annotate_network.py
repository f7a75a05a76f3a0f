"""Annotators trained with a network: what their file keeps of it, and when another one is refused."""

import copy
import shutil
from concurrent.futures import ThreadPoolExecutor

import pytest

from tagmix import ContextEMM, Describer, ModelFileError, NetworkError, load, storage
from tagmix.annotate import train
from tagmix.datasets import open_album
from tagmix.datasets.scenes import draw_album
from tests.networks import averages, node, save_network, save_toml

QUICK = {"n_words": 30, "n_colours": 8, "n_patches": 100, "restarts": 1, "places": True}


@pytest.fixture(scope="module")
def album(tmp_path_factory):
    return open_album(draw_album(tmp_path_factory.mktemp("drawn"), 24, seed=5, size=(96, 72)))


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="module")
def training(album, home):
    describer = Describer.paper(**QUICK, network=save_network(home / "network", picture=["vector"]))
    return train(album.keep_tags(3), describer, ContextEMM(evidence=0.1))


@pytest.fixture
def stored(training, home, tmp_path):
    """A model's file beside its network, at places of their own."""
    shutil.copytree(home / "network", tmp_path / "network")
    network = training.annotator.describer.networks[0].found(tmp_path / "network" / "tiny.toml")
    training.annotator.with_(network=network).save(tmp_path / "model.tagmix")
    return tmp_path / "model.tagmix"


def test_a_model_learns_from_words_and_from_the_network(training):
    assert list(training.bags.views) == ["sift", "colour", "place", "map"]
    model = ContextEMM().fit(training.bags)
    assert set(model.widths_) == {"map"}
    assert model.evidence_ == {"map": 0.1}  # regions are modelled by embeddings where there are any
    assert set(model.prior_.experts[0].reference_) >= {"sift", "colour", "place", "map"}


def test_an_annotator_from_a_file_finds_its_network_and_says_the_same(album, training, stored):
    back = load(stored)
    assert back.describer.networks[0].model is None  # nothing is opened before a photo is
    photos = [item.image for item in album][:4]
    assert list(back.annotate(photos)) == list(training.annotator.annotate(photos))
    bags, again = (one.describer.transform(album[:3]).bags for one in (training.annotator, back))
    assert (bags.views["map"] == again.views["map"]).all()


@pytest.mark.parametrize("from_file", [False, True])
def test_two_threads_share_an_annotator_with_a_network(album, training, stored, from_file):
    annotator = load(stored) if from_file else training.annotator
    photos = [item.image for item in album]
    one_by_one = [list(training.annotator.annotate(part)) for part in (photos[:6], photos[6:12])]
    with ThreadPoolExecutor(2) as pool:
        at_once = pool.map(lambda part: list(annotator.annotate(part)), (photos[:6], photos[6:12]))
        assert list(at_once) == one_by_one


def test_the_file_keeps_settings_digest_and_place_but_no_weights(stored):
    contents = storage.read(stored)
    kept = contents.fields["describer"]["views"]["network"]["network"][0]
    assert kept["place"] == str(stored.parent / "network" / "tiny.toml")
    assert kept["settings"]["regions"] == ["map"]
    assert len(kept["settings"]["sha256"]) == 64
    assert not [name for name in contents.arrays if "network" in name]


@pytest.mark.parametrize("several", [True, False])
def test_a_model_file_of_one_network_as_earlier_versions_wrote_it_still_loads(album, stored, several):
    contents = storage.read(stored)
    fields = copy.deepcopy(contents.fields)
    (own,) = fields["describer"]["views"]["network"]["network"]
    for later in ("root", "names", "tokens"):
        del own["settings"][later]
    fields["describer"]["views"]["network"]["network"] = [own] if several else own
    first = next(load(stored).annotate([album[0].image]))
    storage.write(stored, "Annotator", fields, contents.arrays)
    assert next(load(stored).annotate([album[0].image])) == first


def test_a_network_that_moved_is_found_by_its_new_place(album, stored, tmp_path):
    shutil.move(tmp_path / "network", tmp_path / "moved")
    back = load(stored)
    with pytest.raises(NetworkError, match=r"it does not exist.* give it by --network"):
        next(back.annotate([album[0].image]))
    moved = back.with_(network=back.describer.networks[0].found(tmp_path / "moved" / "tiny.toml"))
    assert next(moved.annotate([album[0].image])).tags


def test_another_network_is_refused_by_its_digest(album, stored, tmp_path):
    doubled = [node("Add", ["image", "image"], "twice"), *averages()]
    save_network(tmp_path / "network", doubled, picture=["vector"])
    with pytest.raises(NetworkError, match=r"trained with the network of sha256 [0-9a-f]{16}…, that of"):
        next(load(stored).annotate([album[0].image]))


def test_the_same_network_with_other_settings_is_refused(album, stored, tmp_path):
    save_toml(tmp_path / "network", size=64)
    with pytest.raises(NetworkError, match=r"other settings than .* \(size = 32, not 64\)"):
        next(load(stored).annotate([album[0].image]))


@pytest.mark.parametrize(
    "change",
    [
        {"place": 3},
        {"place": "a\0b"},
        {"widths": [[3]]},
        {"widths": [[3, 3], [3]]},
        {"widths": [[10**9], [3]]},
        {"widths": [["3"], [3]]},
        {"widths": 3},
        {"settings": {}},
        {"settings": {"sha256": "0" * 64, "input": "image", "size": 10**9, "regions": ["map"]}},
        {"settings": {"sha256": "0" * 64, "input": "image", "size": 32, "regions": ["sift"]}},
    ],
)
def test_a_file_whose_network_does_not_fit_is_refused_in_one_line(stored, tmp_path, change):
    contents = storage.read(stored)
    fields = copy.deepcopy(contents.fields)
    fields["describer"]["views"]["network"]["network"][0].update(change)
    storage.write(tmp_path / "bad.tagmix", "Annotator", fields, contents.arrays)
    with pytest.raises(ModelFileError) as caught:
        load(tmp_path / "bad.tagmix")
    assert len(str(caught.value).splitlines()) == 1
