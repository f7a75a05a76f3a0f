"""A model and its memory: two files that belong together; a kill leaves the old or the new pair.

The memory of ``photos.tagmix`` lies beside it in ``photos.tagmix.training`` and names its model by id. A pair
is saved in three steps, each atomic: the memory under the name ``….training.next``; the model; the memory
under its own name. After a kill in between, that of the two memories which names the model is the right one.
"""

import contextlib
import os
from pathlib import Path
from typing import NamedTuple

from tagmix import storage
from tagmix.annotate import Annotator
from tagmix.errors import ModelFileError
from tagmix.files import load, model_id
from tagmix.learners import ContextEMM, serialise
from tagmix.learners.continued.memory import Memory
from tagmix.learners.continued.packing import KIND, packed, unpacked

SUFFIX, NEXT = ".training", ".training.next"


class Pair(NamedTuple):
    """An annotator, and the memory by which it learns on; None if it has none."""

    annotator: Annotator
    memory: Memory | None


def training_file(path: Path) -> Path:
    """Return the place of the memory of the model in ``path``."""
    return path.with_name(path.name + SUFFIX)


def save_pair(annotator: Annotator, memory: Memory | None, path: Path) -> None:
    """Write a model and its memory; without one, a memory that was there is removed."""
    path = Path(os.path.realpath(path))
    following = path.with_name(path.name + NEXT)
    if memory is not None:
        fields, arrays = packed(memory)
        storage.write(following, KIND, {**fields, "model": model_id(annotator)}, arrays)
    annotator.save(path)
    try:
        if memory is None:
            for old in (training_file(path), following):
                old.unlink(missing_ok=True)
        else:
            os.replace(following, training_file(path))
    except OSError as error:
        raise ModelFileError(
            f"{str(following)!r} could not be renamed ({error.strerror or error}): check the folder"
        ) from error


def load_pair(path: Path) -> Pair:
    """Return a model and its memory; ModelFileError if the memory is of another model, or damaged."""
    path = Path(os.path.realpath(path))
    _settle(path)
    annotator = _annotator(path)
    memory = training_file(path)
    if not memory.exists():
        return Pair(annotator, None)
    file = repr(str(memory))
    contents = storage.read(memory, KIND)
    if contents.fields.get("model") != model_id(annotator):
        raise _strange(path)
    if not isinstance(annotator.model, ContextEMM):
        raise _strange(path)
    fields = {name: value for name, value in contents.fields.items() if name != "model"}
    try:
        return Pair(annotator, unpacked(fields, contents.arrays, annotator.model))
    except serialise.DAMAGE as error:
        raise serialise.unfit(file, error, "train again") from error


def _annotator(path: Path) -> Annotator:
    found = load(path)
    if not isinstance(found, Annotator):
        raise ModelFileError(
            f"{str(path)!r} must hold an annotator, as `tagmix train` saves it: give another file"
        )
    return found


def _settle(path: Path) -> None:
    """Finish a save that was interrupted; one that did not come to the model is overwritten by the next."""
    following = path.with_name(path.name + NEXT)
    if not following.exists():
        return
    with contextlib.suppress(OSError, ModelFileError):
        if storage.read_manifest(following).fields.get("model") == model_id(path):
            os.replace(following, training_file(path))


def _strange(path: Path) -> ModelFileError:
    return ModelFileError(
        f"{str(training_file(path))!r} belongs to another model than {path.name!r}: train again, or put back "
        "the model that it was saved with"
    )
