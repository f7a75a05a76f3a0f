"""EMM with a context at its edges: margins, scorers, warm starts, files, and pictures unlike any other."""

import numpy as np
import pytest
from sklearn.linear_model import Ridge

import tagmix
from tagmix import EMM, Bags, BagsError, ModelFileError, ParameterError, storage
from tagmix.evaluation.metrics import top_k_accuracy
from tagmix.learners.calibrate import probabilities, worth_showing
from tagmix.learners.context.fitting import POWERS
from tagmix.learners.context.prior import fit_prior
from tagmix.learners.context.scorer import RIDGE, STEPS, TOLERANCE, Scorer
from tagmix.learners.tuning import choose_evidence

N, N_TAGS, N_REGIONS, WIDTH = 90, 8, 3, 5
KERNEL = {"learning": "likelihood", "context": "kernel", "evidence": 0.1, "calibration_folds": 3}
BOTH = {"net": 0.3, "net:linear": 0.5}


@pytest.fixture(scope="module")
def planted():
    """Pictures whose regions' words and embeddings say their tag; the tags of regions."""
    rng = np.random.default_rng(0)
    truth = rng.integers(0, N_TAGS, (N, N_REGIONS))
    tags = np.zeros((N, N_TAGS), dtype=int)
    tags[np.repeat(np.arange(N), N_REGIONS), truth.ravel()] = 1
    words = rng.poisson(0.5 + 3.0 * np.eye(N_TAGS)[truth.ravel()])
    net = rng.normal(size=(N_TAGS, WIDTH))[truth.ravel()] + 0.3 * rng.normal(size=(N * N_REGIONS, WIDTH))
    return Bags({"words": words, "net": net}, np.arange(N + 1) * N_REGIONS, tags=tags), truth


@pytest.fixture(scope="module")
def bags(planted):
    return planted[0]


def fitted(bags, **how):
    return EMM(**{**KERNEL, "calibration_folds": 0, **how}).fit(bags)


def test_the_worth_of_kappa_counts_how_many_tags_of_a_caption_find_a_region(planted):
    bags, truth = planted
    # Regions of a picture that are all alike get one tag, however right it is.
    # Pictures differ by a few more words: what is described exactly alike is left out together.
    words = np.eye(N_TAGS, dtype=int)[truth[:, 0]] * 30 + np.random.default_rng(0).poisson(1, (N, N_TAGS))
    alike = np.repeat(words, N_REGIONS, axis=0)
    choice = choose_evidence(EMM(**KERNEL), Bags(alike, bags.offsets, bags.captions))
    at_best = N / bags.captions.nnz
    assert 0.8 * at_best < max(choice.tried.values()) <= at_best


def test_the_accuracy_beside_kappa_is_that_of_the_context_at_as_many_tags_as_are_shown(bags):
    choice = choose_evidence(EMM(**KERNEL), bags, k=3, seed=4)
    logits = fit_prior("kernel", bags, 4)[1].logits
    assert choice.accuracy == top_k_accuracy(bags.captions, logits, 3)


def test_kappa_is_judged_at_the_power_that_is_given_and_else_at_the_best(bags):
    words = Bags(bags.views["words"], bags.offsets, bags.captions)
    free = choose_evidence(EMM(**KERNEL), words).tried
    given = [choose_evidence(EMM(**KERNEL, context_power=power), words).tried for power in POWERS]
    same = set(free).intersection(*given)
    assert len(same) >= 3
    for kappa in same:
        assert free[kappa] == max(tried[kappa] for tried in given)
    assert any(tried[kappa] < free[kappa] for tried in given for kappa in same)


def test_a_power_that_is_none_is_refused_before_kappa_is_searched(bags):
    with pytest.raises(ParameterError, match="context_power"):
        choose_evidence(EMM(**KERNEL, context_power="much"), bags)


def test_a_picture_without_regions_is_judged_by_the_shares_that_its_context_expects(bags):
    emm = EMM(**KERNEL).fit(bags)
    context = emm.context_._replace(power=2.0, region_power=0.5)
    logits = np.random.default_rng(0).normal(-2.0, 2.0, (4, N_TAGS))
    expected = (1 + np.exp(-logits)) ** -2.0
    expected /= expected.sum(axis=1, keepdims=True)
    shares = np.vstack([np.zeros((2, N_TAGS)), expected[2:]])
    found = context.joined(logits, shares)
    np.testing.assert_allclose(found, logits + 0.5 * np.log(expected + 1e-3), rtol=1e-9)
    assert not shares[:2].any()


def test_margins_with_a_context_weigh_the_odds_of_pictures(bags):
    emm = EMM(**{**KERNEL, "learning": "margin"}).fit(bags[:60])
    free = bags[60:].with_tags(None)
    assert np.ptp(emm.margin_.weights) > 0.01
    shares = emm.predict_regions(free).reshape(30, N_REGIONS, N_TAGS).mean(axis=1)
    odds = np.exp(emm.context_.joined(emm.context_.prior.logits(free), shares)) * emm.margin_.weights
    expected = probabilities(odds, emm.calibration_)
    np.testing.assert_allclose(emm.predict_marginals(free), expected, rtol=1e-6, atol=1e-9)


