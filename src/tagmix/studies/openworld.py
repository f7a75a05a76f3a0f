"""The open world: albums whose captions name few of the regions, their data sets and their tasks.

Design choices were made on masks of MSRC v2. Its pictures with an odd number are therefore for design, those
with an even number for the report: ``openworld`` trains on odd and tests on even ones, ``development`` has
three folds of the odd ones only.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from tagmix.comparison.parts import MAX_ABOUT_BYTES, DataSet, load_part, save_parts, saved
from tagmix.comparison.records import Task
from tagmix.comparison.variations import apply_variation
from tagmix.datasets import Album, Item
from tagmix.errors import AlbumError
from tagmix.storage import read_limited
from tagmix.studies.names import open_name, open_parts

OPENWORLD, DEVELOPMENT = "openworld", "development"
OPEN = (OPENWORLD, DEVELOPMENT)
FOLDS = 3  # of the odd pictures
HALF = 0.5  # the share of training tags that is dropped
POINTS: dict[str, dict[str, Any]] = {"objects": {"objects": True}, "half": {"objects": True, "dropped": HALF}}
MSRC, ODD = "msrc_v2", "msrc_v2_odd"
PICTURES = (
    "ContextEMM",
    "ContextEMM_expected",
    "KernelRidge",
    "KernelRidge_calibrated",
    "Stack",
    "frequency",
)
REGIONS = (
    "ContextEMM",
    "ContextEMM_expected",
    "KernelRidge",
    "KernelRidge_calibrated",
    "Stack",
    "AlwaysNone",
    "ScorerZero",
    "MaxPoolingZero",
)
# Where regions are not labelled, pictures are also ranked so that rare tags count.
BALANCED = ("ContextEMM_balanced", "KernelRidge_balanced")
OF_WORDS, OF_MAPS = "EMM_calibrated", "CAM"
WORDS = ("sift", "colour", "place")
NOT_MAPS = (*WORDS, "layout")


def open_tasks(data: DataSet) -> list[Task]:
    """Return every method on every part; those for words or maps only where there are any."""
    methods = [*REGIONS] if data.knows_regions else [*PICTURES, *BALANCED]
    if any(view in WORDS for view in data.views):
        methods.append(OF_WORDS)
    if data.knows_regions and any(view not in NOT_MAPS for view in data.views):
        methods.append(OF_MAPS)
    return [Task(data.name, method, data.views, part) for method in methods for part in range(data.n_parts)]


def tasks_of_openworld(sets: Mapping[str, DataSet]) -> list[Task]:
    """Return the tasks of the report."""
    return _tasks(sets, lambda album: album != ODD)


def tasks_of_development(sets: Mapping[str, DataSet]) -> list[Task]:
    """Return the tasks on the pictures for design."""
    return _tasks(sets, lambda album: album == ODD)


def _tasks(sets: Mapping[str, DataSet], chosen: Callable[[str], bool]) -> list[Task]:
    named = ((data, open_parts(data.name)) for data in sets.values())
    kept = (data for data, parts in named if parts is not None and chosen(parts[0]))
    return [task for data in kept for task in open_tasks(data)]


def prepare_open(studies: Sequence[str], sources: Any, names: Sequence[str]) -> dict[str, DataSet]:
    """Return the data sets of the open world from these albums, each described once."""
    made: list[DataSet] = []
    for name in names:
        if name != MSRC:
            made += [_described(sources, name, sources.album(name))] if OPENWORLD in studies else []
            continue
        album = sources.album(name)
        if OPENWORLD in studies:
            made += _with_variations(sources, _described(sources, MSRC, split_by_number(album)))
        if DEVELOPMENT in studies:
            made += _with_variations(sources, _described(sources, ODD, odd_pictures(album)))
    return {data.name: data for data in made}


def _described(sources: Any, name: str, album: Album) -> DataSet:
    data: DataSet = sources.described(open_name(name), album, n_folds=FOLDS, network=sources.networks or None)
    return data


def _with_variations(sources: Any, data: DataSet) -> list[DataSet]:
    """Return a data set, and its variations, which are made from its bags."""
    name = data.name.removesuffix("_open")
    varied = [varied_set(sources.out / "data", data, open_name(name, v), p) for v, p in POINTS.items()]
    return [data, *varied]


def varied_set(folder: Any, data: DataSet, name: str, point: Mapping[str, Any]) -> DataSet:
    """Return a variation of a stored data set, from its stored bags."""
    mark = json.loads(read_limited(folder / data.name / "about.json", MAX_ABOUT_BYTES))["mark"]
    mark = f"{mark} {json.dumps(dict(point))}"
    if (known := saved(folder, name, mark)) is not None:
        return known
    parts = [apply_variation(load_part(folder, data.name, i), point) for i in range(data.n_parts)]
    return save_parts(folder, name, parts, mark, data.problems)


def split_by_number(album: Album) -> Album:
    """Return the album with odd pictures to train on and even ones to test on."""
    items = (replace(item, split="train" if number_of(item) % 2 else "test") for item in album)
    return replace(album, items=tuple(items))


def odd_pictures(album: Album) -> Album:
    """Return the pictures for design, without a split."""
    items = (replace(item, split=None) for item in album if number_of(item) % 2)
    return replace(album, items=tuple(items))


def number_of(item: Item) -> int:
    """Return the number of a picture of MSRC v2: the part of its file name after "_".

    >>> from pathlib import Path
    >>> number_of(Item(Path("images/10_21_s.jpg")))
    21
    """
    found = re.match(r"\d+_(\d+)", item.image.name)
    if found is None:
        raise AlbumError(
            f"a picture of MSRC v2 must be named like 10_21_s.jpg, got {item.image.name!r:.60}: rename it"
        )
    return int(found[1])
