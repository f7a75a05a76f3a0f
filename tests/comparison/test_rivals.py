"""The rivals of the open world: each names regions, or none of the tags, as its definition says."""

import numpy as np
import pytest
from scipy.special import expit, logit

from tagmix import Bags
from tagmix.comparison import rivals, stacks
from tagmix.comparison.measure import probabilities_of
from tagmix.comparison.methods import RIVALS, method_of, views_read
from tagmix.comparison.rivals import (
    CAM,
    CONSTANT,
    RIDGES,
    AlwaysNone,
    MaxPoolingZero,
    ScorerZero,
    log_loss,
    shares_beside_none,
)
from tagmix.comparison.stacks import BalancedKernelRidge, CalibratedKernelRidge, Stack
from tagmix.errors import BagsError
from tagmix.evaluation.folds import duplicate_groups, picture_folds
from tagmix.evaluation.metrics import top_k_accuracy
from tagmix.evaluation.regions import NONE, object_f1, region_accuracy, region_names
from tagmix.learners import KernelRidge, MaxPooling, RegionScorer

N_TAGS = 5


def open_world(n, seed, *, whole=True):
    """Return pictures of four regions, two of them background, with features of one layer, and the truth."""
    rng = np.random.default_rng(seed)
    directions = np.random.default_rng(7).normal(size=(N_TAGS, 12)) * 2
    truth = np.full((n, 4), NONE)
    truth[:, :2] = rng.integers(0, N_TAGS, (n, 2))
    features = rng.normal(size=(n, 4, 12)) * 0.7
    features[:, :2] += directions[truth[:, :2]]
    tags = np.zeros((n, N_TAGS))
    np.put_along_axis(tags, truth[:, :2], 1, axis=1)
    pictures = {"pooled": features.mean(axis=1)} if whole else None
    views = {"block": rng.normal(size=(4 * n, 3)), "head": features.reshape(-1, 12)}
    names = [f"tag {i}" for i in range(N_TAGS)]
    return Bags(views, np.arange(n + 1) * 4, tags=tags, tag_names=names, pictures=pictures), truth.ravel()


@pytest.fixture(scope="module")
def train():
    return open_world(150, 0)[0]


@pytest.fixture(scope="module")
def test():
    return open_world(60, 1)


def test_always_none_is_right_where_nothing_is_to_be_seen(train, test):
    bags, truth = test
    for captioned in (False, True):
        shares = AlwaysNone().fit(train).predict_regions(bags, captioned=captioned)
        assert region_accuracy(truth, shares) == 0.5
        assert object_f1(truth, shares) == 0.0


def test_none_has_the_score_zero():
    logits = np.array([[0.1, -3.0], [-0.1, -3.0], [2.0, 3.0]])
    assert region_names(shares_beside_none(logits)).tolist() == [0, NONE, 1]
    shares = shares_beside_none(logits)
    assert np.log(shares / (1 - shares.sum(axis=1, keepdims=True))) == pytest.approx(logits)


# CAM is calibrated on whole pictures, whose features spread less than those of a region: it names too many
@pytest.mark.parametrize(("name", "accuracy", "f1"), [("ScorerZero", 0.7, 0.6), ("CAM", 0.45, 0.6)])
def test_regions_of_objects_are_named(name, accuracy, f1, train, test):
    bags, truth = test
    learner = method_of(name, ()).learner.fit(train)
    for captioned in (False, True):
        shares = learner.predict_regions(bags if captioned else bags.with_tags(None), captioned=captioned)
        assert (shares.sum(axis=1) <= 1 + 1e-9).all()
        assert region_accuracy(truth, shares) > accuracy
        assert object_f1(truth, shares) > f1
    assert top_k_accuracy(bags.captions, learner.decision_scores(bags), 2) > 0.7


@pytest.mark.parametrize("name", ["ScorerZero", "CAM"])
def test_with_its_caption_a_picture_shows_its_own_tags_or_none(name, train, test):
    bags = test[0][:10]
    tags = bags.captions.toarray()
    tags[4] = 0
    learner = method_of(name, ()).learner.fit(train)
    shares = learner.predict_regions(bags.with_tags(tags, bags.tag_names), captioned=True)
    own = np.repeat(tags > 0, 4, axis=0)
    assert not shares[~own & own.any(axis=1, keepdims=True)].any()
    free = learner.predict_regions(bags.with_tags(None))
    assert shares[16:20].tolist() == free[16:20].tolist()


