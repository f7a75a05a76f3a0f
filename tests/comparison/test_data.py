"""Albums become parts to learn from and to test on: by their own split or by folds, once, without leaks."""

import json
import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_array

from tagmix import EMM, TagmixError
from tagmix.comparison import parts, prepare
from tagmix.comparison.parts import Places, load_part, save_parts, saved
from tagmix.comparison.prepare import folds_of, prepare_album
from tagmix.datasets import TrueRegion
from tagmix.errors import AlbumError
from tagmix.evaluation.folds import picture_folds
from tagmix.files import load, save
from tagmix.images.describe import Describer
from tagmix.storage import write
from tests.comparison.conftest import planted_part
from tests.comparison.painted import NAMES, album_of, describer, paint


def names(bags):
    return [Path(one).name for one in bags.ids]


def test_an_album_with_a_split_of_its_own_is_one_part(tmp_path, album):
    made = prepare_album(tmp_path / "data", "painted", album, describer())
    assert made._replace(problems=()) == ("painted", ("sift", "colour"), 1, 9, 4, True, (), False)
    part = load_part(tmp_path / "data", "painted", 0)
    assert names(part.test) == ["01.png", "05.png", "09.png"]
    assert names(part.train) == [f"{i:02d}.png" for i in range(12) if i % 4 != 1]
    assert part.train.tag_names == part.test.tag_names == tuple(sorted(NAMES))
    for bags in (part.train, part.test):
        for number, own in zip(bags.ids, bags.captions.toarray(), strict=True):
            (item,) = (item for item in album if str(item.image) == number)
            assert {bags.tag_names[i] for i in np.flatnonzero(own)} == set(item.tags)


def test_every_seed_of_an_album_with_a_split_tests_the_same_pictures_by_other_words(tmp_path, album):
    told = describer(layout=True)
    made = prepare_album(tmp_path / "data", "painted", album, told, seeds=3)
    assert (made.n_parts, made.repeated, made.views) == (3, True, ("sift", "colour", "layout"))
    assert saved(tmp_path / "data", "painted", mark_in(tmp_path / "data" / "painted")) == made
    assert told.config.seed == 0
    parts = [load_part(tmp_path / "data", "painted", i) for i in range(3)]
    assert len({part.test.ids for part in parts}) == len({part.train.ids for part in parts}) == 1
    assert len({part.test.views["sift"].toarray().tobytes() for part in parts}) == 3
    assert all(part.truth.tolist() == parts[0].truth.tolist() for part in parts)  # regions are cut alike
    # Seed s is what a describer of that seed would have made alone
    prepare_album(tmp_path / "data", "alone", album, describer(layout=True, seed=2))
    home = tmp_path / "data"
    for side in ("train", "test"):
        own = (home / "painted" / f"{side}-2.tagmix").read_bytes()
        assert own == (home / "alone" / f"{side}-0.tagmix").read_bytes()


def mark_in(home):
    return json.loads((home / "about.json").read_bytes())["mark"]


def test_one_seed_leaves_the_mark_as_it_was_and_more_change_it(tmp_path, album):
    marks = []
    for name, more in (("a", {}), ("b", {"seeds": 1}), ("c", {"seeds": 2})):
        prepare_album(tmp_path / "data", name, album, describer(), **more)
        marks.append(mark_in(tmp_path / "data" / name))
    assert marks[0] == marks[1] == prepare._fingerprint(album, describer(), 5, 0)
    assert marks[2] != marks[0]


def test_an_album_without_a_split_keeps_its_folds_whatever_the_seeds(tmp_path):
    album = album_of(tmp_path)
    made = prepare_album(tmp_path / "data", "painted", album, describer(), n_folds=3, seeds=4)
    assert (made.n_parts, made.repeated) == (3, False)
    once = prepare_album(tmp_path / "data", "once", album, describer(), n_folds=3)
    assert made == once._replace(name="painted")


