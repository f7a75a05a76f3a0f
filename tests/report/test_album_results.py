"""What is measured on held-out pictures: scores by hand, truth of regions, and patches of words."""

import numpy as np
import pytest
from PIL import Image

from tagmix import EMM, Bags, Describer
from tagmix.annotate import train
from tagmix.comparison.region_truth import Seen, region_tags, see, visible_tags
from tagmix.datasets import Album, Item, open_album
from tagmix.datasets.items import TrueRegion
from tagmix.datasets.scenes import draw_album
from tagmix.images.picture import Sampling
from tagmix.report import album_results
from tagmix.report.album_results import EvaluationSet, cases_of, curves_of, described_test, scores_of
from tagmix.report.tag_patches import SIDE, patches_of


@pytest.fixture(scope="module")
def journey(tmp_path_factory):
    album = open_album(draw_album(tmp_path_factory.mktemp("drawn"), 60, seed=5, size=(96, 72), n_jobs=2))
    describer = Describer.paper(n_words=40, n_colours=8, n_patches=150, restarts=1, places=True)
    training = train(album.split("train").keep_tags(3), describer, EMM(calibration_folds=2, evidence=0.3))
    test = album.split("test")
    return album, training, described_test(training.annotator, test)


@pytest.mark.parametrize(("width", "named"), [(4, "sea"), (3, "")])
def test_a_region_is_named_by_most_of_its_pixels_and_those_nobody_named_count(tmp_path, width, named):
    Image.new("RGB", (10, 4)).save(tmp_path / "a.png")
    regions = (TrueRegion("sky", box=(0, 0, 10, 2)), TrueRegion("sea", box=(0, 2, width, 2)))
    item = Item(tmp_path / "a.png", ("sky",), regions=regions, id="a.png")
    album = Album((item,), tmp_path)
    labels = np.zeros((4, 10), np.int32)
    labels[2:] = 1  # of 15 pixels, two rows of sea: 8 or 6
    labels[3, 5:] = 2
    seen = Seen(np.zeros((4, 10, 3), np.uint8), labels)
    assert region_tags(album, item, seen) == ["sky", named, ""]
    assert sorted(visible_tags(album, item, seen)) == ["sea", "sky"]


def test_pictures_are_seen_as_they_were_described(journey):
    _, training, held = journey
    config = training.annotator.describer.config
    regions = [int(see(item.image, config).labels.max()) + 1 for item in held.items]
    assert regions == np.diff(held.bags.offsets).tolist()
    assert len(held.truth) == held.bags.n_regions


def test_held_out_captions_have_the_models_columns(journey):
    _, training, held = journey
    assert held.bags.tag_names == training.annotator.model.tag_names_
    known = set(held.bags.tag_names)
    for item, row in zip(held.items, held.bags.captions.toarray(), strict=True):
        assert {held.bags.tag_names[c] for c in np.flatnonzero(row)} == set(item.tags) & known


def test_chance_and_frequency_are_what_they_say_by_hand():
    tags = np.array([[1, 1, 0, 0, 0, 0], [1, 0, 0, 0, 0, 0]])
    bags = Bags(np.ones((3, 2), int), [0, 2, 3], tags=tags)
    truth = np.array([0, 1, -1])
    assert album_results._chance(bags, truth) == (1 / 6, 0.5)
    assert album_results._frequent_of_caption(bags, np.array([1.0, 5, 9, 0, 0, 0])).tolist() == [1, 1, 0]
    assert album_results._right(np.array([0, 0, 0]), truth) == 0.5
    assert album_results._right(np.array([0, 0, 0]), np.full(3, -1)) is None


def test_five_tags_drawn_blindly_score_what_many_draws_score_on_average():
    rng = np.random.default_rng(0)
    truth = (rng.random((30, 12)) < 0.3).astype(int)
    drawn = [album_results.top_k_accuracy(truth, rng.random(truth.shape), 5) for _ in range(400)]
    assert album_results._random_top_k(truth, 5) == pytest.approx(np.mean(drawn), abs=0.005)


def test_scores_stand_between_chance_and_ceiling_and_agree_with_the_curve(journey):
    _, training, held = journey
    scores, curves = scores_of(training, held), curves_of(training, held)
    assert scores["chance"].top_k < scores["tag frequency"].top_k < scores["ceiling"].top_k
    assert scores["tagmix"].top_k <= scores["ceiling"].top_k
    for name in ("tagmix", "tag frequency", "ceiling"):
        assert curves[name][4] == scores[name].top_k
    assert scores["tagmix"].free > scores["chance"].free


def test_scores_of_wrong_captions_fall(journey):
    """The score must come from the pictures: with captions of other pictures it is no better than blind."""
    _, training, held = journey
    order = np.roll(np.arange(len(held.bags)), 3)
    mixed = EvaluationSet(
        held.items, held.bags.with_tags(held.bags.captions[order], held.bags.tag_names), held.truth
    )
    assert scores_of(training, mixed)["tagmix"].top_k < scores_of(training, held)["tagmix"].top_k


def test_cases_join_what_was_found_with_what_is_true(journey):
    album, training, held = journey
    cases = cases_of(training.annotator, album, held.items[:3])
    for case, item in zip(cases, held.items, strict=False):
        assert case.annotation.source == item.image
        assert case.image.shape[:2] == case.labels.shape
        assert len(case.truth) == len(case.annotation.regions) == case.labels.max() + 1
        assert {tag for tag in case.truth if tag} <= {*case.visible}


def test_the_looks_of_a_tag_are_patches_of_pictures_that_carry_it(journey):
    album, training, _ = journey
    train_part = album.split("train")
    tag = next(iter(train_part.tag_counts()))
    looks = patches_of(training.annotator, list(train_part)[:10], [tag], n_patches=4)
    carrying = sum(tag in item.tags for item in list(train_part)[:10])
    assert len(looks[tag]) == min(4, carrying)
    assert all(patch.shape == (SIDE, SIDE, 3) for patch in looks[tag])


def test_broken_pictures_are_left_out_of_looks(journey, tmp_path):
    _, training, _ = journey
    (tmp_path / "broken.jpg").write_bytes(b"none")
    tag = training.annotator.model.tag_names_[0]
    assert patches_of(training.annotator, [Item(tmp_path / "broken.jpg", (tag,))], [tag]) == {tag: []}


def test_seeing_follows_the_sampling(journey):
    _, _, held = journey
    assert see(held.items[0].image, Sampling(max_side=40)).image.shape[1] == 40