@pytest.mark.parametrize(("zero", "scorer"), [(ScorerZero, RegionScorer), (MaxPoolingZero, MaxPooling)])
def test_a_scorers_zero_names_its_best_tag_or_none(zero, scorer, train, test):
    bags = test[0]
    names = region_names(zero(ridge=1.0).fit(train).predict_regions(bags))
    scores = scorer(ridge=1.0).fit(train)._region_scores(bags)
    assert names.tolist() == np.where(scores.max(axis=1) < 0, NONE, scores.argmax(axis=1)).tolist()


def test_cam_gives_the_mean_of_its_regions_the_score_of_their_picture(train, test):
    """The model is linear: the raw score of a mean is the mean of the raw scores."""
    bags = test[0]
    cam = CAM().fit(train)
    assert cam.layer_ == ("head", "pooled")
    raw = cam._scaled(np.asarray(bags.views["head"])) @ cam.weights_
    whole = cam._scaled(np.asarray(bags.pictures["pooled"])) @ cam.weights_
    assert raw.reshape(len(bags), 4, -1).mean(axis=1) == pytest.approx(whole)


def test_the_logits_of_cam_are_calibrated_on_new_pictures(train, test):
    bags = test[0]
    p = expit(CAM().fit(train).decision_scores(bags))
    assert p.mean(axis=0) == pytest.approx(bags.captions.toarray().mean(axis=0), abs=0.1)


def test_cam_without_a_picture_view_reads_the_mean_of_the_regions(train):
    bare, _ = open_world(150, 0, whole=False)
    cam, same = CAM().fit(bare), CAM().fit(train)
    assert cam.layer_ == ("head", "")
    assert cam.decision_scores(bare) == pytest.approx(same.decision_scores(train))
    words = Bags(np.ones((4, 2), int), [0, 2, 4], tags=[["a"], ["b"]])
    with pytest.raises(BagsError, match="--network"):
        CAM().fit(words)


def test_cam_chooses_the_ridge_of_the_smallest_error_on_left_out_pictures_and_is_calibrated_on_them(
    train, monkeypatch
):
    """Here by fits without each picture."""
    part, told, calibrate = train[:30], [], rivals.fit_calibration
    monkeypatch.setattr(rivals, "fit_calibration", lambda *how: told.append(how[0]) or calibrate(*how))
    cam = CAM().fit(part)
    features = cam._scaled(np.asarray(part.pictures["pooled"]))
    tags, kernel = part.captions.toarray(), features @ features.T + CONSTANT
    errors, left_out = {}, {}
    for ridge in RIDGES:
        left_out[ridge] = scores = np.empty(tags.shape)
        for i in range(30):
            others = np.delete(np.arange(30), i)
            inner = kernel[np.ix_(others, others)] + ridge * np.eye(29)
            scores[i] = kernel[i, others] @ np.linalg.solve(inner, tags[others])
        errors[ridge] = ((scores - tags) ** 2).sum()
    assert errors[cam.ridge_] == min(errors.values()) < max(errors.values())
    assert cam.ridge_ not in (RIDGES[0], RIDGES[-1])
    ((found,),) = told
    np.testing.assert_allclose(found, left_out[cam.ridge_], atol=1e-6)


def test_the_scorers_ridge_is_that_of_the_smallest_log_loss_of_unseen_captions(train, monkeypatch):
    monkeypatch.setattr(MaxPoolingZero, "grid", (3.0, 0.3, 0.003))
    part = train[:45]
    folds = picture_folds(45, 3, groups=duplicate_groups(part))
    losses = {}
    for ridge in MaxPoolingZero.grid:
        scorers = [(test, MaxPoolingZero(ridge=ridge).fit(part[fitted])) for fitted, test in folds]
        losses[ridge] = sum(log_loss(s.decision_scores(part[test]), part[test]) for test, s in scorers)
    assert MaxPoolingZero().fit(part).ridge_ == min(losses, key=losses.get)
    assert len({round(loss, 3) for loss in losses.values()}) == 3


def test_calibrated_kernel_ridge_is_kernel_ridge_with_probabilities(train, test):
    bags = test[0]
    learner, plain = CalibratedKernelRidge().fit(train), KernelRidge().fit(train)
    p, scores = learner.predict_marginals(bags), plain.decision_scores(bags)
    for tag in range(N_TAGS):
        order = np.argsort(scores[:, tag])
        assert (np.diff(p[order, tag]) >= 0).all()  # one rising curve per tag
    assert p.mean() == pytest.approx(bags.captions.toarray().mean(), abs=0.05)
    found = probabilities_of(learner, bags)
    assert found.bins.error < 0.15


