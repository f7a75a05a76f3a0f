"""Write what an experiment came to: a page, its figures, and its numbers as JSON."""

import json
from collections.abc import Mapping, Sequence
from math import isnan
from pathlib import Path
from typing import Any

from tagmix import __version__
from tagmix.errors import TagmixError
from tagmix.evaluation.blocks import quotient
from tagmix.experiments.records import Record
from tagmix.experiments.run import Problem
from tagmix.report.contest.page import contest_figures, contest_page
from tagmix.storage import write_atomic


def write_report(
    out: Path,
    records: Sequence[Record],
    problems: Sequence[Problem],
    *,
    title: str,
    lead: str,
    facts: Mapping[str, str],
    pictures: bool,
) -> Path:
    """Write index.html, figures/*.svg and *.png, and results.json; return the place of the page."""
    if not records:
        raise TagmixError(f"nothing could be measured: {problems[0].reason if problems else 'no task'}")
    failed = {p.task.name: p.reason for p in problems}
    text = contest_page(
        records,
        title=title,
        lead=lead,
        written_by=f"tagmix {__version__}",
        facts={**facts, **failed},
        pictures=pictures,
    )
    folder = out / "figures"
    folder.mkdir(parents=True, exist_ok=True)
    for name, figure in contest_figures(records).items():
        write_atomic(folder / f"{name}.svg", figure.svg.encode())
        write_atomic(folder / f"{name}.png", figure.png())
    results = [_summary(record) for record in records]
    # First of all who wrote it: nothing else of that name is replaced.
    told = json.dumps(
        {"generator": "tagmix", "results": results, "failed": failed}, indent=1, allow_nan=False
    )
    write_atomic(out / "results.json", told.encode())
    write_atomic(out / "index.html", text.encode(errors="replace"))  # half a letter, from a broken name
    return out / "index.html"


def _summary(record: Record) -> dict[str, Any]:
    """Return a record without its rankings, which stay below records/."""
    task = record.task
    return {
        "data": task.data,
        "method": task.method,
        "views": list(task.views),
        "part": task.part,
        "point": dict(task.point),
        "chosen": record.chosen,
        "tried": record.tried,
        "seconds": {name: round(value, 3) for name, value in record.seconds.items()},
        "n_train": record.n_train,
        "n_test": len(record.ids),
        "n_tags": len(record.tag_names),
        "metrics": record.metrics,
        "regions": None if record.regions is None else _region_shares(record),
        "probabilities": None if record.probabilities is None else _probabilities(record),
        "provenance": record.provenance,
    }


def _probabilities(record: Record) -> dict[str, Any]:
    """Return how true its probabilities are and what it shows by them; None for what has no value."""
    own, worth = record.probabilities, record.worth
    if own is None or worth is None:
        return {}
    shares = {name: quotient(parts) for name, parts in worth._asdict().items()}
    return {
        "calibration_error": own.bins.error,
        **{name: None if isnan(share) else share for name, share in shares.items()},
        "bins": {"pairs": own.pairs, "said": own.said, "right": own.right},
    }


def _region_shares(record: Record) -> dict[str, float]:
    regions = record.regions
    if regions is None:
        return {}
    return {
        name: float(parts.gain.sum() / parts.weight.sum())
        for name, parts in (("free", regions.parts(1, False)), ("captioned", regions.parts(1, True)))
    }
