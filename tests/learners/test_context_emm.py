"""ContextEMM: what it gains on planted data, its choices, its files, and what it refuses."""

import json
import pickle

import numpy as np
import pytest
from scipy.special import log_expit, softmax
from sklearn.base import clone
from sklearn.linear_model import Ridge
from tagmix.learners.context.agreement import POWERS

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
from tagmix.evaluation.folds import duplicate_groups
from tagmix.evaluation.metrics import top_k_accuracy
from tagmix.learners import context_emm
from tagmix.learners.context.prior import ContextPrior, fit_prior
from tagmix.learners.context.regions import instance_names

KAPPA = {"evidence": 0.1}


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


def test_the_power_is_the_one_with_most_agreement_and_near_the_best_with_labels(planted, with_context):
    agreement = with_context.agreement_
    assert list(agreement) == list(POWERS)
    assert with_context.power_ == max(agreement, key=agreement.get)
    bags, truth = planted
    by_power = [
        named_rightly(ContextEMM(**KAPPA, context_power=p).fit(bags[:180]), bags[180:], truth[180:])
        for p in POWERS
    ]
    assert named_rightly(with_context, bags[180:], truth[180:]) > max(by_power) - 0.03


def test_a_caption_is_shared_by_its_own_tags_only(planted, with_context):
    bags, truth = planted
    phi = with_context.predict_regions(bags[180:], captioned=True)
    own = np.repeat(bags[180:].captions.toarray() > 0, 4, axis=0)
    assert phi[~own].max() == 0.0
    np.testing.assert_allclose(phi.sum(axis=1), 1.0)
    assert (phi.argmax(axis=1) == truth[180:].ravel()).mean() > 0.85


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
    assert loaded.agreement_ == emm.agreement_
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
    kappa = {"words": 0.1, "net": 0.3, "net:linear": 0.5}
    return bags, ContextEMM(**{**KAPPA, "evidence": kappa}).fit(bags[:180])


def test_words_embeddings_and_a_scorer_work_together_and_come_back_from_a_file(planted, embedded, tmp_path):
    bags, emm = embedded
    assert named_rightly(emm, bags[180:], planted[1][180:]) > 0.75
    emm.save(tmp_path / "m.tagmix")
    loaded = tagmix.load(tmp_path / "m.tagmix")
    np.testing.assert_array_equal(loaded.predict_regions(bags[180:]), emm.predict_regions(bags[180:]))
    assert loaded.explain(bags[180:181], "tag0")[0].words.keys() == {"words"}


def test_an_explanation_says_how_much_the_context_spoke_for_the_tag(embedded):
    bags, emm = embedded
    log_prior = log_expit(emm.prior_.logits(bags[180:183]))
    expected = emm.power_ * (log_prior[:, 2] - log_prior.mean(axis=1))
    told = [why.context for why in emm.explain(bags[180:183], "tag2")]
    np.testing.assert_allclose(told, expected, rtol=1e-9)
    assert np.ptp(told) > 0.1


def expert(fields):
    return fields["learnt"]["prior_"]["fields"]["experts"][0]


def instances(fields):
    return fields["learnt"]["regions_"]["fields"]["instances"]


POOL, EXPERT, NET = "prior_.pool", "prior_.experts.0", "regions_.instances.1"
LIES = {
    "an expert of another kind": lambda f, a: expert(f).update(kind="EMM"),
    "no expert": lambda f, a: f["learnt"]["prior_"]["fields"].update(experts=[]),
    "other tags": lambda f, a: expert(f)["tag_names"].reverse(),
    "fewer tags": lambda f, a: expert(f)["tag_names"].pop(),
    "a power of a million": lambda f, a: f["learnt"].update(power_=1e6),
    "no power": lambda f, a: f["learnt"].pop("power_"),
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
    "one slope of the calibration": lambda f, a: a.update(
        {"calibration_.logistic.slopes": a["calibration_.logistic.slopes"][:1]}
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
    "scorer of fewer tags": lambda f, a: a.update({"regions_.instances.2.weights": np.zeros((8, 9))}),
    "scorer with a scale of zero": lambda f, a: a.update({"regions_.instances.2.scale": np.zeros(8)}),
    "more tags than names": lambda f, a: f["learnt"]["regions_"]["fields"].update(n_tags=10),
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
        {"evidence": {"words:linear": 1.0}},
        {"evidence": 0.0},
        {"max_iter": 0},
        {"n_jobs": 0},
    ],
)
def test_parameters_without_meaning_are_refused_in_one_line(planted, wrong):
    with pytest.raises(ParameterError) as caught:
        ContextEMM(**{**KAPPA, **wrong}).fit(planted[0][:60])
    assert "\n" not in str(caught.value)


