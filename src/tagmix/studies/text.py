"""A catalogue of works with subjects as bags of text, for experiments with thousands of tags.

One work per line of gzipped JSON, ``{"id": …, "tags": […], "regions": […]}``: its text fields (title, medium,
artist, …) are the regions, their words the features and its subjects the tags.
"""

import gzip
import io
import os
import zlib
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from numbers import Integral, Real
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array

from tagmix.arrays import Counts
from tagmix.bags import Bags
from tagmix.datasets.collect import Collector
from tagmix.datasets.files import parse_json, read_bytes, to_text
from tagmix.datasets.paths import shown
from tagmix.datasets.tags import words
from tagmix.errors import AlbumError, ParameterError
from tagmix.tag_names import LONGEST, normal_name, normal_names

VIEW = "text"
MAX_PACKED = 64 * 2**20
# The Tate's catalogue has 20 MB in 58,801 lines of at most 1,200 bytes; a bomb has no end.
MAX_UNPACKED = 64 * 2**20
MAX_LINES = 500_000
MAX_LINE = 2**16
MAX_TEST = 5000  # test works × tags of scores then take 314 MB at 7,848 tags


class TextParts(NamedTuple):
    """Training and test works with the same tags and words, and the lines that were set aside."""

    train: Bags
    test: Bags
    problems: tuple[str, ...]


class _Work(NamedTuple):
    name: str
    tags: tuple[str, ...]
    regions: tuple[tuple[str, ...], ...]


def read_text_corpus(
    path: str | os.PathLike[str],
    *,
    seed: int = 0,
    test_share: float = 0.1,
    min_works: int = 2,
    n_words: int = 20_000,
) -> TextParts:
    """Return a catalogue as training and test bags with the single view ``text``.

    Words are runs of letters (``tagmix.datasets.tags.words``), counted once per field. Numbers are sizes in
    millimetres and dates: with them the cross-validated top-5 accuracy on the Tate gains .01 for EMM
    and loses .01 for neighbours, so they are left out. Words are those of the training works. Tags are
    counted over all works, so that they do not depend on the seed; a rare tag may be on test works only.
    Works without any of the tags are left out.

    Parameters
    ----------
    seed : of the random split.
    test_share : the share of test works, at most 5,000 works.
    min_works : tags and words of fewer works are left out.
    n_words : the number of words, the most frequent.
    """
    _check_settings(seed, test_share, min_works, n_words)
    file = Path(path)
    works, problems = _works(file)
    tag_names = _frequent((work.tags for work in works), min_works)
    known = set(tag_names)
    works = [work for work in works if not known.isdisjoint(work.tags)]
    if len(works) < 2:
        raise AlbumError(
            f"{shown(file.name)} must hold at least 2 works with a tag that is on {min_works}, got "
            f"{len(works)}: check the format, or lower min_works"
        )
    order = np.random.default_rng(seed).permutation(len(works))
    n_test = max(1, min(MAX_TEST, len(works) - 1, round(test_share * len(works))))
    test, train = ([works[i] for i in np.sort(part)] for part in (order[:n_test], order[n_test:]))
    used = ({word for region in work.regions for word in region} for work in train)
    vocabulary = _frequent(used, min_works, n_words)
    if not vocabulary:
        raise AlbumError(
            f"{shown(file.name)} must have a word on {min_works} training works, got none: lower min_works"
        )
    return TextParts(_bags(train, vocabulary, tag_names), _bags(test, vocabulary, tag_names), problems)


def _check_settings(seed: Any, test_share: Any, min_works: Any, n_words: Any) -> None:
    for name, value, least in (("seed", seed, 0), ("min_works", min_works, 1), ("n_words", n_words, 1)):
        if not isinstance(value, Integral) or value < least:
            raise ParameterError(f"{name} must be a whole number >= {least}, got {value!r:.60}: pass one.")
    if not isinstance(test_share, Real) or not 0 < float(test_share) < 1:
        raise ParameterError(f"test_share must lie between 0 and 1, got {test_share!r:.60}: 0.1 is usual.")


