"""EMM with a context: what it wins on planted data, its limits, its files, and what it refuses."""

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
    LinearRanker,
    ModelFileError,
    ParameterError,
    TopicRidge,
    storage,
)
from tagmix.evaluation.metrics import top_k_accuracy
from tagmix.learners.context.fitting import POWERS, REGION_POWERS
from tagmix.learners.context.prior import ContextPrior
from tagmix.learners.context.tuning import instances_of
from tagmix.learners.tuning import choose_evidence

KERNEL = {"learning": "likelihood", "context": "kernel", "evidence": 0.1, "calibration_folds": 3}


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
    return EMM(**KERNEL).fit(planted[0][:180])


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
    emm = EMM(**KERNEL).fit(shuffled[:180])
    assert named_rightly(emm, shuffled[180:], truth[180:]) < 0.5


def test_the_power_is_the_one_with_most_agreement_and_near_the_best_with_labels(planted, with_context):
    context = with_context.context_
    assert list(context.agreement) == list(POWERS)
    assert context.power == max(context.agreement, key=context.agreement.get)
    assert context.region_power in REGION_POWERS
    bags, truth = planted
    by_power = [
        named_rightly(EMM(**KERNEL, context_power=p).fit(bags[:180]), bags[180:], truth[180:]) for p in POWERS
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
    again = EMM(**KERNEL).fit(planted[0][:180])
    free = planted[0][180:]
    np.testing.assert_array_equal(again.predict_proba(free), with_context.predict_proba(free))


@pytest.mark.parametrize("context", ["neighbours", "linear", ("kernel", "neighbours"), KNN(k=9), Ridge()])
def test_every_kind_of_context_helps(planted, context):
    bags, truth = planted
    emm = EMM(**{**KERNEL, "context": context}).fit(bags[:180])
    assert len(emm.context_.prior.experts) == (len(context) if isinstance(context, tuple) else 1)
    assert named_rightly(emm, bags[180:], truth[180:]) > 0.6
    assert clone(emm).get_params()["context"] is not None


@pytest.mark.parametrize("context", ["kernel", "linear", ("kernel", "neighbours"), KNN(k=9)])
def test_a_model_with_context_comes_back_bit_for_bit(planted, tmp_path, context):
    bags = planted[0]
    emm = EMM(**{**KERNEL, "context": context}).fit(bags[:180])
    emm.save(tmp_path / "m.tagmix")
    loaded = tagmix.load(tmp_path / "m.tagmix")
    for ask in ("predict_proba", "predict_marginals", "predict_regions", "predict"):
        np.testing.assert_array_equal(getattr(loaded, ask)(bags[180:]), getattr(emm, ask)(bags[180:]))
    assert loaded.context_.agreement == emm.context_.agreement
    assert repr(loaded.get_params()) == repr(emm.get_params())
    unpickled = pickle.loads(pickle.dumps(emm))
    np.testing.assert_array_equal(unpickled.predict_proba(bags[180:]), emm.predict_proba(bags[180:]))


def test_a_context_of_foreign_code_is_not_written_into_a_safe_file(planted, tmp_path):
    emm = EMM(**{**KERNEL, "context": Ridge()}).fit(planted[0][:180])
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
    return bags, EMM(**{**KERNEL, "evidence": kappa}).fit(bags[:180])


def test_words_embeddings_and_a_scorer_work_together_and_come_back_from_a_file(planted, embedded, tmp_path):
    bags, emm = embedded
    assert named_rightly(emm, bags[180:], planted[1][180:]) > 0.75
    emm.save(tmp_path / "m.tagmix")
    loaded = tagmix.load(tmp_path / "m.tagmix")
    np.testing.assert_array_equal(loaded.predict_regions(bags[180:]), emm.predict_regions(bags[180:]))
    assert loaded.explain(bags[180:181], "tag0")[0].words.keys() == {"words"}


def test_an_explanation_says_how_much_the_context_spoke_for_the_tag(embedded):
    bags, emm = embedded
    log_prior = log_expit(emm.context_.prior.logits(bags[180:183]))
    expected = emm.context_.power * (log_prior[:, 2] - log_prior.mean(axis=1))
    told = [why.context for why in emm.explain(bags[180:183], "tag2")]
    np.testing.assert_allclose(told, expected, rtol=1e-9)
    assert np.ptp(told) > 0.1


LIES = {
    "an expert of another kind": lambda f, a: f["context"]["experts"][0].update(kind="EMM"),
    "no expert": lambda f, a: f["context"].update(experts=[]),
    "other tags": lambda f, a: f["context"]["experts"][0]["tag_names"].reverse(),
    "a power of a million": lambda f, a: f["context"].update(power=1e6),
    "no power": lambda f, a: f["context"].pop("power"),
    "no context": lambda f, a: f.pop("context"),
    "context not named": lambda f, a: f["settings"].update(context=None),
    "short slopes": lambda f, a: a.update({"context.pool.slopes": np.zeros(2)}),
    "slopes of another number of tags": lambda f, a: a.update({"context.pool.slopes": np.zeros((2, 8))}),
    "knots that fall": lambda f, a: a.update({"context.pool.knots": a["context.pool.knots"][::-1]}),
    "no knots": lambda f, a: a.update({f"context.pool.{n}": np.zeros(0) for n in ("knots", "levels")}),
    "levels that fall": lambda f, a: a.update({"context.pool.levels": a["context.pool.levels"][::-1]}),
    "a level below zero": lambda f, a: a.update({"context.pool.levels": a["context.pool.levels"] - 2}),
    "slopes of single precision": lambda f, a: a.update(
        {"context.pool.slopes": a["context.pool.slopes"].astype(np.float32)}
    ),
    "slopes of two experts": lambda f, a: a.update({"context.pool.slopes": np.zeros((4, 9))}),
    "a level above one": lambda f, a: a.update({"context.pool.levels": 2 + a["context.pool.levels"]}),
    "biases not finite": lambda f, a: a.update({"context.pool.biases": np.full(9, np.nan)}),
    "coefficients of fewer tags": lambda f, a: a.update({"context.0.coefficients_": np.zeros((180, 8))}),
    "coefficients of whole numbers": lambda f, a: a.update(
        {"context.0.coefficients_": a["context.0.coefficients_"].astype(np.int8)}
    ),
    "coefficients beyond sense": lambda f, a: a.update({"context.0.coefficients_": np.full((180, 9), 1e300)}),
    "starts that run ahead and come back below zero": lambda f, a: a.update(
        {"context.0.gallery_.2": np.array([0, *[50_000_000] * 179, -1])}
    ),
    "no picture in the gallery": lambda f, a: a.update(
        {"context.0.gallery_.2": np.zeros(1, int), "context.0.coefficients_": np.zeros((0, 9))}
    ),
    "a scale of no number": lambda f, a: a.update({"context.0.scales_.0": np.zeros(0)}),
    "a width beyond numbers": lambda f, a: f["context"]["experts"][0]["views"][0].update(width=10**400),
    "an unknown kind of instance": lambda f, a: f["instances"][1].update(kind="pickle"),
    "an instance of no view": lambda f, a: f["instances"][1].update(name="other"),
    "the same instance twice": lambda f, a: f["instances"][1].update(name="words"),
    "a Gaussian without spread": lambda f, a: a.update({"instances.1.prior": np.zeros(3)}),
    "a precision that is none": lambda f, a: a.update({"instances.1.precision": -a["instances.1.precision"]}),
    "means too narrow": lambda f, a: a.update({"instances.1.means": np.zeros((9, 1))}),
    "scorer of fewer tags": lambda f, a: a.update({"instances.2.weights": np.zeros((8, 9))}),
    "scorer with a scale of zero": lambda f, a: a.update({"instances.2.scale": np.zeros(8)}),
}


@pytest.mark.parametrize("lie", LIES)
def test_files_whose_context_or_instances_lie_are_refused_in_one_line(embedded, tmp_path, lie):
    path = tmp_path / "m.tagmix"
    embedded[1].save(path)
    contents = storage.read(path)
    fields, arrays = json.loads(json.dumps(contents.fields)), dict(contents.arrays)
    LIES[lie](fields, arrays)
    storage.write(path, contents.kind, fields, arrays)
    with pytest.raises(ModelFileError) as caught:
        tagmix.load(path)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "wrong",
    [
        {"context": "kernels"},
        {"inference": "map"},
        {"ranking": "theta"},
        {"supervision": 1.0},
        {"normaliser": "dropped"},
        {"context_power": -1.0},
        {"context_power": "much"},
        {"evidence": {"words:linear": 1.0}},
    ],
)
def test_what_has_no_meaning_with_a_context_is_refused(planted, wrong):
    with pytest.raises(ParameterError) as caught:
        EMM(**{**KERNEL, **wrong}).fit(planted[0][:60])
    assert "\n" not in str(caught.value)