def test_fit_chooses_kappa_by_captions_and_turns_down_words_of_the_scene(planted):
    bags, truth = planted
    rng = np.random.default_rng(3)
    topics = rng.dirichlet(np.full(20, 0.3), 9)
    # All regions of a picture look like the tag of its first one: evidence of the picture, not of the region.
    leaking = np.array([rng.multinomial(12, topics[c]) for c in np.repeat(truth[:, 0], truth.shape[1])])
    views = {"leak": leaking, **bags.views}
    noisy = Bags(views, bags.offsets, bags.captions, bags.tag_names, pictures=bags.pictures)
    reported = []
    model = ContextEMM().fit(noisy[:180], progress=lambda *what: reported.append(what))
    assert model.evidence_.get("words", 0.0) >= 3 * model.evidence_.get("leak", 0.0)
    assert model.choice_.evidence == model.evidence_
    scores = [score for setting, score in model.choice_.tried]
    assert dict(zip(map(repr, (s for s, _ in model.choice_.tried)), scores, strict=True))[
        repr({name: model.evidence_.get(name, 0.0) for name in ("leak", "words")})
    ] == max(scores)
    stages = list(dict.fromkeys(stage for stage, _, _ in reported))
    assert stages == ["context", "evidence", "model"]
    assert [done for stage, done, _ in reported if stage == "evidence"] == list(range(1, len(scores) + 1))
    assert model.accuracy_ > model.frequency_accuracy_
    assert named_rightly(model, noisy[180:], truth[180:]) > 0.7


def test_embeddings_are_read_by_a_gaussian_and_a_scorer_or_not_at_all(embedded):
    assert instance_names(embedded[0]) == ["words", "net", "net:linear"]
    choice = ContextEMM().fit(embedded[0][:120]).choice_
    read = {tuple(name for name, kappa in setting.items() if kappa) for setting, _ in choice.tried}
    both = ("net", "net:linear")
    assert {("words",), both} <= read <= {("words",), both, ("words", *both)}


def test_wide_embeddings_are_no_candidates_unless_there_is_no_other_view():
    wide, words = np.zeros((3, 1280)), np.ones((3, 2), dtype=int)
    assert instance_names(Bags({"words": words, "head": wide}, [0, 3])) == ["words"]
    assert instance_names(Bags({"words": words, "net": wide[:, :512]}, [0, 3])) == [
        "words",
        "net",
        "net:linear",
    ]
    assert instance_names(Bags({"head": wide}, [0, 3])) == ["head", "head:linear"]


def test_kappa_is_chosen_on_some_pictures_of_many(planted, monkeypatch):
    seen = []

    class Spy(context_emm.KappaSearch):
        def __init__(self, bags, prior, *how):
            seen.append((bags, prior))
            super().__init__(bags, prior, *how)

    monkeypatch.setattr(context_emm, "ENOUGH", 40)
    monkeypatch.setattr(context_emm, "KappaSearch", Spy)
    bags = planted[0][:100]
    model = ContextEMM().fit(bags)
    part, prior = seen[0]
    places = [bags.ids.index(name) for name in part.ids]
    assert len(part) == 40 == len(prior.logits)
    assert max(places) > 60
    whole = fit_prior(model.prior_.experts, bags, int(np.random.RandomState(0).randint(2**31 - 1)))[1]
    np.testing.assert_array_equal(prior.logits, whole.logits[places])


