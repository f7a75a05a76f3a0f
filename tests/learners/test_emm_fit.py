"""Learning climbs, stops, repeats itself bit for bit, and does not depend on how the work is cut."""

import re
from functools import partial

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

import tagmix
from tagmix import EMM, Bags, ParameterError
from tagmix.learners import em, parameters
from tagmix.model.params import Settings

LIKELIHOOD = {"learning": "likelihood", "calibration_folds": 0}
# Few iterations, settled E-steps: what is left between two ways of computing is rounding.
STEADY = {**LIKELIHOOD, "max_iter": 6, "tol": 0.0}


def arrays_of(emm):
    yield from (emm.params_.rates, emm.params_.weights)
    for model in emm.params_.instances.values():
        yield from (model.mu, np.array(model.eta))
    if emm.calibration_ is not None:
        logistic, *others = emm.calibration_
        yield from (*logistic, *others)


def assert_same_bits(a, b, bags):
    for one, other in zip(arrays_of(a), arrays_of(b), strict=True):
        np.testing.assert_array_equal(one, other)
    assert a.bound_history_ == b.bound_history_
    np.testing.assert_array_equal(a.predict_proba(bags), b.predict_proba(bags))


def assert_close(a, b, bags, rtol):
    for one, other in zip(arrays_of(a), arrays_of(b), strict=True):
        np.testing.assert_allclose(one, other, rtol=rtol, atol=1e-12)
    np.testing.assert_allclose(a.bound_history_, b.bound_history_, rtol=rtol)
    np.testing.assert_allclose(a.predict_proba(bags), b.predict_proba(bags), rtol=rtol, atol=1e-12)


@pytest.fixture
def steady(monkeypatch):
    monkeypatch.setattr(parameters, "Settings", partial(Settings, tolerance=1e-10, max_iter=2000))

    def fit(bags, **how):
        with pytest.warns(ConvergenceWarning, match="stopped after"):  # tol is 0 on purpose
            return EMM(**{**STEADY, **how}).fit(bags)

    return fit


def assert_rises(history):
    values = np.array(history)
    assert np.all(np.diff(values) >= -1e-9 * np.abs(values[:-1]))
    assert values[-1] > values[0]


@pytest.mark.parametrize("supervision", ["hard", 1.0])
def test_the_bound_rises_until_it_settles(train, supervision):
    emm = EMM(**LIKELIHOOD, supervision=supervision).fit(train)
    assert_rises(emm.bound_history_)
    assert emm.converged_
    assert emm.n_iter_ == len(emm.bound_history_) > 2


@pytest.mark.parametrize("supervision", ["hard", 1.0])
def test_the_printed_bound_settles_because_the_rates_are_held(train, supervision):
    # D12: with λ learnt it would rise without end.
    emm = EMM(**LIKELIHOOD, supervision=supervision, normaliser="dropped").fit(train)
    assert_rises(emm.bound_history_)
    assert emm.converged_
    np.testing.assert_array_equal(emm.params_.rates, 1.0)


def test_learning_finds_the_planted_tags(train, test, plain):
    assert plain.score(test) > 0.6
    assert plain.score(test) > EMM(**LIKELIHOOD).fit(train.with_tags(train.captions[::-1])).score(test) + 0.1


def test_margins_leave_the_convergence_of_the_likelihood_as_it_was(train, fitted, plain):
    assert fitted.converged_
    assert fitted.bound_history_[: plain.n_iter_] == plain.bound_history_
    assert fitted.n_iter_ > plain.n_iter_
    assert fitted.margin_.gap <= em.MARGIN_TOLERANCE
    assert plain.margin_ is None


def test_converged_speaks_of_the_likelihood_not_of_the_few_iterations_after_the_margins(sampled):
    doubtful = sampled(60, overlap=0.8, words_per_region=10).bags
    emm = EMM(calibration_folds=0, tol=1e-6, max_iter=1000).fit(doubtful)
    before, last = emm.bound_history_[-2:]
    assert last - before > emm.tol * abs(last)
    assert emm.converged_


def test_too_few_iterations_warn_and_say_what_to_raise(train):
    with pytest.warns(ConvergenceWarning, match=r"stopped after 2 iterations.*raise max_iter, or tol"):
        emm = EMM(**LIKELIHOOD, max_iter=2).fit(train)
    assert not emm.converged_
    assert emm.n_iter_ == 2


def test_progress_is_reported_once_per_iteration_and_not_by_folds(train):
    reported = []
    emm = EMM(learning="likelihood", calibration_folds=2).fit(train, progress=lambda *a: reported.append(a))
    assert reported == [("model", done, 100) for done in range(1, emm.n_iter_ + 1)]


def test_verbose_2_prints_a_line_an_iteration_to_stderr_and_1_is_quiet_in_a_pipe(train, capsys):
    emm = EMM(**LIKELIHOOD, verbose=2).fit(train)
    out, err = capsys.readouterr()
    lines = err.splitlines()
    assert out == ""
    assert len(lines) == emm.n_iter_
    assert all(re.fullmatch(r"iteration +\d+  bound -?[\d,]+\.\d{3}", line) for line in lines)
    EMM(**LIKELIHOOD, verbose=1).fit(train)
    assert capsys.readouterr() == ("", "")


def test_two_runs_agree_bit_for_bit(train, test, fitted):
    assert_same_bits(fitted, EMM().fit(train), test)


