"""A record comes back as it was written, counts as the metrics do, and a damaged one is refused in a line."""

import json
import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tagmix.comparison import records
from tagmix.comparison.levels import Level
from tagmix.comparison.records import LONGEST, Probabilities, Record, RecordError, RegionRanks, Task
from tagmix.comparison.terms import ranks_of
from tagmix.evaluation.blocks import quotient
from tagmix.evaluation.metrics import top_k_accuracy, top_tags
from tagmix.evaluation.top_k import region_parts, top_k_parts

TASK = Task("an album", "EMM_d", ("sift", "colour"), 2, {"tags": 100})
# Of six pairs, four are called 5 % sure, one 50 and one 100 %; three of the six are true
SAID = Probabilities(
    [4, 0, 0, 0, 0, 1, 0, 0, 0, 1], [0.2, 0.0, 0.0, 0.0, 0.0, 0.5, 0.0, 0.0, 0.0, 1.0],
    [1, 0, 0, 0, 0, 1, 0, 0, 0, 1], [[2], []], [Level(0.5, 1, 0.6, 1, 1)],
)  # fmt: skip


def record(captions=((0, 2), (1,)), top=((2, 1, 0), (0, 1, 2)), **changes):
    return Record(
        **{
            "task": TASK,
            "chosen": {"evidence.sift": 0.1, "total_alpha": None, "view_weights_": {"sift": [1.0, 0.5]}},
            "tried": [{"evidence.sift": 0.3, "accuracy": 0.2}],
            "seconds": {"choose": 1.5, "fit": 0.25, "annotate": 0},
            "n_train": 20,
            "tag_names": ["sea", "sky", "<script>é\udc80"],
            "ids": ["a.jpg", "b\n.jpg"],
            "captions": [list(own) for own in captions],
            "top": [list(best) for best in top],
            "metrics": {"top_k_accuracy": 0.5},
            "regions": RegionRanks([0, 0, 1], [1, 3, 2], [1, 1, 1]),
            "provenance": {"mark": "abc", "packages": {"numpy": "2"}},
            "probabilities": SAID,
            "terms": {"map": [[1.0, 0.5], [1.0, 1.0]]},
            **changes,
        }
    )


def written(folder: Path, made: Record) -> Path:
    made.save(folder)
    (path,) = folder.glob("*.json")
    return path


@pytest.fixture
def file(tmp_path):
    return written(tmp_path / "records", record())


def refused(path) -> str:
    with pytest.raises(RecordError) as caught:
        Record.load(path)
    said = str(caught.value)
    assert len(said.splitlines()) == 1
    assert repr(str(path)) in said
    assert "delete it and run again" in said
    return said


@pytest.mark.parametrize("said", [None, SAID])
@pytest.mark.parametrize("regions", [None, RegionRanks([1], [3], [1])])
def test_a_record_comes_back_as_it_was_written(tmp_path, regions, said):
    made = record(regions=regions, probabilities=said)
    path = written(tmp_path / "deep" / "folder", made)
    assert path.name == "an_album--sift+colour--tags=100--EMM_d--2.json"
    assert Record.load(path) == made
    assert [other.name for other in path.parent.iterdir()] == [path.name]  # nothing half-written is left


def test_a_record_of_before_probabilities_were_kept_has_none(file):
    fields = json.loads(file.read_text())
    del fields["probabilities"]
    file.write_text(json.dumps(fields))
    assert Record.load(file) == record(probabilities=None)
    assert Record.load(file).selection is None


def test_bins_and_tags_worth_showing_are_counted_from_the_record():
    assert SAID.bins.error == pytest.approx((0.8 + 0.5 + 0.0) / 6, rel=1e-12)
    # The first picture has the tags 0 and 2 and is shown 2; the second has 1 and is shown none
    assert [quotient(parts) for parts in record().selection] == [1.0, pytest.approx(1 / 3), 0.5, 0.5]


def test_a_record_that_would_be_refused_is_not_written(tmp_path):
    with pytest.raises(ValueError, match="JSON compliant"):
        record(metrics={"ndcg_at_k": float("nan")}).save(tmp_path)
    assert list(tmp_path.glob("*.json")) == []


