"""Which tasks make up which part of the paper, on the data sets that are there."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from tagmix.experiments.data import DataSet
from tagmix.experiments.methods import METHODS, TEXT
from tagmix.experiments.records import Task

PAPER = ("CorrLDA", "DBA", "EMM_m", "EMM_d")
REGIONS = ("NaiveRegions", "CandidateEM", "MaxPooling")
PICTURES = tuple(name for name in METHODS if name not in REGIONS)
# The curves have the paper's four and the rivals that the paper left out, one of each kind.
ON_CURVES = ("frequency", *PAPER, "KNN", "TagProp", "KernelRidge")
TAGS = (50, 100, 200, 300)
SIZES = ((500, 2), (1000, 1), (2000, 1), (3000, 1))  # training pictures, and how many draws of them
TEXT_TAGS = (100, 300, 1000, 3000)


def whole(data: DataSet) -> list[Task]:
    """Return every method on the whole data set, with SIFT alone, with colour, and with all words."""
    if data.views == TEXT:
        return [Task(data.name, method, data.views) for method in ON_CURVES]
    methods = tuple(METHODS) if data.knows_regions else PICTURES
    return [
        Task(data.name, method, views, part)
        for views in words_of(data)
        for method in methods
        for part in range(data.n_parts)
    ]


def words_of(data: DataSet) -> list[tuple[str, ...]]:
    """Return the words to compare with: all of them where regions count, else SIFT, then colour too."""
    if data.knows_regions or "colour" not in data.views:
        return [data.views]
    return [("sift",), ("sift", "colour")]


def over_tags(data: DataSet) -> list[Task]:
    """Return the tasks of the curve over the number of tags."""
    views, counts = words_of(data)[-1], TEXT_TAGS if data.views == TEXT else TAGS
    return [
        Task(data.name, method, views, part, {"tags": n})
        for n in counts
        if n < data.n_tags
        for method in ON_CURVES
        for part in range(data.n_parts)
    ]


def over_sizes(data: DataSet) -> list[Task]:
    """Return the tasks of the curve over training pictures."""
    return [
        Task(data.name, method, words_of(data)[-1], part, {"pictures": size, "draw": draw})
        for size, draws in SIZES
        if size < data.n_train
        for draw in range(draws)
        for method in ON_CURVES
        for part in range(data.n_parts)
    ]


def why(data: DataSet) -> list[Task]:
    """Return the experiments on what decides the order of DBA, EMM_m and EMM_d."""
    three = ("DBA", "EMM_m", "EMM_d")
    points: list[tuple[dict[str, Any], Sequence[str]]] = [
        *_line("evidence", (1.0, 0.3, 0.1, 0.03, 0.01, 0.003), three),
        *_line("words", (0.25, 0.0625), three),
        *_line("caption", (1, 2), three),
        *_line("max_iter", (2, 5, 10), three),
        ({"supervision": 1.0}, ("EMM_m", "EMM_d")),
        ({"supervision": 100.0}, ("EMM_m",)),  # all tags cost: half an hour for EMM_d
        *_line("margin_rounds", (0, 3), ("EMM_d",)),
        ({"margin_posterior": "guided"}, ("EMM_d",)),
        *_line("total_alpha", (None, *(each * data.n_tags for each in (0.1, 1.0, 10.0, 100.0))), ("DBA",)),
        ({"ranking": "theta"}, three),
    ]
    return [
        Task(data.name, method, words_of(data)[-1], 0, point) for point, names in points for method in names
    ]


def _line(
    name: str, values: Sequence[Any], methods: Sequence[str]
) -> list[tuple[dict[str, Any], Sequence[str]]]:
    return [({name: value}, methods) for value in values]


def _pictures(sets: Mapping[str, DataSet]) -> Iterable[DataSet]:
    return (data for data in sets.values() if data.views != TEXT)


STUDIES: dict[str, Callable[[Mapping[str, DataSet]], list[Task]]] = {
    "figure2": lambda sets: [
        task for data in _pictures(sets) for task in (*whole(data), *over_tags(data), *over_sizes(data))
    ],
    "figure3": lambda sets: [task for data in _pictures(sets) if data.knows_regions for task in whole(data)],
    "figure4": lambda sets: [task for data in _pictures(sets) for task in whole(data)],
    "tags": lambda sets: [
        task for data in sets.values() if data.views == TEXT for task in (*whole(data), *over_tags(data))
    ],
    "why": lambda sets: [task for data in sets.values() if data.name == "corel5k" for task in why(data)],
}


def tasks_of(names: Sequence[str], sets: Mapping[str, DataSet]) -> list[Task]:
    """Return the tasks of some studies, each once, in order."""
    found = {task.name: task for name in names for task in STUDIES[name](sets)}
    return list(found.values())
