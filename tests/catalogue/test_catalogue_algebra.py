"""Any sequence of verdicts, runs, undos and merges agrees with a dictionary per source."""

import hashlib
from collections import defaultdict

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tagmix.catalogue import open_catalogue

TAGS, PHOTOS = ("t0", "t1", "t2", "t3"), (1, 2, 3)
ANSWERS = {"yes": 1, "no": 0, "unknown": None}

tags = st.sampled_from(TAGS)
photos = st.sampled_from(PHOTOS)
steps = st.one_of(
    st.tuples(st.just("say"), photos, tags, st.sampled_from(sorted(ANSWERS))),
    st.tuples(st.just("read"), photos, st.sets(tags)),
    st.tuples(st.just("run"), st.dictionaries(photos, st.dictionaries(tags, st.sampled_from([0.25, 0.5])))),
    st.tuples(st.just("undo"), st.integers(0, 5)),
    st.tuples(st.just("merge"), tags, tags),
    st.tuples(st.just("below"), tags),
)


class Model:
    """The same by dictionaries: per source the answers of pairs, per run the probabilities."""

    def __init__(self):
        self.meaning = {tag: tag for tag in TAGS}
        self.human, self.metadata, self.runs, self.below = {}, {}, [], set()

    def say(self, photo, tag, answer):
        self.human[photo, self.meaning[tag]] = ANSWERS[answer]

    def read(self, photo, some):
        now = {self.meaning[tag] for tag in some}
        for tag in TAGS:
            self.metadata[photo, tag] = 1 if tag in now else None

    def run(self, guesses):
        run = {}
        for photo, some in guesses.items():
            for tag, probability in some.items():
                run[photo, self.meaning[tag]] = probability
        self.runs.append(run)

    def undo(self, number):
        if number < len(self.runs):
            self.runs[number] = {}

    def merge(self, one, into):
        one, into = self.meaning[one], self.meaning[into]
        for photo in PHOTOS:
            a, b = self.human.pop((photo, one), None), self.human.get((photo, into))
            self.human[photo, into] = a if b is None else b
            a, b = self.metadata.pop((photo, one), None), self.metadata.get((photo, into))
            self.metadata[photo, into] = a or b
            for run in self.runs:
                both = [run.pop((photo, one), None), run.get((photo, into))]
                if any(both):
                    run[photo, into] = max(p for p in both if p is not None)
        self.meaning = {tag: into if now == one else now for tag, now in self.meaning.items()}
        self.below = {into if tag == one else tag for tag in self.below}

    def stands(self, photo):
        found = {}
        for run in self.runs:
            found.update((tag, ("machine", 1)) for one, tag in run if one == photo)
        for name, said in (("metadata", self.metadata), ("human", self.human)):
            found.update((tag, (name, v)) for (one, tag), v in said.items() if one == photo and v is not None)
        return found

    def expected(self, photo):
        return {
            tag: (source, "yes" if value else "no") for tag, (source, value) in self.stands(photo).items()
        }

    def having(self, tag):
        wanted = {tag} if tag != "top" else self.below
        return {photo for photo in PHOTOS for one in wanted if self.stands(photo).get(one, ("", 0))[1]}


class Real:
    """The catalogue."""

    def __init__(self, catalogue):
        self.catalogue, self.numbers = catalogue, []
        with catalogue.batch():
            for photo in PHOTOS:
                digest = hashlib.sha256(str(photo).encode()).digest()
                assert catalogue.photos.note(f"{photo}.jpg", digest, 1, 1).id == photo
                for tag in (*TAGS, "top"):
                    catalogue.verdicts.set(photo, tag, "yes")
                    catalogue.verdicts.set(photo, tag, "unknown")

    def say(self, photo, tag, answer):
        self.catalogue.verdicts.set(photo, tag, answer)

    def read(self, photo, some):
        self.catalogue.verdicts.found(photo, some)

    def run(self, guesses):
        run = self.catalogue.runs.begin("tag", "model")
        for photo, some in guesses.items():
            self.catalogue.runs.plan(run, photo, some)
        self.numbers.append(self.catalogue.runs.finish(run))

    def undo(self, number):
        if (
            number < len(self.numbers)
            and self.catalogue.runs.get(self.numbers[number].id).state == "finished"
        ):
            self.catalogue.runs.undo(self.numbers[number])

    def merge(self, one, into):
        self.catalogue.tags.merge(one, into)


def apply(model, real, step):
    """Do a step in both; one that has no meaning now is left out."""
    name, *values = step
    if name == "merge" and len({model.meaning[tag] for tag in values}) == 1:
        return
    if name == "below":
        model.below.add(model.meaning[values[0]])
        real.catalogue.tags.put_below(values[0], "top")
        return
    getattr(model, name)(*values)
    getattr(real, name)(*values)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("algebra")


@settings(max_examples=40, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(sequence=st.lists(steps, min_size=3, max_size=14))
def test_any_sequence_of_changes_agrees_with_the_model(folder, sequence):
    path = folder / "library.sqlite"
    for one in folder.iterdir():
        one.unlink()
    with open_catalogue(path, folder) as catalogue:
        model, real = Model(), Real(catalogue)
        for step in sequence:
            apply(model, real, step)
        counts = defaultdict(int, catalogue.tags.counts())
        for photo in PHOTOS:
            answers = {one.tag: (one.source, one.answer) for one in catalogue.verdicts.of(photo)}
            assert answers == model.expected(photo)
        for tag in {*model.meaning.values(), "top"}:
            assert set(catalogue.search(tag).ids()) == model.having(tag)
            assert counts[tag] == len(model.having(tag))
        assert catalogue.mend() == 0
