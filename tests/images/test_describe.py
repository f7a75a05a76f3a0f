"""From an album on disk to bags: the same bits twice, from the cache, and past broken files."""

import errno
import os
import re
import shutil

import numpy as np
import pytest

from tagmix import BagsError, ParameterError, storage
from tagmix.datasets import open_album
from tagmix.datasets.scenes import draw_album
from tagmix.images import quantise, vocabulary
from tagmix.images.cache import CacheError
from tagmix.images.describe import Describer
from tagmix.images.patches import content_key, patch_generator, random_patches
from tagmix.images.sources import PictureBytes, Problem

SMALL = {"n_words": 20, "n_colours": 8, "n_patches": 80, "vocabulary_patches": 40, "restarts": 2}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("album")
    draw_album(place, 5, size=(97, 61))
    return place


@pytest.fixture
def album(folder):
    return open_album(str(folder / "annotations.jsonl"))


@pytest.fixture
def copied(folder, tmp_path):
    """An album whose files a test may break."""
    shutil.copytree(folder, tmp_path / "copy")
    return open_album(str(tmp_path / "copy" / "annotations.jsonl"))


def views_of(bags):
    return [view.toarray() for view in bags.views.values()]


def assert_same_bits(one, two):
    for a, b in zip(views_of(one), views_of(two), strict=True):
        np.testing.assert_array_equal(a, b)
    np.testing.assert_array_equal(one.offsets, two.offsets)


def assert_same_words(one, two):
    assert list(one.vocabularies_) == list(two.vocabularies_) == ["sift", "colour"]
    for view, words in one.vocabularies_.items():
        np.testing.assert_array_equal(words.centres, two.vocabularies_[view].centres)


def kept_files(folder):
    return sorted(folder.rglob("*.tagmix"))


def unexpected(*_, **__):
    raise AssertionError("done again")


def test_an_album_becomes_bags_with_every_patch_counted_once(album):
    bags = Describer.paper(**SMALL).fit(album).transform(album).bags
    assert len(bags) == 5
    assert list(bags.views) == ["sift", "colour"]
    for counts in views_of(bags):
        per_picture = np.add.reduceat(counts.sum(axis=1), bags.offsets[:-1])
        np.testing.assert_array_equal(per_picture, 80)
    for n, item in enumerate(album):
        own = {bags.tag_names[c] for c in np.flatnonzero(bags.captions.toarray()[n])}
        assert own == set(item.tags)


def test_a_copy_under_another_name_is_described_by_the_same_words(album, copied):
    describer = Describer.paper(**SMALL).fit(album)
    assert_same_bits(describer.transform(album).bags, describer.transform(copied).bags)
    again = Describer.paper(**SMALL).fit(copied)
    assert_same_words(describer, again)


@pytest.mark.parametrize("n_jobs", [2, -1])
def test_the_number_of_processes_changes_no_bit(album, n_jobs):
    alone = Describer.paper(**SMALL).fit(album)
    several = Describer.paper(**SMALL, n_jobs=n_jobs).fit(album)
    assert_same_words(alone, several)
    assert_same_bits(alone.transform(album).bags, several.transform(album).bags)


def test_the_number_of_threads_changes_no_bit_of_a_vocabulary():
    points = np.random.default_rng(0).random((5000, 128), dtype=np.float32)
    one, three = (vocabulary.learn_vocabulary(points, 50, n_threads=n).centres for n in (1, 3))
    np.testing.assert_array_equal(one, three)


def test_words_of_separate_heaps_are_their_means_even_where_a_start_leaves_a_word_unused():
    rng = np.random.default_rng(0)
    heaps = np.repeat(np.eye(4, dtype=np.float32) * 10, 50, axis=0) + rng.normal(0, 0.1, (200, 4))
    words = vocabulary.learn_vocabulary(heaps.astype(np.float32), 4, restarts=5, seed=1)
    means = heaps.reshape(4, 50, 4).mean(axis=1)
    np.testing.assert_allclose(words.centres, means[np.lexsort(means.T[::-1])], atol=1e-4)
    far = np.zeros((1, 4), dtype=np.float32) - 99
    moved = vocabulary._sweep(heaps.astype(np.float32), np.vstack([means[:3].astype(np.float32), far]), 1)
    assert np.abs(moved.centres[3] - means[3]).max() < 1  # the unused word went where one was missed


