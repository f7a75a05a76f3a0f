"""Parameters reach the model: settings, multipliers and weights, in every shard."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from tagmix import EMM, Bags
from tagmix.kernels import reference
from tagmix.learners import em
from tagmix.learners.em import Corpus, uncaptioned_shares
from tagmix.learners.isotonic import fit_isotonic
from tagmix.learners.parameters import settings_of_paper
from tagmix.model import estep, mstep
from tagmix.model.margin import label_duals, own_label_duals, solve_margin
from tagmix.model.params import Settings
from tagmix.model.predict import infer

LIKELIHOOD = {"learning": "likelihood", "calibration_folds": 0}
SMALL = 2**10  # bytes: a few images a shard


@pytest.fixture(scope="module")
def doubtful(sampled):
    """Images that their words leave uncertain, so that priors and guidance matter."""
    return sampled(60, overlap=0.9, words_per_region=6, rates=np.linspace(0.3, 3.0, 10)).bags


def corpus_of(bags, memory, **how):
    return Corpus(bags, Settings({"words": 0.5}, tolerance=1e-9, max_iter=2000, **how), memory)


def test_every_setting_reaches_the_model(monkeypatch):
    monkeypatch.setenv("TAGMIX_KERNELS", "reference")
    emm = EMM(normaliser="dropped", supervision=7.0, chi=(3.0, 2.0), n_jobs=3)
    expected = Settings({"words": 0.25}, False, False, 7.0, (3.0, 2.0), kernels=reference, n_threads=3)
    assert settings_of_paper(emm, {"words": 0.25}) == expected


@pytest.mark.parametrize("learning", ["likelihood", "margin"])
def test_eta_is_where_learning_starts_and_stays_when_it_is_not_learnt(train, learning):
    emm = EMM(learning=learning, calibration_folds=0, eta=0.7, learn_eta=False).fit(train)
    assert emm.params_.instances["words"].eta == 0.7
    assert emm.params_.instances["words"].mu.min() == 0.7


def test_the_margin_problem_is_the_one_asked_for_and_is_solved_before_and_after_each_round(
    train, monkeypatch
):
    asked, found = [], []

    def spy(shares, tags, **how):
        asked.append(how)
        found.append(solve_margin(shares, tags, **how))
        return found[-1]

    monkeypatch.setattr(em, "solve_margin", spy)
    emm = EMM(calibration_folds=0, nu1=0.02, nu2=3.0, margin_centre=0.5, margin_rounds=2).fit(train)
    expected = {"nu1": 0.02, "centre": 0.5, "tolerance": em.MARGIN_TOLERANCE, "n_threads": 1}
    assert asked == [expected] * 3
    np.testing.assert_array_equal(emm.params_.weights, found[-1].weights)
    assert emm.margin_ is found[-1]


def test_multipliers_are_fed_back_in_proportion_to_nu2_and_the_number_of_pictures(train, monkeypatch):
    scales = []
    guide = Corpus.guide_by

    def spy(corpus, solution, shares, scale):
        scales.append(scale)
        guide(corpus, solution, shares, scale)

    monkeypatch.setattr(Corpus, "guide_by", spy)
    EMM(calibration_folds=0, nu2=0.25).fit(train)
    assert scales == [0.25 * len(train)]
    once = EMM(calibration_folds=0, nu2=0.0, margin_rounds=3).fit(train)
    assert len(scales) == 1
    assert once.n_iter_ == EMM(**LIKELIHOOD).fit(train).n_iter_


def test_margins_around_1_with_a_large_nu1_are_the_model_without_margins(train, test):
    plain = EMM(**LIKELIHOOD).fit(train)
    pulled = EMM(calibration_folds=0, nu1=1e9, nu2=0.0, margin_centre=1.0).fit(train)
    np.testing.assert_allclose(pulled.predict_proba(test), plain.predict_proba(test), rtol=1e-6)
    zero = EMM(calibration_folds=0, nu1=1e9, nu2=0.0).fit(train)  # as printed: weights near 0, not near 1
    assert np.abs(zero.predict_proba(test) - plain.predict_proba(test)).max() > 0.01


def test_a_round_of_margins_is_a_new_objective_whose_bound_may_be_lower(train):
    plain = EMM(**LIKELIHOOD).fit(train)
    emm = EMM(calibration_folds=0, nu1=100.0).fit(train)  # weights near 0: captions add no more to the bound
    assert emm.bound_history_[plain.n_iter_] < plain.bound_history_[-1] - 1.0


@pytest.mark.parametrize("margin_posterior", ["free", "guided"])
def test_margins_see_the_posterior_that_was_asked_for(train, monkeypatch, margin_posterior):
    seen = []
    monkeypatch.setattr(
        em,
        "solve_margin",
        lambda shares, tags, **how: (seen.append(shares), solve_margin(shares, tags, **how))[1],
    )
    EMM(calibration_folds=0, margin_posterior=margin_posterior, evidence=0.1).fit(train)
    others = seen[0].toarray() * (train.captions.toarray() == 0)
    assert (others.max() > 0) == (margin_posterior == "free")


@pytest.mark.parametrize("hard", [True, False])
def test_multipliers_of_all_shards_are_rows_of_the_whole(doubtful, hard):
    corpus = corpus_of(doubtful, SMALL, hard=hard)
    params = mstep.start(doubtful, corpus.settings, 0.2)
    shares = uncaptioned_shares(corpus, params, "variational")
    solution = solve_margin(shares, doubtful.captions, nu1=1e-2)
    corpus.guide_by(solution, shares, 7.0)
    whole = 7 * (own_label_duals if hard else label_duals)(shares, doubtful.captions, solution)
    assert len(corpus.shards) > 4
    assert np.abs(whole).max() > 0
    np.testing.assert_allclose(np.concatenate(corpus.deltas), whole, rtol=1e-12, atol=0)


@pytest.mark.parametrize("hard", [True, False])
def test_the_posterior_of_a_shard_has_its_own_multipliers(doubtful, hard):
    corpus = corpus_of(doubtful, SMALL, hard=hard)
    params = mstep.start(doubtful, corpus.settings, 0.2)
    rng = np.random.default_rng(0)
    whole = rng.normal(0, 3.0, doubtful.captions.nnz if hard else (len(doubtful), doubtful.n_tags))
    cuts = doubtful.captions.indptr if hard else np.arange(len(doubtful) + 1)
    corpus.deltas = [whole[cuts[s.start] : cuts[s.stop]] for s in corpus.shards]
    phi = np.concatenate([posterior.phi for _, posterior, _ in corpus.posteriors(params)])
    expected, without = (
        estep.posterior_captioned(doubtful, params, corpus.settings, delta=delta).phi
        for delta in (whole, None)
    )
    np.testing.assert_allclose(phi, expected, rtol=1e-7, atol=1e-12)
    assert np.abs(phi - without).max() > 0.1


def test_an_e_step_starts_where_the_last_one_ended(doubtful):
    corpus = corpus_of(doubtful, SMALL)
    params = mstep.start(doubtful, corpus.settings, 0.2)
    first, second = ([p.n_iter.max() for _, p, _ in corpus.posteriors(params)] for _ in range(2))
    assert max(first) > 2
    assert max(second) <= 2


@pytest.mark.parametrize("inference", ["variational", "map"])
def test_uncaptioned_shares_are_those_of_prediction(doubtful, inference):
    corpus = corpus_of(doubtful, SMALL)
    params = mstep.start(doubtful, corpus.settings, 0.2)
    shares = uncaptioned_shares(corpus, params, inference).toarray()
    expected = infer(doubtful, params, corpus.settings, inference).held
    np.testing.assert_allclose(shares, expected, rtol=1e-7, atol=em.SHARE_FLOOR)
    assert em.SHARE_FLOOR <= 1e-7


@pytest.mark.parametrize("how", [{"normaliser": "dropped"}, {}])
def test_the_prior_of_lambda_counts_in_the_bound_only_where_lambda_is_learnt(doubtful, how):
    with pytest.warns(ConvergenceWarning, match="stopped after"):
        emm = EMM(**LIKELIHOOD, **how, max_iter=1).fit(doubtful)
    settings = emm.settings_
    params = mstep.start(doubtful, settings, emm.eta)
    posterior = estep.posterior_captioned(doubtful, params, settings)
    images = posterior.bound.sum() - params.instances["words"].divergence()
    expected = images - (doubtful.n_tags if not how else 0)  # log Gamma(1 | 2, 1) = −1 a tag
    np.testing.assert_allclose(emm.bound_history_[0], expected, rtol=1e-12)


def test_scores_are_shares_times_weights(fitted, test):
    emm = EMM().set_params(**fitted.get_params())
    for name in ("params_", "settings_", "tag_names_", "widths_"):
        setattr(emm, name, getattr(fitted, name))
    weights = np.linspace(0.0, 3.0, test.n_tags)
    emm.params_ = fitted.params_.with_weights(np.ones(test.n_tags))
    expected = emm.predict_proba(test) * weights
    emm.params_ = fitted.params_.with_weights(weights)
    expected /= expected.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(emm.predict_proba(test), expected, rtol=1e-12, atol=1e-15)


def test_a_map_picture_is_the_mean_of_its_regions(train, test):
    emm = EMM(**LIKELIHOOD, inference="map", evidence=0.1).fit(train)
    phi = emm.predict_regions(test)
    means = np.add.reduceat(phi, test.offsets[:-1]) / np.diff(test.offsets)[:, None]
    assert np.sum(means > 0.05, axis=1).max() > 1
    np.testing.assert_allclose(emm.predict_proba(test), means, rtol=0, atol=1e-5)


def test_the_gains_of_words_are_tempered_and_measured_against_the_mean_of_tags(doubtful):
    emm = EMM(**LIKELIHOOD, evidence=0.3).fit(doubtful)
    image, tag = doubtful[3], int(emm.top_tags(doubtful[3], 1)[0, 0])
    E_log_beta = emm.params_.instances["words"].E_log_beta
    against = E_log_beta.mean(axis=0)
    counts = image.views["words"].T @ emm.predict_regions(image)[:, tag]
    gains = 0.3 * counts * (E_log_beta[tag] - against)
    answer = emm.explain(image, tag, n_words=60)[0]
    np.testing.assert_allclose(answer.gains["words"], gains[answer.words["words"]], rtol=1e-9)
    assert len(answer.words["words"]) == np.sum(gains > 0)
    assert answer.context == 0.0


def test_a_correction_of_scores_that_speak_against_the_truth_is_the_share_of_all():
    raw = np.linspace(-6.0, 3.0, 5000)
    tags = (np.random.default_rng(0).random(raw.size) < 0.8 - 0.08 * (raw + 6.0)).astype(float)
    knots, levels = fit_isotonic(raw, tags)
    assert len(knots) == 1
    np.testing.assert_allclose(levels, tags.mean(), rtol=0, atol=0.02)


def test_two_views_of_unequal_power_each_temper_their_own_words_and_divergence(train):
    noise = np.random.default_rng(0).poisson(2.0, (train.n_regions, 20))
    bags = Bags({"words": train.views["words"], "colour": noise}, train.offsets, train.captions)
    settings = Settings({"words": 0.9, "colour": 0.1}, hard=False)
    params = mstep.start(bags, settings, 0.2)
    models = params.instances
    expected = sum(
        kappa * bags.views[view].toarray() @ models[view].E_log_beta.T
        for view, kappa in settings.evidence.items()
    )
    np.testing.assert_allclose(estep.evidence_of(bags, params, settings), expected, rtol=1e-10)
    total = estep.Statistics.of_nothing(params)
    divergence = 0.9 * models["words"].divergence() + 0.1 * models["colour"].divergence()
    np.testing.assert_allclose(mstep.total_bound(params, total, settings, False), -divergence, rtol=1e-12)
    history = EMM(**LIKELIHOOD, evidence=dict(settings.evidence), supervision=1.0).fit(bags).bound_history_
    assert np.diff(history).min() >= 0
