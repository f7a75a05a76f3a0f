"""Which views are taken, given what held-out pictures say of each mixture."""

import numpy as np
import pytest

from tagmix import EMM, Bags
from tagmix.learners.context import tuning
from tagmix.learners.context.fitting import Trial
from tagmix.learners.context.tuning import _Asking, _grown, choose_by_agreement


def told(*said):
    """Return what asks nobody: (κ, agreement, agreement without context, coverage) was said before."""
    ask = _Asking.__new__(_Asking)
    ask.progress = None
    ask.models = {view: [view] for view in ("place", "sift", "network", "scene")}
    ask.asked = {
        frozenset(kappa.items()): (kappa, Trial({1.0: agreement}, alone, coverage, {}))
        for kappa, agreement, alone, coverage in said
    }
    return ask


PLACE = ({"place": 1.0}, 0.85, 0.17, 0.96)
SIFT = ({"sift": 1.0}, 0.875, 0.405, 0.92)
NETWORK = ({"network": 1.0}, 0.91, 0.735, 0.94)


def test_the_search_begins_with_what_names_tags_not_with_what_is_merely_consistent():
    ask = told(PLACE, SIFT, ({"sift": 1.0, "place": 1.0}, 0.8, 0.5, 0.9))
    assert ask.worth(PLACE[0]) > ask.worth(SIFT[0])
    assert _grown(["place", "sift"], [1.0], ask) == {"sift": 1.0}


def test_evidence_of_the_scene_does_not_keep_others_from_beginning():
    """It names tags of the caption without context, but one tag a picture: what it covers counts too."""
    scene = ({"scene": 1.0}, 0.99, 0.9, 0.55)
    ask = told(scene, ({"sift": 1.0}, 0.95, 0.36, 1.0), ({"sift": 1.0, "scene": 1.0}, 0.9, 0.8, 0.8))
    assert _grown(["scene", "sift"], [1.0], ask) == {"sift": 1.0}


@pytest.mark.parametrize(("alone", "joins"), [(0.74, True), (0.73, False)])
def test_a_view_joins_if_it_gains_and_regions_are_named_no_worse_without_context(alone, joins):
    ask = told(NETWORK, PLACE, ({"network": 1.0, "place": 1.0}, 0.9, alone, 0.97))
    assert _grown(["place", "network"], [1.0], ask) == {"network": 1.0} | ({"place": 1.0} if joins else {})


@pytest.mark.parametrize(("coverage", "joins"), [(0.93, False), (0.945, False), (0.946, True)])
def test_a_view_that_gains_no_more_than_chance_does_not_join(coverage, joins):
    ask = told(NETWORK, SIFT, ({"network": 1.0, "sift": 1.0}, 0.91, 0.8, coverage))
    assert _grown(["network", "sift"], [1.0], ask) == {"network": 1.0} | ({"sift": 1.0} if joins else {})


def test_a_view_that_did_not_join_is_asked_again_beside_what_has_joined_since():
    ask = told(
        SIFT,
        PLACE,
        ({"scene": 1.0}, 0.8, 0.4, 0.9),
        ({"sift": 1.0, "place": 1.0}, 0.87, 0.41, 0.92),
        ({"sift": 1.0, "scene": 1.0}, 0.89, 0.45, 0.92),
        ({"sift": 1.0, "scene": 1.0, "place": 1.0}, 0.9, 0.46, 0.93),
    )
    assert ask.worth(PLACE[0]) > ask.worth({"scene": 1.0})  # so that it is asked first
    assert _grown(["place", "sift", "scene"], [1.0], ask) == {"sift": 1.0, "scene": 1.0, "place": 1.0}


def test_each_view_comes_with_its_best_kappa():
    ask = told(
        NETWORK,
        ({"network": 3.0}, 0.92, 0.735, 0.94),
        ({"sift": 1.0}, 0.8, 0.4, 0.9),
        ({"sift": 3.0}, 0.7, 0.4, 0.9),
        ({"network": 3.0, "sift": 1.0}, 0.93, 0.75, 0.94),
        ({"network": 3.0, "sift": 3.0}, 0.94, 0.75, 0.94),
    )
    assert _grown(["sift", "network"], [1.0, 3.0], ask) == {"network": 3.0, "sift": 3.0}
    assert next(ask.tried(["sift", "network"])) == ({"sift": 0.0, "network": 1.0}, 0.91 * 0.94)


def test_each_fold_has_a_scorer_of_its_own_pictures_which_every_kappa_shares(monkeypatch):
    bags = Bags({"net": np.eye(8)}, np.arange(9), tags=np.eye(8, dtype=int))
    parts, learnt, used = [bags[:5], bags[3:]], [], []

    def scorer_of(part, name, settings):
        learnt.append((name, part.ids))
        return part.ids

    def try_powers(bags, held_out, regions, *how, with_shares):
        for fold, part in enumerate(parts):
            regions.learn(part, fold)
        return Trial({1.0: 0.5}, 0.5, 0.5, {})

    monkeypatch.setattr(tuning, "scorer_of", scorer_of)
    monkeypatch.setattr(
        tuning, "learn_regions", lambda emm, settings, part, fold, scorers: used.append(scorers)
    )
    monkeypatch.setattr(tuning, "try_powers", try_powers)
    ask = _Asking(EMM(context="kernel"), bags, None, ["net", "net:linear"], 0, None)
    for kappa in (0.1, 0.3):
        ask({"net": kappa})
    assert learnt == [("net:linear", part.ids) for part in parts]
    assert used == [{"net:linear": part.ids} for part in parts] * 2


@pytest.mark.parametrize(("alone", "chosen"), [(0.5, 0.4), (0.49, 0.3)])
def test_a_finer_kappa_is_taken_if_it_gains_and_regions_are_named_no_worse_without_context(
    monkeypatch, alone, chosen
):
    ask = told(
        ({"sift": 0.2}, 0.7, 0.5, 0.9),
        ({"sift": 0.3}, 0.8, 0.5, 0.9),
        ({"sift": 0.4}, 0.9, alone, 0.9),
        ({"sift": 0.5}, 0.7, 0.5, 0.9),
    )
    monkeypatch.setattr(tuning, "fit_prior", lambda *how: (None, None))
    monkeypatch.setattr(tuning, "_Asking", lambda *how: ask)
    ask.models = {"sift": ["sift"]}
    values = (0.1, 0.2, 0.3, 0.4, 0.5)
    found = choose_by_agreement(EMM(context="kernel"), None, values, 0, None, ["sift"]).found
    assert found.setting == {"sift": chosen}


def test_the_models_of_a_view_share_its_kappa():
    ask = told(({"network": 0.3}, 0.9, 0.5, 0.9))
    ask.models = {"sift": ["sift"], "network": ["network", "network:linear"]}
    assert ask.evidence({"network": 0.3}) == {"network": 0.3, "network:linear": 0.3}
    names = ["sift", "network", "network:linear"]
    assert next(ask.tried(names))[0] == {"sift": 0.0, "network": 0.3, "network:linear": 0.3}
