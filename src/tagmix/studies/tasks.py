"""The tasks of each study: the figures of the paper, and what goes beyond it.

The studies of the paper describe pictures as it does. The studies of EMM with context, ``RICH``, describe
them as ``tagmix train`` does, in data sets of their own (``rich_name``).
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from tagmix.comparison.methods import METHODS, RIVALS, TEXT, methods_with
from tagmix.comparison.parts import DataSet
from tagmix.comparison.records import Task
from tagmix.images.views.layout import LAYOUT
from tagmix.studies.names import is_rich, rich_parts
from tagmix.studies.openworld import tasks_of_development, tasks_of_openworld

PAPER = ("CorrLDA", "DBA", "EMM_m", "EMM_d")
REGIONS = methods_with("for_regions")
OURS = "ContextEMM"
OUR_FORMS = (OURS, "ContextEMM_balanced")
# The rivals of the open world are compared there only.
COMPARED = tuple(name for name in METHODS if name not in RIVALS)
PICTURES = tuple(name for name in COMPARED if name not in (*REGIONS, *OUR_FORMS))
# Those that read network features as well as words.
READS_ALL = methods_with("reads_pictures")
# Measured with every seed; the others, which score far lower or are the paper's own, with the first.
CONTENDERS = tuple(name for name in READS_ALL if name != "LinearRanker")
# The curves have the paper's four and methods that it left out, one of each kind.
ON_CURVES = ("frequency", *PAPER, "KNN", "TagProp", "KernelRidge")
# Takes an hour for the five folds of MSRC v2 with a network; ``figure3`` compares it on words.
SLOW = ("CandidateEM",)
TAGS = (50, 100, 200, 300)
SIZES = ((500, 2), (1000, 1), (2000, 1), (3000, 1))  # training pictures, and the number of draws
TEXT_TAGS = (100, 300, 1000, 3000)
RICH = ("flagship", "ablation")
DRAWN = ("drawn",)  # the view of data sets drawn from the model
# What the margins of EMM_d are without: feedback of their multipliers, and weights around 1.
MARGINS: tuple[tuple[dict[str, Any], tuple[str]], ...] = (
    ({"nu2": 0.0}, ("EMM_d",)),
    ({"margin_centre": 0.0}, ("EMM_d",)),
)
WORDS = ("sift", "colour", "place")
# The changes of EMM with context, one at a time. Lists, not tuples, as in a record.
CHANGES: tuple[dict[str, Any], ...] = (
    {"context": "neighbours"},
    {"context": "linear"},
    {"context": ["kernel", "neighbours"]},
    {"evidence": 0.1},
    {"without": "colour"},
    {"without": LAYOUT},
)


def whole(data: DataSet) -> list[Task]:
    """Return every method on the whole data set, with SIFT alone, with colour, and with all words."""
    if data.views == TEXT:
        return [Task(data.name, method, data.views) for method in ON_CURVES]
    methods = [name for name in COMPARED if name not in OUR_FORMS] if data.knows_regions else PICTURES
    return [
        Task(data.name, method, views, part)
        for views in words_of(data)
        for method in methods
        for part in range(data.n_parts)
    ]


def own_views(data: DataSet) -> tuple[str, ...]:
    """Return words and layout; the place of a region only if regions are labelled."""
    words = WORDS if data.knows_regions else WORDS[:2]
    return tuple(view for view in (*words, LAYOUT) if view in data.views)


def network_views(data: DataSet) -> tuple[str, ...]:
    """Return the views of a network, if there are any."""
    return tuple(view for view in data.views if view not in (*WORDS, LAYOUT))


def flagship(data: DataSet) -> list[Task]:
    """Return EMM with context and rivals on the same views: SIFT, all words, and the network's too."""
    own, network = own_views(data), network_views(data)
    several = [own] if data.knows_regions else [("sift",), own]
    several += [(*own, *network)] if network else []

    def runs(method: str, views: tuple[str, ...]) -> bool:
        if method in REGIONS:
            return data.knows_regions and method not in SLOW
        # ``figure2`` compares pictures by words alone; with a network these methods would repeat themselves
        return method in READS_ALL or (data.knows_regions and not {*network} & {*views})

    return [
        Task(data.name, method, views, part)
        for views in several
        for method in COMPARED
        if runs(method, views)
        for part in (range(data.n_parts) if method in CONTENDERS else _once(data))
    ]


