"""The views that regions are modelled by and their κ, given how well regions predict captions."""

import numpy as np
import pytest

from tagmix import Bags
from tagmix.learners.context import kappa
from tagmix.learners.context.kappa import (
    HeldOut,
    KappaSearch,
    caption_loss,
    most_tried,
    noisy_or_loss,
    usual_evidence,
)
from tagmix.learners.context.regions import RegionTrainer
from tagmix.model.estep import evidence_of
from tagmix.model.params import Settings

TRAINER = RegionTrainer(Settings({"words": 1.0}), 50, 1e-3, 1e6, background=True)


@pytest.fixture
def script(monkeypatch):
    """Return a maker of searches whose losses are given, and which tries only these values."""

    def made(*losses, values=(1.0,)):
        monkeypatch.setattr(kappa, "VALUES", values)
        search = KappaSearch(
            [], TRAINER, list(dict.fromkeys(name for setting, _ in losses for name in setting))
        )
        search._loss = lambda asked: next(loss for setting, loss in losses if setting == asked)
        return search

    return made


def test_the_view_with_the_smallest_loss_is_first_and_a_setting_has_minus_its_loss(script):
    search = script(({"place": 1.0}, 5.0), ({"sift": 1.0}, 4.0), ({"place": 1.0, "sift": 1.0}, 4.5))
    found = search.choose()
    assert found.setting == {"sift": 1.0}
    assert found.value == -4.0
    assert ({"place": 0.0, "sift": 1.0}, -4.0) in found.tried


@pytest.mark.parametrize(("loss", "joins"), [(3.97, False), (3.95, True)])
def test_a_view_that_takes_no_more_than_noise_from_the_loss_does_not_join(script, loss, joins):
    search = script(({"sift": 1.0}, 4.0), ({"place": 1.0}, 5.0), ({"place": 1.0, "sift": 1.0}, loss))
    assert search.choose().setting == {"sift": 1.0} | ({"place": 1.0} if joins else {})


def test_a_view_that_did_not_join_is_tried_again_beside_what_has_joined_since(script):
    search = script(
        ({"sift": 1.0}, 4.0),
        ({"place": 1.0}, 5.0),
        ({"scene": 1.0}, 6.0),
        ({"sift": 1.0, "place": 1.0}, 3.99),
        ({"sift": 1.0, "scene": 1.0}, 3.5),
        ({"sift": 1.0, "scene": 1.0, "place": 1.0}, 3.0),
    )
    assert search.choose().setting == {"sift": 1.0, "scene": 1.0, "place": 1.0}


def test_each_view_joins_at_its_best_kappa(script):
    search = script(
        ({"sift": 0.1}, 4.2),
        ({"sift": 0.3}, 4.0),
        ({"place": 0.1}, 5.0),
        ({"place": 0.3}, 6.0),
        ({"sift": 0.3, "place": 0.1}, 3.8),
        ({"sift": 0.3, "place": 0.3}, 3.5),
        values=(0.1, 0.3),
    )
    assert search.choose().setting == {"sift": 0.3, "place": 0.3}


def test_the_loss_is_that_of_a_noisy_or_over_known_pairs_by_hand():
    bags = Bags(np.ones((3, 1), int), [0, 2, 2, 3])
    phi = np.array([[0.5, 0.2], [0.5, 0.0], [0.9, 0.1]])
    y = np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 1.0]])
    losses = [-np.log(0.75), -np.log(0.8), -np.log(1 - 1e-6), -np.log(1e-6), -np.log(0.1), -np.log(0.1)]
    assert noisy_or_loss(phi, bags, y, None) == pytest.approx(sum(losses))
    known = np.array([[True, False], [True, False], [True, True]])
    assert noisy_or_loss(phi, bags, y, known) == pytest.approx(sum(losses[i] for i in (0, 2, 4, 5)))
    certain = np.array([[1.0, 0.0], [1.0, 0.0], [1.0, 0.0]])
    assert np.isfinite(noisy_or_loss(certain, bags, 1 - y, None))


def test_views_share_kappa_and_those_that_the_scorer_reads_too_have_half_of_it():
    maps = {
        name: np.ones((2, width)) for name, width in (("fine", 2), ("finer", 3), ("deep", 9), ("more", 8))
    }

    def usual(*names):
        return usual_evidence(Bags({name: maps[name] for name in names}, [0, 2]))

    assert usual("fine", "deep", "more") == {"fine": 0.2}
    assert usual("fine", "finer", "deep") == {"fine": 0.1, "finer": 0.1}
    assert usual("deep", "more") == {"deep": 0.05, "more": 0.05}


