"""Read and write every kind of tagmix file: models, annotators, bags."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tagmix import annotator_files, storage
from tagmix.annotate import Annotator
from tagmix.bags import Bags
from tagmix.errors import ModelFileError, ParameterError
from tagmix.learners import LEARNERS, serialise
from tagmix.storage.bags import load_bags, save_bags

READERS: dict[str, Callable[[storage.Contents, str], Any]] = {
    "Bags": load_bags,
    annotator_files.KIND: lambda contents, file: Annotator(*annotator_files.load(contents, file)),
}


def load(path: str | os.PathLike[str]) -> Any:
    """Return the model, annotator or bags in a file that ``save`` wrote; nothing in it is ever executed."""
    contents = storage.read(path)
    file = repr(os.fspath(path))  # quoted, so that no name can break the message into lines
    if contents.kind in LEARNERS:
        return serialise.load(LEARNERS[contents.kind], contents, file)
    if contents.kind not in READERS:
        known = ", ".join((*LEARNERS, *READERS))
        raise ModelFileError(f"{file} holds a {contents.kind!r}, this tagmix reads {known}: upgrade tagmix")
    return READERS[contents.kind](contents, file)


def save(thing: Any, path: str | os.PathLike[str]) -> None:
    """Write a fitted model, an annotator or bags into one file."""
    storable: tuple[type[Any], ...] = (Bags, Annotator, *LEARNERS.values())
    if not isinstance(thing, storable) or not isinstance(path, str | os.PathLike):
        raise ParameterError(
            f"save takes a model or bags and then a path, got {type(thing).__name__} and "
            f"{type(path).__name__}: call save(thing, path)."
        )
    if isinstance(thing, Bags):
        save_bags(thing, Path(path))
    else:
        thing.save(path)