def test_regions_are_explained_once_for_tags_and_regions_together(planted, with_context, monkeypatch):
    calls = []
    explain = context_emm.posterior_given
    monkeypatch.setattr(
        context_emm, "posterior_given", lambda shard, *how: calls.append(len(shard)) or explain(shard, *how)
    )
    with_context.predict_both(planted[0][180:])
    assert sum(calls) == len(planted[0]) - 180


def test_probabilities_come_from_the_context_and_the_shares_of_regions(planted, with_context):
    free = planted[0][180:].with_tags(None)
    logits, phi = with_context.prior_.logits(free), with_context.predict_regions(free)
    shares = phi.reshape(len(free), 4, 9).mean(axis=1)
    features = [logits, np.log(shares + 1e-3)]
    expected = with_context.calibration_.logistic.probabilities(features)
    np.testing.assert_allclose(with_context.predict_marginals(free), expected, rtol=1e-9)


def test_a_picture_without_regions_has_the_shares_that_its_context_expects(planted, with_context):
    bags = planted[0][180:]
    empty = Bags(bags.views["words"][:0], [0, 0], pictures={"scene": bags.pictures["scene"][:1]})
    logits = with_context.prior_.logits(empty)
    shares = softmax(with_context.power_ * log_expit(logits), axis=1)
    expected = with_context.calibration_.logistic.probabilities([logits, np.log(shares + 1e-3)])
    np.testing.assert_allclose(with_context.predict_marginals(empty), expected, rtol=1e-9)


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
    assert ContextEMM(context="neighbours", max_iter=2, tol=0.1).fit(planted[0][:6]).choice_ is not None


def test_no_fold_of_the_choice_of_kappa_separates_duplicates(planted, monkeypatch):
    seen = []

    class Spy(context_emm.KappaSearch):
        def __init__(self, bags, prior, *how):
            super().__init__(bags, prior, *how)
            seen.append((prior.groups, self.folds))

    monkeypatch.setattr(context_emm, "KappaSearch", Spy)
    once = planted[0][:20]
    ContextEMM(context="neighbours", max_iter=3, tol=0.1).fit(Bags.concat([once, once]))
    groups, folds = seen[0]
    assert len(np.unique(groups)) == 20
    assert len(folds) == 3
    assert not any(np.isin(groups[fold.train], groups[fold.test]).any() for fold in folds)


def test_no_fold_of_tau_and_of_the_calibration_separates_duplicates(planted, monkeypatch):
    folds, groups = [], []
    train, calibrate = context_emm.train_folds, context_emm.fit_calibration
    monkeypatch.setattr(context_emm, "train_folds", lambda *how: folds.extend(how[2]) or train(*how))
    monkeypatch.setattr(context_emm, "fit_calibration", lambda *how: groups.extend(how[2]) or calibrate(*how))
    once = planted[0][:12]
    ContextEMM(**KAPPA, context="neighbours", max_iter=2, tol=0.1).fit(Bags.concat([once, once]))
    assert len(folds) == 3
    assert not any(np.isin(fold.train % 12, fold.test % 12).any() for fold in folds)
    assert groups[:12] == groups[12:]
    assert len(set(groups)) == 12


def test_duplicates_are_known_among_some_pictures_of_many_too(planted, monkeypatch):
    seen = []

    class Spy(context_emm.KappaSearch):
        def __init__(self, bags, prior, *how):
            super().__init__(bags, prior, *how)
            seen.append((prior.groups, duplicate_groups(bags)))

    monkeypatch.setattr(context_emm, "KappaSearch", Spy)
    monkeypatch.setattr("tagmix.learners.context.prior.MOST_SCORES", 25 * 9)
    once = planted[0][:20]
    ContextEMM(context="neighbours", max_iter=2, tol=0.1).fit(Bags.concat([once, once]))
    groups, expected = seen[0]
    assert len(groups) == 25
    np.testing.assert_array_equal(groups[:, None] == groups, expected[:, None] == expected)
