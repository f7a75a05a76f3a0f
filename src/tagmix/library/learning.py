"""Learning from the verdicts of a catalogue: what people and files say, never a machine's own tags."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from tagmix.annotate import Annotator
from tagmix.bags import Bags
from tagmix.catalogue import Catalogue
from tagmix.continuing import Continued, continue_training
from tagmix.evaluation.folds import prints_of
from tagmix.images.describe import Progress
from tagmix.images.picture import QuantisedPicture
from tagmix.images.sources import Problem
from tagmix.learners.continued.memory import Memory
from tagmix.learners.continued.verdicts import CODE_OF, Correction, labels_of
from tagmix.tag_names import ancestors


class Lesson(NamedTuple):
    """A photo that the model does not know yet: tags of the model that it has, and that it does not have."""

    photo: str
    yes: tuple[str, ...]
    no: tuple[str, ...]


class Lessons(NamedTuple):
    """What a catalogue says beyond what a model has learnt.

    ``others`` are tags that the model does not know, which only a new training can learn.
    """

    corrections: tuple[Correction, ...]
    new: tuple[Lesson, ...]
    others: tuple[str, ...]


class Learnt(NamedTuple):
    """A model that has learnt on, how many photos were new to it, and those that could not be read."""

    continued: Continued
    n_new: int
    problems: tuple[Problem, ...] = ()


def placed(memory: Memory) -> Memory:
    """Return the memory with the real paths of its pictures as ids: a catalogue knows photos by place."""
    real = tuple(os.path.realpath(name) for name in memory.ids)
    return memory._replace(ids=real) if len(set(real)) == len(real) else memory


def lessons_of(catalogue: Catalogue, memory: Memory, names: Sequence[str]) -> Lessons:
    """Return the yes and no of people and of files that differ from what the model learnt.

    Nothing follows from the absence of a verdict, and a machine's tags are not among them.
    """
    row_of, column_of = ({name: i for i, name in enumerate(every)} for every in (memory.ids, names))
    corrections: list[Correction] = []
    new: list[Lesson] = []
    others: set[str] = set()
    photos = catalogue.lessons.photos()
    place_of = {one.id: one.place for one in catalogue.photos.several(photos)}
    for lesson in catalogue.lessons.of(photos):
        photo = os.path.realpath(Path(catalogue.root, place_of[lesson.photo]))
        others |= {tag for tag in (*lesson.yes, *lesson.no) if tag not in column_of}
        yes = tuple(tag for tag in lesson.yes if tag in column_of)
        denied = set(lesson.no)  # with a tag, all below it
        no = (
            tuple(tag for tag in names if tag not in yes and denied & {tag, *ancestors(tag)})
            if denied
            else ()
        )
        if photo not in row_of:
            new += [Lesson(photo, yes, no)] if yes or no else []
            continue
        codes = memory.codes[row_of[photo]]
        said = [Correction(photo, tag, "yes") for tag in yes] + [Correction(photo, tag, "no") for tag in no]
        corrections += [one for one in said if codes[column_of[one.tag]] != CODE_OF[one.verdict]]
    return Lessons(tuple(corrections), tuple(new), tuple(sorted(others)))


def learn(
    annotator: Annotator, memory: Memory, lessons: Lessons, *, progress: Progress | None = None
) -> Learnt:
    """Return the annotator after these lessons; new photos are described first.

    A photo that looks the same as one that the model knows, being moved or copied, corrects that one.
    """
    corrections, new = list(lessons.corrections), None
    problems: tuple[Problem, ...] = ()
    if lessons.new:
        found = annotator.describer.describe([one.photo for one in lessons.new], progress=progress)
        problems = tuple(one for one in found if isinstance(one, Problem))
        pairs = zip(lessons.new, found, strict=True)
        kept = [(lesson, one) for lesson, one in pairs if not isinstance(one, Problem)]
        if kept:
            bags = _with_lessons(annotator, [one for _, one in kept], [lesson for lesson, _ in kept])
            memory, new, more = _unseen(bags, [lesson for lesson, _ in kept], memory)
            corrections += more
    continued = continue_training(annotator, memory, corrections, new)
    return Learnt(continued, len(continued.memory.ids) - len(memory.ids), problems)


def _with_lessons(annotator: Annotator, described: list[QuantisedPicture], taught: list[Lesson]) -> Bags:
    """Return the bags of described photos with the tags that they have and do not have."""
    names = list(annotator.model.tag_names_)
    codes = np.zeros((len(taught), len(names)), dtype=np.int8)
    for row, own in enumerate(taught):
        codes[row, [names.index(tag) for tag in own.yes]] = CODE_OF["yes"]
        codes[row, [names.index(tag) for tag in own.no]] = CODE_OF["no"]
    labels = labels_of(codes, names)
    bags = annotator.describer.bags_of(described, [own.photo for own in taught])
    return bags.with_tags(labels["tags"], names, rejected=labels["rejected"])


def _unseen(
    bags: Bags, taught: Sequence[Lesson], memory: Memory
) -> tuple[Memory, Bags | None, list[Correction]]:
    """Return the pictures that look like no known one, and corrections of known ones by the others.

    A known photo that is no longer where it was gets its new place in the memory.
    """
    known = {mark: row for row, mark in reversed(list(enumerate(memory.prints)))}
    ids, corrections, rows = list(memory.ids), list[Correction](), list[int]()
    for row, (mark, own) in enumerate(zip(prints_of(bags), taught, strict=True)):
        if mark not in known:
            rows.append(row)
            continue
        if not os.path.lexists(ids[known[mark]]) and own.photo not in ids:
            ids[known[mark]] = own.photo
        corrections += [Correction(ids[known[mark]], tag, "yes") for tag in own.yes]
        corrections += [Correction(ids[known[mark]], tag, "no") for tag in own.no]
    return memory._replace(ids=tuple(ids)), (bags[np.array(rows)] if rows else None), corrections
