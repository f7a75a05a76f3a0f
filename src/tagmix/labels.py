"""What is known of each (picture, tag): given, absent, rejected or unknown.

``tags`` are given: the picture has them. Any other tag is *absent*, which captions leave open; unless it is
*rejected*, a firm no, or *unknown*, no statement at all. The last two are stored only where there are any.
"""

from collections.abc import Sequence
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array

from tagmix.arrays import Counts, Ints, stack
from tagmix.bag_checks import MOST_TAGS, array_of, checked_names, matrix_of
from tagmix.errors import BagsError


class Labels(NamedTuple):
    """Three disjoint matrices, pictures × tags, CSR of 0 and 1, and the names of the tags.

    ``tags`` is None without captions; ``rejected`` and ``unknown`` are None where they have no pair.
    """

    tags: Counts | None = None
    names: tuple[str, ...] | None = None
    rejected: Counts | None = None
    unknown: Counts | None = None

    def matrices(self) -> list[Counts]:
        """Return the matrices that are there."""
        return [matrix for matrix in (self.tags, self.rejected, self.unknown) if matrix is not None]

    def rows(self, chosen: Ints) -> "Labels":
        """Return the labels of these pictures."""
        if self.tags is None:
            return self
        rejected, unknown = (_kept(matrix, lambda m: m[chosen]) for matrix in self[2:])
        return Labels(self.tags[chosen], self.names, rejected, unknown)

    def columns(self, chosen: Ints) -> "Labels":
        """Return the labels of these tags; BagsError if one is chosen twice, or there are none."""
        if self.tags is None or self.names is None:
            raise BagsError("these bags have no tags to select from: pass `tags` when making them.")
        names = checked_names("selected tags", [self.names[i] for i in chosen], len(chosen))
        rejected, unknown = (_kept(matrix, lambda m: m[:, chosen]) for matrix in self[2:])
        return Labels(csr_array(self.tags[:, chosen]), names, rejected, unknown)


def _kept(matrix: Any, part: Any) -> Counts | None:
    return None if matrix is None else some(csr_array(part(matrix)))


def some(matrix: Counts) -> Counts | None:
    """Return the matrix, or None if it has no entries: what says nothing costs nothing."""
    return matrix if matrix.nnz else None


def stacked(many: Sequence[Labels]) -> Labels:
    """Return the labels of all pictures in order; the tags must be the same."""
    if many[0].tags is None:
        return Labels()

    def joined(parts: list[Counts | None]) -> Counts | None:
        if all(part is None for part in parts):
            return None
        none = [csr_array(labels.tags.shape, dtype=np.uint8) for labels in many if labels.tags is not None]
        return stack([empty if part is None else part for part, empty in zip(parts, none, strict=True)])

    return Labels(
        joined([labels.tags for labels in many]),
        many[0].names,
        joined([labels.rejected for labels in many]),
        joined([labels.unknown for labels in many]),
    )


def checked_labels(
    tags: Any,
    names: Sequence[str] | None,
    n_pictures: int,
    own: tuple[str, ...] | None = None,
    rejected: Any = None,
    unknown: Any = None,
) -> Labels:
    """Return checked labels; the names are those given, else ``own``, else numbered ones."""
    if tags is None:
        _check_nothing_else(names, rejected, unknown)
        return Labels()
    indicator, names = tags_by_name(tags, names)
    matrix = _indicator("tags", indicator, n_pictures)
    n_tags = matrix.shape[1]
    checked = checked_names("tag_names", names, n_tags)
    if checked is None:
        checked = own if own and len(own) == n_tags else tuple(f"tag{i}" for i in range(n_tags))
    more = {"rejected": rejected, "unknown": unknown}
    said = {"tags": matrix} | {
        what: _statement(what, given, checked, n_pictures) for what, given in more.items()
    }
    for first, second in combinations(said, 2):
        _check_disjoint(first, said[first], second, said[second], checked)
    return Labels(matrix, checked, said["rejected"], said["unknown"])


