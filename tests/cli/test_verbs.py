"""The command line as a whole: help, wrong calls, describe and demo."""

import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest

import tagmix
from tagmix.cli import VERBS, run
from tests.cli.conftest import QUICK


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_has_help_with_examples(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([verb, "--help"]) == 0
    said = capsys.readouterr().out
    assert "Examples:" in said
    assert f"tagmix {verb}" in said


def test_help_names_every_verb_and_loads_none_of_the_heavy_libraries() -> None:
    code = (
        "import sys; from tagmix.cli import run; status = run(['--help']); "
        "assert not {'numba', 'sklearn', 'cv2', 'scipy'} & set(sys.modules); sys.exit(status)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert all(verb in done.stdout for verb in VERBS)


@pytest.mark.parametrize(
    "arguments", [["fly"], ["train"], ["annotate", "x.jpg"], ["demo", "--pictures", "many"]]
)
def test_a_wrong_call_ends_with_status_2_and_no_traceback(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(arguments) == 2
    assert "Error:" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("typed", "meant"), [("annot", "annotate"), ("eval", "evaluate"), ("trian", "train")]
)
def test_a_verb_that_is_nearly_one_is_told_which(
    typed: str, meant: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([typed, "photo.jpg"]) == 2
    assert f"Did you mean {meant}?" in capsys.readouterr().err


def test_version_is_the_package_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--version"]) == 0
    assert capsys.readouterr().out.strip() == f"tagmix {tagmix.__version__}"


def test_describe_writes_the_bags_that_the_library_makes(
    album: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "bags.tagmix"
    assert run(["describe", str(album), "--split", "train", "--bags", str(path), *QUICK]) == 0
    assert "0 pictures from the cache" in capsys.readouterr().out
    bags = tagmix.load(path)
    found = tagmix.open_album(album)
    assert len(bags) == len(found)
    assert list(bags.views) == ["sift", "colour", "place"]
    sums = {view: counts.sum() for view, counts in bags.views.items()}
    once = 120 * len(bags)
    # SIFT counts three words of each patch and of its mirror image
    assert sums == {"sift": 6 * once, "colour": once, "place": once}


def test_a_second_description_comes_from_the_cache_in_the_same_bits(
    album: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = [option for option in QUICK if option != "--no-cache"]
    for name in ("one", "two"):
        call = [
            "describe",
            str(album),
            "-b",
            str(tmp_path / name),
            "--cache",
            str(tmp_path / "kept"),
            *options,
        ]
        assert run(call) == 0
    assert "40 pictures from the cache" in capsys.readouterr().out
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


class _Page(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.images: list[str] = []
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        if tag == "img":
            self.images.append(values.get("src") or "")
        self.links += [value for name, value in attrs if name == "href" and value]


def test_the_demo_ends_in_a_page_that_needs_nothing_else(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "demo"
    assert run(["demo", "--out", str(out), "--pictures", "36", "--jobs", "2"]) == 0
    said = capsys.readouterr().out.splitlines()
    assert said[-1] == str(out / "index.html")
    assert "top-5 accuracy" in said[0]
    assert "most frequent tags" in said[0]
    assert "chance" in said[1]
    page = _Page()
    page.feed((out / "index.html").read_text(encoding="utf-8"))
    assert len(page.images) >= 6  # at most a dozen test pictures
    assert all(source.startswith("data:image/") for source in page.images)
    assert all(link.startswith(("data:", "#")) for link in page.links)
    assert isinstance(tagmix.load(out / "model.tagmix"), tagmix.Annotator)
