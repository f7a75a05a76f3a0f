"""A catalogue of texts becomes bags; what is wrong with its lines is set aside and said."""

import gzip
import json
import os
import zlib
from pathlib import Path

import numpy as np
import pytest

from tagmix.errors import AlbumError, ParameterError
from tagmix.studies import text
from tagmix.studies.text import read_text_corpus

TATE = Path(os.environ.get("TAGMIX_DATA", "data")) / "tate" / "tate.jsonl.gz"


def work(name, tags=("hill",), regions=("A green hill",)):
    return {"id": name, "tags": list(tags), "regions": list(regions)}


def catalogue(tmp_path, *lines):
    """Write works (objects) and lines as they are (bytes)."""
    raw = b"\n".join(line if isinstance(line, bytes) else json.dumps(line).encode() for line in lines)
    path = tmp_path / "works.jsonl.gz"
    path.write_bytes(gzip.compress(raw, mtime=0))
    return path


def everything(parts):
    """Return words and tags of each work, whichever part it is in."""
    return {
        name: (bags[i].views["text"].toarray().astype(int).tolist(), bags[i].captions.toarray()[0].tolist())
        for bags in parts[:2]
        for i, name in enumerate(bags.ids)
    }


def test_fields_become_regions_and_words_features_each_once_a_field(tmp_path):
    one = work("1", ["hill", "sea"], ["The Sea, the sea! 1811", "On 394 x 419 paper"])
    path = catalogue(tmp_path, one, work("2", ["sea", "hill"], ["paper sea"]), {**one, "id": "3"})
    parts = read_text_corpus(path)
    assert parts.problems == ()
    assert parts.train.tag_names == parts.test.tag_names == ("hill", "sea")
    found = everything(parts)  # words: paper, sea
    assert found["1"] == found["3"] == ([[0, 1], [1, 0]], [1, 1])
    assert found["2"] == ([[1, 1]], [1, 1])


def test_words_are_those_of_the_training_works_alone(tmp_path):
    works = [work(str(i), regions=["land", f"lonely{'abcdefghij'[i]}"]) for i in range(10)]
    path = catalogue(tmp_path, *works)
    tested = read_text_corpus(path).test.ids
    for one in works:
        if one["id"] in tested:
            one["regions"] *= 2
            one["regions"].append("lonelya lonelyb lonelyc")
    parts = read_text_corpus(catalogue(tmp_path, *works), min_works=2)
    assert parts.test.ids == tested
    assert parts.train.views["text"].shape[1] == parts.test.views["text"].shape[1] == 1
    assert parts.test.offsets.tolist() == [0, 2]  # a field without a known word is no region


def test_tags_are_counted_over_all_works_and_works_without_any_are_left_out(tmp_path):
    rare = work("alone", ["folly"])
    path = catalogue(tmp_path, rare, *(work(str(i), ["hill", f"only {i}"]) for i in range(4)))
    parts = read_text_corpus(path)
    assert parts.train.tag_names == ("hill",)
    assert sorted(parts.train.ids + parts.test.ids) == ["0", "1", "2", "3"]
    assert "alone" in everything(read_text_corpus(path, min_works=1))


def test_the_most_frequent_words_are_kept_and_equals_by_name(tmp_path):
    works = [work(str(i), regions=["tree barn", "cow" if i < 3 else "bee"]) for i in range(6)]
    parts = read_text_corpus(catalogue(tmp_path, *works), n_words=1, test_share=0.2)
    counts = parts.train.views["text"]
    assert counts.shape == (5, 1)  # "barn", on every work as "tree" is
    assert counts.sum() == 5


def test_a_seed_deals_works_always_alike_and_another_otherwise(tmp_path):
    path = catalogue(tmp_path, *(work(str(i)) for i in range(40)))
    first, again, other = (read_text_corpus(path, seed=seed, test_share=0.25) for seed in (0, 0, 1))
    assert len(first.test) == 10
    assert not set(first.train.ids) & set(first.test.ids)
    assert first.test.ids == again.test.ids != other.test.ids


