"""Expected precision against achieved precision, at each precision that was asked for."""

from collections.abc import Sequence

from tagmix.comparison.levels import LEVELS, Level
from tagmix.comparison.records import Record
from tagmix.report import page
from tagmix.report.comparison.names import label
from tagmix.report.comparison.samples import MethodSample
from tagmix.report.comparison.tables import NONE, number
from tagmix.report.page import Cell, Line

HEADS = ("Precision asked for", "Expected", "Achieved", "Recall", "Pictures without a tag")
NOTE = (
    "{name}, asked for a precision: the threshold is learnt on training pictures by cross-validation. "
    "Expected is the mean probability of the tags shown, achieved the share of them that is right on test "
    "pictures."
)

Reached = Sequence[tuple[Record, Level]]


def level_table(sample: MethodSample) -> str:
    """Return a line per precision asked for; empty if no record was asked."""
    found = {asked: _reached(sample, asked) for asked in LEVELS}
    if not any(found.values()):
        return ""
    lines = [
        Line(f"{asked:.1f}", _unreached(len(sample.records) - len(own)), _cells(own))
        for asked, own in found.items()
    ]
    note = page.paragraph(NOTE.format(name=label(sample.method).name), "note")
    return note + page.grid(HEADS, lines)


def _reached(sample: MethodSample, asked: float) -> Reached:
    return [
        (record, level)
        for record in sample.records
        for level in (record.probabilities.levels if record.probabilities else ())
        if level.asked == asked
    ]


def _unreached(n_models: int) -> str:
    return f"not reached by {n_models} model{'s' * (n_models > 1)}, left out" if n_models else ""


def _cells(found: Reached) -> list[Cell]:
    """Return expected and achieved precision, recall, and the share of pictures without a tag."""
    shown = sum(level.shown for _, level in found)
    if not shown:
        return [Cell(NONE)] * (len(HEADS) - 1)
    right = sum(level.right for _, level in found)
    given = sum(len(caption) for record, _ in found for caption in record.captions)
    pictures = sum(len(record.ids) for record, _ in found)
    expected = sum(level.expected for _, level in found) / shown
    none = sum(level.none for _, level in found) / pictures
    shares = (expected, right / shown, right / max(1, given), none)
    notes = ("", f"{right:,} of {shown:,}", "", "")
    return [Cell(number(share), note, share) for share, note in zip(shares, notes, strict=True)]
