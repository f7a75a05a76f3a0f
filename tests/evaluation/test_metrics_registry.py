"""What holds of every metric of the registries, whatever it measures."""

import tracemalloc

import numpy as np
import pytest
from scipy.sparse import coo_array, csc_array, csr_array

from tagmix import ParameterError
from tagmix.evaluation import blocks
from tagmix.evaluation.blocks import quotient
from tagmix.evaluation.metrics import LOWER_IS_BETTER, METRICS, PICTURE_PARTS, PROBABILITY_METRICS

EVERY = {**METRICS, **PROBABILITY_METRICS}
JUDGES = set(EVERY) - {"top_k_ceiling", "share_of_zeros", "effective_tags"}  # those that say good or bad
COUNTS = {"n_plus", "coverage", "effective_tags"}  # up to the number of tags, not to 1


def draw(seed, n=25, n_tags=8):
    """Return tags, one of them without pictures, one picture without tags, and distinct probabilities."""
    rng = np.random.default_rng(seed)
    tags = rng.random((n, n_tags)) < 0.3
    tags[:, 2] = tags[3] = False
    return tags, rng.permutation(np.linspace(0.05, 0.95, tags.size)).reshape(tags.shape)


@pytest.fixture(params=sorted(EVERY))
def name(request):
    return request.param


def test_every_metric_stays_in_its_range(name):
    for seed in range(20):
        tags, scores = draw(seed)
        value = EVERY[name](tags, scores, 3)
        assert 0.0 <= value <= (tags.shape[1] if name in COUNTS else 1.0)


def test_dense_and_sparse_tags_of_any_kind_give_the_same(name):
    tags, scores = draw(0)
    value = EVERY[name](tags, scores, 3)
    kept = csr_array(tags.astype(float))
    kept.data[0] = 0.0  # a stored zero is no tag
    cleared = tags.copy()
    cleared[tuple(np.argwhere(tags)[0])] = False
    assert EVERY[name](kept, scores, 3) == EVERY[name](cleared, scores, 3)
    for kind in (csr_array, csc_array, coo_array):
        assert EVERY[name](kind(tags), scores, 3) == value
    assert EVERY[name](tags, csr_array(scores), 3) == value


def test_the_order_of_pictures_and_of_tags_does_not_matter(name):
    tags, scores = draw(1)
    rng = np.random.default_rng(0)
    rows, columns = rng.permutation(tags.shape[0]), rng.permutation(tags.shape[1])
    value = EVERY[name](tags, scores, 3)
    assert EVERY[name](tags[rows], scores[rows], 3) == pytest.approx(value, rel=1e-12)
    assert EVERY[name](tags[:, columns], scores[:, columns], 3) == pytest.approx(value, rel=1e-12)


def test_the_size_of_blocks_does_not_matter(name, monkeypatch):
    tags, scores = draw(2)
    value = EVERY[name](tags, scores, 3)
    for size in (1, 20, 64):
        monkeypatch.setattr(blocks, "BLOCK", size)
        assert EVERY[name](tags, scores, 3) == pytest.approx(value, rel=1e-12)


@pytest.mark.parametrize("judge", sorted(JUDGES))
def test_the_truth_itself_is_better_than_chance_and_chance_better_than_its_reverse(judge):
    tags, scores = draw(4, n=6)  # few pictures: with many, chance too finds every tag somewhere
    right, wrong = tags.astype(float), 1.0 - tags
    best, some, worst = (EVERY[judge](tags, said, 3) for said in (right, scores, wrong))
    assert (best < some < worst) if judge in LOWER_IS_BETTER else (best > some > worst)


@pytest.mark.parametrize("ranked", sorted(METRICS))
def test_a_ranking_is_measured_by_its_order_alone(ranked):
    tags, scores = draw(5)
    assert METRICS[ranked](tags, np.log(scores) * 8 - 100, 3) == METRICS[ranked](tags, scores, 3)


@pytest.mark.parametrize("summed", sorted(PICTURE_PARTS))
def test_what_each_picture_adds_sums_up_to_the_metric(summed):
    tags, scores = draw(6)
    parts = PICTURE_PARTS[summed](tags, scores, 3)
    assert parts.gain.shape == parts.weight.shape == (len(tags),)
    assert quotient(parts) == EVERY[summed](tags, scores, 3)
    alone = PICTURE_PARTS[summed](tags[7:8], scores[7:8], 3)
    assert (alone.gain[0], alone.weight[0]) == (parts.gain[7], parts.weight[7])


def test_no_pictures_are_measured_without_a_warning(name):
    value = EVERY[name](np.zeros((0, 4)), np.zeros((0, 4)), 3)
    assert np.isnan(value) or value == 0.0


def test_scores_that_are_no_numbers_and_other_shapes_are_refused(name):
    tags, scores = draw(7)
    if name not in ("top_k_ceiling", "share_of_zeros"):
        scores[0, 0] = np.nan
        with pytest.raises(ParameterError, match="scores must be numbers, got nan: give a picture"):
            EVERY[name](tags, scores, 3)
    if name not in ("top_k_ceiling", "share_of_zeros", "effective_tags"):
        with pytest.raises(ParameterError, match=r"one shape, got \(25, 8\) and \(24, 8\)"):
            EVERY[name](tags, scores[1:], 3)
        with pytest.raises(ParameterError, match=r"tags must be pictures × tags, got 0 dimension"):
            EVERY[name](None, scores, 3)


def test_a_metric_adds_less_than_a_fixed_amount_of_memory_to_the_scores(name):
    rng = np.random.default_rng(0)
    scores = rng.random((4000, 4000))  # 128 MB
    tags = csr_array(
        (np.ones(9000), (rng.integers(0, 4000, 9000), rng.integers(0, 4000, 9000))), (4000, 4000)
    )
    tracemalloc.start()
    try:
        EVERY[name](tags, scores, 5)
        assert tracemalloc.get_traced_memory()[1] < 100e6
    finally:
        tracemalloc.stop()
