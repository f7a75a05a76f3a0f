"""Files written whole or not at all, through no link; read without waiting."""

import os

import pytest

from tagmix import TagmixError
from tagmix.storage import atomic, read_limited, write_atomic


def test_what_was_put_is_got_and_nothing_is_left_beside_it(tmp_path):
    path = tmp_path / "a file"
    for content in (b"first", b"", b"the last"):
        write_atomic(path, content)
        assert read_limited(path, most=100) == content
    assert list(tmp_path.iterdir()) == [path]


def test_a_link_is_replaced_and_not_written_through(tmp_path):
    (tmp_path / "victim").write_bytes(b"mine")
    (tmp_path / "link").symlink_to(tmp_path / "victim")
    write_atomic(tmp_path / "link", b"new")
    assert (tmp_path / "victim").read_bytes() == b"mine"
    assert (tmp_path / "link").read_bytes() == b"new"


def test_a_stop_in_the_middle_leaves_the_old_file_and_nothing_else(tmp_path):
    write_atomic(tmp_path / "a", b"old")

    def half():
        yield b"ne"
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        atomic.replace(tmp_path / "a", half(), scratch=True)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {"a": b"old"}


def test_a_pipe_is_replaced_as_a_link_is(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    write_atomic(tmp_path / "pipe", b"new")
    assert read_limited(tmp_path / "pipe", most=3) == b"new"


@pytest.mark.parametrize("place", ["missing/a", "folder"])
def test_what_cannot_be_written_is_told_in_one_line_with_its_name(tmp_path, place):
    (tmp_path / "folder").mkdir()
    with pytest.raises(TagmixError, match=rf"{place}' was not written \(.*\): check the folder") as caught:
        write_atomic(tmp_path / place, b"x")
    assert "\n" not in str(caught.value)
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]


def test_what_is_no_plain_file_or_too_long_is_not_read(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "long").write_bytes(b"12345")
    (tmp_path / "device").symlink_to("/dev/zero")
    for name in ("pipe", "long", "device", "missing", "."):
        with pytest.raises(ValueError, match="not a regular file of at most 4 bytes"):
            read_limited(tmp_path / name, most=4)
    assert read_limited(tmp_path / "long", most=5) == b"12345"
