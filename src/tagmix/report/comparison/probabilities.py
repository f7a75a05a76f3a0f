"""Calibration: predicted probabilities against observed frequencies, and the tags selected by them."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import isnan

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, PercentFormatter

from tagmix.evaluation.blocks import Parts, quotient
from tagmix.evaluation.probabilities import Bins
from tagmix.report import figures, page
from tagmix.report.comparison.charts import BOTTOM, TOP, Drawn, LineStyle, line_styles, named
from tagmix.report.comparison.intervals import Unit, interval, joined
from tagmix.report.comparison.levels import level_table
from tagmix.report.comparison.names import in_order, label, strong
from tagmix.report.comparison.samples import Group, MethodSample, Samples
from tagmix.report.comparison.tables import NONE, number, span
from tagmix.report.figures import WIDTH
from tagmix.report.page import Cell, Line
from tagmix.report.style import INK, LINE, MUTED

SQUARE, STRIP, BETWEEN, LEFT, RIGHT = 3.6, 0.8, 0.22, 0.78, 0.2  # inches
CAPTION = (
    "Above: predicted probability against the share of right tags, over all pairs of picture and tag, in ten "
    "bins. On the diagonal, tags with probability 70 % are right 7 times in 10; below it, probabilities are "
    "too high. Bars are 95 % intervals for independent pairs. Below: the number of pairs per bin, on a "
    "logarithmic scale."
)
ERROR_NOTE = "mean difference between predicted and observed frequency over all pairs; 0 is best"


def probability_samples(group: Group) -> Samples:
    """Return the methods with probabilities, in the order of legends."""
    whole = group.whole
    return {name: whole[name] for name in in_order(whole) if whole[name].knows_probabilities}


@dataclass(frozen=True)
class Diagram(Drawn):
    """The reliability diagram of some methods, with the number of pairs per bin."""

    bins: Mapping[str, Bins]
    styles: Mapping[str, LineStyle]

    @property
    def alt(self) -> str:
        """The text alternative."""
        lines = [
            f"{named(name)}: "
            + ", ".join(
                f"{x:.2f} predicted and {y:.2f} observed of {n:,}"
                for x, y, n in zip(*points(own), strict=True)
            )
            for name, own in self.bins.items()
        ]
        return f"Reliability diagram of the probabilities of tags. {'; '.join(lines)}."

    def _figure(self) -> Figure:
        height = TOP + SQUARE + BETWEEN + STRIP + BOTTOM
        figure = Figure(figsize=(WIDTH, height))
        left, wide = LEFT / WIDTH, (WIDTH - LEFT - RIGHT) / WIDTH
        square = figure.add_axes((left, (BOTTOM + STRIP + BETWEEN) / height, wide, SQUARE / height))
        strip = figure.add_axes((left, BOTTOM / height, wide, STRIP / height))
        square.plot([0, 1], [0, 1], color=INK, linewidth=1.2, linestyle=":", label="perfect calibration")
        for place, (name, own) in enumerate(self.bins.items()):
            _dots(square, named(name), own, self.styles[name])
            _pillars(strip, own, self.styles[name], place, len(self.bins))
        _finish(square, strip)
        return figure


def points(bins: Bins) -> figures.ReliabilityPoints:
    """Return mean probability, share right and number of pairs of each bin that is not empty.

    >>> points(Bins(np.array([4.0, 0.0]), np.array([1.0, 0.0]), np.array([2.0, 0.0]))).right.tolist()
    [0.5]
    """
    full = bins.pairs > 0
    pairs = bins.pairs[full]
    return figures.ReliabilityPoints(
        bins.said[full] / pairs, bins.right[full] / pairs, pairs.astype(np.int64)
    )


def _dots(axes: Axes, name: str, bins: Bins, look: LineStyle) -> None:
    said, right, pairs = points(bins)
    axes.vlines(said, *figures.wilson(right, pairs), color=look.colour, linewidth=4, alpha=0.25, zorder=2)
    axes.plot(said, right, linestyle=look.dash, color=look.colour, linewidth=1.6, marker=look.marker,
              markersize=5, label=name, clip_on=False, zorder=3)  # fmt: skip


def _pillars(axes: Axes, bins: Bins, look: LineStyle, place: int, of: int) -> None:
    """Draw the number of pairs per bin, methods side by side."""
    width = 0.86 / len(bins.pairs) / of
    edges = np.arange(len(bins.pairs)) / len(bins.pairs)
    axes.bar(edges + 0.07 / len(bins.pairs) + place * width, bins.pairs, width, align="edge",
             color=look.colour, alpha=0.75)  # fmt: skip


def _finish(square: Axes, strip: Axes) -> None:
    """Set scales and labels of both axes; a bin of one pair is visible too."""
    square.set(xlim=(0, 1), ylim=(0, 1), ylabel="share right")
    strip.set_yscale("log")
    strip.set(xlim=(0, 1), ylim=(0.5, max(10.0, 1.5 * strip.dataLim.y1)), ylabel="pairs")
    strip.set_xlabel("predicted probability")
    ticks = np.linspace(0, 1, 6)
    for axes in (square, strip):
        axes.set_axisbelow(True)
        axes.grid(axis="y", color=LINE, linewidth=0.7)
        axes.set_xticks(ticks)
    square.set_yticks(ticks)
    square.tick_params(labelbottom=False)
    for axis in (square.yaxis, strip.xaxis):
        axis.set_major_formatter(PercentFormatter(1, symbol=" %"))
    strip.minorticks_off()
    strip.yaxis.set_major_formatter(FuncFormatter(lambda n, _: f"{n:,.0f}"))
    square.legend(frameon=False, loc="upper left", fontsize=9.5, labelcolor=INK)
    strip.tick_params(axis="y", labelsize=8.5, colors=MUTED)


def diagram(group: Group) -> Diagram | None:
    """Return the reliability diagram of a group; None if no method has probabilities."""
    samples = probability_samples(group)
    bins = {name: sample.bins for name, sample in samples.items()}
    return Diagram(bins, line_styles(bins, strong(group))) if bins else None


def probabilities(group: Group) -> str:
    """Return the part on calibration and selected tags; empty if no method has probabilities."""
    drawn, samples = diagram(group), probability_samples(group)
    if drawn is None:
        return ""
    lines = [page.paragraph(calibration_line(name, sample.bins), "said") for name, sample in samples.items()]
    parts = page.figure(drawn.svg, CAPTION), selection_table(samples)
    # A table of several methods has no room beside the figure
    beside = [page.columns(*parts)] if len(samples) == 1 else parts
    return page.subsection("Probabilities", *lines, *beside, *map(level_table, samples.values()))


def calibration_line(name: str, bins: Bins) -> str:
    """Return one bin in words: the fullest of those above one half, or the highest that is not empty.

    >>> calibration_line("KNN", Bins(np.array([9.0, 4.0]), np.array([1.0, 3.0]), np.array([1.0, 2.0])))
    'KNN: of the tags with probability 50 to 100 % (75 % on average), 50 % are right (2 of 4).'
    """
    n = len(bins.pairs)
    high = np.where(2 * np.arange(n) >= n, bins.pairs, 0)
    i = int(np.argmax(high)) if high.any() else int(np.flatnonzero(bins.pairs)[-1])
    pairs, right = bins.pairs[i], bins.right[i]
    return (
        f"{label(name).name}: of the tags with probability {100 * i / n:.0f} to {100 * (i + 1) / n:.0f} % "
        f"({100 * bins.said[i] / pairs:.0f} % on average), {100 * right / pairs:.0f} % are right "
        f"({right:,.0f} of {pairs:,.0f})."
    )


def selection_table(samples: Samples) -> str:
    """Return one column per method: calibration error, number and quality of the selected tags."""
    every = list(samples.values())
    k = min(sample.k for sample in every)
    given = quotient(joined([Parts(w.recall.weight, w.shown.weight) for w in every[0].selection.values()]))
    always = [sample.always() for sample in every]
    lines = [
        Line("Calibration error", ERROR_NOTE, [Cell(number(sample.bins.error)) for sample in every]),
        Line("Tags selected per picture", f"by default; captions have {given:.1f}",
             [_cell(sample, "shown", digits=1) for sample in every]),
        Line("Precision", "share of the selected tags that are right",
             [_cell(sample, "precision", f"with {k} per picture: {number(p)}")
              for sample, (p, _) in zip(every, always, strict=True)]),
        Line("Recall", "share of the right tags that are selected",
             [_cell(sample, "recall", f"with {k} per picture: {number(r)}")
              for sample, (_, r) in zip(every, always, strict=True)]),
        Line("Pictures without a tag", "no tag is probable enough",
             [_none_cell(sample) for sample in every]),
    ]  # fmt: skip
    return page.grid(["", *(label(name).name for name in samples)], lines)


def _cell(sample: MethodSample, measure: str, more: str = "", digits: int = 3) -> Cell:
    """Return a metric of the selected tags with its interval, and a bar if it is a share."""
    parts: dict[Unit, Parts] = {unit: getattr(own, measure) for unit, own in sample.selection.items()}
    mean, low, high = interval(parts)
    if isnan(mean):
        return Cell(NONE, "nothing is selected")
    small = "; ".join(filter(None, (span(low, high, digits), more)))
    if measure == "shown":
        return Cell(number(mean, digits), small)
    return Cell(number(mean, digits), small, mean, "text", (low, high))


def _none_cell(sample: MethodSample) -> Cell:
    none = joined([selection.none for selection in sample.selection.values()])
    return Cell(f"{none.gain.sum():,.0f} of {none.weight.sum():,.0f}", share=quotient(none))
