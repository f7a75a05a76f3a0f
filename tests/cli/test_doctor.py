"""tagmix doctor: what it finds where something is missing or broken."""

import json
import os
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

from tagmix.catalogue import open_catalogue, place_of
from tagmix.cli import doctor, run
from tagmix.cli.checks import files, machine, packages
from tagmix.cli.checks.finding import OK, PROBLEM, WARNING, Finding, findings_of
from tagmix.errors import NetworkError
from tagmix.images import published


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a home folder with cache and data; the self test has a test of its own."""
    home = tmp_path / "eva"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    monkeypatch.setitem(doctor.CHECKS, "self test", lambda: iter([Finding("self test", OK, "works")]))
    return home


def doctored(capsys: pytest.CaptureFixture[str], *paths: object) -> tuple[int, dict[str, list[str]]]:
    """Return the exit status, and for each check its states."""
    status = run(["doctor", "--json", *map(str, paths)])
    found = json.loads(capsys.readouterr().out)
    states: dict[str, list[str]] = {}
    for one in found["findings"]:
        states.setdefault(one["check"], []).append(one["state"])
    every = [state for own in states.values() for state in own]
    assert (found["problems"], found["warnings"]) == (every.count(PROBLEM), every.count(WARNING))
    return status, states


def test_a_sound_installation_has_no_problems_and_names_no_home(
    home: Path, model: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (home / "Photos").mkdir()
    assert run(["doctor", str(model), str(home / "Photos")]) == 0
    said = capsys.readouterr().out
    assert "0 problems, 0 warnings" in said
    for check in (*doctor.CHECKS, "model", "photos", "its catalogue"):
        assert f"{check}: " in said
    assert "~/.cache/tagmix" in said
    assert str(home) not in said
    assert not list(home.glob(".*/**/tagmix"))
    assert all(len(line) <= 110 for line in said.splitlines())


def test_the_self_test_describes_and_annotates_a_drawn_picture() -> None:
    (found,) = machine.self_test()
    assert found.state == OK
    assert "was annotated" in found.found


def test_a_self_test_that_crashes_is_a_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    def crashed(call: list[str], **_: object) -> object:
        return subprocess.CompletedProcess(call, -11, "", "Traceback\nImportError: libgomp is missing\n")

    monkeypatch.setattr(subprocess, "run", crashed)
    (found,) = machine.self_test()
    assert (found.state, "libgomp is missing" in found.found) == (PROBLEM, True)


def test_missing_and_old_packages_are_named_with_the_way_out(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    needed = ["click>=99", "no-such-thing>=1", "rich", "onnx>=99; extra == 'network'"]
    monkeypatch.setattr(metadata, "requires", lambda _: needed)
    status, states = doctored(capsys)
    assert (status, states["packages"]) == (1, [PROBLEM, PROBLEM, OK])
    assert [one.way_out for one in packages.packages()][:2] == [
        "python -m pip install 'click>=99'",
        "python -m pip install 'no-such-thing>=1'",
    ]


def test_what_not_everybody_needs_is_a_warning(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(published, "missing", lambda *_: "onnxruntime")
    monkeypatch.setitem(sys.modules, "pillow_heif", None)
    monkeypatch.setenv("PATH", "")
    status, states = doctored(capsys)
    assert (status, states["network"], states["HEIC"], states["exiftool"]) == (0, [WARNING], [WARNING], [OK])


def test_changed_weights_are_a_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    def changed(one: published.Published) -> bytes:
        raise NetworkError(f"the weights in {one.package} were changed")

    monkeypatch.setattr(published, "weights_of", changed)
    states = [one.state for one in packages.networks()]
    assert states[0] == PROBLEM


def test_an_exiftool_that_does_not_run_is_a_warning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tool = tmp_path / "exiftool"
    tool.write_text("#!/bin/sh\nexit 3\n")
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    assert [one.state for one in packages.exiftool()] == [WARNING]


def test_a_catalogue_is_checked_in_full(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    photos = home / "Photos"
    photos.mkdir()
    place = place_of(photos)
    with open_catalogue(place, root=photos) as catalogue:
        for number in range(300):
            catalogue.photos.note(f"{number}.jpg", number.to_bytes(32, "big"), 10, 10)
    assert doctored(capsys, photos)[1]["its catalogue"] == [OK]
    content = bytearray(place.read_bytes())
    middle = len(content) // 2
    content[middle : middle + 3000] = b"\xff" * 3000
    place.write_bytes(content)
    status, states = doctored(capsys, photos)
    assert status == 1
    assert (states["catalogue 1"], states["its catalogue"]) == ([PROBLEM], [PROBLEM])


def test_what_killed_writes_left_is_named(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (home / "a").mkdir()
    (home / "a" / ".tagmix-0123.tmp").touch()
    (home / "a" / "b.jpg").touch()
    found = {one.check: one for one in files.library(home)}
    assert found["left over"].state == WARNING
    assert "1 photo," in found["photos"].found


def test_a_damaged_model_is_a_problem_in_one_line(
    model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    broken = tmp_path / "broken.tagmix"
    broken.write_bytes(model.read_bytes()[:-1])
    status, states = doctored(capsys, broken)
    assert (status, states["model broken.tagmix"]) == (1, [PROBLEM])
    assert run(["doctor", str(tmp_path / "no.tagmix")]) == 2


def test_a_folder_that_cannot_be_written_and_a_full_disk_are_problems(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(**_: object) -> None:
        raise PermissionError(13, "Permission denied")

    with monkeypatch.context() as patched:
        patched.setattr(files.tempfile, "TemporaryFile", refused)
        assert [one.state for one in files.writable("x", tmp_path, "")] == [PROBLEM]
    for free, state in ((10**6, PROBLEM), (10**8, WARNING), (10**10, OK)):
        usage = type("Usage", (), {"free": free})
        monkeypatch.setattr(files.shutil, "disk_usage", lambda _, usage=usage: usage)
        assert [one.state for one in files.writable("x", tmp_path / "new", "")] == [state]


def test_a_check_that_fails_hides_no_other() -> None:
    def fails() -> object:
        raise ZeroDivisionError("oh")

    (found,) = findings_of("odd", fails)  # type: ignore[arg-type]
    assert (found.check, found.state, found.found) == ("odd", PROBLEM, "ZeroDivisionError: oh")


def test_memory_is_read_where_the_system_tells(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "meminfo").write_text("MemTotal: 9 kB\nMemAvailable:   1000 kB\n")
    assert machine.memory(tmp_path / "meminfo")[1] == 1_024_000
    assert machine.memory(tmp_path / "none")[1] is None
    monkeypatch.setattr(machine, "memory", lambda: (10**10, 10**9))
    assert [one.state for one in machine.machine()] == [WARNING]
