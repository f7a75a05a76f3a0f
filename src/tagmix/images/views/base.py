"""The interface of a view, views of visual words, and helpers that assemble arrays into matrices of Bags."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from tagmix.images.cache import Arrays, Form
from tagmix.images.picture import QuantisedPicture, SampledPicture
from tagmix.images.settings import check_settings, plain_values
from tagmix.images.vocabulary import Vocabulary

Vocabularies: TypeAlias = Mapping[str, Vocabulary]

# Descriptors lie between 0 and 1; their means do too.
LARGEST_CENTRE = 2.0


@dataclass(frozen=True)
class View:
    """A description of pictures: its settings are its fields, each made by ``settings.setting``.

    A view describes a picture by arrays, which are cached, and assembles the arrays of many pictures into
    matrices: of regions (one row per region: sparse counts or dense numbers) and of whole pictures (one
    row per picture). ``regions`` and ``pictures`` are the names of these matrices, ``needs`` the views
    without which this one is left out. Arrays of a view with ``own_cache`` are cached in a file of their
    own, because they are expensive and do not depend on words.
    """

    name: ClassVar[str]
    regions: ClassVar[tuple[str, ...]] = ()
    pictures: ClassVar[tuple[str, ...]] = ()
    needs: ClassVar[tuple[str, ...]] = ()
    own_cache: ClassVar[bool] = False

    def __post_init__(self) -> None:
        check_settings(self)

    @classmethod
    def create(cls, **settings: Any) -> Self:
        """Return the view of settings as a person gives them."""
        return cls(**settings)

    @classmethod
    def from_plain(cls, kept: Any) -> Self:
        """Return the view of what ``plain`` gave, every value checked: the file is not trusted."""
        return cls(**kept)

    def plain(self) -> dict[str, Any]:
        """Return the settings as values that a file holds."""
        return plain_values(self)

    def opened(self, folder: Path | None) -> Self:
        """Return the view ready for work, files that it needs found and checked; called once per run.

        ``folder`` is where files that can be made again are kept, None for a temporary place.
        """
        return self

    @property
    def on(self) -> bool:
        """Whether the settings turn this view on."""
        return True

    def key(self) -> str:
        """Return the part of a cache key that the arrays follow from, vocabularies apart."""
        return repr(self)

    def region_names(self) -> tuple[str, ...]:
        """Return the names of the matrices of regions."""
        return self.regions

    def picture_names(self) -> tuple[str, ...]:
        """Return the names of the matrices of whole pictures."""
        return self.pictures

    def widths(self, words: Vocabularies) -> dict[str, int]:
        """Return the number of columns of each matrix of regions."""
        return {}

    def form(self, n_patches: int, n_regions: int, words: Vocabularies) -> Form:
        """Return type and shape of each cached array of a picture."""
        return {}

    def describe(self, picture: SampledPicture, words: Vocabularies) -> Arrays:
        """Return the arrays of a picture."""
        return {}

    def sound(self, arrays: Arrays, words: Vocabularies) -> bool:
        """Return whether arrays from a cache have possible values; their form was checked."""
        return True

    def region_views(self, described: Sequence[QuantisedPicture], words: Vocabularies) -> dict[str, Any]:
        """Return the matrices of regions."""
        return {}

    def picture_views(self, described: Sequence[QuantisedPicture], words: Vocabularies) -> dict[str, Any]:
        """Return the matrices of whole pictures."""
        return {}


@dataclass(frozen=True)
class WordView(View, ABC):
    """A view of visual words: descriptors of patches, each replaced by its nearest centres."""

    dimensions: ClassVar[int]

    @property
    @abstractmethod
    def size(self) -> int:
        """The number of words to learn."""

    def learning_key(self) -> str:
        """Return the part of a cache key that ``examples`` follow from."""
        return ""

    @abstractmethod
    def examples(self, picture: SampledPicture) -> NDArray[np.float32]:
        """Return the descriptors to learn words from, one row per patch."""

    def words_per_patch(self, n_words: int) -> int:
        """Return how many words of a vocabulary of this size a patch counts."""
        return 1

    def widths(self, words: Vocabularies) -> dict[str, int]:
        """Return the number of words."""
        return {self.name: words[self.name].n_words}

    def form(self, n_patches: int, n_regions: int, words: Vocabularies) -> Form:
        """Return the smallest whole numbers that hold the words."""
        n = words[self.name].n_words
        return {self.name: (np.min_scalar_type(n), (self.words_per_patch(n) * n_patches,))}

    def sound(self, arrays: Arrays, words: Vocabularies) -> bool:
        """Return whether all are words of the vocabulary."""
        return bool((arrays[self.name] < words[self.name].n_words).all())

    def region_views(self, described: Sequence[QuantisedPicture], words: Vocabularies) -> dict[str, Any]:
        """Return how often each word occurs in each region."""
        return {self.name: count_words(described, self.name, words[self.name].n_words)}

    def check_vocabulary(self, centres: NDArray[Any]) -> Vocabulary:
        """Return the vocabulary of centres from a file; ValueError if it is none of this view."""
        if centres.dtype != np.float32 or centres.ndim != 2 or centres.shape[1] != self.dimensions:
            raise ValueError(f"the words of {self.name} must be float32, words × {self.dimensions}")
        if not 1 <= len(centres) <= self.size or not np.all(np.abs(centres) <= LARGEST_CENTRE):
            raise ValueError(
                f"the words of {self.name} must be 1 to {self.size:,} rows of numbers up to "
                f"{LARGEST_CENTRE:g}"
            )
        return Vocabulary(centres)


def count_words(described: Sequence[QuantisedPicture], name: str, width: int) -> Any:
    """Return regions × words: how often each word occurs in each region.

    Where a patch has several words (mirrored, or the nearest ones), all count in the patch's region.
    """
    starts = np.cumsum([0, *(picture.n_regions for picture in described)])
    rows = [
        np.tile(picture.region + start, len(picture.arrays[name]) // len(picture.region))
        for picture, start in zip(described, starts, strict=False)
    ]
    region, words = np.concatenate(rows), np.concatenate([picture.arrays[name] for picture in described])
    ones = np.ones(len(region), dtype=np.int64)
    return csr_array((ones, (region, words)), shape=(int(starts[-1]), width))


def stack(described: Sequence[QuantisedPicture], name: str) -> NDArray[np.float32]:
    """Return an array of all pictures below each other: rows of regions, or one row per picture."""
    return np.vstack([picture.arrays[name] for picture in described], dtype=np.float32)
