"""Draw the built-in album: captioned scenes whose every pixel is known.

The pictures stand in for an album of holiday snaps with loose captions, so that the demo, the tutorials
and the tests need no download and can be judged region by region.
"""

from .album import draw_album
from .scene import KINDS, Noise, Scene, draw_scene
from .tags import GLOBAL_TAGS, TAGS

__all__ = ["GLOBAL_TAGS", "KINDS", "TAGS", "Noise", "Scene", "draw_album", "draw_scene"]