def test_other_parts_than_train_and_test_are_left_out_of_a_split_and_alone_are_no_split(tmp_path, album):
    def sides(*split):
        return replace(album, items=tuple(map(lambda item, s: replace(item, split=s), album, split)))

    (fold,) = folds_of(sides("train", "val", "test", None, *["train"] * 8), 3, 0)
    assert fold.train.tolist() == [0, 4, 5, 6, 7, 8, 9, 10, 11]
    assert fold.test.tolist() == [2]
    for lone in (["train"] * 12, ["test"] * 12, ["train", "val"] * 6, [None] * 12):
        cut = folds_of(sides(*lone), 3, seed=4)
        assert [fold.test.tolist() for fold in cut] == [f.test.tolist() for f in picture_folds(12, 3, seed=4)]


def test_without_a_split_every_picture_is_tested_once(tmp_path):
    album = album_of(tmp_path, masks=False)
    made = prepare_album(tmp_path / "data", "painted", album, describer(), n_folds=3)
    assert (made.n_parts, made.n_train, made.knows_regions) == (3, 8, False)
    parts = [load_part(tmp_path / "data", "painted", i) for i in range(3)]
    assert sorted(name for part in parts for name in part.test.ids) == sorted(str(i.image) for i in album)
    for part in parts:
        assert not set(part.train.ids) & set(part.test.ids)
        assert len(part.train) + len(part.test) == 12
        assert part.truth.tolist() == [-1] * part.test.n_regions
        assert not part.knows_regions


def test_words_are_learnt_from_training_pictures_alone(tmp_path, album):
    """Other pixels of a test picture change no bit of what is learnt from; of a training picture, they do."""
    rng = np.random.default_rng(9)

    def training_bytes(repainted):
        if repainted is not None:
            paint(tmp_path / repainted, "wood", "wood", rng)
        prepare_album(tmp_path / "data", "painted", album, describer())
        home = tmp_path / "data" / "painted"
        return (home / "train-0.tagmix").read_bytes(), (home / "test-0.tagmix").read_bytes()

    train, test = training_bytes(None)
    train_2, test_2 = training_bytes("05.png")
    assert train_2 == train
    assert test_2 != test
    train_3, _ = training_bytes("06.png")
    assert train_3 != train


def forbidden(*_, **__):
    raise AssertionError("it was described again")


def test_the_same_pictures_are_described_once(tmp_path, album, monkeypatch):
    first = prepare_album(tmp_path / "data", "painted", album, describer())
    monkeypatch.setattr(Describer, "fit", forbidden)
    monkeypatch.setattr(prepare, "save_parts", forbidden)
    assert prepare_album(tmp_path / "data", "painted", album, describer()) == first


