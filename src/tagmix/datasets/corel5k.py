"""Corel5k as text files: a list of words, lists of pictures, and word numbers per picture."""

import os
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from tagmix.datasets.album import Album
from tagmix.datasets.collect import Collector
from tagmix.datasets.elements import checked_folder
from tagmix.datasets.files import read_text
from tagmix.datasets.paths import contained, holds, shown
from tagmix.errors import AlbumError
from tagmix.images.decode import PICTURE_SUFFIXES as SUFFIXES
from tagmix.tag_names import normal_name

WORDS = ("words.txt", "dictionary.txt")
SPLITS = ("train", "val", "test")
FOLDERS = ("", "images", "Images")


def read_corel5k(path: str | os.PathLike[str], *, first: int = 1) -> Album:
    """Return the album in a folder of Corel5k's text files; word numbers start at ``first``."""
    root = checked_folder(path, "a folder with Corel5k's text files")
    collector = Collector(root)
    texts = sorted(name for name in os.listdir(root) if name.lower().endswith(".txt"))
    words = _words(texts, collector)
    splits = {
        entry: split for split in SPLITS for _, entry in _lines(texts, (f"{split}_list.txt",), collector)
    }
    if not words or not splits:
        raise AlbumError(
            f"{shown(root.name)} must have *words.txt (or *dictionary.txt) and *train_list.txt or "
            "*test_list.txt: check the format"
        )
    tags = _tags(texts, words, first, collector)
    for entry, split in splits.items():
        stated = tags.pop(_key(entry), None)
        if stated is None:
            collector.problem(f"{split}_list.txt", f"{shown(entry)} has no annotation")
        image = _image(entry, collector)
        collector.add(f"{split}_list.txt", {"image": image, "tags": stated or [], "split": split})
    for entry in tags:
        collector.problem("annotations", f"{shown(entry)} is not in a list")
    return collector.album()


def _lines(texts: list[str], endings: tuple[str, ...], collector: Collector) -> Iterator[tuple[str, str]]:
    """Yield position and text of every line in files with these endings."""
    for name in texts:
        if name.lower().endswith(endings):
            with collector.setting_aside(name):
                text = read_text(contained(collector.root, name))
                for number, line in enumerate(text.split("\n"), 1):
                    if line.strip():
                        yield f"{name} line {number}", line.strip()


def _words(texts: list[str], collector: Collector) -> list[str]:
    return [normal_name(line) for _, line in _lines(texts, WORDS, collector)]


def _tags(texts: list[str], words: list[str], first: int, collector: Collector) -> dict[str, list[str]]:
    """Return the words of each picture from lines ``picture number number …``."""
    tags: dict[str, list[str]] = {}
    for where, line in _lines(texts, ("annot.txt", "annotation.txt", "annotations.txt"), collector):
        entry, *numbers = line.split()
        if _key(entry) in tags:
            collector.problem(where, f"{shown(entry)} occurs twice: the first line is used")
            continue
        if not numbers:
            collector.problem(where, f"{shown(entry)} has no words")
        tags[_key(entry)] = []
        for number in numbers:
            place = int(number) - first if number.isascii() and number.isdigit() and len(number) < 10 else -1
            if 0 <= place < len(words):
                tags[_key(entry)].append(words[place])
            else:
                collector.problem(where, f"{shown(number)} is not the number of a word")
    return tags


def _key(entry: str) -> str:
    """Return the name without folder and ending: ``1000/1001.jpeg`` in lists is ``1001`` in annotations."""
    name = PurePosixPath(entry.replace("\\", "/")).name
    stem, dot, suffix = name.rpartition(".")
    return stem if f"{dot}{suffix}".lower() in SUFFIXES else name


def _image(entry: str, collector: Collector) -> str:
    """Return the path of a picture, as listed or below ``images``; adds the ending if the list has none."""
    has_ending = Path(entry).suffix.lower() in SUFFIXES
    endings = ("",) if has_ending else tuple(sorted(SUFFIXES))
    for folder in FOLDERS:
        for ending in endings:
            place = f"{folder}/{entry}{ending}".lstrip("/") if folder else f"{entry}{ending}"
            if holds(collector.root, place):
                return place
    return entry
