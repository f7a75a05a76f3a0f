"""The manifest of a tagmix file, and the checks before any of it is trusted."""

import json
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, NoReturn, TypeAlias, TypeGuard

from tagmix.errors import ModelFileError

# Sequence and Mapping rather than list and dict: a ``list[str]`` is a JSON value for mypy only
# if the container is covariant.
JSON: TypeAlias = "bool | int | float | str | Sequence[JSON] | Mapping[str, JSON] | None"

# 3: a calibration holds a threshold per precision. 2: a describer is stored with all its settings, one entry
# per view (1: before the views were a registry).
FORMAT = 3
ALIGNMENT = 64  # a cache line, and enough for every vector instruction on the arrays
MAX_MANIFEST_BYTES = 16 * 2**20  # a hundred thousand tags and ids fit; a hostile length does not
MAX_ARRAY_BYTES = 2**62  # below what NumPy's own size arithmetic can hold, empty axes left out
MAX_NDIM = 4
MAX_DEPTH = 64  # far below Python's recursion limit, so what is written can always be read
MAX_NAME = 200

# Plain numbers only: an object array would be a pickle, and a pickle runs code.
ITEM_BYTES = {
    dtype: int(dtype[2:])
    for dtype in ("<f8", "<f4", "<f2", "<i8", "<i4", "<i2", "|i1", "<u8", "<u4", "<u2", "|u1", "|b1")
}

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(?:[./][A-Za-z0-9_]+)*")
_SHA256 = re.compile(r"[0-9a-f]{64}")


