"""Bags with planted tags, cut into parts and kept in files as the experiments read them."""

import numpy as np
import pytest

from tagmix import Bags, planted_topics, sample_bags
from tagmix.comparison.parts import DataPart, DataSet, save_parts
from tests.comparison.painted import album_of

ALL = ("sift", "colour", "place")


def planted(n, *, n_tags=6, n_words=30, n_regions=3, views=("sift",), seed=0):
    """Return bags whose words tell their tags, shared out among the views, and the tag of each region."""
    rng = np.random.default_rng(seed)
    topics = planted_topics(n_tags, n_words, 0.2, rng)
    sample = sample_bags(topics, n, n_regions=n_regions, words_per_region=20, rng=rng)
    words = sample.bags.views["words"]
    cut = {view: words[:, i :: len(views)] for i, view in enumerate(views)}
    names = [f"tag {i}" for i in range(n_tags)]
    ids = [f"{i}.jpg" for i in range(n)]
    return Bags(cut, sample.bags.offsets, tags=sample.bags.tags, tag_names=names, ids=ids), sample.region_tags


def planted_part(n_train=60, n_test=40, *, known=True, **how):
    """Return a part whose test regions have the tag that they were drawn from."""
    bags, z = planted(n_train + n_test, **how)
    truth = z[bags.offsets[n_train] :] if known else np.full(bags[n_train:].n_regions, -1)
    return DataPart(bags[:n_train], bags[n_train:], truth)


def with_captions_of_others(bags, seed=0):
    """Return the same pictures, each with the caption of another."""
    order = np.random.default_rng(seed).permutation(len(bags))
    return bags.with_tags(bags.captions[order], bags.tag_names)


def data_set(
    name="album", views=ALL, n_parts=1, n_train=4500, n_tags=374, knows_regions=False, repeated=False
):
    return DataSet(name, views, n_parts, n_train, n_tags, knows_regions, (), repeated)


@pytest.fixture(scope="session")
def part():
    return planted_part()


@pytest.fixture
def home(tmp_path):
    """A folder with one prepared data set, "planted", of two parts."""
    parts = [planted_part(30, 12, seed=seed) for seed in (0, 1)]
    save_parts(tmp_path / "data", "planted", parts, "mark", [])
    return tmp_path


@pytest.fixture
def album(tmp_path):
    """Twelve painted pictures with masks, nine to learn from and three to test on."""
    return album_of(tmp_path, split=True)
