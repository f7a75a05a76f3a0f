"""The model card of a tagmix file: the facts in it, for people (``card_text``) and as plain values."""

import os
from pathlib import Path
from typing import Any

from tagmix import storage
from tagmix.annotate import Annotator
from tagmix.bags import Bags
from tagmix.card import Card
from tagmix.evaluation.metrics import default_k
from tagmix.files import load, model_id
from tagmix.images.describe import Describer
from tagmix.learners import serialise
from tagmix.learners.calibrate import Calibration
from tagmix.learners.shown import Outcome

FEW = 100  # pictures; with fewer, cross-validated scores are noise
RARE = 10  # pictures of a tag; with fewer, its scores are noise
USE = (
    "Suggesting tags for photos of the same person or collection, to be checked by a person. The model knows "
    "the tags below and no others."
)
GENERAL_LIMITS = (
    "It learnt from captions, with their gaps and habits: a tag that people often left out is predicted too "
    "rarely.",
    "Scores are cross-validated on the training photos; on photos of another person, camera or time they are "
    "lower.",
    "It is not made for recognising people, nor for decisions about people.",
)
PRIVACY = (
    "The file contains the names of the tags and may contain features of its training photos, but no pixels."
)


def facts_of(path: str | os.PathLike[str], *, places: bool = False) -> dict[str, Any]:
    """Return what is known of a tagmix file, as plain values that JSON holds.

    Parts that the file lacks are None or left out. ``places`` adds where the files of networks were.
    """
    thing, manifest = load(path), storage.read_manifest(path)
    facts = {
        "file": Path(path).name,
        "bytes": os.stat(path).st_size,
        "kind": manifest.kind,
        "model_id": model_id(path),
        "written_by": manifest.written_by,
    }
    if isinstance(thing, Bags):
        return facts | _bags(thing)
    if not isinstance(thing, Annotator):
        return facts | _learner(thing, None)
    return facts | _learner(thing.model, thing.card) | _describer(thing.describer, places)


def _bags(bags: Bags) -> dict[str, Any]:
    counts = [] if bags.tags is None else [int(n) for n in bags.tags.sum(axis=0)]
    names = bags.tag_names or [str(i) for i in range(len(counts))]
    return {
        "data": {"pictures": len(bags), "regions": bags.n_regions},
        "views": {name: int(view.shape[1]) for name, view in bags.views.items()},
        "picture_views": {name: int(view.shape[1]) for name, view in bags.pictures.items()},
        "tags": [{"tag": name, "pictures": n} for name, n in zip(names, counts, strict=False)],
    }


def _learner(model: Any, card: Card | None) -> dict[str, Any]:
    calibration: Calibration | None = getattr(model, "calibration_", None)
    facts = {
        "learner": type(model).__name__,
        "data": None if card is None else _data(card),
        "history": [] if card is None else card.plain()["steps"],
        "scores": _scores(model, calibration),
        "tags": _tags(model, card, calibration),
        "settings": {"learner": serialise.pack(model)[0]["parameters"], "views": dict(model.widths_)},
    }
    if hasattr(model, "evidence_"):
        facts["settings"]["evidence_chosen"] = dict(model.evidence_)
    return facts | {"intended_use": USE, "limits": [*_limits(facts), *GENERAL_LIMITS], "privacy": PRIVACY}


def _data(card: Card) -> dict[str, Any]:
    own = ("album", "format", "pictures", "tagged", "unreadable", "regions")
    return {name: getattr(card, name) for name in own} | {"date": card.steps[0].date}


def _scores(model: Any, calibration: Calibration | None) -> dict[str, Any]:
    """Return the cross-validated scores that the file holds."""
    scores: dict[str, Any] = {}
    if hasattr(model, "accuracy_"):
        scores |= {
            "k": default_k(len(model.tag_names_)),
            "top_k_accuracy": float(model.accuracy_),
            "top_k_accuracy_of_most_frequent_tags": float(model.frequency_accuracy_),
        }
    return scores if calibration is None else scores | _shown(calibration.outcome)


def _shown(found: Outcome) -> dict[str, Any]:
    return {
        "expected_precision": _share(found.expected, found.shown),
        "precision": _share(found.right, found.shown),
        "recall": _share(found.right, found.given),
        "pictures_with_shown_tags": _share(found.tagged, found.pictures),
        "counts": found._asdict(),
    }


def _share(part: float, whole: float) -> float | None:
    return float(part / whole) if whole else None


def _tags(model: Any, card: Card | None, calibration: Calibration | None) -> list[dict[str, Any]]:
    """Return every tag with its number of pictures and its scores, as far as known, most pictures first."""
    quality = None if calibration is None else calibration.quality
    rows: list[dict[str, Any]] = []
    for c, name in enumerate(model.tag_names_):
        row: dict[str, Any] = {"tag": name}
        if card is not None:
            row["pictures"] = card.counts[c]
        if quality is not None:
            given, shown, right = (int(part[c]) for part in quality[:3])
            row.setdefault("pictures", given)
            row |= {
                "average_precision": float(quality.average_precision[c]) if given else None,
                "precision": _share(right, shown),
                "recall": _share(right, given),
            }
        rows.append(row)
    return sorted(rows, key=lambda row: (-row.get("pictures", 0), row["tag"]))


def _limits(facts: dict[str, Any]) -> list[str]:
    """Return what the numbers of this model say against it."""
    lines = []
    data, scores = facts["data"], facts["scores"]
    if data is not None and data["tagged"] < FEW:
        lines.append(
            f"It learnt from {data['tagged']} photos with tags: with fewer than {FEW} its scores are noisy "
            "and optimistic."
        )
    if "precision" not in scores:
        lines.append("Its probabilities are not calibrated: they rank tags, and mean no more.")
    rare = [row for row in facts["tags"] if 0 < row.get("pictures", RARE) < RARE]
    if rare:
        lines.append(
            f"{len(rare):,} of {len(facts['tags']):,} tags are on fewer than {RARE} photos: their scores are "
            "noisy."
        )
    return lines


def _describer(describer: Describer, places: bool) -> dict[str, Any]:
    settings = {n: v for n, v in describer.config.settings().items() if n != "network"}
    networks = [
        {
            "name": network.title,
            "size": network.size_shown,
            "sha256": network.settings.sha256,
            **({"place": str(network.place)} if places else {}),
        }
        for network in describer.networks
    ]
    return {"describer": settings, "networks": networks}
