"""Detect label leakage: whether the captions of test pictures reach what a procedure learns."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from scipy.sparse import coo_array, csr_array
from sklearn.base import clone

from tagmix.arrays import Ints, is_sparse
from tagmix.bags import Bags
from tagmix.errors import ParameterError
from tagmix.evaluation.selection import Grid, choose

Procedure = Callable[[Bags, Ints, Ints], Any]


def leaks(procedure: Procedure, bags: Bags, test: Any, *, seed: int = 0, shuffles: int = 3) -> bool:
    """Return whether changed captions of the test pictures change what the procedure learns.

    ``procedure(bags, train, test)`` may do anything: choose settings, learn, predict. It returns what it
    learnt (numbers, arrays, dicts, lists of them), which must stay the same to the bit. Captions are permuted
    among the test pictures and tags are renamed, so that a leak of tag frequencies is detected too. A leak
    that none of the ``shuffles`` changes is not detected.
    """
    held = np.zeros(len(bags), dtype=bool)
    held[np.asarray(test)] = True
    train, tested = np.flatnonzero(~held), np.flatnonzero(held)
    learnt = procedure(bags, train, tested)
    if not _same(learnt, procedure(bags, train, tested)):
        raise ParameterError(
            "the procedure must learn the same from the same pictures, got two results: fix its random_state."
        )
    rng = np.random.default_rng(seed)
    return any(
        not _same(learnt, procedure(_relabelled(bags, tested, rng), train, tested)) for _ in range(shuffles)
    )


def learning(learner: Any, grid: Grid | None = None, *, folds: int = 3) -> Procedure:
    """Return the procedure that chooses and fits as ``compare`` does, to be checked for leakage.

    Here the test pictures keep their captions, unlike in ``compare``, so that a learner that reads them is
    caught.
    """

    def procedure(bags: Bags, train: Ints, test: Ints) -> Any:
        params = {} if grid is None else choose(learner, grid, bags[train], folds).setting
        fitted = clone(learner).set_params(**params).fit(bags[train])
        score = getattr(fitted, "decision_scores", None) or fitted.predict_proba
        return params, _arrays(vars(fitted)), np.asarray(score(bags[test]))

    return procedure


def _arrays(attributes: Mapping[str, Any]) -> dict[str, Any]:
    """Return the learnt arrays, also those in dicts and tuples; other attributes may hold times and paths."""
    found: dict[str, Any] = {}
    for name, value in attributes.items():
        if isinstance(value, np.ndarray) or is_sparse(value):
            found[name] = value
        elif isinstance(value, dict | list | tuple):
            parts = value if isinstance(value, dict) else dict(enumerate(value))
            found[name] = _arrays({str(key): part for key, part in parts.items()})
    return found


def _relabelled(bags: Bags, tested: Ints, rng: np.random.Generator) -> Bags:
    """Return the same pictures with the captions of the tested ones permuted."""
    tags = bags.captions
    place = np.arange(len(bags))
    place[tested] = rng.permutation(tested)
    moved = coo_array(tags[place])
    columns = np.where(np.isin(moved.row, tested), rng.permutation(bags.n_tags)[moved.col], moved.col)
    changed = csr_array((moved.data, (moved.row, columns)), shape=tags.shape)
    if abs(changed - tags).sum() == 0:
        raise ParameterError(
            "the test pictures must have different captions, got equal ones: test other pictures."
        )
    return bags.with_tags(changed, bags.tag_names)


def _same(first: Any, second: Any) -> bool:
    """Return whether two results are the same to the bit."""
    if is_sparse(first) and is_sparse(second):
        return first.shape == second.shape and _same(
            *([*m.tocoo().coords, m.tocoo().data] for m in (first, second))
        )
    if isinstance(first, Mapping):
        return first.keys() == second.keys() and all(_same(first[name], second[name]) for name in first)
    if isinstance(first, list | tuple):
        return len(first) == len(second) and all(map(_same, first, second))
    a, b = np.asarray(first), np.asarray(second)
    return a.dtype == b.dtype and a.shape == b.shape and (a.tobytes() == b.tobytes() or bool(np.all(a == b)))