def test_rates_from_outside_are_refused(planted, with_context):
    bags = planted[0][:60]
    rates = np.ones((60, 9))
    for ask in (EMM(**KERNEL).fit, with_context.predict_proba, with_context.predict_regions):
        with pytest.raises(BagsError, match="rates must be None"):
            ask(bags, rates=rates)


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


def test_without_folds_the_context_alone_ranks_and_its_power_is_the_usual_one(planted):
    emm = EMM(**{**KERNEL, "calibration_folds": 0}).fit(planted[0][:180])
    assert (emm.context_.power, emm.context_.region_power, emm.calibration_) == (2.0, 0.0, None)
    free = planted[0][180:].with_tags(None)
    order = np.argsort(-emm.context_.prior.logits(free), axis=1)
    np.testing.assert_array_equal(emm.top_tags(free, 3), order[:, :3])
    told = EMM(**{**KERNEL, "calibration_folds": 0}, context_power=0.7).fit(planted[0][:180])
    assert told.context_.power == 0.7


def test_kappa_is_chosen_by_captions_and_turns_down_words_of_the_scene(planted):
    bags, truth = planted
    rng = np.random.default_rng(3)
    topics = rng.dirichlet(np.full(20, 0.3), 9)
    # All regions of a picture look like the tag of its first one: evidence of the picture, not of the region.
    leaking = np.array([rng.multinomial(12, topics[c]) for c in np.repeat(truth[:, 0], truth.shape[1])])
    views = {"leak": leaking, **bags.views}
    noisy = Bags(views, bags.offsets, bags.captions, bags.tag_names, pictures=bags.pictures)
    emm = EMM(**KERNEL)
    counted = []
    choice = choose_evidence(emm, noisy[:180], progress=counted.append)
    chosen = [choice.evidence.get(name, 0.0) for name in ("leak", "words")]
    assert chosen[1] >= 3 * chosen[0]
    assert choice.tried[tuple(chosen)] == max(choice.tried.values())
    assert counted == list(range(1, len(choice.tried) + 1))
    assert choice.accuracy > choice.frequency
    fitted = emm.set_params(evidence=choice.evidence).fit(noisy[:180])
    assert named_rightly(fitted, noisy[180:], truth[180:]) > 0.7


