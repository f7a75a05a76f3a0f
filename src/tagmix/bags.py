"""Bags: images as sets of described regions, with the tags of the whole image."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from scipy.sparse import csr_array, vstack

from tagmix.arrays import Counts, Floats, Ints, is_sparse
from tagmix.bag_checks import (
    View,
    checked_captions,
    checked_index,
    checked_names,
    checked_offsets,
    checked_pictures,
    checked_views,
    freeze,
)
from tagmix.errors import BagsError


class _Parts(NamedTuple):
    views: dict[str, View]
    offsets: Ints
    tags: Counts | None
    tag_names: tuple[str, ...] | None
    ids: tuple[str, ...] | None
    pictures: dict[str, Floats]


class Bags:
    """Images as bags of regions: checked once, then frozen, then cut freely.

    Parameters
    ----------
    instances : counts (regions × words), or views ``{"sift": counts, "network": dense}``. The type
        decides: sparse matrices, and dense ones of a whole-number type, are word counts; dense
        floats are an embedding, whatever their values. Dense counts in floats: ``.astype(int)``.
    offsets : where each image's regions start, closed by the number of regions; from the regions of
        each image, ``np.concatenate([[0], np.cumsum(n)])``.
    tags : a list of tag names for each image, or images × tags of 0 and 1, sparse or dense; None
        where nobody has said.
    tag_names, ids : names of the tags, in column order, and of the images; when left out, tags given
        by name are sorted and others numbered.
    pictures : views of the whole image, ``{"network": images × features}``.

    Legal, because albums have them: regions without words, images with one region or none, images
    without tags, tags that no image has. Indexing by int, slice, mask or integer array gives Bags.

    >>> bags = Bags(np.array([[2, 0, 1], [0, 3, 0], [1, 1, 0]]), [0, 2, 3], tags=[[1, 1], [0, 1]])
    >>> bags
    Bags(2 images, 3 regions, 2 tags; words: 3 words)
    >>> bags[1].views["words"].toarray().tolist()
    [[1, 1, 0]]
    >>> bags.with_tags([["sky", "sea"], ["sky"]]).tag_names
    ('sea', 'sky')
    """

    def __init__(
        self,
        instances: Any,
        offsets: Any,
        tags: Any = None,
        tag_names: Sequence[str] | None = None,
        ids: Sequence[str] | None = None,
        pictures: Mapping[str, Any] | None = None,
    ) -> None:
        views = checked_views(instances)
        starts = checked_offsets(offsets, next(iter(views.values())).shape[0])
        n_images = len(starts) - 1
        self._set(
            _Parts(
                views,
                starts,
                *checked_captions(tags, tag_names, n_images, None),
                checked_names("ids", ids, n_images),
                checked_pictures(pictures, n_images),
            )
        )

    @classmethod
    def _of(cls, parts: _Parts) -> Self:
        """Wrap parts that come from checked bags, without checking them again."""
        bags = cls.__new__(cls)
        bags._set(parts)
        return bags

    def _set(self, parts: _Parts) -> None:
        self._parts = parts
        tags = () if parts.tags is None else (parts.tags,)
        for matrix in (*parts.views.values(), parts.offsets, *tags, *parts.pictures.values()):
            freeze(matrix)

    def __setstate__(self, state: dict[str, _Parts]) -> None:
        self._set(state["_parts"])  # an array comes back from a pickle open to writing

    @property
    def views(self) -> dict[str, View]:
        """The views of the regions by name: CSR of counts or dense embeddings."""
        return {name: _outside(view) for name, view in self._parts.views.items()}

    @property
    def offsets(self) -> Ints:
        """Where each image's regions start, closed by their number."""
        return self._parts.offsets

    @property
    def tags(self) -> Counts | None:
        """Images × tags, CSR of 0 and 1; None when the bags carry no captions."""
        return None if self._parts.tags is None else _outside(self._parts.tags)

    @property
    def captions(self) -> Counts:
        """The tags, for those who cannot do without them."""
        if self._parts.tags is None:
            raise BagsError("these bags have no tags: pass `tags` when making them, or use `with_tags`.")
        return _outside(self._parts.tags)

    @property
    def tag_names(self) -> tuple[str, ...] | None:
        """The names of the tags, in column order."""
        return self._parts.tag_names

    @property
    def ids(self) -> tuple[str, ...]:
        """The names of the images."""
        return self._parts.ids or tuple(str(i) for i in range(len(self)))

    @property
    def pictures(self) -> dict[str, Floats]:
        """The views of the whole images by name."""
        return dict(self._parts.pictures)

    @property
    def n_regions(self) -> int:
        """The number of regions of all images together."""
        return int(self.offsets[-1])

    @property
    def n_tags(self) -> int:
        """The number of tags; 0 when the bags carry no captions."""
        return 0 if self.tags is None else self.tags.shape[1]

    @property
    def shape(self) -> tuple[int]:
        """The number of images, as scikit-learn's splitters ask for it."""
        return (len(self),)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __repr__(self) -> str:
        kinds = (
            f"{name}: {_some(view.shape[1], 'word' if is_sparse(view) else 'dimension')}"
            for name, view in self._parts.views.items()
        )
        tags = "no tags" if self.tags is None else _some(self.n_tags, "tag")
        sizes = f"{_some(len(self), 'image')}, {_some(self.n_regions, 'region')}, {tags}"
        return f"Bags({sizes}; {', '.join(kinds)})"

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise BagsError(
            "bags are not a matrix and cannot become an array: take one of bags.views, or a step for bags."
        )

    def __getitem__(self, index: Any) -> "Bags":
        # scikit-learn asks for bags[rows, ...]
        rows = index[0] if isinstance(index, tuple) and len(index) == 2 and index[1] is Ellipsis else index
        if isinstance(rows, tuple):
            raise BagsError(f"bags have one axis, their images, got {rows!r:.60}: use bags[[…]] for a list.")
        images = checked_index(rows, len(self), "images")
        if isinstance(rows, slice) and len(images) == len(self) and rows.step in (None, 1):
            return self  # frozen, so the whole may stand for its copy
        regions: Any
        regions, offsets = _regions_of(self.offsets, images)
        if isinstance(rows, slice) and rows.step in (None, 1) and len(images):
            regions = slice(int(self.offsets[images[0]]), int(self.offsets[images[-1] + 1]))
        parts, ids = self._parts, self.ids
        return Bags._of(
            _Parts(
                {name: _rows(view, regions) for name, view in parts.views.items()},
                offsets,
                None if parts.tags is None else parts.tags[images],
                parts.tag_names,
                tuple(ids[i] for i in images),
                {name: view[images] for name, view in parts.pictures.items()},
            )
        )

    def shards(self, max_regions: int) -> Iterator[slice]:
        """Yield slices of neighbouring images with at most ``max_regions`` regions, or one image.

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
        """Return the same images with only these tags (a mask or column numbers)."""
        if self.tags is None or self.tag_names is None:
            raise BagsError("these bags have no tags to select from: pass `tags` when making them.")
        kept = checked_index(columns, self.n_tags, "tags")
        names = checked_names("selected tags", [self.tag_names[i] for i in kept], len(kept))
        return Bags._of(self._parts._replace(tags=csr_array(self.tags[:, kept]), tag_names=names))

    def with_tags(self, tags: Any, tag_names: Sequence[str] | None = None) -> "Bags":
        """Return the same images with other captions; None takes the captions away."""
        matrix, names = checked_captions(tags, tag_names, len(self), self.tag_names)
        return Bags._of(self._parts._replace(tags=matrix, tag_names=names))

    @staticmethod
    def concat(many: Sequence["Bags"]) -> "Bags":
        """Return the images of all, in order; views, vocabularies and tags must be the same."""
        if not many:
            raise BagsError("concat needs at least one Bags, got none.")
        for bags in many[1:]:
            _check_alike(many[0], bags)
        first = many[0]
        shifts = np.cumsum([0, *(bags.n_regions for bags in many[:-1])])
        offsets = [bags.offsets[:-1] + shift for bags, shift in zip(many, shifts, strict=True)]
        every_id = [name for bags in many for name in bags.ids]
        return Bags(
            {name: _stack([bags.views[name] for bags in many]) for name in first.views},
            np.concatenate([*offsets, [sum(bags.n_regions for bags in many)]]).astype(np.int64),
            None if first.tags is None else _stack([bags.tags for bags in many if bags.tags is not None]),
            first.tag_names,
            every_id if len(set(every_id)) == len(every_id) else None,
            {name: _stack([bags.pictures[name] for bags in many]) for name in first.pictures},
        )


def _some(number: int, what: str) -> str:
    return f"{number:,} {what}" if number == 1 else f"{number:,} {what}s"


def _regions_of(offsets: Ints, images: Ints) -> tuple[Ints, Ints]:
    """Return the region numbers of these images and the offsets of the bags they make."""
    lengths = offsets[images + 1] - offsets[images]
    starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    regions = np.arange(starts[-1]) + np.repeat(offsets[images] - starts[:-1], lengths)
    return regions, starts


def _outside(view: Any) -> Any:
    """Return a matrix of its own over the same frozen arrays: what is assigned to it stays outside."""
    if not is_sparse(view):
        return view
    return csr_array((view.data, view.indices, view.indptr), shape=view.shape, copy=False)


def _rows(view: Any, regions: Any) -> Any:
    """Return these rows; neighbours share memory with the whole, so that shards cost nothing."""
    if not (is_sparse(view) and isinstance(regions, slice)):
        return view[regions]
    starts = view.indptr[regions.start : regions.stop + 1]
    part = slice(starts[0], starts[-1])
    parts = (view.data[part], view.indices[part], starts - starts[0])
    return csr_array(parts, shape=(len(starts) - 1, view.shape[1]), copy=False)


def _stack(views: list[Any]) -> Any:
    return csr_array(vstack(views, format="csr")) if is_sparse(views[0]) else np.vstack(views)


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
