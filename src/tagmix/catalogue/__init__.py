"""The catalogue of a library: photos, tags, verdicts by source, and runs, in one SQLite file."""

from tagmix.catalogue.catalogue import Catalogue, open_catalogue
from tagmix.catalogue.hashing import file_digest
from tagmix.catalogue.places import relative_place
from tagmix.catalogue.roots import place_of
from tagmix.catalogue.values import Entry, Noted, Photo, PhotoId, Run, Verdict

__all__ = [
    "Catalogue",
    "Entry",
    "Noted",
    "Photo",
    "PhotoId",
    "Run",
    "Verdict",
    "file_digest",
    "open_catalogue",
    "place_of",
    "relative_place",
]