def test_whatever_changes_is_described_anew(tmp_path, album, monkeypatch):
    def prepare(items=album.items, settings=None, **more):
        made = describer(**(settings or {}))
        return prepare_album(tmp_path / "data", "painted", replace(album, items=items), made, **more)

    first, *others = album.items
    prepare_album(tmp_path / "data", "painted", album, describer())
    monkeypatch.setattr(Describer, "fit", forbidden)
    prepare()  # nothing changed yet
    for change in (
        {"items": (replace(first, tags=("sky",)), *others)},
        {"items": (replace(first, split="test"), *others)},
        {"items": tuple(others)},
        {"items": (replace(first, regions=(TrueRegion("sky", box=(0, 0, 9, 9)),)), *others)},
        {"items": (replace(first, mask=None), *others)},
        {"settings": {"n_words": 7}},
        {"settings": {"n_colours": 5}},
        {"settings": {"n_patches": 25}},
        {"settings": {"places": True}},
        {"settings": {"mirrored": True}},
        {"settings": {"restarts": 3}},
        {"settings": {"vocabulary_patches": 20}},
        {"seed": 1},
        {"n_folds": 2},
    ):
        with pytest.raises(AssertionError, match="described again"):
            prepare(**change)
    prepare()
    stamp = first.mask.stat()
    first.mask.write_bytes(first.mask.read_bytes() + b" ")  # another mask: other regions are known
    with pytest.raises(AssertionError, match="described again"):
        prepare()
    first.mask.write_bytes(first.mask.read_bytes()[:-1])
    os.utime(first.mask, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
    prepare()
    paint(first.image, "sea", "sea", np.random.default_rng(1))
    with pytest.raises(AssertionError, match="described again"):
        prepare()


def test_broken_pictures_are_set_aside_and_the_rest_keeps_its_truth(tmp_path, album):
    prepare_album(tmp_path / "data", "whole", album, describer())
    (tmp_path / "05.png").write_bytes(b"no picture")
    (tmp_path / "00.png").write_bytes(b"")
    told = replace(album, problems=("a line of the album",))
    made = prepare_album(tmp_path / "data", "broken", told, describer())
    assert made.problems[0] == "a line of the album"
    assert [line.split(".png")[0][-2:] for line in made.problems[1:]] == ["00", "05"]
    part, whole = (load_part(tmp_path / "data", name, 0) for name in ("broken", "whole"))
    assert names(part.test) == ["01.png", "09.png"]
    assert names(part.train) == names(whole.train)[1:]
    kept = np.repeat([True, False, True], np.diff(whole.test.offsets))
    assert part.truth.tolist() == whole.truth[kept].tolist()


def test_no_readable_picture_on_one_side_is_refused_in_one_line(tmp_path, album):
    for i in (1, 5, 9):
        (tmp_path / f"{i:02d}.png").write_bytes(b"no picture")
    with pytest.raises(TagmixError, match="must be readable, got 9 and 0") as caught:
        prepare_album(tmp_path / "data", "painted", album, describer())
    assert "\n" not in str(caught.value)
    assert saved(tmp_path / "data", "painted", "") is None


def test_pictures_without_tags_take_no_part(tmp_path):
    album = album_of(tmp_path)
    bare = tuple(replace(item, tags=()) if i in (3, 7) else item for i, item in enumerate(album))
    prepare_album(tmp_path / "data", "painted", replace(album, items=bare), describer(), n_folds=2)
    part = load_part(tmp_path / "data", "painted", 0)
    assert not {"03.png", "07.png"} & {*names(part.train), *names(part.test)}
    assert len(part.train) + len(part.test) == 10


def test_too_few_pictures_for_the_folds_are_refused_in_one_line(tmp_path):
    album = album_of(tmp_path)
    with pytest.raises(AlbumError, match=r"at least 14 pictures with tags for 7 folds, got 12: "):
        prepare_album(tmp_path / "data", "painted", album, describer(), n_folds=7)
    assert len(folds_of(album, 6, 0)) == 6


def test_a_broken_run_leaves_no_data_set_not_even_the_one_before(tmp_path, monkeypatch):
    one, other = planted_part(8, 4, seed=0), planted_part(8, 4, seed=1)
    save_parts(tmp_path, "planted", [one], "first", [])
    assert saved(tmp_path, "planted", "first") is not None

    def stopped(*_, **__):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(parts, "write", stopped)
        with pytest.raises(KeyboardInterrupt):
            save_parts(tmp_path, "planted", [other], "second", [])
    # The bags of the second are there already: neither it nor the first may be taken for whole
    assert saved(tmp_path, "planted", "first") is None
    assert saved(tmp_path, "planted", "second") is None
    made = save_parts(tmp_path, "planted", [other], "second", [])
    assert saved(tmp_path, "planted", "second") == made
    again = load_part(tmp_path, "planted", 0)
    assert again.test.ids == other.test.ids
    assert again.truth.tolist() == other.truth.tolist()


ABOUT = {"mark": "m", "n_parts": 1, "problems": ["a problem"]}


@pytest.mark.parametrize(
    "about",
    [
        b"",
        b"{",
        b"[]",
        b"7",
        b"{}",
        b"\xff",
        b"[" * 100_000,
        b'{"mark": "m"}',
        *(json.dumps({**ABOUT, "n_parts": n}).encode() for n in (0, -1, 2, 10**30, "1", None, [1])),
        json.dumps({**ABOUT, "problems": 7}).encode(),
    ],
    ids=lambda about: repr(about[:60]),
)
def test_a_damaged_description_is_no_data_set(tmp_path, about):
    save_parts(tmp_path, "planted", [planted_part(4, 2)], "m", ["a problem"])
    assert saved(tmp_path, "planted", "m").problems == ("a problem",)
    assert saved(tmp_path, "planted", "other") is None
    (tmp_path / "planted" / "about.json").write_bytes(about)
    assert saved(tmp_path, "planted", "m") is None


@pytest.mark.parametrize("name", ["about.json", "train-0.tagmix", "test-0.tagmix", "truth-0.tagmix"])
def test_pipes_and_folders_in_the_place_of_files_are_no_data_set_and_are_not_waited_for(tmp_path, name):
    made = save_parts(tmp_path, "planted", [planted_part(4, 2)], "m", [])
    path = tmp_path / "planted" / name
    path.unlink()
    os.mkfifo(path)
    assert saved(tmp_path, "planted", "m") is None
    path.unlink()
    path.mkdir()
    assert saved(tmp_path, "planted", "m") is None
    path.rmdir()
    assert save_parts(tmp_path, "planted", [planted_part(4, 2)], "m", []) == made
    assert saved(tmp_path, "planted", "m") == made


def test_a_data_set_is_written_through_no_link_and_without_the_parts_of_the_one_before(tmp_path):
    home = tmp_path / "planted"
    save_parts(tmp_path, "planted", [planted_part(4, 2)] * 2, "m", [])
    victim = tmp_path / "victim"
    victim.write_text("kept")
    for path in home.glob("*-0.tagmix"):
        path.unlink()
        path.symlink_to(victim)
    (home / "trained-model.tagmix").write_text("somebody's own")
    made = save_parts(tmp_path, "planted", [planted_part(4, 2)], "m", [])
    assert victim.read_text() == "kept"
    assert {path.name for path in home.iterdir()} == {
        "about.json",
        "trained-model.tagmix",
        *(f"{side}-0.tagmix" for side in ("train", "test", "truth")),
    }
    assert saved(tmp_path, "planted", "m") == made


def test_damaged_parts_are_described_anew(tmp_path, album):
    first = prepare_album(tmp_path / "data", "painted", album, describer())
    path = tmp_path / "data" / "painted" / "test-0.tagmix"
    whole = path.read_bytes()
    path.write_bytes(whole[:-1] + b"?")
    assert prepare_album(tmp_path / "data", "painted", album, describer()) == first
    assert path.read_bytes() == whole


@pytest.mark.parametrize(
    "truth",
    [
        np.zeros(5, np.int64),
        np.zeros(6),
        np.zeros((6, 1), np.int64),
        np.full(6, 6),
        np.full(6, -3),
        None,
    ],
    ids=["short", "floats", "wide", "too large", "too small", "nameless"],
)
def test_a_truth_that_does_not_fit_is_refused_in_one_line(tmp_path, truth):
    save_parts(tmp_path, "planted", [planted_part(4, 2)], "m", [])
    path = tmp_path / "planted" / "truth-0.tagmix"
    write(path, "truth", {}, {"other": np.zeros(6, np.int64)} if truth is None else {"truth": truth})
    with pytest.raises(TagmixError, match="delete that folder and run again") as caught:
        load_part(tmp_path, "planted", 0)
    assert "\n" not in str(caught.value)


def places(n_pictures=2, n_regions=6, n_tags=6):
    rng = np.random.default_rng(0)
    sizes = (n_pictures, n_regions, n_regions)
    return Places(*(csr_array((rng.random((n, n_tags)) < 0.5).astype(float)) for n in sizes))


def test_places_come_back_as_they_were_kept(tmp_path):
    made = planted_part(4, 2)._replace(places=places())
    save_parts(tmp_path, "planted", [made], "m", [])
    back = load_part(tmp_path, "planted", 0).places
    assert [own.toarray().tolist() for own in back] == [own.toarray().tolist() for own in made.places]
    save_parts(tmp_path, "planted", [planted_part(4, 2)], "m", [])
    assert load_part(tmp_path, "planted", 0).places is None


@pytest.mark.parametrize(
    "change",
    [
        {"inside": np.array([[0], [6]])},
        {"inside": np.array([[6], [0]])},
        {"pairs": np.array([[2], [0]])},
        {"near": np.array([[-1], [0]])},
        {"near": np.zeros((3, 1), np.int64)},
        {"near": np.zeros((2, 1))},
        {"near": None},
    ],
    ids=["tag", "region", "picture", "negative", "rows", "floats", "missing"],
)
def test_places_that_do_not_fit_are_refused_in_one_line(tmp_path, change):
    save_parts(tmp_path, "planted", [planted_part(4, 2)], "m", [])
    arrays = {"truth": np.zeros(6, np.int64), **dict.fromkeys(Places._fields, np.zeros((2, 0), np.int64))}
    path = tmp_path / "planted" / "truth-0.tagmix"
    write(path, "truth", {}, arrays)
    assert load_part(tmp_path, "planted", 0).places.near.nnz == 0
    write(path, "truth", {}, {name: own for name, own in {**arrays, **change}.items() if own is not None})
    with pytest.raises(TagmixError, match="delete that folder and run again"):
        load_part(tmp_path, "planted", 0)


def test_a_model_in_the_place_of_bags_is_refused_in_one_line(tmp_path):
    part = planted_part(8, 2)
    save_parts(tmp_path, "planted", [part], "m", [])
    save(EMM(tol=1.0, calibration_folds=0).fit(part.train), tmp_path / "planted" / "train-0.tagmix")
    with pytest.raises(TagmixError, match="must hold bags"):
        load_part(tmp_path, "planted", 0)


@pytest.mark.parametrize("side", ["test", "truth"])
@pytest.mark.parametrize("damage", ["missing", "short"])
def test_damaged_files_are_refused(tmp_path, damage, side):
    save_parts(tmp_path, "planted", [planted_part(4, 2)], "m", [])
    path = tmp_path / "planted" / f"{side}-0.tagmix"
    content = path.read_bytes()
    path.unlink()
    if damage == "short":
        path.write_bytes(content[: len(content) // 2])
    with pytest.raises(TagmixError):
        load_part(tmp_path, "planted", 0)


def test_a_pipe_in_the_place_of_a_picture_is_set_aside_and_not_waited_for(tmp_path, album):
    album[5].image.unlink()
    os.mkfifo(album[5].image)
    made = prepare_album(tmp_path / "data", "painted", album, describer())
    assert "05.png: must be a plain file" in made.problems[0]


def test_progress_tells_every_stage(tmp_path, album):
    told = []
    prepare_album(tmp_path / "data", "p", album, describer(), progress=lambda *what: told.append(what))
    assert {stage for stage, _, _ in told} == {"truth", "vocabulary", "words", "pictures"}
    assert ("truth", 3, 3) in told  # of test pictures alone
    assert ("pictures", 12, 12) in told


def test_prepared_bags_are_what_the_library_reads(tmp_path):
    made = planted_part(4, 2)
    save_parts(tmp_path, "planted", [made], "m", [])
    assert load(tmp_path / "planted" / "train-0.tagmix").ids == made.train.ids
