"""The catalogue of a library: photos, tags, verdicts by source, and runs, in one SQLite file."""

from tagmix.catalogue.catalogue import Catalogue, open_catalogue
from tagmix.catalogue.hashing import file_digest
from tagmix.catalogue.lessons import Lesson
from tagmix.catalogue.places import relative_place
from tagmix.catalogue.regions import RegionRecord, RegionVerdict
from tagmix.catalogue.roots import known_libraries, place_of
from tagmix.catalogue.scan import Unreadable
from tagmix.catalogue.search import Found
from tagmix.catalogue.similar import Alike
from tagmix.catalogue.tag_list import TagInfo
from tagmix.catalogue.values import Entry, Noted, Photo, PhotoId, Run, Verdict

__all__ = [
    "Alike",
    "Catalogue",
    "Entry",
    "Found",
    "Lesson",
    "Noted",
    "Photo",
    "PhotoId",
    "RegionRecord",
    "RegionVerdict",
    "Run",
    "TagInfo",
    "Unreadable",
    "Verdict",
    "file_digest",
    "known_libraries",
    "open_catalogue",
    "place_of",
    "relative_place",
]
