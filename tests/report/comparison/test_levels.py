"""The table of levels pools folds, and says which models did not reach a precision."""

from dataclasses import replace

import pytest

from tagmix.comparison.levels import Level
from tagmix.report.comparison.levels import level_table
from tagmix.report.comparison.page import comparison_page
from tagmix.report.comparison.samples import MethodSample
from tests.report.comparison.test_page import WORDS
from tests.report.comparison.test_probabilities import FOLDS
from tests.report.comparison.test_tables import by_name


def asked(record, *levels):
    return replace(record, probabilities=replace(record.probabilities, levels=list(levels)))


# Captions: [0], [1, 2] | [2]
FIRST = asked(FOLDS[0], Level(0.5, 4, 2.4, 3, 0), Level(0.8, 1, 0.9, 1, 1))
SECOND = asked(FOLDS[1], Level(0.5, 1, 0.6, 0, 0))


def test_each_precision_has_what_was_expected_and_what_was_achieved_in_all_folds():
    table = by_name(level_table(MethodSample("EMM_calibrated", (FIRST, SECOND))))
    assert list(table) == ["0.5", "0.6", "0.7", "0.8", "0.9"]
    assert table["0.5"] == ["0.600", "0.600|3 of 5", "0.750", "0.000"]
    assert table["0.8"] == ["0.900", "1.000|1 of 1", "0.333", "0.500"]
    assert table["0.9"] == ["–"] * 4


def test_models_that_do_not_reach_a_precision_are_counted():
    text = level_table(MethodSample("EMM_calibrated", (FIRST, SECOND)))
    assert text.count("not reached by 1 model, left out") == 1
    assert text.count("not reached by 2 models, left out") == 3


@pytest.mark.parametrize("records", [FOLDS, [replace(FOLDS[0], probabilities=None)]])
def test_a_method_that_was_asked_for_no_precision_has_no_table(records):
    assert level_table(MethodSample("EMM_calibrated", tuple(records))) == ""


def test_the_page_has_the_table():
    assert "Precision asked for" in comparison_page([FIRST, SECOND], **WORDS)
    assert "Precision asked for" not in comparison_page(FOLDS, **WORDS)
