"""Average precision, ranking loss and coverage: by hand, and against scikit-learn."""

import numpy as np
import pytest
from sklearn.metrics import (
    average_precision_score,
    coverage_error,
    label_ranking_average_precision_score,
    label_ranking_loss,
)

from tagmix.evaluation.metrics import (
    coverage,
    mean_average_precision_of_pictures,
    mean_average_precision_of_tags,
    ranking_loss,
)


@pytest.fixture(params=["distinct", "tied"])
def case(request):
    """Tags and scores where every picture has some tags but not all, and every tag some pictures."""
    rng = np.random.default_rng(3)
    tags = rng.random((30, 9)) < 0.3
    tags[:, 8] = False
    tags[4, 8] = True
    tags[:, 0] |= ~tags.any(axis=1)
    scores = rng.random(tags.shape)
    return tags, scores if request.param == "distinct" else np.round(4 * scores) / 4


def test_average_precision_of_pictures_agrees_with_scikit_learn(case):
    theirs = label_ranking_average_precision_score(*case)
    assert mean_average_precision_of_pictures(*case) == pytest.approx(theirs, rel=1e-12)


def test_average_precision_of_tags_agrees_with_scikit_learn(case):
    theirs = average_precision_score(*case, average="macro")
    assert mean_average_precision_of_tags(*case) == pytest.approx(theirs, rel=1e-12)


def test_ranking_loss_agrees_with_scikit_learn(case):
    assert ranking_loss(*case) == pytest.approx(label_ranking_loss(*case), rel=1e-12)


def test_coverage_agrees_with_scikit_learn(case):
    assert coverage(*case) == pytest.approx(coverage_error(*case), rel=1e-12)


def test_average_precision_by_hand():
    tags, scores = np.array([[0, 1, 0, 1], [1, 0, 0, 0]]), np.array([[4, 3, 2, 1.0], [1, 2, 3, 4.0]])
    first, second = (1 / 2 + 2 / 4) / 2, 1 / 4
    assert mean_average_precision_of_pictures(tags, scores) == (first + second) / 2
    assert mean_average_precision_of_tags(tags, scores) == (1 / 2 + 1 / 1 + 1 / 2) / 3  # tag 2 has no picture


def test_equal_scores_share_the_worst_place():
    tags, flat = np.array([[1, 0, 0, 1]]), np.zeros((1, 4))
    assert mean_average_precision_of_pictures(tags, flat) == 2 / 4
    assert ranking_loss(tags, flat) == 1.0
    assert coverage(tags, flat) == 4.0


def test_pictures_without_tags_and_tags_without_pictures_change_nothing():
    tags, scores = np.array([[1, 0, 0], [0, 1, 0]]), np.array([[3, 2, 1.0], [3, 2, 1.0]])
    more = np.vstack([tags, np.zeros((1, 3))]), np.vstack([scores, [[0, 0, -1.0]]])
    for metric in (mean_average_precision_of_pictures, ranking_loss, coverage):
        assert metric(*more) == metric(tags, scores)
    # for a tag, a picture without tags is one more that must be ranked below
    assert mean_average_precision_of_tags(*more) == mean_average_precision_of_tags(tags, scores)


def test_pictures_with_all_tags_have_no_pair_to_lose():
    tags, scores = np.array([[1, 1], [1, 0]]), np.array([[0.1, 0.9], [0.1, 0.9]])
    assert ranking_loss(tags, scores) == 1.0
    assert np.isnan(ranking_loss(tags[:1], scores[:1]))
    assert mean_average_precision_of_pictures(tags[:1], scores[:1]) == 1.0
