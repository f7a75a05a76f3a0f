"""The parts of an update against independent computations."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.special import expit, logsumexp
from tests.learners.continued.makers import album, relabelled, with_verdicts

from tagmix import ContextEMM
from tagmix.evaluation.folds import duplicate_groups
from tagmix.learners import KernelRidge
from tagmix.learners.continued.biases import own_biases
from tagmix.learners.continued.columns import Columns, Losses, gradients, solved
from tagmix.learners.continued.mixture import moved
from tagmix.learners.continued.remember import remember
from tagmix.learners.continued.ridge import solved_again, updated
from tagmix.learners.continued.update import update
from tagmix.learners.continued.verdicts import Correction, codes_of, targets
from tagmix.learners.targets import Targets
from tagmix.learners.whole_pictures import whole_pictures
from tagmix.model.gaussian import PULL


def kernel_of(ridge, bags):
    """Return the kernel matrix, from distances computed pair by pair."""
    total = 0.0
    for name, view in whole_pictures(bags, ridge.distance).items():
        rows = view.toarray() if hasattr(view, "toarray") else view
        apart = ((rows[:, None] - rows[None]) ** 2).sum(axis=2) / 2
        total = total + ridge.view_weights_[name] * apart / ridge.scales_[name]
    return np.exp(-total)


@pytest.mark.parametrize("verdicts", [False, True])
def test_the_ridge_equals_numpy_and_leaving_pictures_out_one_by_one(verdicts):
    bags, new = album(40, "several"), album(9, "several", seed=3)
    fitted = KernelRidge().fit(bags)
    both = type(bags).concat([bags, new])
    both = with_verdicts(both) if verdicts else both
    codes = codes_of(both)
    first = solved_again(fitted, fitted.reference_, codes_of(bags))
    ridge = updated(first, codes, np.arange(6), both[40:]).learner
    y, known = targets(codes)
    means = y.sum(axis=0) / (len(y) if known is None else known.sum(axis=0))
    y = y if known is None else np.where(known, y, means)
    kernel = kernel_of(fitted, both) + fitted.ridge_ * np.eye(len(both))
    alpha = np.linalg.solve(kernel, y - means)
    assert np.abs(ridge.coefficients_ - alpha).max() < 1e-9
    assert np.abs(ridge.leverages_ - (1 - fitted.ridge_ * np.diagonal(np.linalg.inv(kernel)))).max() < 1e-9
    if not verdicts:  # the score of a picture that was left out, by a solution without it
        out = ridge.left_out_scores(both, np.arange(len(both)), duplicate_groups(both))
        groups = duplicate_groups(both)
        for n in (3, 7, 45):
            others = np.flatnonzero(groups != groups[n])
            own = y[others].mean(axis=0)
            part = np.linalg.solve(kernel[np.ix_(others, others)], y[others] - own)
            expected = kernel[n, others] @ part + means
            assert np.abs(out[n] - expected).max() < 1e-9


def test_a_column_is_a_step_of_newton_on_the_tilted_loss():
    rng = np.random.default_rng(0)
    bags = with_verdicts(album(40, "embeddings"))
    model = ContextEMM(tol=1e-3)
    _, memory = remember(model, model.learn(album(40, "embeddings")))
    chosen, kept, starts = memory.chosen.columns, memory.kept.rows.astype(float), memory.kept.starts
    losses = Losses(memory.kept, memory.folds, codes_of(bags), model.prior_.scorer)
    got = solved(losses, chosen, np.array([4]))[:, :, 0]
    y, known = targets(losses.codes, 0.015)
    beta, nu = 1.5, losses.penalties(chosen)[:, 4]

    def value(f, w, rows):
        total = nu[f] / 2 * w[:-1] @ w[:-1]
        for n in rows[known[rows, 4]]:
            s = kept[starts[n] : starts[n + 1]] @ w[:-1] + w[-1]
            s = (logsumexp(beta * s) - np.log(len(s))) / beta
            total += np.logaddexp(0, s) - y[n, 4] * s
        return total

    for f in (0, 2):
        rows = np.flatnonzero(memory.folds != f - 1)
        w, step = chosen.weights[f, :, 4], got[f] - chosen.weights[f, :, 4]
        slope = gradients(losses, chosen, np.array([4]))[f, :, 0]
        along = rng.standard_normal(len(w))
        finite = (value(f, w + 1e-5 * along, rows) - value(f, w - 1e-5 * along, rows)) / 2e-5
        assert slope @ along == pytest.approx(finite, rel=1e-6)
        tilted = [value(f, w + t * step, rows) - t * chosen.tilts[f, :, 4] @ step for t in (0, 0.5, 1)]
        assert tilted[1] < tilted[0]
        assert tilted[2] < tilted[0]


def test_a_column_without_a_change_stays_as_fit_left_it():
    model = ContextEMM(tol=1e-3)
    _, memory = remember(model, model.learn(album(40, "embeddings")))
    losses = Losses(memory.kept, memory.folds, memory.codes, model.prior_.scorer)
    every = np.arange(6)
    assert np.array_equal(solved(losses, memory.chosen.columns, every), memory.chosen.columns.weights)
    other = Columns(memory.weights + 0.1, memory.chosen.columns.tilts, memory.chosen.columns.medians)
    assert np.abs(solved(losses, other, every) - other.weights).max() > 1e-3


def test_moved_means_are_those_of_the_regions_of_now():
    rng = np.random.default_rng(0)
    mixture = ContextEMM(tol=1e-3).fit(album(40, "embeddings")).regions_
    before, after, models, expected = {}, {}, {}, {}
    for name, own in mixture.instances.items():
        n, width = own.means.shape
        prior = rng.standard_normal((n, width))
        for sums in (before, after):  # sums of coordinates, then numbers of regions
            sums[name] = np.hstack([rng.standard_normal((n, width)), rng.uniform(1, 9, (n, 1))])
        then, now = (
            (sums[name][:, :-1] + PULL * prior) / (sums[name][:, -1:] + PULL) for sums in (before, after)
        )
        models[name], expected[name] = replace(own, means=then), now
    found = moved(replace(mixture, instances=models), before, after).instances
    assert found
    assert all(np.abs(own.means - expected[name]).max() < 1e-12 for name, own in found.items())


def test_own_biases_maximise_the_likelihood_of_each_tag():
    rng = np.random.default_rng(0)
    logits, y = rng.normal(size=(300, 4)), (rng.random((300, 4)) < [0.1, 0.5, 0.9, 0.0]).astype(float)
    known = rng.random((300, 4)) < 0.7
    own = own_biases(logits, Targets(y, known))
    for tag in range(4):
        rows = known[:, tag]

        def loss(e, rows=rows, tag=tag):
            s = logits[rows, tag] + e
            return (np.logaddexp(0, s) - y[rows, tag] * s).sum() + 50 * e * e

        assert own[tag] == pytest.approx(minimize_scalar(loss, tol=1e-12).x, abs=1e-6)
        residual = y[rows, tag] - expit(logits[rows, tag] + own[tag])
        assert residual.sum() == pytest.approx(100 * own[tag], abs=1e-8)


def test_more_yes_raises_and_no_lowers_the_probability_of_such_pictures():
    bags = album(72, "embeddings")
    hidden = codes_of(bags)
    rows = np.flatnonzero(hidden[:, 1] == 1)
    hidden[rows[: len(rows) // 2], 1] = 0
    model = ContextEMM(tol=1e-3)
    model, memory = remember(model, model.learn(relabelled(bags, hidden)))

    unseen = album(200, "embeddings", seed=9)
    truth = unseen.captions.toarray()[:, 1] > 0
    names = [bags.ids[n] for n in rows if bags.ids[n] in memory.ids]
    after = update(model, memory, [Correction(name, "tag1", "yes") for name in names])
    one, other = (own.predict_marginals(unseen)[:, 1] for own in (model, after.model))
    assert other[truth].mean() > one[truth].mean() + 0.05
    loss = [-np.mean(np.log(np.where(truth, p, 1 - p))) for p in (one, other)]
    assert loss[1] < loss[0]