class Entry(NamedTuple):
    """Where one array lies; ``offset`` counts from the first byte after the manifest."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    offset: int
    nbytes: int


class Manifest(NamedTuple):
    """The description of a file in itself; ``sha256`` is that of every byte after the manifest."""

    kind: str
    written_by: str
    fields: dict[str, JSON]
    entries: tuple[Entry, ...]
    sha256: str

    @property
    def payload_bytes(self) -> int:
        """Return how many bytes must follow the manifest, no more and no fewer."""
        return self.entries[-1].offset + self.entries[-1].nbytes if self.entries else 0


def aligned(position: int) -> int:
    """Return the first multiple of ``ALIGNMENT`` at or after ``position``.

    >>> aligned(0), aligned(1), aligned(64)
    (0, 64, 64)
    """
    return -(-position // ALIGNMENT) * ALIGNMENT


def is_name(value: object) -> TypeGuard[str]:
    """Return whether ``value`` may name an array or a kind: identifiers joined by dots or slashes.

    >>> is_name("views/sift.beta"), is_name("../beta"), is_name("")
    (True, False, False)
    """
    return isinstance(value, str) and len(value) <= MAX_NAME and _NAME.fullmatch(value) is not None


def is_plain(value: object, depth: int = 0) -> bool:
    """Return whether ``value`` comes back from JSON as it went in (tuples come back as lists).

    JSON would silently turn the key 1 into "1", and write NaN, which is not standard.

    >>> is_plain({"tags": ["sky", "sea"]}), is_plain({1: "sky"}), is_plain([float("nan")])
    (True, False, False)
    """
    if depth > MAX_DEPTH:
        return False
    if isinstance(value, dict):
        return all(isinstance(key, str) and is_plain(item, depth + 1) for key, item in value.items())
    if isinstance(value, (list, tuple)):
        return all(is_plain(item, depth + 1) for item in value)
    if isinstance(value, float):
        return math.isfinite(value)
    return value is None or isinstance(value, (bool, int, str))


def array_bytes(dtype: str, shape: Sequence[int]) -> int | None:
    """Return the size of an array, or None where it is one that a file may not hold.

    Empty axes count as one for the limit, because NumPy multiplies them that way too.

    >>> array_bytes("<f4", (2, 3)), array_bytes("<f4", (0, 2**61)), array_bytes("|O", (1,))
    (24, None, None)
    """
    if dtype not in ITEM_BYTES or len(shape) > MAX_NDIM or any(axis < 0 for axis in shape):
        return None
    if math.prod(max(axis, 1) for axis in shape) * ITEM_BYTES[dtype] > MAX_ARRAY_BYTES:
        return None
    return math.prod(shape) * ITEM_BYTES[dtype]


def encode(manifest: Manifest) -> bytes:
    """Return the manifest as JSON, the same bytes for the same manifest.

    ASCII escapes keep even file names that are not Unicode (lone surrogates) intact.
    """
    content = {
        "format": FORMAT,
        **manifest._asdict(),
        "arrays": [entry._asdict() for entry in manifest.entries],
    }
    del content["entries"]
    return json.dumps(content, sort_keys=True, allow_nan=False, separators=(",", ":")).encode()


def decode(raw: bytes, file: str) -> Manifest:
    """Return the manifest in ``raw`` once every entry of it has been checked by hand.

    ``file`` is the name for the message. Nothing is allocated by what the manifest promises.
    """
    content = _parse(raw, file)
    keys = {"format", "kind", "written_by", "fields", "arrays", "sha256"}
    if not isinstance(content, dict) or content.keys() != keys:
        damaged(file, f"its manifest must have exactly the entries {', '.join(sorted(keys))}")
    if type(content["format"]) is not int or content["format"] != FORMAT:
        damaged(file, f"header and manifest disagree on the format, {FORMAT} was expected")
    if not is_name(content["kind"]):
        damaged(file, "its kind is not a plain name")
    if not isinstance(content["written_by"], str) or len(content["written_by"]) > MAX_NAME:
        damaged(file, "its writer is missing")
    if not isinstance(content["fields"], dict) or not is_plain(content["fields"]):
        damaged(file, f"its fields are not plain JSON at most {MAX_DEPTH} deep")
    if not isinstance(content["sha256"], str) or not _SHA256.fullmatch(content["sha256"]):
        damaged(file, "it has no checksum of its arrays")
    entries = _entries(content["arrays"], file)
    return Manifest(content["kind"], content["written_by"], content["fields"], entries, content["sha256"])


def damaged(file: str, what: str) -> NoReturn:
    """Raise the one error for a file that contradicts itself."""
    raise ModelFileError(f"{file} is damaged ({what}): copy or download it again")


def _parse(raw: bytes, file: str) -> Any:
    try:
        return json.loads(raw.decode("utf-8"), object_pairs_hook=_no_duplicates, parse_constant=_no_constant)
    except RecursionError:
        damaged(file, "its manifest is nested too deeply")
    except ValueError:
        damaged(file, "its manifest is not strict JSON")


def _no_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    # Two values for one key: which one counts depends on the reader, so neither does.
    content = dict(pairs)
    if len(content) != len(pairs):
        raise ValueError("duplicate key")
    return content


def _no_constant(text: str) -> NoReturn:
    raise ValueError(text)


def _entries(listed: object, file: str) -> tuple[Entry, ...]:
    if not isinstance(listed, list):
        damaged(file, "its arrays are not a list")
    entries: list[Entry] = []
    end, previous = 0, ""
    for item in listed:
        entry = _entry(item, file)
        if entry.name <= previous:
            damaged(file, f"array {entry.name!r} is listed twice or out of order")
        if entry.offset != aligned(end):
            damaged(file, f"array {entry.name!r} does not start where the one before it ends")
        end, previous = entry.offset + entry.nbytes, entry.name
        entries.append(entry)
    return tuple(entries)


def _entry(item: object, file: str) -> Entry:
    if not isinstance(item, dict) or item.keys() != set(Entry._fields):
        damaged(file, f"an array must be described by exactly {', '.join(Entry._fields)}")
    name, dtype, shape = item["name"], item["dtype"], item["shape"]
    if not is_name(name):
        damaged(file, "the name of an array is not a plain name")
    if not isinstance(dtype, str) or dtype not in ITEM_BYTES:
        damaged(file, f"array {name!r} has a type other than {', '.join(ITEM_BYTES)}")
    # ``type() is int``: True is an int to isinstance, and no axis.
    if not isinstance(shape, list) or any(type(axis) is not int for axis in shape):
        damaged(file, f"the shape of array {name!r} is not a list of whole numbers")
    numbers = (item["offset"], item["nbytes"])
    if any(type(number) is not int for number in numbers):
        damaged(file, f"the place of array {name!r} is not given in whole numbers")
    size = array_bytes(dtype, shape)
    if size is None or item["nbytes"] != size:
        damaged(file, f"shape and size of array {name!r} do not fit")
    return Entry(name, dtype, tuple(shape), *numbers)
