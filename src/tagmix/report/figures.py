"""Draw results as SVG strings with searchable text.

Each figure is at most 5.4 inches wide: on a phone it shrinks to three quarters and stays readable.
"""

import re
from collections.abc import Mapping, Sequence
from html import escape
from io import StringIO
from typing import Any, NamedTuple

import numpy as np
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from tagmix.arrays import Floats, Ints
from tagmix.report.style import ACCENT, INK, LINE, MUTED, QUIET, WARM

WIDTH = 5.4
STYLE: dict[Any, Any] = {
    "svg.fonttype": "none",
    "font.family": "sans-serif",
    "font.size": 11,
    "text.color": INK,
    # A tag such as "$x$" or "_" is a name, not a formula.
    "text.parse_math": False,
    "axes.edgecolor": MUTED,
    "axes.labelcolor": INK,
    "axes.linewidth": 0.8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 11,
    "axes.titlelocation": "left",
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "xtick.labelsize": 10,
    "ytick.labelsize": 10,
    "lines.linewidth": 2.0,
}
HEAT = LinearSegmentedColormap.from_list("tagmix", ["#f4f1ea", "#a9c4d6", ACCENT, "#12324a"])
NO_METADATA = dict.fromkeys(("Date", "Creator", "Format", "Type"))


class Curve(NamedTuple):
    """One line of a chart: its name, one or more runs (runs × points) and how it is drawn."""

    name: str
    runs: Floats
    colour: str = ACCENT
    dash: str = "-"


def svg(figure: Figure, alt: str) -> str:
    """Return the figure as an SVG element for a page, with ``alt`` as its text alternative.

    Unused ids are removed: two figures in a page would share them.
    """
    stream = StringIO()
    with rc_context({**STYLE, "svg.hashsalt": alt}):
        how: dict[str, Any] = {
            "bbox_inches": "tight",
            "pad_inches": 0.04,
            "transparent": True,
            "metadata": NO_METADATA,
        }
        figure.savefig(stream, format="svg", **how)
    text = stream.getvalue()
    text = text[text.index("<svg") :]
    used = set(re.findall(r'(?:url\(|href=")#([^)"]+)', text))
    text = re.sub(r' id="([^"]+)"', lambda found: found[0] if found[1] in used else "", text)
    label = escape(alt, quote=True)
    return text.replace("<svg", f'<svg role="img" aria-label="{label}"', 1).strip()


def bound_curve(histories: Mapping[str, Sequence[float]], n_regions: int, unit: str = "region") -> str:
    """Return the bound of each training against its iterations, in nats per region.

    With another ``unit``, such as pictures, ``n_regions`` is their number.
    """
    with rc_context(STYLE):
        figure, axes = _chart(3.1)
        for (name, history), colour in zip(histories.items(), (ACCENT, WARM, MUTED), strict=False):
            points = np.asarray(history) / n_regions
            steps = np.arange(1, len(points) + 1)
            axes.plot(steps, points, color=colour, marker="o", markersize=3.5, clip_on=False)
            axes.annotate(name, (steps[-1], points[-1]), (-2, -14), textcoords="offset points",
                          color=colour, ha="right")  # fmt: skip
        axes.margins(y=0.15)
        axes.set_xlabel("iteration")
        axes.set_ylabel(f"bound, nats per {unit}")
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        ends = "; ".join(f"{name} from {h[0] / n_regions:.2f} to {h[-1] / n_regions:.2f}"
                         for name, h in histories.items())  # fmt: skip
        return svg(figure, f"Line chart of the bound in nats per {unit}: {ends}.")


def recovery_curve(overlaps: Sequence[float], curves: Sequence[Curve], chance: float) -> str:
    """Return region accuracy against the overlap of topics: a line through the mean, a dot for each run."""
    with rc_context(STYLE):
        figure, axes = _chart(3.3)
        for curve in curves:
            mean = curve.runs.mean(axis=0)
            axes.plot(overlaps, mean, curve.dash, color=curve.colour, label=curve.name)
            for run in curve.runs:
                axes.plot(overlaps, run, "o", color=curve.colour, markersize=3, alpha=0.5, clip_on=False)
        axes.axhline(chance, color=MUTED, linewidth=1.0, linestyle="--", label=f"chance, {chance:.3f}")
        axes.set_ylim(0, 1.02)
        axes.set_xlim(-0.02, 1.0)
        axes.set_xlabel("overlap of the tags' words")
        axes.set_ylabel("regions with the right tag")
        axes.legend(frameon=False, loc="center left", bbox_to_anchor=(0.0, 0.5), fontsize=10)
        told = "; ".join(f"{c.name} from {c.runs.mean(0)[0]:.2f} at overlap {overlaps[0]:g} to "
                         f"{c.runs.mean(0)[-1]:.2f} at {overlaps[-1]:g}" for c in curves)  # fmt: skip
        return svg(figure, f"Line chart of region accuracy against overlap: {told}.")


def topk_curve(curves: Sequence[Curve], k: int = 5) -> str:
    """Return top-k accuracy against the number of tags shown, with a dot at k."""
    with rc_context(STYLE):
        figure, axes = _chart(3.3)
        ends = []
        for curve in curves:
            mean = curve.runs.mean(axis=0)
            steps = np.arange(1, len(mean) + 1)
            axes.plot(steps, mean, curve.dash, color=curve.colour, label=curve.name, zorder=3)
            quoted = slice(k - 1, k)
            axes.plot(steps[quoted], mean[quoted], "o", color=curve.colour, markersize=6, zorder=4)
            best = int(np.argmax(mean))
            ends.append(f"{curve.name} at best {mean[best]:.2f} with {best + 1}")
        axes.set_ylim(0, 1.02)
        axes.set_xlabel("tags shown per picture")
        axes.set_ylabel("top-k accuracy")
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        # Below the axes no line can cross the legend
        figure.legend(frameon=False, loc="outside lower left", ncols=len(curves), fontsize=10)
        return svg(figure, f"Line chart of top-k accuracy against the tags shown: {'; '.join(ends)}.")