def test_a_random_state_decides_only_how_folds_are_drawn(train, fitted):
    other = EMM(random_state=1).fit(train)
    np.testing.assert_array_equal(fitted.params_.weights, other.params_.weights)
    assert np.any(fitted.calibration_.logistic.biases != other.calibration_.logistic.biases)


@pytest.mark.parametrize("how", [{}, {"supervision": 1.0}, {"inference": "map"}])
def test_the_number_of_threads_changes_no_bit(train, test, how):
    assert_same_bits(EMM(**how, n_jobs=1).fit(train), EMM(**how, n_jobs=2).fit(train), test)


@pytest.mark.parametrize("supervision", ["hard", 1.0])
def test_reference_and_compiled_kernels_agree(steady, train, test, supervision, monkeypatch):
    compiled = steady(train, supervision=supervision)
    monkeypatch.setenv("TAGMIX_KERNELS", "reference")
    reference = steady(train, supervision=supervision)
    assert reference.settings_.kernels.__name__ == "tagmix.kernels.reference"
    assert_close(compiled, reference, test, rtol=1e-9)


def test_kernels_that_do_not_exist_are_refused_and_no_file_is_blamed(plain, train, monkeypatch, tmp_path):
    plain.save(tmp_path / "m.tagmix")
    monkeypatch.setenv("TAGMIX_KERNELS", "quantum")
    message = "^TAGMIX_KERNELS must be one of compiled, reference, got 'quantum'"
    with pytest.raises(ParameterError, match=message):
        EMM(**LIKELIHOOD).fit(train)
    with pytest.raises(ParameterError, match=message):
        tagmix.load(tmp_path / "m.tagmix")


@pytest.mark.parametrize("supervision", ["hard", 1.0])
def test_many_shards_learn_what_one_does(steady, train, test, supervision):
    whole = steady(train, supervision=supervision)
    cut = steady(train, supervision=supervision, memory_mb=1e-3)
    assert len(list(cut._shards(test))) > 4
    assert_close(whole, cut, test, rtol=1e-12)


def test_the_order_of_images_does_not_matter(steady, train, test):
    order = np.random.default_rng(0).permutation(len(train))
    assert_close(steady(train), steady(train[order]), test, rtol=1e-10)


def test_permuted_tags_give_permuted_scores(steady, train, test):
    order = np.random.default_rng(1).permutation(train.n_tags)
    a, b = steady(train), steady(train.select_tags(order))
    assert b.tag_names_ == tuple(f"tag{i}" for i in order)
    np.testing.assert_allclose(b.predict_proba(test), a.predict_proba(test)[:, order], rtol=1e-9, atol=1e-12)


def test_names_change_nothing_but_the_names(train, test, plain):
    names = list("qrstuvwxyz")
    named = EMM(**LIKELIHOOD).fit(train.with_tags(train.captions, names))
    assert named.tag_names_ == tuple(names)
    assert_same_bits(plain, named, test)


def test_images_without_tags_or_regions_teach_nothing(train, test, plain):
    untagged = train[:5].with_tags(np.zeros((5, train.n_tags)), train.tag_names)
    nothing = Bags(train.views["words"][:0], [0, 0, 0], train.captions[:2], train.tag_names)
    more = Bags.concat([untagged, train, nothing])
    assert_same_bits(plain, EMM(**LIKELIHOOD).fit(more), test)


def test_a_tag_that_no_image_has_is_legal_and_ranks_last(train, test):
    unseen = np.hstack([train.captions.toarray(), np.zeros((len(train), 1), dtype=int)])
    scores = EMM(**LIKELIHOOD).fit(train.with_tags(unseen)).predict_proba(test)
    assert np.all(np.isfinite(scores))
    assert scores[:, -1].mean() < scores[:, :-1].mean(axis=0).min()


def test_every_image_twice_ranks_tags_as_once(train, test, plain):
    twice = EMM(**LIKELIHOOD).fit(Bags.concat([train, train]))
    a, b = plain.predict_proba(test), twice.predict_proba(test)
    assert np.mean(a.argmax(axis=1) == b.argmax(axis=1)) > 0.9
    np.testing.assert_allclose(a, b, rtol=0, atol=0.1)


def two_views(bags, seed=0):
    noise = np.random.default_rng(seed).poisson(2.0, (bags.n_regions, 20))
    return Bags({"words": bags.views["words"], "colour": noise}, bags.offsets, bags.captions)


def test_two_views_are_learnt_together(train, test):
    emm = EMM(**LIKELIHOOD).fit(two_views(train))
    assert emm.widths_ == {"words": 60, "colour": 20}
    assert emm.score(two_views(test)) > 0.6


def test_evidence_names_the_views_to_read(train, test, plain):
    emm = EMM(**LIKELIHOOD, evidence={"words": 1.0}).fit(two_views(train))
    np.testing.assert_array_equal(emm.predict_proba(test), plain.predict_proba(test))


def test_evidence_weighs_views_one_by_one(train, test):
    weak = EMM(**LIKELIHOOD, evidence={"words": 1e-6, "colour": 1.0}).fit(two_views(train))
    strong = EMM(**LIKELIHOOD, evidence={"words": 1.0, "colour": 1e-6}).fit(two_views(train))
    assert strong.score(two_views(test)) > weak.score(two_views(test)) + 0.1
