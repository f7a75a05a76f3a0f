"""Data sets drawn from the model itself, where it is known what margins can gain."""

from pathlib import Path
from typing import NamedTuple

import numpy as np

from tagmix.arrays import Floats
from tagmix.bags import Bags
from tagmix.comparison.parts import DataPart, DataSet, save_parts, saved
from tagmix.model.sample import planted_topics, sample_bags

SEEDS = 8
TRAIN, TEST = 500, 500  # pictures


class Design(NamedTuple):
    """What is planted; the frequency of tag c is about proportional to c^−skew."""

    n_tags: int
    n_words: int
    overlap: float
    skew: float


# With many tags and few pictures per tag margins help; with few and very unequal tags they do not.
DESIGNS = {"planted": Design(60, 600, 0.95, 0.5), "planted_skewed": Design(20, 100, 0.9, 1.0)}


def planted(name: str, folder: Path) -> DataSet:
    """Return the data set of a design, one part per seed, drawn if it is not in the folder."""
    design = DESIGNS[name]
    mark = f"planted {design} {SEEDS} {TRAIN} {TEST}"
    known = saved(folder, name, mark)
    return known or save_parts(folder, name, [_part(design, seed) for seed in range(SEEDS)], mark, [])


def _part(design: Design, seed: int) -> DataPart:
    rng = np.random.default_rng(seed)
    topics = planted_topics(design.n_tags, design.n_words, design.overlap, rng)
    rates: Floats = np.arange(1.0, design.n_tags + 1) ** design.skew
    sample = sample_bags(topics, TRAIN + TEST, rates=rates, rng=rng)
    drawn = sample.bags
    names = [f"tag {c}" for c in range(design.n_tags)]
    ids = [f"{seed}-{n}" for n in range(len(drawn))]
    bags = Bags({"drawn": drawn.views["words"]}, drawn.offsets, drawn.captions, names, ids)
    return DataPart(bags[:TRAIN], bags[TRAIN:], sample.region_tags[bags.offsets[TRAIN] :])
