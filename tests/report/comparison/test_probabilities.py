"""Reliability: points are bins counted by hand, folds are pooled, and what is shown is counted as it is."""

import json
from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest

from tagmix.comparison.records import Probabilities, Record, Task
from tagmix.evaluation.blocks import quotient
from tagmix.evaluation.probabilities import Bins
from tagmix.report.comparison.files import write_report
from tagmix.report.comparison.page import comparison_figures, comparison_page
from tagmix.report.comparison.probabilities import (
    calibration_line,
    diagram,
    points,
    probabilities,
    probability_samples,
    selection_table,
)
from tagmix.report.comparison.samples import MethodSample, groups
from tests.report.comparison.makers import compared, record, saying
from tests.report.comparison.test_page import WORDS, headings
from tests.report.comparison.test_tables import by_name
from tests.report.test_album_page import read


def hand(part, captions, said, shown):
    """Return a record of pictures with three tags whose probabilities are given, in bins by a loop."""
    pairs, total, right = [0] * 10, [0.0] * 10, [0] * 10
    for own, row in zip(captions, said, strict=True):
        for tag, p in enumerate(row):
            i = min(int(10 * p), 9)
            pairs[i], total[i], right[i] = pairs[i] + 1, total[i] + p, right[i] + (tag in own)
    ids = [f"{part}/{i}" for i in range(len(captions))]
    top = [[0, 1, 2] for _ in captions]
    own = Probabilities(pairs, total, right, shown)
    task = Task("album", "EMM_calibrated", ("sift",), part)
    return Record(task, {}, [], {}, 10, ["a", "b", "c"], ids, captions, top, {}, None, {}, own)


# .72 and .78 are one bin of two folds: 75 % said, half right
FOLDS = [
    hand(0, [[0], [1, 2]], [[0.72, 0.02, 0.04], [0.0, 0.91, 0.34]], [[0], [1]]),
    hand(1, [[2]], [[0.06, 0.78, 1.0]], [[]]),
]


@pytest.fixture
def pooled():
    (group,) = groups(FOLDS)
    return group


def test_points_are_the_bins_of_all_folds_together(pooled):
    bins = diagram(pooled).bins["EMM_calibrated"]
    said, right, pairs = points(bins)
    np.testing.assert_allclose(said, [0.03, 0.34, 0.75, 0.955], rtol=1e-12)
    np.testing.assert_allclose(right, [0.0, 1.0, 0.5, 1.0], rtol=1e-12)
    assert pairs.tolist() == [4, 1, 2, 2]
    assert bins.error == pytest.approx((0.12 + 0.66 + 0.5 + 0.09) / 9, rel=1e-12)


def test_the_diagram_draws_a_dot_a_point_where_it_belongs_and_a_pillar_a_bin(pooled):
    square, strip = diagram(pooled)._figure().axes
    (line,) = [line for line in square.lines if line.get_label() == "EMM calibrated"]
    np.testing.assert_allclose(line.get_xdata(), [0.03, 0.34, 0.75, 0.955], rtol=1e-12)
    np.testing.assert_allclose(line.get_ydata(), [0.0, 1.0, 0.5, 1.0], rtol=1e-12)
    heights = [pillar.get_height() for pillar in strip.patches]
    assert heights == [4, 0, 0, 1, 0, 0, 0, 2, 0, 2]
    assert [pillar.get_x() > i / 10 for i, pillar in enumerate(strip.patches)] == 10 * [True]
    assert strip.get_yscale() == "log"
    assert [[0, 0], [1, 1]] in [line.get_xydata().tolist() for line in square.lines]  # the diagonal


def test_the_diagram_says_in_words_what_it_shows(pooled):
    root = ElementTree.fromstring(diagram(pooled).svg)
    assert "0.75 predicted and 0.50 observed of 2" in root.get("aria-label")
    texts = "".join(root.itertext())
    assert "EMM calibrated" in texts
    assert "mathdefault" not in texts  # formulas are not set, so no scale may be made of them
    assert diagram(pooled).png().startswith(b"\x89PNG")


