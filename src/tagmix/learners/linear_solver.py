"""L-BFGS for many independent problems at once: one loss per tag over shared features."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.special import expit, logit

from tagmix.arrays import Floats, Ints
from tagmix.learners.linear import CELLS, Features
from tagmix.learners.targets import Targets

# Number of correction pairs of L-BFGS.
MEMORY = 8
ATTEMPTS = 25
ARMIJO = 1e-4

# (scores of columns, their indices) → (loss per column, its gradient over the scores).
Loss = Callable[[Floats, Ints], tuple[Floats, Floats]]


def logistic_loss(targets: Targets) -> Loss:
    """Return the logistic loss of pictures' scores; unknown pairs have neither loss nor gradient.

    >>> targets = Targets(np.array([[1.0], [0.0]]), np.array([[True], [False]]))
    >>> [part.tolist() for part in logistic_loss(targets)(np.zeros((2, 1)), np.array([0]))]
    [[0.6931471805599453], [[-0.5], [0.0]]]
    """
    y, known = targets

    def loss(scores: Floats, columns: Ints) -> tuple[Floats, Floats]:
        own = y[:, columns]
        lost, residual = np.logaddexp(0, scores) - own * scores, expit(scores) - own
        if known is not None:
            lost, residual = lost * known[:, columns], residual * known[:, columns]
        return lost.sum(axis=0), residual

    return loss


def rates_of(targets: Targets) -> Floats:
    """Return the mean target of each tag over the pictures of which it is known."""
    if targets.known is None:
        return targets.y.mean(axis=0)
    rates: Floats = (targets.y * targets.known).sum(axis=0) / np.maximum(targets.known.sum(axis=0), 1)
    return rates


def biases_only(width: int, rates: Floats) -> Floats:
    """Return weights of 0, with biases that predict the frequency of each tag."""
    weights = np.zeros((width + 1, len(rates)))
    weights[-1] = logit(np.clip(rates, 1e-4, 1 - 1e-4))
    return weights


def minimise(
    features: Features,
    loss: Loss,
    weights: Floats,
    ridge: float,
    tol: Floats,
    max_iter: int,
    inverse: Floats | None = None,
) -> tuple[Floats, int]:
    """Minimise loss(scores) + ridge/2·‖w‖² for each column separately; biases are not penalised.

    One L-BFGS runs over all columns at once, with separate directions and step lengths per column. A step
    costs one product with the features and one with their transpose, because scores are linear in the step.
    A column ends when its largest gradient is below its ``tol``, or when no step improves it. ``inverse``
    estimates the diagonal of the inverse Hessian (features and bias × columns).
    Returns the weights and the steps of the slowest column.
    """
    out = np.array(weights, dtype=np.float64)
    # Scores and residuals are rows × columns, the correction pairs 2·MEMORY × width × columns.
    together = max(1, 2 * CELLS // (features.n_rows + 2 * MEMORY * features.width))
    most = 0
    for first in range(0, out.shape[1], together):
        columns = np.arange(first, min(first + together, out.shape[1]))
        guess = None if inverse is None else inverse[:, columns]
        state = _begin(features, loss, out[:, columns], columns, ridge, guess)
        steps = 0
        while steps < max_iter:
            state = state.kept(np.abs(state.gradient).max(axis=0) > tol[state.columns], out)
            if not len(state.columns):
                break
            state = _step(features, loss, state, ridge, out)
            steps += 1
        out[:, state.columns] = state.weights
        most = max(most, steps)
    return out, most


@dataclass
class _State:
    """The columns that have not converged, and their current values."""

    columns: Ints
    weights: Floats
    scores: Floats
    value: Floats
    gradient: Floats
    inverse: Floats
    # (step, change of the gradient, 1 / their product), oldest first.
    pairs: list[tuple[Floats, Floats, Floats]] = field(default_factory=list)

    def kept(self, going: Any, out: Floats) -> "_State":
        """Return the state of the ``going`` columns; write the weights of the others to ``out``."""
        if going.all():
            return self
        out[:, self.columns[~going]] = self.weights[:, ~going]
        return _State(
            self.columns[going],
            self.weights[:, going],
            self.scores[:, going],
            self.value[going],
            self.gradient[:, going],
            self.inverse[:, going],
            [(step[:, going], change[:, going], rho[going]) for step, change, rho in self.pairs],
        )


def _begin(
    features: Features, loss: Loss, weights: Floats, columns: Ints, ridge: float, inverse: Floats | None
) -> _State:
    scores = features.scores(weights)
    value, residual = loss(scores, columns)
    value = value + ridge / 2 * _dots(weights[:-1], weights[:-1])
    gradient = _gradient(features, residual, weights, ridge)
    if inverse is None:  # a first step of length 1 at most
        inverse = 1 / np.maximum(1.0, np.sqrt(_dots(gradient, gradient)))[None, :]
    return _State(columns, weights, scores, value, gradient, inverse)


def _gradient(features: Features, residual: Floats, weights: Floats, ridge: float) -> Floats:
    gradient = features.pull(residual)
    gradient[:-1] += ridge * weights[:-1]
    return gradient


def _dots(a: Floats, b: Floats) -> Floats:
    products: Floats = np.einsum("pc,pc->c", a, b)
    return products


def _direction(state: _State) -> Floats:
    """Return the L-BFGS direction of each column (the two loops of Liu and Nocedal)."""
    direction = -state.gradient
    shares = []
    for step, change, rho in reversed(state.pairs):
        share = rho * _dots(step, direction)
        direction -= share * change
        shares.append(share)
    if state.pairs:
        _, change, rho = state.pairs[-1]
        length = rho * _dots(change, state.inverse * change)
        direction /= np.where(length > 0, length, 1.0)
    direction *= state.inverse
    for (step, change, rho), share in zip(state.pairs, reversed(shares), strict=True):
        direction += (share - rho * _dots(change, direction)) * step
    return direction


def _step(features: Features, loss: Loss, state: _State, ridge: float, out: Floats) -> _State:
    """Return the state after one step; columns that no step improves are written to ``out``."""
    direction = _direction(state)
    slope = _dots(direction, state.gradient)
    ascent = slope >= 0  # due to rounding errors: use steepest descent instead
    direction[:, ascent] = (-state.inverse * state.gradient)[:, ascent]
    slope[ascent] = _dots(direction, state.gradient)[ascent]
    along = features.scores(direction)
    length, value, residual = _search(loss, state, along, direction, slope, ridge)
    weights = state.weights + length * direction
    gradient = _gradient(features, residual, weights, ridge)
    step, change = weights - state.weights, gradient - state.gradient
    curvature = _dots(step, change)
    sound = curvature > 1e-12 * np.sqrt(_dots(step, step) * _dots(change, change))
    rho = np.where(sound, 1 / np.where(sound, curvature, 1.0), 0.0)
    pairs = [*state.pairs, (step, change, rho)][-MEMORY:]
    after = _State(
        state.columns,
        weights,
        state.scores + _of(length, along) * along,
        value,
        gradient,
        state.inverse,
        pairs,
    )
    return after.kept(length > 0, out)


def _of(length: Floats, along: Floats) -> Floats:
    """Return the step lengths as precise as the scores."""
    return length.astype(along.dtype, copy=False)


def _search(
    loss: Loss, state: _State, along: Floats, direction: Floats, slope: Floats, ridge: float
) -> tuple[Floats, Floats, Floats]:
    """Return step lengths by Armijo's rule (0 where none improves), with their losses and residuals."""
    length = np.ones(len(slope))
    w, d = state.weights[:-1], direction[:-1]
    square, cross, own = _dots(w, w), _dots(w, d), _dots(d, d)
    losses, residual = loss(state.scores + along, state.columns)
    value = losses + ridge / 2 * (square + 2 * cross + own)
    tried = np.flatnonzero(value > state.value + ARMIJO * slope)
    for attempt in range(1, ATTEMPTS):
        if not len(tried):
            break
        # The minimum of the interpolating parabola, restricted to [0.1, 0.5] of the step.
        t = length[tried]
        bend = value[tried] - state.value[tried] - t * slope[tried]
        t = np.clip(-slope[tried] * t * t / (2 * bend), 0.1 * t, 0.5 * t)
        t = np.zeros(len(tried)) if attempt == ATTEMPTS - 1 else t
        length[tried] = t
        further = state.scores[:, tried] + _of(t, along) * along[:, tried]
        losses, residual[:, tried] = loss(further, state.columns[tried])
        value[tried] = losses + ridge / 2 * (square[tried] + 2 * t * cross[tried] + t * t * own[tried])
        tried = tried[value[tried] > state.value[tried] + ARMIJO * t * slope[tried]]
    return length, value, residual
