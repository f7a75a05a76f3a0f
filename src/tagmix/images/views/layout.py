"""Which colours lie high, in the middle and low: a view of the whole picture."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from tagmix.arrays import Floats
from tagmix.images.picture import QuantisedPicture
from tagmix.images.settings import setting
from tagmix.images.views.base import Vocabularies
from tagmix.images.views.colour import COLOUR
from tagmix.images.views.place import COLUMNS, PLACE, CellView

LAYOUT = "layout"
# The first row of the middle band and that of the lowest, of the eight rows of places.
BANDS = (3, 5)


@dataclass(frozen=True)
class Layout(CellView):
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
