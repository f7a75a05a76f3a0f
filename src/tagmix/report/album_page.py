"""The page of an album: test pictures with their annotations, and the accuracy of these."""

import base64
from collections.abc import Mapping, Sequence
from html import escape
from io import BytesIO
from pathlib import Path

import numpy as np
from PIL import Image

from tagmix.annotate import Region
from tagmix.report import figures, page
from tagmix.report.album_results import RGB, AlbumResults, Case, Score, TagPatches
from tagmix.report.overlay import Mark, overlay
from tagmix.report.style import ACCENT, INK, MUTED, QUIET

WIDEST, HIGHEST = 480, 360  # pixels of a picture on the page
PHONE = 360
PATCH = 48
QUALITY = 85
FEWEST_RANKED, MOST_RANKED = 8, 12
NONE = "none of the tags"
COLUMNS = ("", "Top-{k} accuracy", "Regions right, no caption", "Regions right, caption given")
# The labels of methods; others are shown under their own names.
METHODS = {
    "tagmix": ("tagmix", "this model", "strong"),
    "tag frequency": ("Tag frequency", "always the most frequent tags", "quiet"),
    "chance": ("Chance", "random tags; of the caption, if given", "quiet"),
    "ceiling": ("Ceiling", "a perfect ranking of tags", "quiet"),
}
LINES = {"tagmix": (ACCENT, "-"), "tag frequency": (MUTED, "--"), "ceiling": (INK, ":")}


def album_page(results: AlbumResults, written_by: str) -> str:
    """Return the page; ``scores`` must have a "tagmix" and may have the other keys of ``METHODS``.

    Unknown parts are left out: marks and region scores without truth, sections without content. The history
    of the bound is that of the learner, in nats for all training pictures.
    """
    parts = (
        _head(results),
        _pictures(results),
        _numbers(results),
        _patches(results.tag_patches),
        _bound(results),
        f"<footer>{page.facts({**results.facts, 'Written by': written_by})}</footer>",
    )
    return page.document(f"tagmix: {results.title}", "\n".join(part for part in parts if part))


def _head(r: AlbumResults) -> str:
    story = (
        f"The model was trained on {r.n_train:,} pictures with {r.tags_per_picture:.1f} of {r.n_tags:,} tags "
        "each on average, without positions of the tags. It then tagged "
        f"{r.n_test:,} test pictures and every region in them."
    )
    eyebrow = "tagmix · tags for pictures, and for every region in them"
    return page.header(eyebrow, r.title, story) + page.tiles(_tiles(r))


def _tiles(r: AlbumResults) -> list[tuple[str, str, str]]:
    model = r.scores["tagmix"]
    frequency, ceiling = r.scores.get("tag frequency"), r.scores.get("ceiling")
    words = [f"top-{r.k} accuracy of whole pictures"]
    words += [f"the most frequent tags reach {_percent(frequency.top_k)}"] if frequency else []
    words += [f"a perfect ranking {_percent(ceiling.top_k)}"] if ceiling else []
    tiles = [(_percent(model.top_k), "; ".join(words), "")]
    chance = frequency or Score(0.0, None, None)
    if model.free is not None:
        words = [f"of the regions get the right tag out of {r.n_tags:,} without a caption"]
        words += _chance("the most frequent tag", chance.free)
        tiles.append((_percent(model.free), "; ".join(words), ""))
    if model.captioned is not None:
        words = ["of the regions get the right tag with the caption of the picture given"]
        words += _chance("the most frequent tag of the caption", chance.captioned)
        tiles.append((_percent(model.captioned), "; ".join(words), ""))
    return tiles


def _chance(what: str, share: float | None) -> list[str]:
    return [] if share is None else [f"{what} is right for {_percent(share)}"]


def _pictures(r: AlbumResults) -> str:
    if not r.cases:
        return ""
    legend = (
        f"{len(r.cases)} of the {r.n_test:,} test pictures, chosen at random. Each region shows its best tag "
        "without a caption; neighbouring regions with the same tag are merged, and small regions show their "
        "tag on hover. "
    )
    if any(not region.tags for case in r.cases for region in case.annotation.regions):
        legend += f"Regions without a tag are {NONE}; the lines between them are faint. "
    if any(any(case.truth) for case in r.cases):
        legend += "✗ marks a region with another true tag. "
    legend += "The bars are the probabilities of the tags: bold tags are shown"
    known = any(case.caption for case in r.cases)
    legend += "; ✓ marks tags of the caption, ✗ bold tags that are not in it." if known else "."
    if any(_omitted(case) for case in r.cases):
        legend += " Captions are incomplete: ○ marks tags that the picture shows and its caption lacks."
    cards = "\n".join(case_card(case) for case in r.cases)
    return page.section(
        "Test pictures", page.paragraph(legend, "legend"), f'<div class="cases">\n{cards}\n</div>'
    )


def case_card(case: Case) -> str:
    """Return one picture with its regions, the tags ranked, and its caption."""
    marks = _marks(case)
    height, width = case.image.shape[:2]
    scale = min(WIDEST / width, HIGHEST / height)
    size = (max(1.0, round(width * scale)), max(1.0, round(height * scale)))
    found = [guess.tag for guess in case.annotation.tags if guess.shown]
    name = Path(case.annotation.source).name
    # A phone shrinks wide pictures only; the style sheet enlarges their tags
    shot = "shot wide" if size[0] > PHONE else "shot"
    alt = f"{name}. Found: {', '.join(found) or 'no tag'}. {_alt(marks)}"
    image = (
        f'<img src="{_jpeg(case.image, size)}" width="{size[0]:.0f}" height="{size[1]:.0f}" '
        f'alt="{escape(alt, quote=True)}">'
    )
    return (
        f'<article class="card case"><h3><b>{escape(name)}</b>{_verdict(case, marks)}</h3>\n'
        f'<div class="{shot}" style="width:{size[0]:.0f}px">{image}'
        f"{overlay(case.labels, marks, size)}</div>\n"
        f'<div class="about">{_ranked(case)}{_caption(case, found)}</div></article>'
    )


