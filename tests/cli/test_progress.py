"""Progress in a pipe: plain lines, few of them, with the time left."""

import pytest

from tagmix.cli import progress
from tagmix.cli.progress import bars, plain_lines


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    monkeypatch.setattr(progress, "_TOLD", {})
    return []


def test_a_stage_has_a_line_and_then_one_per_minute_with_the_time_left(told: list[str]) -> None:
    now = 0.0
    report = plain_lines(told.append, lambda: now)
    for second in range(0, 200, 2):
        now = float(second)
        report("pictures", second, 1000)
    now = 300.0
    report("model", 0, 1)
    assert told == [
        "describing pictures: 6 of 1,000, 17 minutes left",
        "describing pictures: 66 of 1,000, 16 minutes left",
        "describing pictures: 126 of 1,000, 15 minutes left",
        "describing pictures: 186 of 1,000, 14 minutes left",
        "learning tags: 0 of 1",
    ]


def test_a_quick_run_is_quiet(told: list[str]) -> None:
    times = iter((0.0, 1.0, 4.9, 6.0))
    report = plain_lines(told.append, lambda: next(times))
    report("reading", 0, 0)
    report("reading", 0, 0)
    assert told == []
    report("reading", 0, 0)
    assert told == ["reading the album …"]


def test_a_run_that_opens_bars_again_does_not_repeat_itself(told: list[str]) -> None:
    for start in (0.0, 10.0, 70.0):
        now = start
        report = plain_lines(told.append, lambda: now)  # noqa: B023 (called in the same round)
        now += 5
        report("pictures", int(start), 100)
    assert told == ["describing pictures: 0 of 100", "describing pictures: 70 of 100"]


def test_bars_show_the_time_left_on_a_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "120")
    with bars() as report:
        report("pictures", 0, 10)
        report("pictures", 5, 10)
    said = capsys.readouterr().err
    assert "5/10" in said
    assert "left" in said
