"""Published numbers with their sources."""

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
        """Return the source as one line."""
        return f"{self.authors}: {self.title}, {self.venue} {self.year}"


class Dataset(NamedTuple):
    """A data set of the paper; ``ceiling`` is the top-5 accuracy of a perfect ranking."""

    name: str
    pictures: int
    tags: int
    tags_kept: int
    tags_a_picture: float
    ceiling: float
    source: str


class Gain(NamedTuple):
    """The paper's gain of ``method`` over ``over``, in per cent, for each of its data sets."""

    method: str
    over: str
    percent: Mapping[str, float]
    source: str


class TagFigures(NamedTuple):
    """Mean precision, recall and F1 of tags in per cent, and N+; ``ours`` is our implementation."""

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
    """The paper, its order of methods (best first), its data and gains; and the table of Corel5k."""

    paper: Source
    order: tuple[str, ...]
    datasets: tuple[Dataset, ...]
    gains: tuple[Gain, ...]
    corel5k: tuple[TagFigures, ...]


@cache
def published() -> Published:
    """Return the published numbers.

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
