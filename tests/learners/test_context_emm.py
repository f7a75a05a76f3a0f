"""ContextEMM: what it gains on planted data, its choices, its files, and what it refuses."""

import json
import pickle

import numpy as np
import pytest
from scipy.special import log_expit
from sklearn.base import clone
from sklearn.linear_model import Ridge

import tagmix
from tagmix import (
    EMM,
    KNN,
    Bags,
    BagsError,
    ContextEMM,
    ModelFileError,
    ParameterError,
    storage,
)
from tagmix.evaluation.metrics import top_k_accuracy
from tagmix.learners import context_emm
from tagmix.learners.context.prior import ContextPrior
from tagmix.learners.context.regions import instance_names
from tagmix.learners.regions.region_scorer import RegionScorer
from tagmix.model.estep import evidence_of

# Tags look alike here, and every region shows one: see test_open_world.py for those that show none.
KAPPA = {"evidence": 0.1, "background": False}


@pytest.fixture(scope="module")
def planted():
    """Pictures whose tags come in three groups that a view of the whole picture shows; their regions' tags.

    Within a group a region's words say which tag it has; tags of different groups share their words.
    """
    rng = np.random.default_rng(0)
    n, per_group, n_regions = 240, 3, 4
    topics = np.tile(rng.dirichlet(np.full(30, 0.3), per_group), (3, 1))
    group = rng.integers(0, 3, n)
    kept = np.array([rng.permutation(per_group)[:2] for _ in range(n)]) + 3 * group[:, None]
    truth = np.take_along_axis(kept, rng.integers(0, 2, (n, n_regions)), axis=1).ravel()
    counts = np.array([rng.multinomial(12, topics[c]) for c in truth])
    tags = np.zeros((n, 9), dtype=int)
    tags[np.repeat(np.arange(n), n_regions), truth] = 1
    scene = np.eye(3)[group] + 0.4 * rng.normal(size=(n, 3))
    bags = Bags(counts, np.arange(n + 1) * n_regions, tags=tags, pictures={"scene": scene})
    return bags, truth.reshape(n, n_regions)


@pytest.fixture(scope="module")
def with_context(planted):
    return ContextEMM(**KAPPA).fit(planted[0][:180])


def named_rightly(emm, bags, truth):
    return float((emm.top_region_tags(bags.with_tags(None))[:, 0] == truth.ravel()).mean())


def test_context_tells_apart_regions_that_look_alike(planted, with_context):
    bags, truth = planted
    paper = EMM(learning="likelihood", evidence=0.1, calibration_folds=0, max_iter=1000).fit(bags[:180])
    assert named_rightly(with_context, bags[180:], truth[180:]) > 0.75
    assert named_rightly(paper, bags[180:], truth[180:]) < 0.5
    free = bags[180:].with_tags(None)
    truth_tags = bags[180:].captions
    assert (
        top_k_accuracy(truth_tags, with_context.predict_proba(free), 2)
        > top_k_accuracy(truth_tags, paper.predict_proba(free), 2) + 0.1
    )


def test_a_context_of_shuffled_scenes_is_not_believed(planted):
    bags, truth = planted
    scenes = {"scene": bags.pictures["scene"][np.random.default_rng(1).permutation(len(bags))]}
    shuffled = Bags(bags.views, bags.offsets, bags.captions, bags.tag_names, pictures=scenes)
    emm = ContextEMM(**KAPPA).fit(shuffled[:180])
    assert named_rightly(emm, shuffled[180:], truth[180:]) < 0.5


def test_the_power_of_the_context_is_believed_by_regions_and_not_by_pictures(planted, with_context):
    bags, truth = planted
    ignored = ContextEMM(**KAPPA, context_power=0.0).fit(bags[:180])
    assert named_rightly(ignored, bags[180:], truth[180:]) < 0.7
    free = bags[180:].with_tags(None)
    np.testing.assert_array_equal(ignored.predict_proba(free), with_context.predict_proba(free))


