"""Which views are selected and at which κ, given what cross-validated pictures say about each setting."""

import numpy as np
import pytest
from tagmix.learners.context.agreement import Trial

from tagmix import Bags
from tagmix.evaluation.folds import grouped_folds
from tagmix.learners.context import kappa
from tagmix.learners.context.kappa import KappaSearch, most_tried
from tagmix.learners.context.prior import PriorOfTraining
from tagmix.learners.context.regions import RegionTrainer, train_folds
from tagmix.model.params import Settings


def scripted(*trials, values=(1.0,), monkeypatch=None):
    """Return a search whose trials are known: (κ by view, agreement, that without context, coverage)."""
    search = KappaSearch.__new__(KappaSearch)
    search.progress = None
    search.models = {view: [view] for setting, *_ in trials for view in setting}
    search.trials = {
        frozenset(setting.items()): (setting, Trial({1.0: agreement}, alone, coverage))
        for setting, agreement, alone, coverage in trials
    }
    monkeypatch.setattr(kappa, "COARSE", values)
    return search


@pytest.fixture
def script(monkeypatch):
    return lambda *trials, values=(1.0,): scripted(*trials, values=values, monkeypatch=monkeypatch)


PLACE = ({"place": 1.0}, 0.85, 0.17, 0.96)
SIFT = ({"sift": 1.0}, 0.875, 0.405, 0.92)
NETWORK = ({"network": 1.0}, 0.91, 0.735, 0.94)


def test_selection_begins_with_a_view_that_names_tags_not_with_one_that_is_merely_consistent(script):
    search = script(PLACE, SIFT, ({"sift": 1.0, "place": 1.0}, 0.8, 0.5, 0.9))
    assert search.score(PLACE[0]) > search.score(SIFT[0])
    assert search.forward_selection() == {"sift": 1.0}


def test_evidence_of_the_scene_does_not_keep_others_from_beginning(script):
    """It names tags of the caption without context, but one tag per picture: coverage counts too."""
    scene = ({"scene": 1.0}, 0.99, 0.9, 0.55)
    search = script(scene, ({"sift": 1.0}, 0.95, 0.36, 1.0), ({"sift": 1.0, "scene": 1.0}, 0.9, 0.8, 0.8))
    assert search.forward_selection() == {"sift": 1.0}


@pytest.mark.parametrize(("alone", "joins"), [(0.74, True), (0.73, False)])
def test_a_view_joins_only_if_regions_are_named_no_worse_without_context(script, alone, joins):
    search = script(NETWORK, PLACE, ({"network": 1.0, "place": 1.0}, 0.9, alone, 0.97))
    assert search.forward_selection() == {"network": 1.0} | ({"place": 1.0} if joins else {})


@pytest.mark.parametrize(("coverage", "joins"), [(0.93, False), (0.945, False), (0.946, True)])
def test_a_view_that_gains_no_more_than_noise_does_not_join(script, coverage, joins):
    search = script(NETWORK, SIFT, ({"network": 1.0, "sift": 1.0}, 0.91, 0.8, coverage))
    assert search.forward_selection() == {"network": 1.0} | ({"sift": 1.0} if joins else {})


def test_a_view_that_did_not_join_is_tried_again_beside_what_has_joined_since(script):
    search = script(
        SIFT,
        PLACE,
        ({"scene": 1.0}, 0.8, 0.4, 0.9),
        ({"sift": 1.0, "place": 1.0}, 0.87, 0.41, 0.92),
        ({"sift": 1.0, "scene": 1.0}, 0.89, 0.45, 0.92),
        ({"sift": 1.0, "scene": 1.0, "place": 1.0}, 0.9, 0.46, 0.93),
    )
    assert search.score(PLACE[0]) > search.score({"scene": 1.0})  # so that it is tried first
    assert search.forward_selection() == {"sift": 1.0, "scene": 1.0, "place": 1.0}


def test_each_view_joins_at_its_best_kappa(script):
    search = script(
        NETWORK,
        ({"network": 3.0}, 0.92, 0.735, 0.94),
        ({"sift": 1.0}, 0.8, 0.4, 0.9),
        ({"sift": 3.0}, 0.7, 0.4, 0.9),
        ({"network": 3.0, "sift": 1.0}, 0.93, 0.75, 0.94),
        ({"network": 3.0, "sift": 3.0}, 0.94, 0.75, 0.94),
        values=(1.0, 3.0),
    )
    assert search.forward_selection() == {"network": 3.0, "sift": 3.0}
    assert next(search.scored()) == ({"network": 1.0, "sift": 0.0}, 0.91 * 0.94)