def test_every_view_of_embeddings_is_offered_a_gaussian_and_a_scorer(embedded):
    assert instances_of(embedded[0]) == ["words", "net", "net:linear"]
    choice = choose_evidence(EMM(**KERNEL), embedded[0][:120])
    assert set(choice.evidence) <= {"words", "net", "net:linear"}
    read = {tuple(np.flatnonzero(kappas)) for kappas in choice.tried}
    assert {(0,), (1, 2)} <= read <= {(0,), (1, 2), (0, 1, 2)}  # embeddings by both or not at all


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


def test_memory_is_not_what_a_file_says(embedded, tmp_path):
    path = tmp_path / "m.tagmix"
    embedded[1].save(path)
    contents = storage.read(path)
    fields = json.loads(json.dumps(contents.fields))
    assert "memory_mb" not in fields["context"]["experts"][0]["settings"]
    fields["context"]["experts"][0]["settings"]["memory_mb"] = 1e6
    storage.write(path, contents.kind, fields, dict(contents.arrays))
    assert tagmix.load(path).context_.prior.experts[0].memory_mb == 512.0


def test_views_may_be_called_like_parts_of_a_gallery(planted, tmp_path):
    bags = planted[0]
    odd = Bags({"columns of it": bags.views["words"]}, bags.offsets, bags.tags, bags.tag_names)
    emm = EMM(**KERNEL).fit(odd[:60])
    emm.save(tmp_path / "m.tagmix")
    np.testing.assert_array_equal(
        tagmix.load(tmp_path / "m.tagmix").predict_marginals(odd[60:]), emm.predict_marginals(odd[60:])
    )


def test_a_scaling_of_no_dimension_is_refused(embedded, tmp_path):
    emm = EMM(**{**KERNEL, "context": LinearRanker(ridge=1.0)}).fit(embedded[0][:60])
    emm.save(tmp_path / "m.tagmix")
    contents = storage.read(tmp_path / "m.tagmix")
    name = next(name for name in contents.arrays if name.startswith("context.0.scaling_."))
    storage.write(tmp_path / "m.tagmix", "EMM", contents.fields, {**contents.arrays, name: np.array(1.0)})
    with pytest.raises(ModelFileError, match="do not fit together"):
        tagmix.load(tmp_path / "m.tagmix")


def test_settings_of_an_expert_from_a_file_are_within_bounds(planted, tmp_path):
    path = tmp_path / "m.tagmix"
    topics = TopicRidge(n_topics=3, passes=1, batch_size=50)
    EMM(**{**KERNEL, "context": topics}).fit(planted[0][:60]).save(path)
    contents = storage.read(path)
    for wrong in ({"estep_max_iter": 10**15}, {"estep_tol": -1.0}, {"alpha": "much"}):
        fields = json.loads(json.dumps(contents.fields))
        fields["context"]["experts"][0]["settings"].update(wrong)
        storage.write(path, contents.kind, fields, dict(contents.arrays))
        with pytest.raises(ModelFileError, match=next(iter(wrong))):
            tagmix.load(path)
