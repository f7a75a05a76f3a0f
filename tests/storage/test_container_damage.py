"""A file that is not exactly what tagmix wrote is refused in one line, before memory is asked for."""

import hashlib
import json
import os
import pickle
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tagmix.errors import ModelFileError
from tagmix.storage import Contents, read, write
from tagmix.storage.container import FORMAT, HEADER, MAGIC
from tagmix.storage.manifest import MAX_MANIFEST_BYTES, aligned

FIELDS = {"tags": ["sky", "海"], "alpha": 0.1}
ARRAYS = {"a.flags": np.array([True, False, True]), "b": np.array([[0.25, 0.75]])}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    write(tmp_path / "m", "demo", FIELDS, ARRAYS)
    return tmp_path / "m"


def refusal(path: str | os.PathLike[str], kind: str | None = None) -> str:
    with pytest.raises(ModelFileError) as caught:
        read(path, kind)
    message = str(caught.value)
    assert "\n" not in message
    assert repr(os.fspath(path)) in message
    return message


def unpack(data: bytes) -> tuple[dict[str, Any], bytes]:
    length = HEADER.unpack_from(data)[2]
    return json.loads(data[HEADER.size : HEADER.size + length]), data[HEADER.size + length :]


def pack(raw: bytes, payload: bytes) -> bytes:
    """Return a file whose manifest has the right checksum, whatever it says."""
    raw = raw.ljust(aligned(HEADER.size + len(raw)) - HEADER.size)
    return HEADER.pack(MAGIC, FORMAT, len(raw), hashlib.sha256(raw).digest()) + raw + payload


def rewrite(path: Path, change: Callable[[dict[str, Any]], object], payload: bytes | None = None) -> None:
    content, old_payload = unpack(path.read_bytes())
    change(content)
    path.write_bytes(pack(json.dumps(content).encode(), old_payload if payload is None else payload))


def same(one: Contents, other: Contents) -> bool:
    arrays = [{k: (v.dtype.str, v.shape, v.tobytes()) for k, v in c.arrays.items()} for c in (one, other)]
    return one[:2] == other[:2] and arrays[0] == arrays[1]


def test_a_manifest_packed_again_unchanged_is_read(path):
    # Without this, every refusal below could be the fault of the helper.
    before = read(path)
    rewrite(path, lambda content: None)
    assert same(read(path), before)


@pytest.mark.parametrize("mask", [0x01, 0x20, 0x80, 0xFF])
def test_no_changed_byte_goes_unnoticed(path, mask):
    data = path.read_bytes()
    for position in range(len(data)):
        path.write_bytes(data[:position] + bytes([data[position] ^ mask]) + data[position + 1 :])
        refusal(path)


def test_a_file_cut_at_any_length_is_refused(path):
    data = path.read_bytes()
    for length in range(len(data)):
        path.write_bytes(data[:length])
        message = refusal(path)
        assert length < len(MAGIC) or f"shorter than it says ({length:,} of" in message


def test_a_cut_file_says_how_much_is_missing(path):
    data = path.read_bytes()
    path.write_bytes(data[:-1])
    assert f"({len(data) - 1:,} of {len(data):,} bytes): copy or download it again" in refusal(path)


@pytest.mark.parametrize("tail", [b"\x00", bytes(64), b"PK\x05\x06"])
def test_anything_appended_is_noticed(path, tail):
    path.write_bytes(path.read_bytes() + tail)
    assert "longer than it says" in refusal(path)


def test_a_promise_of_a_petabyte_costs_no_memory(path):
    def promise(content: dict[str, Any]) -> None:
        content["arrays"][1].update(shape=[10**15 // 8], nbytes=10**15)

    rewrite(path, promise)
    tracemalloc.start()
    try:
        message = refusal(path)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert "shorter than it says" in message
    assert peak < 2 * 2**20


def test_a_manifest_longer_than_allowed_is_refused_by_its_length_alone(path):
    path.write_bytes(HEADER.pack(MAGIC, FORMAT, MAX_MANIFEST_BYTES + 1, bytes(32)))
    assert "at most 16,777,216 are allowed" in refusal(path)


def test_a_newer_format_asks_for_an_upgrade(path):
    data = bytearray(path.read_bytes())
    data[len(MAGIC)] = FORMAT + 1
    path.write_bytes(data)
    assert "was written by a newer tagmix (format 4, this one reads 3): upgrade tagmix" in refusal(path)


def test_another_kind_is_named(path):
    assert "holds 'demo' where 'emm' was expected" in refusal(path, "emm")


def test_arrays_that_do_not_fit_into_memory_are_one_line(path, monkeypatch):
    def full(*_: object, **__: object) -> None:
        raise MemoryError

    monkeypatch.setattr(np, "empty", full)
    assert "does not fit into memory" in refusal(path)


@pytest.mark.parametrize("data", [b"", b"TAGMIX", pickle.dumps([1]), b"PK\x03\x04" + bytes(60)])
def test_other_files_are_not_ours(path, data):
    path.write_bytes(data)
    assert "is not a tagmix file" in refusal(path)


def test_places_that_hold_no_file_say_so(tmp_path, path, monkeypatch):
    assert "does not exist" in refusal(tmp_path / "nothing")
    assert "is a folder" in refusal(tmp_path)
    assert "could not be read" in refusal(path / "below")
    assert "cannot be the name of a file" in refusal("a\0b")
    assert "does not exist" in refusal("two\nlines")

    def forbid(*_: object) -> int:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "open", forbid)
    assert "may not be read" in refusal(path)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="named pipes are a thing of POSIX")
