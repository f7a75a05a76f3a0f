"""The choice of κ by a known peak, what it may look at; the correction's weights; honest counts."""

import numpy as np
import pytest
from tests.learners.test_tuning import two_views

from tagmix import EMM, Bags
from tagmix.evaluation.folds import duplicate_groups, picture_folds
from tagmix.learners import tuning
from tagmix.learners.calibrate import fit_calibration, probabilities
from tagmix.learners.isotonic import fit_isotonic


@pytest.mark.parametrize(("told", "noise"), [(0.011111, 0.9), (0.9, 0.001235), (0.1, 0.033333)])
def test_the_search_walks_up_and_down_to_the_peak(monkeypatch, told, noise):
    def peaked(emm, *_):
        kappa = emm.get_params()["evidence"]
        return -abs(np.log(kappa["told"] / told)) - abs(np.log(kappa["noise"] / noise))

    monkeypatch.setattr(tuning, "_held_out_accuracy", peaked)
    assert tuning.choose_evidence(EMM(), two_views(10)).evidence == {"told": told, "noise": noise}


@pytest.mark.parametrize("views", [("told",), ("told", "noise")])
def test_the_most_dear_landscape_costs_no_more_settings_than_are_announced(monkeypatch, views):
    dearer = {}

    def always_rising(emm, *_):
        return dearer.setdefault(tuple(emm.get_params()["evidence"].values()), len(dearer))

    monkeypatch.setattr(tuning, "_held_out_accuracy", always_rising)
    bags = two_views(10)
    bags = Bags({view: bags.views[view] for view in views}, bags.offsets, bags.tags, bags.tag_names)
    tried = tuning.choose_evidence(EMM(), bags).tried
    assert len(tried) == {1: 7, 2: 26}[len(views)] <= tuning.most_tried(EMM(), bags)


# Held-out top-5 accuracy in 1/10,000 on 2,000 pictures of Corel5k: a row for each κ of SIFT words, ascending,
# a column for each κ of colour words. From κ = .1 for both, one pass along the axes ends in EMM's last row.
LANDSCAPES = {
    "EMM": [
        [2014, 2117, 2320, 2168, 1752, 1332, 1147],
        [2024, 2129, 2347, 2216, 1759, 1329, 1153],
        [2072, 2191, 2401, 2275, 1809, 1331, 1161],
        [2233, 2315, 2533, 2443, 1886, 1389, 1185],
        [2367, 2423, 2628, 2614, 2115, 1510, 1220],
        [2189, 2258, 2382, 2591, 2404, 1783, 1356],
        [1892, 1922, 2024, 2265, 2417, 2221, 1658],
    ],
    "DBA": [
        [1548, 1654, 1997, 2249, 2178, 1892, 1618],
        [1853, 1620, 1996, 2237, 2179, 1900, 1618],
        [1957, 1856, 2058, 2258, 2209, 1914, 1619],
        [2037, 2043, 2176, 2314, 2269, 1946, 1628],
        [2177, 2196, 2306, 2417, 2357, 2049, 1679],
        [2222, 2263, 2329, 2446, 2483, 2174, 1731],
        [2062, 2083, 2162, 2302, 2479, 2392, 1947],
    ],
}


@pytest.mark.parametrize("method", LANDSCAPES)
def test_the_top_of_a_measured_landscape_is_found(monkeypatch, method):
    heights = np.array(LANDSCAPES[method])

    def measured(emm, *_):
        return heights[tuple(tuning.VALUES.index(kappa) for kappa in emm.get_params()["evidence"].values())]

    monkeypatch.setattr(tuning, "_held_out_accuracy", measured)
    choice = tuning.choose_evidence(EMM(), two_views(10))
    assert choice.accuracy == heights.max()
    assert len(choice.tried) <= 12


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
    part = tuning._some(bags, 0)
    tuning._held_out_accuracy(EMM(tol=1.0), part, 5, picture_folds(len(part), 3))
    assert all(not a & b for a, b in zip(seen, scored, strict=True))
    assert set.union(*scored) == {str(i) for i in range(40) if i % 4}


def test_the_choice_ranks_tags_by_their_calibrated_probability(monkeypatch):
    bags = two_views(40)
    truth = bags.captions.toarray().astype(float)
    monkeypatch.setattr(tuning, "probabilities", lambda scores, calibration: truth)
    ceiling = tuning.top_k_accuracy(truth, truth, 2)
    assert tuning._held_out_accuracy(EMM(tol=1.0), bags, 2, picture_folds(40, 3)) == ceiling


def test_copies_are_never_on_both_sides_of_a_fold_by_which_kappa_is_chosen(monkeypatch):
    seen = []

    def measured(emm, bags, k, folds):
        seen.append((bags, folds))
        return 0.0

    monkeypatch.setattr(tuning, "_held_out_accuracy", measured)
    once = two_views(20)
    tuning.choose_evidence(EMM(), Bags.concat([once, once]))
    bags, folds = seen[0]
    duplicates = duplicate_groups(bags)
    assert len(np.unique(duplicates)) == 20
    assert not any(np.isin(duplicates[fold.train], duplicates[fold.test]).any() for fold in folds)
    assert all(again is folds for _, again in seen)  # found once


def test_scores_that_say_the_opposite_become_one_knot_at_the_means_of_all():
    raw = np.sort(np.random.default_rng(0).normal(-1, 2, 3000))
    tags = (np.arange(3000) < 600).astype(float)
    knots, levels = fit_isotonic(raw, tags)
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
