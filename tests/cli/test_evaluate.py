"""tagmix evaluate: a page and lines about an album's learners; resumed after a stop, refused in one line."""

import json
from html.parser import HTMLParser
from pathlib import Path

import pytest
from PIL import Image

from tagmix.cli import run
from tagmix.cli.evaluate import DEFAULT_LEARNERS, lines_of
from tagmix.cli.options import alone_in
from tagmix.comparison import methods
from tagmix.comparison import run as running
from tagmix.comparison.methods import METHODS, RIVALS, Method
from tagmix.comparison.prepare import without_folders
from tagmix.comparison.records import Record, Task
from tagmix.errors import BagsError
from tagmix.images.describe import Describer
from tagmix.report.page import GENERATOR
from tests.cli.test_train import lines, one_line_error
from tests.comparison.painted import album_of, written_album
from tests.comparison.test_run import Refuses

FEW = ["--words", "6", "--colours", "4", "--patches", "24", "--regions", "4", "--jobs", "1", "--no-cache"]
FEW += ["--network", "none"]
TWO = ["-l", "frequency", "-l", "NaiveRegions"]


@pytest.fixture(scope="session")
def painted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return written_album(tmp_path_factory.mktemp("painted") / "Our <b>holidays</b>", 16, split=True)


@pytest.fixture
def no_page(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave the page and the figures out, which take seconds."""
    monkeypatch.setattr("tagmix.report.comparison.files.comparison_page", lambda records, **_: GENERATOR)
    monkeypatch.setattr("tagmix.report.comparison.files.comparison_figures", lambda records, extras: {})


def strictly(text: str) -> dict:
    """Return what a JSON reader makes of it that knows no NaN."""

    def refuse(name: str) -> None:
        raise ValueError(name)

    return json.loads(text, parse_constant=refuse)


def stamps(out: Path) -> dict[str, int]:
    return {path.name: path.stat().st_mtime_ns for path in (out / "records").iterdir()}


class _Sources(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.sources: list[str] = []
        self.tags: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.sources += [value or "" for name, value in attrs if name in ("src", "href")]


def test_an_album_ends_in_a_page_numbers_lines_and_a_verdict(
    painted: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    assert run(["evaluate", str(painted), *TWO, "--out", str(out), *FEW]) == 0
    said = capsys.readouterr()
    assert said.err == ""  # no bars in a pipe, and nothing was set aside
    told = lines(said.out)
    assert told[-1] == str(out / "index.html")
    assert {line.split()[0] for line in told[:-2]} == {"frequency", "NaiveRegions", "perfect"}
    assert told[-2].startswith("Too few pictures (4) to show that any learner")
    page = _Sources()
    text = (out / "index.html").read_text(encoding="utf-8")
    page.feed(text)
    assert told[-2] in text
    assert "Learners on b&gt;" in text  # the last folder of its path
    assert str(painted.parent) not in text  # a page may be shared; where the album lies is nobody's business
    assert "script" not in page.tags
    assert all(source.startswith(("data:", "#")) for source in page.sources)
    results = strictly((out / "results.json").read_text(encoding="utf-8"))
    assert results["failed"] == {}
    assert [one["method"] for one in results["results"]] == ["frequency", "NaiveRegions"]
    for one in results["results"]:
        name = f"album--sift+colour+place+layout--all--{one['method']}--0.json"
        record = Record.load(out / "records" / name)
        assert one["metrics"] == record.metrics
        assert one["n_test"] == 4
    assert results["results"][0]["regions"] is None
    assert 0 <= results["results"][1]["regions"]["free"] <= results["results"][1]["regions"]["captioned"] <= 1
    assert {path.suffix for path in (out / "figures").iterdir()} == {".svg", ".png"}
    assert not list(out.rglob("*.part"))

    # The same again reads what is there
    before, page_before = stamps(out), text
    monkeypatch.setattr(Describer, "fit", None)
    assert run(["evaluate", str(painted), *TWO, "--out", str(out), *FEW]) == 0
    assert stamps(out) == before
    assert lines(capsys.readouterr().out) == told
    assert (out / "index.html").read_text(encoding="utf-8") == page_before


@pytest.mark.usefixtures("no_page")
def test_a_stopped_run_keeps_its_records_and_goes_on_from_them(
    painted: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    call = ["evaluate", str(painted), *TWO, "--out", str(tmp_path), *FEW]
    original = running.run_one

    def stopped(job: tuple[Task, str], **more: object) -> object:
        if job[0].method == "NaiveRegions":
            raise KeyboardInterrupt
        return original(job, **more)

    with monkeypatch.context() as patched:
        patched.setattr(running, "run_one", stopped)
        assert run(call) == 130
    said = one_line_error(capsys)
    assert said == "tagmix: Interrupted. No partial files; run the same command to resume."
    before = stamps(tmp_path)
    assert len(before) == 1
    assert not (tmp_path / "index.html").exists()
    assert run(call) == 0
    after = stamps(tmp_path)
    assert len(after) == 2
    assert {name: after[name] for name in before} == before
    assert run([*call, "--again"]) == 0
    assert all(stamp > after[name] for name, stamp in stamps(tmp_path).items())


@pytest.mark.usefixtures("no_page")
def test_folds_test_every_picture_and_a_broken_one_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    album = written_album(tmp_path / "album", 12)
    (album / "07.png").write_bytes(b"no picture")
    out = tmp_path / "out"
    assert run(["evaluate", str(album), "-l", "frequency", "--folds", "3", "--out", str(out), *FEW]) == 0
    said = lines(capsys.readouterr().err)
    assert said[0] == "1 picture skipped:"
    assert "07.png" in said[1]
    results = strictly((out / "results.json").read_text())["results"]
    assert [one["part"] for one in results] == [0, 1, 2]
    assert sum(one["n_test"] for one in results) == 11


@pytest.mark.usefixtures("no_page")
def test_a_learner_that_fails_is_told_and_the_others_are_measured(
    painted: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    refuses = Method(Refuses(BagsError("it does not <fit>")), {}, {})
    monkeypatch.setitem(methods.METHODS, "KNN", lambda views: refuses)
    call = ["evaluate", str(painted), "-l", "KNN", "--out", str(tmp_path), *FEW]
    assert run([*call, "-l", "frequency"]) == 0
    said = capsys.readouterr()
    name = "album--sift+colour+place+layout--all--KNN--0"
    assert lines(said.err) == ["1 task failed:", f"  {name}: it does not <fit>"]
    assert "frequency" in said.out
    assert strictly((tmp_path / "results.json").read_text())["failed"] == {name: "it does not <fit>"}
    assert run(call) == 1
    expected = "at least one result is needed, got none: every task failed, the first with: it does not <fit>"
    assert one_line_error(capsys) == f"tagmix: {expected}"


def test_every_learner_may_be_asked_for_at_once_and_each_is_measured_once(
    painted: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked: list[list[str]] = []

    def noted(tasks: list[Task], *_: object, **__: object) -> None:
        asked.append([task.method for task in tasks])
        raise BagsError("enough")

    monkeypatch.setattr("tagmix.cli.evaluate.run_all", noted)
    call = ["evaluate", str(painted), "--out", str(tmp_path), *FEW]
    for learners in (["-l", "all", "-l", "KNN"], ["-l", "knn", "-l", "FREQUENCY", "-l", "KNN"], []):
        assert run([*call, *learners]) == 1
    every = [name for name in METHODS if name not in RIVALS]
    assert asked == [every, ["KNN", "frequency"], list(DEFAULT_LEARNERS)]
    capsys.readouterr()


def test_an_unknown_learner_is_a_wrong_call(painted: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["evaluate", str(painted), "--learner", "Oracle"]) == 2
    said = capsys.readouterr().err
    assert "Invalid value for '--learner'" in said
    assert "EMM_d" in said  # the way out


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("EMM", "EMM_m or EMM_d or EMM_calibrated?"),
        ("tag-prop", "TagProp?"),
        ("kernalridge", "KernelRidge or KernelRidge_balanced or KernelRidge_calibrated?"),
    ],
)
def test_a_name_that_is_nearly_a_learner_is_told_which(
    painted: Path, capsys: pytest.CaptureFixture[str], name: str, near: str
) -> None:
    assert run(["evaluate", str(painted), "--learner", name]) == 2
    assert f"{name!r} is not a learner: did you mean {near}" in capsys.readouterr().err


@pytest.mark.parametrize("option", [["--folds", "1"], ["--min-count", "0"], ["--jobs", "0"]])
def test_numbers_out_of_range_are_a_wrong_call(
    painted: Path, capsys: pytest.CaptureFixture[str], option: list[str]
) -> None:
    assert run(["evaluate", str(painted), *option]) == 2
    assert option[0] in capsys.readouterr().err


def refuse_to_describe(*_: object, **__: object) -> None:
    raise AssertionError("work was done before the mistake was told")


@pytest.mark.parametrize("case", ["empty", "no tags", "one tag", "rare tags", "few pictures", "missing"])
def test_albums_that_cannot_be_measured_are_refused_in_one_line_before_any_work(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, case: str
) -> None:
    monkeypatch.setattr(Describer, "fit", refuse_to_describe)
    folder = written_album(tmp_path / "album", 8)
    entries = [json.loads(line) for line in (folder / "annotations.jsonl").read_text().splitlines()]
    tags = {"no tags": [[]], "one tag": [["sky"]], "rare tags": [["sky"], ["sea"], ["sand"], ["wood"]]}
    if case in tags:
        entries = [{**one, "tags": tags[case][i % len(tags[case])]} for i, one in enumerate(entries)]
        (folder / "annotations.jsonl").write_text("\n".join(map(json.dumps, entries)))
    if case == "empty":
        folder = tmp_path / "nothing"
        folder.mkdir()
    spec = tmp_path / "nowhere" if case == "missing" else folder
    expected = {
        "empty": "check the path",
        "no tags": "an album must have tags, got none: keywords are read from XMP and IPTC inside photos",
        "one tag": "at least 2 tags must be on 4 pictures each, got 1 of 1 tags",
        "rare tags": "at least 2 tags must be on 4 pictures each, got 0 of 4 tags",
        "few pictures": "at least 10 pictures with tags for 5 folds, got 8: tag more pictures, or lower",
        "missing": "does not exist: check the path",
    }[case]
    more = ["--min-count", "2"] if case == "few pictures" else []
    assert run(["evaluate", str(spec), "--out", str(tmp_path / "out"), *more, *FEW]) == 1
    assert expected in one_line_error(capsys)
    assert not (tmp_path / "out").exists()


def test_a_place_that_cannot_be_written_to_is_refused_before_any_work(
    painted: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Describer, "fit", refuse_to_describe)
    (tmp_path / "file").touch()
    (tmp_path / "taken" / "index.html").mkdir(parents=True)
    assert run(["evaluate", str(painted), "--out", str(tmp_path / "file")]) == 2
    assert "is a file" in capsys.readouterr().err
    for place, expected in (("file/below", "cannot be used"), ("taken", "cannot be written, it is a folder")):
        assert run(["evaluate", str(painted), "--out", str(tmp_path / place)]) == 1
        assert expected in one_line_error(capsys)


def test_options_for_folders_of_photos_are_refused_elsewhere(
    painted: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["evaluate", str(painted), "--subfolders", "--out", str(tmp_path)]) == 1
    assert "of a format without --subfolders" in one_line_error(capsys)


def test_help_shows_examples_and_all_learners(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["evaluate", "--help"]) == 0
    said = capsys.readouterr().out
    assert "Examples:\n" in said
    assert "tagmix evaluate ~/Photos" in said
    assert all(name in said for name in METHODS)


def test_lines_have_all_tested_pictures_together_with_their_interval_best_first() -> None:
    def record(method: str, part: int, captions: list[list[int]], top: list[list[int]]) -> Record:
        ids = [str(i) for i in range(len(captions))]
        task = Task("album", method, ("sift",), part)
        return Record(task, {}, 0, {}, 9, list("abcd"), ids, captions, top, {}, None, {})

    # Two of four tags are shown. KNN: 2·2 / (2·2 + 2·2) of one part, 0 of the other, 4 / (4 + 3 + 2 + 3)
    first, second = [[0, 1], [2]], [[3]]
    always, never, right = [[0, 1, 2, 3], [2, 0, 1, 3]], [[0, 1, 2, 3]], [[3, 0, 1, 2]]
    told = lines_of(
        [
            record("KNN", 0, first, [[0, 2, 1, 3], [2, 0, 1, 3]]),
            record("KNN", 1, second, never),
            record("DBA", 0, first, always),
            record("DBA", 1, second, right),
        ]
    )
    # DBA: 2·(2 + 1 + 1) / (4 + 3 + 3), which no ranking beats; a picture alone has 1 or 2/3
    assert told[0] == "DBA              top-2 accuracy 0.800 (0.667 … 1.000)"
    assert told[1].startswith("KNN              top-2 accuracy 0.400 (0.000 … ")
    assert told[2:] == ["perfect ranking  top-2 accuracy 0.800"]
    assert lines_of([]) == []


@pytest.mark.usefixtures("no_page")
def test_folds_that_are_not_used_and_tags_that_are_left_out_and_results_that_are_replaced_are_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    album, out = written_album(tmp_path / "album", 16, split=True), tmp_path / "out"
    entries = [json.loads(line) for line in (album / "annotations.jsonl").read_text().splitlines()]
    entries[0]["tags"] += ["boat", "gull"]
    (album / "annotations.jsonl").write_text("\n".join(map(json.dumps, entries)))
    call = ["evaluate", str(album), "-l", "frequency", "--out", str(out), *FEW]
    rare = "2 of 6 tags are left out: fewer than 4 pictures"
    assert run(call) == 0
    assert lines(capsys.readouterr().err) == [rare]
    assert run([*call, "--folds", "5"]) == 0  # the number it has anyway
    assert lines(capsys.readouterr().err) == [
        rare,
        "--folds is not used: the album has its own test pictures",
    ]
    assert run([*call, "--words", "5"]) == 0
    assert lines(capsys.readouterr().err) == [rare, f"{out} held results of other data: replaced"]


@pytest.mark.usefixtures("no_page")
def test_figures_of_the_last_run_are_no_pictures_of_the_album_around_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for tag in ("sky", "sea"):
        (tmp_path / tag).mkdir()
    for i, item in enumerate(album_of(tmp_path, 12, masks=False)):
        item.image.rename(tmp_path / ("sky", "sea")[i % 2] / item.image.name)
    for mask in tmp_path.glob("*.mask.png"):
        mask.unlink()
    monkeypatch.chdir(tmp_path)
    call = ["evaluate", ".", "--subfolders", "-l", "frequency", "--folds", "2", *FEW]
    assert run(call) == 0
    out = tmp_path / "evaluate-out"
    before = stamps(out)
    Image.new("RGB", (40, 30)).save(out / "figures" / "figure2-album.png")
    assert run(call) == 0
    assert stamps(out) == before
    capsys.readouterr()


def test_an_album_that_lies_in_the_folder_for_results_keeps_its_pictures(tmp_path: Path) -> None:
    album = album_of(tmp_path, 2)
    assert without_folders(album, tmp_path / "figures") == album
    assert len(without_folders(album, tmp_path)) == 0


def test_a_link_under_the_name_of_a_scratch_file_is_not_written_through(
    painted: Path, tmp_path: Path
) -> None:
    out, victim = tmp_path / "out", tmp_path / "victim"
    out.mkdir()
    victim.write_text(GENERATOR)  # or it would be refused
    (out / "index.html.part").symlink_to(victim)
    (out / "index.html").symlink_to(victim)
    assert run(["evaluate", str(painted), *TWO, "--out", str(out), *FEW]) == 0
    assert victim.read_text() == GENERATOR
    assert not (out / "index.html").is_symlink()


@pytest.mark.parametrize("name", ["results.json", "figures", "records", "data"])
def test_a_report_that_could_not_be_written_is_refused_before_any_work(
    painted: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    name: str,
) -> None:
    monkeypatch.setattr(Describer, "fit", refuse_to_describe)
    (tmp_path / name).mkdir() if "." in name else (tmp_path / name).write_text("in the way")
    assert run(["evaluate", str(painted), *TWO, *FEW, "--out", str(tmp_path)]) == 1
    assert name in one_line_error(capsys)


def test_two_runs_do_not_write_into_one_folder(
    painted: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], no_page: None
) -> None:
    call = ["evaluate", str(painted), "-l", "frequency", *FEW, "--out", str(tmp_path)]
    with alone_in(tmp_path):
        assert run(call) == 1
        assert "being written by another run" in one_line_error(capsys)
    assert run(call) == 0
