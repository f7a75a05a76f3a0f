"""Example pictures of a contest: the true caption, and what each method puts first."""

import base64
from collections.abc import Sequence
from html import escape
from io import BytesIO
from pathlib import PurePath

import numpy as np
from PIL import Image

from tagmix.errors import ImageError
from tagmix.experiments.records import Record
from tagmix.images.decode import decode
from tagmix.report import page
from tagmix.report.contest.data import Group, K
from tagmix.report.contest.tables import in_order, method

SHOWN, RIVALS = 6, 3
SIDE, QUALITY = 240, 80
SEED = 0


def shown_methods(group: Group) -> list[str]:
    """Return the paper's methods and the best of the others, in the order of legends."""
    others = [name for name in group.order if not method(name).paper and name != "frequency"]
    return in_order([*(name for name in group.whole if method(name).paper), *others[:RIVALS]])


def chosen(group: Group, examples: Sequence[str] | None) -> list[tuple[int, str]]:
    """Return the pictures to show, as part and name: those asked for, or some drawn blindly."""
    found = dict.fromkeys((r.task.part, name) for r in group.whole[group.order[0]].records for name in r.ids)
    everything = list(found)
    if examples is not None:
        return [place for name in examples for place in everything if place[1] == name]
    drawn = np.random.default_rng(SEED).permutation(len(everything))[:SHOWN]
    return [everything[i] for i in sorted(drawn.tolist())]


def example_cards(group: Group, examples: Sequence[str] | None, pictures: bool) -> str:
    """Return a card for each picture; nothing if there is none to show."""
    places = chosen(group, examples)
    cards = "\n".join(_card(group, *place, pictures) for place in places)
    return f'<div class="cases">\n{cards}\n</div>' if cards else ""


def _card(group: Group, part: int, name: str, pictures: bool) -> str:
    found: dict[str, Record] = {}
    for own in shown_methods(group):
        for record in group.whole[own].records:
            if record.task.part == part and name in record.ids:
                found.setdefault(own, record)
    lines = "".join(_guess(own, record, record.ids.index(name)) for own, record in found.items())
    first = next(iter(found.values()), None)
    truth = [] if first is None else [first.tag_names[tag] for tag in first.captions[first.ids.index(name)]]
    shot = _shot(name, truth) if pictures else ""
    title = escape(PurePath(name).name or name)
    return (
        f'<article class="card case"><h3><b>{title}</b></h3>\n{shot}<div class="about">'
        f'<p>True caption: {page.names(truth)}</p></div><dl class="said-by">{lines}</dl></article>'
    )


def _guess(own: str, record: Record, row: int) -> str:
    """Return one method's first tags, the right ones ticked."""
    truth = set(record.captions[row])
    tags = [_tag(record.tag_names[tag], tag in truth) for tag in record.top[row][:K]]
    return f"<dt>{page.prose(method(own).name)}</dt><dd>{' '.join(tags)}</dd>"


def _tag(name: str, hit: bool) -> str:
    shown = f"<bdi>{escape(name)}</bdi>"
    return f'<span class="hit">✓ {shown}</span>' if hit else f"<span>{shown}</span>"


def _shot(name: str, truth: Sequence[str]) -> str:
    """Return the picture, small; nothing if there is none to read under that name."""
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
