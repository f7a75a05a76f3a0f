"""Example pictures: the true caption, and the first tags of each method."""

import base64
from collections.abc import Sequence
from html import escape
from io import BytesIO
from pathlib import PurePath

import numpy as np
from PIL import Image

from tagmix.comparison.records import Record
from tagmix.errors import ImageError
from tagmix.images.decode import decode
from tagmix.report import page
from tagmix.report.comparison.names import in_order, label, learners, strong
from tagmix.report.comparison.samples import Group

SHOWN, RIVALS = 6, 3
SIDE, QUALITY = 240, 80
SEED = 0


def shown_methods(group: Group) -> list[str]:
    """Return the emphasised methods and the best of the others, in the order of legends."""
    first = [name for name in strong(group) if name in group.whole]
    others = [name for name in learners(group) if name not in first]
    return in_order([*first, *others[:RIVALS]]) or group.order


def chosen(group: Group, examples: Sequence[str] | None) -> list[tuple[int, str]]:
    """Return the pictures to show, as part and name: the named ones, or some chosen at random."""
    units = group.whole[group.order[0]].units
    everything = [(part, name) for part, ids in units for name in ids]
    if examples is not None:
        return [place for name in examples for place in everything if place[1] == name]
    drawn = np.random.default_rng(SEED).permutation(len(everything))[:SHOWN]
    return [everything[i] for i in sorted(drawn.tolist())]


def example_cards(group: Group, examples: Sequence[str] | None, pictures: bool) -> str:
    """Return one card per picture; empty if there are none."""
    places = chosen(group, examples)
    cards = "\n".join(_card(group, *place, pictures) for place in places)
    return f'<div class="cases">\n{cards}\n</div>' if cards else ""


def _card(group: Group, part: int, name: str, pictures: bool) -> str:
    found: dict[str, Record] = {}
    for own in shown_methods(group):
        for record in group.whole[own].records:
            if record.task.part == part and name in record.ids:
                found.setdefault(own, record)
    rows = {own: record.ids.index(name) for own, record in found.items()}
    lines = "".join(_guess(own, record, rows[own], group.k) for own, record in found.items())
    shown = {r.tag_names[tag] for own, r in found.items() for tag in r.top[rows[own]][: group.k]}
    truth = _caption(group, part, name)
    missed = [tag for tag in truth if found and tag not in shown]
    shot = _shot(name, truth) if pictures else ""
    title = escape(PurePath(name).name or name)
    return (
        f'<article class="card case"><h3><b>{title}</b></h3>\n{shot}<div class="about">'
        f"<p>True caption: {page.names(truth)}{_missed(missed)}</p></div>"
        f'<dl class="said-by">{lines}</dl></article>'
    )


def _caption(group: Group, part: int, name: str) -> list[str]:
    records = group.whole[group.order[0]].records
    record = next(r for r in records if r.task.part == part and name in r.ids)
    return [record.tag_names[tag] for tag in record.captions[record.ids.index(name)]]


def _missed(tags: Sequence[str]) -> str:
    return f"<br>Missed by all: {page.names(tags, 'miss')}" if tags else ""


def _guess(own: str, record: Record, row: int, k: int) -> str:
    """Return one method's first tags, the right ones ticked."""
    truth = set(record.captions[row])
    tags = [_tag(record.tag_names[tag], tag in truth) for tag in record.top[row][:k]]
    return f"<dt>{page.prose(label(own).name)}</dt><dd>{' '.join(tags)}</dd>"


def _tag(name: str, hit: bool) -> str:
    shown = f"<bdi>{escape(name)}</bdi>"
    return f'<span class="hit">✓ {shown}</span>' if hit else f"<span>{shown}</span>"


def _shot(name: str, truth: Sequence[str]) -> str:
    """Return the picture, shrunk; empty if it cannot be read."""
    try:
        image = Image.fromarray(decode(name, max_side=SIDE))
    except ImageError:
        return ""
    stream = BytesIO()
    image.save(stream, "JPEG", quality=QUALITY, optimize=True)
    data = base64.b64encode(stream.getvalue()).decode("ascii")
    alt = escape(f"A picture with the caption: {', '.join(truth)}", quote=True)
    return (
        f'<div class="shot" style="width:{image.width}px"><img src="data:image/jpeg;base64,{data}" '
        f'width="{image.width}" height="{image.height}" alt="{alt}"></div>\n'
    )
