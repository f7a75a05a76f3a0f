"""The experiment with a planted truth: draw pictures from the model's own story and see what comes back.

The truth is known here, which tag every region was drawn from and with which words, so that one can say
how much of it is recovered from captions alone, and what happens when the captions are wrong.
"""

import copy
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from tagmix.arrays import Floats
from tagmix.bags import Bags
from tagmix.evaluation.metrics import top_k_accuracy, top_tags
from tagmix.learners import EMM
from tagmix.model.instance import Multinomial
from tagmix.model.sample import Sample, planted_topics, sample_bags
from tagmix.report.page import Picture

NONE = "none of the tags"
CURVES = ("learnt", "shuffled", "known")
# What chance may add to tag frequency without a leak.
SLACK = 0.05
Step = Callable[[str], None]


@dataclass(frozen=True)
class Sizes:
    """How much is drawn; the defaults end within a minute on two cores, compilation included."""

    n_words: int = 400
    n_regions: int = 8
    words_per_region: int = 60
    n_train: int = 500
    n_test: int = 1000
    overlap: float = 0.9
    overlaps: tuple[float, ...] = (0.0, 0.4, 0.7, 0.85, 0.9, 0.94, 0.98)
    n_runs: int = 2
    n_curve_test: int = 250
    calibration_folds: int = 5  # EMM's default
    n_pictures: int = 4
    seed: int = 7

    @property
    def n_steps(self) -> int:
        """How often ``step`` is called: by ``compute``, and once more for the page."""
        return 5 + self.n_runs * len(self.overlaps)


class World(NamedTuple):
    """What was planted, and pictures drawn from it: training and test."""

    topics: Floats
    rates: Floats
    train: Sample
    test: Sample


class Scores(NamedTuple):
    """Top-5 accuracy, and the share of regions with the right tag without and with the caption."""

    top5: float
    free: float
    captioned: float


def draw(sizes: Sizes, names: Sequence[str], overlap: float, seed: int, n_test: int) -> World:
    """Plant tags with words and sample pictures; the frequency of tag c is proportional to 1/√(c+1)."""
    rng = np.random.default_rng(seed)
    topics = planted_topics(len(names), sizes.n_words, overlap, rng)
    rates = np.sqrt(np.arange(1, len(names) + 1))
    how: Any = {"n_regions": sizes.n_regions, "words_per_region": sizes.words_per_region, "rates": rates}
    samples = [sample_bags(topics, n, **how, rng=rng) for n in (sizes.n_train, n_test)]
    train, test = (s._replace(bags=s.bags.with_tags(s.bags.captions, names)) for s in samples)
    return World(topics, rates, train, test)


def shuffled(bags: Bags, seed: int) -> Bags:
    """Permute captions between pictures: only tag frequencies remain to be learnt."""
    return bags.with_tags(bags.captions[np.random.default_rng(seed).permutation(len(bags))])


def fit(bags: Bags, learning: str = "likelihood", folds: int = 0) -> EMM:
    """Train until the bound converges, on all cores."""
    return EMM(learning=learning, calibration_folds=folds, max_iter=500, n_jobs=-1).fit(bags)


def knowing_the_words(emm: EMM, world: World) -> EMM:
    """Return a model with the planted words and rates: the best that inference can reach."""
    known = copy.copy(emm)
    words = Multinomial(world.topics * 1e8 + 1e-4, 1e-4)
    known.params_ = replace(emm.params_, rates=world.rates, instances={"words": words})
    return known


def region_accuracy(emm: EMM, test: Sample, captioned: bool = False) -> float:
    """Return the share of regions whose best tag is the one that they were drawn from."""
    found = emm.top_region_tags(test.bags, captioned=captioned)[:, 0]
    return float((found == test.region_tags).mean())


def accuracy_by_tag(emm: EMM, test: Sample) -> dict[str, float]:
    """Return, for each tag that a region was drawn from, how many of its regions were found, best first."""
    right = emm.top_region_tags(test.bags)[:, 0] == test.region_tags
    drawn = np.bincount(test.region_tags, minlength=len(emm.tag_names_))
    hits = np.bincount(test.region_tags, weights=right, minlength=len(emm.tag_names_))
    shares = {name: float(h / n) for name, h, n in zip(emm.tag_names_, hits, drawn, strict=True) if n}
    return dict(sorted(shares.items(), key=lambda pair: -pair[1]))


def scores_of(emm: EMM, test: Sample) -> Scores:
    """Return the three scores of a model on test pictures."""
    return Scores(emm.score(test.bags), region_accuracy(emm, test), region_accuracy(emm, test, True))