@pytest.mark.parametrize("power", [0.5, 1.0])
def test_a_regions_tag_is_the_prior_times_the_scorers_odds_times_the_evidence(planted, with_context, power):
    bags = planted[0][180:190].with_tags(None)
    emm = clone(with_context).set_params(context_power=power).fit(planted[0][:180])
    log_prior = np.repeat(log_expit(emm.prior_.logits(bags)), 4, axis=0)
    evidence = evidence_of(bags, emm.regions_, emm.settings_)
    phi = np.exp(power * log_prior + emm.prior_.scorer.score_regions(bags.views) + evidence)
    phi /= phi.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(emm.predict_regions(bags), phi, rtol=1e-9)


def test_scores_are_shared_among_tags_and_probabilities_are_calibrated(planted, with_context):
    free = planted[0][180:].with_tags(None)
    proba, p = with_context.predict_proba(free), with_context.predict_marginals(free)
    np.testing.assert_allclose(proba.sum(axis=1), 1.0)
    assert np.all((p >= 0) & (p <= 1))
    truth = planted[0][180:].captions.toarray()
    assert abs(p.mean() - truth.mean()) < 0.05
    likely = p > 0.6
    assert truth[likely].mean() > 0.6
    shown = with_context.predict(free) > 0
    assert truth[shown].mean() > truth.mean() + 0.2


def test_the_bound_rises_and_the_same_seed_gives_the_same_model(planted, with_context):
    assert min(np.diff(with_context.bound_history_)) > 0
    again = ContextEMM(**KAPPA).fit(planted[0][:180])
    free = planted[0][180:]
    np.testing.assert_array_equal(again.predict_proba(free), with_context.predict_proba(free))


@pytest.mark.parametrize("context", ["neighbours", "linear", ("kernel", "neighbours"), KNN(k=9), Ridge()])
def test_every_kind_of_context_helps(planted, context):
    bags, truth = planted
    emm = ContextEMM(**{**KAPPA, "context": context}).fit(bags[:180])
    assert len(emm.prior_.experts) == (len(context) if isinstance(context, tuple) else 1)
    assert named_rightly(emm, bags[180:], truth[180:]) > 0.6
    assert clone(emm).get_params()["context"] is not None


@pytest.mark.parametrize("context", ["kernel", "linear", ("kernel", "neighbours"), KNN(k=9)])
def test_a_model_with_context_comes_back_bit_for_bit(planted, tmp_path, context):
    bags = planted[0]
    emm = ContextEMM(**{**KAPPA, "context": context}).fit(bags[:180])
    emm.save(tmp_path / "m.tagmix")
    loaded = tagmix.load(tmp_path / "m.tagmix")
    for ask in ("predict_proba", "predict_marginals", "predict_regions", "predict"):
        np.testing.assert_array_equal(getattr(loaded, ask)(bags[180:]), getattr(emm, ask)(bags[180:]))
    assert loaded.regions_.odds == emm.regions_.odds
    assert repr(loaded.get_params()) == repr(emm.get_params())
    unpickled = pickle.loads(pickle.dumps(emm))
    np.testing.assert_array_equal(unpickled.predict_proba(bags[180:]), emm.predict_proba(bags[180:]))


def test_a_context_of_foreign_code_is_not_written_into_a_safe_file(planted, tmp_path):
    emm = ContextEMM(**{**KAPPA, "context": Ridge()}).fit(planted[0][:180])
    with pytest.raises(ParameterError, match="cannot be kept in a file that is safe to open"):
        emm.save(tmp_path / "m.tagmix")
    assert not (tmp_path / "m.tagmix").exists()


def networked(bags, rng):
    """Return the same pictures with an embedding of regions beside their words."""
    net = np.sqrt(bags.views["words"].toarray()) @ rng.normal(size=(30, 8)) + 0.2 * rng.normal(
        size=(bags.n_regions, 8)
    )
    return Bags(
        {**bags.views, "net": net}, bags.offsets, bags.captions, bags.tag_names, pictures=bags.pictures
    )


@pytest.fixture(scope="module")
def embedded(planted):
    bags = networked(planted[0], np.random.default_rng(2))
    kappa = {"words": 0.1, "net": 0.3}
    return bags, ContextEMM(**{**KAPPA, "evidence": kappa}).fit(bags[:180])


