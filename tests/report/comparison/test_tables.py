"""The tables show the numbers of the records, and say what can be told from them."""

import re
from dataclasses import replace
from html import unescape

import numpy as np
import pytest

import tagmix
from tagmix.comparison.methods import RIVALS
from tagmix.comparison.records import RegionRanks, Task
from tagmix.evaluation.blocks import Parts
from tagmix.evaluation.significance import bootstrap_interval, paired_bootstrap
from tagmix.report import page
from tagmix.report.comparison.names import LABELS
from tagmix.report.comparison.page import PLAIN
from tagmix.report.comparison.samples import groups
from tagmix.report.comparison.sections import group_section
from tagmix.report.comparison.settings import provenance, settings_line, settings_table
from tagmix.report.comparison.tables import (
    chance,
    metrics_table,
    number,
    regions_table,
    score_cell,
    scores_table,
    where_from,
    without_regions,
)
from tests.report.comparison.makers import compared, record
from tests.report.comparison.test_samples import seeds_of


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
    rows = cells(scores_table(groups(compared())[0]))
    names = [row[0].split("|")[0] for row in rows[1:]]
    assert names[0] == "KNN"
    assert names[-2:] == ["Tag frequency", "Ceiling"]
    scores = [float(row[1].split("|")[0]) for row in rows[1:-1]]
    assert scores == sorted(scores, reverse=True)


def test_the_scores_and_intervals_are_those_of_the_metric_functions():
    made = compared({"KNN": 1.2, "DBA": 0.6}, parts=2)
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
    made = compared({"KNN": 1.2}, n_tags=8)
    shown = first_line(scores_table(groups(made)[0]))
    first, *others = list(shown)[1:]
    assert first == "Top-4 accuracy (95 % interval)"
    assert others == ["Difference to best", "P@1", "Per-tag F1", "N+", "Seconds"]
    assert shown["Per-tag F1"] == f"{made[0].metrics['per_tag_f1']:.3f}"
    assert shown["N+"] == f"{made[0].metrics['n_plus']:.0f}"
    assert shown["Seconds"] == "14"  # 12.5 + 1.25 + 0.031
    assert "Seconds (mean over folds)" in first_line(scores_table(groups(compared(parts=2))[0]))


def test_a_moment_is_no_number_of_many_places():
    made = [replace(r, seconds={"fit": 6e-5}) for r in compared({"KNN": 1.2})]
    assert first_line(scores_table(groups(made)[0]))["Seconds"] == "<0.1"


def test_the_interval_is_drawn_on_the_bar():
    table = scores_table(groups(compared({"KNN": 1.2}))[0])
    low, high = (
        float(end) for end in first_line(table)["Top-5 accuracy (95 % interval)"].split("|")[1].split(" … ")
    )
    (left, width) = map(float, re.search(r"<u style=\"left:([\d.]+)%;width:([\d.]+)%", table).groups())
    assert (left, left + width) == pytest.approx((100 * low, 100 * high), abs=0.2)


def test_a_bar_without_a_known_interval_has_none():
    cell = score_cell({(0, ("a",)): Parts(np.zeros(1), np.zeros(1))})
    assert "<u" not in page.grid([""], [page.Line("x", "", [cell._replace(share=0.5)])])


def test_all_metrics_and_times_are_shown_as_saved_and_explained():
    made = compared({"KNN": 1.2})
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
    made = [replace(r, metrics={}, seconds={}) for r in compared({"KNN": 1.0, "DBA": 0.5})]
    heads = cells(scores_table(groups(made)[0]))[0]
    assert heads == ["", "Top-5 accuracy (95 % interval)", "Difference to best", "P@1"]


def test_a_method_that_cannot_be_told_from_the_best_is_marked():
    made = compared({"KNN": 1.0, "KNN2": 0.0})
    copy = replace(made[0], task=Task("album", "copy", ("sift",)))
    rows = by_name(scores_table(groups([*made, copy])[0]))
    assert rows["copy"][1].startswith("≈ +0.000")
    assert not rows["KNN2"][1].startswith("≈")


def test_folds_have_a_column_of_their_own():
    assert "Mean over folds ± 95 %" in cells(metrics_table(groups(compared(parts=2))[0]))[0]
    assert "Mean over folds ± 95 %" not in cells(metrics_table(groups(compared(parts=1))[0]))[0]


