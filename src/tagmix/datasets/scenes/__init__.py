"""Draw the built-in album: captioned scenes with the true tag of every pixel.

The pictures replace an album of holiday photos with loose captions, so that the demo, the guides and the
tests need no download and can be evaluated region by region.
"""

from .album import draw_album
from .scene import KINDS, Noise, Scene, draw_scene
from .tags import GLOBAL_TAGS, TAGS

__all__ = ["GLOBAL_TAGS", "KINDS", "TAGS", "Noise", "Scene", "draw_album", "draw_scene"]
