"""What was found, missed and wrongly shown is counted by tag."""

from dataclasses import replace

from tagmix.comparison.records import Record, Task
from tagmix.report.comparison.mistakes import mistakes, most, tally
from tagmix.report.comparison.samples import MethodSample, groups
from tests.report.comparison.makers import compared, record
from tests.report.comparison.test_tables import cells, text

# Four tags, so that two are shown; the third in each ranking does not count.
#        caption      shown
# x      sky, sea     sky ✓  tree
# y      sky          sea    sky ✓
# z      tree         sky    sea
SMALL = Record(
    Task("album", "KNN", ("sift",)), {}, 0, {}, 10, ["sky", "sea", "tree", "<b>"], ["x", "y", "z"],
    [[0, 1], [0], [2]], [[0, 2, 1, 3], [1, 0, 2, 3], [0, 1, 2, 3]], {}, None, {},
)  # fmt: skip


def test_tags_are_counted_as_by_hand():
    has, found, wrong = tally(MethodSample("KNN", (SMALL,)))
    assert has == {"sky": 2, "sea": 1, "tree": 1}
    assert found == {"sky": 2}
    assert wrong == {"tree": 1, "sea": 2, "sky": 1}


def test_folds_are_counted_together_by_the_names_of_tags():
    other = replace(SMALL, task=replace(SMALL.task, part=1), tag_names=["sea", "sky", "tree", "<b>"])
    fold = replace(other, ids=[f"other {name}" for name in SMALL.ids])
    assert tally(MethodSample("KNN", (SMALL, fold))).has == {"sky": 3, "sea": 3, "tree": 2}


def test_pictures_that_were_tested_with_another_seed_are_counted_once():
    again = replace(SMALL, task=replace(SMALL.task, part=1), top=SMALL.top[::-1])
    assert tally(MethodSample("KNN", (again, SMALL))) == tally(MethodSample("KNN", (SMALL,)))
    assert "First seed only." in mistakes(groups([SMALL, again])[0])


def test_the_table_has_the_frequent_tags_first():
    table = mistakes(groups([SMALL])[0])
    assert cells(table) == [
        ["", "Pictures that have it", "KNN: found", "missed", "wrongly shown"],
        ["sky", "2", "2", "0", "1"],
        ["sea", "1", "0", "1", "2"],
        ["tree", "1", "0", "1", "1"],
    ]
    assert "Most often wrongly shown by KNN: sea 2, sky 1, tree 1" in text(table)
    assert "with 2 tags shown" in table


def test_of_equals_the_first_by_name_is_first():
    assert most(tally(MethodSample("KNN", (SMALL,))).has, 2) == ["sky", "sea"]


def test_the_best_learner_and_ours_are_counted():
    skills = {"frequency": 9.0, "KNN": 1.0, "DBA": 0.4, "EMM_calibrated": 0.5}
    heads = cells(mistakes(groups(compared(skills))[0]))[0]
    assert [head for head in heads if head.endswith("found")] == ["KNN: found", "EMM calibrated: found"]
    first = cells(mistakes(groups(compared({"EMM_calibrated": 0.5}))[0]))[0]
    assert [head for head in first if head.endswith("found")] == ["EMM calibrated: found"]
    assert mistakes(groups(compared({"frequency": 0.5}))[0]) == ""


def test_only_the_most_frequent_tags_are_shown():
    made = record(Task("album", "KNN", ("sift",)), 1.0, n=200)
    assert len(cells(mistakes(groups([made])[0]))) == 1 + 12


def test_a_tag_stays_text():
    hostile = replace(SMALL, tag_names=["<script>", "sea", "tree", "<b>"])
    assert "<script>" not in mistakes(groups([hostile])[0])
