"""Tasks are done once, fail alone, leave the same records however they are run, and never see the answers."""

import json
import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import BaseEstimator

from tagmix import KNN, Bags, NaiveRegions, __version__
from tagmix.comparison import measure, methods, run
from tagmix.comparison.forms import Frequency
from tagmix.comparison.measure import measured, region_ranks
from tagmix.comparison.methods import Method, choose_setting
from tagmix.comparison.parts import DataPart, save_parts
from tagmix.comparison.records import Record, Task
from tagmix.comparison.run import fingerprint, provenance, run_all
from tagmix.comparison.terms import ranks_of
from tagmix.errors import BagsError
from tagmix.evaluation.leaks import leaks
from tagmix.evaluation.metrics import METRICS
from tagmix.evaluation.selection import scores_of
from tagmix.evaluation.top_k import region_top_k_accuracy
from tagmix.images.process_pool import CRASHED
from tests.comparison.conftest import planted, planted_part

SIFT = ("sift",)


def tasks(*names, parts=(0, 1), **more):
    return [Task("planted", name, SIFT, part, **more) for name in names for part in parts]


def without_seconds(records):
    return [replace(record, seconds={}) for record in records]


def stamps(home):
    return {path.name: path.stat().st_mtime_ns for path in (home / "records").iterdir()}


class Refuses(BaseEstimator):
    """Raises what it is told to."""

    def __init__(self, error=None):
        self.error = error

    def fit(self, bags, y=None):
        raise self.error


def in_the_comparison(monkeypatch, name, learner, axes=None, start=None):
    monkeypatch.setitem(methods.METHODS, name, lambda views: Method(learner, axes or {}, start or {}))


def test_a_record_says_what_the_task_came_to(home):
    (record,) = run_all(tasks("KNN", parts=[1]), home, n_jobs=1).records
    part = planted_part(30, 12, seed=1)
    assert record.task == Task("planted", "KNN", SIFT, 1)
    assert record.ids == list(part.test.ids)
    assert record.tag_names == list(part.test.tag_names)
    assert record.n_train == 30
    assert record.truth.toarray().tolist() == part.test.captions.toarray().tolist()
    assert record.chosen["k_"] in KNN.own_k
    assert (record.tried, record.regions) == ([], None)
    assert record.seconds.keys() == {"choose", "fit", "annotate"}
    knn = methods.METHODS["KNN"](SIFT).learner.fit(part.train)
    scores = knn.decision_scores(part.test.with_tags(None))
    assert record.top == np.argsort(-scores, axis=1, kind="stable").tolist()
    assert record.metrics == {name: METRICS[name](part.test.captions, scores, 3) for name in METRICS}  # of 6
    parts = record.picture_parts(3)
    assert parts.gain.sum() / parts.weight.sum() == pytest.approx(record.metrics["top_k_accuracy"], abs=1e-12)
    assert Record.load(home / "records" / f"{record.task.name}.json") == record


def test_regions_are_ranked_with_and_without_captions(home):
    (record,) = run_all(tasks("NaiveRegions", parts=[0]), home, n_jobs=1).records
    part = planted_part(30, 12)
    learner = methods.METHODS["NaiveRegions"](SIFT).learner.fit(part.train)
    for captioned in (False, True):
        scores = learner.predict_regions(part.test, captioned=captioned)
        for k in (1, 3):
            parts = record.regions.parts(k, captioned)
            assert parts.gain.sum() / parts.weight.sum() == region_top_k_accuracy(part.truth, scores, k)
    assert len(record.regions.picture) == len(part.truth)
    assert max(record.regions.captioned) <= 3  # no picture has more tags than regions


def test_regions_whose_tag_nobody_knows_are_left_out(part):
    truth = part.truth.copy()
    truth[::2] = -1
    learner = methods.METHODS["NaiveRegions"](SIFT).learner.fit(part.train)
    half, whole = region_ranks(learner, part._replace(truth=truth)), region_ranks(learner, part)
    assert half.picture == whole.picture[1::2]
    assert half.free == whole.free[1::2]
    assert half.captioned == whole.captioned[1::2]
    assert region_ranks(learner, part._replace(truth=np.full(len(truth), -1))) is None
    assert region_ranks(Frequency().fit(part.train), part) is None


