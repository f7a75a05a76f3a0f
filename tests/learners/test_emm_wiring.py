"""What the learner is told reaches the model: settings, rates, multipliers and weights, in every shard."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from tagmix import EMM, Bags
from tagmix.kernels import reference
from tagmix.learners import fitting, training
from tagmix.learners.isotonic import fit_isotonic
from tagmix.learners.parameters import settings_of_views
from tagmix.learners.em import Corpus, free_shares
from tagmix.model import estep, mstep
from tagmix.model.margin import label_duals, own_label_duals, solve_margin
from tagmix.model.params import Settings
from tagmix.model.predict import infer_pictures

LIKELIHOOD = {"learning": "likelihood", "calibration_folds": 0}
SMALL = 2**10  # bytes: a few images a shard


@pytest.fixture(scope="module")
def doubtful(sampled):
    """Images that their words leave uncertain, so that priors and guidance matter."""
    return sampled(60, overlap=0.9, words_per_region=6, rates=np.linspace(0.3, 3.0, 10)).bags


@pytest.fixture(scope="module")
def uneven(doubtful):
    """Prior rates that differ from image to image and from tag to tag."""
    return np.random.default_rng(5).gamma(1.0, 1.0, (len(doubtful), doubtful.n_tags)) + 0.05


def corpus_of(bags, memory, rates=None, **how):
    return Corpus(bags, Settings({"words": 0.5}, tolerance=1e-9, max_iter=2000, **how), memory, rates)


def test_every_setting_reaches_the_model():
    emm = EMM(
        normaliser="dropped", evidence=0.25, supervision=7.0, chi=(3.0, 2.0), estep_tol=1e-7,
        estep_max_iter=33, n_jobs=3, kernels="reference",
    )  # fmt: skip
    expected = Settings({"words": 0.25}, False, False, 7.0, (3.0, 2.0), 1e-7, 33, reference, 3)
    assert settings_of_views(emm, {"words": True}) == expected


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

    monkeypatch.setattr(fitting, "solve_margin", spy)
    emm = EMM(calibration_folds=0, nu1=0.02, nu2=3.0, margin_tol=1e-2, margin_rounds=2).fit(train)
    expected = {"nu1": 0.02, "nu2": 3.0, "tolerance": 1e-2, "n_threads": 1}
    assert asked == [expected] * 3
    np.testing.assert_array_equal(emm.params_.weights, found[-1].weights)
    assert emm.margin_ is found[-1]


def test_a_round_of_margins_is_a_new_objective_whose_bound_may_be_lower(train):
    plain = EMM(**LIKELIHOOD).fit(train)
    emm = EMM(calibration_folds=0, nu1=100.0).fit(train)  # weights near 0: captions add no more to the bound
    assert emm.bound_history_[plain.n_iter_] < plain.bound_history_[-1] - 1.0


@pytest.mark.parametrize("margin_posterior", ["free", "guided"])
def test_margins_see_the_posterior_that_was_asked_for(train, monkeypatch, margin_posterior):
    seen = []
    monkeypatch.setattr(
        fitting,
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
    shares = free_shares(corpus, params, "variational")
    solution = solve_margin(shares, doubtful.captions, nu1=1e-2)
    fitting._set_deltas(corpus, solution, shares)
    whole = (own_label_duals if hard else label_duals)(shares, doubtful.captions, solution)
    assert len(corpus.shards) > 4
    assert np.abs(whole).max() > 0
    np.testing.assert_allclose(np.concatenate(corpus.deltas), whole, rtol=1e-12, atol=0)


@pytest.mark.parametrize("hard", [True, False])
def test_the_posterior_of_a_shard_knows_its_multipliers_and_its_rates(doubtful, uneven, hard):
    corpus = corpus_of(doubtful, SMALL, uneven, hard=hard)
    params = mstep.start(doubtful, corpus.settings, 0.2)
    rng = np.random.default_rng(0)
    whole = rng.normal(0, 3.0, doubtful.captions.nnz if hard else (len(doubtful), doubtful.n_tags))
    cuts = doubtful.captions.indptr if hard else np.arange(len(doubtful) + 1)
    corpus.deltas = [whole[cuts[s.start] : cuts[s.stop]] for s in corpus.shards]
    phi = np.concatenate([posterior.phi for _, posterior, _ in corpus.posteriors(params)])
    expected, without = (
        estep.posterior_captioned(doubtful, params, corpus.settings, delta=delta, rates=uneven).phi
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
def test_free_shares_are_those_of_prediction_with_the_images_own_rates(doubtful, uneven, inference):
    corpus = corpus_of(doubtful, SMALL, uneven)
    params = mstep.start(doubtful, corpus.settings, 0.2)
    shares = free_shares(corpus, params, inference).toarray()
    expected, plain = (
        infer_pictures(doubtful, params, corpus.settings, inference, "shares", rates)
        for rates in (uneven, None)
    )
    np.testing.assert_allclose(shares, expected, rtol=1e-7, atol=training.SHARE_FLOOR)
    assert training.SHARE_FLOOR <= 1e-7
    assert np.abs(shares - plain).max() > 0.1


def test_every_fold_is_fitted_and_scored_with_the_rates_of_its_own_images(doubtful, uneven, monkeypatch):
    tags = doubtful.captions.toarray()
    tags[[0, 7]] = 0  # these teach nothing: the rows of the rates move up
    row_of = {name: n for n, name in enumerate(doubtful.ids)}
    calls = []
    for name in ("fit", "predict_proba"):
        original = getattr(EMM, name)

        def spy(self, X, *args, original=original, rates=None, **how):
            calls.append((X.ids, rates))
            return original(self, X, *args, rates=rates, **how)

        monkeypatch.setattr(EMM, name, spy)
    EMM(learning="likelihood", calibration_folds=3).fit(doubtful.with_tags(tags), rates=uneven)
    assert len(calls) == 1 + 2 * 3
    for ids, rates in calls:
        np.testing.assert_array_equal(rates, uneven[[row_of[name] for name in ids]])


def test_rates_follow_their_images_when_others_are_left_out(doubtful, uneven):
    kept = np.ones(len(doubtful), dtype=bool)
    kept[[0, 7, 20]] = False
    tags = doubtful.captions.toarray() * kept[:, None]
    whole = EMM(**LIKELIHOOD).fit(doubtful.with_tags(tags), rates=uneven)
    part = EMM(**LIKELIHOOD).fit(doubtful.with_tags(tags)[kept], rates=uneven[kept])
    assert whole.bound_history_ == part.bound_history_


@pytest.mark.parametrize("how", [{}, {"ranking": "theta"}, {"inference": "map"}])
def test_rates_of_each_image_are_its_own_in_every_shard(train, doubtful, uneven, how):
    emm = EMM(**LIKELIHOOD, **how, evidence=0.3, memory_mb=1e-3).fit(train)
    assert len(list(emm._shards(doubtful))) > 4
    for ask in (
        lambda bags, rates: emm.predict_proba(bags, rates=rates),
        lambda bags, rates: emm.predict_regions(bags, rates=rates),
        lambda bags, rates: emm.predict_regions(bags, True, rates=rates),
    ):
        alone = np.vstack([ask(doubtful[n], uneven[n : n + 1]) for n in range(len(doubtful))])
        np.testing.assert_allclose(ask(doubtful, uneven), alone, rtol=1e-9, atol=1e-15)
        assert np.abs(ask(doubtful, uneven) - ask(doubtful, None)).max() > 0.1


@pytest.mark.parametrize("how", [{"normaliser": "dropped"}, {"rates": True}, {}])
def test_the_prior_of_lambda_counts_in_the_bound_only_where_lambda_is_learnt(doubtful, uneven, how):
    own = uneven if how.pop("rates", False) else None
    with pytest.warns(ConvergenceWarning, match="stopped after"):
        emm = EMM(**LIKELIHOOD, **how, max_iter=1).fit(doubtful, rates=own)
    settings = emm.settings_
    params = mstep.start(doubtful, settings, emm.eta)
    posterior = estep.posterior_captioned(doubtful, params, settings, rates=own)
    images = posterior.bound.sum() - params.instances["words"].divergence()
    expected = images - (doubtful.n_tags if not how and own is None else 0)  # log Gamma(1 | 2, 1) = −1 a tag
    np.testing.assert_allclose(emm.bound_history_[0], expected, rtol=1e-12)


def test_scores_are_shares_times_weights(fitted, test):
    emm = EMM().set_params(**fitted.get_params())
    for name in ("params_", "settings_", "tag_names_", "widths_", "context_"):
        setattr(emm, name, getattr(fitted, name))
    weights = np.linspace(0.0, 3.0, test.n_tags)
    emm.params_ = fitted.params_.with_weights(np.ones(test.n_tags))
    expected = emm.predict_proba(test) * weights
    emm.params_ = fitted.params_.with_weights(weights)
    expected /= expected.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(emm.predict_proba(test), expected, rtol=1e-12, atol=1e-15)


def test_a_map_picture_is_the_mean_of_its_regions_whatever_the_rates(train, test):
    emm = EMM(**LIKELIHOOD, inference="map").fit(train)
    rates = np.random.default_rng(6).gamma(1.0, 1.0, (len(test), test.n_tags)) + 0.05
    phi = emm.predict_regions(test, rates=rates)
    means = np.add.reduceat(phi, test.offsets[:-1]) / np.diff(test.offsets)[:, None]
    assert np.sum(means > 0.05, axis=1).max() > 1
    np.testing.assert_allclose(emm.predict_proba(test, rates=rates), means, rtol=0, atol=1e-5)


def test_theta_of_a_picture_is_measured_by_its_own_rates(doubtful, uneven):
    settings = Settings({"words": 0.5})
    params = mstep.start(doubtful, settings, 0.2)
    posterior = estep.posterior_uncaptioned(doubtful, params, settings, uneven)
    expected = posterior.S.reshape(uneven.shape) / (uneven + posterior.r[:, None])
    theta = infer_pictures(doubtful, params, settings, "variational", "theta", uneven)
    np.testing.assert_allclose(theta, expected, rtol=1e-12)


def test_the_gains_of_words_are_tempered_and_measured_against_the_prior_mean(doubtful):
    emm = EMM(**LIKELIHOOD, evidence=0.3).fit(doubtful)
    image, tag = doubtful[3], int(emm.top_tags(doubtful[3], 1)[0, 0])
    E_log_beta = emm.params_.instances["words"].E_log_beta
    prior = 1 / emm.params_.rates
    against = prior @ E_log_beta / prior.sum()
    counts = image.views["words"].T @ emm.predict_regions(image)[:, tag]
    gains = 0.3 * counts * (E_log_beta[tag] - against)
    answer = emm.explain(image, tag, n_words=60)[0]
    np.testing.assert_allclose(answer.gains["words"], gains[answer.words["words"]], rtol=1e-9)
    assert len(answer.words["words"]) == np.sum(gains > 0)
    assert answer.context == 0.0


def test_an_explanation_says_what_a_pictures_own_rates_speak_for(doubtful, uneven):
    emm = EMM(**LIKELIHOOD, evidence=0.3).fit(doubtful, rates=uneven)
    told = [why.context for why in emm.explain(doubtful[3:5], 1, rates=uneven[3:5])]
    np.testing.assert_allclose(told, np.log(uneven[3:5]).mean(axis=1) - np.log(uneven[3:5, 1]), rtol=1e-12)


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
