"""ContextEMM in an open world: regions that show none of the tags, and captions that are incomplete."""

import numpy as np
import pytest
from scipy.special import log_expit

import tagmix
from tagmix import ContextEMM, ModelFileError, storage
from tagmix.evaluation.regions import NONE, region_accuracy

N_TAGS, TRAIN = 8, 200
HOW = {"evidence": 0.3, "tol": 1e-3}


@pytest.fixture(scope="module")
def opened(sampled):
    """Pictures half of whose regions show none of the tags: to train, to test, and the tags of the latter."""
    return planted(sampled, 0.5)


def planted(sampled, background, **how):
    n_tags = N_TAGS + (background > 0)
    own = {"n_tags": n_tags, "n_words": 80, "overlap": 0.7, "n_regions": 5, "background": background, **how}
    sample = sampled(TRAIN + 60, **own)
    truth = sample.region_tags[sample.bags.offsets[TRAIN] :]
    return sample.bags[:TRAIN], sample.bags[TRAIN:], np.where(truth == -1, NONE, truth)


@pytest.fixture(scope="module")
def fitted(opened):
    return ContextEMM(**HOW).fit(opened[0])


def right(model, test, truth, captioned=False):
    """Return the share of regions whose tag, or none, is right."""
    return region_accuracy(truth, model.predict_regions(test, captioned))


def test_regions_that_show_none_of_the_tags_are_found(opened, fitted):
    train, test, truth = opened
    closed = ContextEMM(**HOW, background=False).fit(train)
    always_none = (truth == NONE).mean()
    assert fitted.regions_.background
    for captioned in (False, True):
        assert right(fitted, test, truth, captioned) > always_none + 0.35
        assert right(closed, test, truth, captioned) < always_none + 0.1
    best = fitted.top_region_tags(test)[:, 0]
    assert (best[truth == NONE] == -1).mean() > 0.9
    assert right(fitted, test, truth, captioned=True) > right(fitted, test, truth)


def test_the_context_of_an_explanation_is_that_of_the_tags_without_the_background(opened, fitted):
    test = opened[1][:3]
    log_prior = log_expit(fitted.prior_.logits(test))
    for c in (0, 3):
        told = [why.context for why in fitted.explain(test, fitted.tag_names_[c])]
        np.testing.assert_allclose(told, log_prior[:, c] - log_prior.mean(axis=1), rtol=1e-9)


def test_with_shuffled_captions_they_are_named_no_better_than_none(opened):
    train, test, truth = opened
    shuffled = train.with_tags(train.captions[np.random.default_rng(0).permutation(TRAIN)], train.tag_names)
    assert right(ContextEMM(**HOW).fit(shuffled), test, truth) < (truth == NONE).mean() + 0.1


def test_where_every_region_shows_a_tag_fit_finds_that_there_is_no_background(sampled):
    train, test, truth = planted(sampled, 0.0)
    model = ContextEMM(**HOW).fit(train)
    without = ContextEMM(**HOW, background=False).fit(train)
    assert not model.regions_.background
    np.testing.assert_array_equal(model.predict_regions(test), without.predict_regions(test))
    np.testing.assert_allclose(model.predict_regions(test).sum(axis=1), 1.0, rtol=1e-9)
    assert right(model, test, truth) > 0.85


@pytest.fixture(scope="module")
def from_half(opened):
    """Fitted after half of the tags of the training pictures were lost."""
    train = opened[0]
    kept = train.captions.toarray() * (np.random.default_rng(9).random((TRAIN, N_TAGS)) < 0.5)
    return ContextEMM(**HOW).fit(train.with_tags(kept, train.tag_names))


def test_half_of_the_training_tags_can_be_missing_and_the_odds_of_tags_outside_captions_tell(
    opened, fitted, from_half
):
    _, test, truth = opened
    assert right(from_half, test, truth) > right(fitted, test, truth) - 0.15
    assert right(from_half, test, truth) > (truth == NONE).mean() + 0.25
    complete, incomplete = fitted.regions_.odds, from_half.regions_.odds
    assert incomplete.outside / incomplete.inside > 10 * complete.outside / complete.inside


def test_rows_sum_to_at_most_1_and_the_rest_is_the_share_of_none(opened, fitted):
    _, test, truth = opened
    for captioned in (False, True):
        rest = 1 - fitted.predict_regions(test, captioned).sum(axis=1)
        assert rest.min() > -1e-9
        assert rest[truth == NONE].mean() > rest[truth != NONE].mean() + 0.5


