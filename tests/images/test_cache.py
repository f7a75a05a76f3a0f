"""What is kept comes back whole or is made again; a cache that cannot be written says so in one line."""

import errno
import os
import time

import numpy as np
import pytest

from tagmix import storage
from tagmix.images.cache import LEFT_BEHIND, Cache, CacheError, key_of

KEY = key_of("a picture")


def arrays():
    return {"words": np.arange(5, dtype=np.uint16)}


def always(_):
    return True


def unexpected():
    raise AssertionError("made again")


def kept_file(folder):
    return folder / KEY[:2] / f"{KEY}.tagmix"


def test_what_was_made_once_is_not_made_again(tmp_path):
    made, reused = Cache(tmp_path).keep(KEY, arrays, always)
    assert not reused
    kept, reused = Cache(tmp_path).keep(KEY, unexpected, always)
    assert reused
    np.testing.assert_array_equal(kept["words"], made["words"])
    assert kept["words"].dtype == np.uint16


def test_without_a_folder_everything_is_made_anew():
    Cache(None).prepare()
    assert [Cache(None).keep(KEY, arrays, always)[1] for _ in range(2)] == [False, False]


@pytest.mark.parametrize(
    "damage",
    [
        lambda path: path.write_bytes(b""),
        lambda path: path.write_bytes(path.read_bytes()[:-1]),
        lambda path: path.write_bytes(path.read_bytes()[:-1] + b"\xff"),
        lambda path: storage.write(path, "EMM", {}, arrays()),
    ],
)
def test_a_damaged_file_is_as_good_as_none(tmp_path, damage):
    Cache(tmp_path).keep(KEY, arrays, always)
    damage(kept_file(tmp_path))
    assert not Cache(tmp_path).keep(KEY, arrays, always)[1]
    assert Cache(tmp_path).keep(KEY, unexpected, always)[1]


def test_what_is_not_sound_is_made_again(tmp_path):
    Cache(tmp_path).keep(KEY, lambda: {"other": np.zeros(1)}, always)
    kept, reused = Cache(tmp_path).keep(KEY, arrays, lambda kept: "words" in kept)
    assert (list(kept), reused) == (["words"], False)


def test_a_cache_below_a_file_is_refused_before_any_work(tmp_path):
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(
        CacheError, match=r"cache '.*' cannot be written \(Not a directory\): free some space"
    ):
        Cache(tmp_path / "file" / "cache").prepare()


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EACCES, errno.EROFS])
def test_no_space_and_no_permission_are_told_in_one_line(tmp_path, monkeypatch, number):
    def refuse(*_, **__):
        raise OSError(number, os.strerror(number))

    for where in ("write", "atomic.replace"):  # the system's own words, or wrapped by the storage
        with monkeypatch.context() as patch:
            patch.setattr(f"tagmix.storage.{where}", refuse)
            for step in (Cache(tmp_path).prepare, lambda: Cache(tmp_path).keep(KEY, arrays, always)):
                with pytest.raises(CacheError) as caught:
                    step()
                message = str(caught.value)
                assert message.count(os.strerror(number)) == 1
                assert "\n" not in message
                assert "choose another folder" in message


def test_an_odd_folder_name_does_not_break_the_line(tmp_path):
    (tmp_path / "a\nb").write_bytes(b"")
    with pytest.raises(CacheError) as caught:
        Cache(tmp_path / "a\nb").prepare()
    assert "\n" not in str(caught.value)


def test_old_temporary_files_are_swept_out_and_nothing_else(tmp_path):
    Cache(tmp_path).keep(KEY, arrays, always)
    folder = kept_file(tmp_path).parent
    old, fresh, other = folder / ".tagmix-0a.tmp", folder / ".tagmix-0b.tmp", folder / "notes.tmp"
    for path in (old, fresh, other):
        path.write_bytes(b"half")
    past = time.time() - LEFT_BEHIND - 60
    for path in (old, other, kept_file(tmp_path)):
        os.utime(path, (past, past))
    Cache(tmp_path).prepare()
    assert sorted(path.name for path in folder.iterdir()) == sorted([fresh.name, other.name, f"{KEY}.tagmix"])
    assert not [path for path in tmp_path.rglob("probe*")]


def test_old_temporary_files_of_networks_are_swept_out(tmp_path):
    old = tmp_path / "networks" / ".tagmix-0a.tmp"
    old.parent.mkdir()
    old.write_bytes(b"half")
    os.utime(old, (0, 0))
    Cache(tmp_path).prepare()
    assert not old.exists()


def test_keys_tell_parts_apart():
    keys = {key_of("ab"), key_of("a", "b"), key_of("b", "a"), key_of(b"ab", b""), key_of("")}
    assert len(keys) == 5