class NoScores:
    """A scorer for which tags and background are as likely."""

    def __init__(self, n_tags):
        self.n_tags = n_tags

    def score_regions(self, views):
        return np.zeros((next(iter(views.values())).shape[0], self.n_tags))


@pytest.fixture(scope="module")
def part():
    """Pictures to learn from and to score; words of one view tell the tags, those of the other nothing."""
    rng = np.random.default_rng(0)
    n, n_tags, n_regions = 90, 5, 3
    truth = rng.integers(0, n_tags, (n, n_regions))
    tags = np.zeros((n, n_tags), dtype=int)
    np.put_along_axis(tags, truth, 1, axis=1)
    topics = 0.1 + np.eye(n_tags)
    told = rng.poisson(8 * topics[truth.ravel()])
    views = {"noise": rng.poisson(2.0, told.shape), "told": told}
    bags = Bags(views, np.arange(n + 1) * n_regions, tags=tags)
    log_pi = np.log(np.full((n, n_tags), tags.mean()))
    return HeldOut(bags[:60], log_pi[:60], bags[60:], NoScores(n_tags))


@pytest.mark.parametrize("background", [False, True])
def test_regions_predict_captions_with_the_frequencies_of_tags_in_place_of_a_context(part, background):
    trainer = TRAINER._replace(background=background).with_evidence({"told": 0.1})
    model = trainer.fit(part.train, part.log_prior, part.scorer)
    frequency = (part.train.captions.toarray().sum(axis=0) + 0.5) / 61
    evidence = evidence_of(part.test, model, trainer.settings)
    total = 0.0
    for n, own in enumerate(part.test.captions.toarray()):
        weights = model.odds.inside * frequency
        weights = np.append(weights, 1.0) if model.background else weights
        phi = weights * np.exp(evidence[part.test.offsets[n] : part.test.offsets[n + 1]])
        phi = (phi / phi.sum(axis=1, keepdims=True))[:, :5]
        p = 1 - np.prod(1 - phi, axis=0)
        total -= (own * np.log(p) + (1 - own) * np.log(1 - p)).sum()
    assert caption_loss(model, part, trainer) == pytest.approx(total, rel=1e-6)
    tiny = trainer._replace(memory=1.0)  # one picture at a time
    assert caption_loss(model, part, tiny) == pytest.approx(total, rel=1e-6)


def test_words_that_tell_the_tags_are_chosen_and_words_that_tell_nothing_are_not(part):
    found = KappaSearch([part], TRAINER, ["noise", "told"]).choose()
    assert list(found.setting) == ["told"]
    order = np.random.default_rng(1).permutation(60)
    shuffled = part._replace(train=part.train.with_tags(part.train.captions[order], part.train.tag_names))
    assert KappaSearch([shuffled], TRAINER, ["noise", "told"]).choose().value < found.value - 0.3


def test_no_setting_is_scored_twice_and_the_best_one_is_chosen(part):
    counted = []
    found = KappaSearch([part], TRAINER, ["noise", "told"], counted.append).choose()
    assert counted == list(range(1, len(found.tried) + 1))
    assert len(found.tried) <= most_tried(2)
    best = max(score for _, score in found.tried)
    assert best + 0.01 * best <= found.value <= best  # scores are negative


def test_the_score_is_the_mean_over_the_pictures_of_all_parts_each_with_its_own_scorer(part, monkeypatch):
    scorers = []
    fit = RegionTrainer.fit
    monkeypatch.setattr(
        RegionTrainer, "fit", lambda self, *how: scorers.append((how[2], self.max_iter)) or fit(self, *how)
    )
    other = part._replace(test=part.test[:10], scorer=NoScores(5))
    both = KappaSearch([part, other], TRAINER, ["told"]).score({"told": 0.1})
    assert scorers == [(part.scorer, kappa.MAX_ITER), (other.scorer, kappa.MAX_ITER)]
    alone = [KappaSearch([one], TRAINER, ["told"]).score({"told": 0.1}) for one in (part, other)]
    assert KappaSearch([part], TRAINER._replace(max_iter=3), ["told"]).trainer.max_iter == 3
    assert both == pytest.approx((30 * alone[0] + 10 * alone[1]) / 40)
