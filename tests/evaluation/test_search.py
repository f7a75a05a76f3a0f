"""A search along one setting after the other: what it finds, in which order, and at what price."""

from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tagmix.evaluation.search import PASSES, coordinate_search


def search(axes, start, value, together=(), entirely=()):
    """Return what was found and the values along the way, as tuples in the order of the axes."""
    asked = []

    def told(setting):
        asked.append(tuple(setting.values()))
        return value(**setting)

    found = coordinate_search(axes, start, told, together=together, entirely=entirely)
    assert [tuple(setting.values()) for setting, _ in found.tried] == asked
    return found, asked


def test_one_axis_is_walked_down_first_and_then_up_and_each_way_until_a_step_does_not_gain():
    values = {0: 9, 1: 1, 2: 5, 3: 4, 4: 6, 5: 7, 6: 3, 7: 8}
    found, asked = search({"x": range(8)}, {"x": 3}, lambda x: values[x])
    assert asked == [(3,), (2,), (1,), (4,), (5,), (6,)]  # 0 and 7 are hidden behind worse ones
    assert found.setting == {"x": 5}
    assert found.value == 7
    assert found.tried == tuple(({"x": x}, values[x]) for x in (3, 2, 1, 4, 5, 6))


def test_every_value_of_an_axis_taken_entirely_is_tried_in_the_first_pass_only():
    values = {0: 9, 1: 1, 2: 5, 3: 4, 4: 6}
    axes, value = {"x": range(5), "y": (0, 1)}, lambda x, y: values[x] + 10 * y
    found, asked = search(axes, {"x": 3, "y": 0}, value, entirely=("x",))
    assert asked[:5] == [(3, 0), (2, 0), (1, 0), (0, 0), (4, 0)]
    assert found.setting == {"x": 0, "y": 1}
    assert asked[5:] == [(0, 1), (1, 1)]  # the second pass walks again


def test_the_second_axis_is_walked_from_the_best_of_the_first_and_then_the_first_again():
    axes = {"x": (1, 2, 3), "y": ("low", "middle", "high")}
    found, asked = search(axes, {"x": 1, "y": "middle"}, lambda x, y: x + 10 * (y == "high"))
    assert asked == [(1, "middle"), (2, "middle"), (3, "middle"), (3, "low"), (3, "high"), (2, "high")]
    assert found.setting == {"x": 3, "y": "high"}


def test_a_ridge_is_climbed_in_two_passes_and_no_more():
    axes = {"x": range(9), "y": range(9)}
    found, _ = search(axes, {"x": 0, "y": 0}, lambda x, y: x + y - 3 * max(0, abs(x - y) - 1))
    assert PASSES == 2
    assert found.setting == {"x": 3, "y": 4}  # to 1, 2, then to 3, 4; a third pass would go on


def test_axes_taken_together_are_first_set_to_every_second_value_at_once():
    axes = {"x": range(7), "y": range(7), "z": (0, 1)}
    value = lambda x, y, z: {(4, 4): 5, (5, 4): 6}.get((x, y), -abs(x - 1) - abs(y - 1)) + z  # noqa: E731
    found, asked = search(axes, {"x": 1, "y": 1, "z": 0}, value, together=("x", "y"))
    assert asked[:5] == [(1, 1, 0), (0, 0, 0), (2, 2, 0), (4, 4, 0), (6, 6, 0)]
    assert found.setting == {"x": 5, "y": 4, "z": 1}
    alone, _ = search(axes, {"x": 1, "y": 1, "z": 0}, value)
    assert alone.setting == {"x": 1, "y": 1, "z": 1}


def test_of_equals_taken_together_the_start_wins():
    found, _ = search({"x": range(5), "y": range(5)}, {"x": 2, "y": 2}, lambda x, y: 0, together=("x", "y"))
    assert found.setting == {"x": 2, "y": 2}


def test_one_axis_taken_together_with_none_is_only_walked():
    found, asked = search({"x": range(9)}, {"x": 4}, lambda x: x == 4, together=("x",))
    assert asked == [(4,), (3,), (5,)]
    assert found.setting == {"x": 4}


def test_axes_are_searched_in_their_order_whatever_the_order_of_the_start():
    axes = {"b": (0, 1), "a": (0, 1)}
    found, asked = search(axes, {"a": 0, "b": 0, "unused": 7}, lambda b, a: b)
    assert asked == [(0, 0), (1, 0), (1, 1)]
    assert found.setting == {"b": 1, "a": 0}


def test_of_equals_the_earlier_wins_and_a_step_that_gains_nothing_ends_the_way():
    found, asked = search({"x": range(9)}, {"x": 4}, lambda x: 0)
    assert asked == [(4,), (3,), (5,)]
    assert found.setting == {"x": 4}
    found, _ = search({"x": range(9)}, {"x": 4}, lambda x: abs(x - 4) == 1)  # 3 and 5 are equally good
    assert found.setting == {"x": 3}


@pytest.mark.parametrize(("start", "n_tried"), [(0, 2), (8, 9)])
def test_the_ends_of_an_axis_are_ends(start, n_tried):
    found, asked = search({"x": range(9)}, {"x": start}, lambda x: -x)
    assert found.setting == {"x": 0}
    assert len(asked) == n_tried


def test_without_axes_the_start_is_all_there_is():
    found, asked = search({}, {}, lambda: 3.0)
    assert asked == [()]
    assert (found.setting, found.value) == ({}, 3.0)


def test_progress_counts_settings_as_they_are_tried():
    told = []
    coordinate_search({"x": range(5)}, {"x": 2}, lambda setting: setting["x"], told.append)
    assert told == [1, 2, 3, 4]


@st.composite
def hills(draw):
    """Return the heights of an axis that only rise and then only fall, the peak perhaps at an end."""
    steps = draw(st.lists(st.integers(1, 5), max_size=7))
    peak = draw(st.integers(0, len(steps)))
    up = [-sum(steps[i:peak]) for i in range(peak)]
    return [*up, 0, *(-sum(steps[peak : i + 1]) for i in range(peak, len(steps)))]


@settings(deadline=None)
@given(st.lists(hills(), min_size=1, max_size=3), st.data())
def test_a_sum_of_hills_is_climbed_to_the_top_without_trying_a_setting_twice(heights, data):
    axes = {f"x{i}": range(len(hill)) for i, hill in enumerate(heights)}
    start = {name: data.draw(st.sampled_from(values)) for name, values in axes.items()}

    def height(*places):
        return sum(hill[place] for hill, place in zip(heights, places, strict=True))

    found, asked = search(axes, start, lambda **setting: height(*setting.values()))
    best = max(product(*axes.values()), key=lambda places: height(*places))
    assert tuple(found.setting.values()) == best
    assert found.value == height(*best) == 0
    # the second pass only looks left and right of the top
    assert len(set(asked)) == len(asked) <= 1 + sum(len(values) + 1 for values in axes.values())


@settings(deadline=None)
@given(st.lists(st.integers(-3, 3), min_size=1, max_size=8), st.data())
def test_what_is_found_is_the_best_of_what_was_tried_and_no_worse_than_the_start(heights, data):
    start = data.draw(st.sampled_from(range(len(heights))))
    found, asked = search({"x": range(len(heights))}, {"x": start}, lambda x: heights[x])
    assert found.value == max(heights[x] for (x,) in asked) >= heights[start]
    assert heights[found.setting["x"]] == found.value
