"""What joins context and regions, counted by loops where a scorer that is given makes evidence known."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.special import expit, log_expit, softmax

from tagmix import EMM, Bags
from tagmix.evaluation.folds import grouped_folds
from tagmix.evaluation.metrics import top_k_accuracy
from tagmix.learners.base import TagLearner
from tagmix.learners.calibrate import FOLDS, fit_calibration, probabilities
from tagmix.learners.context import fitting
from tagmix.learners.context.fitting import REGION_POWERS, Regions, join, try_powers
from tagmix.learners.context.prior import HeldOut, fit_prior
from tagmix.model.linear import Linear
from tagmix.model.margin import solve_margin
from tagmix.model.params import Params, Settings

N, N_TAGS = 150, 6
POWERS = (0.5, 2.0)


@pytest.fixture(scope="module")
def bags():
    """Pictures of one to four regions, whose embedding is their evidence: higher for tags of the caption."""
    rng = np.random.default_rng(0)
    sizes = rng.integers(1, 5, N)
    tags = (rng.random((N, N_TAGS)) < 0.3).astype(int)
    tags[np.arange(N), rng.integers(0, N_TAGS, N)] = 1
    evidence = rng.normal(size=(sizes.sum(), N_TAGS)) + 1.5 * np.repeat(tags, sizes, axis=0)
    return Bags({"net": evidence}, np.concatenate([[0], np.cumsum(sizes)]), tags=tags)


@pytest.fixture(scope="module")
def held_out(bags):
    """Two thirds of the pictures, and a context that is little better than noise."""
    rng = np.random.default_rng(1)
    rows = np.sort(rng.permutation(N)[:100])
    logits = rng.normal(-1, 1, (100, N_TAGS)) + 0.3 * bags[rows].captions.toarray()
    return HeldOut(rows, logits, np.arange(N))


def told(seen=None):
    """Return regions whose evidence is their embedding, and note in ``seen`` who was learnt from."""
    scorer = Linear(np.zeros(N_TAGS), np.ones(N_TAGS), np.eye(N_TAGS, N_TAGS + 1))

    def learn(part, fold):
        if seen is not None:
            seen.append(set(part.ids))
        return Params(np.ones(N_TAGS), {"net:linear": scorer}, np.ones(N_TAGS))

    return Regions(learn, Settings({"net:linear": 1.0}, given=True), 1e5)


def shares_of(bags, held_out, power):
    """Return each picture's mean of softmax(evidence + power · log π), picture by picture."""
    out = []
    for log_prior, n in zip(log_expit(held_out.logits), held_out.rows, strict=True):
        part = bags.views["net"][bags.offsets[n] : bags.offsets[n + 1]]
        out.append(softmax(part + power * log_prior, axis=1).mean(axis=0))
    return np.array(out)


def test_agreement_coverage_and_shares_are_those_that_loops_count(bags, held_out):
    trial = try_powers(bags, held_out, told(), POWERS, 3, 0, with_shares=True)
    same, covered, n_regions, n_tags = dict.fromkeys(POWERS, 0), 0, 0, 0
    for i, n in enumerate(held_out.rows):
        own = np.flatnonzero(bags.captions.toarray()[n])
        found = set()
        for x in bags.views["net"][bags.offsets[n] : bags.offsets[n + 1]]:
            named = own[x[own].argmax()]
            found.add(named)
            n_regions += 1
            for power in POWERS:
                pi = expit(held_out.logits[i])
                same[power] += (np.exp(x) * pi**power).argmax() == named
        covered, n_tags = covered + len(found), n_tags + len(own)
    assert trial.agreement == pytest.approx({power: n / n_regions for power, n in same.items()})
    assert trial.coverage == pytest.approx(covered / n_tags)
    for power in POWERS:
        np.testing.assert_allclose(trial.shares[power], shares_of(bags, held_out, power), rtol=1e-5)


def test_regions_are_asked_of_models_that_have_not_seen_their_picture(bags, held_out):
    seen, asked = [], []
    for at, shard, _ in fitting._held_out_evidence(bags, held_out, told(seen), 3, 0):
        assert not seen[-1] & set(shard.ids)
        assert list(shard.ids) == list(bags[held_out.rows[at]].ids)
        asked += list(at)
    assert sorted(asked) == list(range(len(held_out.rows)))
    assert [len(ids) for ids in seen] == [100, 100, 100]


