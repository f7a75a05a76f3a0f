"""Every method of the comparison learns what is planted, and is chosen inside the training part alone."""

import warnings

import numpy as np
import pytest
from sklearn.base import BaseEstimator

from tagmix import EMM, Bags
from tagmix.comparison import methods
from tagmix.comparison.forms import BalancedContextEMM, CalibratedEMM, Frequency
from tagmix.comparison.methods import (
    METHODS,
    RIVALS,
    Method,
    choose_setting,
    method_of,
    methods_with,
    views_read,
)
from tagmix.comparison.rivals import CAM, AlwaysNone, MaxPoolingZero, ScorerZero
from tagmix.comparison.stacks import BalancedKernelRidge, CalibratedKernelRidge, Stack
from tagmix.errors import ParameterError
from tagmix.evaluation.leaks import leaks
from tagmix.evaluation.metrics import top_k_accuracy
from tagmix.evaluation.selection import scores_of
from tagmix.learners import LEARNERS, ContextEMM, RegionScorer
from tagmix.learners.context.kappa import VALUES
from tests.comparison.conftest import planted, with_captions_of_others


def strong(method):
    """Return where the search begins, but with words that count almost fully: they are few here."""
    return {name: 0.9 if name.startswith("evidence.") else value for name, value in method.start.items()}


def accuracy(method, train, test):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        learner = method.configured(strong(method), 50).fit(train)
    return top_k_accuracy(test.captions, scores_of(learner, test), 2)


# The other methods are learners with their own settings, which their own tests put to this test.
@pytest.mark.parametrize("name", ["EMM_m", "EMM_d", "EMM_calibrated", "ContextEMM", "DBA"])
def test_a_configured_method_ranks_planted_tags_far_above_its_shuffled_control(name, part):
    method = method_of(name, ("sift",))
    learnt = accuracy(method, part.train, part.test)
    control = accuracy(method, with_captions_of_others(part.train), part.test)
    assert learnt > 0.8
    assert control < learnt - 0.25


def test_every_learner_is_in_the_comparison():
    compared = {type(method_of(name, ("sift",)).learner) for name in METHODS}
    assert set(LEARNERS.values()) - compared == {RegionScorer}  # it is compared as ScorerZero
    rivals = {type(method_of(name, ("sift",)).learner) for name in RIVALS if name != "ContextEMM_expected"}
    assert rivals == {
        AlwaysNone,
        ScorerZero,
        MaxPoolingZero,
        CAM,
        CalibratedKernelRidge,
        BalancedKernelRidge,
        Stack,
    }
    assert compared - set(LEARNERS.values()) == {Frequency, CalibratedEMM, BalancedContextEMM} | rivals


def test_expected_tags_are_compared_with_everything_else_as_by_default():
    default, expected = (
        method_of(name, ("sift",)).learner.get_params() for name in ("ContextEMM", "ContextEMM_expected")
    )
    assert {name: own for name, own in expected.items() if own != default[name]} == {
        "context": ("kernel", "expected")
    }


def test_a_new_learner_takes_part_by_its_line_in_the_registry():
    names = [name for name in LEARNERS if name not in ("EMM", "RegionScorer")]
    assert list(METHODS)[-len(names) :] == names
    assert set(methods_with("for_regions")) == {"NaiveRegions", "CandidateEM", "MaxPooling"}
    reads_pictures = {"ContextEMM", "ContextEMM_balanced", "KNN", "TagProp", "TwoPassKNN"}
    reads_pictures |= {"KernelRidge", "LinearRanker"}
    assert set(methods_with("reads_pictures")) == reads_pictures
    searched = {name for name in METHODS if method_of(name, ("sift",)).axes}
    assert searched == {"EMM_m", "EMM_d", "EMM_calibrated", "DBA", "CorrLDA"}


def test_frequency_ranks_by_training_pictures_whatever_a_picture_shows():
    bags = Bags(np.ones((3, 2), int), [0, 1, 2, 3], tags=[["a", "b"], ["b"], ["b", "c"]])
    scores = Frequency().fit(bags).decision_scores(bags[:2])
    assert scores.tolist() == [[1, 3, 1], [1, 3, 1]]


