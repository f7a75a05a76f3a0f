"""ExpectedTags: the kernel of expected tags, what it learns from, and where it may stand."""

import json

import numpy as np
import pytest
from scipy.special import expit

import tagmix
from tagmix import Bags, ContextEMM, ModelFileError, ParameterError, storage
from tagmix.evaluation.folds import grouped_folds
from tagmix.learners.context.expected import ExpectedTags, Training
from tagmix.learners.context.experts import experts_of
from tagmix.learners.context.prior import fit_experts, fit_prior
from tagmix.learners.logistic import cross_fitted, fit_tag_logistic
from tagmix.learners.regions.region_scorer import RegionScorer
from tagmix.learners.targets import targets_of

BOTH = ("kernel", "expected")
FIRST = "prior_.experts.1.first_pool_"


def kernel_of(a, b):
    """Return exp(−4 d / median d) of two matrices of √π₁, the median over pairs of the second."""
    own, apart = (((x[:, None] - b[None]) ** 2).sum(axis=2) / 2 for x in (b, a))
    return np.exp(-4 * apart / np.median(own[np.triu_indices(len(b), 1)]))


@pytest.fixture(scope="module")
def told(train):
    rng = np.random.default_rng(0)
    features = [train.captions.toarray() + rng.normal(size=(len(train), train.n_tags))]
    groups = np.arange(len(train))
    return Training(features, train, *targets_of(train), grouped_folds(groups, 3, 0), groups)


def test_scores_are_those_of_kernel_ridge_on_expected_tags(told):
    expert = ExpectedTags()
    expert.learn_from(told)
    inside = np.sqrt(expit(cross_fitted(told.features, told.y, told.folds)))
    new = [told.features[0][:7] + 0.5]
    outside = np.sqrt(expit(fit_tag_logistic(told.features, told.y).logits(new)))
    means = told.y.mean(axis=0)
    alpha = np.linalg.solve(kernel_of(inside, inside) + np.eye(len(inside)), told.y - means)
    expected = kernel_of(outside, inside) @ alpha + means
    np.testing.assert_allclose(expert.decision_scores(expert.bags_of(new)), expected, atol=1e-8)


def test_a_left_out_score_is_that_of_a_regression_without_the_picture(told):
    left_out = ExpectedTags().learn_from(told)
    inside = np.sqrt(expit(cross_fitted(told.features, told.y, told.folds)))
    kernel, shift = kernel_of(inside, inside), told.y.mean(axis=0)
    for one in (0, 17, 60):
        rest = np.delete(np.arange(len(inside)), one)
        means = told.y[rest].mean(axis=0)
        alpha = np.linalg.solve(kernel[np.ix_(rest, rest)] + np.eye(len(rest)), told.y[rest] - means)
        # The global mean is added in place of that of the others, a constant for all pictures.
        np.testing.assert_allclose(left_out[one] - shift, kernel[one, rest] @ alpha, atol=0.02)


def test_tags_that_follow_from_other_tags_are_found():
    """The third tag is set where one of the others is, and not where both are."""
    rng = np.random.default_rng(3)
    two = rng.random((400, 2)) < 0.5
    always = np.ones(400, dtype=bool)  # pictures without tags teach nothing
    tags = np.column_stack([two, two[:, 0] ^ two[:, 1], always]).astype(int)
    seen = 3.0 * two + rng.normal(size=(400, 2))
    groups = np.arange(300)
    bags = Bags({"none": np.ones((400, 1))}, np.arange(401), tags=tags)
    features = [np.column_stack([seen, np.zeros((400, 2))])]
    own = Training(
        [features[0][:300]], bags[:300], tags[:300].astype(float), None, grouped_folds(groups, 3, 0), groups
    )
    expert = ExpectedTags()
    left_out = expert.learn_from(own)
    new = expert.decision_scores(expert.bags_of([features[0][300:]]))
    for scores, truth in ((left_out, tags[:300]), (new, tags[300:])):
        assert ((scores[:, 2] > 0.5) == truth[:, 2]).mean() > 0.8


def test_the_prior_reads_what_the_expert_says_of_new_pictures(train, test):
    prior, of_training = fit_prior(fit_experts(BOTH, train, 0), RegionScorer(), train, 0)
    kernel, expected = prior.experts
    g, s = kernel.decision_scores(test), prior.scorer.decision_scores(test)
    first = [np.log(np.maximum(g, 1e-3)), g, s]
    e = expected.decision_scores(expected.bags_of(first))
    logits = prior.pool.logits([*first[:2], np.log(np.maximum(e, 1e-3)), e, s])
    np.testing.assert_array_equal(prior.logits(test), logits)
    assert len(of_training.features) == 5
    assert not np.array_equal(of_training.features[2], of_training.features[0])


def test_unknown_tags_do_not_enter(train):
    unknown = (np.random.default_rng(1).random(train.tags.shape) < 0.2) & (train.captions.toarray() == 0)
    own = train.with_tags(train.tags, train.tag_names, unknown=unknown)
    prior, _ = fit_prior(fit_experts(BOTH, own, 0), RegionScorer(), own, 0)
    told_no = fit_prior(fit_experts(BOTH, train, 0), RegionScorer(), train, 0)[0]
    np.testing.assert_allclose(
        prior.experts[1].means_, train.captions.sum(axis=0) / (len(train) - unknown.sum(axis=0)), rtol=1e-12
    )
    assert (prior.experts[1].means_ >= told_no.experts[1].means_).all()


@pytest.mark.parametrize(
    "context", ["expected", ["expected"], ("expected", "kernel"), ("kernel", "expected", "expected")]
)
def test_it_must_be_the_last_of_several_experts(context):
    with pytest.raises(ParameterError, match="the last of two or more") as caught:
        experts_of(context, 0)
    assert "\n" not in str(caught.value)


@pytest.fixture(scope="module")
def model(train):
    return ContextEMM(context=BOTH, evidence=0.1).fit(train)


def test_a_saved_model_comes_back_the_same(model, test, tmp_path):
    model.save(tmp_path / "m.tagmix")
    again = tagmix.load(tmp_path / "m.tagmix")
    np.testing.assert_array_equal(again.predict_marginals(test), model.predict_marginals(test))


@pytest.mark.parametrize(
    "lie",
    [
        lambda arrays: arrays[f"{FIRST}.slopes"][:-1],
        lambda arrays: np.vstack([arrays[f"{FIRST}.slopes"]] * 2),
    ],
)
def test_a_file_whose_first_pool_reads_another_number_of_experts_is_refused(model, tmp_path, lie):
    path = tmp_path / "m.tagmix"
    model.save(path)
    contents = storage.read(path)
    arrays = dict(contents.arrays)
    arrays[f"{FIRST}.slopes"] = lie(arrays)
    storage.write(path, contents.kind, json.loads(json.dumps(contents.fields)), arrays)
    with pytest.raises(ModelFileError, match="two slopes"):
        tagmix.load(path)
