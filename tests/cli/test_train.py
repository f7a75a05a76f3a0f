"""tagmix train: what it says, what it writes, what it refuses."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import tagmix
from tagmix.cli import run
from tests.cli.conftest import QUICK


def lines(text: str) -> list[str]:
    return [line for line in text.splitlines() if line]


def one_line_error(capsys: pytest.CaptureFixture[str]) -> str:
    """Return the error; it must be one line of ours."""
    said = lines(capsys.readouterr().err)
    assert len(said) == 1, said
    assert said[0].startswith("tagmix: ")
    return said[0]


def test_training_writes_an_annotator_that_never_saw_the_test_part(album: Path, model: Path) -> None:
    annotator = tagmix.load(model)
    assert isinstance(annotator, tagmix.Annotator)
    train = tagmix.open_album(album).split("train").keep_tags(4)
    assert set(annotator.model.tag_names_) == set(train.tag_counts())


def test_training_says_how_well_held_out_pictures_are_ranked(
    album: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "m.tagmix"
    assert run(["train", str(album), "-m", str(path), *QUICK]) == 0
    said = capsys.readouterr()
    assert "top-5 accuracy, cross-validated" in said.out
    assert "always the most frequent tags" in said.out
    numbers = (
        r"shown tags: expected precision 0\.\d\d, cross-validated (0\.\d\d), recall (0\.\d\d); (\d+)% of pic"
    )
    (found,) = re.findall(numbers, said.out)
    outcome = tagmix.load(path).model.calibration_.outcome
    expected = (
        outcome.right / outcome.shown,
        outcome.right / outcome.given,
        100 * outcome.tagged / outcome.pictures,
    )
    assert found == (f"{expected[0]:.2f}", f"{expected[1]:.2f}", f"{expected[2]:.0f}")
    assert lines(said.out)[-1] == str(path)
    assert said.err == ""  # no bars in a pipe


def test_the_same_seed_trains_the_same_bytes(
    album: Path, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    again = tmp_path / "again.tagmix"
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "0")
    assert run(["train", str(album), "--model", str(again), "--evidence", "0.1", *QUICK]) == 0
    assert again.read_bytes() == model.read_bytes()


def test_an_empty_folder_is_refused_in_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "empty").mkdir()
    assert run(["train", str(tmp_path / "empty"), "-m", str(tmp_path / "m.tagmix")]) == 1
    assert "got no photos: check the path" in one_line_error(capsys)


def test_a_folder_without_tags_is_refused_in_one_line(
    album: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["train", f"folder:{album / 'images'}", "-m", str(tmp_path / "m.tagmix"), *QUICK]) == 1
    assert "has a tag" in one_line_error(capsys)
    assert not (tmp_path / "m.tagmix").exists()


def test_one_picture_is_refused_in_one_line(
    album: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    one = tmp_path / "one.jsonl"
    (tmp_path / "a.jpg").write_bytes((album / "images" / "0000.jpg").read_bytes())
    one.write_text(json.dumps({"image": "a.jpg", "tags": ["sky", "sea"]}))
    assert run(["train", str(one), "-m", str(tmp_path / "m.tagmix"), *QUICK]) == 1
    assert "--min-count" in one_line_error(capsys)


def test_an_album_of_broken_pictures_is_refused_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for i in range(8):
        (tmp_path / f"{i}.jpg").write_bytes(b"no picture")
    entries = [{"image": f"{i}.jpg", "tags": ["sky", "sea"][: 1 + i % 2]} for i in range(8)]
    (tmp_path / "album.jsonl").write_text("\n".join(json.dumps(entry) for entry in entries))
    assert run(["train", str(tmp_path / "album.jsonl"), "-m", str(tmp_path / "m.tagmix"), *QUICK]) == 1
    assert "no picture could be read" in one_line_error(capsys)


def test_broken_pictures_are_named_at_the_end_and_the_rest_is_learnt(
    album: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    entries = [json.loads(line) for line in (album / "annotations.jsonl").read_text().splitlines()]
    for entry in entries:
        (tmp_path / entry["image"]).parent.mkdir(exist_ok=True)
        (tmp_path / entry["image"]).write_bytes((album / entry["image"]).read_bytes())
        del entry["mask"]
    broken = next(entry["image"] for entry in entries if entry["split"] == "train")
    (tmp_path / broken).write_bytes(b"\xff\xd8 half a picture")
    (tmp_path / "album.jsonl").write_text("\n".join(json.dumps(entry) for entry in entries))
    path = tmp_path / "m.tagmix"
    assert run(["train", str(tmp_path / "album.jsonl"), "-m", str(path), "--evidence", "0.1", *QUICK]) == 0
    said = capsys.readouterr().err
    assert "1 picture skipped" in said
    assert Path(broken).name in said
    assert path.exists()


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--model", "{}/no/such/folder/m.tagmix"], "cannot be written"),
        (["--model", "{}"], "it is a folder"),
        (["--model", "{}/m.tagmix", "--split", "holiday"], "split must be one of"),
        (["--model", "{}/m.tagmix", "--min-count", "1000"], "--min-count"),
        (["--model", "{}/m.tagmix", "--subfolders"], "of a format without --subfolders"),
        (["--model", "/dev/full"], "it is a device or a pipe"),
        (["--model", "{}/" + 300 * "m"], "cannot be written, File name too long"),
    ],
)
def test_wrong_settings_are_refused_in_one_line(
    album: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    expected: str,
) -> None:
    filled = [argument.format(tmp_path) for argument in arguments]
    assert run(["train", str(album), *filled]) == 1
    assert expected in one_line_error(capsys)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "option",
    [
        ["--words", "0"],
        ["--colours", "-1"],
        ["--patches", "0"],
        ["--largest-patch", "7"],
        ["--largest-patch", "nan"],
        ["--evidence", "nan"],
        ["--jobs", "0"],
        ["--jobs", "-3"],
        ["--seed", "-1"],
        ["--min-count", "-3"],
        ["--evidence", "1e-320"],
        ["--regions", "0"],
    ],
)
def test_numbers_out_of_range_are_a_wrong_call(
    album: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], option: list[str]
) -> None:
    assert run(["train", str(album), "-m", str(tmp_path / "m.tagmix"), *option]) == 2
    assert f"Invalid value for '{option[0]}'" in capsys.readouterr().err.replace("-j' / '--jobs", "--jobs")


def test_too_few_pictures_to_choose_from_are_refused_in_one_line_after_the_broken_ones(
    album: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for i in range(6):
        broken = b"none" if i > 1 else (album / "images" / f"000{i}.jpg").read_bytes()
        (tmp_path / f"{i}.jpg").write_bytes(broken)
    entries = [{"image": f"{i}.jpg", "tags": ["sky", "sea"]} for i in range(6)]
    (tmp_path / "album.jsonl").write_text("\n".join(json.dumps(entry) for entry in entries))
    assert run(["train", str(tmp_path / "album.jsonl"), "-m", str(tmp_path / "m.tagmix"), *QUICK]) == 1
    said = lines(capsys.readouterr().err)
    assert said[0] == "4 pictures skipped:"
    assert said[-1].startswith("tagmix: choosing κ needs at least 6 pictures")


def test_an_album_that_is_all_test_says_so(
    album: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.jpg").write_bytes((album / "images" / "0000.jpg").read_bytes())
    (tmp_path / "a.jsonl").write_text(json.dumps({"image": "a.jpg", "tags": ["sky"], "split": "test"}))
    assert run(["train", str(tmp_path / "a.jsonl"), "-m", str(tmp_path / "m.tagmix")]) == 1
    assert "marked test" in one_line_error(capsys)


def test_an_album_whose_pictures_are_all_missing_is_refused_as_empty(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.jsonl").write_text(json.dumps({"image": "lost.jpg", "tags": ["sky"]}))
    assert run(["train", str(tmp_path / "a.jsonl"), "-m", str(tmp_path / "m.tagmix")]) == 1
    said = lines(capsys.readouterr().err)
    assert said[0] == "1 problem in the album:"
    assert said[-1].startswith("tagmix: an album must have pictures, got none that exists: ")


def test_a_part_of_an_album_without_parts_is_refused(
    album: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.jpg").write_bytes((album / "images" / "0000.jpg").read_bytes())
    (tmp_path / "a.jsonl").write_text(json.dumps({"image": "a.jpg", "tags": ["sky"]}))
    assert run(["train", str(tmp_path / "a.jsonl"), "-m", str(tmp_path / "m.tagmix"), "--split", "x"]) == 1
    assert "split must not be given for an album without parts, got 'x'" in one_line_error(capsys)


def test_a_usual_cache_that_cannot_be_made_is_done_without(
    album: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file" / "below"))
    options = [option for option in QUICK if option != "--no-cache"]
    path = tmp_path / "m.tagmix"
    assert run(["train", str(album), "-m", str(path), "--evidence", "0.1", *options]) == 0
    assert "nothing is kept between runs" in capsys.readouterr().err


def test_a_mistake_of_ours_is_one_line_too(
    album: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def stumble(*_: object, **__: object) -> None:
        raise ZeroDivisionError("oh")

    monkeypatch.setattr("tagmix.cli.train.train_described", stumble)
    call = ["train", str(album), "-m", str(tmp_path / "m.tagmix"), *QUICK]
    assert run(call) == 1
    assert "unexpected error (ZeroDivisionError: oh)" in one_line_error(capsys)
    monkeypatch.setenv("TAGMIX_DEBUG", "1")
    with pytest.raises(ZeroDivisionError):
        run(call)


def test_a_cache_that_cannot_be_written_ends_the_run_in_one_line(
    album: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("in the way")
    arguments = [
        "--model",
        str(tmp_path / "m.tagmix"),
        "--cache",
        str(tmp_path / "file" / "cache"),
        "--network",
        "none",
        "-j",
        "1",
    ]
    assert run(["train", str(album), *arguments]) == 1
    assert "cache" in one_line_error(capsys)


def test_keywords_in_sidecars_and_names_of_folders_are_tags(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rng = np.random.default_rng(0)
    for folder, level in (("light", 200), ("dark", 40)):
        (tmp_path / "album" / folder).mkdir(parents=True)
        for i in range(6):
            pixels = rng.normal(level, 20, (40, 40, 3)).clip(0, 255).astype(np.uint8)
            Image.fromarray(pixels).save(tmp_path / "album" / folder / f"{i}.png")
    path = tmp_path / "m.tagmix"
    assert run(["train", str(tmp_path / "album"), "--subfolders", "-m", str(path), *QUICK]) == 0
    assert set(tagmix.load(path).model.tag_names_) == {"light", "dark"}
    capsys.readouterr()
    photo = tmp_path / "album" / "dark" / "0.png"
    assert run(["annotate", str(photo), "-m", str(path), "--top", "1", "--no-cache", "-j", "1"]) == 0
    assert "dark" in capsys.readouterr().out


def test_ctrl_c_leaves_no_model_and_no_traceback(album: Path, tmp_path: Path) -> None:
    """A process group of its own, as a terminal makes one; the signal goes to all of it."""
    path, cache = tmp_path / "m.tagmix", tmp_path / "cache"
    call = ["train", str(album), "-m", str(path), "--cache", str(cache), "--jobs", "2", "--patches", "20000"]
    call += ["--network", "none"]
    process = subprocess.Popen(
        [sys.executable, "-m", "tagmix", *call],
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    )
    deadline = time.monotonic() + 60
    while not list(cache.rglob("*.tagmix")) and time.monotonic() < deadline:
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130, said
    assert "Traceback" not in said
    assert lines(said)[-1].startswith("tagmix: Interrupted.")
    assert not path.exists()