def with_scenes(bags, seed=3):
    """Return the same bags with a view of whole pictures that tells their tags."""
    rng = np.random.default_rng(seed)
    scene = bags.captions.toarray() + rng.normal(0, 0.3, (len(bags), bags.n_tags))
    return Bags(bags.views, bags.offsets, bags.captions, bags.tag_names, bags.ids, {"scene": scene})


def test_a_method_reads_words_embeddings_or_whole_pictures_as_it_can():
    bags = with_scenes(planted(6)[0])
    net = {**bags.views, "net": np.ones((bags.n_regions, 2))}
    bags = Bags(net, bags.offsets, bags.captions, bags.tag_names, bags.ids, bags.pictures)
    read = {name: views_read(name, bags) for name in METHODS}
    assert read["ContextEMM"] == read["KernelRidge"] == ("sift", "net", "scene")
    assert read["EMM_m"] == read["MaxPooling"] == ("sift", "net")
    assert read["EMM_calibrated"] == read["CorrLDA"] == read["TopicRidge"] == ("sift",)


def test_a_form_ranks_by_its_own_scores_and_is_otherwise_its_class():
    bags, _ = planted(24, n_tags=3)
    forms = (CalibratedEMM, EMM, "predict_marginals"), (BalancedContextEMM, ContextEMM, "balanced_scores")
    for form, plain, ranks in forms:
        method, same = form(evidence=0.3).fit(bags), plain(evidence=0.3).fit(bags)
        scores = scores_of(method, bags)
        assert scores.tobytes() == getattr(same, ranks)(bags).tobytes()
        assert scores.tobytes() != scores_of(same, bags).tobytes()
        assert method.predict_marginals(bags).tobytes() == same.predict_marginals(bags).tobytes()


OF_EMM_D = ["max_iter", "supervision", "nu1", "nu2"]


def test_methods_that_learn_by_em_choose_their_passes_alike():
    axes = {name: method_of(name, ("sift",)).axes for name in METHODS}
    learners = {name: method_of(name, ("sift",)).learner for name in METHODS}
    by_em = {"EMM_m", "EMM_d", "EMM_calibrated", "DBA", "CorrLDA"}
    assert {name for name, own in axes.items() if "max_iter" in own} == by_em
    assert {tuple(axes[name]["max_iter"]) for name in by_em} == {(2, 5, 10, 20, 100)}
    on_text = [method_of(name, ("text",)) for name in by_em]
    assert {tuple(method.axes["max_iter"]) for method in on_text} == {(2, 5, 10, 20)}
    assert learners["EMM_d"].margin_centre == 1.0  # so that the end of ν₁ is EMM_m
    assert max(axes["EMM_d"]["nu1"]) >= 1e9


def test_the_last_nu1_of_margins_ranks_as_the_likelihood_does(part):
    plain, margins = (method_of(name, ("sift",)) for name in ("EMM_m", "EMM_d"))
    end = {**margins.start, "nu1": max(margins.axes["nu1"])}
    scores = [
        method.configured(setting, part.train.n_tags).fit(part.train).predict_proba(part.test)
        for method, setting in ((plain, plain.start), (margins, end))
    ]
    np.testing.assert_allclose(scores[0], scores[1], rtol=1e-6, atol=1e-12)


def test_a_configured_learner_is_fresh_and_has_the_settings_of_each_view():
    method = method_of("EMM_d", ("sift", "colour"))
    learner = method.configured({"evidence.sift": 0.3, "evidence.colour": 0.1, "nu1": 1e-3}, 50)
    assert learner.evidence == {"sift": 0.3, "colour": 0.1}
    assert learner.nu1 == 1e-3
    assert learner is not method.learner
    assert method.learner.get_params()["nu1"] != 1e-3  # the method's own is left alone
    assert list(method.axes) == ["evidence.sift", "evidence.colour", *OF_EMM_D]


def test_every_search_begins_on_its_axes():
    for name in METHODS:
        method = method_of(name, ("sift", "colour"))
        assert method.start.keys() == method.axes.keys()
        for axis, values in method.axes.items():
            assert method.start[axis] in values
            assert len(set(values)) == len(values)
            method.configured({**method.start, axis: values[-1]}, 50)


