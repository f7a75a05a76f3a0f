"""tagmix annotate: tags as text and as JSON, regions, and photos that cannot be read."""

import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import tagmix
from tagmix.annotate import Annotation, Guess
from tagmix.cli import run
from tagmix.cli.annotated import Annotated
from tagmix.metadata.read import PhotoMetadata
from tests.cli.test_train import one_line_error
from tests.metadata.photos import xmp

ALONE = ["--jobs", "1", "--no-cache"]


def test_top_tags_come_with_probabilities_the_surest_first(
    album: Path, model: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    photo = album / "images" / "0001.jpg"
    assert run(["annotate", str(photo), "-m", str(model), "--top", "3", *ALONE]) == 0
    said = capsys.readouterr()
    name, _, tags = said.out.strip().partition(": ")
    assert name == str(photo)
    shares = [int(part.rsplit(" ", 1)[1].strip(">%")) for part in tags.split(", ")]
    assert len(shares) == 3
    assert shares == sorted(shares, reverse=True)
    assert said.err == ""


def test_json_has_a_line_a_photo_and_says_the_same_as_python(
    album: Path, model: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = album / "images"
    assert run(["annotate", str(folder), "-m", str(model), "--json", "--regions", "--top", "4", *ALONE]) == 0
    found = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    photos = sorted(folder.iterdir())
    assert [Path(one["image"]) for one in found] == photos
    expected = list(tagmix.load(model).annotate(photos[:3], k=4))
    for one, annotation in zip(found, expected, strict=False):
        assert [tag["tag"] for tag in one["tags"]] == [guess.tag for guess in annotation.tags]
        assert len(one["regions"]) == len(annotation.regions)
        assert sum(region["area"] for region in one["regions"]) == pytest.approx(1, abs=0.01)


def test_without_top_only_tags_worth_showing_are_printed(
    album: Path, model: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["annotate", str(album / "images"), "-m", str(model), "--json", *ALONE]) == 0
    found = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert all(tag["shown"] for one in found for tag in one["tags"])
    assert any(one["tags"] for one in found)


def test_regions_are_named_with_their_place(
    album: Path, model: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["annotate", str(album / "images" / "0002.jpg"), "-m", str(model), "--regions", *ALONE]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) > 2
    assert all("% of the photo   " in line and line.startswith("  ") for line in lines[1:])


def test_a_photo_that_cannot_be_read_does_not_stop_the_others(
    album: Path, model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "broken.jpg").write_bytes(b"no picture")
    photos = [str(tmp_path / "broken.jpg"), str(tmp_path / "gone.jpg"), str(album / "images" / "0000.jpg")]
    assert run(["annotate", *photos, "-m", str(model), "--top", "1", *ALONE]) == 1
    said = capsys.readouterr()
    assert len(said.out.splitlines()) == 1
    assert "broken.jpg" in said.err
    assert "gone.jpg" in said.err
    assert "2 photos could not be read" in said.err


def test_a_folder_without_photos_does_not_stop_the_others(
    album: Path, model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    photos = [str(tmp_path), str(album / "images" / "0000.jpg")]
    assert run(["annotate", *photos, "-m", str(model), "--top", "1", *ALONE]) == 1
    said = capsys.readouterr()
    assert len(said.out.splitlines()) == 1
    assert "must have photos below it" in said.err


def test_names_that_hold_control_characters_stay_on_their_line(
    album: Path, model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    odd = tmp_path / "a\nforged.jpg: sky 100%\x1b[2J.jpg"
    odd.write_bytes((album / "images" / "0000.jpg").read_bytes())
    assert run(["annotate", str(odd), "-m", str(model), "--top", "1", *ALONE]) == 0
    said = capsys.readouterr().out
    assert len(said.splitlines()) == 1
    assert "\x1b" not in said


def test_json_is_utf_8_whatever_the_name_of_the_file(
    album: Path, model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    odd = tmp_path / os.fsdecode(b"no\xff\xfename.jpg")
    odd.write_bytes((album / "images" / "0000.jpg").read_bytes())
    assert run(["annotate", str(odd), "-m", str(model), "--json", *ALONE]) == 0
    said = capsys.readouterr().out
    assert said.isascii()
    assert Path(json.loads(said)["image"]) == odd


def test_json_escapes_what_a_tag_or_an_output_cannot_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    tags = (Guess("\ud800x\u202e", 0.9, True), Guess("café", 0.8, True))
    line = Annotated(Annotation("a.jpg", tags, ()), {}, PhotoMetadata()).json()
    assert line.isascii()
    assert [one["tag"] for one in json.loads(line)["tags"]] == [guess.tag for guess in tags]
    plain = Annotated(Annotation("a.jpg", tags[1:], ()), {}, PhotoMetadata())
    assert "café" in plain.json()
    monkeypatch.setattr("sys.stdout", io.TextIOWrapper(io.BytesIO(), "cp1252"))
    assert plain.json().isascii()


def test_what_an_output_cannot_show_is_escaped(album: Path, model: Path, tmp_path: Path) -> None:
    smile = tmp_path / "smile☺.jpg"
    smile.write_bytes((album / "images" / "0000.jpg").read_bytes())
    call = [sys.executable, "-m", "tagmix", "annotate", str(smile), "-m", str(model), "--top", "1", *ALONE]
    done = subprocess.run(
        call, env={**os.environ, "PYTHONIOENCODING": "cp1252"}, capture_output=True, check=True
    )
    assert rb"smile\u263a.jpg" in done.stdout


def test_a_model_that_is_none_is_refused_in_one_line(
    album: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    photo = str(album / "images" / "0000.jpg")
    (tmp_path / "m.tagmix").write_bytes(b"not a model")
    for path in (tmp_path / "m.tagmix", tmp_path / "absent.tagmix"):
        assert run(["annotate", photo, "-m", str(path)]) == 1
        one_line_error(capsys)


def test_bags_are_not_taken_for_a_model(
    album: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bags = tagmix.Bags([[1, 2], [0, 1]], [0, 1, 2])
    tagmix.save(bags, tmp_path / "b.tagmix")
    assert run(["annotate", str(album / "images" / "0000.jpg"), "-m", str(tmp_path / "b.tagmix")]) == 1
    assert "must be what `tagmix train` wrote" in one_line_error(capsys)


def test_a_folder_without_photos_is_refused_in_one_line(
    model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["annotate", str(tmp_path), "-m", str(model)]) == 1
    assert "must have photos below it" in one_line_error(capsys)


def shown(found: str) -> list[tuple[str, float]]:
    return [
        (tag["tag"], tag["probability"]) for line in found.splitlines() for tag in json.loads(line)["tags"]
    ]


def test_a_precision_shows_the_tags_above_its_threshold(
    album: Path, model: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ask = ["annotate", str(album / "images"), "-m", str(model), "--json", *ALONE]
    found = {}
    for precision in ("0.4", "0.6"):
        assert run([*ask, "--precision", precision]) == 0
        found[precision] = shown(capsys.readouterr().out)
    assert len(found["0.4"]) > len(found["0.6"]) > 0
    calibration = tagmix.load(model).model.calibration_
    for precision, tags in found.items():
        assert min(p for _, p in tags) >= calibration.threshold(float(precision)) - 1e-4
    assert set(found["0.6"]) < set(found["0.4"])


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["--precision", "0.999"], "a precision of 0.999 is out of reach"),
        (["--precision", "80"], "a precision must be between 0 and 1, got 80"),
    ],
)
def test_a_precision_that_cannot_be_had_is_refused_in_one_line(
    album: Path, model: Path, given: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["annotate", str(album / "images" / "0000.jpg"), "-m", str(model), *given, *ALONE]) == 1
    assert said in one_line_error(capsys)


def test_a_precision_and_a_number_of_tags_exclude_each_other(
    album: Path, model: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ask = ["annotate", str(album / "images"), "-m", str(model), "--precision", "0.5", "--top", "3", *ALONE]
    assert run(ask) != 0
    assert "exclude each other" in capsys.readouterr().err


def test_tags_that_a_photo_has_stand_beside_the_suggestions(
    album: Path, model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    photo = tmp_path / "a.jpg"
    photo.write_bytes((album / "images" / "0000.jpg").read_bytes())
    assert run(["annotate", str(photo), "-m", str(model), "--top", "2", "--json", *ALONE]) == 0
    before = json.loads(capsys.readouterr().out)
    assert before["existing"] == []
    first = before["tags"][0]["tag"]
    (tmp_path / "a.jpg.xmp").write_text(xmp(dc_subject=(first,), lr_hierarchicalSubject=("Places|Rome",)))
    assert run(["annotate", str(photo), "-m", str(model), "--top", "2", "--json", *ALONE]) == 0
    after = json.loads(capsys.readouterr().out)
    assert after["existing"] == [first, "Places|Rome"]
    assert after["tags"] == before["tags"]
    assert run(["annotate", str(photo), "-m", str(model), "--top", "2", *ALONE]) == 0
    line = capsys.readouterr().out
    assert line.count("(has it)") == 1
    assert line.endswith("; also has: Places|Rome\n")


def test_a_damaged_sidecar_is_a_line_and_its_photo_is_annotated(
    album: Path, model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("a", "b"):
        (tmp_path / f"{name}.jpg").write_bytes((album / "images" / "0000.jpg").read_bytes())
    (tmp_path / "a.xmp").write_text("<!DOCTYPE a><a/>")
    assert run(["annotate", str(tmp_path), "-m", str(model), "--top", "1", *ALONE]) == 1
    said = capsys.readouterr()
    assert len(said.out.splitlines()) == 2
    assert said.err.splitlines()[0] == "1 problem in metadata:"
    assert "a.jpg: 'a.xmp' must be XMP without a DOCTYPE" in said.err


def test_names_are_shown_short_and_kept_whole_in_json() -> None:
    guesses = (Guess("Places|Italy|Rome", 0.9, True), Guess("sea", 0.8, True), Guess("x", 0.1, False))
    known = PhotoMetadata(("Places|Italy|Rome", "People|Ann"), ("sea",))
    short = {"Places|Italy|Rome": "Rome", "sea": "sea", "x": "x"}
    found = Annotated(Annotation("a.jpg", guesses, ()), short, known)
    assert found.text() == "a.jpg: Rome 90% (has it), sea 80% (by tagmix); also has: People|Ann"
    content = json.loads(found.json())
    assert [(one["tag"], one["name"]) for one in content["tags"]] == [
        ("Places|Italy|Rome", "Rome"),
        ("sea", "sea"),
    ]
    assert (content["existing"], content["machine"]) == (["Places|Italy|Rome", "People|Ann"], ["sea"])
    none = Annotated(Annotation("a.jpg", (), ()), {}, known)
    assert none.text().startswith("a.jpg: nothing sure enough (see --top); also has: ")
