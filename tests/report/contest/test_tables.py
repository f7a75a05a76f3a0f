"""The tables show the numbers of the records, and say what can be told from them."""

import re
from dataclasses import replace
from html import unescape

import numpy as np
import pytest

import tagmix
from tagmix.evaluation.blocks import Parts
from tagmix.evaluation.significance import Interval, bootstrap_interval, paired_bootstrap
from tagmix.experiments.records import Regions, Task
from tagmix.report import page
from tagmix.report.contest.data import groups
from tagmix.report.contest.extra import provenance, published_table, settings_table, settings_told
from tagmix.report.contest.gains import (
    Found,
    ahead_said,
    gains_table,
    losses_said,
    losses_table,
    order_said,
    points_table,
    published,
    steps,
)
from tagmix.report.contest.names import METHODS, of_paper, title_of
from tagmix.report.contest.sections import group_section
from tagmix.report.contest.tables import (
    chance,
    metrics_table,
    number,
    regions_table,
    score_cell,
    scores_table,
    where_from,
    without_regions,
)
from tests.report.contest.makers import contest, curve, record
from tests.report.contest.test_data import seeds_of


def cells(table):
    """Return a table as lists of cells, each with its small print after a bar."""
    rows = re.findall(r"<tr[^>]*>(.*?)</tr>", table, re.S)
    split = [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row, re.S) for row in rows]
    return [[text(cell) for cell in row] for row in split]


def text(markup):
    return unescape(re.sub(r"<[^>]+>", "", markup.replace("<small>", "|"))).replace("\u00a0", " ")


def by_name(table):
    return {row[0].split("|")[0]: row[1:] for row in cells(table)[1:]}


def test_methods_stand_by_top_5_accuracy_above_the_ceiling():
    rows = cells(scores_table(groups(contest())[0]))
    names = [row[0].split("|")[0] for row in rows[1:]]
    assert names[0] == "KNN"
    assert names[-2:] == ["Tag frequency", "Ceiling"]
    scores = [float(row[1].split("|")[0]) for row in rows[1:-1]]
    assert scores == sorted(scores, reverse=True)


def test_the_scores_and_intervals_are_those_of_the_metric_functions():
    made = contest({"KNN": 1.2, "DBA": 0.6}, parts=2)
    rows = by_name(scores_table(groups(made)[0]))
    pooled = {}
    for method in ("KNN", "DBA"):
        own = [r.picture_parts() for r in made if r.task.method == method]
        pooled[method] = Parts(*(np.concatenate(column) for column in zip(*own, strict=True)))
        mean, low, high = bootstrap_interval(pooled[method])
        assert rows[method][0] == f"{mean:.3f}|{low:.3f} … {high:.3f}"
    apart = paired_bootstrap(pooled["DBA"], pooled["KNN"])
    assert rows["DBA"][1].replace("−", "-") == f"{apart.mean:+.3f}|{apart.low:+.3f} … {apart.high:+.3f}"
    assert rows["KNN"][1] == "best"


def first_line(table):
    heads, row = cells(table)[:2]
    return dict(zip(heads, row, strict=True))


def test_the_main_table_is_short_and_in_one_unit():
    made = contest({"KNN": 1.2}, n_tags=8)
    shown = first_line(scores_table(groups(made)[0]))
    assert list(shown) == ["", "Top-4 accuracy (95 % interval)", "Behind the best", "P@1", "Per-tag F1", "N+",
                           "Seconds in all"]  # fmt: skip
    assert shown["Per-tag F1"] == f"{made[0].metrics['per_tag_f1']:.3f}"
    assert shown["N+"] == f"{made[0].metrics['n_plus']:.0f}"
    assert shown["Seconds in all"] == "14"  # 12.5 + 1.25 + 0.031
    assert "Seconds in all (mean of folds)" in first_line(scores_table(groups(contest(parts=2))[0]))


def test_a_moment_is_no_number_of_many_places():
    made = [replace(r, seconds={"fit": 6e-5}) for r in contest({"KNN": 1.2})]
    assert first_line(scores_table(groups(made)[0]))["Seconds in all"] == "<0.1"


def test_the_interval_is_drawn_on_the_bar():
    table = scores_table(groups(contest({"KNN": 1.2}))[0])
    low, high = (
        float(end) for end in first_line(table)["Top-5 accuracy (95 % interval)"].split("|")[1].split(" … ")
    )
    (left, width) = map(float, re.search(r"<u style=\"left:([\d.]+)%;width:([\d.]+)%", table).groups())
    assert (left, left + width) == pytest.approx((100 * low, 100 * high), abs=0.2)


