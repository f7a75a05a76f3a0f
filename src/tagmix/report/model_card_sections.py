"""A model card as sections, and these as Markdown; the command line prints them as text."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from tagmix.errors import printable
from tagmix.report.markdown import escaped, row_of

Row = Sequence[str]
HEADS = ("Tag", "Photos", "Average precision", "Precision", "Recall")
KEYS = ("pictures", "average_precision", "precision", "recall")
TABLE_NOTE = (
    "Average precision, precision and recall are cross-validated: average precision of the photos ranked by "
    "the tag; precision and recall of the tag where annotate shows it by default. –: never shown, or not "
    "known."
)


class Section(NamedTuple):
    """A part of a card: labelled values, paragraphs, then a table (heads first) with a note."""

    title: str
    rows: Sequence[tuple[str, str]] = ()
    lines: Sequence[str] = ()
    table: Sequence[Row] = ()
    note: str = ""


def sections_of(facts: Mapping[str, Any]) -> list[Section]:
    """Return the sections of a card that have content."""
    sections = [
        Section("", _head(facts)),
        Section("Intended use", lines=[facts["intended_use"]] if "intended_use" in facts else []),
        Section("Limits", lines=facts.get("limits", ())),
        Section("Training data", _data(facts), [facts["privacy"]] if "privacy" in facts else []),
        Section("Scores, cross-validated", _scores(facts.get("scores", {}))),
        Section("Networks", _networks(facts.get("networks", ()))),
        Section("Settings", _settings(facts)),
        Section("History", [(step["date"], _step(step)) for step in facts.get("history", ())]),
        tags_section(facts["tags"]),
    ]
    return [one for one in sections if one.rows or one.lines or len(one.table) > 1]


def _head(facts: Mapping[str, Any]) -> list[tuple[str, str]]:
    rows = [("File", f"{printable(facts['file'])} ({facts['bytes']:,} bytes)")]
    what = {"Annotator": "annotator: what tagmix annotate needs", "Bags": "bags: described pictures"}
    rows.append(("Contents", what.get(facts["kind"], "a learner of the Python library")))
    if "learner" in facts:
        rows.append(("Learner", facts["learner"]))
    return [*rows, ("Model id", facts["model_id"]), ("Written by", printable(facts["written_by"]))]


def _data(facts: Mapping[str, Any]) -> list[tuple[str, str]]:
    data = facts["data"]
    if data is None:
        return [("Album", "not recorded: the file was not written by tagmix train, or by an older one")]
    rows = []
    if "album" in data:
        form = f" ({data['format']})" if data["format"] else ""
        rows += [("Album", f"{data['album']}{form}"), ("Date", data["date"])]
    photos = f"{data['pictures']:,}"
    if "tagged" in data:
        some = "all" if data["tagged"] == data["pictures"] else f"{data['tagged']:,}"
        photos += f", {some} with a tag that is learnt"
    if data.get("unreadable"):
        photos += f"; {data['unreadable']:,} more could not be read"
    return [
        *rows,
        ("Photos", photos),
        ("Regions", f"{data['regions']:,}"),
        ("Tags", f"{len(facts['tags']):,}"),
    ]


def _scores(scores: Mapping[str, Any]) -> list[tuple[str, str]]:
    rows = []
    if "k" in scores:
        usual = scores["top_k_accuracy_of_most_frequent_tags"]
        rows.append(
            (
                f"Top-{scores['k']} accuracy",
                f"{scores['top_k_accuracy']:.3f}; always the most frequent: {usual:.3f}",
            )
        )
    if "precision" in scores:
        expected, achieved = decimal(scores["expected_precision"]), decimal(scores["precision"])
        rows += [
            ("Precision of shown tags", f"{achieved}; expected: {expected}"),
            ("Recall of shown tags", decimal(scores["recall"])),
            ("Photos with shown tags", decimal(scores["pictures_with_shown_tags"])),
        ]
    return rows


def _networks(networks: Sequence[Mapping[str, Any]]) -> list[tuple[str, str]]:
    return [
        (
            printable(one["name"]),
            f"at {one['size']} pixels; SHA-256 {one['sha256']}"
            + (f"; at {printable(one['place'])}" if "place" in one else ""),
        )
        for one in networks
    ]


def _settings(facts: Mapping[str, Any]) -> list[tuple[str, str]]:
    rows = []
    learner = facts.get("settings", {}).get("learner", {})
    if learner:
        rows.append(("Learner", _listed(learner)))
    if chosen := facts.get("settings", {}).get("evidence_chosen"):
        rows.append(("Weight κ", _listed(chosen)))
    if "describer" in facts:
        rows.append(("Description", _listed(facts["describer"])))
    views = facts.get("views") or facts.get("settings", {}).get("views", {})
    return [*rows, *([("Views", _listed(views))] if views else [])]


def _listed(values: Mapping[str, Any]) -> str:
    return printable(", ".join(f"{name} {_plain(value)}" for name, value in values.items()))


def _plain(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else "–" if value is None else str(value)


def _step(step: Mapping[str, Any]) -> str:
    done = "trained on" if step["kind"] == "train" else "updated with"
    note = f": {step['note']}" if step["note"] else ""
    return f"{done} {step['pictures']:,} photos by tagmix {step['version']}{note}"


def tags_section(tags: Sequence[Mapping[str, Any]]) -> Section:
    """Return the table of tags, without columns that no tag has a value for."""
    kept = [key for key in KEYS if any(row.get(key) is not None for row in tags)]
    heads = ["Tag", *(HEADS[1 + KEYS.index(key)] for key in kept)]
    rows = [[printable(row["tag"]), *(_cell(row.get(key)) for key in kept)] for row in tags]
    return Section("Tags", table=[heads, *rows], note=TABLE_NOTE if "recall" in kept else "")


def _cell(value: float | int | None) -> str:
    return f"{value:,}" if isinstance(value, int) else decimal(value)


def decimal(value: float | None) -> str:
    """Return a share with two digits, – for None.

    >>> decimal(0.456), decimal(None)
    ('0.46', '–')
    """
    return "–" if value is None else f"{value:.2f}"


def markdown(facts: Mapping[str, Any]) -> str:
    """Return the card as a Markdown page."""
    blocks = [f"# Model card: {escaped(printable(facts['file']))}"]
    for one in sections_of(facts):
        blocks += [f"## {one.title}"] if one.title else []
        lines = [escaped(line) for line in one.lines]
        blocks += ["\n".join(f"- {line}" for line in lines) if len(lines) > 1 else "".join(lines)]
        blocks += [_markdown_table([("", ""), *one.rows])] if one.rows else []
        blocks += [_markdown_table(one.table)] if len(one.table) > 1 else []
        blocks += [one.note]
    return "\n\n".join(block for block in blocks if block) + "\n"


def _markdown_table(rows: Sequence[Row]) -> str:
    heads, *others = rows
    return "\n".join([row_of(heads), "|" + len(heads) * "---|", *(row_of(row) for row in others)])
