"""Write results as one HTML file without external parts: no scripts, no fonts, no network.

Every function escapes its text, so that a tag named ``<script>`` does no harm. Only arguments named ``svg``
or ``body`` are markup: they must come from a function of this package.
"""

import math
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from html import escape
from typing import NamedTuple

from tagmix.errors import ParameterError
from tagmix.report.style import CSS, INK

_COLOUR = re.compile(r"#[0-9a-fA-F]{6}")


class Row(NamedTuple):
    """One line of a table of shares between 0 and 1; None is empty; ``look`` is a CSS class."""

    name: str
    note: str
    values: Sequence[float | None]
    look: str = ""


class Cell(NamedTuple):
    """One cell of a grid: its text, small print below, a bar for a share; ``look`` is a CSS class.

    ``ends`` of an interval are drawn on the bar.
    """

    text: str
    small: str = ""
    share: float | None = None
    look: str = ""
    ends: tuple[float, float] | None = None


class Line(NamedTuple):
    """One line of a grid."""

    name: str
    note: str
    cells: Sequence[Cell]
    look: str = ""


class Table(NamedTuple):
    """The heads of the columns and the lines of a grid."""

    heads: Sequence[str]
    lines: Sequence[Line]


class Picture(NamedTuple):
    """One picture: the true and the found tag of each region, then the tags of the picture."""

    name: str
    true: Sequence[str]
    found: Sequence[str]
    caption: Sequence[str]
    ranked: Sequence[tuple[str, float]]


# Marks our pages: other files are not replaced.
GENERATOR = '<meta name="generator" content="tagmix">'


def document(title: str, body: str) -> str:
    """Return the whole document around ``body``."""
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"{GENERATOR}\n"
        # An empty icon, or a browser requests one.
        f'<link rel="icon" href="data:,">\n<title>{escape(title)}</title>\n<style>\n{CSS}\n</style>\n'
        f"</head>\n<body>\n<main>\n{body}\n</main>\n</body>\n</html>\n"
    )


def header(eyebrow: str, title: str, lead: str) -> str:
    """Return the head of the page: eyebrow, title and lead."""
    return f'<p class="eyebrow">{escape(eyebrow)}</p>\n<h1>{escape(title)}</h1>\n{paragraph(lead, "lead")}'


def paragraph(text: str, look: str = "") -> str:
    """Return one paragraph of plain text."""
    return f"<p{_class(look)}>{prose(text)}</p>"


def section(title: str, *parts: str, anchor: str = "") -> str:
    """Return a heading and its parts; ``contents`` links to its anchor."""
    name = f' id="{escape(anchor, quote=True)}"' if anchor else ""
    return f"<section{name}>\n<h2>{escape(title)}</h2>\n{chr(10).join(parts)}\n</section>"


def contents(titles: Iterable[str]) -> str:
    """Return links to sections, whose anchors are s0, s1 and so on."""
    items = "".join(f'<li><a href="#s{i}">{escape(title)}</a></li>' for i, title in enumerate(titles))
    return f'<ul class="toc">{items}</ul>'


def columns(*parts: str) -> str:
    """Return parts side by side on a wide screen, below each other on a narrow one."""
    return '<div class="pair">\n' + "".join(f"<div>\n{part}\n</div>\n" for part in parts) + "</div>"


def figure(svg: str, caption: str) -> str:
    """Return a drawing of ``tagmix.report.figures`` with its caption."""
    return f"<figure>\n{svg}\n<figcaption>{prose(caption)}</figcaption>\n</figure>"


def tiles(items: Iterable[tuple[str, str, str]]) -> str:
    """Return large numbers with their meanings: (number, meaning, look)."""
    drawn = (
        f"<div{_class(f'tile {look}')}><b>{escape(number)}</b><span>{prose(meaning)}</span></div>"
        for number, meaning, look in items
    )
    return f'<div class="tiles">{"".join(drawn)}</div>'