def test_a_bar_without_a_known_interval_has_none():
    cell = score_cell({(0, ("a",)): Parts(np.zeros(1), np.zeros(1))})
    assert "<u" not in page.grid([""], [page.Line("x", "", [cell._replace(share=0.5)])])


def test_all_metrics_and_times_are_shown_as_saved_and_explained():
    made = contest({"KNN": 1.2})
    table = metrics_table(groups(made)[0])
    shown = first_line(table)
    metrics = made[0].metrics
    terms = re.findall("<dt>(.*?)</dt><dd>.{20,}?</dd>", table)
    assert terms == [head for head in shown if head and not head.startswith("Seconds")]
    assert shown["P"] == f"{metrics['per_tag_precision']:.3f}"
    assert shown["MAP, tags"] == f"{metrics['mean_average_precision_of_tags']:.3f}"
    assert shown["Coverage"] == f"{metrics['coverage']:.1f}"
    assert [shown[f"Seconds to {what}"] for what in ("choose", "fit", "annotate")] == ["12", "1.2", "<0.1"]
    first = sum(top[0] in own for top, own in zip(made[0].top, made[0].captions, strict=True)) / 60
    assert shown["P@1"] == f"{first:.3f}"


def test_columns_of_which_nothing_is_known_are_left_out():
    made = [replace(r, metrics={}, seconds={}) for r in contest({"KNN": 1.0, "DBA": 0.5})]
    heads = cells(scores_table(groups(made)[0]))[0]
    assert heads == ["", "Top-5 accuracy (95 % interval)", "Behind the best", "P@1"]


def test_a_method_that_cannot_be_told_from_the_best_is_marked():
    made = contest({"KNN": 1.0, "KNN2": 0.0})
    twin = replace(made[0], task=Task("album", "twin", ("sift",)))
    rows = by_name(scores_table(groups([*made, twin])[0]))
    assert rows["twin"][1].startswith("≈ +0.000")
    assert not rows["KNN2"][1].startswith("≈")


def test_folds_have_a_column_of_their_own():
    assert "Mean of folds ± 95 %" in cells(metrics_table(groups(contest(parts=2))[0]))[0]
    assert "Mean of folds ± 95 %" not in cells(metrics_table(groups(contest(parts=1))[0]))[0]


def test_regions_are_counted_over_pictures_and_over_folds():
    made = contest({"EMM_m": 0.5, "DBA": 0.2}, regions=True, parts=3)
    (group,) = groups(made)
    rows = by_name(regions_table(group, group.whole))
    own = [r.regions for r in made if r.task.method == "DBA"]
    right = sum(place == 1 for regions in own for place in regions.free)
    assert rows["DBA"][0].startswith(f"{right / sum(len(r.free) for r in own):.3f}|")
    assert rows["EMMm"][1] == "best"
    assert re.fullmatch(r"0\.\d{3} ± 0\.\d{3}", rows["DBA"][2])


def test_chance_names_regions_by_the_number_of_tags_and_of_the_caption():
    made = record(Task("album", "EMM_m", ("sift",)), n=3, n_tags=10)
    # Two regions in a picture with 1 tag, one in a picture with 4, one in a picture without any
    made = replace(made, captions=[[0], [1, 2, 3, 4], []], regions=Regions([0, 0, 1, 2], 4 * [1], 4 * [1]))
    (group,) = groups([made])
    assert chance(group.whole["EMM_m"]) == pytest.approx((1 / 10, (1 + 1 + 1 / 4 + 1 / 10) / 4))
    row = by_name(regions_table(group, group.whole))["Chance"]
    assert [row[0], row[2]] == ["0.100", "0.588"]


def test_methods_that_cannot_name_regions_are_named():
    (group,) = groups(contest({"EMM_m": 0.5}, regions=True) + contest({"KNN": 2.0, "frequency": 0.0}))
    some = {"EMM_m": group.whole["EMM_m"]}
    assert without_regions(group, some) == "KNN and Tag frequency rank tags for whole pictures only."
    assert without_regions(group, group.whole) == ""


