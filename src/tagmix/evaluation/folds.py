"""Folds of pictures that keep groups together.

A duplicate, or another shot of the same burst, on both sides of a fold leaks the label; pictures of one
group are therefore always on the same side.
"""

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from tagmix.arrays import Ints, is_sparse
from tagmix.bags import Bags
from tagmix.errors import ParameterError


class Fold(NamedTuple):
    """The numbers of the training and of the test pictures, each ascending."""

    train: Ints
    test: Ints


def picture_folds(n_pictures: int, n_folds: int = 5, *, seed: int = 0, groups: Any = None) -> list[Fold]:
    """Return folds in which each picture is tested once and groups stay together.

    Groups are assigned in a random order, the largest first, each to the fold with the fewest pictures: the
    sizes of folds of single pictures differ by at most one. ``groups`` has each picture's group, any value.

    >>> [fold.test.tolist() for fold in picture_folds(4, 2, groups=["a", "b", "b", "a"])]
    [[0, 3], [1, 2]]
    """
    group_of = group_numbers(groups, n_pictures)
    sizes = np.bincount(group_of)
    _check_count("n_folds", n_folds, len(sizes))
    order = np.random.default_rng(seed).permutation(len(sizes))
    order = order[np.argsort(-sizes[order], kind="stable")]
    fold_of, filled = np.empty(len(sizes), dtype=np.int64), np.zeros(n_folds, dtype=np.int64)
    for group in order:
        fold_of[group] = filled.argmin()
        filled[fold_of[group]] += sizes[group]
    held = fold_of[group_of]
    return [Fold(np.flatnonzero(held != i), np.flatnonzero(held == i)) for i in range(n_folds)]


def repeated_folds(
    n_pictures: int, n_folds: int = 5, repeats: int = 10, *, seed: int = 0, groups: Any = None
) -> list[Fold]:
    """Return the folds of several shuffles; the first are those of ``picture_folds``.

    >>> len(repeated_folds(6, 3, repeats=2))
    6
    """
    if not isinstance(repeats, Integral) or repeats < 1:
        raise ParameterError(f"repeats must be a whole number >= 1, got {repeats!r}: 1 shuffles once.")
    seeds = [seed, *np.random.SeedSequence(seed).generate_state(repeats - 1).tolist()]
    return [fold for s in seeds for fold in picture_folds(n_pictures, n_folds, seed=s, groups=groups)]


def duplicate_groups(bags: Bags) -> Ints:
    """Return the number of each picture's group; pictures with equal ids or equal features share one.

    Features are compared, not files: a copy with other bytes but the same regions is found, a resized copy
    is not. Pictures without regions and features are compared by id alone.

    >>> bags = Bags(np.array([[1, 2], [0, 3], [1, 2]]), [0, 1, 2, 3])
    >>> duplicate_groups(bags).tolist()
    [0, 1, 0]
    """
    return groups_of(bags.ids, list(prints_of(bags)))


def groups_of(ids: Sequence[str], prints: Sequence[str]) -> Ints:
    """Return the number of each picture's group; pictures with equal ids or equal prints share one.

    >>> groups_of(["a", "b", "a", "c"], ["1", "2", "3", "2"]).tolist()
    [0, 1, 0, 1]
    """
    n, marks = len(ids), [[f"id {name}" for name in ids], list(prints)]
    _, node = np.unique([mark for kind in marks for mark in kind], return_inverse=True)
    ends = (np.tile(np.arange(n), 2), n + node)
    size = n + int(node.max(initial=-1)) + 1
    _, found = connected_components(coo_array((np.ones(2 * n), ends), shape=(size, size)), directed=False)
    return _in_order(found[:n])


def grouped_folds(duplicates: Ints, most: int, seed: int) -> list[Fold]:
    """Return ``most`` folds, or as many as there are groups, that keep duplicates together.

    If all pictures are duplicates of one another, each is its own group.

    >>> [fold.test.tolist() for fold in grouped_folds(np.array([0, 1, 0, 2]), 5, 0)]
    [[0, 2], [3], [1]]
    """
    groups = duplicates if np.ptp(duplicates) else np.arange(len(duplicates))
    return picture_folds(len(duplicates), min(most, len(np.unique(groups))), seed=seed, groups=groups)