def table(heads: Sequence[str], rows: Iterable[Row]) -> str:
    """Return a table of shares, each number with a bar below it."""
    first = "".join(f'<th scope="col">{escape(head)}</th>' for head in heads)
    lines = []
    for row in rows:
        note = f"<small>{escape(row.note)}</small>" if row.note else ""
        cells = "".join(f"<td>{_share(value)}</td>" for value in row.values)
        lines.append(f'<tr{_class(row.look)}><th scope="row">{escape(row.name)}{note}</th>{cells}</tr>')
    return (
        f'<div class="scroll"><table><thead><tr>{first}</tr></thead>\n'
        f"<tbody>{chr(10).join(lines)}</tbody></table></div>"
    )


def grid(heads: Sequence[str], lines: Iterable[Line]) -> str:
    """Return a table of cells; a wide one scrolls under its fixed first column."""
    first = "".join(f'<th scope="col">{prose(head)}</th>' for head in heads)
    drawn = []
    for line in lines:
        note = f"<small>{prose(line.note)}</small>" if line.note else ""
        cells = "".join(_cell(cell) for cell in line.cells)
        drawn.append(
            f'<tr{_class(line.look)}><th scope="row"><bdi>{prose(line.name)}</bdi>{note}</th>{cells}</tr>'
        )
    return (
        f'<div class="scroll"><table class="grid"><thead><tr>{first}</tr></thead>\n'
        f"<tbody>{chr(10).join(drawn)}</tbody></table></div>"
    )


def subsection(title: str, *parts: str) -> str:
    """Return a smaller heading and its parts; empty without parts."""
    body = chr(10).join(part for part in parts if part)
    return f'<h3 class="sub">{prose(title)}</h3>\n{body}' if body else ""


def folded(title: str, *parts: str) -> str:
    """Return parts that are folded away under their title."""
    return f"<details><summary>{prose(title)}</summary>\n{chr(10).join(parts)}\n</details>"


def facts(items: Mapping[str, str]) -> str:
    """Return names and values for the footer."""
    return "<dl>" + "".join(f"<dt>{escape(k)}</dt><dd>{escape(v)}</dd>" for k, v in items.items()) + "</dl>"


def picture_card(picture: Picture, colours: Mapping[str, str]) -> str:
    """Return one picture: its regions as a strip, its caption, and its first tags."""
    right = sum(t == f for t, f in zip(picture.true, picture.found, strict=True))
    regions = "".join(
        _region(true, found, colours) for true, found in zip(picture.true, picture.found, strict=True)
    )
    caption = "".join(
        f'<span class="chip">{_swatch(tag, colours)}{escape(tag)}</span>' for tag in picture.caption
    )
    ranked = "".join(_ranked(tag, p, tag in picture.caption) for tag, p in picture.ranked)
    missing = set(picture.caption) - {tag for tag, _ in picture.ranked}
    missed = f"<br>Not among the {len(picture.ranked)} most probable: {escape(', '.join(sorted(missing)))}."
    return (
        f'<article class="card"><h3>{escape(picture.name)} '
        f"<span>— {right} of {len(picture.true)} regions right</span></h3>\n"
        f'<ul class="regions">{regions}</ul>\n'
        f'<div class="tags"><p>True caption<br>{caption}{missed if missing else ""}</p>'
        f'<ol class="rank">{ranked}</ol></div></article>'
    )


def ranking(
    guesses: Iterable[tuple[str, float, bool]], caption: Sequence[str], omitted: Collection[str] = ()
) -> str:
    """Return tags with their probabilities: selected ones in bold, those of the caption ticked.

    Selected tags that are not in the caption are crossed, if there is a caption; those that it is known to
    have ``omitted`` get a circle instead.
    """
    lines = []
    for tag, p, shown in guesses:
        mark = "<b></b>"
        if tag in caption:
            mark = '<b title="in the caption">✓</b>'
        elif tag in omitted:
            mark = '<b class="quiet" title="in the picture, not in the caption">○</b>'
        elif shown and caption:
            mark = '<b class="miss" title="not in the caption">✗</b>'
        name = f'<span title="{escape(tag, quote=True)}"><bdi>{escape(tag)}</bdi></span>'
        lines.append(f"<li{_class('shown' if shown else '')}>{mark}{name}{_bar(p)}<span>{p:.2f}</span></li>")
    return f'<ol class="guesses">{"".join(lines)}</ol>'