def test_a_region_can_show_a_tag_that_its_caption_lacks(opened, fitted, from_half):
    _, test, truth = opened
    region_of = np.repeat(np.arange(len(test)), np.diff(test.offsets))
    captions = test.captions.toarray()
    lost, places = [], []
    for n in range(len(test)):  # the caption loses the tag of the picture's first region that has one
        own = np.flatnonzero((region_of == n) & (truth >= 0))
        if captions[n].sum() > 1:
            captions[n, truth[own[0]]] = 0
            lost += [truth[own[0]]] * (truth[own] == truth[own[0]]).sum()
            places += list(own[truth[own] == truth[own[0]]])
    assert len(places) > 40
    bags, named = test.with_tags(captions, test.tag_names), []
    for model in (fitted, from_half):  # complete captions in training leave it unlikely
        named.append((model.predict_regions(bags, captioned=True)[places].argmax(axis=1) == lost).mean())
    assert named[1] > max(0.7, named[0] + 0.1)
    rejected = test.with_tags(captions, test.tag_names, rejected=test.captions.toarray() - captions)
    assert fitted.predict_regions(rejected, captioned=True)[places, lost].max() == 0.0


def test_a_tag_of_the_caption_need_not_have_a_region(opened, fitted):
    _, test, _ = opened
    truly = test.captions.toarray()
    more = truly.copy()
    wrong = np.array([np.flatnonzero(row == 0)[0] if (row == 0).any() else -1 for row in truly])
    some = np.flatnonzero(wrong >= 0)
    more[some, wrong[some]] = 1
    best = fitted.top_region_tags(test.with_tags(more, test.tag_names), captioned=True)[:, 0].reshape(-1, 5)
    assert (best[some] == wrong[some, None]).any(axis=1).mean() < 0.2


@pytest.mark.parametrize(("kind", "named"), [("unknown", True), ("rejected", False)])
def test_an_unknown_tag_may_have_a_region_and_a_rejected_one_may_not(opened, fitted, kind, named):
    _, test, truth = opened
    tags = test.captions.toarray()
    tags[:, 0], hidden = 1, tags * (np.arange(N_TAGS) > 0)
    bags = test.with_tags(tags - hidden, test.tag_names, **{kind: hidden})
    phi = fitted.predict_regions(bags, captioned=True)
    shown = truth > 0
    found = (phi[shown].argmax(axis=1) == truth[shown]) & (phi[shown].max(axis=1) > 0)
    assert found.mean() > 0.5 if named else not found.any()


def test_a_picture_with_an_empty_caption_is_explained_as_without_one(opened, fitted):
    part = opened[1][:10]
    empty = part.with_tags(np.zeros((10, N_TAGS), int), part.tag_names)
    np.testing.assert_array_equal(fitted.predict_regions(empty, True), fitted.predict_regions(part))


def test_tags_of_pictures_do_not_depend_on_the_background(opened, fitted):
    train, test, _ = opened
    closed = ContextEMM(**HOW, background=False).fit(train)
    np.testing.assert_array_equal(closed.predict_marginals(test), fitted.predict_marginals(test))


def test_one_pass_gives_what_two_give(opened, fitted):
    _, test, _ = opened
    marginals, regions = fitted.predict_both(test)
    np.testing.assert_array_equal(marginals, fitted.predict_marginals(test))
    np.testing.assert_array_equal(regions, fitted.predict_regions(test))


def test_a_model_with_a_background_comes_back_from_its_file_bit_for_bit(opened, fitted, tmp_path):
    _, test, _ = opened
    fitted.save(tmp_path / "m.tagmix")
    back = tagmix.load(tmp_path / "m.tagmix")
    assert (back.regions_.background, back.regions_.odds) == (True, fitted.regions_.odds)
    for captioned in (False, True):
        expected = fitted.predict_regions(test, captioned)
        np.testing.assert_array_equal(back.predict_regions(test, captioned), expected)
    np.testing.assert_array_equal(back.set_params(n_jobs=2).predict_regions(test, True), expected)


@pytest.mark.parametrize(
    "lie", [{"background": False}, {"n_tags": N_TAGS}, {"n_tags": N_TAGS, "background": False}]
)
def test_a_file_that_lies_about_its_background_is_refused_in_one_line(fitted, tmp_path, lie):
    path = tmp_path / "m.tagmix"
    fitted.save(path)
    found = storage.read(path)
    found.fields["learnt"]["regions_"]["fields"].update(lie)
    storage.write(path, found.kind, found.fields, found.arrays)
    with pytest.raises(ModelFileError) as caught:
        tagmix.load(path)
    assert "\n" not in str(caught.value)