def test_words_and_embeddings_work_together_and_come_back_from_a_file(planted, embedded, tmp_path):
    bags, emm = embedded
    assert named_rightly(emm, bags[180:], planted[1][180:]) > 0.75
    emm.save(tmp_path / "m.tagmix")
    loaded = tagmix.load(tmp_path / "m.tagmix")
    np.testing.assert_array_equal(loaded.predict_regions(bags[180:]), emm.predict_regions(bags[180:]))
    assert loaded.explain(bags[180:181], "tag0")[0].words.keys() == {"words"}


def test_an_explanation_says_how_much_the_context_spoke_for_the_tag(embedded):
    bags, emm = embedded
    log_prior = log_expit(emm.prior_.logits(bags[180:183]))
    expected = log_prior[:, 2] - log_prior.mean(axis=1)
    told = [why.context for why in emm.explain(bags[180:183], "tag2")]
    np.testing.assert_allclose(told, expected, rtol=1e-9)
    assert np.ptp(told) > 0.1


def expert(fields):
    return fields["learnt"]["prior_"]["fields"]["experts"][0]


def instances(fields):
    return fields["learnt"]["regions_"]["fields"]["instances"]


def regions(fields):
    return fields["learnt"]["regions_"]["fields"]


def odds(fields):
    return regions(fields)["odds"]["fields"]


def scorer(fields):
    return fields["learnt"]["prior_"]["fields"]["scorer"]


