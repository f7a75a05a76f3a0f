"""What a catalogue teaches an album: names, tags above, verdicts of humans, and nothing of a machine."""

import numpy as np
import pytest

from tagmix.bags import Bags
from tagmix.datasets import Album, Item
from tagmix.library.teaching import taught, with_rejected
from tests.library.shelves import Shelf


@pytest.fixture
def shelf(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    return Shelf(tmp_path / "photos")


def lesson(shelf, **tags):
    """Return the tags of photos with these keywords in their files, after the catalogue is heard."""
    items = tuple(
        Item(shelf.root / f"{name}.png", tuple(own), id=f"{name}.png") for name, own in tags.items()
    )
    found = taught(Album(items, shelf.root), shelf.catalogue)
    return found, {item.id.removesuffix(".png"): set(item.tags) for item in found.album}


def test_tags_of_files_get_the_names_that_they_have_in_the_catalogue(shelf):
    shelf.photo("a.png", metadata=["boats", "Orte|Rom"])
    shelf.catalogue.tags.rename("Orte", "Places")
    shelf.photo("b.png", metadata=["boat"])
    shelf.catalogue.tags.merge("boats", "boat")
    shelf.catalogue.tags.add_synonym("Kahn", "boat")
    found, tags = lesson(shelf, a=["boats", "Orte|Rom"], b=["boat", "Kahn"], new=["Kahn", "sky"])
    assert tags == {"a": {"boat", "Places|Rom"}, "b": {"boat"}, "new": {"boat", "sky"}}
    assert (found.photos, found.renamed) == (2, 3)


def test_tags_above_are_added_but_for_levels_of_names(shelf):
    shelf.photo("a.png", metadata=["canoe"])
    shelf.catalogue.tags.put_below("canoe", "Things|boat")
    shelf.catalogue.tags.put_below("Things|boat", "vehicle")
    assert lesson(shelf, a=["canoe"])[1] == {"a": {"canoe", "Things|boat", "vehicle"}}


def test_what_a_human_says_counts_and_what_a_machine_alone_says_does_not(shelf):
    photo = shelf.photo("a.png", human=["sea"], metadata=["sky"], denied=["boat", "sky"])
    other = shelf.photo("b.png", metadata=["sky"])
    shelf.guess({photo: {"moon": 0.99, "sea": 0.99}, other: {"sea": 0.99}})
    found, tags = lesson(shelf, a=["sky", "boat"], b=["sky"])
    assert tags == {"a": {"sea"}, "b": {"sky"}}
    assert found.rejected == {shelf.root / "a.png": {"boat", "sky"}}
    assert found.confirmed == 1


def test_a_denied_tag_is_not_added_as_one_above_and_brings_none(shelf):
    shelf.photo("a.png", metadata=["canoe"], denied=["vehicle"])
    shelf.catalogue.tags.put_below("canoe", "vehicle")
    shelf.photo("b.png", denied=["canoe"])
    assert lesson(shelf, a=["canoe"], b=["canoe"])[1] == {"a": {"canoe"}, "b": set()}


def test_bags_reject_what_was_denied_and_the_tags_below_it(tmp_path):
    images = [tmp_path / "a", tmp_path / "b"]
    bags = Bags(
        {"words": np.ones((2, 3), int)}, [0, 1, 2], [["sky"], ["Places|Rome"]], ids=list(map(str, images))
    )
    denied = {images[0]: frozenset({"Places", "unknown"}), images[1]: frozenset({"Places"})}
    found = with_rejected(bags, images, denied)
    assert bags.tag_names == found.tag_names == ("Places|Rome", "sky")
    assert found.rejected.toarray().tolist() == [[1, 0], [0, 0]]
    assert with_rejected(bags, images, {}) is bags