def test_a_reader_is_told_where_the_methods_are():
    skills = {"EMM_calibrated": 1.0, "EMM_m": 0.5, "EMM_d": 0.5, "KNN": 0.4, "frequency": 0.0, "mine": 0.1}
    assert where_from(groups(contest(skills))[0]).endswith("the Python library: tagmix.EMM, tagmix.KNN.")
    for name in METHODS:
        if name not in ("EMM_context", "EMM_calibrated", "frequency"):
            told = where_from(groups(contest({name: 1.0}))[0])
            assert hasattr(tagmix, told.rstrip(".").rpartition("tagmix.")[2])
    rows = cells(scores_table(groups(contest(skills))[0]))
    assert "EMM calibrated|EMM_m ranked by calibrated probability" in [
        row[0].replace("EMMm", "EMM_m") for row in rows
    ]
    both = groups(contest({"EMM_context": 1.0, "EMM_calibrated": 0.5}))[0]
    assert where_from(both).startswith("tagmix train learns EMM with context and ranks")
    assert "EMM with context|what tagmix train uses" in [row[0] for row in cells(scores_table(both))]


def found(low, high, claim=0):
    return Found(published().gains[claim], Interval((low + high) / 2, low, high))


@pytest.mark.parametrize(
    ("low", "high", "verdict", "size"),
    [
        (0.01, 0.05, "holds", "less than the paper's"),
        (0.10, 0.30, "holds", "within reach of the paper's"),
        (0.30, 0.40, "holds", "more than the paper's"),
        (-0.1, -0.01, "is reversed", "less than the paper's"),
        (-0.1, 0.1, "cannot be told", "less than the paper's"),
    ],
)
def test_a_step_is_judged_by_its_interval(low, high, verdict, size):
    assert (found(low, high).verdict, found(low, high).size) == (verdict, size)


def test_the_sentence_says_which_steps_hold():
    assert "holds here in every step" in order_said([found(0.1, 0.2), found(0.1, 0.2, 1)])
    said = order_said([found(0.1, 0.2), found(-0.3, -0.1, 1), found(-0.1, 0.1, 2)])
    assert "EMM_m over DBA (+15.0 %) holds" in said
    assert "EMM_d over EMM_m (−20.0 %) is reversed" in said
    assert "DBA over CorrLDA (+0.0 %) cannot be told" in said


def test_planted_gains_are_found_and_stand_beside_the_papers():
    samples = groups(contest({"DBA": 0.3, "EMM_m": 1.0, "EMM_d": 1.0}, n=200))[0].whole
    own = steps(samples)
    assert [step.claim.over for step in own] == ["DBA", "EMM_m"]
    assert own[0].verdict == "holds"
    assert own[0].here.mean == pytest.approx(samples["EMM_m"].score() / samples["DBA"].score() - 1)
    rows = by_name(gains_table(own))
    assert rows["EMMm over DBA"][1:3] == ["+18.8 %", "+22.8 %"]


def test_who_is_ahead_is_counted_over_k():
    samples = groups(contest({"DBA": 0.0, "EMM_d": 3.0}, n_tags=12))[0].whole
    # With all twelve tags shown, everybody is equal
    assert "EMM_d at 11, none alone at 1." in ahead_said(samples)
    assert ahead_said({"DBA": samples["DBA"]}) == ""


def test_the_method_that_falls_more_slowly_is_named():
    made = curve("tags", [10, 30], {"DBA": 2.0, "EMM_d": 2.0}, falls={"DBA": 0.9}, n=200)
    points = groups(made)[0].curves["tags"]
    assert "EMM_d falls more slowly than DBA" in losses_said(points)
    (few, many) = (points[i][1]["DBA"] for i in (0, 1))
    row = by_name(losses_table(points))["DBA"]
    assert row[2] == f"{few.score() - many.score():.3f}"
    assert row[3].startswith(f"{100 * (1 - many.score() / few.score()):.1f} %|")
    assert row[0].split("|")[1] == f"{100 * few.score() / few.ceiling():.0f} % of its ceiling"


def test_points_have_scores_and_gains_beside_each_other():
    made = curve("evidence", [0.1, 1.0], {"DBA": 0.5, "EMM_m": 1.0})
    table = points_table(groups(made)[0].curves["evidence"], "evidence")
    assert cells(table)[0] == ["", "evidence 0.1", "evidence 1"]
    assert list(by_name(table)) == ["EMMm", "DBA", "EMMm over DBA"]


def test_settings_that_differ_are_told_for_each_fold():
    made = [record(Task("album", "KNN", ("sift",), i), chosen={"k": 5 * (i > 0)}) for i in range(2)]
    assert by_name(settings_table(groups(made)[0]))["KNN"] == ["12", "k 0 / 5"]
    same = [replace(r, chosen={"k": 5}) for r in made]
    assert by_name(settings_table(groups(same)[0]))["KNN"] == ["12", "k 5"]


