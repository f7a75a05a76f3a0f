"""The line charts of a comparison: lines with their intervals, each labelled at its end."""

import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from io import BytesIO
from typing import Any, NamedTuple

import numpy as np
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator
from scipy.optimize import isotonic_regression

from tagmix.arrays import Floats
from tagmix.evaluation.significance import Interval
from tagmix.report.comparison.names import LABELS, in_order, label
from tagmix.report.figures import STYLE, WIDTH, svg
from tagmix.report.style import ACCENT, INK, LINE, MUTED, PAPER, WARM

HEIGHT = 3.1  # inches of the axes, more where many lines are named
LEFT, BOTTOM, TOP = 0.62, 0.52, 0.28
LETTER, LEADER, GAP = 0.076, 0.3, 0.172  # inches: a letter, from a line to its name, from name to name
DPI = 150
LONGEST_NAME = 20
MOST_AT_ENDS = 6


class LineStyle(NamedTuple):
    """How a method is drawn, the same in every figure."""

    colour: str
    dash: Any
    marker: str
    strong: bool = False


# Distinct in hue, lightness and marker: no pair differs in red against green alone.
STRONG = {
    "EMM_d": LineStyle(WARM, "-", "o", True),
    "EMM_m": LineStyle(ACCENT, "-", "s", True),
    "DBA": LineStyle("#d19a1a", "-", "^", True),
    "CorrLDA": LineStyle("#2b8a78", "-", "D", True),
}
DASHES = ((0, (5, 1.5)), (0, (1.2, 1.2)), (0, (6, 1.5, 1.2, 1.5)), (0, (3, 1)), (0, (8, 2, 1, 1, 1, 2)))
GREYS = ("#4a5560", "#8a949e", "#6a7684")
MARKERS = "vPX<>*hp8d"


def line_styles(names: Iterable[str], strong: Iterable[str] = tuple(STRONG)) -> dict[str, LineStyle]:
    """Return how each method is drawn: emphasised ones in colour, the others in dashed greys.

    The paper's four have fixed colours. All known methods take part, so that a method looks the same in every
    figure.
    """
    free = iter(STRONG.values())
    coloured = {name: STRONG[name] if name in STRONG else next(free) for name in strong}
    others = [name for name in in_order({*LABELS, *names}) if name not in coloured]
    greys = {
        name: LineStyle(GREYS[i % len(GREYS)], DASHES[i % len(DASHES)], MARKERS[i % len(MARKERS)])
        for i, name in enumerate(others)
    }
    return {**coloured, **greys}


def named(name: str) -> str:
    """Return the label of a method's line; a very long one is shortened."""
    shown = label(name).name
    return shown if len(shown) <= LONGEST_NAME else f"{shown[: LONGEST_NAME - 1]}…"


class Trace(NamedTuple):
    """One method's line: its places, and the interval at each."""

    method: str
    x: Sequence[float]
    y: Sequence[Interval]


@dataclass(frozen=True)
class Panel:
    """One pair of axes: lines, their labels, and the ceiling (places, values) if there is one."""

    traces: Sequence[Trace]
    x_label: str
    y_label: str
    title: str = ""
    ceiling: tuple[Sequence[float], Sequence[float]] | None = None
    log: bool = False
    bars: bool = False
    by: int | None = None  # the place whose values order the labels; None: labels are at the ends of lines

    @property
    def named_apart(self) -> bool:
        """Whether labels form a column, because the ends of lines are many or close together."""
        return self.by is not None or len(self.traces) > MOST_AT_ENDS

    @property
    def height(self) -> float:
        """Inches of the axes: each label needs a line."""
        return max(HEIGHT, GAP * (len(self.traces) + 1.5))

    @property
    def margin(self) -> float:
        """Inches for the labels at the right."""
        return LEADER + LETTER * max([7, *(len(named(t.method)) for t in self.traces)])

    @property
    def alt(self) -> str:
        """The text alternative."""
        lines = [
            f"{named(t.method)} from {t.y[0].mean:.3f} at {t.x[0]:g} to {t.y[-1].mean:.3f} at {t.x[-1]:g}"
            for t in self.traces
        ]
        return f"{self.y_label} against {self.x_label}: {'; '.join(lines)}."


class Drawn(ABC):
    """A figure as an SVG element for a page, and as PNG."""

    @property
    @abstractmethod
    def alt(self) -> str:
        """The text alternative."""

    @abstractmethod
    def _figure(self) -> Figure: ...

    @cached_property
    def svg(self) -> str:
        """An SVG element with a description."""
        with rc_context(STYLE), _quiet():
            return svg(self._figure(), self.alt)

    def png(self) -> bytes:
        """Return the figure as PNG with a background."""
        stream = BytesIO()
        with rc_context(STYLE), _quiet():
            self._figure().savefig(
                stream, format="png", dpi=DPI, bbox_inches="tight", pad_inches=0.15, facecolor=PAPER
            )
        return stream.getvalue()


@dataclass(frozen=True)
class Drawing(Drawn):
    """Panels of lines."""

    panels: Sequence[Panel]
    styles: Mapping[str, LineStyle]

    @property
    def alt(self) -> str:
        """The text alternative."""
        return "Line chart. " + " ".join(panel.alt for panel in self.panels)

    def _figure(self) -> Figure:
        """Return the panels side by side; sizes are fixed in inches, so that labels can be placed."""
        tall = max(panel.height for panel in self.panels)
        figure = Figure(figsize=(WIDTH * len(self.panels), tall + BOTTOM + TOP))
        width, height = figure.get_size_inches()
        for i, panel in enumerate(self.panels):
            left = i * WIDTH + LEFT
            wide = WIDTH - LEFT - panel.margin
            axes = figure.add_axes((left / width, BOTTOM / height, wide / width, tall / height))
            _draw(axes, panel, self.styles, tall)
        return figure