def word_maps(tags: Sequence[str], maps: Mapping[str, Floats]) -> str:
    """Return heat maps, tags × words, one below the other on one scale: the truth and what was found."""
    with rc_context(STYLE):
        height = 0.6 + len(maps) * (0.24 * len(tags) + 0.42)
        figure = Figure(figsize=(WIDTH, height), layout="constrained")
        rows = figure.subplots(len(maps), 1, sharex=True, squeeze=False)[:, 0]
        top = max(float(values.max(initial=0.0)) for values in maps.values()) or 1.0
        for axes, (name, values) in zip(rows, maps.items(), strict=True):
            image = axes.imshow(values, aspect="auto", cmap=HEAT, vmin=0, vmax=top, interpolation="none")
            axes.set_title(name)
            axes.set_yticks(range(len(tags)), tags)
            axes.tick_params(length=0)
            axes.spines[:].set_visible(False)
        rows[-1].set_xticks([])
        rows[-1].set_xlabel("words, grouped by the tag that owns them")
        bar = figure.colorbar(image, ax=list(rows), shrink=0.5, aspect=24, pad=0.02)
        bar.outline.set_visible(False)
        bar.ax.tick_params(length=0)
        bar.set_label("times as frequent as in all tags", color=MUTED, fontsize=10)
        return svg(figure, f"Heat maps of the words of {', '.join(tags)}: {', then '.join(maps)}.")


class ReliabilityPoints(NamedTuple):
    """Predictions in bins: their mean, the share that is right, and their number."""

    said: Floats
    right: Floats
    size: Ints


def reliability_bins(p: Floats, truth: Floats, edges: Floats) -> ReliabilityPoints:
    """Return the mean prediction and the observed frequency of each bin that is not empty.

    >>> reliability_bins(np.array([0.1, 0.2, 0.9]), np.array([0, 1, 1]), np.array([0, 0.5, 1])).right.tolist()
    [0.5, 1.0]
    """
    where = np.clip(np.searchsorted(edges, p.ravel(), side="right") - 1, 0, len(edges) - 2)
    size = np.bincount(where, minlength=len(edges) - 1)
    said = np.bincount(where, weights=p.ravel(), minlength=len(size))
    right = np.bincount(where, weights=truth.ravel(), minlength=len(size))
    full = size > 0
    return ReliabilityPoints(said[full] / size[full], right[full] / size[full], size[full])


def reliability(series: Mapping[str, ReliabilityPoints]) -> str:
    """Return the reliability diagram, with Wilson's 95 % intervals as bars.

    On the diagonal, a probability of .8 is right 8 times in 10.
    """
    with rc_context(STYLE):
        figure, axes = _chart(3.6)
        axes.plot([0, 1], [0, 1], color=LINE, linewidth=2.5, zorder=1, label="perfect calibration")
        told = []
        for (name, bins), colour in zip(series.items(), (ACCENT, MUTED, WARM), strict=False):
            axes.vlines(bins.said, *wilson(bins.right, bins.size), color=colour, linewidth=4, alpha=0.3)
            axes.plot(bins.said, bins.right, "o-", color=colour, markersize=4.5, label=name, clip_on=False)
            pairs = zip(bins.said, bins.right, strict=True)
            told.append(f"{name}: " + ", ".join(f"{s:.2f} predicted and {r:.2f} observed" for s, r in pairs))
        axes.set_xlim(0, 1)
        axes.set_ylim(0, 1)
        axes.set_xlabel("predicted probability")
        axes.set_ylabel("observed frequency")
        axes.legend(frameon=False, loc="upper left", fontsize=10)
        return svg(figure, f"Reliability diagram of the tag probabilities. {'; '.join(told)}.")


def counts_chart(name: str, found: Ints, reference_name: str, reference: Ints) -> str:
    """Return the distribution of the number of tags per picture: found as bars, true as a line."""
    top = int(max(found.max(initial=0), reference.max(initial=0)))
    with rc_context(STYLE):
        figure, axes = _chart(3.6)
        steps = np.arange(top + 1)
        axes.bar(steps, np.bincount(found, minlength=top + 1), width=0.72, color=QUIET, label=name)
        axes.plot(steps, np.bincount(reference, minlength=top + 1), "o-", color=INK, markersize=4,
                  linewidth=1.2, label=reference_name)  # fmt: skip
        axes.set_ylim(bottom=0)
        axes.set_xticks(steps)
        axes.set_xlabel("tags per picture")
        axes.set_ylabel("pictures")
        axes.legend(frameon=False, loc="upper left", fontsize=10)
        told = f"{name} on average {found.mean():.1f}, {reference_name} {reference.mean():.1f}"
        return svg(figure, f"Bar chart of the number of tags per picture: {told}.")


def _chart(height: float) -> tuple[Figure, Axes]:
    figure = Figure(figsize=(WIDTH, height), layout="constrained")
    axes = figure.subplots()
    axes.grid(axis="y", color=LINE, linewidth=0.7)
    axes.set_axisbelow(True)
    return figure, axes


def wilson(share: Floats, size: Ints, z: float = 1.96) -> tuple[Floats, Floats]:
    """Return the ends of Wilson's 95 % interval of shares."""
    centre = (share + z**2 / (2 * size)) / (1 + z**2 / size)
    half = z / (1 + z**2 / size) * np.sqrt(share * (1 - share) / size + z**2 / (4 * size**2))
    return centre - half, centre + half
