"""A describer and its model in one file, and the checks when they are read from an untrusted file."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tagmix import storage
from tagmix.errors import ModelFileError, ParameterError, TagmixError
from tagmix.images.config import DescriberConfig
from tagmix.images.describe import Describer
from tagmix.images.quantise import word_views
from tagmix.images.vocabulary import Vocabulary
from tagmix.learners.emm import EMM
from tagmix.learners.files import emm_parts, load_emm

KIND = "Annotator"
# What the names of arrays begin with.
MODEL, WORDS = "model.", "vocabulary."


def check_fit(describer: Describer, model: EMM) -> None:
    """Refuse a model that was trained on other views than the describer gives."""
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
    words = {f"{WORDS}{view}": own.centres for view, own in describer.vocabularies_.items()}
    inside = {f"{MODEL}{name}": array for name, array in arrays.items()}
    about: dict[str, Any] = {"describer": describer.config.plain(), "model": fields}
    storage.write(path, KIND, about, words | inside)


def load(contents: storage.Contents, file: str) -> tuple[Describer, EMM]:
    """Return what ``save`` wrote, every part checked."""
    fields: Any = contents.fields
    try:
        config = DescriberConfig.from_plain(fields["describer"])
        describer = Describer.of(config, _vocabularies(config, contents.arrays))
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


def _vocabularies(config: DescriberConfig, arrays: Mapping[str, Any]) -> dict[str, Vocabulary]:
    """Return the words of each view that has some; those of other views are refused."""
    views = word_views(config)
    found = {name for name in arrays if name.startswith(WORDS)}
    if found != {f"{WORDS}{view.name}" for view in views}:
        raise ValueError(f"words must be there for {', '.join(view.name for view in views)} and no others")
    return {view.name: view.check_vocabulary(arrays[f"{WORDS}{view.name}"]) for view in views}
