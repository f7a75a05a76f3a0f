"""Which colours lie high, in the middle and low: a view of the whole picture."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from tagmix.arrays import Floats
from tagmix.images.cache import Arrays, Form
from tagmix.images.picture import QuantisedPicture, SampledPicture
from tagmix.images.settings import setting
from tagmix.images.views.base import View, Vocabularies
from tagmix.images.views.colour import COLOUR
from tagmix.images.views.place import COLUMNS, PLACE, are_cells, cell_form, cells_of

LAYOUT = "layout"
# The first row of the middle band and that of the lowest, of the eight rows of places.
BANDS = (3, 5)


@dataclass(frozen=True)
class Layout(View):
    """Shares of the colour words in three bands of the picture; it needs the colour words."""

    name: ClassVar[str] = LAYOUT
    pictures: ClassVar[tuple[str, ...]] = (LAYOUT,)
    needs: ClassVar[tuple[str, ...]] = (COLOUR,)

    layout: bool = setting(
        True, paper=False, option="--layout",
        help="Describe the whole picture by its colours at the top, in the middle and at the bottom.",
    )  # fmt: skip

    @property
    def on(self) -> bool:
        """Whether the layout is used."""
        return self.layout

    def key(self) -> str:
        """Return the key of the cells: they are all that is cached."""
        return PLACE

    def form(self, n_patches: int, n_regions: int, words: Vocabularies) -> Form:
        """Return one cell per patch; the same array as that of the view of places."""
        return cell_form(n_patches)

    def describe(self, picture: SampledPicture, words: Vocabularies) -> Arrays:
        """Return the cell of each patch."""
        return {PLACE: cells_of(picture)}

    def sound(self, arrays: Arrays, words: Vocabularies) -> bool:
        """Return whether all are cells of the grid."""
        return are_cells(arrays)

    def picture_views(self, described: Sequence[QuantisedPicture], words: Vocabularies) -> dict[str, Any]:
        """Return the roots of the shares, pictures × (bands × colours)."""
        return {LAYOUT: layout_of(described, words[COLOUR].n_words)}


def layout_of(described: Sequence[QuantisedPicture], n_colours: int) -> Floats:
    """Return the roots of colours' shares in three bands, pictures × (bands × colours).

    A sea is blue below and a sky above: the place of a colour separates pictures that have the same colours.
    """
    out = np.zeros((len(described), (len(BANDS) + 1) * n_colours))
    for row, picture in zip(out, described, strict=True):
        band = np.searchsorted(BANDS, picture.arrays[PLACE] // COLUMNS, side="right")
        np.add.at(row, band * n_colours + picture.arrays[COLOUR].astype(np.int64), 1.0)
        parts = row.reshape(-1, n_colours)
        parts /= np.maximum(parts.sum(axis=1, keepdims=True), 1.0)
    return np.sqrt(out)