def tags_by_name(tags: Any, names: Sequence[str] | None) -> tuple[Any, Sequence[str] | None]:
    """Return pictures × tags and the names of the tags, from lists of names or a data frame of 0 and 1.

    The columns of a data frame are the names of its tags; a series of lists counts as a list. ``names``
    fixes the order; without it the names that occur are sorted. Anything else is returned unchanged.

    >>> tags_by_name([["sky", "sea"], ["sky"]], None)[1]
    ['sea', 'sky']
    """
    if hasattr(tags, "columns") and hasattr(tags, "to_numpy"):  # pandas or polars, without importing them
        values = array_of("tags", tags.to_numpy(), "0 and 1", np.float64)
        return _frame_by_name(values, list(tags.columns), names)
    if getattr(tags, "ndim", 0) == 1 and tags.dtype.kind == "O" and _are_names(tags.tolist()):
        tags = tags.tolist()
    if not _are_names(tags):
        return tags, names
    order = sorted({name for row in tags for name in row}) if names is None else [str(name) for name in names]
    columns = _columns_of([name for row in tags for name in row], order)
    starts = np.cumsum([0, *(len(row) for row in tags)])
    ones = np.ones(len(columns), dtype=np.uint8)
    return csr_array((ones, columns, starts), shape=(len(tags), len(order))), order


def _frame_by_name(values: Any, columns: list[Any], names: Sequence[str] | None) -> tuple[Any, Any]:
    """Return the values of a data frame with one column per name; labels other than str are not names."""
    if not all(isinstance(column, str) for column in columns):
        return values, names
    checked_names("columns of tags", columns, len(columns))
    if names is None:
        return values, columns
    placed = np.zeros((len(values), len(names)))
    placed[:, _columns_of(columns, names)] = values
    return placed, names


def _columns_of(tags: list[str], order: Sequence[str]) -> Ints:
    column = {str(name): i for i, name in enumerate(order)}
    unknown = next((tag for tag in tags if tag not in column), None)
    if unknown is not None:
        raise BagsError(
            f"tags must be among the {len(order)} tag names, got {unknown!r}: add it, or leave it out."
        )
    return np.array([column[tag] for tag in tags], dtype=np.int64)


def _are_names(tags: Any) -> bool:
    """Return whether this is a list of one list (tuple, set) of strings per picture, not all empty."""
    if not isinstance(tags, list | tuple) or not all(isinstance(row, list | tuple | set) for row in tags):
        return False
    return any(tags) and all(isinstance(name, str) for row in tags for name in row)


def _check_nothing_else(names: Sequence[str] | None, rejected: Any, unknown: Any) -> None:
    if names is not None:
        raise BagsError(
            f"tag_names name the columns of tags, got {len(names)} names and no tags: pass tags too."
        )
    if rejected is not None or unknown is not None:
        raise BagsError(
            "rejected and unknown add to tags, got no tags: pass tags too, zeros if there are none."
        )


def _statement(what: str, given: Any, names: tuple[str, ...], n_pictures: int) -> Counts | None:
    """Return checked ``rejected`` or ``unknown`` for the tags of these names; None without any pair."""
    if given is None:
        return None
    matrix = _indicator(what, tags_by_name(given, names)[0], n_pictures)
    if matrix.shape[1] not in (0, len(names)):  # lists that are all empty have no columns
        raise BagsError(
            f"{what} must have one column per tag ({len(names)}), got shape {matrix.shape}: pass pictures × "
            "tags as in tags."
        )
    return some(matrix)


def _check_disjoint(first: str, one: Any, second: str, other: Any, names: tuple[str, ...]) -> None:
    both = None if one is None or other is None else one.multiply(other).tocoo()
    if both is not None and both.nnz:
        raise BagsError(
            f"a picture can have a tag in one of {first} and {second}, got {names[both.col[0]]!r:.60} of "
            f"picture {both.row[0]} in both: remove it from one."
        )


def _indicator(what: str, given: Any, n_pictures: int) -> Counts:
    """Return CSR of 0 and 1, one row per picture."""
    matrix = csr_array(matrix_of(what, given, "pictures × tags of 0 and 1, or one list of names per picture"))
    if matrix.shape[0] != n_pictures:
        raise BagsError(
            f"{what} must have one row per picture ({n_pictures}), got shape {matrix.shape}: "
            "pass pictures × tags; offsets has one entry more than there are pictures."
        )
    if matrix.shape[1] > MOST_TAGS:
        raise BagsError(
            f"there can be at most {MOST_TAGS:,} tags, got {matrix.shape[1]:,} columns: keep those used."
        )
    matrix = matrix.copy()
    matrix.eliminate_zeros()
    if np.any(matrix.data != 1):
        raise BagsError(f"{what} must be 0 or 1, got other values: pass True for each pair that it names.")
    matrix.sort_indices()
    rows = np.repeat(np.arange(n_pictures), np.diff(matrix.indptr))
    if np.any((np.diff(matrix.indices) == 0) & (np.diff(rows) == 0)):
        raise BagsError(f"{what} must name each tag once per picture, got one twice: remove the repetition.")
    matrix.data = np.ones(matrix.nnz, dtype=np.uint8)
    return matrix
