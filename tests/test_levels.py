"""Tags with levels: parents follow their children, and names change nothing."""

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import tagmix
from tagmix import ContextEMM, Describer, annotator_files, storage
from tagmix.annotate import train
from tagmix.datasets import Album, Item, TrueRegion, open_album
from tagmix.datasets.scenes import draw_album
from tagmix.errors import ModelFileError
from tagmix.levels import NEVER, Levels, without_parents
from tests.metadata.photos import xmp

NAMES = ["Places", "Places|Italy", "Places|Italy|Rome", "animal", "animal|dog", "sea"]


def over(bar):
    return lambda p: p >= bar


def test_no_parent_is_less_probable_than_a_descendant():
    p = np.random.default_rng(0).random((50, len(NAMES)))
    raised = Levels(NAMES).raised(p)
    for above in range(len(NAMES)):
        below = [i for i, name in enumerate(NAMES) if name.startswith(NAMES[above] + "|")]
        assert np.array_equal(raised[:, above], p[:, [above, *below]].max(axis=1))


def test_a_parent_is_not_listed_where_a_descendant_is_shown():
    p = np.array([[0.9, 0.9, 0.8, 0.7, 0.2, 0.6]])
    listed, shown = Levels(NAMES).suggested(p, over(0.5))
    assert [name for i, name in enumerate(NAMES) if shown[0, i]] == ["Places|Italy|Rome", "animal", "sea"]
    assert listed[0, 0] == listed[0, 1] == NEVER
    assert listed[0, 4] == 0.2


def test_implied_tags_are_suggested_only_when_asked_for():
    p = np.array([[0.9, 0.8, 0.1, 0.7, 0.2, 0.6]])
    levels = Levels(NAMES, ["Places", "Places|Italy"])
    listed, shown = levels.suggested(p, over(0.5))
    assert [name for i, name in enumerate(NAMES) if shown[0, i]] == ["animal", "sea"]
    assert (listed[0, :2] == NEVER).all()
    assert levels.suggested(p, over(0.5), parents=True)[1][0].tolist() == [1, 1, 0, 1, 0, 1]


def test_shares_of_implied_tags_go_to_the_tags_below_in_proportion():
    shares = np.array([[0.2, 0.0, 0.0, 0.3, 0.1, 0.2], [0.2, 0.1, 0.3, 0.0, 0.0, 0.1]])
    moved = Levels(NAMES, ["Places", "Places|Italy"]).pushed(shares)
    assert np.allclose(moved.sum(axis=1), shares.sum(axis=1))
    assert np.array_equal(moved[0], shares[0])  # nothing below it is there
    assert np.allclose(moved[1], [0, 0, 0.6, 0, 0, 0.1])
    two = Levels(["a", "a|b", "a|c"], ["a"]).pushed(np.array([[0.3, 0.2, 0.4]]))
    assert np.allclose(two, [[0, 0.3, 0.6]])


def test_flat_tags_are_left_alone():
    p = np.random.default_rng(1).random((4, 3))
    levels = Levels(["sea", "sky", "boat"])
    assert levels.raised(p) is p
    assert levels.pushed(p) is p
    assert without_parents([("sea", 0.5), ("sky", 0.3)]) == (("sea", 0.5), ("sky", 0.3))
    listed, shown = levels.suggested(p, over(0.5))
    assert np.array_equal(listed, p)
    assert np.array_equal(shown, p >= 0.5)


def album_of(*tags):
    return Album(tuple(Item(Path(f"/a/{n}.jpg"), own) for n, own in enumerate(tags)), Path("/a"))


def test_a_rare_tag_counts_for_the_tags_above_it_and_gives_way_to_them():
    album = album_of(("A|b",), ("A|c|d",), ("A|c|e", "sea"), ("A|b", "sea"), ())
    twice = [("A|b",), ("A|c",), ("A|c", "sea"), ("A|b", "sea"), ()]
    assert [item.tags for item in album.keep_tags(2)] == twice
    assert [item.tags for item in album.keep_tags(3)] == [("A",), ("A",), ("A",), ("A",), ()]
    assert album.with_parents().tag_counts() == {"A": 4, "A|b": 2, "A|c": 2, "sea": 2, "A|c|d": 1, "A|c|e": 1}


def test_renaming_is_done_at_once_joins_synonyms_and_takes_tags_below_along():
    album = album_of(("Orte|Rom", "Meer", "sea"), ("Hund", "Ort"), ("a", "b"))
    names = {"Orte": "Places", "Meer": "sea", "Hund": "", "a": "b", "b": "a", "Ort": " Places "}
    assert [item.tags for item in album.renamed(names)] == [("Places|Rom", "sea"), ("Places",), ("b", "a")]
    regions = (TrueRegion("Meer", (0, 0, 1, 1)), TrueRegion("Hund"))
    item = replace(album[0], regions=regions)
    renamed = Album((item,), Path("/a")).renamed(names)[0]
    assert [region.tag for region in renamed.regions] == ["sea"]


