"""Write the results of a comparison: a page, its figures, and its numbers as JSON."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from math import isnan
from pathlib import Path
from typing import Any

from tagmix import __version__
from tagmix.comparison.records import Record
from tagmix.comparison.run import FailedTask
from tagmix.errors import TagmixError
from tagmix.evaluation.blocks import quotient
from tagmix.report.comparison.extras import Extras
from tagmix.report.comparison.page import PLAIN, comparison_figures, comparison_page
from tagmix.storage import write_atomic


def write_report(
    out: Path,
    records: Sequence[Record],
    problems: Sequence[FailedTask],
    *,
    title: str,
    lead: str,
    pictures: bool,
    extras: Extras = PLAIN,
) -> Path:
    """Write index.html, figures/*.svg and *.png, and results.json; return the path of the page."""
    if not records:
        first = f"every task failed, the first with: {problems[0].reason}" if problems else "there is no task"
        raise TagmixError(f"at least one result is needed, got none: {first}")
    failed = {p.task.name: p.reason for p in problems}
    text = comparison_page(
        records,
        title=title,
        lead=lead,
        written_by=f"tagmix {__version__}",
        facts=failed,
        pictures=pictures,
        extras=extras,
    )
    folder = out / "figures"
    folder.mkdir(parents=True, exist_ok=True)
    for name, figure in comparison_figures(records, extras).items():
        write_atomic(folder / f"{name}.svg", figure.svg.encode())
        write_atomic(folder / f"{name}.png", figure.png())
    results = [_summary(record) for record in records]
    # The generator comes first: a file of that name by another program is not replaced.
    text_of_results = json.dumps(
        {"generator": "tagmix", "results": results, "failed": failed}, indent=1, allow_nan=False
    )
    write_atomic(out / "results.json", text_of_results.encode())
    write_atomic(
        out / "index.html", text.encode(errors="replace")
    )  # a lone surrogate, from a broken file name
    return out / "index.html"


def _summary(record: Record) -> dict[str, Any]:
    """Return a record without its rankings, which are in records/."""
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
    """Return the calibration of its probabilities and the metrics of selected tags; None if undefined."""
    own, selection = record.probabilities, record.selection
    if own is None or selection is None:
        return {}
    shares = {name: quotient(parts) for name, parts in selection._asdict().items()}
    return {
        "calibration_error": own.bins.error,
        **{name: None if isnan(share) else share for name, share in shares.items()},
        "bins": {"pairs": own.pairs, "said": own.said, "right": own.right},
        "levels": [asdict(level) for level in own.levels],
    }


def _region_shares(record: Record) -> dict[str, float]:
    regions = record.regions
    if regions is None:
        return {}
    return {
        name: float(parts.gain.sum() / parts.weight.sum())
        for name, parts in (("free", regions.parts(1, False)), ("captioned", regions.parts(1, True)))
    }