SCORER = "prior_.scorer"
POOL, EXPERT, NET = "prior_.pool", "prior_.experts.0", "regions_.instances.1"
LIES = {
    "an expert of another kind": lambda f, a: expert(f).update(kind="EMM"),
    "no expert": lambda f, a: f["learnt"]["prior_"]["fields"].update(experts=[]),
    "other tags": lambda f, a: expert(f)["tag_names"].reverse(),
    "fewer tags": lambda f, a: expert(f)["tag_names"].pop(),
    "a power of a million": lambda f, a: f["parameters"].update(context_power=1e6),
    "no power": lambda f, a: f["parameters"].update(context_power=None),
    "a power that is no number": lambda f, a: f["parameters"].update(context_power="much"),
    "no prior": lambda f, a: f["learnt"].pop("prior_"),
    "another context named": lambda f, a: f["parameters"].update(context="linear"),
    "no context named": lambda f, a: f["parameters"].update(context=None),
    "short slopes": lambda f, a: a.update({f"{POOL}.slopes": np.zeros(2)}),
    "slopes of another number of tags": lambda f, a: a.update({f"{POOL}.slopes": np.zeros((2, 8))}),
    "slopes of two experts": lambda f, a: a.update({f"{POOL}.slopes": np.zeros((4, 9))}),
    "slopes of single precision": lambda f, a: a.update(
        {f"{POOL}.slopes": a[f"{POOL}.slopes"].astype(np.float32)}
    ),
    "knots that fall": lambda f, a: a.update({f"{POOL}.knots": a[f"{POOL}.knots"][::-1]}),
    "levels that fall": lambda f, a: a.update({f"{POOL}.levels": a[f"{POOL}.levels"][::-1]}),
    "a level above one": lambda f, a: a.update({f"{POOL}.levels": 2 + a[f"{POOL}.levels"]}),
    "biases not finite": lambda f, a: a.update({f"{POOL}.biases": np.full(9, np.nan)}),
    "two slopes of the calibration": lambda f, a: a.update(
        {"calibration_.logistic.slopes": np.tile(a["calibration_.logistic.slopes"], (2, 1))}
    ),
    "coefficients of fewer tags": lambda f, a: a.update({f"{EXPERT}.coefficients_": np.zeros((180, 8))}),
    "coefficients beyond sense": lambda f, a: a.update({f"{EXPERT}.coefficients_": np.full((180, 9), 1e300)}),
    "starts that run ahead and come back": lambda f, a: a.update(
        {f"{EXPERT}.reference_.0.indptr": np.array([0, *[50_000_000] * 179, 0])}
    ),
    "a scale of zero": lambda f, a: expert(f)["learnt"]["scales_"][0].__setitem__(1, 0.0),
    "a width beyond numbers": lambda f, a: expert(f)["views"][0].__setitem__(1, 10**400),
    "memory from a file": lambda f, a: expert(f)["parameters"].update(memory_mb=1e6),
    "a setting out of bounds": lambda f, a: expert(f)["parameters"].update(distance="far"),
    "an unknown kind of instance": lambda f, a: instances(f)[1][1].update(kind="pickle"),
    "an instance of no view": lambda f, a: instances(f)[1].__setitem__(0, "other"),
    "the same instance twice": lambda f, a: instances(f)[1].__setitem__(0, "words"),
    "a Gaussian without spread": lambda f, a: instances(f)[1][1]["fields"].update(spread=0.0),
    "a precision that is none": lambda f, a: a.update({f"{NET}.precision": -a[f"{NET}.precision"]}),
    "a precision that is not symmetric": lambda f, a: a.update(
        {f"{NET}.precision": a[f"{NET}.precision"] + np.triu(np.full((8, 8), 1e-3), 1)}
    ),
    "means too narrow": lambda f, a: a.update({f"{NET}.means": np.zeros((9, 1))}),
    "a scorer of fewer tags": lambda f, a: a.update({f"{SCORER}.weights_": np.zeros((9, 8))}),
    "a scorer of fewer features": lambda f, a: a.update({f"{SCORER}.weights_": np.zeros((8, 9))}),
    "a scorer with a scale of zero": lambda f, a: a.update({f"{SCORER}.scaling_.0": np.zeros((2, 8))}),
    "a scorer that is another learner": lambda f, a: scorer(f).update(kind="MaxPooling"),
    "a scorer of other tags": lambda f, a: scorer(f)["tag_names"].reverse(),
    "a scorer of other views": lambda f, a: scorer(f).update(views=[["words", 30], ["other", 8]]),
    "no scorer": lambda f, a: f["learnt"]["prior_"]["fields"].pop("scorer"),
    "a component more": lambda f, a: regions(f).update(n_tags=10),
    "two components more": lambda f, a: regions(f).update(n_tags=11),
    "a component less": lambda f, a: regions(f).update(n_tags=8),
    "a background without a component": lambda f, a: regions(f).update(background=True),
    "a background of text": lambda f, a: regions(f).update(background="yes"),
    "odds of zero": lambda f, a: odds(f).update(inside=0.0),
    "odds below zero": lambda f, a: odds(f).update(outside=-1.0),
    "odds without end": lambda f, a: odds(f).update(inside=1e300),
    "odds of text": lambda f, a: odds(f).update(outside="even"),
    "no odds": lambda f, a: regions(f).pop("odds"),
    "background in the parameters": lambda f, a: f["parameters"].update(background=1),
    "a sharpness of nothing": lambda f, a: scorer(f)["parameters"].update(sharpness=None),
    "a sharpness below zero": lambda f, a: scorer(f)["parameters"].update(sharpness=-1e300),
    "a sharpness beyond all floats": lambda f, a: scorer(f)["parameters"].update(sharpness=10**400),
    "evidence of a view that is not modelled": lambda f, a: f["learnt"]["evidence_"].append(["more", 0.1]),
}


@pytest.mark.parametrize("lie", LIES)
def test_files_whose_parts_lie_are_refused_in_one_line(embedded, tmp_path, lie):
    path = tmp_path / "m.tagmix"
    embedded[1].save(path)
    contents = storage.read(path)
    fields, arrays = json.loads(json.dumps(contents.fields)), dict(contents.arrays)
    LIES[lie](fields, arrays)
    storage.write(path, contents.kind, fields, arrays)
    with pytest.raises(ModelFileError) as caught:
        tagmix.load(path)
    assert "\n" not in str(caught.value)


def test_bags_described_otherwise_are_refused(planted, embedded):
    bags, emm = embedded
    with pytest.raises(BagsError, match="'net'"):
        emm.predict_proba(planted[0][:5])
    counted = Bags(
        {"words": bags[:5].views["words"], "net": np.ones((20, 8), dtype=int)},
        bags[:5].offsets,
        pictures=bags[:5].pictures,
    )
    with pytest.raises(BagsError, match="embeddings in view 'net'"):
        emm.predict_proba(counted)
    without_scene = Bags(bags[:5].views, bags[:5].offsets)
    with pytest.raises(BagsError, match="scene"):
        emm.predict_proba(without_scene)