def test_finished_pictures_come_from_the_cache(album, tmp_path, monkeypatch):
    describer = Describer.paper(**SMALL, cache=tmp_path).fit(album)
    first = describer.transform(album[:3])
    assert first.n_reused == 0
    sampled = []
    sample = quantise.sample_picture
    monkeypatch.setattr(quantise, "sample_picture", lambda *a: sampled.append(1) or sample(*a))
    whole = describer.transform(album)
    assert (len(sampled), whole.n_reused) == (2, 3)
    assert_same_bits(first.bags, whole.bags[:3])


def test_a_finished_run_is_repeated_without_decoding_and_without_learning(album, tmp_path, monkeypatch):
    first = Describer.paper(**SMALL, cache=tmp_path).fit(album).transform(album)
    monkeypatch.setattr(quantise, "sample_picture", unexpected)
    monkeypatch.setattr(vocabulary, "learn_vocabulary", unexpected)
    again = Describer.paper(**SMALL, cache=tmp_path, n_jobs=1).fit(album).transform(album)
    assert_same_bits(again.bags, first.bags)
    assert again.n_reused == 5


@pytest.mark.parametrize(
    "change",
    [
        {"n_words": 19},
        {"seed": 1},
        {"n_patches": 81},
        {"n_regions": 4},
        {"segmenter": "grid"},
        {"largest_patch": 0.25},
        {"mirrored": True},
        {"max_side": 50},
    ],
)
def test_other_settings_never_take_what_was_kept_for_these(album, tmp_path, change):
    Describer.paper(**SMALL, cache=tmp_path).fit(album).transform(album)
    other = Describer.paper(**{**SMALL, **change}, cache=tmp_path).fit(album)
    bags, _, n_reused = other.transform(album)
    assert n_reused == 0
    assert_same_bits(bags, Describer.paper(**{**SMALL, **change}).fit(album).transform(album).bags)


def spoil_words(arrays):
    yield {**arrays, "sift": arrays["sift"][:-1]}
    yield {**arrays, "sift": arrays["sift"].astype(np.int64)}
    yield {**arrays, "sift": np.full_like(arrays["sift"], 20)}
    yield {**arrays, "colour": np.full_like(arrays["colour"], 8)}
    yield {**arrays, "region": arrays["region"] + np.uint8(100)}
    yield {**arrays, "region": arrays["region"][None]}
    yield {**arrays, "place": np.full_like(arrays["place"], 32)}
    yield {**arrays, "boxes": arrays["boxes"][:0]}
    yield {**arrays, "boxes": np.vstack([arrays["boxes"]] * 11)}
    yield {**arrays, "boxes": arrays["boxes"][:, :4]}
    yield {**arrays, "boxes": np.full_like(arrays["boxes"], np.nan)}
    yield {**arrays, "boxes": arrays["boxes"] + 1}
    yield {**arrays, "points": arrays["points"][:-1]}
    yield {**arrays, "points": arrays["points"].astype(np.int64)}
    yield {**arrays, "points": arrays["points"].ravel()}
    yield {**arrays, "sizes": arrays["sizes"][::-1]}
    yield {**arrays, "sizes": arrays["sizes"][:-1]}
    yield {**arrays, "sizes": arrays["sizes"] + np.array([[1, 0]], np.uint32)}
    yield {name: array for name, array in arrays.items() if name != "sizes"}
    yield {**arrays, "more": arrays["region"]}
    yield {"sift": arrays["sift"]}
    yield {}


def spoil_examples(arrays):
    yield {**arrays, "sift": arrays["sift"][:, :-1]}
    yield {**arrays, "colour": arrays["colour"].astype(np.float64)}
    yield {**arrays, "colour": np.full_like(arrays["colour"], np.nan)}
    yield {}


def spoil_centres(arrays):
    yield {"centres": np.vstack([arrays["centres"]] * 30)}
    yield {"centres": arrays["centres"][:0]}
    yield {"centres": arrays["centres"][:, :-1]}
    yield {"centres": np.ones((), np.float32)}
    yield {"centres": np.full_like(arrays["centres"], np.inf)}
    yield {"centres": arrays["centres"].astype(np.float64)}
    yield {}


@pytest.mark.parametrize(
    ("names", "spoil"),
    [
        ({"sift", "colour", "place", "region", "boxes", "points", "sizes"}, spoil_words),
        ({"sift", "colour"}, spoil_examples),
        ({"centres"}, spoil_centres),
    ],
)
def test_a_cache_file_with_impossible_contents_is_made_again(album, tmp_path, names, spoil):
    album = album[:2]
    how = {**SMALL, "places": True, "cache": tmp_path}
    first = Describer.paper(**how).fit(album).transform(album).bags
    read = {path: storage.read(path).arrays for path in kept_files(tmp_path)}
    path, whole = next((path, arrays) for path, arrays in read.items() if set(arrays) == names)
    before = path.read_bytes()
    for arrays in spoil(whole):
        storage.write(path, "Cached", {}, arrays)
        assert_same_bits(Describer.paper(**how).fit(album).transform(album).bags, first)
        assert path.read_bytes() == before


