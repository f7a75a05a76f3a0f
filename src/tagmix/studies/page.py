"""The pages of ``tagmix reproduce``: the comparison, with the paper's claims, curves and ablation."""

from collections.abc import Iterable, Sequence

from tagmix.report import page
from tagmix.report.comparison.charts import Drawn, Panel
from tagmix.report.comparison.curves import drawing
from tagmix.report.comparison.extras import Extras, Headings, Tile
from tagmix.report.comparison.samples import Group
from tagmix.studies.ablation import ablation
from tagmix.studies.claims import (
    best_at_k,
    checked_claims,
    claim_tile,
    group_claims,
    losses_lines,
    losses_outcome,
    points_lines,
)
from tagmix.studies.curves import AXES, curve_points, other_curves, points_panel, reference
from tagmix.studies.literature import published_lines
from tagmix.studies.names import is_rich, other_segmenter, title_of
from tagmix.studies.openworld_tables import open_world

WHOLE = "as chosen"
PAPER = Headings("Figure 2: whole pictures", "Figure 3: regions", "Figure 4: examples")
CAPTIONS = {
    "tags": "{} by the number of tags.",
    "pictures": "{} by the number of training pictures, mean over draws.",
}
# The settings and data that are varied beyond the paper's own curves.
WHY = {
    "evidence": (
        "κ, the exponent of the word probabilities of a region: 1 is the printed model, a smaller value "
        "gives words less weight."
    ),
    "words": "The share of each region's words that is kept, at random, in training and test.",
    "caption": "The most tags per caption, kept at random, in training and test.",
    "max_iter": "The most iterations of EM.",
    "total_alpha": (
        "Σα of DBA's Dirichlet prior. None learns every α, as in its paper; a large fixed value gives all "
        "tags equal prior shares."
    ),
    "supervision": (
        "The weight of captions in training. A number multiplies the printed weight; as chosen, the tags of "
        "a region are restricted to its caption."
    ),
    "nu2": (
        "The weight of the margins of EMM_d relative to the likelihood of a picture, by which they guide "
        "its topics: 0 is no feedback."
    ),
    "margin_centre": (
        "The weight that ν₁ pulls every tag to: 0 is printed; as chosen, 1, with which a large ν₁ is EMM_m."
    ),
    "margin_posterior": (
        "The posterior that the margins of EMM_d are computed from: guided uses the captions, as printed; as "
        "chosen, it is the posterior of prediction."
    ),
    "ranking": "The score that ranks tags: theta is printed in the paper; as chosen, the share of regions.",
}
OTHERS_NOTE = (
    "Five tags per picture, means over the tags of the test pictures (263 of Corel5k; the published means "
    "leave out three that no training picture has). The published methods use other features, mostly more of "
    "them or those of a network: the numbers are not directly comparable."
)


def variation_tables(group: Group) -> list[tuple[str, page.Table]]:
    """Return the name and the table of each varied setting; the last column has the chosen settings."""
    tables = []
    for name, points in other_curves(group).items():
        whole = reference(group, points)
        tables.append((name, points_lines([*points, (WHOLE, whole)] if whole else points, name)))
    return tables


class PaperPage(Extras):
    """What the studies add to a comparison."""

    def title_of(self, data: str, views: tuple[str, ...]) -> str:
        """Return the title of a data set with one choice of views."""
        return title_of(data, views)

    def in_sections(self, groups: Iterable[Group]) -> list[Group]:
        """Return the groups with a section; those of other segmenters are lines of the ablation."""
        return [group for group in groups if not other_segmenter(group.data)]

    def headings(self, group: Group) -> Headings:
        """Return the figures of the paper, or plain headings for rich descriptions."""
        return Headings() if is_rich(group.data) else PAPER

    def score_source(self, groups: Sequence[Group]) -> str:
        """Return that the score is the paper's, if one of its figures is on the page."""
        return "" if all(is_rich(group.data) for group in groups) else ", the paper's score,"

    def tiles(self, shown: Sequence[Group]) -> list[Tile]:
        """Return the first of the paper's claims on each of its data sets."""
        paper = [group for group in shown if not is_rich(group.data)]
        return [claim_tile(group, step) for group in paper for step in checked_claims(group.whole)[:1]]

    def claims(self, group: Group) -> str:
        """Return the paper's claims beside the gains measured here."""
        return "" if is_rich(group.data) else group_claims(group)

    def ranking_note(self, group: Group) -> str:
        """Return which of the paper's methods is best at how many k."""
        return "" if is_rich(group.data) else best_at_k(group.whole)

    def curves(self, group: Group) -> dict[str, tuple[Panel, str]]:
        """Return the paper's curves over tags and over training pictures."""
        panels = {name: points_panel(curve_points(group, name), name) for name in AXES}
        return {
            name: (panel, CAPTIONS[name].format(panel.y_label)) for name, panel in panels.items() if panel
        }

    def after_curves(self, group: Group) -> list[str]:
        """Return the loss of each method as tags increase."""
        points = curve_points(group, "tags")
        outcome = losses_outcome(points) if len(points) > 1 else ""
        parts = [page.paragraph(outcome, "said")] if outcome else []
        return parts + ([page.grid(*losses_lines(points))] if points_panel(points, "tags") else [])

    def closing(self, group: Group) -> str:
        """Return one table per varied setting, and a curve if there are enough points."""
        figures, parts = self.closing_figures(group), []
        for name, table in variation_tables(group):
            drawn = figures.get(f"why-{name}")
            figure = page.figure(drawn.svg, f"Top-k accuracy by {name}.") if drawn else ""
            text = page.paragraph(WHY.get(name, ""))
            parts.append(page.subsection(f"Why: {name}", text, figure, page.grid(*table)))
        return "\n".join(parts)

    def closing_figures(self, group: Group) -> dict[str, Drawn]:
        """Return one curve per varied setting with enough points."""
        panels = {name: points_panel(points, name) for name, points in other_curves(group).items()}
        return {f"why-{name}": drawing(group, [panel]) for name, panel in panels.items() if panel}

    def general(self, groups: Sequence[Group]) -> list[tuple[str, str]]:
        """Return the open world, the ablation and the published results."""
        others = published_lines(groups)
        return [
            ("Open world", open_world(groups)),
            ("Ablation of EMM with context", ablation(groups)),
            (
                "Published results on Corel5k",
                page.paragraph(OTHERS_NOTE) + page.grid(*others) if others else "",
            ),
        ]