def test_the_scorer_of_a_view_is_the_one_of_max_pooling_on_it_alone(bags):
    scorer = fitted(bags, evidence=BOTH).params_.instances["net:linear"]
    alone = Bags({"net": bags.views["net"]}, bags.offsets, bags.captions, bags.tag_names)
    expected = Scorer(ridge=RIDGE, tol=TOLERANCE, max_iter=STEPS).fit(alone)._region_scores(alone)
    found = np.zeros(expected.size)
    scorer.add_evidence(bags.views["net"], 1.0, bags.offsets, None, found)
    np.testing.assert_allclose(found.reshape(expected.shape), expected, rtol=1e-9, atol=1e-9)


def test_powers_come_back_from_a_file(bags, tmp_path):
    emm = fitted(bags, context_power=0.7)
    emm.context_ = emm.context_._replace(region_power=0.3)
    emm.save(tmp_path / "m.tagmix")
    context = tagmix.load(tmp_path / "m.tagmix").context_
    assert (context.power, context.region_power) == (0.7, 0.3)


def test_a_precision_that_is_not_symmetric_is_refused(bags, tmp_path):
    path = tmp_path / "m.tagmix"
    fitted(bags, evidence={"net": 0.3}).save(path)
    contents = storage.read(path)
    precision = contents.arrays["instances.0.precision"].copy()
    precision[0, 1] += 1e-3  # above the diagonal, where Cholesky does not look
    storage.write(path, "EMM", contents.fields, {**contents.arrays, "instances.0.precision": precision})
    with pytest.raises(ModelFileError, match="symmetric"):
        tagmix.load(path)


def test_a_threshold_shows_equals_together_or_not_at_all():
    p, tags = np.array([[0.9, 0.5, 0.5, 0.5]]), np.array([[1.0, 1.0, 0.0, 0.0]])
    assert worth_showing(0.6, p, tags) == 0.9
    assert worth_showing(0.6, p, np.array([[1.0, 1.0, 1.0, 0.0]])) == 0.5


@pytest.mark.parametrize("folds", [0, 3])
@pytest.mark.parametrize("context", ["kernel", "neighbours", "linear", Ridge(), ("linear", Ridge())])
def test_one_picture_is_too_few_for_a_context_and_two_are_enough(bags, context, folds):
    with pytest.raises(BagsError, match=r"a context is learnt on .* 2 .* got 1: add some") as caught:
        fitted(bags[:1], context=context, calibration_folds=folds, tol=0.1)
    assert "\n" not in str(caught.value)
    assert "folds" not in str(caught.value)
    two = fitted(bags[:2], context=context, calibration_folds=folds, tol=0.1)
    np.testing.assert_allclose(two.predict_proba(bags).sum(axis=1), 1.0)


@pytest.mark.parametrize("folds", [0, 3])
@pytest.mark.parametrize("context", ["linear", Ridge()])
def test_pictures_unlike_any_other_get_probabilities(bags, context, folds):
    emm = fitted(bags[:60], context=context, calibration_folds=folds)
    part = bags[60:]
    for scale in (-1e12, 1e12):
        far = Bags({"words": part.views["words"], "net": scale * part.views["net"]}, part.offsets)
        np.testing.assert_allclose(emm.predict_proba(far).sum(axis=1), 1.0)
        np.testing.assert_allclose(emm.predict_regions(far).sum(axis=1), 1.0)


@pytest.mark.parametrize("kappa", [{"words": 0.1, **BOTH}, {"net:linear": 0.5}])
def test_threads_of_a_fitted_model_with_a_scorer_can_be_changed(bags, kappa):
    emm = fitted(bags[:60], evidence=kappa)
    before = emm.predict_regions(bags[60:])
    np.testing.assert_array_equal(emm.set_params(n_jobs=2).predict_regions(bags[60:]), before)


@pytest.mark.parametrize(
    ("first", "second", "kind"),
    [(BOTH, {"net": 0.3}, float), ({"net": 0.3}, BOTH, float), ({"net": 0.3}, {"net": 0.3}, int)],
)
def test_a_warm_start_with_other_instances_than_the_last_fit_is_refused(bags, first, second, kind):
    emm = fitted(bags, evidence=first, warm_start=True)
    other = Bags({"net": np.ones((N * N_REGIONS, WIDTH), dtype=kind)}, bags.offsets, bags.captions)
    with pytest.raises(ParameterError, match="warm_start"):
        emm.set_params(evidence=second).fit(other)


def comes_back(emm, bags, path):
    emm.save(path)
    np.testing.assert_array_equal(tagmix.load(path).predict_regions(bags), emm.predict_regions(bags))


@pytest.mark.parametrize("scale", [0.0, 1e-12])
def test_embeddings_without_spread_come_back_from_a_file(bags, tmp_path, scale):
    flat = Bags({"net": 1.0 + scale * bags.views["net"]}, bags.offsets, bags.captions)
    comes_back(fitted(flat, evidence=BOTH), flat, tmp_path / "m.tagmix")


def test_large_embeddings_come_back_from_a_file_and_larger_ones_are_refused(bags, tmp_path):
    large = Bags({"net": 1e14 * bags.views["net"]}, bags.offsets, bags.captions)
    comes_back(fitted(large, evidence=BOTH), large, tmp_path / "m.tagmix")
    for wrong in (1e300, -1e16):
        with pytest.raises(BagsError, match="at most"):
            Bags({"net": np.full((2, 3), wrong)}, [0, 2])
        with pytest.raises(BagsError, match="at most"):
            Bags(np.ones((2, 3), dtype=int), [0, 2], pictures={"scene": np.full((1, 3), wrong)})
