"""Numbers that others have published, with their sources: what ours are put beside."""

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple


class Source(NamedTuple):
    """Where a number was published."""

    title: str
    authors: str
    year: int
    venue: str

    def __str__(self) -> str:
        """Return it as one line for small print."""
        return f"{self.authors}: {self.title}, {self.venue} {self.year}"


class Dataset(NamedTuple):
    """A data set of the paper; ``ceiling`` is the Top-5 accuracy that a perfect ranking would reach."""

    name: str
    pictures: int
    tags: int
    tags_kept: int
    tags_a_picture: float
    ceiling: float
    source: str


class Gain(NamedTuple):
    """How much better the paper finds ``method`` than ``over``, in per cent, for each of its data sets."""

    method: str
    over: str
    percent: Mapping[str, float]
    source: str


class TagFigures(NamedTuple):
    """Mean precision, recall and F1 of tags in per cent, and N+; ``ours`` is our method that follows it."""

    name: str
    precision: float
    recall: float
    f1: float
    n_plus: int
    features: str
    source: Source
    ours: str = ""
    note: str = ""


class Published(NamedTuple):
    """All of them: the paper, its order of methods (best first), its data and gains; and Corel5k's table."""

    paper: Source
    order: tuple[str, ...]
    datasets: tuple[Dataset, ...]
    gains: tuple[Gain, ...]
    corel5k: tuple[TagFigures, ...]


@cache
def published() -> Published:
    """Return what was published.

    >>> [gain.percent["Alipr"] for gain in published().gains if gain.percent]
    [18.84, 9.08]
    """
    text = files("tagmix.studies").joinpath("published.toml").read_text("utf-8")
    fields = tomllib.loads(text)
    paper = fields["paper"]
    order = tuple(paper.pop("order"))
    return Published(
        Source(**paper),
        order,
        tuple(Dataset(**row) for row in fields["dataset"]),
        tuple(Gain(**row) for row in fields["gain"]),
        tuple(_figures(row) for row in fields["corel5k"]),
    )


def _figures(row: dict[str, Any]) -> TagFigures:
    source = Source(*(row.pop(name) for name in Source._fields))
    return TagFigures(source=source, **row)
