"""Where patches lie: the cell of a grid over the picture, counted per region."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tagmix.images.cache import Arrays, Form
from tagmix.images.picture import QuantisedPicture, SampledPicture
from tagmix.images.settings import setting
from tagmix.images.views.base import View, Vocabularies, count_words

# What a region shows depends on its height in the picture more than on its side.
ROWS, COLUMNS = 8, 4
CELLS = ROWS * COLUMNS
PLACE = "place"


class CellView(View):
    """A view that is assembled from the cell of each patch: all of them share one cached array."""

    def key(self) -> str:
        """Return the same key for every setting: cells follow from the patches."""
        return PLACE

    def form(self, n_patches: int, n_regions: int, words: Vocabularies) -> Form:
        """Return one cell per patch."""
        return cell_form(n_patches)

    def describe(self, picture: SampledPicture, words: Vocabularies) -> Arrays:
        """Return the cell of each patch."""
        return {PLACE: cells_of(picture)}

    def sound(self, arrays: Arrays, words: Vocabularies) -> bool:
        """Return whether all are cells of the grid."""
        return are_cells(arrays)


@dataclass(frozen=True)
class Place(CellView):
    """The place of each patch, as a word: one of 8 × 4 cells."""

    name: ClassVar[str] = PLACE
    regions: ClassVar[tuple[str, ...]] = (PLACE,)

    places: bool = setting(True, paper=False, option="--places", help="Use the place of a region.")

    @property
    def on(self) -> bool:
        """Whether places are used."""
        return self.places

    def widths(self, words: Vocabularies) -> dict[str, int]:
        """Return the number of cells."""
        return {PLACE: CELLS}

    def region_views(self, described: Sequence[QuantisedPicture], words: Vocabularies) -> dict[str, Any]:
        """Return how many patches of each region lie in each cell."""
        return {PLACE: count_words(described, PLACE, CELLS)}


def cells_of(picture: SampledPicture) -> NDArray[np.int64]:
    """Return the cell of the pixel in the middle of each patch, counted row by row."""
    height, width = picture.pixels.shape[:2]
    return picture.row * ROWS // height * COLUMNS + picture.column * COLUMNS // width


def cell_form(n_patches: int) -> Form:
    """Return type and shape of the cells of a picture."""
    return {PLACE: (np.min_scalar_type(CELLS), (n_patches,))}


def are_cells(arrays: Arrays) -> bool:
    """Return whether all are cells of the grid."""
    return bool((arrays[PLACE] < CELLS).all())
