"""A describer and its model in one file, and the checks when they are read from an untrusted file."""

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from tagmix import storage
from tagmix.card import Card, check_counts
from tagmix.errors import ParameterError, TagmixError
from tagmix.images.config import DescriberConfig
from tagmix.images.describe import Describer
from tagmix.images.quantise import word_views
from tagmix.images.vocabulary import Vocabulary
from tagmix.kernels import active
from tagmix.learners import EMM, ContextEMM, serialise
from tagmix.learners.mixture import MixtureEstimator

KIND = "Annotator"
MODELS: dict[str, type[MixtureEstimator]] = {"ContextEMM": ContextEMM, "EMM": EMM}
# What the names of arrays begin with.
MODEL, WORDS = "model.", "vocabulary."
CARD = "card"  # the field that only describes the model
IMPLIED = "implied"


def check_fit(describer: Describer, model: MixtureEstimator) -> None:
    """Refuse a model that was trained on other views than the describer gives."""
    if not hasattr(describer, "vocabularies_") or not hasattr(model, "settings_"):
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
    for expert in model.prior_.experts if isinstance(model, ContextEMM) else ():
        if expert.widths_ != widths:
            raise ParameterError(
                f"the model's context was trained on {_shown(expert.widths_)}, the describer gives "
                f"{_shown(widths)}: pass the describer that made the model's bags."
            )


def _shown(widths: Mapping[str, int]) -> str:
    return ", ".join(f"{width:,} {view} words" for view, width in widths.items())


def save(
    describer: Describer,
    model: MixtureEstimator,
    card: Card | None,
    path: Path,
    implied: Collection[str] = (),
) -> None:
    """Write both into one file, with the card if there is one, and the implied tags by their columns."""
    kind, fields, arrays = pack(describer, model, implied)
    own: dict[str, Any] = {} if card is None else {CARD: card.plain()}
    storage.write(path, kind, fields | own, arrays)


def pack(
    describer: Describer, model: MixtureEstimator, implied: Collection[str] = ()
) -> tuple[str, dict[str, Any], dict[str, Any]]:
    """Return kind, fields and arrays that all are stored as but the card: what a model's id is made of."""
    fields, arrays = serialise.pack(model, MODEL)
    words = {f"{WORDS}{view}": own.centres for view, own in describer.vocabularies_.items()}
    about: dict[str, Any] = {
        "describer": describer.config.plain(),
        "kind": type(model).__name__,
        "model": fields,
    }
    if implied:
        about[IMPLIED] = [model.tag_names_.index(tag) for tag in implied]
    return KIND, about, words | arrays


def load(
    contents: storage.Contents, file: str
) -> tuple[Describer, MixtureEstimator, Card | None, tuple[str, ...]]:
    """Return what ``save`` wrote, every part checked; older files have no card and no implied tags."""
    fields: Any = contents.fields
    active()  # what is wrong with the environment is not the file's fault
    try:
        config = DescriberConfig.from_plain(fields["describer"])
        describer = Describer.of(config, _vocabularies(config, contents.arrays))
        model = serialise.unpack(MODELS[fields["kind"]], fields["model"], contents.arrays, MODEL)
        check_fit(describer, model)
        card = Card.of(fields[CARD]) if CARD in fields else None
        check_counts(card, model.tag_names_)
        implied = _implied(fields.get(IMPLIED, []), model.tag_names_)
    except (TagmixError, *serialise.DAMAGE) as error:
        raise serialise.unfit(file, error, "train the model again, or copy it again") from error
    return describer, model, card, implied


def _implied(columns: Any, names: Sequence[str]) -> tuple[str, ...]:
    if not isinstance(columns, list) or not all(type(i) is int and 0 <= i < len(names) for i in columns):
        raise ValueError(f"implied tags must be columns of the model's {len(names)} tags")
    return tuple(names[i] for i in columns)


def _vocabularies(config: DescriberConfig, arrays: Mapping[str, Any]) -> dict[str, Vocabulary]:
    """Return the words of each view that has some; those of other views are refused."""
    views = word_views(config)
    found = {name for name in arrays if name.startswith(WORDS)}
    if found != {f"{WORDS}{view.name}" for view in views}:
        raise ValueError(f"words must be there for {', '.join(view.name for view in views)} and no others")
    return {view.name: view.check_vocabulary(arrays[f"{WORDS}{view.name}"]) for view in views}