def test_a_picture_in_words_is_kept_in_the_smallest_whole_numbers(album, tmp_path):
    describer = Describer.paper(**SMALL, cache=tmp_path).fit(album)
    (found,) = describer.describe([album[0].image])
    assert {array.dtype for array in (found.region, *found.arrays.values())} == {np.dtype(np.uint8)}


def test_progress_tells_the_stage_and_counts_to_the_end(album):
    told = []
    describer = Describer.paper(**SMALL).fit(album, progress=lambda *step: told.append(step))
    describer.transform(album, progress=lambda *step: told.append(step))
    assert list(dict.fromkeys(stage for stage, _, _ in told)) == ["vocabulary", "words", "pictures"]
    for stage in ("vocabulary", "pictures"):
        assert [step for step in told if step[0] == stage] == [(stage, n, 5) for n in range(6)]
    words = [(done, of) for stage, done, of in told if stage == "words"]
    assert words[-1][0] == words[-1][1]
    assert all(1 <= done <= of for done, of in words)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_broken_file_is_set_aside_and_named_once(copied, n_jobs):
    for n, break_it in {
        0: lambda path: path.unlink(),
        1: lambda path: path.write_bytes(b"no picture"),
        3: lambda path: (path.unlink(), path.mkdir()),
    }.items():
        break_it(copied[n].image)
    describer = Describer.paper(**SMALL, n_jobs=n_jobs).fit(copied)
    bags, problems, _ = describer.transform(copied)
    assert len(bags) == 2
    assert [problem.source for problem in problems] == [copied[n].image for n in (0, 1, 3)]
    gone, no_picture, is_folder = lines = [str(problem) for problem in problems]
    names = [str(copied[n].image) for n in (0, 1, 3)]
    assert gone == f"{names[0]}: does not exist: check the path."
    assert no_picture.startswith(f"{names[1]}: must be one of JPEG")
    assert is_folder.startswith(f"{names[2]}: must be a plain file, got a folder")
    for line, name in zip(lines, names, strict=True):
        assert line.count(name) == 1


def test_a_file_that_may_not_be_read_is_set_aside(album, monkeypatch):
    def refuse(path):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))

    describer = Describer.paper(**SMALL).fit(album)
    monkeypatch.setattr(type(album[0].image), "read_bytes", refuse)
    reason = "cannot be read: Permission denied; check name and permissions."
    assert describer.describe([album[0].image]) == [Problem(album[0].image, reason)]


def test_a_file_name_with_control_characters_makes_one_plain_line(album, tmp_path):
    describer = Describer.paper(**SMALL).fit(album)
    (problem,) = describer.describe([tmp_path / "a\n\x1b[2Jb.jpg"])
    assert str(problem).startswith(str(tmp_path) + r"/a\n\x1b[2Jb.jpg: does not exist: ")


def test_bytes_are_described_as_the_file_they_came_from(album, tmp_path):
    describer = Describer.paper(**SMALL, cache=tmp_path).fit(album)
    path = album[0].image
    content = path.read_bytes()
    file, bare, named = describer.describe([str(path), content, PictureBytes("beach", content)])
    assert (file.reused, bare.reused, named.reused) == (False, True, True)
    for other in (bare, named):
        np.testing.assert_array_equal(other.arrays["sift"], file.arrays["sift"])
    for source, name in ((b"", "<bytes>"), (PictureBytes("beach", b"no picture"), "beach")):
        (problem,) = describer.describe([source])
        assert problem.source == name
        assert problem.reason.startswith("must be ")


def test_a_copy_with_other_settings_is_fitted_if_its_words_would_be_the_same(album, tmp_path):
    describer = Describer.paper(**SMALL).fit(album)
    for same in ({"n_jobs": 2}, {"cache": tmp_path}, {"nearest": 2}, {"places": True}):
        assert describer.with_(**same).vocabularies_ is describer.vocabularies_
    for other in ({"seed": 1}, {"n_words": 9}, {"mirrored": True}, {"restarts": 1}):
        assert not hasattr(describer.with_(**other), "vocabularies_")
    assert (describer.n_jobs, describer.cache.folder) == (None, None)
    with pytest.raises(ParameterError, match=r"the settings are n_patches, .* got 'words'"):
        describer.with_(words=3)