def test_a_named_pipe_is_refused_instead_of_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    assert "is a pipe" in refusal(tmp_path / "pipe")


def test_a_boolean_that_is_neither_is_refused_even_with_a_right_checksum(path):
    payload = bytearray(unpack(path.read_bytes())[1])
    payload[1] = 2
    rewrite(path, lambda content: content.update(sha256=hashlib.sha256(payload).hexdigest()), payload)
    assert "neither true nor false" in refusal(path)


def first(**changes: object) -> Callable[[dict[str, Any]], object]:
    return lambda content: content["arrays"][0].update(changes)


def second(**changes: object) -> Callable[[dict[str, Any]], object]:
    return lambda content: content["arrays"][1].update(changes)


def whole(**changes: object) -> Callable[[dict[str, Any]], object]:
    return lambda content: content.update(changes)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (whole(extra=1), "exactly the entries"),
        (lambda content: content.pop("kind"), "exactly the entries"),
        (whole(format=FORMAT + 1), "disagree on the format"),
        (whole(format=True), "disagree on the format"),
        (whole(kind="../x"), "its kind"),
        (whole(written_by=1), "its writer is missing"),
        (whole(fields=[]), "its fields"),
        (whole(sha256="A" * 64), "no checksum"),
        (whole(sha256=None), "no checksum"),
        (whole(arrays={}), "not a list"),
        (whole(arrays=[1]), "described by exactly"),
        (first(extra=1), "described by exactly"),
        (first(name="a\n"), "name of an array"),
        (first(name=["a"]), "name of an array"),
        (first(name="c"), "twice or out of order"),
        (first(name="b"), "twice or out of order"),
        (first(dtype="|O"), "has a type other than"),
        (first(dtype="O"), "has a type other than"),
        (first(dtype="bool"), "has a type other than"),
        (first(dtype=["|b1"]), "has a type other than"),
        (first(shape=3), "list of whole numbers"),
        (first(shape=[3.0]), "list of whole numbers"),
        (first(shape=[True, 3]), "list of whole numbers"),
        (first(offset=0.0), "given in whole numbers"),
        (first(nbytes=None), "given in whole numbers"),
        (first(shape=[-1, -3]), "shape and size"),
        (first(shape=[1, 1, 1, 1, 3]), "shape and size"),
        (first(shape=[4]), "shape and size"),
        (first(shape=[2**32, 2**32], nbytes=0), "shape and size"),
        (first(shape=[0, 2**62, 4], nbytes=0), "shape and size"),
        (first(offset=-64), "does not start"),
        (second(offset=0), "does not start"),
        (second(offset=128), "does not start"),
        (second(offset=10**4000), "does not start"),
    ],
)
def test_a_manifest_that_contradicts_itself_is_refused_for_its_reason(path, change, reason):
    rewrite(path, change)
    assert reason in refusal(path)


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (b"", "not strict JSON"),
        (b"\xff", "not strict JSON"),
        ("{}".encode("utf-16"), "not strict JSON"),
        (b'{"a": NaN}', "not strict JSON"),
        (b'{"a": 1, "a": 1}', "not strict JSON"),
        (b'{"a": ' + b"9" * 5000 + b"}", "not strict JSON"),
        (b"[" * 100_000, "nested too deeply"),
        (b'{"a":' * 100_000, "nested too deeply"),
        (b"[]", "exactly the entries"),
        (b"null", "exactly the entries"),
    ],
)
def test_a_manifest_that_is_no_strict_json_is_refused(path, raw, reason):
    path.write_bytes(pack(raw, b""))
    assert reason in refusal(path)


@pytest.mark.parametrize("value", ["1e999", "[" * 65 + "]" * 65])
def test_fields_beyond_plain_json_are_refused(path, value):
    content, payload = unpack(path.read_bytes())
    content["fields"] = {"field": "HERE"}
    path.write_bytes(pack(json.dumps(content).replace('"HERE"', value).encode(), payload))
    assert "its fields are not plain JSON" in refusal(path)


def test_a_manifest_of_odd_length_is_refused(path):
    content, payload = unpack(path.read_bytes())
    raw = json.dumps(content).encode()
    raw = raw.ljust(aligned(HEADER.size + len(raw)) - HEADER.size + 1)
    path.write_bytes(HEADER.pack(MAGIC, FORMAT, len(raw), hashlib.sha256(raw).digest()) + raw + payload)
    assert "do not start at a multiple of 64" in refusal(path)


def test_a_file_of_an_older_format_is_refused_with_the_way_out(path):
    data = bytearray(path.read_bytes())
    data[len(MAGIC)] = FORMAT - 1
    path.write_bytes(data)
    assert "was written by an older tagmix (format 2, this one reads 3): train the model again" in refusal(
        path
    )