def _marks(case: Case) -> list[Mark]:
    """Return the mark of each label; a label without an annotation is a region without a tag."""
    marks = []
    for k in range(int(case.labels.max(initial=-1)) + 1):
        region = case.annotation.regions[k] if k < len(case.annotation.regions) else None
        truth = case.truth[k] if k < len(case.truth) else ""
        best = region.tags[0][0] if region and region.tags else ""
        wrong = bool(truth and region and truth != best)
        shares = _shares(region)
        marks.append(Mark(best, wrong, f"{shares}; true tag {truth}" if wrong else shares))
    return marks


def _shares(region: Region | None) -> str:
    """Return the shares of a region in words."""
    if region is None:
        return "no tag"
    shares = [f"{tag} {share:.2f}" for tag, share in region.tags]
    return ", ".join(shares) or f"{NONE} {region.none:.2f}"


def _alt(marks: Sequence[Mark]) -> str:
    tags = dict.fromkeys(mark.tag or NONE for mark in marks)
    return f"Regions: {', '.join(tags)}." if tags else ""


def _verdict(case: Case, marks: Sequence[Mark]) -> str:
    known = [mark for mark, truth in zip(marks, case.truth, strict=False) if truth]
    right = sum(not mark.wrong for mark in known)
    kind = "regions of known tag" if len(known) < len(marks) else "regions"
    return f" <span>— {right} of {len(known)} {kind} right</span>" if known else ""


def _ranked(case: Case) -> str:
    guesses = case.annotation.tags
    n_shown = max((k + 1 for k, guess in enumerate(guesses) if guess.shown), default=0)
    most = min(max(FEWEST_RANKED, n_shown), MOST_RANKED)
    return page.ranking(guesses[:most], case.caption, _omitted(case))


def _omitted(case: Case) -> set[str]:
    """Return the selected tags that the picture is known to show and its caption, if any, lacks."""
    found = {guess.tag for guess in case.annotation.tags if guess.shown} if case.caption else set()
    return (found & {*case.visible}) - {*case.caption}


def _caption(case: Case, found: Sequence[str]) -> str:
    if not case.caption:
        return ""
    missed = [tag for tag in case.caption if tag not in found]
    named = f"<br>Missed: {page.names(missed, 'miss')}" if missed else "<br>None missed."
    return f"<p>Caption: {page.names(case.caption)}{named}</p>"


def _numbers(r: AlbumResults) -> str:
    n_columns = 1 + any(s.free is not None for s in r.scores.values())
    n_columns += any(s.captioned is not None for s in r.scores.values())
    rows = [
        page.Row(*_method(key)[:2], score[:n_columns], _method(key)[2]) for key, score in r.scores.items()
    ]
    note = (
        f"On {r.n_test:,} test pictures. Top-k accuracy is the micro-averaged F1 of the k best tags; a "
        "perfect ranking stays below 1, because pictures have more or fewer than k tags."
    )
    table = page.table([head.format(k=r.k) for head in COLUMNS[: n_columns + 1]], rows) + page.paragraph(
        note, "note"
    )
    return page.section("Accuracy", page.columns(*_curves(r.curves, r.k), table))


def _curves(curves: Mapping[str, Sequence[float]], k: int) -> list[str]:
    drawn = [
        figures.Curve(_method(key)[0], np.asarray([points], dtype=np.float64), *LINES.get(key, (QUIET, "-")))
        for key, points in curves.items()
        if len(points)
    ]
    caption = f"Top-k accuracy by the number of tags shown; the dots are at k = {k}, as in the table."
    return [page.figure(figures.topk_curve(drawn, k), caption)] if drawn else []


def _method(key: str) -> tuple[str, str, str]:
    return METHODS.get(key, (key, "", ""))


def _patches(found: Sequence[TagPatches]) -> str:
    if not found:
        return ""
    legend = (
        "The patches of training pictures that contribute most to each tag. The positions of tags were not "
        "given in training."
    )
    rows = "".join(
        f'<dt title="{escape(own.tag, quote=True)}"><bdi>{escape(own.tag)}</bdi></dt><dd>'
        + "".join(f'<img src="{_jpeg(patch, (PATCH, PATCH))}" alt="">' for patch in own.patches)
        + "</dd>"
        for own in found
    )
    return page.section("Typical patches", page.paragraph(legend, "legend"), f'<dl class="looks">{rows}</dl>')


def _bound(r: AlbumResults) -> str:
    if not len(r.bound):
        return ""
    caption = (
        f"The lower bound of the likelihood over {len(r.bound)} iterations of training, which stops when the "
        "bound converges."
    )
    drawn = figures.bound_curve({"this model": r.bound}, max(1, r.n_train), "picture")
    return page.section("Training", page.figure(drawn, caption))


def _percent(share: float) -> str:
    return f"{100 * share:.{0 if share >= 0.1 else 1}f} %"


def _jpeg(image: RGB, size: tuple[float, float]) -> str:
    """Return the picture as a data URI, shrunk to this size and never enlarged."""
    small = Image.fromarray(np.ascontiguousarray(image))
    small.thumbnail(size, Image.Resampling.LANCZOS)
    stream = BytesIO()
    small.save(stream, "JPEG", quality=QUALITY, optimize=True)
    return f"data:image/jpeg;base64,{base64.b64encode(stream.getvalue()).decode('ascii')}"
