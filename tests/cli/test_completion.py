"""Completion by Tab: what shells ask for, in a process of its own, as they do."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import click
import pytest

from tagmix import cli
from tagmix.cli import VERBS, completing, run

HEAVY = "numpy numba sklearn cv2 scipy PIL rich matplotlib"


def ask(cache: Path, shell: str, *words: str, **env: str) -> list[str]:
    """Return the lines of the answer to Tab after these words."""
    typed = {"COMP_WORDS": " ".join(words), "COMP_CWORD": str(len(words) - 1), "XDG_CACHE_HOME": str(cache)}
    if shell == "fish":
        typed["COMP_CWORD"] = words[-1]
    done = subprocess.run(
        [sys.executable, "-m", "tagmix"],
        env={**os.environ, **typed, "_TAGMIX_COMPLETE": f"{shell}_complete", **env},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stderr == ""
    return done.stdout.splitlines()


@pytest.fixture(scope="module")
def warm(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a cache folder in which every verb is known."""
    cache = tmp_path_factory.mktemp("cache")
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("XDG_CACHE_HOME", str(cache))
        light = completing._Light(cli.tagmix)
        assert all(light.get_command(click.Context(light), verb) for verb in VERBS)
    return cache


@pytest.mark.parametrize(
    ("words", "answer"),
    [
        (["tagmix", "ann"], ["plain,annotate"]),
        (["tagmix", ""], [f"plain,{verb}" for verb in VERBS]),
        (["tagmix", "train", "--segm"], ["plain,--segmenter"]),
        (["tagmix", "train", "--no-b"], ["plain,--no-background"]),
        (["tagmix", "train", "--segmenter", "g"], ["plain,grid", "plain,graph"]),
        (["tagmix", "train", "Pho"], ["file,Pho"]),
        (["tagmix", "train", "Photos", "-m", "m"], ["file,m"]),
        (["tagmix", "annotate", "a.jpg", "b"], ["file,b"]),
        (["tagmix", "network", "--out", "x"], ["dir,x"]),
        (["tagmix", "train", "--network", "x.t"], ["file,x.t"]),
        (["tagmix", "completion", "z"], ["plain,zsh"]),
        (["tagmix", "tags", "mer"], ["plain,merge"]),
        (["tagmix", "tags", "synonym", "a"], ["plain,add"]),
        (["tagmix", "tags", "merge", "a", "b", "--d"], ["plain,--dry-run"]),
        (["tagmix", "fly", "--x"], [""]),
    ],
)
def test_verbs_options_choices_and_files_complete(warm: Path, words: list[str], answer: list[str]) -> None:
    assert ask(warm, "bash", *words) == answer


def test_zsh_and_fish_get_the_help_too(warm: Path) -> None:
    assert ask(warm, "zsh", "tagmix", "demo", "--pict")[:2] == ["plain", "--pictures"]
    assert ask(warm, "zsh", "tagmix", "ann") == ["plain", "annotate", VERBS["annotate"]]
    (line,) = ask(warm, "fish", "tagmix", "train", "--min")
    assert line.startswith("plain,--min-count\tLeave out tags")


def test_completion_imports_nothing_heavy(warm: Path) -> None:
    code = (
        "import sys; from tagmix import cli, interrupts; from tagmix.cli import completing\n"
        "completing.respond(cli.tagmix, 'bash_complete')\n"
        f"print(sorted(set({HEAVY.split()!r}) & set(sys.modules)))"
    )
    typed = {"COMP_WORDS": "tagmix train --segm", "COMP_CWORD": "2", "XDG_CACHE_HOME": str(warm)}
    done = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, **typed}, capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines() == ["plain,--segmenter", "[]"]


@pytest.mark.parametrize("kept", ["", "[]", '{"key": "another", "verbs": {"completion": []}}', None])
def test_what_is_kept_is_made_again_where_it_does_not_fit(tmp_path: Path, kept: str | None) -> None:
    file = tmp_path / "tagmix" / "completion.json"
    if kept is None:
        (tmp_path / "tagmix").touch()  # no cache folder can be made
    else:
        file.parent.mkdir()
        file.write_text(kept)
    assert ask(tmp_path, "bash", "tagmix", "completion", "b") == ["plain,bash"]
    if kept is not None:
        assert list(json.loads(file.read_text())["verbs"]) == ["completion"]
        assert [path.name for path in file.parent.iterdir()] == ["completion.json"]


def test_a_copy_has_every_option_of_every_verb() -> None:
    context = click.Context(cli.tagmix)
    for verb in VERBS:
        heavy = cli.tagmix.get_command(context, verb)
        assert heavy is not None
        light = completing.command_of(verb, json.loads(json.dumps(completing.spec_of(heavy))))
        names = [{o for p in one.params for o in (*p.opts, *p.secondary_opts)} for one in (heavy, light)]
        assert names[0] == names[1]


def test_a_problem_does_not_write_into_the_line_that_is_typed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(completing, "respond", lambda *_: 1 / 0)
    assert cli._complete("bash_complete") == 1
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_of_a_shell_is_accepted_by_it(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["completion", shell]) == 0
    script = capsys.readouterr().out
    assert f"_TAGMIX_COMPLETE={shell}_complete" in script
    if shutil.which(shell):
        subprocess.run([shell, "-n"], input=script, text=True, check=True)


def test_bash_completes_with_the_script(warm: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["completion", "bash"]) == 0
    code = (
        f"{capsys.readouterr().out}\n"
        "COMP_WORDS=(tagmix train --segm); COMP_CWORD=2; _tagmix_completion tagmix_here\n"
        'printf "%s\\n" "${COMPREPLY[@]}"'
    )
    here = warm / "tagmix_here"
    here.write_text(f"#!/bin/sh\nexec {sys.executable} -m tagmix\n")
    here.chmod(0o755)
    env = {**os.environ, "XDG_CACHE_HOME": str(warm), "PATH": f"{warm}:{os.environ['PATH']}"}
    done = subprocess.run(["bash", "-c", code], env=env, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["--segmenter"]
