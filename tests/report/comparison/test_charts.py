"""Lines keep their names apart, their looks, and nothing of a name becomes markup."""

from html import unescape
from io import BytesIO
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from tagmix.evaluation.significance import Interval
from tagmix.report.comparison.charts import Drawing, Panel, Trace, line_styles, spread
from tagmix.report.comparison.curves import drawing, ranking_panel, region_panels, region_samples
from tagmix.report.comparison.names import LABELS
from tagmix.report.comparison.samples import groups
from tests.report.comparison.makers import compared

HOSTILE = "<script>alert('x')</script> \u202eRTL $x$"


def flat(names, height=0.5):
    panel = Panel([Trace(name, [1, 2], 2 * [Interval(height, 0.4, 0.6)]) for name in names], "x", "y")
    return Drawing([panel], line_styles(names))


@given(st.lists(st.floats(0, 1), min_size=1, max_size=16))
def test_names_are_a_gap_apart_and_inside(ends):
    places = spread(sorted(ends), 1 / 16)
    assert (np.diff(places) >= 1 / 16 - 1e-9).all()
    assert places.min() >= -1e-9
    assert places.max() <= 1 + 1e-9


def test_names_that_do_not_meet_stay_where_their_lines_end():
    assert spread([0.1, 0.5, 0.9], 0.1).tolist() == pytest.approx([0.1, 0.5, 0.9])


def test_no_two_methods_look_alike():
    styles = line_styles([*LABELS, "another"])
    assert len({(look.colour, str(look.dash), look.marker) for look in styles.values()}) == len(styles)


def test_a_method_looks_the_same_beside_any_others():
    assert line_styles(["KernelRidge"])["KernelRidge"] == line_styles(LABELS)["KernelRidge"]


def test_the_papers_methods_are_coloured_and_the_others_grey():
    for name, look in line_styles(LABELS).items():
        red, green, blue = (int(look.colour[i : i + 2], 16) for i in (1, 3, 5))
        assert look.strong == LABELS[name].paper == (max(red, green, blue) - min(red, green, blue) > 40)


def test_without_emm_the_best_method_and_ours_are_coloured():
    (group,) = groups(compared({"KNN": 1.0, "EMM_calibrated": 0.5, "DBA": 0.3, "frequency": 0.0}))
    styles = drawing(group, [ranking_panel(group)]).styles
    assert [name for name, look in styles.items() if look.strong] == ["KNN", "EMM_calibrated"]
    assert styles["KNN"].colour != styles["EMM_calibrated"].colour


@pytest.mark.parametrize("n", [2, 12])
def test_every_line_is_named_once(n):
    names = list(LABELS)[:n]
    root = ElementTree.fromstring(flat(names).svg)
    texts = [text.text for text in root.iter("{http://www.w3.org/2000/svg}text")]
    assert all(texts.count(LABELS[name].name) == 1 for name in names)


def test_a_hostile_name_stays_text():
    text = flat([HOSTILE, "EMM_m"]).svg
    assert "<script" not in text
    assert "alert('x')" in unescape(text)


def test_a_drawing_is_a_picture_too():
    image = Image.open(BytesIO(flat(["EMM_m"]).png()))
    assert image.format == "PNG"
    assert image.width > 600


def test_the_ranking_panel_has_the_scores_of_every_k():
    (group,) = groups(compared())
    panel = ranking_panel(group)
    assert [trace.method for trace in panel.traces] == [
        "EMM_d",
        "EMM_m",
        "DBA",
        "CorrLDA",
        "KNN",
        "frequency",
    ]
    for trace in panel.traces:
        sample = group.whole[trace.method]
        assert [y.mean for y in trace.y] == pytest.approx([sample.score(k) for k in trace.x])
        assert all(y.low <= y.mean <= y.high for y in trace.y)
    assert panel.ceiling[1][4] == group.whole["KNN"].ceiling(5)


def test_regions_are_drawn_with_and_without_captions_for_methods_that_know_them():
    made = compared({"EMM_m": 0.5, "DBA": 0.3}, regions=True) + compared({"KNN": 1.0})
    (group,) = groups(made)
    captioned, free = region_panels(region_samples(group))
    assert [trace.method for trace in free.traces] == ["EMM_m", "DBA"]
    regions = group.whole["DBA"].records[0].regions
    assert free.traces[1].y[0].mean == pytest.approx(np.mean(np.array(regions.free) <= 1))
    assert captioned.traces[1].y[1].mean == pytest.approx(np.mean(np.array(regions.captioned) <= 2))
