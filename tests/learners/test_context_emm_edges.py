"""ContextEMM at its edges: scorers, files, few pictures, and pictures unlike any other."""

import numpy as np
import pytest
from sklearn.linear_model import Ridge

import tagmix
from tagmix import Bags, BagsError, ContextEMM
from tagmix.learners import RegionScorer

N, N_TAGS, N_REGIONS, WIDTH = 90, 8, 3, 5
BOTH = {"words": 0.1, "net": 0.3}


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


def test_the_scorer_is_the_learner_fitted_to_the_same_pictures(bags):
    scorer, alone = fitted(bags).prior_.scorer, RegionScorer().fit(bags)
    np.testing.assert_array_equal(scorer.weights_, alone.weights_)
    np.testing.assert_array_equal(scorer.score_regions(bags.views), alone.score_regions(bags.views))


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
        sums = emm.predict_regions(far).sum(axis=1)
        assert ((sums > -1e-9) & (sums < 1 + 1e-9)).all()  # nan is not


@pytest.mark.parametrize("kappa", [BOTH, {"net": 0.5}])
def test_threads_of_a_fitted_model_can_be_changed(bags, kappa):
    emm = fitted(bags[:60], evidence=kappa)
    before = emm.predict_regions(bags[60:])
    np.testing.assert_array_equal(emm.set_params(n_jobs=2).predict_regions(bags[60:]), before)


def comes_back(emm, bags, path):
    emm.save(path)
    np.testing.assert_array_equal(tagmix.load(path).predict_regions(bags), emm.predict_regions(bags))


@pytest.mark.parametrize("scale", [0.0, 1e-12])
def test_embeddings_without_spread_come_back_from_a_file(bags, tmp_path, scale):
    flat = Bags({"net": 1.0 + scale * bags.views["net"]}, bags.offsets, bags.captions)
    comes_back(fitted(flat), flat, tmp_path / "m.tagmix")


def test_large_embeddings_come_back_from_a_file_and_larger_ones_are_refused(bags, tmp_path):
    large = Bags({"net": 1e14 * bags.views["net"]}, bags.offsets, bags.captions)
    comes_back(fitted(large), large, tmp_path / "m.tagmix")
    for wrong in (1e300, -1e16):
        with pytest.raises(BagsError, match="at most"):
            Bags({"net": np.full((2, 3), wrong)}, [0, 2])
        with pytest.raises(BagsError, match="at most"):
            Bags(np.ones((2, 3), dtype=int), [0, 2], pictures={"scene": np.full((1, 3), wrong)})