@given(st.integers(1, 8), st.integers(0, 2**32))
@settings(max_examples=30, deadline=None)
def test_the_place_of_a_tag_is_that_of_a_stable_sort(n_tags, seed):
    rng = np.random.default_rng(seed)
    scores, truth = rng.integers(1, 4, (20, n_tags)).astype(float), rng.integers(-1, n_tags, 20)
    scores /= scores.sum(axis=1, keepdims=True)  # or the rest would be none of the tags
    order = np.argsort(-scores, axis=1, kind="stable").tolist()
    expected = [1 + row.index(own) for row, own in zip(order, truth.tolist(), strict=True) if own >= 0]
    assert ranks_of(scores, truth).tolist() == expected


def test_what_is_done_is_not_done_again(home):
    told = []
    first = run_all(tasks("frequency", "KNN"), home, n_jobs=1, progress=lambda *what: told.append(what))
    assert told == [("tasks", i, 4) for i in (1, 2, 3, 4)]
    before = stamps(home)
    assert len(before) == 4
    assert run_all(tasks("frequency", "KNN"), home, n_jobs=1) == first
    assert stamps(home) == before
    told.clear()
    more = run_all(tasks("KNN", "KernelRidge"), home, n_jobs=1, progress=lambda *what: told.append(what))
    assert [record.task.method for record in more.records] == ["KNN", "KNN", "KernelRidge", "KernelRidge"]
    assert told == [("tasks", 3, 4), ("tasks", 4, 4)]
    assert {name: stamp for name, stamp in stamps(home).items() if name in before} == before


def test_again_does_all_of_them_again(home):
    first = run_all(tasks("frequency"), home, n_jobs=1)
    before = stamps(home)
    again = run_all(tasks("frequency"), home, n_jobs=1, again=True)
    assert all(stamp > before[name] for name, stamp in stamps(home).items())
    assert without_seconds(again.records) == without_seconds(first.records)


def test_other_data_of_the_same_name_makes_records_anew(home):
    (first,) = run_all(tasks("frequency", parts=[0]), home, n_jobs=1).records
    save_parts(home / "data", "planted", [planted_part(20, 9, seed=5)], "another mark", [])
    (other,) = run_all(tasks("frequency", parts=[0]), home, n_jobs=1).records
    assert (first.n_train, other.n_train) == (30, 20)
    assert first.provenance["mark"] != other.provenance["mark"]


def test_another_setup_of_a_method_makes_its_record_anew(home, monkeypatch):
    in_the_comparison(monkeypatch, "KNN", KNN(k=2))
    (first,) = run_all(tasks("KNN", parts=[0]), home, n_jobs=1).records
    in_the_comparison(monkeypatch, "KNN", KNN(k=9))
    (other,) = run_all(tasks("KNN", parts=[0]), home, n_jobs=1).records
    assert first.provenance["mark"] != other.provenance["mark"]
    assert first.top != other.top


def test_the_mark_tells_tasks_apart(home):
    task = Task("planted", "EMM_m", SIFT)
    others = [
        task,
        replace(task, part=1),
        replace(task, method="EMM_d"),
        replace(task, point={"tags": 3}),
        replace(task, point={"evidence": 0.1}),
    ]
    assert len({fingerprint(other, home) for other in others}) == len(others)
    assert fingerprint(task, home) == fingerprint(replace(task), home)


@pytest.mark.parametrize("damage", [b"", b"{}", b"\x00" * 50])
def test_a_damaged_record_is_made_anew(home, damage):
    (first,) = run_all(tasks("frequency", parts=[0]), home, n_jobs=1).records
    path = home / "records" / f"{first.task.name}.json"
    path.write_bytes(damage)
    (again,) = run_all(tasks("frequency", parts=[0]), home, n_jobs=1).records
    assert without_seconds([again]) == without_seconds([first])
    assert Record.load(path) == again