def test_a_setting_that_is_held_is_no_longer_chosen():
    method = method_of("EMM_d", ("sift", "colour"))
    held = method.without({"evidence": 0.01})
    assert list(held.axes) == list(held.start) == OF_EMM_D
    assert held.configured(held.start, 50).evidence == 0.01
    assert list(method.axes) == ["evidence.sift", "evidence.colour", *OF_EMM_D]
    assert list(method.without({"ranking": "theta"}).axes) == list(method.axes)


class Dial(BaseEstimator):
    """Ranks by the words, and worse the farther its two settings are from the best ones."""

    seen: list = []  # noqa: RUF012 (all copies write into one)

    def __init__(self, evidence=None, depth=1, best=(0.3, 4)):
        self.evidence, self.depth, self.best = evidence, depth, best

    def fit(self, bags, y=None):
        self.seen.append(bags)
        words, tags = summed(bags), bags.captions.toarray()
        self.means_ = tags.T @ words / np.maximum(1, tags.sum(axis=0))[:, None]
        return self

    def decision_scores(self, bags):
        assert bags.tags is None
        self.seen.append(bags)
        off = abs(np.log(self.evidence["sift"] / self.best[0])) + abs(np.log2(self.depth / self.best[1]))
        noise = np.random.default_rng(0).normal(size=(len(bags), len(self.means_)))
        scores = summed(bags) @ self.means_.T
        return scores / scores.std() + off * noise


def summed(bags):
    return np.add.reduceat(bags.views["sift"].toarray(), bags.offsets[:-1], axis=0).astype(float)


def dial(best=(0.3, 4)):
    axes = {"evidence.sift": VALUES, "depth": (1, 2, 4, 8)}
    return Method(Dial(best=best), axes, {"evidence.sift": VALUES[3], "depth": 2})


@pytest.mark.parametrize("best", [(0.3, 4), (VALUES[0], 1), (VALUES[-1], 8), (VALUES[3], 2)])
def test_the_planted_best_setting_is_chosen(best):
    bags, _ = planted(200)
    found = choose_setting(dial(best), bags, k=2)
    assert found.setting == {"evidence.sift": best[0], "depth": best[1]}
    assert found.value == max(value for _, value in found.tried)


def test_a_method_without_axes_has_nothing_to_choose(part):
    assert choose_setting(method_of("KNN", ("sift",)), part.train) is None


def test_the_same_seed_chooses_the_same_to_the_bit(part):
    method = method_of("EMM_m", ("sift",))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        first, again = (choose_setting(method, part.train, k=2, seed=3) for _ in range(2))
    assert first == again


def test_choosing_uses_useful_pictures_only_and_at_most_so_many_as_are_enough(monkeypatch):
    bags, _ = planted(60)
    captions = bags.captions.toarray()
    captions[::2] = 0
    monkeypatch.setattr(methods, "ENOUGH", 20)
    Dial.seen.clear()
    choose_setting(dial(), bags.with_tags(captions, bags.tag_names), k=2)
    used = {name for part in Dial.seen for name in part.ids}
    assert len(used) == 20
    assert all(int(name.removesuffix(".jpg")) % 2 for name in used)


def test_nothing_of_other_pictures_reaches_the_choice():
    bags, _ = planted(60)

    def procedure(bags, train, test):
        found = choose_setting(dial(), bags[train], k=2)
        return found.setting, found.value, [value for _, value in found.tried]

    assert not leaks(procedure, bags, np.arange(20))
    assert leaks(lambda bags, train, test: procedure(bags, np.arange(60), test), bags, np.arange(20))


def test_too_few_pictures_to_choose_on_are_refused():
    with pytest.raises(ParameterError, match="n_folds"):
        choose_setting(dial(), planted(2)[0])


def test_settings_are_chosen_on_the_most_frequent_tags_only(monkeypatch):
    bags, _ = planted(60)
    monkeypatch.setattr(methods, "ENOUGH_TAGS", 3)
    Dial.seen.clear()
    choose_setting(dial(), bags, k=1)
    names = [bags.tag_names[i] for i in methods.most_frequent(bags, 3)]
    assert Dial.seen
    assert all(list(part.tag_names) == names for part in Dial.seen if part.tags is not None)


def test_a_setting_for_each_tag_grows_with_the_tags():
    dba = method_of("DBA", ("sift",))
    assert dba.configured({"total_alpha/tags": 0.1}, 50).total_alpha == 5
    assert dba.configured({"total_alpha/tags": None}, 50).total_alpha is None
