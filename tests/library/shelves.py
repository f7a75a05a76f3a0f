"""A folder of small photos with its catalogue, for tests of what reads a catalogue."""

import os

from PIL import Image

from tagmix.catalogue import file_digest, open_catalogue, place_of

SIZE = (80, 60)


class Shelf:
    """A folder of photos; its catalogue is in the user's folder for data, as the commands expect it."""

    def __init__(self, root):
        self.root = root
        root.mkdir(parents=True)
        self.path = place_of(root)
        self.catalogue = open_catalogue(self.path, root)
        self._number = 0

    def again(self):
        """Open the catalogue again after it was closed."""
        self.catalogue = open_catalogue(self.path, self.root)

    def photo(self, place, human=(), metadata=(), denied=(), size=SIZE):
        """Return the number of a new photo, each of another colour."""
        path = self.root / place
        path.parent.mkdir(parents=True, exist_ok=True)
        self._number += 1
        Image.new("RGB", size, (self._number, 90, 200)).save(path, "PNG")
        facts = os.stat(path)
        noted = self.catalogue.photos.note(place, file_digest(path), facts.st_size, facts.st_mtime_ns)
        self.catalogue.verdicts.found(noted.id, metadata)
        for tag in human:
            self.catalogue.verdicts.set(noted.id, tag, "yes")
        for tag in denied:
            self.catalogue.verdicts.set(noted.id, tag, "no")
        return noted.id

    def guess(self, guesses, regions=()):
        """Record a finished run: {photo: {tag: probability}}, and regions of each photo."""
        run = self.catalogue.runs.begin("tag", "a-model")
        for photo, tags in guesses.items():
            self.catalogue.runs.guess(run, photo, tags)
            self.catalogue.regions.record(run, photo, regions)
        self.catalogue.runs.finish(run)
        return run


def region(tag, box, *rings):
    """Return a region of one polygon: its outer ring, then its holes."""
    return ((tag, 0.9),), box, box[2] * box[3], 0.0, ((tuple(rings),) if rings else ())
