"""The sections of a contest's page: one for each data set and choice of words, and those about all."""

from collections.abc import Iterable, Sequence

from tagmix.report import page
from tagmix.report.contest.ablation import ablation, cut_otherwise
from tagmix.report.contest.curves import (
    curve_points,
    drawing,
    figure_2,
    other_curves,
    points_panel,
    reference,
    region_panels,
    region_samples,
)
from tagmix.report.contest.data import Group
from tagmix.report.contest.examples import SEED, example_cards, shown_methods
from tagmix.report.contest.extra import published_table, settings_table
from tagmix.report.contest.gains import ahead_said, group_claims, losses_said, losses_table, points_table
from tagmix.report.contest.mistakes import mistakes
from tagmix.report.contest.names import FREQUENCY, is_rich, listed, ours_of, title_of
from tagmix.report.contest.probabilities import probabilities
from tagmix.report.contest.tables import (
    metrics_table,
    number,
    regions_table,
    scores_table,
    where_from,
    without_regions,
)
from tagmix.report.contest.verdict import region_verdict, verdict

WHOLE = "as chosen"
# What the points are along which settings or data were changed, beside the paper's own curves.
WHY = {
    "evidence": (
        "κ, the power that the words of a region are raised to: 1 is the printed model, a smaller one "
        "trusts them less."
    ),
    "words": "The share of each region's words that was kept, by chance, in training and in test.",
    "caption": "At most so many tags in a caption, kept by chance, in training and in test.",
    "max_iter": "At most so many passes of EM; as chosen, it runs until the bound settles.",
    "total_alpha": (
        "Σα of DBA's Dirichlet prior. None learns every α, as its paper does; a large one, held, gives all "
        "tags the same share before a region is seen."
    ),
    "supervision": (
        "How strongly captions guide training. A number multiplies the printed strength; as chosen, a "
        "region may only speak for tags of its caption."
    ),
    "margin_rounds": "How often the margins of EMM_d are fed back into its topics.",
    "margin_posterior": (
        "Which posterior the margins of EMM_d hold for: guided knows the captions, as printed; as chosen, "
        "it is the one that prediction sees."
    ),
    "ranking": (
        "What tags are ranked by: theta is printed in the paper; as chosen, the share of regions that a "
        "tag holds."
    ),
}
METRICS_NOTE = (
    "Where there are folds, Top-k accuracy and P@1 are of all pictures together, the others means of folds. "
    "Where there are several seeds, all are means over seeds."
)
# Headings of a comparison with the paper, and of anybody's album.
PAPER = {
    "whole": "Figure 2: whole pictures",
    "regions": "Figure 3: regions",
    "examples": "Figure 4: examples",
}
PLAIN = {"whole": "As more tags are shown", "regions": "Regions", "examples": "Examples"}
SETTINGS_NOTE = (
    "Chosen inside the training part alone: by the Top-k accuracy on pictures held out from it, or by the "
    "method's own rule inside its fit. Where folds or seeds chose differently, their values stand in order, "
    "with strokes between them."
)
OTHERS_NOTE = (
    "Five tags for each picture, means over the tags that the test pictures have (263 of Corel5k; the "
    "published means leave out three that no training picture has). The published methods "
    "saw other features, mostly more of them or a network's, so these numbers are a landmark and no "
    "contest."
)


def in_sections(found: Iterable[Group]) -> list[Group]:
    """Return the groups that have a section of their own; the others are lines of the ablation."""
    return [group for group in found if not cut_otherwise(group)]


def group_section(
    group: Group, shows: bool, examples: Sequence[str] | None, pictures: bool, paper: bool
) -> str:
    """Return all of one data set with one choice of words; ``shows`` if the page is about it in detail."""
    heads = PAPER if paper and not is_rich(group) else PLAIN
    parts = [
        _scores(group, shows) if group.whole else "",
        "" if is_rich(group) else group_claims(group),
        _figure_2(group, heads["whole"]),
        probabilities(group),
        _figure_3(group, heads["regions"]),
        mistakes(group) if shows else "",
        _examples(group, examples, pictures, heads["examples"]) if shows else "",
        _why(group),
    ]
    return "\n".join(part for part in parts if part)