def test_tags_and_regions_together_are_what_they_are_apart_and_ask_the_context_once(
    monkeypatch, planted, with_context
):
    free, asked = planted[0][180:].with_tags(None), []
    apart = with_context.predict_marginals(free), with_context.predict_regions(free)
    ask = ContextPrior.logits
    monkeypatch.setattr(ContextPrior, "logits", lambda prior, bags: asked.append(1) or ask(prior, bags))
    for one, other in zip(apart, with_context.predict_both(free), strict=True):
        np.testing.assert_array_equal(one, other)
    assert len(asked) == 1


def test_views_may_be_called_like_parts_of_a_gallery(planted, tmp_path):
    bags = planted[0]
    odd = Bags({"columns of it": bags.views["words"]}, bags.offsets, bags.tags, bags.tag_names)
    emm = ContextEMM(**KAPPA).fit(odd[:60])
    emm.save(tmp_path / "m.tagmix")
    np.testing.assert_array_equal(
        tagmix.load(tmp_path / "m.tagmix").predict_marginals(odd[60:]), emm.predict_marginals(odd[60:])
    )


@pytest.mark.parametrize(
    "wrong",
    [
        {"context": "kernels"},
        {"context": ()},
        {"context_power": -1.0},
        {"context_power": "much"},
        {"context_power": None},
        {"context_power": 101.0},
        {"background": 1},
        {"background": None},
        {"evidence": {"other": 1.0}},
        {"evidence": 0.0},
        {"max_iter": 0},
        {"n_jobs": 0},
    ],
)
def test_parameters_without_meaning_are_refused_in_one_line(planted, wrong):
    with pytest.raises(ParameterError) as caught:
        ContextEMM(**{**KAPPA, **wrong}).fit(planted[0][:60])
    assert "\n" not in str(caught.value)


def test_fit_chooses_kappa_by_captions_and_turns_down_words_of_nothing(train):
    noise = np.random.default_rng(3).poisson(2.0, (train.n_regions, 20))
    noisy = Bags({"noise": noise, **train.views}, train.offsets, train.captions, train.tag_names)
    reported = []
    model = ContextEMM().fit(noisy, progress=lambda *what: reported.append(what))
    assert list(model.evidence_) == ["words"]
    assert model.choice_.evidence == model.evidence_
    scores = {repr(setting): score for setting, score in model.choice_.tried}
    assert scores[repr({"noise": 0.0, **model.evidence_})] >= 1.01 * max(scores.values())  # all are negative
    stages = list(dict.fromkeys(stage for stage, _, _ in reported))
    assert stages == ["context", "evidence", "model"]
    assert [done for stage, done, _ in reported if stage == "evidence"] == list(range(1, len(scores) + 1))
    assert model.accuracy_ > model.frequency_accuracy_


def test_embeddings_are_read_at_a_fixed_kappa_and_words_beside_them_are_not(embedded):
    assert instance_names(embedded[0]) == ["net"]
    model = ContextEMM(tol=1e-2).fit(embedded[0][:60])
    assert (model.evidence_, model.choice_) == ({"net": 0.1}, None)
    assert model.prior_.scorer.scaling_.keys() == model.regions_.instances.keys() == {"net"}


