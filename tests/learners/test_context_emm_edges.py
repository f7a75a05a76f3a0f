"""ContextEMM at its edges: scorers, files, few pictures, and pictures unlike any other."""

import numpy as np
import pytest
from sklearn.linear_model import Ridge

import tagmix
from tagmix import Bags, BagsError, ContextEMM
from tagmix.learners.context.regions import RIDGE, STEPS, TOLERANCE, Scorer

N, N_TAGS, N_REGIONS, WIDTH = 90, 8, 3, 5
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
    return ContextEMM(**{"evidence": 0.1, "tol": 1e-3, **how}).fit(bags)


def test_the_scorer_of_a_view_is_the_one_of_max_pooling_on_it_alone(bags):
    scorer = fitted(bags, evidence=BOTH).regions_.instances["net:linear"]
    alone = Bags({"net": bags.views["net"]}, bags.offsets, bags.captions, bags.tag_names)
    expected = Scorer(ridge=RIDGE, tol=TOLERANCE, max_iter=STEPS).fit(alone)._region_scores(alone)
    found = np.zeros(expected.size)
    scorer.add_evidence(bags.views["net"], 1.0, bags.offsets, None, found)
    np.testing.assert_allclose(found.reshape(expected.shape), expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("context", ["kernel", "neighbours", "linear", Ridge(), ("linear", Ridge())])
def test_one_picture_is_too_few_for_a_context_and_two_are_enough(bags, context):
    with pytest.raises(BagsError, match=r"a context is cross-validated .* 2 .* got 1: add some") as caught:
        fitted(bags[:1], context=context)
    assert "\n" not in str(caught.value)
    assert "folds" not in str(caught.value)
    two = fitted(bags[:2], context=context)
    np.testing.assert_allclose(two.predict_proba(bags).sum(axis=1), 1.0)


@pytest.mark.parametrize("context", ["linear", Ridge()])
def test_pictures_unlike_any_other_get_probabilities(bags, context):
    emm = fitted(bags[:60], context=context)
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