def test_the_truth_is_the_captions_as_zeros_and_ones():
    truth = record(captions=[[0, 2], []]).truth
    assert truth.toarray().tolist() == [[1, 0, 1], [0, 0, 0]]


def test_a_picture_adds_twice_its_hits_over_tags_shown_and_given():
    # Rankings 2 1 0 and 0 1 2 of pictures with the tags {0, 2} and {1}
    expected = {1: [[2, 0], [3, 2]], 2: [[2, 2], [4, 3]], 3: [[4, 2], [5, 4]], 9: [[4, 2], [5, 4]]}
    assert {k: np.array(record().picture_parts(k)).tolist() for k in expected} == expected


@given(st.integers(1, 60), st.integers(0, 2**32), st.floats(0, 1))
@settings(max_examples=12, deadline=None)
def test_the_first_places_of_a_record_count_as_whole_rankings_do(n_tags, seed, share):
    rng = np.random.default_rng(seed)
    truth, scores = rng.random((7, n_tags)) < share, rng.integers(0, 5, (7, n_tags)).astype(float)
    made = record(
        [np.flatnonzero(row).tolist() for row in truth],
        top_tags(scores, LONGEST).tolist(),
        tag_names=[str(i) for i in range(n_tags)],
    )
    for k in range(1, LONGEST + 1):
        mine, theirs = made.picture_parts(k), top_k_parts(truth, scores, k)
        assert np.array_equal(mine, theirs)
        assert quotient(mine) == top_k_accuracy(truth, scores, k)


@given(st.integers(1, 12), st.integers(0, 2**32))
@settings(max_examples=12, deadline=None)
def test_places_of_regions_count_as_whole_rankings_of_regions_do(n_tags, seed):
    rng = np.random.default_rng(seed)
    truth, scores = rng.integers(-1, n_tags, 30), rng.integers(1, 5, (30, n_tags)).astype(float)
    scores /= scores.sum(axis=1, keepdims=True)
    picture = np.sort(rng.integers(0, 6, 30))
    own = ranks_of(scores, truth).tolist()
    regions = RegionRanks(picture[truth >= 0].tolist(), own, [1] * len(own))
    for k in range(1, n_tags + 1):
        parts, by_region = regions.parts(k, captioned=False), region_parts(truth, scores, k)
        for mine, theirs in zip(parts, by_region, strict=True):
            summed = np.bincount(picture, theirs, minlength=6)
            assert mine.tolist() == summed[: len(mine)].tolist()
            assert not summed[len(mine) :].any()
        assert regions.parts(k, captioned=True).gain.tolist() == parts.weight.tolist()


def test_regions_of_pictures_without_a_caption_count_without_the_caption_alone():
    regions = RegionRanks([0, 1], [1, 1], [0, 1])
    assert regions.parts(1, captioned=True).weight.tolist() == [0, 1]
    assert regions.parts(1, captioned=True).gain.tolist() == [0, 1]
    assert regions.parts(1, captioned=False).weight.tolist() == [1, 1]


def test_the_terms_of_a_metric_are_those_of_each_picture():
    assert record().parts("map").gain.tolist() == [1.0, 0.5]
    assert record().parts("unknown") is None


def test_pictures_without_a_known_region_weigh_nothing():
    parts = RegionRanks([0, 3, 3], [2, 1, 2], [1, 1, 1]).parts(1, captioned=False)
    assert parts.gain.tolist() == [0, 0, 0, 1]
    assert parts.weight.tolist() == [1, 0, 0, 2]


@given(st.integers(0, 600))
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_truncated_file_is_refused(file, length):
    whole = file.read_bytes()
    try:
        file.write_bytes(whole[: min(length, len(whole) - 1)])
        refused(file)
    finally:
        file.write_bytes(whole)


def changed(file, *where, to):
    """Write the record with one value exchanged."""
    fields = json.loads(file.read_text())
    *way, last = where
    place = fields
    for step in way:
        place = place[step]
    place[last] = to
    file.write_text(json.dumps(fields))