def test_no_more_works_are_tested_than_the_scores_have_room_for(tmp_path, monkeypatch):
    monkeypatch.setattr(text, "MAX_TEST", 3)
    path = catalogue(tmp_path, *(work(str(i)) for i in range(20)))
    parts = read_text_corpus(path, test_share=0.5)
    assert (len(parts.train), len(parts.test)) == (17, 3)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (b"{", "must be JSON"),
        (b"\xff\xfa", "must be UTF-8"),
        (b"[" * 5000, "must be JSON"),
        (b"[1, 2]", "an object with an id, got"),
        (b"null", "an object with an id, got None"),
        (work(7), "an id must be a short text, got 7"),
        (work(" "), "an id must be a short text"),
        (work("x" * 300), "an id must be a short text"),
        (work("good"), "id 'good' is there twice"),
        ({"id": "a", "regions": []}, "tags must be a list of texts, got None"),
        ({**work("a"), "tags": "hill"}, "tags must be a list of texts, got 'hill'"),
        ({**work("a"), "regions": ["hill", 3]}, "regions must be a list of texts"),
        ({**work("a"), "regions": {"title": "hill"}}, "regions must be a list of texts"),
        (b'{"id": "' + b"a" * 70_000 + b'"}', "must have at most 65,536 bytes"),
    ],
)
def test_a_bad_line_is_set_aside_in_one_line_and_the_others_stay(tmp_path, line, said):
    parts = read_text_corpus(catalogue(tmp_path, work("good"), line, b"", work("late"), work("last")))
    assert sorted(parts.train.ids + parts.test.ids) == ["good", "last", "late"]
    assert len(parts.problems) == 1
    assert parts.problems[0].startswith("works.jsonl.gz line 2: ")
    assert said in parts.problems[0]
    assert parts.problems[0].isprintable()
    assert len(parts.problems[0]) < 200


def test_names_are_stored_without_what_cannot_be_written(tmp_path):
    odd = work("a\ud800\x1b1", ["hill\ud800", "hill"], ["hill \ud800"])
    parts = read_text_corpus(catalogue(tmp_path, odd, work("b"), work("c")))
    assert sorted(parts.train.ids + parts.test.ids) == ["a1", "b", "c"]
    assert parts.train.tag_names == ("hill",)


def test_a_bomb_is_refused_before_it_is_unpacked(tmp_path, monkeypatch):
    monkeypatch.setattr(text, "MAX_UNPACKED", 10**6)
    monkeypatch.setattr(text, "MAX_LINES", 1000)
    for bomb in (b" " * (10**6 + 1), b"\n" * 1001):
        with pytest.raises(AlbumError, match="at most 1,000,000 bytes unpacked and 1,000 lines") as refusal:
            read_text_corpus(catalogue(tmp_path, bomb))
        assert "\n" not in str(refusal.value)


def test_a_damaged_file_is_refused_whole(tmp_path):
    path = catalogue(tmp_path, *(work(str(i)) for i in range(50)))
    whole = path.read_bytes()
    spoilt = bytearray(whole)
    spoilt[40] ^= 0xFF
    for raw in (b"", whole[:-20], bytes(spoilt), b"{}\n", zlib.compress(b"{}")):
        path.write_bytes(raw)
        with pytest.raises(AlbumError, match=r"works\.jsonl\.gz'") as refusal:
            read_text_corpus(path)
        assert "\n" not in str(refusal.value)


def test_a_file_that_is_none_is_refused(tmp_path):
    for path in (tmp_path, tmp_path / "nowhere.gz", "\0"):
        with pytest.raises(AlbumError):
            read_text_corpus(path)


def test_a_catalogue_that_teaches_nothing_is_refused(tmp_path):
    with pytest.raises(AlbumError, match="at least 2 works with a tag"):
        read_text_corpus(catalogue(tmp_path, work("1", ["hill"]), work("2", ["sea"])))
    with pytest.raises(AlbumError, match="a word on 2 training works"):
        read_text_corpus(catalogue(tmp_path, *(work(str(i), regions=["1811"]) for i in range(4))))


@pytest.mark.parametrize(
    "setting", [{"seed": -1}, {"test_share": 0.0}, {"test_share": 1.0}, {"min_works": 0}, {"n_words": 1.5}]
)
def test_settings_outside_their_range_are_refused(tmp_path, setting):
    with pytest.raises(ParameterError, match=next(iter(setting))):
        read_text_corpus(catalogue(tmp_path, work("1"), work("2")), **setting)


@pytest.mark.slow
@pytest.mark.skipif(not TATE.is_file(), reason="set TAGMIX_DATA to the folder of tate")
def test_the_tates_catalogue_has_as_many_works_and_tags_as_its_description_says():
    parts = read_text_corpus(TATE)
    assert parts.problems == ()
    assert parts.train.n_tags == parts.test.n_tags == 7848
    assert len(parts.test) == 5000
    assert 58_801 - 100 < len(parts.train) + len(parts.test) <= 58_801
    per_tag = np.bincount(parts.train.captions.indices, minlength=7848)
    assert parts.train.tag_names[int(per_tag.argmax())] == "hill"
