"""Questions of --confirm: on a terminal, and where there is none."""

import io
import os
import pty
import subprocess
import sys

import click
import pytest

from tagmix import cli
from tagmix.cli import run
from tagmix.cli.asking import Answer, Asker
from tagmix.errors import ParameterError


class Typed(io.StringIO):
    """A terminal on which somebody has typed."""

    def isatty(self) -> bool:
        return True


def answers(monkeypatch: pytest.MonkeyPatch, typed: str, questions: int) -> list[str]:
    monkeypatch.setattr(sys, "stdin", Typed(typed))
    asker = Asker("--confirm")
    return [asker.ask(f"Write {number}?").value for number in range(questions)]


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("y\nn\nq\n", ["yes", "no", "quit"]),
        ("YES\n No \nQuit\n", ["yes", "no", "quit"]),
        ("n\na\n", ["no", "yes", "yes"]),
        ("\nperhaps\ny\nn\n", ["yes", "no", "quit"]),
    ],
)
def test_a_person_answers_yes_no_all_or_quit(
    monkeypatch: pytest.MonkeyPatch, typed: str, expected: list[str]
) -> None:
    assert answers(monkeypatch, typed, 3) == expected


def test_questions_are_asked_on_stderr_and_after_all_no_more(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert answers(monkeypatch, "x\nall\n", 3) == ["yes"] * 3
    said = capsys.readouterr()
    assert (said.out, said.err) == ("", 2 * "Write 0? [y]es, [n]o, [a]ll, [q]uit: ")


def test_names_in_a_question_cannot_steer_the_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdin", Typed("y\n"))
    assert Asker("--confirm").ask("Write \x1b[2Ja.jpg?") is Answer.YES
    assert capsys.readouterr().err.startswith("Write \\x1b[2Ja.jpg?")


@pytest.mark.parametrize("stdin", [io.StringIO("y\n"), None])
def test_without_a_terminal_the_option_is_refused_in_one_line(
    monkeypatch: pytest.MonkeyPatch, stdin: io.StringIO | None, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdin", stdin)
    with pytest.raises(ParameterError, match=r"^--confirm asks questions .* leave --confirm out"):
        Asker("--confirm")

    @click.command()
    def command() -> None:
        Asker("--confirm")

    monkeypatch.setattr(cli._Verbs, "get_command", lambda *_: command)
    assert run(["ask"]) == 1
    assert capsys.readouterr().err.count("\n") == 1


def test_a_real_terminal_is_asked() -> None:
    code = "from tagmix.cli.asking import Asker; a = Asker('--confirm'); print(a.ask('1?'), a.ask('2?'))"
    master, slave = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=slave, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        os.write(master, b"n\n\x04")
        said, _ = process.communicate(timeout=30)
    os.close(master)
    os.close(slave)
    assert said == "Answer.NO Answer.QUIT\n"