WRONG = [None, True, -1, 3.5, 10**30, "text", [], {}, [[]], [None], [[None]], [["x"]], {"x": "y"}, [1e400]]
GOOD = {
    ("chosen",): ({}, {"x": "y"}),
    ("provenance",): ({}, {"x": "y"}),
    ("seconds",): ({},),
    ("metrics",): ({},),
    ("tried",): ([],),
    ("n_train",): (-1, 10**30),
    ("regions",): (None,),
    ("probabilities",): (None,),
    ("probabilities", "shown", 0): ([],),
    ("task", "data"): ("text",),
    ("task", "method"): ("text",),
    ("task", "views"): ([],),
    ("task", "part"): (-1, 10**30),
    ("task", "point"): ({}, {"x": "y"}),
    ("captions", 0): ([],),
}
FIELDS = [
    (name,) for name in ("ids", "tag_names", "captions", "top", "task", *(w[0] for w in GOOD if len(w) == 1))
]
PLACES = [
    *FIELDS,
    *(where for where in GOOD if len(where) > 1),
    ("captions", 0, 0),
    ("top", 1),
    ("top", 0, 1),
    ("ids", 1),
    ("tag_names", 0),
    ("metrics", "top_k_accuracy"),
    ("seconds", "fit"),
    ("regions", "picture"),
    ("regions", "picture", 0),
    ("regions", "free", 1),
    ("regions", "captioned", 2),
    ("probabilities", "pairs"),
    ("probabilities", "pairs", 0),
    ("probabilities", "said"),
    ("probabilities", "said", 9),
    ("probabilities", "right"),
    ("probabilities", "right", 5),
    ("probabilities", "shown"),
    ("probabilities", "shown", 0, 0),
]


@pytest.mark.parametrize("where", PLACES, ids=lambda where: ".".join(map(str, where)))
def test_a_value_of_the_wrong_sort_is_refused_in_one_line(tmp_path, where):
    for wrong in WRONG:
        number = where[-1] in ("top_k_accuracy", "fit") and type(wrong) in (int, float)
        text = where in (("ids", 1), ("tag_names", 0)) and wrong == "text"
        if number or text or any(wrong == good and type(wrong) is type(good) for good in GOOD.get(where, ())):
            continue
        again = written(tmp_path / "again", record())
        changed(again, *where, to=wrong)
        refused(again)


@pytest.mark.parametrize("where", [w for w in FIELDS if w != ("probabilities",)], ids=lambda where: where[0])
def test_a_missing_or_an_unknown_field_is_refused(file, where):
    fields = json.loads(file.read_text())
    file.write_text(json.dumps({**fields, "surprise": 1}))
    refused(file)
    del fields[where[0]]
    file.write_text(json.dumps(fields))
    refused(file)


