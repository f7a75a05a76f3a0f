"""Read and write every kind of tagmix file: models, annotators, bags."""

import hashlib
import json
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


DIGITS = 12  # of a model id: two models of a lifetime do not share it


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


def model_id(thing: Any) -> str:
    """Return the id of an annotator, a fitted model, or the path of any tagmix file: 12 hexadecimal digits.

    It is a digest of all that decides what is predicted. Two trainings with the same result have the same
    id; the card, the tagmix that wrote the file, and where a network's file lies do not enter. Of a file only
    the manifest is read, which has a digest of the arrays, so this takes no time; ``load`` checks the rest.
    """
    known = storage.read_manifest(thing) if isinstance(thing, str | os.PathLike) else _manifest(thing)
    fields = {name: value for name, value in known.fields.items() if name != annotator_files.CARD}
    content = [known.kind, _placeless(fields), [entry._asdict() for entry in known.entries], known.sha256]
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:DIGITS]


def _manifest(thing: Any) -> storage.Manifest:
    if isinstance(thing, Annotator):
        return storage.manifest_of(*annotator_files.pack(thing.describer, thing.model, thing.implied))
    if isinstance(thing, tuple(LEARNERS.values())):
        return storage.manifest_of(type(thing).__name__, *serialise.pack(thing))
    raise ParameterError(
        f"model_id takes a path, an annotator or a fitted model, got {type(thing).__name__}."
    )


def _placeless(value: Any) -> Any:
    """Return fields without the places of networks, whose digests are there."""
    if isinstance(value, dict):
        return {
            name: _placeless(one)
            for name, one in value.items()
            if name != "place" or not isinstance(one, str)
        }
    return [_placeless(one) for one in value] if isinstance(value, list | tuple) else value