def _works(file: Path) -> tuple[list[_Work], tuple[str, ...]]:
    """Return the works of a file, and a message for each line that was set aside."""
    aside, works, cached = Collector(Path()), {}, dict[str, tuple[str, ...]]()
    for number, raw in enumerate(_lines(file), 1):
        with aside.setting_aside(f"{file.name} line {number}"):
            if len(raw) > MAX_LINE:
                raise AlbumError(f"a work must have at most {MAX_LINE:,} bytes, got more")
            if not raw.strip():
                continue
            work = _work(parse_json(to_text(raw, "the line"), "the line"), cached)
            if work.name in works:
                raise AlbumError(f"id {shown(work.name)} is there twice: the first work counts")
            works[work.name] = work
    return list(works.values()), aside.album().problems


def _lines(file: Path) -> Iterator[bytes]:
    """Yield the lines of a gzipped file; of a line that is too long, its beginning only."""
    packed = io.BytesIO(read_bytes(file, MAX_PACKED))
    n_bytes, n_lines, begun = 0, 0, False
    try:
        with gzip.GzipFile(fileobj=packed) as stream:
            while line := stream.readline(MAX_LINE + 1):
                n_bytes, n_lines = n_bytes + len(line), n_lines + 1
                if n_bytes > MAX_UNPACKED or n_lines > MAX_LINES:
                    raise AlbumError(
                        f"{shown(file.name)} must have at most {MAX_UNPACKED:,} bytes unpacked and "
                        f"{MAX_LINES:,} lines, got more: split it"
                    )
                if not begun:  # else the rest of one that was too long
                    yield line
                begun = not line.endswith(b"\n")
    except (OSError, EOFError, zlib.error) as error:
        raise AlbumError(
            f"{shown(file.name)} must be a whole gzip file, got {shown(str(error))}: fetch it again"
        ) from error


def _work(record: Any, cached: dict[str, tuple[str, ...]]) -> _Work:
    """Return one work; ``cached`` caches the words of fields, most of which are on many works."""
    if not isinstance(record, Mapping):
        raise AlbumError(f"a work must be an object with an id, got {shown(record)}")
    name = record.get("id")
    if not isinstance(name, str) or not 0 < len(normal_name(name)) <= LONGEST:
        raise AlbumError(f"an id must be a short text, got {shown(name)}")
    tags, fields = (_texts(record, key) for key in ("tags", "regions"))
    for field in fields:
        if field not in cached:
            cached[field] = words(field)
    return _Work(normal_name(name), normal_names(tags), tuple(cached[field] for field in fields))


def _texts(record: Mapping[str, Any], key: str) -> list[str]:
    texts = record.get(key)
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise AlbumError(f"{key} must be a list of texts, got {shown(texts)}")
    return texts


def _frequent(many: Iterable[Collection[str]], least: int, most: int | None = None) -> list[str]:
    """Return the names that occur at least so often, sorted; if there are too many, the most frequent.

    >>> _frequent([("sea", "sky"), ("sea", "sky"), ("sea",), ("land",)], 2, 1)
    ['sea']
    """
    counts = Counter(name for names in many for name in names)
    ranked = sorted((name for name, count in counts.items() if count >= least), key=lambda n: (-counts[n], n))
    return sorted(ranked[:most])


def _bags(works: Sequence[_Work], vocabulary: list[str], tag_names: list[str]) -> Bags:
    """Return works as bags; fields without a known word are left out."""
    place = {word: column for column, word in enumerate(vocabulary)}
    fields = [
        [columns for region in work.regions if (columns := [place[word] for word in region if word in place])]
        for work in works
    ]
    regions = _indicator((columns for own in fields for columns in own), len(vocabulary))
    column = {name: i for i, name in enumerate(tag_names)}
    tags = _indicator(([column[tag] for tag in work.tags if tag in column] for work in works), len(tag_names))
    offsets = np.concatenate([[0], np.cumsum([len(own) for own in fields])]).astype(np.int64)
    return Bags({VIEW: regions}, offsets, tags, tag_names, [work.name for work in works])


def _indicator(rows: Iterable[Sequence[int]], width: int) -> Counts:
    """Return one row per list of columns, with 1 in each of these."""
    listed = [sorted(row) for row in rows]
    starts = np.concatenate([[0], np.cumsum([len(row) for row in listed])]).astype(np.int64)
    columns = np.fromiter(chain.from_iterable(listed), dtype=np.int64)
    return csr_array((np.ones(len(columns)), columns, starts), shape=(len(listed), width))
