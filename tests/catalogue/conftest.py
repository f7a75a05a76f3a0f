"""A small library of photos with its catalogue."""

import os

import pytest

from tagmix.catalogue import file_digest, open_catalogue


class Library:
    """A folder of files that stand for photos, and its catalogue, which can be opened again."""

    def __init__(self, folder):
        self.root = folder / "photos"
        self.root.mkdir()
        self.path = folder / "data" / "library.sqlite"
        self.catalogue = open_catalogue(self.path, self.root)

    def put(self, place, content):
        path = self.root / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)

    def note(self, place):
        facts = os.stat(self.root / place)
        digest = file_digest(self.root / place)
        return self.catalogue.photos.note(place, digest, facts.st_size, facts.st_mtime_ns)

    def photo(self, place, content=None):
        self.put(place, content or place.encode())
        return self.note(place).id

    def again(self):
        self.catalogue.close()
        self.catalogue = open_catalogue(self.path, self.root)
        return self.catalogue

    def answers(self, photo):
        return {one.tag: (one.source, one.answer) for one in self.catalogue.verdicts.of(photo)}


@pytest.fixture
def library(tmp_path):
    library = Library(tmp_path)
    yield library
    assert library.catalogue.check() == ()
    assert library.catalogue.mend() == 0, "the stored labels differ from what is said"
    library.catalogue.close()
