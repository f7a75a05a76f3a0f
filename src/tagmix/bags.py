"""Bags: pictures as sets of described regions, with the tags of the whole picture."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Self

import numpy as np

from tagmix.arrays import Counts, Floats, Ints, aliased, is_sparse, regions_of, rows_at, stack
from tagmix.bag_checks import (
    View,
    checked_index,
    checked_names,
    checked_offsets,
    checked_pictures,
    checked_views,
    freeze,
)
from tagmix.errors import BagsError
from tagmix.labels import Labels, checked_labels, stacked


class _Parts(NamedTuple):
    views: dict[str, View]
    offsets: Ints
    labels: Labels
    ids: tuple[str, ...] | None
    pictures: dict[str, Floats]


class Bags:
    """Pictures as bags of regions: checked once, then read-only, then sliced freely.

    Parameters
    ----------
    instances : matrix, or mapping of views
        Counts (regions × words), or several views ``{"sift": counts, "network": dense}``.
        The dtype decides: sparse matrices, and dense ones of an integer type, are word counts; dense
        floats are an embedding, whatever their values. Convert dense counts in floats with
        ``.astype(int)``.
    offsets : sequence of int
        The first region of each picture, followed by the number of regions. From the number of
        regions per picture: ``np.concatenate([[0], np.cumsum(n)])``.
    tags : lists of tag names, a matrix or a data frame, optional
        One list of names per picture (a list or a series of them), or pictures × tags of 0 and 1,
        sparse or dense, or a data frame of 0 and 1 whose columns name the tags. None: no captions.
    tag_names, ids : sequences of str, optional
        Names of the tags, in column order, and of the pictures. By default, tags given by name are
        sorted and others numbered.
    pictures : mapping of str to matrix, optional
        Views of the whole picture, ``{"network": pictures × features}``.
    rejected, unknown : as ``tags``, optional
        A tag that a picture is not given is *absent*, which may be an oversight. ``rejected`` are confirmed
        absences, ``unknown`` pairs of which nothing is known; learners and metrics leave these out.

    Notes
    -----
    Regions without words, pictures with one region or none, pictures without tags and tags without
    pictures are legal, because albums have them. Indexing with an int, a slice, a mask or an integer
    array returns Bags.

    Examples
    --------
    >>> bags = Bags(np.array([[2, 0, 1], [0, 3, 0], [1, 1, 0]]), [0, 2, 3], tags=[[1, 1], [0, 1]])
    >>> bags
    Bags(2 pictures, 3 regions, 2 tags; words: 3 words)
    >>> bags[1].views["words"].toarray().tolist()
    [[1, 1, 0]]
    >>> bags.with_tags([["sky", "sea"], ["sky"]]).tag_names
    ('sea', 'sky')
    >>> bags.with_tags([["sky", "sea"], ["sky"]], unknown=[[], ["sea"]])
    Bags(2 pictures, 3 regions, 2 tags, 1 unknown; words: 3 words)
    """

    def __init__(
        self,
        instances: Any,
        offsets: Any,
        tags: Any = None,
        tag_names: Sequence[str] | None = None,
        ids: Sequence[str] | None = None,
        pictures: Mapping[str, Any] | None = None,
        *,
        rejected: Any = None,
        unknown: Any = None,
    ) -> None:
        views = checked_views(instances)
        starts = checked_offsets(offsets, next(iter(views.values())).shape[0])
        n_pictures = len(starts) - 1
        self._set(
            _Parts(
                views,
                starts,
                checked_labels(tags, tag_names, n_pictures, None, rejected, unknown),
                checked_names("ids", ids, n_pictures),
                checked_pictures(pictures, n_pictures),
            )
        )

    @classmethod
    def _of(cls, parts: _Parts) -> Self:
        """Wrap parts of checked bags without checking them again."""
        bags = cls.__new__(cls)
        bags._set(parts)
        return bags

    def _set(self, parts: _Parts) -> None:
        self._parts = parts
        labels = parts.labels.matrices()
        for matrix in (*parts.views.values(), parts.offsets, *labels, *parts.pictures.values()):
            freeze(matrix)

    def __setstate__(self, state: dict[str, _Parts]) -> None:
        self._set(state["_parts"])  # unpickled arrays are writeable

    @property
    def views(self) -> dict[str, View]:
        """The views of the regions by name, counts (CSR) or embeddings (dense)."""
        return {name: aliased(view) for name, view in self._parts.views.items()}

    @property
    def offsets(self) -> Ints:
        """The first region of each picture, followed by the number of regions."""
        return self._parts.offsets

    @property
    def tags(self) -> Counts | None:
        """Pictures × tags, CSR of 0 and 1; None without captions."""
        return aliased(self._parts.labels.tags)

    @property
    def captions(self) -> Counts:
        """The tags; raises BagsError without captions."""
        if self._parts.labels.tags is None:
            raise BagsError("these bags have no tags: pass `tags` when making them, or use `with_tags`.")
        return aliased(self._parts.labels.tags)

    @property
    def rejected(self) -> Counts | None:
        """The confirmed absences, pictures × tags, CSR of 0 and 1; None if there are none."""
        return aliased(self._parts.labels.rejected)

    @property
    def unknown(self) -> Counts | None:
        """The pairs of which nothing is known, pictures × tags, CSR of 0 and 1; None if there are none."""
        return aliased(self._parts.labels.unknown)

    @property
    def tag_names(self) -> tuple[str, ...] | None:
        """The names of the tags, in column order."""
        return self._parts.labels.names

    @property
    def ids(self) -> tuple[str, ...]:
        """The names of the pictures."""
        return self._parts.ids or tuple(str(i) for i in range(len(self)))

    @property
    def pictures(self) -> dict[str, Floats]:
        """The views of the whole pictures by name."""
        return dict(self._parts.pictures)

    @property
    def n_regions(self) -> int:
        """The total number of regions."""
        return int(self.offsets[-1])

    @property
    def n_tags(self) -> int:
        """The number of tags; 0 without captions."""
        return 0 if self.tags is None else self.tags.shape[1]

    @property
    def shape(self) -> tuple[int]:
        """The number of pictures, in the form that scikit-learn's splitters read."""
        return (len(self),)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __repr__(self) -> str:
        kinds = (
            f"{name}: {_plural(view.shape[1], 'word' if is_sparse(view) else 'dimension')}"
            for name, view in self._parts.views.items()
        )
        labels = self._parts.labels
        sizes = [_plural(len(self), "picture"), _plural(self.n_regions, "region")]
        sizes.append("no tags" if labels.tags is None else _plural(self.n_tags, "tag"))
        more = {"rejected": labels.rejected, "unknown": labels.unknown}
        sizes += [f"{matrix.nnz:,} {name}" for name, matrix in more.items() if matrix is not None]
        return f"Bags({', '.join(sizes)}; {', '.join(kinds)})"

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise BagsError(
            "bags are not a matrix and cannot become an array: use bags.views, or a transformer of bags."
        )

    def __getitem__(self, index: Any) -> "Bags":
        # scikit-learn indexes as bags[rows, ...]
        rows = index[0] if isinstance(index, tuple) and len(index) == 2 and index[1] is Ellipsis else index
        if isinstance(rows, tuple):
            raise BagsError(f"bags have one axis, their pictures, got {rows!r:.60}: use bags[[…]].")
        chosen = checked_index(rows, len(self), "pictures")
        if isinstance(rows, slice) and len(chosen) == len(self) and rows.step in (None, 1):
            return self  # read-only, so no copy is needed
        regions: Any
        regions, offsets = regions_of(self.offsets, chosen)
        if isinstance(rows, slice) and rows.step in (None, 1) and len(chosen):
            regions = slice(int(self.offsets[chosen[0]]), int(self.offsets[chosen[-1] + 1]))
        parts, ids = self._parts, self.ids
        return Bags._of(
            _Parts(
                {name: rows_at(view, regions) for name, view in parts.views.items()},
                offsets,
                parts.labels.rows(chosen),
                tuple(ids[i] for i in chosen),
                {name: view[chosen] for name, view in parts.pictures.items()},
            )
        )

    def shards(self, max_regions: int) -> Iterator[slice]:
        """Yield slices of consecutive pictures with at most ``max_regions`` regions each, or one picture.

        >>> bags = Bags(np.ones((6, 2), int), [0, 2, 3, 6])
        >>> list(bags.shards(3))
        [slice(0, 2, None), slice(2, 3, None)]
        """
        start = 0
        while start < len(self):
            fits = int(np.searchsorted(self.offsets, self.offsets[start] + max_regions, side="right")) - 1
            stop = max(start + 1, min(fits, len(self)))
            yield slice(start, stop)
            start = stop

    def select_tags(self, columns: Any) -> "Bags":
        """Return the same pictures with only these tags (a mask or column indices)."""
        labels = self._parts.labels
        kept = checked_index(columns if labels.tags is not None else [], self.n_tags, "tags")
        return Bags._of(self._parts._replace(labels=labels.columns(kept)))

    def select_views(self, names: Iterable[str]) -> "Bags":
        """Return the same pictures with only these views of their regions; those of whole pictures stay.

        >>> Bags({"net": np.ones((1, 2)), "words": np.ones((1, 3), int)}, [0, 1]).select_views(["net"])
        Bags(1 picture, 1 region, no tags; net: 2 dimensions)
        """
        chosen, own = list(names) if isinstance(names, Iterable) else [names], self._parts.views
        if not chosen or not all(isinstance(name, str) and name in own for name in chosen):
            raise BagsError(f"names must be of views of these bags, got {chosen}: choose of {list(own)}.")
        return Bags._of(self._parts._replace(views={name: own[name] for name in chosen}))

    def with_tags(
        self, tags: Any, tag_names: Sequence[str] | None = None, *, rejected: Any = None, unknown: Any = None
    ) -> "Bags":
        """Return the same pictures with other captions; None removes the captions.

        What was rejected or unknown goes with the old captions: pass it again where it still holds.
        """
        labels = checked_labels(tags, tag_names, len(self), self.tag_names, rejected, unknown)
        return Bags._of(self._parts._replace(labels=labels))

    @staticmethod
    def concat(many: Sequence["Bags"]) -> "Bags":
        """Return all the pictures in order; views, vocabularies and tags must be the same."""
        if not many:
            raise BagsError("concat needs at least one Bags, got none.")
        for bags in many[1:]:
            _check_alike(many[0], bags)
        first = many[0]
        shifts = np.cumsum([0, *(bags.n_regions for bags in many[:-1])])
        offsets = [bags.offsets[:-1] + shift for bags, shift in zip(many, shifts, strict=True)]
        every_id = [name for bags in many for name in bags.ids]
        labels = stacked([bags._parts.labels for bags in many])
        return Bags(
            {name: stack([bags.views[name] for bags in many]) for name in first.views},
            np.concatenate([*offsets, [sum(bags.n_regions for bags in many)]]).astype(np.int64),
            labels.tags,
            labels.names,
            every_id if len(set(every_id)) == len(every_id) else None,
            {name: stack([bags.pictures[name] for bags in many]) for name in first.pictures},
            rejected=labels.rejected,
            unknown=labels.unknown,
        )


def _plural(number: int, what: str) -> str:
    return f"{number:,} {what}" if number == 1 else f"{number:,} {what}s"


def _check_alike(first: Bags, other: Bags) -> None:
    def widths(bags: Bags) -> dict[str, int]:
        return {name: view.shape[1] for name, view in bags.views.items()}

    if widths(first) != widths(other):
        raise BagsError(
            f"bags to join must have the same views and widths, got {widths(first)} and {widths(other)}: "
            "describe them with one vocabulary."
        )
    if first.tag_names != other.tag_names or first.pictures.keys() != other.pictures.keys():
        raise BagsError("bags to join must have the same tags in the same order: use `with_tags` first.")
