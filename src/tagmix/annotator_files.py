"""A describer and its model in one file, and the checks when they come back from a stranger."""

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from tagmix import storage
from tagmix.errors import ModelFileError, ParameterError, TagmixError
from tagmix.images.describe import Describer
from tagmix.images.network import Network
from tagmix.images.sketch import Recipe, Vocabularies
from tagmix.images.vocabulary import Vocabulary
from tagmix.learners.emm import EMM
from tagmix.learners.files import emm_parts, load_emm

KIND = "Annotator"
MODEL = "model."
# Descriptors lie between 0 and 1; their means do too.
LARGEST_CENTRE = 2.0
# What a word is the mean of: SIFT has 128 numbers, colour six.
DIMENSIONS = {"sift": 128, "colour": 6}


def check_fit(describer: Describer, model: EMM) -> None:
    """Refuse a model whose words are not the describer's."""
    if not hasattr(describer, "vocabularies_") or not hasattr(model, "params_"):
        raise ParameterError(
            "an annotator needs a fitted describer and a fitted model, got one that is not: fit both, or "
            "use tagmix.annotate.train."
        )
    widths = describer.widths()
    if not model.widths_.items() <= widths.items():  # a model need not read every view
        raise ParameterError(
            f"the model was trained on {_shown(model.widths_)}, the describer gives {_shown(widths)}: pass "
            "the describer that made the model's bags."
        )
    experts = () if model.context_ is None else model.context_.prior.experts
    for expert in experts:
        if expert.widths_ != widths:
            raise ParameterError(
                f"the model's context was trained on {_shown(expert.widths_)}, the describer gives "
                f"{_shown(widths)}: pass the describer that made the model's bags."
            )


def _shown(widths: Mapping[str, int]) -> str:
    return ", ".join(f"{width:,} {view} words" for view, width in widths.items())


def save(describer: Describer, model: EMM, path: Path) -> None:
    """Write both into one file."""
    fields, arrays = emm_parts(model)
    words = {f"vocabulary.{view}": v.centres for view, v in describer.vocabularies_._asdict().items() if v}
    inside = {f"{MODEL}{name}": array for name, array in arrays.items()}
    about: dict[str, Any] = {"recipe": asdict(describer.recipe), "model": fields}
    if describer.network is not None:
        about["network"] = describer.network.plain()
    storage.write(path, KIND, about, words | inside)


def load(contents: storage.Contents, file: str) -> tuple[Describer, EMM]:
    """Return what ``save`` wrote, every part checked."""
    fields: Any = contents.fields
    try:
        recipe = Recipe(**fields["recipe"])
        colour = _vocabulary(contents.arrays, "colour") if "vocabulary.colour" in contents.arrays else None
        network = Network.of(fields["network"]) if "network" in fields else None
        words = Vocabularies(_vocabulary(contents.arrays, "sift"), colour)
        describer = Describer.of(recipe, words, network)
        arrays = {k.removeprefix(MODEL): v for k, v in contents.arrays.items() if k.startswith(MODEL)}
        model = load_emm(EMM, storage.Contents("EMM", fields["model"], arrays), file)
        check_fit(describer, model)
    except ModelFileError:
        raise
    except (TagmixError, KeyError, TypeError, ValueError, AttributeError, IndexError, OverflowError) as error:
        raise ModelFileError(
            f"{file} is a tagmix file whose parts do not fit together ({error!s:.200}): train the model "
            "again, or copy it again"
        ) from error
    return describer, model


def _vocabulary(arrays: Mapping[str, Any], view: str) -> Vocabulary:
    centres = arrays[f"vocabulary.{view}"]
    if centres.dtype != np.float32 or centres.ndim != 2 or centres.shape[1] != DIMENSIONS[view]:
        raise ValueError(f"the words of {view} must be float32, words × {DIMENSIONS[view]}")
    if not len(centres) or not np.all(np.abs(centres) <= LARGEST_CENTRE):
        raise ValueError(f"the words of {view} must be numbers up to {LARGEST_CENTRE:g}")
    return Vocabulary(centres)