def test_a_record_under_the_name_of_another_task_is_not_taken_for_it(home):
    (first,) = run_all(tasks("frequency", parts=[0]), home, n_jobs=1).records
    source = home / "records" / f"{first.task.name}.json"
    (other,) = tasks("KNN", parts=[0])
    (home / "records" / f"{other.name}.json").write_bytes(source.read_bytes())
    (record,) = run_all([other], home, n_jobs=1).records
    assert record.task == other


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (BagsError("nothing fits"), "nothing fits"),
        (MemoryError(), "MemoryError"),
        (ValueError("a\n b"), "ValueError: a b"),
    ],
)
def test_a_method_that_fails_does_not_end_the_run(home, monkeypatch, error, reason):
    in_the_comparison(monkeypatch, "KNN", Refuses(error))
    outcome = run_all(tasks("frequency", "KNN", "KernelRidge"), home, n_jobs=1)
    assert [record.task.method for record in outcome.records] == ["frequency"] * 2 + ["KernelRidge"] * 2
    assert [(problem.task, problem.reason) for problem in outcome.problems] == [
        (task, reason) for task in tasks("KNN")
    ]
    assert not list((home / "records").glob("*KNN*"))


def test_a_process_that_is_ended_is_told_as_what_it_may_be(home, monkeypatch):
    monkeypatch.setattr(run, "run_one", lambda job, folder, common: CRASHED)
    outcome = run_all(tasks("frequency", parts=[0]), home, n_jobs=1)
    assert outcome.records == []
    assert "memory" in outcome.problems[0].reason


def test_a_damaged_part_fails_alone(home):
    (home / "data" / "planted" / "truth-0.tagmix").write_bytes(b"")
    outcome = run_all(tasks("frequency"), home, n_jobs=1)
    assert [record.task.part for record in outcome.records] == [1]
    assert "truth-0.tagmix" in outcome.problems[0].reason


def test_a_record_of_pictures_that_are_not_there_is_made_anew(home):
    """A page shows pictures by their paths, and a planted one may lie anywhere."""
    (first,) = run_all(tasks("frequency", parts=[0]), home, n_jobs=1).records
    replace(first, ids=["/elsewhere/private.jpg", *first.ids[1:]]).save(home / "records")
    (again,) = run_all(tasks("frequency", parts=[0]), home, n_jobs=1).records
    assert again.ids == first.ids


def test_a_record_that_does_not_fit_its_part_is_made_anew(home):
    task = tasks("frequency", parts=[1])
    (first,) = run_all(task, home, n_jobs=1).records
    assert run_all(task, home, n_jobs=1).records == [first]  # of its own part, not of the first
    for change in (
        {"ids": first.ids[:1], "captions": first.captions[:1], "top": first.top[:1]},
        {"captions": [[] for _ in first.captions]},
        {"tag_names": [f"other {name}" for name in first.tag_names]},
        {"ids": first.ids[::-1]},
    ):
        replace(first, **change).save(home / "records")
        assert without_seconds(run_all(task, home, n_jobs=1).records) == without_seconds([first])


def test_a_kept_record_of_fewer_tags_fits(home):
    task = tasks("frequency", parts=[1], point={"tags": 3})
    first = run_all(task, home, n_jobs=1)
    before = stamps(home)
    assert run_all(task, home, n_jobs=1) == first
    assert stamps(home) == before


def test_metrics_that_have_no_value_are_left_out(part):
    full = part.test.with_tags(np.ones((len(part.test), 6)), part.test.tag_names)
    record = measured(tasks("frequency")[0], DataPart(part.train, full, part.truth), {})
    assert record.metrics["top_k_accuracy"] == record.metrics["top_k_ceiling"] == pytest.approx(6 / 9)
    assert "ranking_loss" not in record.metrics
    assert "ranking_loss" in measured(tasks("frequency")[0], part, {}).metrics


def test_a_record_that_cannot_be_written_is_told_by_its_name(home):
    (home / "records" / f"{tasks('KNN')[0].name}.json").mkdir(parents=True)
    outcome = run_all(tasks("KNN", parts=[0, 1]), home, n_jobs=1)
    assert len(outcome.records) == 1
    assert "KNN--0.json' was not written" in outcome.problems[0].reason


def test_pictures_without_any_of_the_tags_cannot_be_tested_on(part):
    bare = part.test.with_tags(np.zeros((len(part.test), 6)), part.test.tag_names)
    with pytest.raises(BagsError, match="must have tags of the training pictures"):
        measured(tasks("frequency")[0], DataPart(part.train, bare, part.truth), {})


