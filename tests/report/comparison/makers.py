"""Records of methods whose skill is planted, so that what a page must say is known."""

from dataclasses import replace

import numpy as np

from tagmix.comparison.records import BINS, LONGEST, Probabilities, Record, RegionRanks, Task
from tagmix.evaluation.metrics import METRICS, default_k


def planted(n_pictures, n_tags, seed, a_picture=3.5):
    """Return captions: rare and common tags, one or more a picture."""
    rng = np.random.default_rng(seed)
    frequency = 1 / np.arange(2, n_tags + 2)
    sizes = 1 + rng.binomial(7, (a_picture - 1) / 7, n_pictures)
    drawn = [rng.choice(n_tags, min(n, n_tags), replace=False, p=frequency / frequency.sum()) for n in sizes]
    return [sorted(own.tolist()) for own in drawn]


def scores_of(captions, n_tags, skill, seed):
    """Return noise, frequency, and as much truth as the method has skill; noise is the same for all."""
    rng = np.random.default_rng(seed)
    truth = np.zeros((len(captions), n_tags))
    for row, own in zip(truth, captions, strict=True):
        row[own] = 1
    return skill * truth + rng.gumbel(size=truth.shape) * 0.35 + 2 / np.arange(2, n_tags + 2)


def record(task, skill=0.5, *, n=60, n_tags=30, n_train=200, regions=False, seed=1, ids=None, chosen=None):
    """Return one record; the pictures depend on the seed and the part, the ranking also on the method."""
    captions = planted(n, n_tags, [seed, task.part])
    said = scores_of(captions, n_tags, skill, [seed, task.part, len(task.method)])
    truth = np.zeros((n, n_tags))
    for row, own in zip(truth, captions, strict=True):
        row[own] = 1
    top = np.argsort(-said, axis=1, kind="stable")[:, :LONGEST]
    return Record(
        task=task,
        chosen={"evidence": 0.05} if chosen is None else chosen,
        tried=[{"evidence": 0.1, "accuracy": 0.2}] * 12,
        seconds={"choose": 12.5, "fit": 1.25, "annotate": 0.031},
        n_train=n_train,
        tag_names=[f"tag {i}" for i in range(n_tags)],
        ids=ids or [f"part{task.part}/{i}.jpg" for i in range(n)],
        captions=captions,
        top=top.tolist(),
        metrics={name: float(metric(truth, said, default_k(n_tags))) for name, metric in METRICS.items()},
        regions=places(captions, skill, [seed, task.part, len(task.method)]) if regions else None,
        provenance={"tagmix": "0.1.0", "seed": 0},
    )


def places(captions, skill, seed):
    """Return three regions a picture, each in its first place by skill, and better with the caption."""
    rng = np.random.default_rng(seed)
    picture = [i for i in range(len(captions)) for _ in range(3)]
    free = 1 + rng.geometric(min(0.95, 0.2 + skill), len(picture)) // 2
    told = [min(int(place), len(captions[i])) for place, i in zip(free, picture, strict=True)]
    return RegionRanks(picture, free.tolist(), told)


SKILLS = {"frequency": 0.0, "CorrLDA": 0.3, "DBA": 0.6, "EMM_m": 0.75, "EMM_d": 0.76, "KNN": 1.2}


def compared(skills=SKILLS, data="album", views=("sift",), parts=1, regions=False, **more):
    """Return the whole point of a comparison of methods."""
    return [
        record(Task(data, method, views, part), skill, regions=regions, **more)
        for method, skill in skills.items()
        for part in range(parts)
    ]


def curve(key, values, skills=SKILLS, data="album", views=("sift",), draws=1, falls=None, **more):
    """Return points of a curve; ``falls`` says how much of its skill a method loses at each step."""
    made = []
    for step, value in enumerate(values):
        for method, skill in skills.items():
            for draw in range(draws):
                point = {key: value, **({"draw": draw} if draws > 1 else {})}
                left = skill * (1 - (falls or {}).get(method, 0.0) * step)
                made.append(record(Task(data, method, views, 0, point), left, **more))
    return made


def saying(made, share=1.0, shown=2):
    """Return the record with probabilities: its first tags are called 85 % sure, all others 5 %.

    ``share`` is that of the sure tags which are counted as true; ``shown`` how many tags are shown.
    """
    n, n_tags = len(made.ids), len(made.tag_names)
    given = sum(len(own) for own in made.captions)
    right = round(share * n)
    pairs, truth = np.zeros(BINS, dtype=int), np.zeros(BINS, dtype=int)
    pairs[0], pairs[8], truth[0], truth[8] = n * n_tags - n, n, given - right, right
    said = pairs * (np.arange(BINS) + 0.5) / BINS
    own = Probabilities(pairs.tolist(), said.tolist(), truth.tolist(), [top[:shown] for top in made.top])
    return replace(made, probabilities=own)