@contextmanager
def _quiet() -> Iterator[None]:
    """Suppress warnings about missing glyphs: in a page the reader's fonts have them."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "(Glyph|Matplotlib currently does not support)")
        yield


def _draw(axes: Axes, panel: Panel, styles: Mapping[str, LineStyle], tall: float) -> None:
    axes.grid(axis="y", color=LINE, linewidth=0.7)
    axes.set_axisbelow(True)
    if panel.log:
        axes.set_xscale("log")
        places = sorted({x for trace in panel.traces for x in trace.x})
        axes.set_xticks(_apart(places))
        axes.minorticks_off()
        axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:,g}"))
    elif panel.by is not None:
        last = int(max(trace.x[-1] for trace in panel.traces))
        axes.set_xticks([k for k in (1, 5, 10, 20, 30, 40) if k <= last] if last > 10 else range(1, last + 1))
    else:
        axes.xaxis.set_major_locator(MaxNLocator(integer=panel.bars, nbins=6))
    if panel.ceiling:
        axes.plot(*panel.ceiling, color=INK, linewidth=1.2, linestyle=":", zorder=2)
    for trace in reversed(panel.traces):
        _line(axes, trace, styles[trace.method], panel.bars)
    axes.set_title(panel.title)
    axes.set_xlabel(panel.x_label)
    axes.set_ylabel(panel.y_label)
    axes.margins(x=0.02, y=0.06)
    axes.autoscale_view()  # now, because labels are placed by the ends of lines
    axes.set(xlim=axes.get_xlim(), ylim=axes.get_ylim())
    _names(axes, panel, styles, tall)


def _apart(places: Sequence[float], least: float = 0.13) -> list[float]:
    """Return the places whose tick labels do not overlap on a logarithmic axis."""
    whole = np.log(places[-1] / places[0]) or 1.0
    kept = [places[-1]]
    for place in reversed(places[:-1]):
        if np.log(kept[-1] / place) / whole >= least:
            kept.append(place)
    return kept


def _line(axes: Axes, trace: Trace, look: LineStyle, bars: bool) -> None:
    mean, low, high = (np.array([getattr(y, end) for y in trace.y]) for end in ("mean", "low", "high"))
    every = max(1, len(mean) // 6)
    order = 4 if look.strong else 3
    width, size = (2.0, 4.5) if look.strong else (1.3, 3.8)
    axes.plot(trace.x, mean, linestyle=look.dash, color=look.colour, linewidth=width, marker=look.marker,
              markersize=size, markevery=every, zorder=order)  # fmt: skip
    if look.strong:
        axes.fill_between(trace.x, low, high, color=look.colour, alpha=0.13, linewidth=0, zorder=1)
    elif bars:
        axes.vlines(trace.x, low, high, color=look.colour, linewidth=0.9, alpha=0.45, zorder=1)


def _names(axes: Axes, panel: Panel, styles: Mapping[str, LineStyle], tall: float) -> None:
    """Write the label of each line at the right: beside its end, or in a column from best to worst."""
    place = -1 if panel.by is None else panel.by
    ends = [(t.method, float(t.x[-1]), t.y[min(place, len(t.y) - 1)].mean) for t in panel.traces]
    if panel.ceiling:
        ends.append(("", float(panel.ceiling[0][-1]), float(panel.ceiling[1][place])))
    ends.sort(key=lambda end: end[2])
    at = np.array([(axes.transData + axes.transAxes.inverted()).transform(end[1:]) for end in ends])
    gap = GAP / tall
    column = 1 - gap * (len(ends) - 0.5 - np.arange(len(ends)))
    places = column if panel.named_apart else spread(at[:, 1], gap)
    reach = LEADER / (WIDTH - LEFT - panel.margin)
    for (name, _, _), start, y in zip(ends, at, places, strict=True):
        look = styles[name] if name else LineStyle(INK, ":", "")
        first = (1 + 0.05 * reach, y) if panel.named_apart else tuple(start)
        bend = [first[0], 1 + 0.45 * reach, 1 + 0.85 * reach], [first[1], y, y]
        width = 2.0 if look.strong and panel.named_apart else 1.1
        axes.plot(*bend, color=look.colour, linewidth=width, linestyle=look.dash, clip_on=False, zorder=2,
                  transform=axes.transAxes, marker=look.marker, markevery=[1], markersize=3.8)  # fmt: skip
        axes.text(1 + 1.05 * reach, y, named(name) if name else "ceiling", va="center", fontsize=9.5,
                  transform=axes.transAxes, color=INK if look.strong else MUTED)  # fmt: skip


def spread(wanted: Any, gap: float) -> Floats:
    """Return places in 0 … 1 at least a gap apart and as near as possible to those wanted, which ascend.

    >>> spread([0.5, 0.5, 0.9], 0.2).round(2).tolist()
    [0.4, 0.6, 0.9]
    """
    steps = gap * np.arange(len(wanted))
    near = isotonic_regression(np.asarray(wanted, dtype=np.float64) - steps).x
    return np.asarray(np.clip(near, 0.0, max(0.0, 1.0 - steps[-1])) + steps)