def ablation(data: DataSet) -> list[Task]:
    """Return EMM with context unchanged, and with one change at a time."""
    own, network = own_views(data), network_views(data)
    points = [{}, *(change for change in CHANGES if change.get("without") in (None, *own))]
    if network:
        points += [{"without": list(network)}]
    return [Task(data.name, OURS, (*own, *network), part, point) for point in points for part in _once(data)]


def other_segmenters(data: DataSet) -> list[Task]:
    """Return EMM with context on the regions of another segmenter."""
    return [Task(data.name, OURS, own_views(data), part) for part in _once(data)]


def _once(data: DataSet) -> range:
    """Return the parts that test each picture once: all folds, or the first seed."""
    return range(1 if data.repeated else data.n_parts)


def words_of(data: DataSet) -> list[tuple[str, ...]]:
    """Return the views to compare: all if regions are labelled, else SIFT, then SIFT and colour."""
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
    """Return the tasks on what decides the order of DBA, EMM_m and EMM_d."""
    three = ("DBA", "EMM_m", "EMM_d")
    points: list[tuple[dict[str, Any], Sequence[str]]] = [
        *_line("evidence", (1.0, 0.3, 0.1, 0.03, 0.01, 0.003), three),
        *_line("words", (0.25, 0.0625), three),
        *_line("caption", (1, 2), three),
        *_line("max_iter", (2, 10, 100), three),
        ({"supervision": 1.0}, ("EMM_m", "EMM_d")),
        ({"supervision": 100.0}, ("EMM_m",)),  # takes half an hour for EMM_d
        *MARGINS,
        ({"margin_posterior": "guided"}, ("EMM_d",)),
        *_line("total_alpha", (None, *(each * data.n_tags for each in (0.1, 1.0, 10.0, 100.0))), ("DBA",)),
        ({"ranking": "theta"}, three),
    ]
    return [
        Task(data.name, method, words_of(data)[-1], 0, point) for point, names in points for method in names
    ]


def margins(data: DataSet) -> list[Task]:
    """Return the tasks on what margins gain: all settings chosen, no feedback, and feedback at fixed ones."""
    points: list[tuple[dict[str, Any], Sequence[str]]] = [({}, ("EMM_m", "EMM_d")), MARGINS[0]]
    if data.views == DRAWN:
        fixed = {"evidence": 1.0, "max_iter": 100, "supervision": "hard"}
        points += [(fixed, ("EMM_m",))]
        points += [({**fixed, "nu1": 1e-6, "nu2": nu2}, ("EMM_d",)) for nu2 in (0.0, 0.1, 1.0, 10.0)]
    return [
        Task(data.name, method, words_of(data)[-1], part, point)
        for point, names in points
        for method in names
        for part in range(data.n_parts)
    ]


def _line(
    name: str, values: Sequence[Any], methods: Sequence[str]
) -> list[tuple[dict[str, Any], Sequence[str]]]:
    return [({name: value}, methods) for value in values]


def _pictures(sets: Mapping[str, DataSet]) -> Iterable[DataSet]:
    other = (TEXT, DRAWN)
    return (data for data in sets.values() if data.views not in other and not is_rich(data.name))


def _rich(sets: Mapping[str, DataSet], segmented: bool = False) -> Iterable[DataSet]:
    named = ((data, rich_parts(data.name)) for data in sets.values())
    return (data for data, parts in named if parts is not None and bool(parts[1]) == segmented)


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
    "margins": lambda sets: [
        task
        for data in sets.values()
        if data.name == "corel5k" or data.views == DRAWN
        for task in margins(data)
    ],
    "flagship": lambda sets: [task for data in _rich(sets) for task in flagship(data)],
    "ablation": lambda sets: [
        *(task for data in _rich(sets) for task in ablation(data)),
        *(task for data in _rich(sets, segmented=True) for task in other_segmenters(data)),
    ],
    "openworld": tasks_of_openworld,
    "development": tasks_of_development,
}
# Without names; ``development`` is for whoever changes a model.
USUAL = tuple(name for name in STUDIES if name != "development")


def tasks_of(names: Sequence[str], sets: Mapping[str, DataSet]) -> list[Task]:
    """Return the tasks of studies, each once, in order."""
    found = {task.name: task for name in names for task in STUDIES[name](sets)}
    return list(found.values())