def test_settings_are_short():
    assert settings_told({"evidence": {"sift": 0.12345, "colour": 1.0}}) == "evidence (sift 0.1235, colour 1)"
    assert settings_told({}) == "nothing to choose"
    assert len(settings_told({"x": list(range(1000))})) <= 301


def test_provenance_lists_what_differs_and_leaves_out_what_is_of_a_task():
    made = [
        replace(r, provenance={"seed": i, "mark": str(i), "commit": None, "tagmix": "1"})
        for i, r in enumerate(contest())
    ]
    assert provenance(made) == {"seed": "6 values, from 0 to 5", "tagmix": "1"}
    assert provenance(made[:2])["seed"] == "0; 1"


def test_published_figures_stand_beside_ours_by_f1_on_corel5k_only():
    made = contest({"TagProp": 1.0}, "corel5k") + contest({"TagProp": 0.1}, "corel5k", ("colour",))
    table = published_table(groups(made))
    f1 = [float(row[3]) for row in cells(table)[1:]]
    assert f1 == sorted(f1, reverse=True)
    (ours,) = (row for row in cells(table) if row[0] == "TagProp|measured here")
    assert ours[3] == f"{100 * made[0].metrics['per_tag_f1']:.1f}"
    theirs = next(row for row in cells(table) if row[0].startswith("TagProp σML"))
    assert theirs[1:5] == ["33.0", "42.0", "37.0", "160"]
    assert published_table(groups(contest({"TagProp": 1.0}))) == ""


def test_an_even_ranking_stands_beside_the_published_figures_too():
    made = contest({"EMM_context": 0.5}, "corel5k") + contest({"TagProp": 0.5}, "corel5k")
    made += curve("even", [True], {"EMM_context": 0.9}, "corel5k")
    made += curve("evidence", [0.1], {"EMM_context": 0.9}, "corel5k")
    ours = {row[0]: row[3] for row in cells(published_table(groups(made))) if "measured here" in row[0]}
    assert len(ours) == 3
    even = "EMM with context|measured here; ranked so that rare tags count as much"
    assert float(ours[even]) > float(ours["EMM with context|measured here"])


def test_words_and_data_sets_are_named():
    titles = [title_of(groups(contest({"KNN": 1}, data=data, views=views))[0]) for data, views in
              (("corel5k", ("sift", "colour")), ("mine", ("a", "b", "c")), ("tate", ("text",)))]  # fmt: skip
    assert titles == [
        "Corel5k, SIFT and colour words",
        "mine, a, b and c words",
        "Tate catalogue, text words",
    ]


def test_what_is_not_known_is_a_dash():
    assert number(float("nan")) == number(None) == "–"


def test_seeds_are_told_as_seeds_and_their_spread_stands_among_the_metrics():
    made = [
        *seeds_of("KNN", (2.0, 0.5)),
        *seeds_of("EMM_context", (1.0, 0.9)),
        *(replace(r, provenance={"read": ["sift", "colour"]}) for r in seeds_of("DBA", (0.1,))),
    ]
    (group,) = groups(made)
    rows, heads = by_name(metrics_table(group)), cells(metrics_table(group))[0]
    place = heads.index("Seeds, lowest … highest") - 1
    low, high = sorted(r.metrics["top_k_accuracy"] for r in made[:2])
    assert rows["KNN"][place] == f"{low:.3f} … {high:.3f}"
    assert rows["DBA"][place] == "–"
    assert not any("folds" in head for head in heads)
    assert cells(scores_table(group))[0][-1] == "Seconds in all (mean of seeds)"
    notes = {row[0].split("|")[0]: row[0].split("|")[1] for row in cells(scores_table(group))[1:]}
    assert notes["DBA"] == "Yang, Zha, Hu 2009; reads SIFT and colour only; first seed only"
    assert notes["EMM with context"] == "what tagmix train uses"
    told = group_section(group, False, None, False, True)
    assert "60 test pictures" in told
    assert "(2 seeds of the words)" in told
    assert "folds</th>" not in told


def test_rich_descriptions_are_named_and_are_not_the_papers():
    views = ("sift", "colour", "layout")
    (group,) = groups(contest(data="corel5k_rich", views=views))
    assert title_of(group) == "Corel5k, richly described: SIFT, colour and layout"
    assert not of_paper([group])
    assert "claims" not in group_section(group, False, None, False, True)
    assert "Figure 2" not in group_section(group, False, None, False, True)
    assert "Of the paper's methods" not in group_section(group, False, None, False, True)
    assert title_of(groups(contest(views=views))[0]) == "your pictures (SIFT, colour and layout)"