def test_the_sentence_is_about_the_fullest_bin_above_a_half(pooled):
    assert calibration_line("EMM_calibrated", pooled.whole["EMM_calibrated"].bins) == (
        "EMM calibrated: of the tags with probability 70 to 80 % (75 % on average), 50 % are right (1 of 2)."
    )
    modest = Bins(np.array([50.0, 8, 0, 0]), np.array([1.0, 3, 0, 0]), np.array([2.0, 4, 0, 0]))
    assert "25 to 50 % (38 % on average), 50 % are right (4 of 8)" in calibration_line("KNN", modest)


def test_the_table_has_what_is_shown_beside_as_many_for_every_picture(pooled):
    table = {
        name: values[0] for name, values in by_name(selection_table(probability_samples(pooled))).items()
    }
    assert table["Calibration error"] == f"{1.37 / 9:.3f}"
    assert table["Tags selected per picture"].startswith("0.7|")  # 2 on 3 pictures
    assert table["Precision"].startswith("1.000|")
    assert "with 1 per picture: 0.333" in table["Precision"]  # the tag a, which one of three has
    assert table["Recall"].startswith("0.500|")  # 2 of 4
    assert "with 1 per picture: 0.250" in table["Recall"]
    assert table["Pictures without a tag"] == "1 of 3"


def test_nothing_shown_has_a_dash_for_its_precision():
    bare = replace(FOLDS[0], probabilities=replace(FOLDS[0].probabilities, shown=[[], []]))
    (group,) = groups([bare])
    table = by_name(selection_table(probability_samples(group)))
    assert table["Precision"] == ["–|nothing is selected"]
    assert table["Pictures without a tag"] == ["2 of 2"]


def test_a_picture_tested_by_several_draws_is_one_picture_with_all_its_tags():
    sample = MethodSample("EMM_calibrated", (FOLDS[0], FOLDS[0]))
    (selection,) = sample.selection.values()
    assert selection.shown.gain.tolist() == [2, 2]
    assert selection.shown.weight.tolist() == [2, 2]
    assert quotient(selection.precision) == 1.0
    assert sample.bins.pairs.sum() == 12


def test_a_method_some_of_whose_folds_lack_probabilities_is_left_out():
    old = replace(FOLDS[1], probabilities=None)
    (group,) = groups([FOLDS[0], old])
    assert probability_samples(group) == {}
    assert diagram(group) is None
    assert probabilities(group) == ""


def test_a_page_has_probabilities_only_where_a_method_says_some():
    plain = compared({"KNN": 1.0, "frequency": 0.0})
    assert "Probabilities" not in headings(comparison_page(plain, **WORDS))
    ours = saying(record(Task("album", "EMM_calibrated", ("sift",)), 0.8))
    text = comparison_page([*plain, ours], **WORDS)
    assert headings(text).count("Probabilities") == 1
    told = read(text).text.replace("\u00a0", " ")
    assert "EMM calibrated: of the tags with probability 80 to 90 % (85 % on average)" in told
    assert "probabilities-album" in comparison_figures([*plain, ours])


def test_two_methods_share_a_diagram_and_a_name_stays_text():
    name = "<script>alert('x')</script>"
    made = [saying(record(Task("album", own, ("sift",)), 0.8), 0.4) for own in ("EMM_calibrated", name)]
    text = comparison_page(made, **WORDS)
    assert "script" not in read(text).tags
    (group,) = groups(made)
    assert list(diagram(group).bins) == ["EMM_calibrated", name]
    assert len(by_name(probabilities(group))["Precision"]) == 2


def test_the_numbers_are_in_the_file_of_results_without_what_has_no_value(tmp_path):
    silent = saying(record(Task("album", "EMM_calibrated", ("sift",)), 0.8), shown=0)
    plain = record(Task("album", "KNN", ("sift",)), 0.8)
    write_report(tmp_path, [silent, plain], [], title="T", lead="L", pictures=False)
    first, second = json.loads((tmp_path / "results.json").read_text())["results"]
    assert second["probabilities"] is None
    said = first["probabilities"]
    assert said["calibration_error"] == pytest.approx(silent.probabilities.bins.error)
    assert (said["precision"], said["recall"], said["shown"], said["none"]) == (None, 0.0, 0.0, 1.0)
    assert sum(said["bins"]["pairs"]) == 60 * 30