@pytest.fixture(scope="module")
def drawn(tmp_path_factory):
    return open_album(draw_album(tmp_path_factory.mktemp("levels") / "album", 30, seed=2, size=(80, 60)))


QUICK = {"n_words": 20, "n_patches": 60, "restarts": 1}


@pytest.fixture(scope="module")
def quick(drawn):
    return Describer.paper(**QUICK).fit(drawn)


def trained(album, quick):
    return train(album, quick, ContextEMM(tol=0.1, random_state=0)).annotator


def scores(annotator, bags):
    return dict(zip(annotator.model.tag_names_, annotator.judge(bags)[0].T, strict=True))


def test_a_pure_renaming_changes_no_score(drawn, quick):
    album = drawn.keep_tags(6)
    tags = sorted(album.tag_counts())
    first = trained(album, quick)
    bags = quick.transform(album).bags
    expected = scores(first, bags)
    same_order = {tag: f"x {n:03}" for n, tag in enumerate(tags)}
    other_order = {tag: f"名 {997 - 31 * n:03}" for n, tag in enumerate(tags)}
    # in the same order the same bits; in another one iterations end within their tolerance of each other
    for names, tolerance in ((same_order, 0.0), (other_order, 1e-5)):
        found = scores(trained(album.renamed(names), quick), bags)
        for tag in tags:
            np.testing.assert_allclose(found[names[tag]], expected[tag], rtol=0, atol=tolerance)


def test_levels_survive_training_a_file_and_annotation(drawn, quick, tmp_path):
    frequent = list(drawn.tag_counts())[5:8]
    album = drawn.keep_tags(6).renamed({tag: f"Scenes|{tag}" for tag in frequent})
    annotator = trained(album, quick)
    assert annotator.implied == ("Scenes",)
    column = annotator.model.tag_names_.index("Scenes")
    truth = [any(tag.startswith("Scenes|") for tag in item.tags) for item in album]
    bags = train(album, quick, ContextEMM(tol=0.1, random_state=0)).bags
    assert bags.captions[:, [column]].toarray().ravel().tolist() == truth
    annotator.save(tmp_path / "m.tagmix")
    loaded = tagmix.load(tmp_path / "m.tagmix")
    assert loaded.implied == ("Scenes",)
    photos = [item.image for item in album][:8]
    for one in loaded.annotate(photos, k=50):
        assert "Scenes" not in [guess.tag for guess in one.tags]
        assert all(tag != "Scenes" for region in one.regions for tag, _ in region.tags)
    for one in loaded.annotate(photos, k=50, parents=True):
        p = {guess.tag: guess.probability for guess in one.tags}
        assert p["Scenes"] >= max(p[tag] for tag in p if tag.startswith("Scenes|"))


def test_a_file_with_implied_tags_that_are_none_is_refused(drawn, quick, tmp_path):
    annotator = trained(drawn.keep_tags(6), quick)
    for lie in ([99], ["sea"], [True], "sea", {"a": 1}):
        kind, fields, arrays = annotator_files.pack(annotator.describer, annotator.model)
        storage.write(tmp_path / "m.tagmix", kind, fields | {"implied": lie}, arrays)
        with pytest.raises(ModelFileError):
            tagmix.load(tmp_path / "m.tagmix")


def test_a_sidecar_turns_the_pixels_that_are_described(drawn, quick, tmp_path):
    source = drawn[0].image
    plain, turned, whole = (tmp_path / f"{name}.png" for name in ("plain", "turned", "whole"))
    with Image.open(source) as image:
        image.convert("RGB").save(plain)
        image.convert("RGB").transpose(Image.Transpose.ROTATE_270).save(whole)
    shutil.copy(plain, turned)
    (tmp_path / "turned.png.xmp").write_text(xmp(orientation=6))
    annotator = trained(drawn.keep_tags(6), quick)
    expected, found, other = annotator.annotate([whole, turned, plain], k=3)
    assert [region.area for region in found.regions] == pytest.approx([r.area for r in expected.regions])
    assert [region.box for region in found.regions] == [region.box for region in expected.regions]
    assert [region.box for region in found.regions] != [region.box for region in other.regions]
    item = Item(turned, ("sea",))
    (seen,) = quick.describe([item.source])
    assert np.array_equal(seen.boxes, quick.describe([whole])[0].boxes)
    (tmp_path / "turned.png.xmp").write_text(xmp(orientation=1))
    assert np.array_equal(quick.describe([Item(turned).source])[0].boxes, quick.describe([plain])[0].boxes)