def checked_folds(folds: Any, n_pictures: int, *, seed: int = 0, groups: Any = None) -> list[Fold]:
    """Return folds from their number, or those given if no picture and no group is on both sides."""
    group_of = group_numbers(groups, n_pictures)
    if isinstance(folds, str) or not isinstance(folds, Iterable):
        _check_count("folds", folds, int(group_of.max(initial=-1)) + 1)
        return picture_folds(n_pictures, int(folds), seed=seed, groups=groups)
    made = [Fold(_numbers(train, n_pictures), _numbers(test, n_pictures)) for train, test in folds]
    if not made:
        raise ParameterError("folds must be their number or a list of (train, test), got none: give one.")
    for i, fold in enumerate(made):
        both = np.intersect1d(group_of[fold.train], group_of[fold.test])
        if len(both):
            example = int(fold.test[group_of[fold.test] == both[0]][0])
            raise ParameterError(
                f"no picture or group may be on both sides, got picture {example} of fold {i} tested and "
                "its like trained on: use picture_folds."
            )
    return made


def _check_count(name: str, n_folds: Any, n_groups: int) -> None:
    """Refuse an invalid number of folds, with the name of the argument."""
    number = int(n_folds) if isinstance(n_folds, Integral) else 0
    if 2 <= number <= n_groups:
        return
    way_out = "5 is usual." if number < 2 else "use fewer folds, or more pictures."
    raise ParameterError(
        f"{name} must be a whole number from 2 to the {n_groups} pictures or groups, got {n_folds!r:.60}: "
        f"{way_out}"
    )


def _numbers(index: Any, n_pictures: int) -> Ints:
    """Return the picture numbers of a mask or a list."""
    array = np.asarray(index)
    if array.dtype == bool and array.shape == (n_pictures,):
        return np.flatnonzero(array)
    fits = array.ndim == 1 and array.size and array.dtype.kind in "iu"
    if not fits or array.min() < 0 or array.max() >= n_pictures:
        raise ParameterError(
            f"each side of a fold must be some of the numbers 0 to {n_pictures - 1}, got {index!r:.60}: "
            "number the pictures, at least one per side."
        )
    return array.astype(np.int64)


def group_numbers(groups: Any, n_pictures: int) -> Ints:
    """Return each picture's group as a number, by first appearance; without groups each picture is its own.

    >>> group_numbers(["b", "a", "b"], 3).tolist()
    [0, 1, 0]
    """
    if groups is None:
        return np.arange(n_pictures)
    names: Sequence[Any] = list(groups)
    if len(names) != n_pictures:
        raise ParameterError(
            f"groups must name the group of each of {n_pictures} pictures, got {len(names)}: add the rest."
        )
    numbers: dict[Any, int] = {}
    return np.array([numbers.setdefault(name, len(numbers)) for name in names], dtype=np.int64)


def _in_order(labels: Any) -> Ints:
    """Return the groups numbered by their first picture."""
    return group_numbers(labels.tolist(), len(labels))


def prints_of(bags: Bags) -> Iterator[str]:
    """Yield digests that are equal if regions and features have the same numbers in the same order."""
    views: list[Any] = list(bags.views.values())
    whole = list(bags.pictures.values())
    for i, (start, stop) in enumerate(pairwise(bags.offsets.tolist())):
        if start == stop and not whole:
            yield f"empty {i}"
            continue
        mark = hashlib.blake2b(str(stop - start).encode(), digest_size=16)
        for view in views:
            for array in _rows(view, start, stop):
                mark.update(np.ascontiguousarray(array).data)
        for picture in whole:
            mark.update(np.ascontiguousarray(picture[i]).data)
        yield mark.hexdigest()


def _rows(view: Any, start: int, stop: int) -> tuple[Any, ...]:
    """Return the arrays of these rows."""
    if not is_sparse(view):
        return (view[start:stop],)
    first, last = view.indptr[start], view.indptr[stop]
    return view.indptr[start : stop + 1] - first, view.indices[first:last], view.data[first:last]
