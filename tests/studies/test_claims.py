"""The paper's claims are judged by intervals, and published figures stand beside ours."""

from dataclasses import replace

import pytest

from tagmix.comparison.records import Task
from tagmix.evaluation.significance import Interval
from tagmix.report import page
from tagmix.report.comparison.samples import groups
from tagmix.report.comparison.sections import group_section
from tagmix.studies.claims import (
    ClaimCheck,
    _slower,
    best_at_k,
    checked_claims,
    claim_tile,
    gains_lines,
    losses_lines,
    losses_outcome,
    order_outcome,
    points_lines,
    published,
)
from tagmix.studies.literature import published_lines
from tagmix.studies.names import title_of
from tagmix.studies.page import PaperPage
from tests.report.comparison.makers import compared, curve, record
from tests.report.comparison.test_tables import by_name, cells


def found(low, high, claim=0):
    return ClaimCheck(published().gains[claim], Interval((low + high) / 2, low, high))


@pytest.mark.parametrize(
    ("low", "high", "verdict", "size"),
    [
        (0.01, 0.05, "holds", "smaller than the paper's"),
        (0.10, 0.30, "holds", "consistent with the paper's"),
        (0.30, 0.40, "holds", "larger than the paper's"),
        (-0.1, -0.01, "is reversed", "smaller than the paper's"),
        (-0.1, 0.1, "is not significant", "smaller than the paper's"),
    ],
)
def test_a_step_is_judged_by_its_interval(low, high, verdict, size):
    assert (found(low, high).verdict, found(low, high).size) == (verdict, size)


def test_the_sentence_says_which_steps_hold():
    assert "holds here for every pair" in order_outcome([found(0.1, 0.2), found(0.1, 0.2, 1)])
    said = order_outcome([found(0.1, 0.2), found(-0.3, -0.1, 1), found(-0.1, 0.1, 2)])
    assert "EMM_m over DBA (+15.0 %) holds" in said
    assert "EMM_d over EMM_m (−20.0 %) is reversed" in said
    assert "DBA over CorrLDA (+0.0 %) is not significant" in said


def test_planted_gains_are_found_and_stand_beside_the_papers():
    samples = groups(compared({"DBA": 0.3, "EMM_m": 1.0, "EMM_d": 1.0}, n=200))[0].whole
    own = checked_claims(samples)
    assert [step.claim.over for step in own] == ["DBA", "EMM_m"]
    assert own[0].verdict == "holds"
    assert own[0].here.mean == pytest.approx(samples["EMM_m"].score() / samples["DBA"].score() - 1)
    rows = by_name(page.grid(*gains_lines(own)))
    assert rows["EMMm over DBA"][1:3] == ["+18.8 %", "+22.8 %"]


def test_who_is_ahead_is_counted_over_k():
    samples = groups(compared({"DBA": 0.0, "EMM_d": 3.0}, n_tags=12))[0].whole
    # With all twelve tags shown, everybody is equal
    assert "EMM_d at 11, tied at 1." in best_at_k(samples)
    assert best_at_k({"DBA": samples["DBA"]}) == ""


def test_the_method_that_falls_more_slowly_is_named():
    made = curve("tags", [10, 30], {"DBA": 2.0, "EMM_d": 2.0}, falls={"DBA": 0.9}, n=200)
    points = groups(made)[0].curves["tags"]
    assert "EMM_d loses less than DBA" in losses_outcome(points)
    (few, many) = (points[i][1]["DBA"] for i in (0, 1))
    row = by_name(page.grid(*losses_lines(points)))["DBA"]
    assert row[2] == f"{few.score() - many.score():.3f}"
    assert row[3].startswith(f"{100 * (1 - many.score() / few.score()):.1f} %|")
    assert row[0].split("|")[1] == f"{100 * few.score() / few.ceiling():.0f} % of the ceiling"


def test_points_have_scores_and_gains_beside_each_other():
    made = curve("evidence", [0.1, 1.0], {"DBA": 0.5, "EMM_m": 1.0})
    table = page.grid(*points_lines(groups(made)[0].curves["evidence"], "evidence"))
    assert cells(table)[0] == ["", "evidence 0.1", "evidence 1"]
    assert list(by_name(table)) == ["EMMm", "DBA", "EMMm over DBA"]