@pytest.mark.parametrize(
    ("where", "value"),
    [
        (("captions", 0), [0, 3]),  # there are three tags
        (("captions", 0), [0, -1]),
        (("captions", 0), [1, 1]),  # a hit would count twice
        (("captions", 0), [True]),
        (("captions", 0), [1.0]),
        (("top", 0), [0, 1, 1]),
        (("top", 0), [0, 1]),  # shorter than the others, and than all tags
        (("top",), [[0, 1], [1, 0]]),
        (("top",), [[0, 1, 2]]),
        (("ids",), ["a.jpg"]),
        (("regions", "picture"), [0, 0, 2]),  # there are two pictures
        (("regions", "picture"), [0, 0, 10**12]),  # memory for as many would be asked for
        (("regions", "free"), [0, 1, 1]),  # places are counted from 1
        (("regions", "captioned"), [1, 1, 5]),  # three tags, and none of them
        (("regions", "captioned"), [1, 1, -1]),
        (("terms", "map"), [[1.0, 0.5]]),
        (("terms", "map"), [[1.0], [1.0]]),  # there are two pictures
        (("terms", "map"), [[1.0, -0.5], [1.0, 1.0]]),
        (("terms", "map"), [[1.0, 1], [1.0, 1.0]]),
        (("terms",), []),
        (("regions", "free"), [1, 1]),
        (("regions",), {"picture": [], "free": [], "captioned": []}),  # None says that
        (("probabilities", "pairs"), [3, 0, 0, 0, 0, 1, 0, 0, 0, 1]),  # there are six pairs
        (("probabilities", "pairs", 0), 10**400),
        (("probabilities", "right"), [2, 0, 0, 0, 0, 1, 0, 0, 0, 1]),  # three are true
        (("probabilities", "right"), [0, 0, 0, 0, 0, 2, 0, 0, 0, 1]),  # more than the bin has
        (("probabilities", "said", 0), 0.5),  # more than 10 % each
        (("probabilities", "said", 5), 0.45),
        (("probabilities", "said", 3), 0.35),  # of no pair
        (("probabilities", "shown"), [[2]]),
        (("probabilities", "shown", 0), [3]),
        (("probabilities", "shown", 0), [1, 1]),
        (("probabilities", "more"), 1),
        (("probabilities", "levels", 0, "right"), 2),  # of one that is shown
        (("probabilities", "levels", 0), dict(asked=0.5, shown=6, expected=3.0, right=4, none=0)),  # of three
        (("probabilities", "levels", 0, "none"), 3),
        (("probabilities", "levels", 0, "expected"), 1.5),
        (("probabilities", "levels", 0, "asked"), 1.0),
        (("probabilities", "levels", 0, "shown"), 1.0),
        (("probabilities", "levels", 0, "more"), 1),
        (("probabilities", "levels"), [[0.5, 1, 0.6, 1, 1]]),
        (("metrics", "top_k_accuracy"), "0.5"),
        (("metrics", "top_k_accuracy"), 10**400),  # no float holds it
        (("seconds", "fit"), -(10**400)),
    ],
)
def test_numbers_that_do_not_fit_together_are_refused(file, where, value):
    changed(file, *where, to=value)
    refused(file)


def test_a_sum_of_probabilities_may_be_rounded_up():
    assert Level(0.5, 3, 3.0000000000000004, 2, 1).fits(4, 5)
    assert not Level(0.5, 3, 3.001, 2, 1).fits(4, 5)


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999"])
@pytest.mark.parametrize(
    "where", ['"top_k_accuracy":0.5', '"fit":0.25', '"n_train":20', '"evidence.sift":0.1']
)
def test_what_is_no_number_is_refused(file, number, where):
    text = file.read_text()
    assert text.count(where) == 1
    file.write_text(text.replace(where, f"{where.rpartition(':')[0]}:{number}"))
    refused(file)


ODD = (
    b"",
    b"null",
    b"7",
    b"[]",
    b"{}",
    b'"text"',
    b"\xff\xfe\x00",
    b"PK\x03\x04",
    b"1" * 5000,
    b"[" * 100_000,
)
DEEP = b'{"format 1": true, "task": ' + b'{"a":' * 100_000


@pytest.mark.parametrize("content", [*ODD, DEEP], ids=lambda content: repr(content[:12]))
def test_any_other_content_is_refused(tmp_path, content):
    path = tmp_path / "odd.json"
    path.write_bytes(content)
    refused(path)


def test_another_format_is_refused(file):
    file.write_text(file.read_text().replace('"format 3"', '"format 2"'))
    assert "format 3" in refused(file)


def test_what_is_no_plain_file_is_refused_at_once(tmp_path):
    os.mkfifo(tmp_path / "pipe.json")
    (tmp_path / "folder.json").mkdir()
    (tmp_path / "device.json").symlink_to("/dev/zero")
    for name in ("pipe.json", "folder.json", "device.json", "missing\n.json"):
        assert "not a regular file" in refused(tmp_path / name)


def test_a_huge_file_is_refused_unread(tmp_path):
    path = tmp_path / "huge.json"
    with path.open("wb") as stream:
        stream.truncate(records.MAX_BYTES + 1)  # a hole, which takes no room
    assert "not a regular file of at most" in refused(path)