def test_albums_without_pictures_and_a_describer_without_words_say_so(album, copied):
    with pytest.raises(ParameterError, match="fit it on an album first"):
        Describer.paper(**SMALL).transform(album)
    with pytest.raises(BagsError, match="one picture or more was expected, got none"):
        Describer.paper(**SMALL).fit([])
    describer = Describer.paper(**SMALL).fit(album)
    with pytest.raises(BagsError, match="one picture or more was expected, got none"):
        describer.transform([])
    for item in copied:
        item.image.write_bytes(b"")
    name = re.escape(str(copied[0].image))
    with pytest.raises(
        BagsError, match=f"no picture could be read, so no words were learnt: {name}: must be"
    ):
        Describer.paper(**SMALL).fit(copied)
    with pytest.raises(BagsError, match="no picture could be described"):
        describer.transform(copied)


def test_one_picture_is_an_album(album):
    bags = Describer.paper(**SMALL).fit(album[:1]).transform(album[:1]).bags
    assert len(bags) == 1
    few = Describer.paper(**{**SMALL, "n_words": 1000}).fit(album[:1])
    assert few.vocabularies_["sift"].n_words <= 40


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_wrong_setting_ends_the_run_as_itself(album, n_jobs):
    with pytest.raises(ParameterError, match="ncuts, grid, graph"):
        Describer.paper(**SMALL, segmenter="magic", n_jobs=n_jobs).fit(album)
    with pytest.raises(ParameterError, match="n_jobs must be"):
        Describer.paper(**SMALL, n_jobs=0)


def test_a_cache_that_cannot_be_written_ends_the_run_before_any_work(album, tmp_path, monkeypatch):
    (tmp_path / "file").write_bytes(b"")
    monkeypatch.setattr(quantise, "sample_picture", unexpected)
    with pytest.raises(CacheError, match=r"cannot be written \(Not a directory\)"):
        Describer.paper(**SMALL, cache=tmp_path / "file" / "cache").fit(album)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_cache_that_fills_up_ends_the_run_and_not_file_after_file(album, tmp_path, n_jobs):
    for n in range(1, 256):  # no folder can be made where a file of that name lies
        (tmp_path / f"{n:02x}").write_bytes(b"")
    steps = []
    describer = Describer.paper(**SMALL, cache=tmp_path, n_jobs=n_jobs)
    with pytest.raises(CacheError, match=r"cannot be written \(.*\): free some space"):
        describer.fit(album, progress=lambda *step: steps.append(step))
    assert len(steps) <= 1


def test_no_space_for_a_picture_in_words_ends_the_run(album, tmp_path, monkeypatch):
    describer = Describer.paper(**SMALL, cache=tmp_path).fit(album)
    write, left = storage.write, iter(range(3))

    def fill_up(*args, **how):
        if next(left, None) is None:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        write(*args, **how)

    monkeypatch.setattr(storage, "write", fill_up)
    with pytest.raises(CacheError, match="No space left on device"):
        describer.transform(album)


def test_patches_lie_inside_and_depend_on_the_content_alone():
    one, two = (random_patches(90, 60, 500, patch_generator(content_key(b"x"), 0)) for _ in range(2))
    np.testing.assert_array_equal(one, two)
    assert np.any(one != random_patches(90, 60, 500, patch_generator(content_key(b"y"), 0)))
    x, y, half = one[:, 0] + 0.5, one[:, 1] + 0.5, one[:, 2] / 2
    assert (x - half).min() >= 0
    assert (x + half).max() <= 60
    assert (y - half).min() >= 0
    assert (y + half).max() <= 90


@pytest.mark.parametrize(
    "wrong",
    [{"n_words": 0}, {"n_words": -5}, {"n_colours": -1}, {"restarts": 0}, {"vocabulary_patches": 0.5}],
)
def test_numbers_that_make_no_words_are_refused(wrong):
    with pytest.raises(ParameterError, match=f"{next(iter(wrong))} must be a whole number"):
        Describer.paper(**wrong)


def test_a_link_in_the_cache_leads_nowhere(album, tmp_path):
    """Whoever may write into a shared cache must not be able to aim ours at another file."""
    victim, cache = tmp_path / "victim", tmp_path / "cache"
    victim.write_text("precious")
    Describer.paper(**SMALL, cache=cache).fit(album).transform(album)
    for path in kept_files(cache):
        path.unlink()
        path.symlink_to(victim)
    Describer.paper(**SMALL, cache=cache).fit(album).transform(album)
    assert victim.read_text() == "precious"
    assert not any(path.is_symlink() for path in kept_files(cache))
