"""The choice of κ by a known peak, what it may look at; the correction's weights; honest counts."""

import numpy as np
import pytest
from tests.learners.test_tuning import two_views

from tagmix import EMM, Bags
from tagmix.learners import tuning
from tagmix.learners.calibration import _fit_correction, fit_calibration, probabilities


@pytest.mark.parametrize(("told", "noise"), [(0.011111, 0.9), (0.9, 0.001235), (0.1, 0.033333)])
def test_the_search_walks_up_and_down_to_the_peak(monkeypatch, told, noise):
    def peaked(emm, *_):
        kappa = emm.get_params()["evidence"]
        return -abs(np.log(kappa["told"] / told)) - abs(np.log(kappa["noise"] / noise))

    monkeypatch.setattr(tuning, "_held_out_accuracy", peaked)
    assert tuning.choose_evidence(EMM(), two_views(10)).evidence == {"told": told, "noise": noise}


def test_the_first_view_costs_at_most_seven_settings_and_each_other_six(monkeypatch):
    valley = lambda emm, *_: sum(abs(np.log(10 * k)) for k in emm.get_params()["evidence"].values())  # noqa: E731
    monkeypatch.setattr(tuning, "_held_out_accuracy", valley)
    assert len(tuning.choose_evidence(EMM(), two_views(10)).tried) == 13  # `most` in train() says 12


def test_every_picture_is_ranked_by_a_model_that_never_saw_it_and_only_captioned_ones_count(monkeypatch):
    bags = two_views(40)
    captions = bags.captions.toarray()
    captions[::4] = 0
    bags = Bags(bags.views, bags.offsets, captions, bags.tag_names, ids=[str(i) for i in range(40)])
    seen, scored = [], []
    fit, proba = EMM.fit, EMM.predict_proba
    monkeypatch.setattr(EMM, "fit", lambda s, X, *a, **k: seen.append(set(X.ids)) or fit(s, X, *a, **k))
    monkeypatch.setattr(
        EMM, "predict_proba", lambda s, X, *a, **k: scored.append(set(X.ids)) or proba(s, X, *a, **k)
    )
    tuning._held_out_accuracy(EMM(tol=1.0), tuning._some(bags, 0), 5, 3, 0)
    assert all(not a & b for a, b in zip(seen, scored, strict=True))
    assert set.union(*scored) == {str(i) for i in range(40) if i % 4}


def test_the_choice_ranks_tags_by_their_calibrated_probability(monkeypatch):
    bags = two_views(40)
    truth = bags.captions.toarray().astype(float)
    monkeypatch.setattr(tuning, "probabilities", lambda scores, calibration: truth)
    ceiling = tuning.top_k_accuracy(truth, truth, 2)
    assert tuning._held_out_accuracy(EMM(tol=1.0), bags, 2, 3, 0) == ceiling


def test_scores_that_say_the_opposite_become_one_knot_at_the_means_of_all():
    raw = np.sort(np.random.default_rng(0).normal(-1, 2, 3000))
    tags = (np.arange(3000) < 600).astype(float)
    knots, levels = _fit_correction(raw, tags)
    # all 3,000 and one picture more, which is as the scores say
    np.testing.assert_allclose((knots, levels), ([raw.mean()], [0.2]), atol=3e-4)


def test_few_pictures_with_perfect_scores_keep_their_order():
    truth = np.repeat(np.eye(2), 6, axis=0)
    scores = np.where(truth > 0, 0.99, 0.01)
    p = probabilities(scores, fit_calibration(scores, truth))
    assert p[truth > 0].min() > p[truth == 0].max()


@pytest.mark.parametrize("signal", [2.5, 4.0, 6.0, 9.0])
def test_strong_scores_are_calibrated_too(signal):
    rng = np.random.default_rng(0)
    truth = (rng.random((800, 30)) < 0.12).astype(float)
    scores = np.exp(rng.normal(0, 1, truth.shape) + signal * truth)
    scores /= scores.sum(axis=1, keepdims=True)
    p = probabilities(scores[400:], fit_calibration(scores[:400], truth[:400]))
    assert p.mean() == pytest.approx(truth[400:].mean(), rel=0.06)


def test_scores_that_say_nothing_still_give_probabilities():
    for seed in range(20):
        rng = np.random.default_rng(seed)
        truth = (rng.random((300, 8)) < 0.3).astype(float)
        scores = rng.dirichlet(np.ones(8), 300)
        calibration = fit_calibration(scores, truth)
        assert np.all(np.diff(calibration.knots) > 0), seed
        assert np.isfinite(probabilities(scores, calibration)).all(), seed


def test_frequency_is_measured_on_the_same_pictures_as_the_model():
    bags = two_views(40)
    bare = Bags.concat([bags, bags.with_tags(0 * bags.captions, bags.tag_names)])
    emm = EMM(max_iter=3)
    assert tuning.choose_evidence(emm, bare).frequency > 0.9 * tuning.choose_evidence(emm, bags).frequency


def test_with_few_tags_fewer_are_shown_so_that_the_choice_means_something():
    rng = np.random.default_rng(0)
    tags = np.eye(4, dtype=int)[rng.integers(4, size=40)]
    counts = rng.poisson(0.3 + 6 * tags[:, [0, 1, 2, 3]])
    bags = Bags(counts, np.arange(41), tags=tags)
    choice = tuning.choose_evidence(EMM(max_iter=5), bags)
    assert choice.accuracy > choice.frequency + 0.1