def _scores(group: Group, shows: bool) -> str:
    best = group.whole[group.order[0]]
    record = best.records[0]
    n_tags = sum(len(own) for r in best.records for own in r.captions) / sum(len(r.ids) for r in best.records)
    told = (
        f"{group.n_tested:,} test pictures with {n_tags:.1f} of {len(record.tag_names):,} tags each on "
        f"average, {record.n_train:,} to learn from{_folds(len(best.units))}. A perfect ranking reaches "
        f"{number(best.ceiling())}"
    )
    if FREQUENCY in group.whole:
        told += f", and the most frequent tags for every picture {number(group.whole[FREQUENCY].score())}"
    # What stands above the tiles is not said again
    said = "" if shows else f" {verdict(group)}"
    return (
        page.paragraph(f"{told}.{_seeds(group.n_seeds)}{said}")
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
        f" The pictures were described {n} times, by other patches and words each ({n} seeds of the words): "
        "scores are the means of seeds, and intervals are over pictures."
    )


def _figure_2(group: Group, title: str) -> str:
    panels = figure_2(group)
    ahead = "" if is_rich(group) else ahead_said(group.whole)
    captions = {
        "": f"Top-k accuracy as more tags are shown. Dotted: a perfect ranking. {ahead}",
        "tags": "{} as the number of tags increases.",
        "pictures": "{} by the number of training pictures, mean over the sets drawn.",
    }
    bands = " Bands (coloured lines) and bars (the others) are 95 % intervals over pictures."
    drawn = [
        page.figure(
            drawing(group, [panel]).svg, captions[name].format(panel.y_label) + (bands if name else "")
        )
        for name, panel in panels.items()
    ]
    points = curve_points(group, "tags")
    losses = (
        [page.paragraph(said, "said")] if (said := losses_said(points) if len(points) > 1 else "") else []
    )
    losses += [losses_table(points)] if "tags" in panels else []
    return page.subsection(title, page.columns(*drawn) if drawn else "", *losses)


def _figure_3(group: Group, title: str) -> str:
    samples = region_samples(group)
    if not samples:
        return ""
    captions = ("With the caption of the picture given.", "Without a caption.")
    drawn = [
        page.figure(drawing(group, [panel]).svg, f"Share of regions whose tag is among the k best. {caption}")
        for panel, caption in zip(region_panels(samples), captions, strict=True)
    ]
    silent = without_regions(group, samples)
    note = page.paragraph(silent, "note") if silent else ""
    said = region_verdict(samples)
    told = page.paragraph(said, "said") if said else ""
    return page.subsection(title, told, page.columns(*drawn), regions_table(group, samples), note)


def _examples(group: Group, examples: Sequence[str] | None, pictures: bool, title: str) -> str:
    how = f"drawn blindly (seed {SEED})" if examples is None else "chosen by name"
    first = f"the {group.k} tags" if group.k > 1 else "the tag"
    told = (
        f"Test pictures, {how}, with {first} that {listed(shown_methods(group))} put first, the first "
        "of them leftmost; ✓ marks those of the true caption."
    )
    cards = example_cards(group, examples, pictures)
    return page.subsection(title, page.paragraph(told, "legend"), cards) if cards else ""


def _why(group: Group) -> str:
    """Return what other settings would have done: a table each, and a curve where there are points enough."""
    made = []
    for name, points in other_curves(group).items():
        panel = points_panel(points, name)
        drawn = page.figure(drawing(group, [panel]).svg, f"{panel.y_label} against {name}.") if panel else ""
        whole = reference(group, points)
        beside = [*points, (WHOLE, whole)] if whole else points
        made.append(
            page.subsection(
                f"Why: {name}", page.paragraph(WHY.get(name, "")), drawn, points_table(beside, name)
            )
        )
    return "\n".join(made)


def general_sections(found: Sequence[Group]) -> list[tuple[str, str]]:
    """Return the sections that are about all groups."""
    others = published_table(found)
    settings = [
        page.folded(title_of(group), settings_table(group)) for group in in_sections(found) if group.whole
    ]
    told = page.paragraph(SETTINGS_NOTE, "note")
    return [
        ("EMM with context, one thing changed at a time", ablation(found)),
        ("Beside what others published on Corel5k", page.paragraph(OTHERS_NOTE) + others if others else ""),
        ("Settings", told + "\n".join(settings) if settings else ""),
    ]
