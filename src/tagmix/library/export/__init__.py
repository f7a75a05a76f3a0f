"""Export the photos of a catalogue with their tags: COCO, LabelMe, CSV, JSON lines.

Photos pass one by one, so that memory does not grow with their number. A new format is one file with a
function that yields blocks of bytes, and a line in ``files.BLOCKS``.
"""

from tagmix.library.export.chosen import Choice
from tagmix.library.export.files import FORMATS, Exported, check_target, export

__all__ = ["FORMATS", "Choice", "Exported", "check_target", "export"]
