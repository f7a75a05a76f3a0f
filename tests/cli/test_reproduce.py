"""tagmix reproduce: what it draws, reads, leaves out and says, and what it refuses before any work."""

import gzip
import json
from functools import partial
from pathlib import Path

import pytest

from tagmix.cli import reproduce, run
from tagmix.comparison import run as running
from tagmix.comparison.parts import load_part
from tagmix.comparison.records import Task
from tagmix.errors import AlbumError
from tagmix.images.describe import Describer
from tagmix.images.process_pool import Failure
from tagmix.report.comparison import files
from tagmix.report.comparison.page import comparison_figures, comparison_page
from tagmix.report.page import GENERATOR
from tagmix.studies import datasets, openworld, planted
from tagmix.studies import tasks as studies
from tagmix.studies.datasets import Sources, album_name
from tagmix.studies.tasks import STUDIES
from tests.cli.test_evaluate import refuse_to_describe, stamps, strictly
from tests.cli.test_train import lines, one_line_error
from tests.comparison.painted import written_album
from tests.networks import save_network

pytestmark = pytest.mark.usefixtures("small")


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Draw few and small pictures, describe them by few words, compare two methods, write no page."""

    def draw(folder: Path, n: int, seed: int, **_: object) -> Path:
        assert not folder.exists(), "it was drawn again"
        return written_album(folder, n, split=True)

    monkeypatch.delenv("TAGMIX_DATA", raising=False)
    monkeypatch.setattr(datasets, "draw_album", draw)
    monkeypatch.setattr(datasets, "SCENES", 12)
    few = {"n_words": 6, "n_patches": 24, "n_regions": 4, "restarts": 1}
    monkeypatch.setattr(datasets, "Describer", partial(Describer, **few))
    two = ("frequency", "NaiveRegions")
    monkeypatch.setattr(studies, "COMPARED", two)
    for name in ("PICTURES", "REGIONS", "BALANCED"):
        monkeypatch.setattr(openworld, name, ("frequency",))
    monkeypatch.setattr(openworld, "OF_WORDS", "NaiveRegions")
    monkeypatch.setattr(studies, "PICTURES", ("frequency",))
    monkeypatch.setattr(studies, "CHANGES", ())
    monkeypatch.setattr(datasets, "SEEDS", 2)
    monkeypatch.setattr(studies, "ON_CURVES", ("frequency",))
    monkeypatch.setattr(studies, "margins", lambda data: [Task(data.name, "frequency", data.views)])
    monkeypatch.setitem(datasets.NEEDS, "margins", ())
    monkeypatch.setattr(files, "comparison_page", lambda records, **_: GENERATOR)
    monkeypatch.setattr(files, "comparison_figures", lambda records, extras: {})


def results(out: Path) -> list[tuple[str, str, dict[str, int]]]:
    found = strictly((out / "results.json").read_text())["results"]
    return [(one["data"], one["method"], one["point"]) for one in found]


def test_without_data_the_drawn_scenes_are_measured_and_what_is_left_out_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    call = ["reproduce", "--out", str(tmp_path), "--jobs", "1", "--network", "none"]
    assert run(call) == 0
    said = capsys.readouterr()
    assert lines(said.err) == [
        *(f"{name} is left out: no --data was given" for name in ("corel5k", "msrc_v2", "tate", "coco_part")),
    ]
    assert lines(said.out) == ["7 results", str(tmp_path / "index.html")]
    assert results(tmp_path) == [
        ("scenes", "frequency", {}),
        ("scenes", "NaiveRegions", {}),
        ("scenes_rich", "frequency", {}),  # with the first seed
        ("scenes_rich", "NaiveRegions", {}),
        ("scenes_rich", "ContextEMM", {}),  # of the ablation
        ("scenes_open", "frequency", {}),
        ("scenes_open", "NaiveRegions", {}),
    ]

    # The pictures are not drawn again, or all results would be those of other pictures
    before = stamps(tmp_path)
    assert run(call) == 0
    assert stamps(tmp_path) == before


def test_margins_are_studied_on_planted_data_if_there_is_no_other(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(datasets.NEEDS, "margins", ("corel5k", *planted.DESIGNS))
    for name, few in (("SEEDS", 1), ("TRAIN", 30), ("TEST", 20)):
        monkeypatch.setattr(planted, name, few)
    assert run(["reproduce", "margins", "--out", str(tmp_path), "--jobs", "1"]) == 0
    assert lines(capsys.readouterr().err) == ["corel5k is left out: no --data was given"]
    assert results(tmp_path) == [(name, "frequency", {}) for name in planted.DESIGNS]


def test_the_scenes_are_drawn_as_the_demo_draws_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.undo()  # the real ones
    monkeypatch.delenv("TAGMIX_DATA", raising=False)
    monkeypatch.setattr(datasets, "SCENES", 4)
    monkeypatch.setattr(Describer, "fit", refuse_to_describe)
    told: list[tuple[str, int, int]] = []
    album = Sources(None, {}, tmp_path, None, 1, lambda *what: told.append(what)).album("scenes")
    assert len(album) == 4
    assert {item.split for item in album} <= {"train", "test"}
    assert all(item.mask is not None for item in album)
    assert told == [("album", i, 4) for i in (1, 2, 3, 4)]
    stamp = album[0].image.stat().st_mtime_ns
    assert Sources(None, {}, tmp_path, None, 1, lambda *_: None).album("scenes") == album
    assert album[0].image.stat().st_mtime_ns == stamp


def catalogue(path: Path) -> Path:
    works = [
        {"id": str(i), "tags": ["hill", "sea"][: 1 + i % 2], "regions": ["a green hill"]} for i in range(30)
    ]
    path.parent.mkdir(parents=True)
    path.write_bytes(gzip.compress("\n".join(map(json.dumps, [*works, {"id": "odd"}])).encode()))
    return path


def test_data_sets_of_the_folder_and_further_albums_are_measured(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    data, out = tmp_path / "data", tmp_path / "out"
    corel = written_album(data / "corel5k", 12, split=True, masks=False)
    catalogue(data / "tate" / "tate.jsonl.gz")
    (corel / "04.png").write_bytes(b"no picture")
    more = written_album(tmp_path / "more photos", 10, masks=False)
    monkeypatch.setattr(studies, "TAGS", (2, 4))
    monkeypatch.setattr(files, "comparison_page", comparison_page)  # the real one
    monkeypatch.setattr(files, "comparison_figures", comparison_figures)
    call = ["figure4", "figure2", "tags", "--album", str(more), "--out", str(out), "--jobs", "1"]
    monkeypatch.setenv("TAGMIX_DATA", str(data))
    assert run(["reproduce", *call]) == 0
    said = capsys.readouterr()
    told = lines(said.err)
    assert told[0] == "2 items skipped:"
    assert "corel5k: " in told[1]
    assert "04.png" in told[1]
    assert told[2].startswith("  tate: ")
    found = results(out)
    assert {name for name, _, _ in found} == {"corel5k", "scenes", "more_photos", "tate"}
    assert found.count(("corel5k", "frequency", {})) == 2  # with SIFT alone, and with colour
    assert ("corel5k", "frequency", {"tags": 2}) in found
    assert not any(point == {"tags": 4} for _, _, point in found)  # all of them
    assert sum(name == "tate" for name, _, _ in found) == 1
    assert sum(name == "more_photos" for name, _, _ in found) == 5 * 3  # folds; two sorts of words, 2 tags
    page = (out / "index.html").read_text(encoding="utf-8")
    assert "The paper&#x27;s experiments" in page
    assert {path.suffix for path in (out / "figures").iterdir()} == {".svg", ".png"}


def test_the_flagship_describes_pictures_richly_by_several_seeds_and_by_a_network(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    data, out = tmp_path / "data", tmp_path / "out"
    written_album(data / "corel5k", 12, split=True, masks=False)
    more = written_album(tmp_path / "more", 10, masks=False)
    toml = save_network(tmp_path / "network")
    monkeypatch.setattr(files, "comparison_page", comparison_page)  # the real one
    monkeypatch.setattr(studies, "CONTENDERS", ("frequency",))
    monkeypatch.setattr(studies, "READS_ALL", ("frequency",))
    call = ["flagship", "--data", str(data), "--album", str(more), "--network", str(toml), "--out", str(out)]
    assert run(["reproduce", *call, "-j", "1"]) == 0
    assert lines(capsys.readouterr().err) == [
        "regions and pictures are described by tiny at 32 pixels",
        "msrc_v2 is left out: it is not in the folder of --data",
    ]
    homes = sorted(path.name for path in (out / "data").iterdir())
    assert homes == ["corel5k_rich", "more_rich"]  # drawn scenes stand in for photos where there are none
    parts = [load_part(out / "data", "corel5k_rich", i) for i in (0, 1)]
    assert parts[0].test.ids == parts[1].test.ids
    assert list(parts[0].train.views) == ["sift", "colour", "place", "map"]
    assert list(parts[0].train.pictures) == ["layout", "vector"]
    found = strictly((out / "results.json").read_text())["results"]
    views = {(one["data"], tuple(one["views"]), one["part"]) for one in found if one["method"] == "frequency"}
    own, net = ("sift", "colour", "layout"), ("map", "vector")
    assert {one[1:] for one in views if one[0] == "corel5k_rich"} == {
        (several, part) for several in (("sift",), own, (*own, *net)) for part in range(2)
    }
    assert {one[2] for one in views if one[0] == "more_rich"} == set(range(5))  # folds
    page = (out / "index.html").read_text(encoding="utf-8")
    assert "EMM with context and other methods" in page
    assert "Corel5k, rich description: SIFT, colour and layout" in page


def test_the_ablation_cuts_msrc_otherwise(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Task] = []

    def noted(tasks: list[Task], *_: object, **__: object) -> None:
        asked.extend(tasks)
        raise AlbumError("enough")

    monkeypatch.setattr(reproduce, "run_all", noted)
    written_album(tmp_path / "msrc_v2", 10)
    out = tmp_path / "out"
    assert (
        run(
            [
                "reproduce",
                "ablation",
                "--data",
                str(tmp_path),
                "--out",
                str(out),
                "-j",
                "1",
                "--network",
                "none",
            ]
        )
        == 1
    )
    assert {task.data for task in asked} == {
        "msrc_v2_rich",
        "msrc_v2_rich_grid",
        "msrc_v2_rich_graph",
    }
    offsets = {
        name: load_part(out / "data", name, 0).test.offsets.tolist()
        for name in ("msrc_v2_rich", "msrc_v2_rich_grid")
    }
    assert offsets["msrc_v2_rich_grid"] == [4 * i for i in range(len(offsets["msrc_v2_rich_grid"]))]
    assert "msrc_v2" not in {path.name for path in (out / "data").iterdir()}
    capsys.readouterr()


def test_a_network_that_nothing_reads_or_that_is_not_there_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    out = ["--out", str(tmp_path / "out"), "-j", "1"]
    assert run(["reproduce", "figure3", "--network", str(tmp_path / "none.toml"), *out]) == 0
    assert lines(capsys.readouterr().err) == [
        "--network is not used: only flagship, ablation, openworld, development read it",
        "msrc_v2 is left out: no --data was given",
    ]
    monkeypatch.setattr(Describer, "fit", refuse_to_describe)
    assert run(["reproduce", "flagship", "--network", str(tmp_path / "none.toml"), *out]) == 1
    assert "none.toml' cannot be read (it does not exist)" in one_line_error(capsys)


def test_an_album_may_stand_in_for_a_data_set_that_is_not_there(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    corel = written_album(tmp_path / "corel5k", 12, split=True, masks=False)
    call = ["reproduce", "figure4", "--album", f"jsonl:{corel}", "--out", str(tmp_path / "out"), "-j", "1"]
    assert run(call) == 0
    assert capsys.readouterr().err == ""
    assert {name for name, _, _ in results(tmp_path / "out")} == {"corel5k", "scenes"}


def test_a_stopped_run_keeps_its_records_and_goes_on_from_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    call = ["reproduce", "figure3", "--out", str(tmp_path), "--jobs", "1"]
    original = running.run_one

    def stopped(job: tuple[Task, str], **more: object) -> object:
        if job[0].method == "NaiveRegions":
            raise KeyboardInterrupt
        return original(job, **more)

    with monkeypatch.context() as patched:
        patched.setattr(running, "run_one", stopped)
        assert run(call) == 130
    assert lines(capsys.readouterr().err)[-1].startswith("tagmix: Interrupted.")
    before = stamps(tmp_path)
    assert len(before) == 1
    assert run(call) == 0
    assert stamps(tmp_path).items() > before.items()
    assert run([*call, "--again"]) == 0
    assert all(stamps(tmp_path)[name] > stamp for name, stamp in before.items())


@pytest.mark.parametrize("study", ["tags", "why"])
def test_a_study_whose_data_is_not_there_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], study: str
) -> None:
    assert run(["reproduce", study, "--out", str(tmp_path)]) == 1
    said = lines(capsys.readouterr().err)
    assert said[0].endswith("is left out: no --data was given")
    assert said[1:] == [f"tagmix: {study} needs data, got none: give its folder by --data"]
    assert not (tmp_path / "index.html").exists()


def test_wrong_names_are_a_wrong_call(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["reproduce", "figure9"]) == 2
    assert "figure2" in capsys.readouterr().err  # the way out
    assert run(["reproduce", "--data", str(tmp_path / "nowhere")]) == 2
    assert "does not exist" in capsys.readouterr().err
    (tmp_path / "file").touch()
    assert run(["reproduce", "--data", str(tmp_path / "file")]) == 2
    assert "is a file" in capsys.readouterr().err
    assert run(["reproduce", "--out", str(tmp_path / "file")]) == 2
    assert run(["reproduce", "--jobs", "0"]) == 2


def test_mistakes_in_albums_and_places_are_told_in_one_line_before_any_work(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(datasets, "draw_album", refuse_to_describe)
    monkeypatch.setattr(Describer, "fit", refuse_to_describe)
    albums = [
        written_album(tmp_path / folder, 1) for folder in ("a/photos", "b/photos", "my trip", "my-trip")
    ]
    first, second, blank, dash = (["--album", str(album)] for album in albums)
    for wrong, expected in (
        ([*first, *first], "got 'photos' twice: rename one"),
        ([*first, *second], "got 'photos' twice: rename one"),
        ([*blank, *dash], "got 'my_trip' twice: rename one"),  # their records would have the same names
        (["--album", str(written_album(tmp_path / "scenes", 1))], "got 'scenes' twice"),
        (
            ["--album", str(written_album(tmp_path / "photos_rich", 1))],
            "like a rich description, got 'photos_rich'",
        ),
        (["--album", str(tmp_path / "nowhere")], "check the path"),
        (["--album", f"coco:{tmp_path / 'nowhere.json'}"], "nowhere.json"),
    ):
        assert run(["reproduce", "figure3", *wrong, "--out", str(tmp_path / "out")]) == 1
        assert expected in one_line_error(capsys)
    (tmp_path / "file").touch()
    assert run(["reproduce", "--out", str(tmp_path / "file" / "below")]) == 1
    assert "cannot be used" in one_line_error(capsys)


@pytest.mark.parametrize(
    ("spec", "name"),
    [
        ("/data/holidays", "holidays"),
        ("labelme:/data/Our trip: 2024", "Our_trip__2024"),
        ("/data/a:b", "a_b"),
        ("/data/photos/..", "data"),
        ("/", "album"),
        ("/data/" + 300 * "x", 60 * "x"),
        ("/data/ähre.csv", "ähre.csv"),
    ],
)
def test_the_name_of_an_album_is_safe_as_the_name_of_a_folder(spec: str, name: str) -> None:
    assert album_name(spec) == name
    assert Task(name, "KNN", ("sift",)).name.startswith(f"{name}--")


def test_the_folder_above_is_named_like_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "inner").mkdir()
    monkeypatch.chdir(tmp_path / "inner")
    assert album_name("..") == album_name(str(tmp_path))
    assert album_name(".") == "inner"


DOCUMENTED = ["reproduce", "figure3", "-j", "1"]


def test_documents_are_those_of_one_clean_commit(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    docs = tmp_path / "docs"
    call = [*DOCUMENTED, "--out", str(tmp_path / "out"), "--docs", str(docs)]
    monkeypatch.setattr(running, "_commit", lambda: "abc")
    assert run(call) == 0
    assert lines(capsys.readouterr().out)[-1] == str(docs / "tables.md")
    text = (docs / "tables.md").read_text(encoding="utf-8")
    assert "## Scenes (drawn, every pixel labelled), SIFT, colour and place words" in text
    assert sorted(path.name for path in (docs / "figures").iterdir()) == ["figure2.svg", "figure3.svg"]
    assert run([*call, "--again"]) == 0  # its own file is replaced
    (docs / "tables.md").write_text("my own notes")
    capsys.readouterr()
    assert run(call) == 1
    assert "tables.md' cannot be written" in one_line_error(capsys)


@pytest.mark.parametrize(("commit", "shown"), [("abc-dirty", "abc-dirty"), (None, "unknown")])
def test_documents_of_changed_code_are_refused_before_any_work(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    commit: str | None,
    shown: str,
) -> None:
    monkeypatch.setattr(running, "_commit", lambda: commit)
    monkeypatch.setattr(datasets, "draw_album", refuse_to_describe)
    assert run([*DOCUMENTED, "--out", str(tmp_path / "out"), "--docs", str(tmp_path / "docs")]) == 1
    assert f"must be of one clean commit, got {shown}; no tables were written" in one_line_error(capsys)
    assert not (tmp_path / "docs").exists()


def test_tables_of_several_commits_or_with_a_missing_result_are_refused_and_the_page_is_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    out, docs = tmp_path / "out", tmp_path / "docs"
    call = [*DOCUMENTED, "--out", str(out), "--docs", str(docs)]
    monkeypatch.setattr(running, "_commit", lambda: "abc-dirty")
    assert run(call[:-2]) == 0  # without --docs
    monkeypatch.setattr(running, "_commit", lambda: "abc")
    next((out / "records").iterdir()).unlink()  # one is measured anew
    capsys.readouterr()
    assert run(call) == 1
    said = lines(capsys.readouterr().err)[-1]
    assert "got abc, abc-dirty; no tables were written: use --again" in said
    original = running.run_one

    def failing(job: tuple[Task, str], **more: object) -> object:
        failed = Failure("no luck")
        return failed if job[0].method == "NaiveRegions" else original(job, **more)

    monkeypatch.setattr(running, "run_one", failing)
    assert run([*call, "--again"]) == 1
    said = lines(capsys.readouterr().err)[-1]
    assert "got 1 of 2 tasks without a result, the first: no luck; no tables were written" in said
    assert (out / "index.html").is_file()
    assert list(docs.iterdir()) == []


def test_help_shows_examples_and_every_study(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["reproduce", "--help"]) == 0
    said = capsys.readouterr().out
    assert "Examples:\n" in said
    assert "tagmix reproduce figure3" in said
    assert all(f"\n  {study} " in said for study in STUDIES)
    assert set(datasets.NEEDS) == set(STUDIES)