@pytest.mark.parametrize(("alone", "chosen"), [(0.5, 0.4), (0.49, 0.3)])
def test_a_finer_kappa_is_taken_only_if_regions_are_named_no_worse_without_context(
    script, monkeypatch, alone, chosen
):
    search = script(
        ({"sift": 0.2}, 0.7, 0.5, 0.9),
        ({"sift": 0.3}, 0.8, 0.5, 0.9),
        ({"sift": 0.4}, 0.9, alone, 0.9),
        ({"sift": 0.5}, 0.7, 0.5, 0.9),
        values=(0.3,),
    )
    monkeypatch.setattr(kappa, "VALUES", (0.1, 0.2, 0.3, 0.4, 0.5))
    assert search.choose().setting == {"sift": chosen}


def test_the_models_of_a_view_share_its_kappa(script):
    search = script(({"network": 0.3}, 0.9, 0.5, 0.9))
    search.models = {"sift": ["sift"], "network": ["network", "network:linear"]}
    assert search.evidence({"network": 0.3}) == {"network": 0.3, "network:linear": 0.3}
    assert next(search.scored())[0] == {"sift": 0.0, "network": 0.3, "network:linear": 0.3}


@pytest.fixture(scope="module")
def pictures():
    """Twelve pictures with embeddings and words, each there twice."""
    rng = np.random.default_rng(0)
    rows = np.tile(np.arange(12), 2)
    views = {"net": rng.normal(size=(12, 4))[rows], "words": rng.poisson(2.0, (12, 5))[rows]}
    bags = Bags(views, np.arange(25), tags=np.eye(3, dtype=int)[rows % 3])
    return bags, PriorOfTraining(np.arange(24), rng.normal(size=(24, 3)), rows)


def searching(pictures, progress=None):
    bags, prior = pictures
    trainer = RegionTrainer(Settings({"words": 1.0}), max_iter=50, tol=1e-3, memory=1e6)
    folds = grouped_folds(prior.groups, 3, 0)
    return KappaSearch(bags, prior, trainer, (1.0,), ["net", "net:linear", "words"], folds, progress)


def test_each_fold_has_a_scorer_of_its_own_pictures_which_every_kappa_shares(pictures, monkeypatch):
    trained, used = [], []
    train = kappa.train_scorer
    monkeypatch.setattr(
        kappa, "train_scorer", lambda part, *how: trained.append(part.ids) or train(part, *how)
    )
    fit = RegionTrainer.fit
    monkeypatch.setattr(
        RegionTrainer,
        "fit",
        lambda self, part, scorers: used.append((part.ids, self)) or fit(self, part, scorers),
    )
    search = searching(pictures)
    for k in (0.1, 0.3):
        search.trial({"net": k})
    folds = [pictures[0][fold.train].ids for fold in search.folds]
    assert trained == folds
    assert [ids for ids, _ in used] == folds * 2
    assert all(trainer.max_iter == kappa.MAX_ITER for _, trainer in used)
    assert used[-1][1].settings.evidence == {"net": 0.3, "net:linear": 0.3}


def test_no_setting_is_scored_twice(pictures):
    counted = []
    search = searching(pictures, counted.append)
    found = search.choose()
    assert counted == list(range(1, len(found.tried) + 1))
    assert len(found.tried) <= most_tried(2)
    assert found.value == max(score for _, score in found.tried if score <= found.value)
    assert set(found.setting) <= {"net", "net:linear", "words"}


def test_models_of_a_fold_are_asked_about_the_pictures_that_they_have_not_seen(pictures, monkeypatch):
    asked = []
    ask = kappa.try_powers
    monkeypatch.setattr(
        kappa, "try_powers", lambda *how: asked.extend(fold.test.tolist() for fold in how[2]) or ask(*how)
    )
    search = searching(pictures)
    search.trial({"words": 0.3})
    assert asked == [fold.test.tolist() for fold in search.folds]


def test_region_models_of_folds_have_not_seen_their_pictures(pictures):
    search = searching(pictures)
    for found, (train, test) in zip(
        train_folds(search.bags, search.trainer, search.folds), search.folds, strict=True
    ):
        expected = search.trainer.fit(search.bags[train]).instances["words"]
        np.testing.assert_array_equal(found.model.instances["words"].mu, expected.mu)
        np.testing.assert_array_equal(found.test, np.sort(test))
