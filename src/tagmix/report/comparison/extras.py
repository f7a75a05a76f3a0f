"""What a page may add to the plain comparison of an album; the studies of the paper override it."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from tagmix.report.comparison.charts import Drawn, Panel
from tagmix.report.comparison.samples import Group
from tagmix.report.comparison.titles import album_title

Tile = tuple[str, str, str]  # value, text, style


class Headings(NamedTuple):
    """The headings of the parts of a section."""

    ranking: str = "Accuracy by number of tags shown"
    regions: str = "Regions"
    examples: str = "Examples"


class Extras:
    """Nothing is added: the page of ``tagmix evaluate``."""

    def title_of(self, data: str, views: tuple[str, ...]) -> str:
        """Return the title of a data set with one choice of views."""
        return album_title(data, views)

    def in_sections(self, groups: Iterable[Group]) -> list[Group]:
        """Return the groups that have a section of their own."""
        return list(groups)

    def headings(self, group: Group) -> Headings:
        """Return the headings of a group's section."""
        return Headings()

    def score_source(self, groups: Sequence[Group]) -> str:
        """Return where the score comes from, to follow "Top-k accuracy"."""
        return ""

    def tiles(self, shown: Sequence[Group]) -> list[Tile]:
        """Return more tiles for the head of the page."""
        return []

    def claims(self, group: Group) -> str:
        """Return a part to follow the scores."""
        return ""

    def ranking_note(self, group: Group) -> str:
        """Return a sentence to follow the caption of the ranking figure."""
        return ""

    def curves(self, group: Group) -> dict[str, tuple[Panel, str]]:
        """Return panels beside the ranking figure, by name, with their captions."""
        return {}

    def after_curves(self, group: Group) -> list[str]:
        """Return paragraphs and tables to follow these panels."""
        return []

    def closing(self, group: Group) -> str:
        """Return the last part of a group's section."""
        return ""

    def closing_figures(self, group: Group) -> dict[str, Drawn]:
        """Return the figures of the last part, by name."""
        return {}

    def general(self, groups: Sequence[Group]) -> list[tuple[str, str]]:
        """Return sections about all groups, as title and body; an empty body is left out."""
        return []