def test_no_model_of_regions_has_seen_a_duplicate_of_the_picture_it_scores(bags, held_out):
    seen, asked = [], 0
    duplicates = held_out._replace(duplicates=np.arange(N) // 3)
    for _, shard, _ in fitting._held_out_evidence(bags, duplicates, told(seen), 3, 0):
        assert not {int(i) // 3 for i in seen[-1]} & {int(i) // 3 for i in shard.ids}
        asked += len(shard)
    assert asked == len(held_out.rows)


class Told(TagLearner):
    """Scores that come with the pictures: no caption changes them."""

    reads_dense = True

    def _fit(self, bags):
        pass

    def _scores(self, bags):
        return bags.pictures["scores"]


def test_a_pool_has_not_seen_the_captions_of_the_pictures_it_is_asked_about(bags):
    tags = bags.captions.toarray()
    lies = tags.copy()
    lies[0] = 1 - lies[0]
    scores = {"scores": np.random.default_rng(2).random((N, N_TAGS))}
    honest, lying = (
        fit_prior(Told(), Bags(bags.views, bags.offsets, tags=some, pictures=scores), 0)[1].logits
        for some in (tags, lies)
    )
    np.testing.assert_array_equal(lying[0], honest[0])
    assert (np.abs(lying - honest).max(axis=1) > 0).mean() == pytest.approx(0.8)


@pytest.fixture(scope="module")
def joint(bags, held_out):
    return join(EMM(learning="margin", context_power=2.0), bags, None, held_out, told())


def test_the_regions_power_is_the_one_that_ranks_held_out_pictures_best(bags, held_out, joint):
    truth, shares = bags[held_out.rows].captions.toarray(), shares_of(bags, held_out, 2.0)
    reached = {
        c: top_k_accuracy(truth, held_out.logits + c * np.log(shares + 1e-3), 3) for c in REGION_POWERS
    }
    assert max(reached.values()) > min(reached.values()) + 0.05
    assert reached[joint.context.region_power] == max(reached.values())


def test_margins_are_learnt_on_probabilities_and_their_weights_are_in_what_is_calibrated(
    bags, held_out, joint
):
    odds = joint.context.joined(held_out.logits, shares_of(bags, held_out, 2.0).astype(np.float32))
    captions, emm = bags[held_out.rows].captions, EMM()
    expected = solve_margin(
        csr_array(expit(odds)), captions, nu1=emm.nu1, nu2=emm.nu2, tolerance=emm.margin_tol
    )
    np.testing.assert_allclose(joint.margin.weights, expected.weights, rtol=1e-3)
    assert np.ptp(np.log(expected.weights)) > 0.01
    weighted, truth = np.exp(odds) * joint.margin.weights, captions.toarray().astype(float)
    whole = fit_calibration(weighted, truth)
    np.testing.assert_allclose(joint.calibration.slopes, whole.slopes, rtol=1e-3)
    np.testing.assert_allclose(joint.calibration.biases, whole.biases, rtol=1e-3, atol=1e-3)


def test_one_threshold_shows_tags_as_right_as_promised_by_calibrations_that_had_not_seen_them(joint):
    assert np.ptp(joint.calibration.thresholds) == 0
    rng = np.random.default_rng(3)
    odds = np.exp(rng.normal(size=(60, 4)))
    truth = (rng.random((60, 4)) < odds / (1 + odds)).astype(float)
    threshold = fitting._calibrated(odds, truth, 0, np.arange(60)).thresholds[0]
    p = np.empty_like(odds)
    for train, test in grouped_folds(np.arange(60), FOLDS, 0):
        p[test] = probabilities(odds[test], fit_calibration(odds[train], truth[train]))
    assert truth[p >= threshold].mean() >= fitting.SHOWN_PRECISION
    assert truth[p >= threshold - 0.1].mean() < fitting.SHOWN_PRECISION


def test_no_calibration_has_seen_a_duplicate_of_what_it_scores(monkeypatch):
    parted = []
    monkeypatch.setattr(
        fitting, "left_out_probabilities", lambda odds, truth, folds: parted.extend(folds) or odds / 100
    )
    odds, duplicates = np.arange(40.0)[:, None] + np.zeros(3), np.arange(40) // 2
    fitting._calibrated(odds, np.tile(np.eye(3), (14, 1))[:40], 0, duplicates)
    assert sorted(np.concatenate([test for _, test in parted])) == list(range(40))
    assert not any(np.isin(duplicates[train], duplicates[test]).any() for train, test in parted)
    assert len(parted) == FOLDS


def test_rates_of_a_power_beyond_sense_stay_numbers_in_the_order_of_the_context():
    rates = fitting.Context(None, 100.0, 0.0, {}).rates(np.array([[-30.0, -29.99, -29.0], [0.0, 1.0, 30.0]]))
    assert np.isfinite(rates).all()
    assert (np.diff(rates, axis=1) < 0).all()
    usual = fitting.Context(None, 2.0, 0.0, {}).rates(np.array([[-1.0, 2.0]]))[0]
    assert usual[0] / usual[1] == pytest.approx((expit(2.0) / expit(-1.0)) ** 2)


def test_agreement_without_context_is_that_of_the_evidence_alone(bags, held_out):
    named = n_regions = 0
    for n in held_out.rows:
        own = np.flatnonzero(bags.captions.toarray()[n])
        for x in bags.views["net"][bags.offsets[n] : bags.offsets[n + 1]]:
            named, n_regions = named + (x.argmax() in own), n_regions + 1
    assert try_powers(bags, held_out, told(), POWERS, 3, 0, with_shares=False).alone == named / n_regions


def test_calibrations_get_the_duplicate_groups_of_the_pictures_they_score(monkeypatch, bags, held_out):
    caught = []
    monkeypatch.setattr(
        fitting, "_calibrated", lambda odds, truth, seed, duplicates: caught.append(duplicates)
    )
    duplicates = np.random.default_rng(5).permutation(N) // 2
    join(EMM(learning="likelihood"), bags, None, held_out._replace(duplicates=duplicates), told())
    np.testing.assert_array_equal(caught[0], duplicates[held_out.rows])


def test_the_evening_is_chosen_on_probabilities_of_calibrations_that_had_not_seen_the_pictures(monkeypatch):
    caught, p = [], np.empty((60, 4))
    monkeypatch.setattr(fitting, "rare_tag_weights_of", lambda *given: caught.append(given))
    rng = np.random.default_rng(6)
    odds = np.exp(rng.normal(size=p.shape))
    truth = (rng.random(p.shape) < odds / (1 + odds)).astype(float)
    fitting._calibrated(odds, truth, 7, np.arange(60))
    for train, test in grouped_folds(np.arange(60), FOLDS, 7):
        p[test] = probabilities(odds[test], fit_calibration(odds[train], truth[train]))
    np.testing.assert_array_equal(caught[0][0], p)
    assert caught[0][1] is truth
    assert caught[0][2] == 7


def test_regions_are_learnt_three_times_however_many_folds_there_are(bags, held_out):
    seen = []
    join(EMM(learning="likelihood", calibration_folds=9), bags, None, held_out, told(seen))
    assert len(seen) == fitting.MOST_FOLDS == 3


def test_of_powers_that_agree_equally_the_smallest_is_taken(monkeypatch, bags, held_out):
    shares = dict.fromkeys(fitting.POWERS, np.full((100, N_TAGS), 1 / N_TAGS))
    trial = fitting.Trial(dict.fromkeys(fitting.POWERS, 0.5), 0.5, 0.5, shares)
    monkeypatch.setattr(fitting, "try_powers", lambda *how, with_shares: trial)
    context = join(EMM(learning="likelihood"), bags, None, held_out, told()).context
    assert (context.power, context.region_power) == (fitting.POWERS[0], 0.0)


def test_the_rarest_tag_of_the_surest_context_has_a_finite_rate_at_the_largest_power():
    rates = fitting.Context(None, 100.0, 0.0, {}).rates(np.array([[-30.0, 30.0]]))
    assert np.isfinite(rates).all()
    assert rates[0, 1] == 1.0 < 1e200 < rates[0, 0]


def test_regions_add_their_power_of_the_share_and_of_the_least_one_to_the_context():
    shares = np.array([[0.0, 1e-3, 0.999]])
    np.testing.assert_allclose(fitting.joined(np.ones((1, 3)), shares, 0.5), 1 + 0.5 * np.log(shares + 1e-3))