def test_records_do_not_depend_on_the_number_of_processes(home, tmp_path_factory):
    other = tmp_path_factory.mktemp("other")
    save_parts(other / "data", "planted", [planted_part(30, 12, seed=seed) for seed in (0, 1)], "mark", [])
    todo = [
        *tasks("KernelRidge", point={"tags": 4}),
        Task("planted", "EMM_m", SIFT, 0, {"evidence": 0.9}),
        *tasks("frequency"),
    ]
    one, two = run_all(todo, home, n_jobs=1), run_all(todo, other, n_jobs=2)
    assert [record.task for record in one.records] == todo
    assert without_seconds(one.records) == without_seconds(two.records)
    assert one.problems == two.problems == []


def test_a_point_changes_the_data_and_holds_its_settings(home):
    held = {"nu1": 1e-3, "nu2": 0.0, "evidence": 0.9, "max_iter": 10, "supervision": "hard"}
    task = Task("planted", "EMM_d", SIFT, 0, {**held, "pictures": 15, "draw": 1})
    (record,) = run_all([task], home, n_jobs=1).records
    assert record.n_train == 15
    assert {name: record.chosen[name] for name in ("nu1", "evidence")} == {"nu1": 1e-3, "evidence": 0.9}
    assert record.tried == []


class Peeks(BaseEstimator):
    """Ranks by the captions of what it is asked about, if it is given them."""

    def fit(self, bags, y=None):
        self.n_tags_ = bags.n_tags
        return self

    def decision_scores(self, bags):
        return np.zeros((len(bags), self.n_tags_)) if bags.tags is None else bags.tags.toarray()


def test_captions_of_the_test_are_never_handed_over(part):
    assert not scores_of(Peeks().fit(part.train), part.test).any()


@pytest.mark.parametrize("name", ["KNN", "NaiveRegions"])
def test_other_captions_of_the_test_change_neither_the_choice_nor_the_ranking(name, monkeypatch):
    in_the_comparison(monkeypatch, "KNN", KNN(), {"k": (1, 4, 16)}, {"k": 4})
    in_the_comparison(monkeypatch, "NaiveRegions", NaiveRegions(ridge=1.0))
    bags, z = planted(40, n_tags=12)
    searches = []

    def noted(*what, **how):
        searches.append(choose_setting(*what, **how))
        return searches[-1]

    monkeypatch.setattr(measure, "choose_setting", noted)

    def procedure(bags, train, test):
        regions = np.concatenate([z[bags.offsets[i] : bags.offsets[i + 1]] for i in test])
        record = measured(tasks(name)[0], DataPart(bags[train], bags[test], regions), {})
        free = None if record.regions is None else record.regions.free
        assert (free is None) == (name == "KNN")
        assert (searches[-1] is None) == (name != "KNN")
        return record.top, [str(record.chosen), str(searches[-1])], free

    assert not leaks(procedure, bags, np.arange(10))


def test_the_top_of_a_record_beats_chance_on_planted_tags(home):
    (record,) = run_all(tasks("KernelRidge", parts=[0]), home, n_jobs=1).records
    (control,) = run_all(tasks("frequency", parts=[0]), home, n_jobs=1).records
    assert record.metrics["ndcg_at_k"] > control.metrics["ndcg_at_k"] + 0.2
    assert record.metrics["top_k_accuracy"] <= record.metrics["top_k_ceiling"]


def test_provenance_says_versions_commit_and_day():
    said = provenance()
    assert said["tagmix"] == __version__
    assert said["packages"].keys() == set(run.PACKAGES)
    assert said["packages"]["numpy"] == np.__version__
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", said["date"])
    assert said["commit"] is None or re.fullmatch(r"(\S+-)?g?[0-9a-f]{7,40}(-dirty)?", said["commit"])
    json.dumps(said, allow_nan=False)


def test_the_commit_is_that_of_the_checkout_and_unknown_elsewhere(tmp_path, monkeypatch):
    file = tmp_path / "src" / "tagmix" / "comparison" / "run.py"
    file.parent.mkdir(parents=True)
    monkeypatch.setattr(run, "__file__", str(file))
    assert run._commit() is None
    (tmp_path / ".git").mkdir()  # no repository after all
    assert run._commit() is None