def scores_without_model(world: World) -> dict[str, Scores]:
    """Return the scores of tag frequency, of random tags, and of a perfect ranking."""
    test, truth = world.test, world.test.bags.captions.toarray().astype(float)
    share = world.train.bags.captions.toarray().mean(axis=0)
    n_images, n_tags = truth.shape
    own = np.argmax(truth * (share + 1e-9), axis=1)  # the most frequent tag of the caption
    commonest = np.repeat(own, np.diff(test.bags.offsets))
    hits = 5 * truth.sum() / n_tags  # five tags at random
    given = truth.sum(axis=1)
    return {
        "frequency": Scores(
            top_k_accuracy(truth, np.tile(share, (n_images, 1))),
            float((test.region_tags == share.argmax()).mean()),
            float((test.region_tags == commonest).mean()),
        ),
        "chance": Scores(2 * hits / (5 * n_images + truth.sum()), 1 / n_tags, float((1 / given).mean())),
        "ceiling": Scores(top_k_accuracy(truth, truth), 1.0, 1.0),
    }


def lift(words: Floats) -> Floats:
    """Return how many times as frequent each word is in a tag as in all tags together."""
    words = words / words.sum(axis=1, keepdims=True)
    return words / words.mean(axis=0)


def words_found(planted: Floats, found: Floats, k: int) -> float:
    """Return how many of the k words that mark a tag in truth are among the k that mark it in the model."""
    truth, model = top_tags(lift(planted), k), top_tags(lift(found), k)
    return float(np.mean([len(set(a) & set(b)) / k for a, b in zip(truth, model, strict=True)]))


def recovery(sizes: Sizes, names: Sequence[str], step: Step) -> dict[str, Floats]:
    """Return region accuracy, runs × overlaps: learnt, learnt from shuffled captions, words known."""
    curves = {name: np.zeros((sizes.n_runs, len(sizes.overlaps))) for name in CURVES}
    for run in range(sizes.n_runs):
        for i, overlap in enumerate(sizes.overlaps):
            step(f"recovery, overlap {overlap:g}")
            world = draw(sizes, names, overlap, sizes.seed + 100 + run, sizes.n_curve_test)
            emm = fit(world.train.bags)
            control = fit(shuffled(world.train.bags, run))
            models = {"learnt": emm, "shuffled": control, "known": knowing_the_words(emm, world)}
            for name, model in models.items():
                curves[name][run, i] = region_accuracy(model, world.test)
    return curves


def pictures_of(emm: EMM, test: Sample, n: int) -> list[Picture]:
    """Return the first n test pictures with their predictions without captions."""
    names = np.array([*emm.tag_names_, NONE])  # a region of none of the tags has the index −1
    bags, n_regions = test.bags[:n], int(test.bags.offsets[n])
    found = names[emm.top_region_tags(bags)[:, 0]]
    true = names[test.region_tags[:n_regions]]
    p = emm.predict_marginals(bags)
    shown = []
    for i in range(len(bags)):
        part = slice(int(bags.offsets[i]), int(bags.offsets[i + 1]))
        ranked = [(str(names[c]), float(p[i, c])) for c in top_tags(p[[i]], 8)[0]]
        caption = names[bags[i].captions.indices].tolist()
        shown.append(Picture(f"Picture {i + 1}", true[part].tolist(), found[part].tolist(), caption, ranked))
    return shown


@dataclass
class Results:
    """The contents of the page."""

    sizes: Sizes
    world: World
    likelihood: EMM
    margin: EMM
    control: EMM
    scores: dict[str, Scores]
    curves: dict[str, Floats]
    seconds: float = 0.0

    @property
    def control_fails(self) -> bool:
        """Whether shuffled captions gained nothing beyond tag frequencies, as expected."""
        control, blind = self.scores["control"], self.scores["frequency"]
        return control.top5 < blind.top5 + SLACK and control.free < blind.free + SLACK

    @property
    def verdict(self) -> str:
        """Whether the control is as expected, in words."""
        if self.control_fails:
            return "nothing is learnt from wrong captions, as it must be"
        return "MORE than tag frequency from wrong captions, which must not be: something leaks"


def compute(sizes: Sizes, names: Sequence[str], step: Step) -> Results:
    """Sample, train and predict; ``step(text)`` is called before each step."""
    start = time.perf_counter()
    step("drawing pictures, compiling")
    world = draw(sizes, names, sizes.overlap, sizes.seed, sizes.n_test)
    likelihood = fit(world.train.bags)
    step("learning weights by margins, calibrating")
    margin = fit(world.train.bags, "margin", folds=sizes.calibration_folds)
    step("learning from shuffled captions")
    control = fit(shuffled(world.train.bags, sizes.seed))
    step("asking about held-out pictures")
    known = knowing_the_words(likelihood, world)
    models = {"likelihood": likelihood, "margin": margin, "control": control, "known": known}
    scores = {name: scores_of(emm, world.test) for name, emm in models.items()}
    results = Results(sizes, world, likelihood, margin, control, scores | scores_without_model(world), {})
    results.curves = recovery(sizes, names, step)
    results.seconds = time.perf_counter() - start
    return results
