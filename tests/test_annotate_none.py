"""Regions that are none of the tags are said to be so, wherever regions are shown."""

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from tagmix import Annotator, Bags, ContextEMM, Describer
from tagmix.annotate import Annotation, Training, train
from tagmix.cli import run
from tagmix.comparison.terms import ranks_of
from tagmix.datasets import Album, open_album
from tagmix.datasets.scenes import draw_album
from tagmix.learners.base import none_shares
from tagmix.learners.mixture import Explained
from tagmix.report import planted
from tagmix.report.album_page import NONE, case_card
from tagmix.report.album_results import cases_of, described_test, scores_of

QUICK = {"n_words": 30, "n_colours": 8, "n_patches": 100, "restarts": 1}


class Doubting(ContextEMM):
    """A model by which every other region is mostly none of the tags."""

    def _explain(self, bags: Bags) -> Iterator[Explained]:
        for part in super()._explain(bags):
            part.phi[::2] *= 0.2
            yield part


@pytest.fixture(scope="module")
def album(tmp_path_factory: pytest.TempPathFactory) -> Album:
    return open_album(draw_album(tmp_path_factory.mktemp("drawn"), 40, seed=5, size=(96, 72)))


@pytest.fixture(scope="module")
def training(album: Album) -> Training:
    """A trained model that doubts from then on."""
    found = train(album.keep_tags(4), Describer.paper(**QUICK), ContextEMM(evidence=0.1, background=False))
    found.annotator.model.__class__ = Doubting
    return found


@pytest.fixture(scope="module")
def annotation(album: Album, training: Training) -> Annotation:
    (found,) = training.annotator.annotate([album[0].image], region_k=3)
    assert isinstance(found, Annotation)
    return found


def test_a_region_that_is_mostly_none_has_no_tags_and_says_by_what_share(annotation: Annotation) -> None:
    doubted, sure = annotation.regions[::2], annotation.regions[1::2]
    assert [region.tags for region in doubted] == [()] * len(doubted)
    assert [region.none for region in doubted] == pytest.approx([0.8] * len(doubted))
    assert all(len(region.tags) == 3 and region.none == 0 for region in sure)


def test_regions_of_several_photos_have_their_own_tags_and_shares(
    album: Album, training: Training, monkeypatch: pytest.MonkeyPatch
) -> None:
    def growing(self: ContextEMM, bags: Bags) -> Iterator[Explained]:
        for part in ContextEMM._explain(self, bags):
            part.phi[:] *= np.linspace(0.1, 0.9, len(part.phi))[:, None]
            yield part

    monkeypatch.setattr(Doubting, "_explain", growing)
    model = training.annotator.model
    bags = training.annotator.describer.transform(album[:3]).bags
    shares, best = model.predict_regions(bags), model.top_region_tags(bags, k=2)
    found = training.annotator.annotate([item.image for item in album[:3]], region_k=2)
    regions = [region for one in found for region in one.regions]  # type: ignore[union-attr]
    assert len(regions) == bags.n_regions > bags.offsets[2] > bags.offsets[1] > 1
    assert [region.none for region in regions] == pytest.approx(none_shares(shares).tolist())
    for region, own, row in zip(regions, best, shares, strict=True):
        assert [tag for tag, _ in region.tags] == [model.tag_names_[c] for c in own if c >= 0]
        assert [share for _, share in region.tags] == pytest.approx([row[c] for c in own if c >= 0])


def test_the_best_tag_may_hold_less_than_half_of_a_region_that_is_not_none(
    album: Album, training: Training, monkeypatch: pytest.MonkeyPatch
) -> None:
    def divided(self: ContextEMM, bags: Bags) -> Iterator[Explained]:
        for part in ContextEMM._explain(self, bags):
            part.phi[:] = 0.0
            part.phi[:, :2] = 0.45, 0.15
            yield part

    monkeypatch.setattr(Doubting, "_explain", divided)
    (found,) = training.annotator.annotate([album[0].image], region_k=1)
    assert isinstance(found, Annotation)
    first = training.annotator.model.tag_names_[0]
    assert {region.tags for region in found.regions} == {((first, 0.45),)}
    assert {round(region.none, 9) for region in found.regions} == {0.4}


def test_rows_of_minus_one_are_the_regions_that_are_none(album: Album, training: Training) -> None:
    annotator = training.annotator
    bags = annotator.describer.transform(album[:4]).bags
    best, shares = annotator.model.top_region_tags(bags, k=2), annotator.model.predict_regions(bags)
    none = none_shares(shares)
    np.testing.assert_array_equal((best == -1).all(axis=1), none > shares.max(axis=1))
    assert (best == -1).any(axis=1).sum() == (best == -1).all(axis=1).sum() > 10
    np.testing.assert_allclose(none[::2], 0.8)
    np.testing.assert_array_equal(none[1::2], 0.0)


