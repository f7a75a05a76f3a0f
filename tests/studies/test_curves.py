"""Curves end with the whole data, and have the same folds."""

from tagmix.report.comparison.samples import groups
from tagmix.studies.curves import curve_points, points_panel
from tagmix.studies.page import PaperPage
from tests.report.comparison.makers import SKILLS, compared, curve


def test_curves_end_with_the_whole_data():
    made = compared(n_tags=30, n_train=200) + curve("tags", [10, 20]) + curve("pictures", [50, 100], draws=2)
    (group,) = groups(made)
    for name, end in (("tags", 30), ("pictures", 200)):
        points = curve_points(group, name)
        assert points[-1][0] == end
        assert points[-1][1]["KNN"].score() == group.whole["KNN"].score()
    assert list(PaperPage().curves(group)) == ["tags", "pictures"]


def test_the_whole_at_the_end_of_a_curve_has_the_folds_of_the_curve():
    made = compared(parts=3) + curve("pictures", [50, 100])
    (group,) = groups(made)
    assert [r.task.part for r in curve_points(group, "pictures")[-1][1]["KNN"].records] == [0]


def test_points_that_are_no_numbers_make_no_curve():
    (group,) = groups(curve("supervision", ["soft", "hard", "none"]))
    assert points_panel(group.curves["supervision"], "supervision") is None


def test_bars_and_bands_surround_their_line():
    (group,) = groups(curve("tags", [10, 20, 30], SKILLS))
    panel = points_panel(group.curves["tags"], "tags")
    assert all(y.low <= y.mean <= y.high for trace in panel.traces for y in trace.y)