def test_a_method_that_says_nothing_of_regions_is_not_right_about_them():
    with pytest.raises(BagsError, match="must be numbers, got nan"):
        ranks_of(np.full((3, 4), np.nan), np.array([0, 1, -1]))


def with_layout(bags):
    """Return the bags with the tags themselves as a view of whole pictures, and dense regions of ones."""
    views = {**bags.views, "net": np.ones((bags.n_regions, 2))}
    layout = {"layout": bags.captions.toarray().astype(float)}
    return Bags(views, bags.offsets, bags.captions, bags.tag_names, bags.ids, layout)


@pytest.fixture
def rich(tmp_path):
    """A folder with a data set whose layout gives the tags away."""
    part = planted_part(60, 12)
    parts = [part._replace(train=with_layout(part.train), test=with_layout(part.test))]
    assert save_parts(tmp_path / "data", "planted", parts, "mark", []).views == ("sift", "net", "layout")
    return tmp_path


def test_a_task_of_sift_alone_does_not_see_the_layout(rich, monkeypatch):
    in_the_comparison(monkeypatch, "KNN", Looks())
    for attribute in ("reads_dense", "reads_pictures"):
        monkeypatch.setattr(Looks, attribute, True, raising=False)
    for views in (SIFT, ("sift", "layout"), ("sift", "net", "layout")):
        (record,) = run_all([Task("planted", "KNN", views)], rich, n_jobs=1).records
        assert tuple(record.chosen["view_weights_"]) == views
        assert "read" not in record.provenance


class Looks(BaseEstimator):
    """Says which views it was given."""

    def fit(self, bags, y=None):
        self.view_weights_, self.n_tags_ = [*bags.views, *bags.pictures], bags.n_tags
        return self

    def decision_scores(self, bags):
        assert self.view_weights_ == [*bags.views, *bags.pictures]
        return np.zeros((len(bags), self.n_tags_))


@pytest.mark.parametrize("name", ["DBA", "EMM_m"])
def test_a_method_gets_the_views_that_it_can_read_and_keeps_its_place_in_the_table(rich, name, monkeypatch):
    made = methods.METHODS[name](("sift", "net"))
    learner = Looks()
    monkeypatch.setattr(Looks, "reads_dense", made.learner.reads_dense, raising=False)
    in_the_comparison(monkeypatch, name, learner)
    task = Task("planted", name, ("sift", "net", "layout"))
    (record,) = run_all([task], rich, n_jobs=1).records
    assert record.task == task
    read = {"DBA": ["sift"], "EMM_m": ["sift", "net"]}[name]
    assert record.chosen["view_weights_"] == record.provenance["read"] == read


def test_an_evidence_is_chosen_for_views_of_regions_only(rich, monkeypatch):
    asked = []

    def noted(views):
        asked.append(tuple(views))
        return Method(Frequency(), {}, {})

    monkeypatch.setitem(methods.METHODS, "EMM_m", noted)
    monkeypatch.setattr(Frequency, "reads_dense", True, raising=False)
    run_all([Task("planted", "EMM_m", ("sift", "net", "layout"))], rich, n_jobs=1)
    assert asked[-1] == ("sift", "net")  # of the measurement; those before ask for marks and kinds
    monkeypatch.setattr(Frequency, "reads_dense", False)
    run_all([Task("planted", "EMM_m", ("sift", "net", "layout"))], rich, n_jobs=1, again=True)
    assert asked[-1] == ("sift",)


def test_emm_with_context_tells_what_it_chose_and_how_long_that_took(rich):
    held = {"evidence": 0.3, "context": ["kernel", "neighbours"]}
    views = ("sift", "layout")
    tried = [Task("planted", "ContextEMM", views, 0, point) for point in ({}, held, {"without": "layout"})]
    outcome = run_all(tried, rich, n_jobs=1)
    assert outcome.problems == []
    first, second, third = outcome.records
    assert first.chosen.keys() == {"evidence", "background", "n_iter_"}
    assert first.chosen["evidence"].keys() == {"sift"}
    assert second.chosen["evidence"] == {"sift": 0.3}
    assert min(seconds for record in outcome.records for seconds in record.seconds.values()) >= 0
    assert first.top != third.top  # the layout has its say
    assert first.regions is not None
    assert run_all(tried, rich, n_jobs=1) == outcome  # lists come back as they were