def names(tags: Iterable[str], look: str = "") -> str:
    """Return a list of tags, each with its own writing direction."""
    drawn = [f"<bdi{_class(look)}>{escape(tag)}</bdi>" for tag in tags]
    # A comma stays on the line of its tag
    return " ".join([*(f'<span class="kept">{tag},</span>' for tag in drawn[:-1]), *drawn[-1:]])


def ink_on(colour: str) -> str:
    """Return dark or white text, whichever has more contrast with the colour (WCAG's luminance).

    >>> ink_on("#f2c14e"), ink_on("#2b3350")
    ('#1f2933', '#ffffff')
    """
    return INK if _luminance(colour) > math.sqrt((1 + 0.05) * (_luminance(INK) + 0.05)) - 0.05 else "#ffffff"


def _luminance(colour: str) -> float:
    parts = (int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def _colour(tag: str, colours: Mapping[str, str]) -> str:
    """Return the colour of a tag; only #rrggbb is accepted, because it becomes CSS."""
    colour = colours.get(tag, "#d9d5cb")
    if not _COLOUR.fullmatch(colour):
        raise ParameterError(
            f"the colour of {tag!r} must look like #1f5f8b, got {colour!r}: pass six digits."
        )
    return colour


def _region(true: str, found: str, colours: Mapping[str, str]) -> str:
    right = true == found
    words = "found" if right else "found instead"
    mark = "✓" if right else "✗"
    parts = [
        ("true", true, escape(true)),
        ("found" if right else "found miss", found, f"{mark} {escape(found)}"),
    ]
    drawn = ""
    for look, tag, text in parts:
        colour = _colour(tag, colours)
        drawn += f'<span class="{look}" style="background:{colour};color:{ink_on(colour)}">{text}</span>'
    label = f"{true}, {words}: {found}"
    return f'<li title="{escape(label, quote=True)}">{drawn}</li>'


def _swatch(tag: str, colours: Mapping[str, str]) -> str:
    return f'<i style="background:{_colour(tag, colours)}" aria-hidden="true"></i>'


def _ranked(tag: str, p: float, hit: bool) -> str:
    mark = "✓ " if hit else "\u2002\u2009"
    return (
        f"<li{_class('hit' if hit else '')}><span>{mark}{escape(tag)}</span>"
        f"{_bar(p)}<span>{p:.2f}</span></li>"
    )


def prose(text: str) -> str:
    """Return running text with a fixed space before %, and the letter of EMM_d and EMM_m as subscript."""
    return re.sub(r"\bEMM_([md])\b", r"EMM<sub>\1</sub>", escape(text).replace(" %", "\u00a0%"))


def _cell(cell: Cell) -> str:
    small = f"<small>{prose(cell.small)}</small>" if cell.small else ""
    bar = "" if cell.share is None else _bar(cell.share, cell.ends)
    return f"<td{_class(cell.look)}>{prose(cell.text)}{bar}{small}</td>"


def _share(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}{_bar(value)}"


def _bar(value: float, ends: tuple[float, float] | None = None) -> str:
    width, *reach = (100 * min(max(place, 0.0), 1.0) for place in (value, *(ends or ())))
    drawn = f'<i style="width:{width:.1f}%"></i>'
    if reach and not any(map(math.isnan, ends or ())):
        drawn += f'<u style="left:{reach[0]:.1f}%;width:{reach[1] - reach[0]:.1f}%"></u>'
    return f'<span class="bar" aria-hidden="true">{drawn}</span>'


def _class(look: str) -> str:
    return f' class="{escape(look.strip(), quote=True)}"' if look.strip() else ""
