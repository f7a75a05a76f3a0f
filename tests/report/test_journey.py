"""Annotations of several photos, files, the journey's split, and scores by hand."""

import numpy as np
import pytest

from tagmix import EMM, Annotator, ContextEMM, Describer, load
from tagmix.annotate import Training, train
from tagmix.comparison.region_truth import see
from tagmix.datasets import Item, open_album
from tagmix.datasets.scenes import draw_album
from tagmix.evaluation.metrics import top_k_accuracy
from tagmix.images.picture import sample_picture
from tagmix.report import tag_patches
from tagmix.report.album_demo import run_demo
from tagmix.report.album_results import curves_of, described_test, scores_of

QUICK = {"n_words": 30, "n_colours": 8, "n_patches": 100, "restarts": 1, "places": True}


@pytest.fixture(scope="module")
def album(tmp_path_factory):
    return open_album(draw_album(tmp_path_factory.mktemp("drawn"), 40, seed=5, size=(96, 72)))


@pytest.fixture(scope="module")
def training(album) -> Training:
    describer = Describer.paper(**QUICK, max_side=90, seed=3, largest_patch=0.25)
    return train(album.split("train").keep_tags(4), describer, ContextEMM(evidence=0.1))


def test_regions_of_every_photo_carry_their_own_tags_and_shares(album, training):
    annotator = training.annotator
    found = list(annotator.annotate([item.image for item in album[:4]], region_k=2))
    regions = [region for annotation in found for region in annotation.regions]
    shares = annotator.model.predict_regions(annotator.describer.transform(album[:4]).bags)
    for region, row in zip(regions, shares, strict=True):
        best = np.argsort(-row, kind="stable")[:2]
        assert [tag for tag, _ in region.tags] == [annotator.model.tag_names_[c] for c in best]
        np.testing.assert_allclose([share for _, share in region.tags], row[best])


def test_an_annotator_from_a_file_has_the_same_settings(training, tmp_path):
    training.annotator.save(tmp_path / "a.tagmix")
    assert load(tmp_path / "a.tagmix").describer.config == training.annotator.describer.config


def test_without_calibration_tags_above_their_part_are_shown(album):
    with pytest.warns(UserWarning, match="calibration"):
        annotator = train(album[:8].keep_tags(2), Describer.paper(**QUICK), EMM(evidence=0.1)).annotator
    n_tags = len(annotator.model.tag_names_)
    (annotation,) = annotator.annotate([album[0].image], k=n_tags)
    assert [guess.shown for guess in annotation.tags] == [g.probability > 1 / n_tags for g in annotation.tags]
    assert not all(guess.shown for guess in annotation.tags)


def test_the_journey_never_learns_from_the_test_part(album, monkeypatch):
    looked_at: set[str] = set()
    fit, learn = ContextEMM.fit, Describer.fit
    monkeypatch.setattr(
        ContextEMM, "fit", lambda s, X, *a, **k: looked_at.update(X.ids) or fit(s, X, *a, **k)
    )
    monkeypatch.setattr(
        Describer,
        "fit",
        lambda s, part, **how: looked_at.update(str(i.image) for i in part) or learn(s, part, **how),
    )
    run_demo(
        "t", album, Describer(**QUICK, network=None), ContextEMM(evidence=0.1), lambda *_: None, n_cases=2
    )
    assert looked_at == {str(item.image) for item in album.split("train")}


def test_frequency_is_counted_on_the_training_part_and_captions_are_used_where_given(album, training):
    held = described_test(training.annotator, album.split("test"))
    names = training.bags.tag_names
    rare = [held.bags.captions.sum(axis=0).argsort()[:5].tolist()] * len(training.bags)
    other = training._replace(bags=training.bags.with_tags([[names[c] for c in row] for row in rare], names))
    counts = other.bags.captions.toarray().sum(axis=0)
    expected = top_k_accuracy(held.bags.captions, np.tile(counts, (len(held.bags), 1)), 5)
    scores = scores_of(other, held)
    assert scores["tag frequency"].top_k == curves_of(other, held)["tag frequency"][4] == expected
    own = training.annotator.model.top_region_tags(held.bags, captioned=True)[:, 0]
    assert scores["tagmix"].captioned == (own == held.truth)[held.truth >= 0].mean()


def test_the_loudest_patches_are_shown_loudest_first(tmp_path, training, monkeypatch):
    image = np.zeros((20, 30, 3), np.uint8)
    image[4:8, 10:14] = 200
    image[12:16, 2:6] = 90
    boxes = [(20, 12, 4), (10, 4, 4), (2, 12, 4)]
    volume = {"a": [0.0, 5.0, 1.0], "b": [0.0, 1.0, 9.0], "c": [99.0, 0.0, 0.0]}
    monkeypatch.setattr(
        tag_patches,
        "_gains",
        lambda _, path, columns: (image, boxes, [np.array(volume[path.name])] * len(columns)),
    )
    tag = training.annotator.model.tag_names_[0]
    items = [Item(tmp_path / "a", (tag,)), Item(tmp_path / "b", (tag,)), Item(tmp_path / "c", ())]
    found = tag_patches.patches_of(training.annotator, items, [tag])
    assert [int(patch.max()) for patch in found[tag]] == [90, 200]
    assert [int(patch.min()) for patch in found[tag]] == [90, 200]


def test_a_patch_is_as_loud_as_its_words_and_those_of_its_mirror_image(album, training):
    annotator = training.annotator
    describer = Describer.paper(**QUICK, max_side=90, seed=3, largest_patch=0.25, mirrored=True, nearest=2)
    describer.vocabularies_ = annotator.describer.vocabularies_
    _, boxes, (loudness,) = tag_patches._gains(Annotator(describer, annotator.model), album[0].image, [0])
    words = describer.describe([album[0].image])[0].arrays
    sides = sample_picture(album[0].image.read_bytes(), describer.config).patches[:, 2]
    large = np.flatnonzero(sides >= 12)
    assert len(boxes) == len(loudness) == len(large) > 5
    log = {view: words.E_log_beta for view, words in annotator.model.regions_.instances.items()}
    for i, total in zip(large, loudness, strict=True):
        added = [("sift", words["sift"][100 * n + i]) for n in range(4)] + [("colour", words["colour"][i])]
        nats = sum(log[view][0, word] - log[view][:, word].mean() for view, word in added)
        assert total == pytest.approx(0.1 * nats)


def test_a_regions_box_and_area_are_those_of_its_pixels(album, training):
    (annotation,) = training.annotator.annotate([album[0].image])
    labels = see(album[0].image, training.annotator.describer.config).labels
    height, width = labels.shape
    for k, region in enumerate(annotation.regions):
        y, x = np.nonzero(labels == k)
        sides = (np.ptp(x) + 1) / width, (np.ptp(y) + 1) / height
        np.testing.assert_allclose(region.box, [x.min() / width, y.min() / height, *sides], atol=1e-6)
        assert region.area == pytest.approx(len(x) / labels.size)
