"""The views that pictures are described by: one file per view, one line each here."""

from tagmix.images.views.base import View, Vocabularies, WordView
from tagmix.images.views.colour import Colour
from tagmix.images.views.layout import Layout
from tagmix.images.views.network import NetworkView
from tagmix.images.views.place import Place
from tagmix.images.views.sift import Sift

# In the order of the views of Bags. A view comes after those that it needs.
VIEWS: dict[str, type[View]] = {
    "sift": Sift,
    "colour": Colour,
    "place": Place,
    "layout": Layout,
    "network": NetworkView,
}
# Names of matrices that are always the same; those of a network are the names of its outputs.
REGION_VIEWS = tuple(name for view in VIEWS.values() for name in view.regions)
PICTURE_VIEWS = tuple(name for view in VIEWS.values() for name in view.pictures)

__all__ = ["PICTURE_VIEWS", "REGION_VIEWS", "VIEWS", "View", "Vocabularies", "WordView"]
