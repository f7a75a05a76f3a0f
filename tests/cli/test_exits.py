"""How commands end: exit statuses, closed pipes, signals."""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import click
import pytest

from tagmix import cli, interrupts
from tagmix.cli import run
from tagmix.cli.exits import Exit

GUIDE = Path(__file__).parents[2] / "docs" / "guide" / "commands.md"


def start(code: str, **how: object) -> "subprocess.Popen[str]":
    """Start Python with tagmix; stdout tells when the test may go on."""
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen([sys.executable, "-c", code], **{**streams, **how})


def test_the_guide_lists_every_exit_status_and_no_other() -> None:
    rows = [line.split("|")[1:3] for line in GUIDE.read_text(encoding="utf-8").splitlines()]
    found = {int(row[0]): row[1].strip() for row in rows if len(row) == 2 and row[0].strip().isdigit()}
    assert found == {int(one): one.about for one in Exit}


@pytest.mark.parametrize(("raised", "status"), [(KeyboardInterrupt(), 130), (EOFError(), 130)])
def test_an_interrupted_command_says_so_in_one_line(
    raised: BaseException, status: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def stop(_: object) -> None:
        raise raised

    monkeypatch.setattr(cli, "_invoke", stop)
    assert run(["demo"]) == status
    said = "tagmix: Interrupted. No partial files; run the same command to resume.\n"
    assert capsys.readouterr().err == said


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
@pytest.mark.parametrize("during", ["import", "work"])
def test_a_signal_ends_a_command_without_a_traceback(number: int, status: int, during: str) -> None:
    inside = "interrupts.importing()" if during == "import" else "contextlib.nullcontext()"
    code = (
        "import contextlib, sys, time; from tagmix import cli, interrupts\n"
        f"def slow(_):\n with {inside}:\n"
        "  try: print('ready', flush=True); time.sleep(60)\n"
        f"  finally: {'raise ImportError()' if during == 'import' else 'pass'}\n"
        "cli._invoke = slow; sys.argv = ['tagmix', 'demo']; cli.main()"
    )
    with start(code) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        process.send_signal(number)
        _, said = process.communicate(timeout=30)
    assert (process.returncode, said) == (status, f"tagmix: {interrupts.SAID}\n")


def test_a_second_signal_at_once_does_not_cut_the_clean_up_short_and_a_later_one_does() -> None:
    code = (
        "import sys, time; from tagmix import cli, interrupts; interrupts.PATIENCE = 0.5\n"
        "def slow(_):\n"
        " try:\n  print('ready', flush=True); time.sleep(60)\n"
        " finally:\n  print('cleaning', flush=True); time.sleep(60)\n"
        "cli._invoke = slow; sys.argv = ['tagmix', 'demo']; cli.main()"
    )
    with start(code) as process:
        assert process.stdout is not None
        process.stdout.readline()
        process.send_signal(signal.SIGINT)
        assert process.stdout.readline() == "cleaning\n"
        process.send_signal(signal.SIGINT)
        time.sleep(0.6)
        assert process.poll() is None
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=30) == 130


def test_the_entry_of_the_command_answers_signals_before_it_imports_click() -> None:
    code = (
        "import sys, tagmix.interrupts as i; import tagmix.__main__ as entry\n"
        "i.take_over = lambda: print('over', 'click' in sys.modules)\n"
        "entry.import_module = lambda name: sys.exit(3); entry.main()"
    )
    with start(code) as process:
        assert process.communicate(timeout=30)[0] == "over False\n"
        assert process.returncode == 3


@pytest.mark.parametrize("call", ["['--help']", "['print']", "['print', '--little']"])
def test_a_reader_that_has_seen_enough_ends_a_command_quietly(call: str) -> None:
    code = (
        "import sys, click; from tagmix import cli\n"
        "@click.command()\n@click.option('--little', is_flag=True)\n"
        "def command(little):\n"
        " sys.stdout.write('not flushed') if little else [click.echo(i) for i in range(10**5)]\n"
        "cli._Verbs.get_command = lambda self, context, name: command\n"
        f"sys.stdin.read(); sys.argv = ['tagmix', *{call}]; cli.main()"
    )
    env = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    with start(code, stdin=subprocess.PIPE, env=env) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        assert process.stderr is not None
        process.stdout.close()
        process.stdin.close()
        assert process.stderr.read() == ""
        assert process.wait(timeout=30) == Exit.CLOSED


def test_a_broken_pipe_of_another_kind_is_an_error(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(_: object) -> None:
        raise BrokenPipeError(32, "Broken pipe")

    monkeypatch.setattr(cli, "_invoke", broken)
    assert run(["demo"]) == Exit.FAILED
    assert "cannot be used (Broken pipe)" in capsys.readouterr().err


def test_a_command_in_a_thread_needs_no_signals(capsys: pytest.CaptureFixture[str]) -> None:
    statuses: list[int] = []
    thread = threading.Thread(target=lambda: statuses.append(run(["--version"])))
    thread.start()
    thread.join()
    assert statuses == [0]


def test_a_verb_decides_its_exit_status(monkeypatch: pytest.MonkeyPatch) -> None:
    def leave(_: object) -> None:
        raise click.exceptions.Exit(Exit.FAILED)

    monkeypatch.setattr(cli, "_invoke", leave)
    assert run(["demo"]) == Exit.FAILED
    assert os.EX_OK == Exit.DONE
