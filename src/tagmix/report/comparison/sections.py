"""The sections of a comparison's page: one per data set and choice of views, and the settings of all."""

from collections.abc import Sequence

from tagmix.report import page
from tagmix.report.comparison.curves import drawing, ranking_panel, region_panels, region_samples
from tagmix.report.comparison.examples import SEED, example_cards, shown_methods
from tagmix.report.comparison.extras import Extras
from tagmix.report.comparison.mistakes import mistakes
from tagmix.report.comparison.names import FREQUENCY, listed, ours_of
from tagmix.report.comparison.probabilities import probabilities
from tagmix.report.comparison.samples import Group
from tagmix.report.comparison.settings import settings_table
from tagmix.report.comparison.tables import (
    metrics_table,
    number,
    regions_table,
    scores_table,
    where_from,
    without_regions,
)
from tagmix.report.comparison.verdict import region_verdict, verdict

METRICS_NOTE = (
    "With folds, top-k accuracy and P@1 are of all pictures together, the others are means over folds. With "
    "several seeds, all are means over seeds."
)
SETTINGS_NOTE = (
    "Chosen inside the training part: by cross-validated top-k accuracy, or by the method's own rule inside "
    "fit. Where folds or seeds chose different values, these are listed in order, separated by strokes."
)
INTERVALS_NOTE = " Bands (coloured lines) and bars (the others) are 95 % intervals over pictures."


def group_section(
    group: Group, in_detail: bool, examples: Sequence[str] | None, pictures: bool, extras: Extras
) -> str:
    """Return all of one group; ``in_detail`` adds mistakes and examples."""
    heads = extras.headings(group)
    parts = [
        _scores(group, in_detail) if group.whole else "",
        extras.claims(group),
        _ranking(group, heads.ranking, extras),
        probabilities(group),
        _regions(group, heads.regions),
        mistakes(group) if in_detail else "",
        _examples(group, examples, pictures, heads.examples) if in_detail else "",
        extras.closing(group),
    ]
    return "\n".join(part for part in parts if part)


def _scores(group: Group, in_detail: bool) -> str:
    best = group.whole[group.order[0]]
    record = best.records[0]
    n_tags = sum(len(own) for r in best.records for own in r.captions) / sum(len(r.ids) for r in best.records)
    facts = (
        f"{group.n_tested:,} test pictures with {n_tags:.1f} of {len(record.tag_names):,} tags each on "
        f"average, {record.n_train:,} training pictures{_folds(len(best.units))}. A perfect ranking reaches "
        f"{number(best.ceiling())}"
    )
    if FREQUENCY in group.whole:
        facts += f", the most frequent tags for every picture {number(group.whole[FREQUENCY].score())}"
    # The verdicts of groups in detail stand at the head of the page.
    outcome = "" if in_detail else f" {verdict(group)}"
    return (
        page.paragraph(f"{facts}.{_seeds(group.n_seeds)}{outcome}")
        + scores_table(group)
        + (page.paragraph(where_from(group), "note") if ours_of(group.whole) else "")
        + page.folded("All metrics", metrics_table(group), page.paragraph(METRICS_NOTE, "note"))
    )


def _folds(n: int) -> str:
    return f" in each of {n} folds" if n > 1 else ""


def _seeds(n: int) -> str:
    if n < 2:
        return ""
    return (
        f" The pictures were described with {n} seeds of patches and words: scores are means over seeds, and "
        "intervals are over pictures."
    )


def _ranking(group: Group, title: str, extras: Extras) -> str:
    note = (
        f"Top-k accuracy by the number of tags shown. Dotted: a perfect ranking. {extras.ranking_note(group)}"
    )
    drawn = [page.figure(drawing(group, [ranking_panel(group)]).svg, note)] if group.whole else []
    drawn += [
        page.figure(drawing(group, [panel]).svg, caption + INTERVALS_NOTE)
        for panel, caption in extras.curves(group).values()
    ]
    return page.subsection(title, page.columns(*drawn) if drawn else "", *extras.after_curves(group))


def _regions(group: Group, title: str) -> str:
    samples = region_samples(group)
    if not samples:
        return ""
    captions = ("With the picture's caption given.", "Without a caption.")
    drawn = [
        page.figure(drawing(group, [panel]).svg, f"Share of regions whose tag is among the k best. {caption}")
        for panel, caption in zip(region_panels(samples), captions, strict=True)
    ]
    pictures_only = without_regions(group, samples)
    note = page.paragraph(pictures_only, "note") if pictures_only else ""
    outcome = region_verdict(samples)
    lead = page.paragraph(outcome, "said") if outcome else ""
    return page.subsection(title, lead, page.columns(*drawn), regions_table(group, samples), note)


def _examples(group: Group, examples: Sequence[str] | None, pictures: bool, title: str) -> str:
    how = f"chosen at random (seed {SEED})" if examples is None else "chosen by name"
    first = f"first {group.k} tags" if group.k > 1 else "first tag"
    legend = (
        f"Test pictures, {how}, with the {first} of {listed(shown_methods(group))}, best first; ✓ marks tags "
        "of the true caption."
    )
    cards = example_cards(group, examples, pictures)
    return page.subsection(title, page.paragraph(legend, "legend"), cards) if cards else ""


def settings_section(groups: Sequence[Group]) -> str:
    """Return the chosen settings of all groups; empty if there are none."""
    tables = [page.folded(group.title, settings_table(group)) for group in groups if group.whole]
    return page.paragraph(SETTINGS_NOTE, "note") + "\n".join(tables) if tables else ""
