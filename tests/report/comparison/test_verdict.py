"""The verdict says who is best, and no more than can be told."""

from dataclasses import replace

import pytest

from tagmix.report.comparison.intervals import difference
from tagmix.report.comparison.samples import groups
from tagmix.report.comparison.verdict import region_verdict, verdict
from tests.report.comparison.makers import compared


def said(records):
    return verdict(groups(records)[0])


def named(record, name):
    return replace(record, task=replace(record.task, method=name))


def test_one_that_is_ahead_is_named():
    assert (
        said(compared({"KNN": 1.0, "DBA": 0.1, "frequency": 0.0})) == "KNN is better than all other methods."
    )
    assert said(compared({"KNN": 1.0, "DBA": 0.1})) == "KNN is better than DBA."


def test_those_that_cannot_be_told_from_the_best_are_named():
    made = compared({"KNN": 1.0, "DBA": 0.1, "frequency": 0.0})
    made += [named(made[0], "TagProp"), named(made[0], "KernelRidge")]
    assert said(made) == "KNN is first, but not significantly better than TagProp and Kernel ridge."


def test_ours_is_told_where_it_is_behind():
    made = compared({"KNN": 2.0, "EMM_calibrated": 0.5})
    whole = groups(made)[0].whole
    apart = difference(whole["KNN"].parts(), whole["EMM_calibrated"].parts())
    assert said(made) == (
        "KNN is better than EMM calibrated. EMM calibrated, EMM_m ranked by calibrated probability, is lower "
        f"by {apart.mean:.3f} ({apart.low:.3f} … {apart.high:.3f})."
    )
    assert said(compared({"KNN": 0.5, "EMM_calibrated": 2.0})) == "EMM calibrated is better than KNN."


def test_regions_have_a_verdict_without_and_with_captions():
    made = compared({"ContextEMM": 1.0, "DBA": 0.2}, regions=True)
    samples = groups(made)[0].whole
    assert region_verdict({"DBA": samples["DBA"]}) == ""
    clear = "EMM with context is better than DBA."
    assert region_verdict(samples) == f"Without captions, {clear} With captions, {clear}"
    good, bad = (samples[name].records[0].regions for name in ("ContextEMM", "DBA"))
    mixed = [
        replace(made[0], regions=replace(good, captioned=bad.captioned)),
        replace(made[1], regions=replace(bad, captioned=good.captioned)),
    ]
    told = region_verdict(groups(mixed)[0].whole)
    assert told.startswith(f"Without captions, {clear} With captions, DBA is better than EMM with context. ")
    assert "EMM with context, used by tagmix train, is lower by 0." in told


@pytest.mark.parametrize("better", [0, 2])
def test_few_pictures_tell_nothing(better):
    # On 2 of 11 pictures the learner does better, on the others it shows the same
    (made,) = compared({"frequency": 0.0}, n=11)
    top = [sorted(row, key=lambda tag: tag not in own) if i < better else row
           for i, (row, own) in enumerate(zip(made.top, made.captions, strict=True))]  # fmt: skip
    assert said([made, replace(named(made, "KNN"), top=top)]) == (
        "Too few pictures (11) to show that any learner is better than the most frequent tags."
    )


def test_many_pictures_on_which_nobody_learns_are_not_too_few():
    (made,) = compared({"frequency": 0.0}, n=100)
    told = "No learner is better than the most frequent tags on 100 pictures"
    assert said([made, named(made, "KNN")]) == f"{told}."
    worst = replace(named(made, "DBA"), top=[row[::-1] for row in made.top])
    assert said([made, named(made, "KNN"), worst]) == f"{told}; DBA is worse."
    assert said([made, named(worst, "KNN"), worst]) == f"{told}; KNN and DBA are worse."


def test_a_method_on_other_pictures_is_not_beaten():
    first, second = compared({"KNN": 2.0, "DBA": 0.0})
    elsewhere = replace(second, ids=[f"other/{name}" for name in second.ids])
    assert said([first, elsewhere]) == "KNN is first, but not significantly better than DBA."


@pytest.mark.parametrize(("name", "shown"), [("KNN", "KNN"), ("frequency", "Tag frequency")])
def test_one_method_alone_is_compared_with_nothing(name, shown):
    assert said(compared({name: 1.0})).startswith(f"Only {shown} was measured")
