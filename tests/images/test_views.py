"""Views as a registry: one file and one line make a view, from the command line to the model's file."""

from dataclasses import dataclass
from importlib import reload

import numpy as np
import pytest

from tagmix import Describer, ParameterError, load, storage
from tagmix.cli import run, train
from tagmix.datasets import open_album
from tagmix.datasets.scenes import draw_album
from tagmix.images.config import DescriberConfig
from tagmix.images.network import networks_of
from tagmix.images.settings import about, setting, settings_of
from tagmix.images.views import PICTURE_VIEWS, REGION_VIEWS, VIEWS, View
from tagmix.images.views.base import stack
from tagmix.images.views.place import CELLS
from tagmix.images.vocabulary import Vocabulary

QUICK = ["--words", "20", "--colours", "6", "--patches", "80", "--jobs", "1", "--evidence", "0.1"]
QUICK += ["--network", "none"]


@dataclass(frozen=True)
class Grey(View):
    """The mean grey level of each region, as one dense column, and of the whole picture."""

    name = "grey"
    regions = ("grey",)
    pictures = ("greys",)

    grey: bool = setting(False, option="--grey", help="Use the mean grey level of a region.")

    @property
    def on(self):
        return self.grey

    def widths(self, words):
        return {"grey": 1}

    def form(self, n_patches, n_regions, words):
        return {"grey": (np.dtype(np.float32), (n_regions, 1))}

    def describe(self, picture, words):
        sums = np.bincount(picture.labels.ravel(), weights=picture.grey.ravel())
        return {"grey": (sums / np.bincount(picture.labels.ravel()))[:, None]}

    def sound(self, arrays, words):
        return bool(np.isfinite(arrays["grey"]).all())

    def region_views(self, described, words):
        return {"grey": stack(described, "grey")}

    def picture_views(self, described, words):
        return {"greys": np.vstack([picture.arrays["grey"].mean(axis=0) for picture in described])}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return draw_album(tmp_path_factory.mktemp("drawn"), 24, seed=5, size=(80, 60))


@pytest.fixture
def registered(monkeypatch):
    """Add the line in VIEWS that a new view needs, and load the verb as if it had been there."""
    with monkeypatch.context() as patch:
        patch.setitem(VIEWS, "grey", Grey)
        yield reload(train)
    reload(train)


@pytest.mark.usefixtures("registered")
def test_a_view_of_one_file_and_one_line_is_trained_stored_and_annotated_by(folder, tmp_path, capsys):
    model, cache = tmp_path / "m.tagmix", tmp_path / "cache"
    call = ["train", str(folder), "-m", str(model), "--grey", "--cache", str(cache), *QUICK]
    assert run(call) == 0
    annotator = load(model)
    assert list(annotator.describer.widths()) == ["sift", "colour", "place", "grey"]
    assert storage.read(model).fields["describer"]["views"]["grey"] == {"grey": True}
    album = open_album(folder)
    described = annotator.with_(cache=cache).describer.transform(album.split("train"))
    assert described.n_reused == len(described.bags)
    assert list(described.bags.pictures) == ["layout", "greys"]
    assert 0 < np.ptp(described.bags.views["grey"]) <= 255
    capsys.readouterr()
    photo = album[0].image
    assert run(["annotate", str(photo), "-m", str(model), "--no-cache", "-j", "1", "--top", "2"]) == 0
    (annotation,) = annotator.annotate([photo], k=2)
    assert all(guess.tag in capsys.readouterr().out for guess in annotation.tags[:1])


@pytest.mark.usefixtures("registered")
def test_an_impossible_array_of_a_new_view_is_made_again(folder, tmp_path):
    album = open_album(folder)[:2]
    describer = Describer(n_words=9, n_colours=0, n_patches=30, grey=True, cache=tmp_path, network=None).fit(
        album
    )
    first = describer.transform(album).bags.views["grey"]
    for path in tmp_path.rglob("*.tagmix"):
        arrays = storage.read(path).arrays
        if "grey" in arrays:
            storage.write(path, "Cached", {}, {**arrays, "grey": arrays["grey"] * np.float32(np.nan)})
    again = describer.transform(album)
    assert again.n_reused == 0
    np.testing.assert_array_equal(again.bags.views["grey"], first)


def test_a_view_that_is_not_registered_has_no_setting_and_no_option(folder, tmp_path, capsys):
    with pytest.raises(ParameterError, match=r"the settings are .*, got 'grey'"):
        Describer(grey=True)
    assert run(["train", str(folder), "-m", str(tmp_path / "m"), "--grey"]) == 2
    assert "No such option" in capsys.readouterr().err


def test_every_view_has_its_own_names_settings_and_needs_before_it():
    assert [name for name, view in VIEWS.items()] == [view.name for view in VIEWS.values()]
    names = [name for kind in (DescriberConfig, *VIEWS.values()) for name in settings_of(kind)]
    assert len(set(names)) == len(names)
    assert (REGION_VIEWS, PICTURE_VIEWS) == (("sift", "colour", "place"), ("layout",))
    order = list(VIEWS)
    for name, view in VIEWS.items():
        assert all(order.index(need) < order.index(name) for need in view.needs)
        for own in settings_of(view).values():
            assert about(own).option is None or about(own).help


def test_the_product_and_the_paper_are_described_as_they_say():
    product, paper = Describer().config.settings(), Describer.paper().config.settings()
    assert {name: (product[name], paper[name]) for name in product if product[name] != paper[name]} == {
        "largest_patch": (0.125, 0.5),
        "n_regions": (40, 10),
        "mirrored": (True, False),
        "nearest": (3, 1),
        "n_colours": (200, 0),
        "places": (True, False),
        "layout": (True, False),
        "network": (networks_of("efficientnet-lite2"), ()),
    }
    assert product["n_words"] == product["n_patches"] == 1000
    changed = Describer.paper(nearest=2, n_colours=50).config.settings()
    assert changed == {**paper, "nearest": 2, "n_colours": 50}


def test_a_config_comes_back_from_its_plain_values():
    config = Describer(n_words=7, layout=False, seed=3).config
    assert DescriberConfig.from_plain(config.plain()) == config
    for wrong in ({"views": {"smell": {}}}, {"views": {}, "smell": 3}):
        with pytest.raises(ParameterError, match="got 'smell'"):
            DescriberConfig.from_plain(wrong)


def test_arrays_from_a_cache_are_sound_up_to_the_last_word_and_the_last_cell():
    words = {
        name: Vocabulary(np.zeros((7, VIEWS[name].dimensions), np.float32)) for name in ("sift", "colour")
    }
    for name, n in {"sift": 7, "colour": 7, "place": CELLS, "layout": CELLS}.items():
        array = "place" if name == "layout" else name
        assert VIEWS[name]().sound({array: np.array([0, n - 1])}, words)
        assert not VIEWS[name]().sound({array: np.array([0, n])}, words)