def test_the_scorer_reads_the_deep_map_and_regions_are_modelled_by_the_fine_one(embedded):
    bags = embedded[0][:60]
    deep = bags.views["net"]
    fine = deep[:, : deep.shape[1] // 2 - 1]
    maps = Bags({"fine": fine, "deep": deep}, bags.offsets, bags.captions, bags.tag_names)
    model = ContextEMM(tol=1e-2).fit(maps)
    assert (model.evidence_, list(model.prior_.scorer.widths_)) == ({"fine": 0.2}, ["deep"])
    assert model.widths_ == {"fine": fine.shape[1], "deep": deep.shape[1]}
    told = Bags({"deep": deep, "fine": fine}, bags.offsets)
    np.testing.assert_allclose(model.predict_regions(told), model.predict_regions(maps), rtol=1e-9)


@pytest.fixture
def priors(monkeypatch):
    """Return the list of what every prior of a fit says of its training pictures."""
    seen, fit = [], context_emm.fit_prior

    def watched(*how):
        prior, of_training = fit(*how)
        seen.append(of_training)
        return prior, of_training

    monkeypatch.setattr(context_emm, "fit_prior", watched)
    return seen


def test_regions_are_learnt_with_what_the_context_says_of_pictures_that_it_has_not_seen(
    planted, priors, monkeypatch
):
    told, fit = [], context_emm.RegionTrainer.fit
    monkeypatch.setattr(context_emm.RegionTrainer, "fit", lambda *how: told.append(how) or fit(*how))
    bags = planted[0][:60]
    model = ContextEMM(**KAPPA, memory_mb=3.0).fit(bags)
    ((trainer, _, log_pi, *_),) = told
    np.testing.assert_array_equal(log_pi, priors[0].log_pi)
    assert np.abs(log_pi - log_expit(model.prior_.logits(bags))).max() > 0.1
    assert trainer.memory == 3 * 2**20  # bytes


def test_unknown_pairs_are_left_out_of_the_calibration_and_of_every_accuracy(planted, monkeypatch):
    told, calibrate = [], context_emm.fit_calibration
    monkeypatch.setattr(context_emm, "fit_calibration", lambda *how: told.append(how) or calibrate(*how))
    bags = planted[0][:60]
    unknown = np.random.default_rng(0).random((60, 9)) < 0.4
    unknown[:, 0] = False
    truth = bags.captions.toarray() * ~unknown
    truth[truth.sum(axis=1) == 0, 0] = 1
    model = ContextEMM(**KAPPA).fit(bags.with_tags(truth, bags.tag_names, unknown=unknown))
    np.testing.assert_array_equal(told[0][4], ~unknown)
    others = truth.sum(axis=0) - truth
    assert model.frequency_accuracy_ == top_k_accuracy(truth, others, 4, unknown)
    assert model.frequency_accuracy_ != top_k_accuracy(truth, others, 4)
    p = calibrate(*told[0])[1]
    assert model.accuracy_ == top_k_accuracy(truth, p, 4, unknown) != top_k_accuracy(truth, p, 4)


@pytest.fixture
def searches(monkeypatch):
    """Return the list of what every search for κ is given."""
    seen = []

    class Spy(context_emm.KappaSearch):
        def __init__(self, parts, trainer, *how):
            seen.append(parts)
            super().__init__(parts, trainer, *how)

    monkeypatch.setattr(context_emm, "KappaSearch", Spy)
    return seen


def test_kappa_is_chosen_on_some_pictures_of_many_none_of_which_was_trained_on(
    planted, searches, priors, monkeypatch
):
    monkeypatch.setattr(context_emm, "ENOUGH", 40)
    bags = planted[0][:100]
    ContextEMM(context="neighbours", max_iter=2, tol=0.1).fit(bags)
    (parts,) = searches
    tested = [name for part in parts for name in part.test.ids]
    assert len(parts) == 3
    assert len(tested) == len(set(tested)) == 40
    assert max(bags.ids.index(name) for name in tested) > 60
    (prior,) = priors
    for part, (_, test), scorer in zip(parts, prior.folds, prior.scorers, strict=True):
        assert part.scorer is scorer
        assert set(part.test.ids) <= set(bags[test].ids)
        rows = [bags.ids.index(name) for name in part.train.ids]
        np.testing.assert_array_equal(part.log_prior, prior.log_pi[rows])
    for part in parts:
        assert not set(part.train.ids) & set(part.test.ids)
        assert set(part.train.ids) <= set(tested)
        assert len(part.log_prior) == len(part.train)
        rest = [name not in part.test.ids for name in bags.ids]
        seen = RegionScorer().fit(bags[np.flatnonzero(rest)])  # a fold of all pictures, more than the sample
        assert np.abs(seen.weights_ - part.scorer.weights_).max() > 0


def test_regions_are_explained_once_for_tags_and_regions_together(planted, with_context, monkeypatch):
    calls = []
    explain = context_emm.posterior_given
    monkeypatch.setattr(
        context_emm, "posterior_given", lambda shard, *how: calls.append(len(shard)) or explain(shard, *how)
    )
    with_context.predict_both(planted[0][180:])
    assert sum(calls) == len(planted[0]) - 180


def test_probabilities_come_from_the_context_alone_and_no_region_is_explained(
    planted, with_context, monkeypatch
):
    free = planted[0][180:].with_tags(None)
    expected = with_context.calibration_.logistic.probabilities([with_context.prior_.logits(free)])
    proba, shown = with_context.predict_proba(free), with_context.predict(free)
    monkeypatch.setattr(context_emm, "posterior_given", interrupted)
    np.testing.assert_array_equal(with_context.predict_marginals(free), expected)
    np.testing.assert_array_equal(with_context.predict_proba(free), proba)
    np.testing.assert_array_equal(with_context.predict(free), shown)
    with pytest.raises(KeyboardInterrupt):
        with_context.predict_both(free)


def test_a_picture_without_regions_has_what_its_context_expects(planted, with_context):
    bags = planted[0][180:]
    empty = Bags(bags.views["words"][:0], [0, 0], pictures={"scene": bags.pictures["scene"][:1]})
    expected = with_context.calibration_.logistic.probabilities([with_context.prior_.logits(empty)])
    marginals, phi = with_context.predict_both(empty)
    np.testing.assert_allclose(marginals, expected, rtol=1e-9)
    assert phi.shape == (0, 9)


def interrupted(*_, **__):
    raise KeyboardInterrupt


def test_ctrl_c_leaves_the_last_model_whole_and_a_new_one_unfitted(planted, with_context, monkeypatch):
    bags = planted[0]
    model = clone(with_context).fit(bags[:60])
    before = model.predict_proba(bags)
    monkeypatch.setattr(context_emm, "fit_calibration", interrupted)
    new = ContextEMM(**KAPPA)
    for one in (model, new):
        with pytest.raises(KeyboardInterrupt):
            one.fit(bags[60:])
    np.testing.assert_array_equal(model.predict_proba(bags), before)
    assert not [name for name in vars(new) if name.endswith("_")]


def test_fewer_pictures_than_the_folds_need_are_refused_unless_kappa_is_given(planted):
    with pytest.raises(BagsError, match=r"choosing κ needs at least 6 pictures .* got 5"):
        ContextEMM().fit(planted[0][:5])
    assert ContextEMM(**KAPPA).fit(planted[0][:5]).choice_ is None
    assert ContextEMM(context="neighbours", tol=0.1).fit(planted[0][:6]).choice_ is not None


def test_no_fold_separates_duplicates_and_the_calibration_knows_them(planted, searches, monkeypatch):
    groups, calibrate = [], context_emm.fit_calibration
    monkeypatch.setattr(context_emm, "fit_calibration", lambda *how: groups.extend(how[2]) or calibrate(*how))
    once = planted[0][:20]
    ContextEMM(context="neighbours", max_iter=3, tol=0.1).fit(Bags.concat([once, once]))
    (parts,) = searches
    assert len(parts) == 3
    rows = [[hash(row.tobytes()) for row in part.train.views["words"].toarray()] for part in parts]
    for part, own in zip(parts, rows, strict=True):
        assert not {hash(row.tobytes()) for row in part.test.views["words"].toarray()} & set(own)
    assert groups[:20] == groups[20:]
    assert len(set(groups)) == 20


def test_duplicates_are_known_among_some_pictures_of_many_too(planted, monkeypatch):
    seen, calibrate = [], context_emm.fit_calibration
    monkeypatch.setattr(context_emm, "fit_calibration", lambda *how: seen.append(how[2]) or calibrate(*how))
    monkeypatch.setattr("tagmix.learners.context.prior.MOST_SCORES", 2 * 25 * 9)
    once = planted[0][:20]
    ContextEMM(**KAPPA, context="neighbours", max_iter=2, tol=0.1).fit(Bags.concat([once, once]))
    assert len(seen[0]) == 25
    assert len(set(seen[0])) < 25