def test_balanced_kernel_ridge_ranks_rare_tags_higher(train, test):
    bags, tags = test[0], train.captions.toarray()
    tags[20:, 0] = 0
    train = train.with_tags(tags, train.tag_names)
    calibrated, balanced = CalibratedKernelRidge().fit(train), BalancedKernelRidge().fit(train)
    weights = calibrated.calibration_.rare_tag_weights
    assert balanced.predict_marginals(bags).tolist() == calibrated.predict_marginals(bags).tolist()
    assert balanced.decision_scores(bags) == pytest.approx(calibrated.decision_scores(bags) * weights)
    assert weights[0] > weights[1:].max()


def test_a_stack_has_every_ranker_and_its_slopes_are_fitted_to_unseen_scores(train, test, monkeypatch):
    monkeypatch.setattr(Stack, "_rankers", lambda self: [KernelRidge(), MaxPooling(ridge=1.0)])
    bags = test[0]
    stack = Stack().fit(train)
    assert len(stack.calibration_.logistic.slopes) == 4
    best = max(top_k_accuracy(bags.captions, r.decision_scores(bags), 2) for r in stack.rankers_)
    assert top_k_accuracy(bags.captions, stack.decision_scores(bags), 2) > best - 0.03
    shuffled = train.with_tags(train.captions[np.random.default_rng(0).permutation(150)], train.tag_names)
    said = Stack().fit(shuffled).predict_marginals(bags)
    # Fitted to scores of training pictures it would trust them: pure chance has nothing to say
    assert np.std(logit(said).mean(axis=1)) < 0.5
    assert said.mean() == pytest.approx(train.captions.toarray().mean(), abs=0.05)


@pytest.mark.parametrize(("enough", "n_folds"), [(60, 5), (59, 2)])
def test_a_stack_scores_pictures_by_five_folds_or_two_of_many_at_the_ridge_of_all(
    train, enough, n_folds, monkeypatch
):
    monkeypatch.setattr(stacks, "ENOUGH", enough)
    part, groups = train[:60], np.arange(60)
    ranker = MaxPooling(ridge=1.0, max_iter=5).fit(part)
    ranker.ridge_ = 0.4  # as if chosen
    expected = np.empty((60, N_TAGS))
    for fitted, asked in picture_folds(60, n_folds, seed=0):
        alone = MaxPooling(ridge=0.4, max_iter=5).fit(part[fitted])
        expected[asked] = alone.decision_scores(part[asked])
    found = stacks._left_out(ranker, part, groups, groups)
    np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_the_stack_holds_all_rivals_on_pictures():
    names = [type(ranker).__name__ for ranker in Stack()._rankers()]
    assert names == ["KernelRidge", "KNN", "TagProp", "TwoPassKNN", "LinearRanker", "MaxPooling"]


def test_no_fold_of_a_rival_separates_duplicates(train, monkeypatch):
    told = []
    for module, name, place in (
        (rivals, "fit_calibration", 2), (stacks, "fit_calibration", 2), (stacks, "cross_validated_scores", 4)
    ):  # fmt: skip
        plain = getattr(module, name)
        monkeypatch.setattr(
            module, name, lambda *how, own=plain, at=place: told.append(how[at].tolist()) or own(*how)
        )
    twice = Bags.concat([train[:30], train[:30]])
    CAM().fit(twice)
    CalibratedKernelRidge().fit(twice)
    assert len(told) == 3
    for groups in told:
        assert groups[:30] == groups[30:]
        assert len(set(groups)) == 30
    folds, path = [], MaxPoolingZero._path
    monkeypatch.setattr(MaxPoolingZero, "_path", lambda self, *two: folds.append(two) or path(self, *two))
    MaxPoolingZero().fit(twice)
    assert len(folds) == 3
    for fold in folds:
        fitted, asked = ({row.tobytes() for row in bags.views["head"]} for bags in fold)
        assert not fitted & asked


def test_rivals_read_regions_and_pictures(train):
    every = ("block", "head", "pooled")
    assert {name: views_read(name, train) for name in RIVALS} == {
        "AlwaysNone": every[:2], "ScorerZero": every[:2],
        "MaxPoolingZero": every[:2], "CAM": every,
        "KernelRidge_calibrated": every, "KernelRidge_balanced": every, "Stack": every,
        "ContextEMM_expected": every,
    }  # fmt: skip
