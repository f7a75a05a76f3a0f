"""How region models are trained: the start of EM, the odds after it, and a background that holds little."""

import numpy as np
import pytest

from tagmix import Bags
from tagmix.learners.context import regions
from tagmix.learners.context.regions import RegionTrainer, instance_names
from tagmix.learners.monitor import Monitor
from tagmix.model import given
from tagmix.model.params import Settings

N_TAGS = 6


class NoScores:
    """A scorer for which tags and background are as likely."""

    def score_regions(self, views):
        return np.zeros((views["words"].shape[0], N_TAGS))


class Counts:
    """A scorer that takes the first words for tags."""

    def score_regions(self, views):
        return views["words"][:, :N_TAGS].toarray().astype(float)


@pytest.fixture(scope="module")
def opened(sampled):
    """Pictures half of whose regions show none of the tags."""
    return sampled(80, n_tags=N_TAGS + 1, background=0.5, overlap=0.2).bags


def trainer(memory=1e6, background=True, **how):
    return RegionTrainer(Settings({"words": 0.3}), 100, 1e-4, memory, background)._replace(**how)


def trained(bags, own, monitor=None):
    return own.fit(bags, expected(bags), NoScores(), monitor)


def expected(bags):
    return np.log(np.full((len(bags), N_TAGS), bags.captions.nnz / len(bags) / N_TAGS))


def test_odds_with_a_background_are_those_of_em_times_a_factor(opened, monkeypatch):
    model = trained(opened, trainer())
    without = trained(opened, trainer(background=False))
    assert without.odds.inside == 1.0
    monkeypatch.setattr(regions, "ODDS_FACTOR", 1.0)
    plain = trained(opened, trainer())
    assert model.background
    np.testing.assert_allclose(model.odds, np.e * np.array(plain.odds), rtol=1e-12)


def test_a_background_of_less_than_a_quarter_is_left_out_and_the_model_trained_without_it(sampled):
    bags = sampled(80, n_tags=N_TAGS, overlap=0.2).bags
    monitor = Monitor(1e-4, 100)
    model, without = trained(bags, trainer(), monitor), trained(bags, trainer(background=False))
    assert (model.background, model.n_tags) == (False, N_TAGS)
    assert model.odds == without.odds
    np.testing.assert_array_equal(model.instances["words"].mu, without.instances["words"].mu)
    assert (np.diff(monitor.history) > 0).all()  # of the model that is kept
    assert monitor.converged


def test_a_background_is_judged_by_the_share_of_the_regions_that_it_holds(opened, monkeypatch):
    monkeypatch.setattr(regions, "ODDS_FACTOR", 1.0)
    model = trained(opened, trainer())
    shard = given.captioned_shard(opened, model, expected(opened))
    S = given.posterior_of_captions(shard, model, trainer().settings).S
    share = S[shard.entries.tags == N_TAGS].sum() / opened.n_regions
    for smallest, kept in ((0.99 * share, True), (1.01 * share, False)):
        monkeypatch.setattr(regions, "SMALLEST_BACKGROUND", smallest)
        assert trained(opened, trainer()).background is kept


def test_shards_change_nothing_but_rounding(opened):
    whole, parts = trained(opened, trainer()), trained(opened, trainer(memory=1e4))
    assert trainer(memory=1e4).shard_size(opened) < opened.n_regions / 3
    np.testing.assert_allclose(parts.instances["words"].mu, whole.instances["words"].mu, rtol=1e-6)
    np.testing.assert_allclose(parts.odds, whole.odds, rtol=1e-6)


@pytest.mark.parametrize("scorer", [NoScores(), Counts()])
def test_em_starts_from_regions_split_by_shares_half_of_them_background(opened, monkeypatch, scorer):
    started = []
    step = given.em_step
    monkeypatch.setattr(regions, "em_step", lambda model, *how: started.append(model) or step(model, *how))
    log_pi = np.full((len(opened), N_TAGS), -100.0)  # as if no tag were expected outside captions
    trainer().fit(opened, log_pi, scorer)
    first, counts = started[0], opened.views["words"].toarray()
    tags, a = opened.captions.toarray(), first.odds.inside
    assert a * opened.captions.nnz / len(opened) == pytest.approx(1.0)
    assert first.odds.outside == pytest.approx(0.1 * a)
    weights = np.column_stack([a * tags, np.ones(len(tags))])
    shares = np.repeat(weights / weights.sum(axis=1, keepdims=True), np.diff(opened.offsets), axis=0)
    np.testing.assert_allclose(first.instances["words"].mu, 0.1 + shares.T @ counts, rtol=1e-9)
    assert shares[:, -1].mean() == pytest.approx(0.5, abs=0.1)


def test_regions_are_modelled_by_the_embeddings_that_the_scorer_does_not_read_if_there_are_any():
    words, net, other = np.ones((3, 2), dtype=int), np.zeros((3, 700)), np.zeros((3, 4))
    assert instance_names(Bags({"words": words, "place": words}, [0, 3])) == ["words", "place"]
    assert instance_names(Bags({"words": words, "deep": net}, [0, 3])) == ["deep"]
    assert instance_names(Bags({"deep": net, "fine": other}, [0, 3])) == ["fine"]
