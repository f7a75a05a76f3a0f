"""Time the catalogue at 100,000 photos with 10 tags each out of 2,000, beside plain SQL on the same rows.

Promised: opening, with the check of its tables, in under a second; any search in under 50 ms, its first page
of 100 photos included. The peer joins a table of (photo, tag) as one would write it without labels.
"""

import random
import sqlite3
import tempfile
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import Any

from tagmix.catalogue import Catalogue, open_catalogue

PHOTOS, TAGS, EACH = 100_000, 2_000, 10
OPENING, SEARCH = 1000.0, 50.0
# Question, and the condition on photos p of plain SQL; t has (photo, name of a tag or of one above it).
HAS = "EXISTS (SELECT 1 FROM t WHERE t.photo = p.id AND name = '{}')"
QUESTIONS = {
    "tag0002": HAS.format("tag0002"),
    "tag0002 -tag0004": f"{HAS.format('tag0002')} AND NOT {HAS.format('tag0004')}",
    "Top1 Top3 -tag0004": f"{HAS.format('Top1')} AND {HAS.format('Top3')} AND NOT {HAS.format('tag0004')}",
    "everywhere": HAS.format("everywhere"),
    "-tag0004": f"NOT {HAS.format('tag0004')}",
    "Top1 OR Top3 OR Top5 -everywhere": f"({' OR '.join(HAS.format(f'Top{n}') for n in (1, 3, 5))})"
    f" AND NOT {HAS.format('everywhere')}",
    "path:20": "place >= CAST('20' AS BLOB) AND place < CAST('21' AS BLOB)",
    "reviewed:no source:machine path:2003/": "place >= CAST('2003/' AS BLOB)"
    " AND place < CAST('20030' AS BLOB)",
}


def names(chosen: list[int]) -> list[str]:
    """Return names of tags: every second one with two levels above it."""
    return [f"Top{n % 7}|Mid{n % 50}|tag{n:04}" if n % 2 else f"tag{n:04}" for n in chosen]


def fill(catalogue: Catalogue, photos: int) -> None:
    """Record photos with tags, half of them from files and half by a run, and one tag on all."""
    rng = random.Random(1)
    run = catalogue.runs.begin("tag", "model")
    for start in range(0, photos, 500):
        with catalogue.batch():
            for n in range(start, min(start + 500, photos)):
                place = f"{2000 + n % 20}/{n % 97:03}/img{n:06}.jpg"
                photo = catalogue.photos.note(place, rng.randbytes(32), n, n).id
                tags = names(rng.sample(range(TAGS), EACH))
                catalogue.verdicts.found(photo, [*tags[: EACH // 2], "everywhere"])
                catalogue.runs.guess(run, photo, dict.fromkeys(tags[EACH // 2 :], 0.5))
    catalogue.runs.finish(run)


def plain_rows(catalogue: Catalogue, path: Path) -> sqlite3.Connection:
    """Return the same photos and tags in plain tables with the usual indexes."""
    plain = sqlite3.connect(path)
    plain.execute("CREATE TABLE p (id INTEGER PRIMARY KEY, place BLOB UNIQUE)")
    plain.execute("CREATE TABLE t (photo INT, name TEXT, PRIMARY KEY (photo, name)) WITHOUT ROWID")
    for photo in catalogue.photos.all():
        plain.execute("INSERT INTO p VALUES (?, ?)", (photo.id, photo.place.encode()))
        levels = {level for one in catalogue.verdicts.of(photo.id) for level in one.tag.split("|")}
        plain.executemany("INSERT INTO t VALUES (?, ?)", ((photo.id, level) for level in levels))
    plain.execute("CREATE INDEX by_name ON t (name, photo)")
    plain.commit()
    return plain


def milliseconds(work: Callable[[], Any], repeats: int = 5) -> tuple[float, Any]:
    """Return the best time, and the result."""
    best = float("inf")
    for _ in range(repeats):
        began = perf_counter()
        result = work()
        best = min(best, perf_counter() - began)
    return 1e3 * best, result


def run() -> list[dict[str, Any]]:
    """Return a row per question, and for filling and opening."""
    with tempfile.TemporaryDirectory() as folder:
        path, root = Path(folder, "library.sqlite"), Path(folder)
        began = perf_counter()
        with open_catalogue(path, root) as catalogue:
            fill(catalogue, PHOTOS)
        rows: list[dict[str, Any]] = [
            row("a photo noted, with two writes of tags", 1e3 * (perf_counter() - began) / PHOTOS),
            row("opening", milliseconds(lambda: open_catalogue(path, root).close())[0], OPENING),
        ]
        with open_catalogue(path, root) as catalogue:
            plain = plain_rows(catalogue, Path(folder, "plain.sqlite"))
            for question, condition in QUESTIONS.items():
                rows.append(searched(catalogue, plain, question, condition))
            rows.append(row("counts of all tags", milliseconds(catalogue.tags.counts)[0]))
            rows.append(row("full check", milliseconds(catalogue.check, 1)[0]))
            plain.close()
    return rows


def row(what: str, time: float, limit: float | None = None) -> dict[str, Any]:
    """Return a row of the table, with the promised limit if there is one."""
    return {"what": what, "ratio": time, "unit": "ms"} | ({"limit": limit} if limit else {})


def searched(
    catalogue: Catalogue, plain: sqlite3.Connection, question: str, condition: str
) -> dict[str, Any]:
    """Return the row of one question: ours with its first page, the peer with its ids alone."""

    def ours() -> int:
        found = catalogue.search(question)
        found.page(0, 100)
        return len(found)

    time, found = milliseconds(ours)
    sql = f"SELECT id FROM p WHERE {condition} ORDER BY place"
    peer, rows = milliseconds(lambda: plain.execute(sql).fetchall(), 2)
    if len(rows) != found:
        raise AssertionError(f"{question}: {found} photos, {len(rows)} by plain SQL")
    shown = {"ours": f"{time:.1f} ms, {found:,} photos", "peer": f"{peer:.0f} ms, plain SQL"}
    return row(question, time, SEARCH) | shown


if __name__ == "__main__":
    for one in run():
        print(one)
