"""What the formats of an export share: names of files, sizes, counts, and what a person should know."""

import posixpath
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from tagmix.errors import ImageError, printable
from tagmix.images.decode import size_of
from tagmix.library.export.chosen import Chosen

# Tells our files from others. JSON begins with it; a reader of albums ignores it.
MARK = "tagmix export"
GENERATOR = {"generator": MARK}


class Sheet:
    """One export in the making.

    ``base`` is the folder to which paths are relative, ``parents`` has the tags directly above each tag.
    """

    def __init__(self, base: Path, parents: Mapping[str, tuple[str, ...]], problems: list[str]) -> None:
        self.base, self.parents, self.problems = base, parents, problems
        self.photos = self.tagged = self.regions = 0
        self.tags: set[str] = set()
        self.altered: set[str] = set()
        self._left_out = False

    def counted(self, photos: Iterable[Chosen]) -> Iterator[Chosen]:
        """Yield the photos, and count what is in them."""
        for photo in photos:
            self._left_out = False
            yield photo
            if self._left_out:
                continue
            self.photos += 1
            self.tagged += bool(photo.tags)
            self.regions += len(photo.shapes)
            self.tags.update(photo.tags)

    def sized(self, photos: Iterable[Chosen]) -> Iterator[tuple[Chosen, int, int]]:
        """Yield the photos with their heights and widths; those that cannot be opened are problems."""
        for photo in photos:
            try:
                height, width = size_of(photo.path)
            except ImageError as error:
                self.leave_out(photo, error)
                continue
            yield photo, height, width

    def leave_out(self, photo: Chosen, reason: object) -> None:
        """Note why the present photo is not in the export."""
        self.problems.append(f"{printable(photo.place)}: {reason}")
        self._left_out = True

    def name(self, photo: Chosen) -> str:
        """Return the path of a photo as the file has it."""
        return photo.path.relative_to(self.base).as_posix()

    def above(self, tag: str) -> str:
        """Return the tag above a tag, by its name if it says one; empty if there is none."""
        parents = self.parents.get(tag, ())
        named = tag.rpartition("|")[0]
        return named if named in parents or not parents else parents[0]

    def notes(self) -> list[str]:
        """Return what a person should know of the file, one line each."""
        some = sorted(self.altered)
        return [f"tags with ';' are written with ',': {', '.join(map(printable, some[:5]))}"] if some else []


def beside(photo: Path, folder: Path) -> str:
    """Return the path to a photo from a folder, up and down; both without links."""
    return posixpath.relpath(photo.as_posix(), folder.as_posix())
