"""The page of a search: photos found, with their tags and who says so. No scripts, nothing from outside."""

import base64
from collections.abc import Iterable, Sequence
from html import escape
from io import BytesIO
from pathlib import Path
from typing import NamedTuple

from PIL import Image

from tagmix.catalogue import Verdict
from tagmix.errors import ImageError, printable
from tagmix.images.decode import decode
from tagmix.metadata.read import read_photo
from tagmix.report.page import GENERATOR
from tagmix.report.search_style import CSS

# Pixels of the longer side: sharp on fine screens at the width of a column.
SIDE = 480
QUALITY = 78
MOST_TAGS = 60
# A page that is opened from the disk may show its own pictures and style, and nothing else.
POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
KINDS = {
    "human": "by you",
    "metadata": "in the photo or its sidecar",
    "machine": "by a machine, with its probability",
    "no": "denied",
}
WORDS = KINDS | {"machine": "by a machine"}


class Shot(NamedTuple):
    """A photo on the page: its name, its file, a thumbnail (None: it cannot be read), and its verdicts."""

    name: str
    path: Path
    thumbnail: bytes | None
    verdicts: Sequence[Verdict]


def thumbnail(path: Path) -> bytes | None:
    """Return a small JPEG of a photo, turned as photo software shows it, or None if it cannot be read."""
    try:
        small = Image.fromarray(decode(path, max_side=SIDE, orientation=read_photo(path).orientation))
    except (ImageError, OSError):
        return None
    stream = BytesIO()
    small.save(stream, "JPEG", quality=QUALITY, optimize=True)
    return stream.getvalue()


def search_page(question: str, folder: str, shots: Sequence[Shot], total: int) -> str:
    """Return the page of the photos that were found, of which ``shots`` are shown."""
    title = f"{question} — {folder}"
    cards = "\n".join(_card(shot) for shot in shots)
    body = f'{_header(question, folder, shots, total)}\n<ul class="photos">\n{cards}\n</ul>\n'
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'{GENERATOR}\n<link rel="icon" href="data:,">\n<title>{_text(title)}</title>\n'
        f"<style>\n{CSS}\n</style>\n</head>\n<body>\n<main>\n{body}</main>\n</body>\n</html>\n"
    )


def _header(question: str, folder: str, shots: Sequence[Shot], total: int) -> str:
    count = f"{total:,} photo{'' if total == 1 else 's'} found"
    if len(shots) < total:
        count += f", the first {len(shots):,} shown"
    used = {_kind(one) for shot in shots for one in shot.verdicts}
    legend = "".join(
        f'<li><span class="tag {kind}">tag</span> {about}</li>'
        for kind, about in KINDS.items()
        if kind in used
    )
    return (
        f'<header>\n<p class="where"><bdi>{_text(folder)}</bdi></p>\n<h1><bdi>{_text(question)}</bdi></h1>\n'
        f"<p>{count}</p>\n" + (f'<ul class="legend">{legend}</ul>\n' if legend else "") + "</header>"
    )


def _card(shot: Shot) -> str:
    if shot.thumbnail is None:
        picture = '<span class="none">cannot be shown</span>'
    else:
        source = f"data:image/jpeg;base64,{base64.b64encode(shot.thumbnail).decode('ascii')}"
        picture = f'<img src="{source}" alt="" loading="lazy">'
    name = _text(shot.name)
    tags = "".join(map(_tag, _in_order(shot.verdicts)[:MOST_TAGS]))
    more = len(shot.verdicts) - MOST_TAGS
    rest = f'<li class="more">and {more:,} more</li>' if more > 0 else ""
    return (
        f'<li class="photo"><a href="{escape(shot.path.as_uri(), quote=True)}">{picture}'
        f'<span class="name"><bdi>{name}</bdi></span></a>'
        f'<ul class="tags">{tags}{rest}</ul></li>'
    )


def _in_order(verdicts: Iterable[Verdict]) -> list[Verdict]:
    """Return a human's tags first, then those of the metadata, the machine's by probability, those denied."""
    places = list(KINDS)
    return sorted(verdicts, key=lambda one: (places.index(_kind(one)), -(one.probability or 0), one.tag))


def _kind(verdict: Verdict) -> str:
    return "no" if verdict.answer == "no" else verdict.source


def _tag(verdict: Verdict) -> str:
    kind = _kind(verdict)
    # Who says so is told by words too, not by looks alone
    said = f'<span class="said">{WORDS[kind]}: </span>'
    share = verdict.probability if kind == "machine" else None
    number = "" if share is None else f" <small>{_percent(share)}</small>"
    return f'<li class="tag {kind}">{said}<bdi>{_text(verdict.tag)}</bdi>{number}</li>'


def _percent(share: float) -> str:
    """Return a probability in percent; never 100 %, which no number of photos shows."""
    return escape(f"{share:.0%}" if share < 0.995 else ">99%").replace("%", "\u202f%")


def _text(text: str) -> str:
    return escape(printable(text), quote=True)