def test_regions_are_counted_over_pictures_and_over_folds():
    made = compared({"EMM_m": 0.5, "DBA": 0.2}, regions=True, parts=3)
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
    made = replace(
        made, captions=[[0], [1, 2, 3, 4], []], regions=RegionRanks([0, 0, 1, 2], 4 * [1], 4 * [1])
    )
    (group,) = groups([made])
    assert chance(group.whole["EMM_m"]) == pytest.approx((1 / 10, (1 + 1 + 1 / 4 + 1 / 10) / 4))
    row = by_name(regions_table(group, group.whole))["Chance"]
    assert [row[0], row[2]] == ["0.100", "0.588"]


def test_methods_that_cannot_name_regions_are_named():
    (group,) = groups(compared({"EMM_m": 0.5}, regions=True) + compared({"KNN": 2.0, "frequency": 0.0}))
    known = {"EMM_m": group.whole["EMM_m"]}
    assert without_regions(group, known) == "KNN and Tag frequency rank the tags of whole pictures only."
    assert without_regions(group, group.whole) == ""


def test_a_reader_is_told_where_the_methods_are():
    skills = {"EMM_calibrated": 1.0, "EMM_m": 0.5, "EMM_d": 0.5, "KNN": 0.4, "frequency": 0.0, "TagProp": 0.1}
    assert where_from(groups(compared(skills))[0]) == (
        "The methods are classes of the Python library: tagmix.EMM, tagmix.KNN, tagmix.TagProp."
    )
    for name in LABELS:
        if name != "frequency" and name not in RIVALS:
            told = where_from(groups(compared({name: 1.0}))[0])
            assert hasattr(tagmix, told.rstrip(".").rpartition("tagmix.")[2])
    rows = cells(scores_table(groups(compared(skills))[0]))
    assert "EMM calibrated|EMM_m ranked by calibrated probability" in [
        row[0].replace("EMMm", "EMM_m") for row in rows
    ]
    both = groups(compared({"ContextEMM": 1.0, "EMM_calibrated": 0.5}))[0]
    assert where_from(both).startswith("tagmix train fits EMM with context. The methods are")
    assert "EMM with context|used by tagmix train" in [row[0] for row in cells(scores_table(both))]


def test_settings_that_differ_are_told_for_each_fold():
    made = [record(Task("album", "KNN", ("sift",), i), chosen={"k": 5 * (i > 0)}) for i in range(2)]
    assert by_name(settings_table(groups(made)[0]))["KNN"] == ["12", "k 0 / 5"]
    same = [replace(r, chosen={"k": 5}) for r in made]
    assert by_name(settings_table(groups(same)[0]))["KNN"] == ["12", "k 5"]


def test_settings_are_short():
    assert settings_line({"evidence": {"sift": 0.12345, "colour": 1.0}}) == "evidence (sift 0.1235, colour 1)"
    assert settings_line({}) == "nothing to choose"
    assert len(settings_line({"x": list(range(1000))})) <= 301


def test_provenance_lists_what_differs_and_leaves_out_what_is_of_a_task():
    made = [
        replace(r, provenance={"seed": i, "mark": str(i), "commit": None, "tagmix": "1"})
        for i, r in enumerate(compared())
    ]
    assert provenance(made) == {"seed": "6 values, from 0 to 5", "tagmix": "1"}
    assert provenance(made[:2])["seed"] == "0; 1"


def test_what_is_not_known_is_a_dash():
    assert number(float("nan")) == number(None) == "–"


def test_seeds_are_told_as_seeds_and_their_spread_stands_among_the_metrics():
    made = [
        *seeds_of("KNN", (2.0, 0.5)),
        *seeds_of("ContextEMM", (1.0, 0.9)),
        *(replace(r, provenance={"read": ["sift", "colour"]}) for r in seeds_of("DBA", (0.1,))),
    ]
    (group,) = groups(made)
    rows, heads = by_name(metrics_table(group)), cells(metrics_table(group))[0]
    place = heads.index("Seeds, lowest … highest") - 1
    low, high = sorted(r.metrics["top_k_accuracy"] for r in made[:2])
    assert rows["KNN"][place] == f"{low:.3f} … {high:.3f}"
    assert rows["DBA"][place] == "–"
    assert not any("folds" in head for head in heads)
    assert cells(scores_table(group))[0][-1] == "Seconds (mean over seeds)"
    notes = {row[0].split("|")[0]: row[0].split("|")[1] for row in cells(scores_table(group))[1:]}
    assert notes["DBA"] == "Yang, Zha, Hu 2009; reads SIFT and colour only; first seed only"
    assert notes["EMM with context"] == "used by tagmix train"
    told = group_section(group, False, None, False, PLAIN)
    assert "60 test pictures" in told
    assert "with 2 seeds of patches and words" in told
    assert "folds</th>" not in told
