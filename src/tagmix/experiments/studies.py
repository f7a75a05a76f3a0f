"""Which tasks make up which part of the paper, and what goes beyond it, on the data sets that are there.

The studies of the paper describe pictures as it does. Those of EMM with context, ``RICH``, describe them as
``tagmix train`` does, and so have data sets of their own, by the names of ``rich_name``.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from tagmix.experiments.data import DataSet
from tagmix.experiments.methods import METHODS, TEXT
from tagmix.experiments.records import Task
from tagmix.images.segment import SEGMENTERS
from tagmix.images.views import PICTURE_VIEWS, REGION_VIEWS
from tagmix.images.views.layout import LAYOUT
from tagmix.images.views.place import PLACE

PAPER = ("CorrLDA", "DBA", "EMM_m", "EMM_d")
REGIONS = ("NaiveRegions", "CandidateEM", "MaxPooling")
OURS = "EMM_context"
PICTURES = tuple(name for name in METHODS if name not in (*REGIONS, OURS))
# Measured with every seed; the others, which are far behind or the paper's own, with the first.
CONTENDERS = (OURS, "KNN", "TagProp", "TwoPassKNN", "KernelRidge")
# Those that read a network's features as well as words.
READS_ALL = (*CONTENDERS, "LinearRanker")
# The curves have the paper's four and the rivals that the paper left out, one of each kind.
ON_CURVES = ("frequency", *PAPER, "KNN", "TagProp", "KernelRidge")
TAGS = (50, 100, 200, 300)
SIZES = ((500, 2), (1000, 1), (2000, 1), (3000, 1))  # training pictures, and how many draws of them
TEXT_TAGS = (100, 300, 1000, 3000)
RICH = ("flagship", "ablation")
# What is changed of EMM with context, one at a time. Lists, as they come back from a record.
CHANGES: tuple[dict[str, Any], ...] = (
    {"context": None},
    {"context": "neighbours"},
    {"context": "linear"},
    {"context": ["kernel", "neighbours"]},
    {"evidence": 0.1},
    {"learning": "margin"},
    {"even": True},
    {"without": "colour"},
    {"without": LAYOUT},
)


def whole(data: DataSet) -> list[Task]:
    """Return every method on the whole data set, with SIFT alone, with colour, and with all words."""
    if data.views == TEXT:
        return [Task(data.name, method, data.views) for method in ON_CURVES]
    methods = [name for name in METHODS if name != OURS] if data.knows_regions else PICTURES
    return [
        Task(data.name, method, views, part)
        for views in words_of(data)
        for method in methods
        for part in range(data.n_parts)
    ]


def rich_name(name: str, segmenter: str = "") -> str:
    """Return the name of an album's rich description, perhaps cut otherwise than by normalised cuts.

    >>> rich_name("msrc_v2"), rich_name("msrc_v2", "grid")
    ('msrc_v2_rich', 'msrc_v2_rich_grid')
    """
    return f"{name}_rich_{segmenter}" if segmenter else f"{name}_rich"


def rich_parts(name: str) -> tuple[str, str] | None:
    """Return the album and the segmenter of a rich description; None for another data set.

    >>> rich_parts("msrc_v2_rich"), rich_parts("msrc_v2_rich_grid"), rich_parts("msrc_v2")
    (('msrc_v2', ''), ('msrc_v2', 'grid'), None)
    """
    found = re.fullmatch(rf"(.+)_rich(?:_({'|'.join(SEGMENTERS)}))?", name, re.DOTALL)
    return None if found is None else (found[1], found[2] or "")


def own_views(data: DataSet) -> tuple[str, ...]:
    """Return words and layout: of the place of a region only where regions count."""
    left_out = () if data.knows_regions else (PLACE,)
    own = (view for view in (*REGION_VIEWS, *PICTURE_VIEWS) if view not in left_out)
    return tuple(view for view in own if view in data.views)


def network_views(data: DataSet) -> tuple[str, ...]:
    """Return the views that a network made, if there was one."""
    return tuple(view for view in data.views if view not in (*REGION_VIEWS, *PICTURE_VIEWS))


def contest(data: DataSet) -> list[Task]:
    """Return EMM with context and its rivals on the same views: few, all of ours, and a network's too."""
    own, network = own_views(data), network_views(data)
    several = [own] if data.knows_regions else [("sift",), own]
    several += [(*own, *network)] if network else []

    def runs(method: str, views: tuple[str, ...]) -> bool:
        if method in REGIONS:
            return data.knows_regions
        # Beside a network those that read words alone would say the same again
        return method in READS_ALL or not {*network} & {*views}

    return [
        Task(data.name, method, views, part)
        for views in several
        for method in METHODS
        if runs(method, views)
        for part in (range(data.n_parts) if method in CONTENDERS else _once(data))
    ]


def ablation(data: DataSet) -> list[Task]:
    """Return EMM with context as it is, and with one thing changed at a time."""
    own, network = own_views(data), network_views(data)
    points = [{}, *(change for change in CHANGES if change.get("without") in (None, *own))]
    if network:
        points += [{"embeddings": "gaussian"}, {"embeddings": "linear"}, {"without": list(network)}]
    return [
        Task(data.name, OURS, (*own, *network), part, point)
        for point in points
        # Its figures stand beside published ones, which deserves every seed
        for part in (range(data.n_parts) if point == {"even": True} else _once(data))
    ]


def other_cuts(data: DataSet) -> list[Task]:
    """Return EMM with context on regions that were cut otherwise."""
    return [Task(data.name, OURS, own_views(data), part) for part in _once(data)]


def _once(data: DataSet) -> range:
    """Return the parts that test each picture once: all folds, or the first of several seeds."""
    return range(1 if data.repeated else data.n_parts)


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
    return (data for data in sets.values() if data.views != TEXT and rich_parts(data.name) is None)


def _rich(sets: Mapping[str, DataSet], cut_otherwise: bool = False) -> Iterable[DataSet]:
    named = ((data, rich_parts(data.name)) for data in sets.values())
    return (data for data, parts in named if parts is not None and bool(parts[1]) == cut_otherwise)


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
    "flagship": lambda sets: [task for data in _rich(sets) for task in contest(data)],
    "ablation": lambda sets: [
        *(task for data in _rich(sets) for task in ablation(data)),
        *(task for data in _rich(sets, cut_otherwise=True) for task in other_cuts(data)),
    ],
}


def tasks_of(names: Sequence[str], sets: Mapping[str, DataSet]) -> list[Task]:
    """Return the tasks of some studies, each once, in order."""
    found = {task.name: task for name in names for task in STUDIES[name](sets)}
    return list(found.values())