def test_published_figures_stand_beside_ours_by_f1_on_corel5k_only():
    made = compared({"TagProp": 1.0}, "corel5k") + compared({"TagProp": 0.1}, "corel5k", ("colour",))
    table = page.grid(*published_lines(groups(made, title_of)))
    f1 = [float(row[3]) for row in cells(table)[1:]]
    assert f1 == sorted(f1, reverse=True)
    (ours,) = (row for row in cells(table) if row[0] == "TagProp|measured here")
    assert ours[3] == f"{100 * made[0].metrics['per_tag_f1']:.1f}"
    theirs = next(row for row in cells(table) if row[0].startswith("TagProp σML"))
    assert theirs[1:5] == ["33.0", "42.0", "37.0", "160"]
    assert published_lines(groups(compared({"TagProp": 1.0}))) is None


def test_a_balanced_ranking_stands_beside_the_published_figures_and_a_changed_model_does_not():
    made = compared({"ContextEMM": 0.5, "ContextEMM_balanced": 0.9, "TagProp": 0.5}, "corel5k")
    made += curve("evidence", [0.1], {"ContextEMM": 0.9}, "corel5k")
    ours = {
        row[0]: row[3]
        for row in cells(page.grid(*published_lines(groups(made))))
        if "measured here" in row[0]
    }
    assert len(ours) == 3
    assert float(ours["EMM balanced|measured here"]) > float(ours["EMM with context|measured here"])


def test_words_and_data_sets_are_named():
    titles = [title_of(data, views) for data, views in
              (("corel5k", ("sift", "colour")), ("mine", ("a", "b", "c")), ("tate", ("text",)))]  # fmt: skip
    assert titles == [
        "Corel5k, SIFT and colour words",
        "mine, a, b and c words",
        "Tate catalogue, text words",
    ]


def test_rich_descriptions_are_named_and_are_not_the_papers():
    views = ("sift", "colour", "layout")
    (group,) = groups(compared(data="corel5k_rich", views=views), title_of)
    assert group.title == "Corel5k, rich description: SIFT, colour and layout"
    assert PaperPage().score_source([group]) == ""
    assert "claims" not in group_section(group, False, None, False, PaperPage())
    assert "Figure 2" not in group_section(group, False, None, False, PaperPage())
    assert "the paper's methods" not in group_section(group, False, None, False, PaperPage())
    assert groups(compared(views=views))[0].title == "your pictures (SIFT, colour and layout)"


def test_a_gain_between_the_papers_two_is_within_reach():
    claim = published().gains[0]  # +18.84 % and +22.79 %
    assert ClaimCheck(claim, Interval(0.15, 0.10, 0.20)).size == "consistent with the paper's"


def test_who_is_ahead_is_asked_at_every_k():
    first = replace(record(Task("album", "DBA", ("sift",)), n=1, n_tags=4), captions=[[0, 1]])
    made = [replace(first, top=[[0, 2, 3, 1]])]
    made += [replace(first, task=replace(first.task, method="EMM_d"), top=[[2, 0, 1, 3]])]
    assert "EMM_d at 1, DBA at 1, tied at 2." in best_at_k(groups(made)[0].whole)


def test_a_claim_that_does_not_hold_is_marked():
    group = groups(compared({"DBA": 0.1, "EMM_m": 2.0}, n=100))[0]
    (step,) = checked_claims(group.whole)
    assert claim_tile(group, step)[2] == ""
    assert claim_tile(group, step._replace(here=Interval(-0.1, -0.2, -0.05)))[2] == "wrong"


def test_a_fall_that_chance_explains_has_no_direction():
    assert _slower(Interval(0.01, -0.02, 0.04)) == "does not differ significantly from DBA"
    assert _slower(Interval(-0.01, -0.04, 0.02)) == "does not differ significantly from DBA"
    assert _slower(Interval(0.03, 0.02, 0.04)) == "loses more than DBA"
