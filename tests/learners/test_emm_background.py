"""EMM with a background: it is found where it was planted, costs nothing where it was not, and is no tag."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone

import tagmix
from tagmix import EMM, Bags, ModelFileError, ParameterError, planted_topics, sample_bags, storage
from tagmix.learners import em
from tagmix.model import background as definition
from tagmix.model import mstep
from tagmix.model.margin import label_duals, own_label_duals
from tagmix.model.params import Settings

PLAIN = {"learning": "likelihood", "calibration_folds": 0, "background": True}
WAYS = {
    "variational": {},
    "map": {"inference": "map"},
    "printed bound": {"normaliser": "dropped"},
    "soft": {"supervision": 50.0},
    "margins": {"learning": "margin"},
}


def planted(share, seed=0, overlap=0.5):
    rng = np.random.default_rng(seed)
    topics = planted_topics(12 + (share > 0), 200, overlap, rng)
    sample = sample_bags(topics, 300, background=share, words_per_region=40, rng=rng)
    return sample.bags[:250], sample.bags[250:], sample.region_tags[sample.bags.offsets[250] :]


def best_of(phi):
    """Return the best tag of each region, −1 where none of the tags is more probable."""
    return np.column_stack([1 - phi.sum(axis=1), phi]).argmax(axis=1) - 1


@pytest.mark.parametrize("how", WAYS.values(), ids=WAYS)
def test_planted_background_is_found_with_and_without_captions(how):
    train, test, truth = planted(0.4)
    emm = EMM(**{**PLAIN, **how}).fit(train)
    for captioned in (False, True):
        assert (best_of(emm.predict_regions(test, captioned)) == truth).mean() > 0.97
    without = EMM(**{**PLAIN, **how, "background": False}).fit(train)
    assert (best_of(without.predict_regions(test)) == truth).mean() <= (truth >= 0).mean()
    assert emm.score(test) > without.score(test)


def test_with_shuffled_captions_it_is_worse_than_calling_every_region_background():
    right, always = [], []
    for seed in range(4):
        train, test, truth = planted(0.4, seed)
        shuffled = train.with_tags(train.captions[np.random.default_rng(seed).permutation(len(train))])
        right.append((best_of(EMM(**PLAIN).fit(shuffled).predict_regions(test)) == truth).mean())
        always.append((truth == -1).mean())
    assert np.mean(right) < np.mean(always) - 0.03


@pytest.mark.parametrize("overlap", [0.3, 0.8])
def test_where_there_is_no_background_it_vanishes_and_costs_nothing(overlap):
    train, test, truth = planted(0.0, overlap=overlap)
    with_it, without = (EMM(**{**PLAIN, "background": own}).fit(train) for own in (True, False))
    assert (1 - with_it.predict_regions(test).sum(axis=1)).mean() < 0.01
    right = [(best_of(emm.predict_regions(test)) == truth).mean() for emm in (with_it, without)]
    assert right[0] > right[1] - 0.005
    assert with_it.score(test) > without.score(test) - 0.01


def test_words_that_hardly_count_leave_every_region_to_the_background():
    train, test, truth = planted(0.4)
    shares = {}
    for kappa in (1.0, 0.1, 0.02):
        none = 1 - EMM(**PLAIN, evidence=kappa).fit(train).predict_regions(test).sum(axis=1)
        shares[kappa] = none[truth >= 0].mean()
    assert shares[1.0] < 0.01
    assert shares[0.1] < 0.03
    assert shares[0.02] > 0.9


@pytest.fixture(scope="module")
def fitted():
    train, test, _ = planted(0.4)
    return EMM(background=True, calibration_folds=2).fit(train), test


@pytest.mark.parametrize("captioned", [False, True])
def test_every_answer_has_the_tags_alone_and_rows_of_regions_sum_to_at_most_1(fitted, captioned):
    emm, test = fitted
    tags = test.captions.toarray()
    tags[::3] = 0
    phi = emm.predict_regions(test.with_tags(tags, test.tag_names), captioned)
    assert phi.shape == (test.n_regions, 12)
    assert phi.min() >= 0
    assert phi.sum(axis=1).max() <= 1 + 1e-9
    assert 0.2 < phi.sum(axis=1).mean() < 0.8
    regions = np.repeat(tags > 0, np.diff(test.offsets), axis=0)
    tagged = regions.any(axis=1)
    if captioned:
        assert phi[tagged][~regions[tagged]].max() == 0
        np.testing.assert_array_equal(phi[~tagged], emm.predict_regions(test)[~tagged])
    np.testing.assert_allclose(emm.predict_proba(test).sum(axis=1), 1.0)
    assert emm.predict_proba(test).shape == emm.predict_marginals(test).shape == tags.shape
    assert emm.top_tags(test, 12).max() == emm.top_region_tags(test, 12, captioned).max() == 11
    assert len(emm.explain(test[:1], 3)) == 1
    assert len(emm.margin_.weights) == 12


@pytest.mark.filterwarnings("ignore:stopped after")
@pytest.mark.parametrize("how", [{}, {"inference": "map"}, {"supervision": 20.0, "learning": "likelihood"}])
def test_a_model_with_background_comes_back_from_its_file_bit_for_bit(tmp_path, how):
    train, test, _ = planted(0.4)
    emm = clone(EMM(background=True, calibration_folds=2, max_iter=3, **how)).fit(train)
    emm.save(tmp_path / "m.tagmix")
    back = tagmix.load(tmp_path / "m.tagmix")
    assert back.background is True
    for method in ("predict_proba", "predict_marginals", "predict_regions"):
        np.testing.assert_array_equal(getattr(back, method)(test), getattr(emm, method)(test))
    np.testing.assert_array_equal(back.predict_regions(test, True), emm.predict_regions(test, True))


@pytest.mark.filterwarnings("ignore:stopped after")
@pytest.mark.parametrize("stored", [True, False])
def test_a_file_that_lies_about_its_background_is_refused(tmp_path, stored):
    train, _, _ = planted(0.4)
    path = tmp_path / "m.tagmix"
    EMM(**{**PLAIN, "background": stored}, max_iter=2).fit(train).save(path)
    found = storage.read(path)
    fields = {**found.fields, "parameters": {**found.fields["parameters"], "background": not stored}}
    storage.write(path, found.kind, fields, found.arrays)
    with pytest.raises(ModelFileError, match="shape"):
        tagmix.load(path)


def test_background_is_a_flag():
    train, _, _ = planted(0.4)
    with pytest.raises(ParameterError, match="background must be True or False, got 1"):
        EMM(background=1).fit(train)


@pytest.mark.filterwarnings("ignore:stopped after")
@pytest.mark.parametrize("hard", [True, False])
def test_margins_see_the_tags_alone_and_leave_the_background_unguided(monkeypatch, hard):
    seen = []

    def spied(shares, tags, **how):
        seen.append((shares, tags, solve(shares, tags, **how)))
        return seen[-1][2]

    solve = em.solve_margin
    monkeypatch.setattr(em, "solve_margin", spied)
    corpora = []
    guide = em.Corpus.guide_by

    def kept(corpus, *how):
        guide(corpus, *how)
        corpora.append(corpus)

    monkeypatch.setattr(em.Corpus, "guide_by", kept)
    train, _, _ = planted(0.4)
    supervision = "hard" if hard else 20.0
    emm = EMM(background=True, calibration_folds=0, max_iter=3, supervision=supervision, nu2=2.0).fit(train)
    shares, tags, solution = seen[0]
    assert shares.shape == tags.shape == train.captions.shape
    assert shares.sum(axis=1).mean() < 0.7  # the rest is background
    delta = 2.0 * len(train) * (own_label_duals if hard else label_duals)(shares, tags, solution)
    expected = definition.duals_with_background(delta, tags)
    np.testing.assert_allclose(corpora[0].deltas[0], expected, atol=1e-12)
    assert emm.params_.weights[-1] == 1.0
    np.testing.assert_array_equal(emm.params_.weights[:-1], seen[-1][2].weights)


def test_a_caption_may_be_empty_for_the_helpers():
    tags = csr_array(np.array([[0, 0], [1, 0]]))
    assert definition.with_background(tags).toarray().tolist() == [[0, 0, 1], [1, 0, 1]]
    assert definition.duals_with_background(np.array([0.5]), tags).tolist() == [0.0, 0.5, 0.0]
    dense = definition.duals_with_background(np.ones((2, 2)), tags)
    assert dense.tolist() == [[1, 1, 0], [1, 1, 0]]


def test_training_starts_with_half_of_each_region_in_the_background():
    views = {"words": np.array([[2, 0], [4, 6], [0, 4]]), "net": np.array([[1.0], [2.0], [6.0]])}
    bags = Bags(views, [0, 2, 3], tags=[[1, 1, 0], [0, 1, 0]])
    params = mstep.start(bags, Settings({"words": 1.0, "net": 1.0}, background=True), 0.5)
    mu = params.instances["words"].mu
    np.testing.assert_allclose(mu, [[2.0, 2.0], [2.0, 4.0], [0.5, 0.5], [3.5, 5.5]], rtol=1e-15)
    # centred on all regions, the background's mean is theirs: 0
    np.testing.assert_allclose(params.instances["net"].means[3], 0.0, atol=1e-12)
    assert params.rates.tolist() == params.weights.tolist() == [1.0] * 4