def test_captions_still_place_tags_in_regions_that_are_none_without_them(
    album: Album, training: Training
) -> None:
    bags = training.annotator.describer.transform(album[:4].keep_tags(1)).bags
    known = training.annotator.model.tag_names_
    captions = [[tag for tag in item.tags if tag in known] for item in album[:4]]
    captioned = training.annotator.model.predict_regions(bags.with_tags(captions, known), captioned=True)
    np.testing.assert_allclose(captioned.sum(axis=1), 1)


def test_every_region_has_its_polygons(annotation: Annotation) -> None:
    for region in annotation.regions:
        ((outer, *_),) = region.polygons
        x, y = np.array(outer).T
        assert (min(x), min(y)) == pytest.approx(region.box[:2], abs=0.02)
        assert (max(x) - min(x), max(y) - min(y)) == pytest.approx(region.box[2:], abs=0.03)


def test_polygons_survive_the_cache(album: Album, training: Training, tmp_path: Path) -> None:
    photos = [item.image for item in album][:3]
    cached = training.annotator.with_(cache=tmp_path)
    first, again = list(cached.annotate(photos)), list(cached.annotate(photos))
    assert first == again == list(training.annotator.annotate(photos))


def test_json_and_text_name_regions_that_are_none(
    album: Album, training: Training, annotation: Annotation, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    plain = Annotator(training.annotator.describer, training.annotator.model)
    monkeypatch.setattr("tagmix.cli.annotate.open_annotator", lambda path: plain)
    ask = ["annotate", str(album[0].image), "-m", "x", "--regions", "--jobs", "1", "--no-cache"]
    assert run([*ask, "--json"]) == 0
    (line,) = capsys.readouterr().out.splitlines()
    found = json.loads(line)["regions"]
    assert [region["tags"] == [] for region in found] == [not region.tags for region in annotation.regions]
    assert [region["none"] for region in found] == [round(region.none, 4) for region in annotation.regions]
    for own, region in zip(found, annotation.regions, strict=True):
        ((ring, *_),) = own["polygons"]
        np.testing.assert_allclose(ring, region.polygons[0][0], atol=1e-4)
    assert run(ask) == 0
    _, *lines = capsys.readouterr().out.splitlines()
    n = sum(not region.tags for region in annotation.regions)
    tags = {region.tags[0][0] for region in annotation.regions if region.tags}
    assert sorted(line.split("   ")[-1].partition(" (")[0] for line in lines[:-1]) == sorted(tags)
    assert lines[-1].split() == [
        str(n), "regions", f"{sum(r.area for r in annotation.regions if not r.tags):.0%}",
        "of", "the", "photo", *NONE.split(),
    ]  # fmt: skip


def test_the_page_draws_regions_that_are_none_without_a_tag(album: Album, training: Training) -> None:
    (case,) = cases_of(training.annotator, album, [album[0]])
    card = case_card(case._replace(truth=()))
    titles = card.count(f"<title>{NONE} 0.80</title>")
    assert titles == sum(not region.tags for region in case.annotation.regions) > 1
    assert NONE in card.partition("Regions: ")[2].partition(".")[0]
    true = [case.truth[0] or "sky", *case.truth[1:]]
    wrong = case_card(case._replace(truth=true))
    assert f"{NONE} 0.80; true tag {true[0]}" in wrong


def test_a_region_with_a_true_tag_is_not_right_where_it_is_none(album: Album, training: Training) -> None:
    held = described_test(training.annotator, album[:6])
    known = held.truth >= 0
    doubted = np.arange(len(known)) % 2 == 0
    held = held._replace(truth=np.where(doubted, held.truth, -1))
    assert (held.truth >= 0).sum() > 5
    assert scores_of(training, held)["tagmix"].free == 0


def test_the_experiment_with_a_planted_truth_names_regions_that_are_none(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sizes = planted.Sizes(n_words=40, n_train=60)
    world = planted.draw(sizes, ["sky", "sea", "cow", "car"], 0.2, 0, 10)
    emm = planted.fit(world.train.bags, folds=2)
    monkeypatch.setattr(type(emm), "top_region_tags", lambda self, bags: np.full((bags.n_regions, 1), -1))
    (picture,) = planted.pictures_of(emm, world.test, 1)
    assert set(picture.found) == {NONE}
    assert set(picture.true) <= set(emm.tag_names_)


def test_none_ranks_before_smaller_shares_and_after_larger_ones() -> None:
    shares = np.array([[0.3, 0.1, 0.2], [0.5, 0.25, 0.125], [0.5, 0.25, 0.25]])
    assert ranks_of(shares, np.array([0, 0, 1])).tolist() == [2, 1, 2]
    assert ranks_of(shares, np.array([2, 1, 2])).tolist() == [3, 2, 3]
