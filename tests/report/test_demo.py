"""The demonstration runs from drawing to page, and its control is a control."""

import contextlib
import importlib.util
import io
import re
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from tagmix.report import planted

EXAMPLE = Path(__file__).parents[2] / "examples" / "demo_bags.py"
TINY = planted.Sizes(
    n_words=400,
    n_regions=4,
    words_per_region=30,
    n_train=80,
    n_test=40,
    overlap=0.5,
    overlaps=(0.0, 0.5),
    n_runs=1,
    n_curve_test=20,
    calibration_folds=2,
    n_pictures=2,
)


@pytest.fixture(scope="module")
def demo():
    spec = importlib.util.spec_from_file_location("demo_bags", EXAMPLE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Ran(NamedTuple):
    """What one run of the demonstration left behind."""

    code: int
    lines: list[str]
    folder: Path
    text: str


@pytest.fixture(scope="module")
def ran(demo, tmp_path_factory):
    folder = tmp_path_factory.mktemp("demo") / "out"
    with contextlib.redirect_stdout(io.StringIO()) as said:
        code = demo.main(TINY, folder)
    text = (folder / "index.html").read_text(encoding="utf-8")
    return Ran(code, said.getvalue().splitlines(), folder, text)


def test_the_demo_writes_one_page_and_says_where(ran):
    assert ran.code == 0
    assert ran.lines[0] == str(ran.folder / "index.html")
    assert len(ran.lines) == 4
    assert [path.name for path in ran.folder.iterdir()] == ["index.html"]


def test_the_page_of_the_demo_shows_five_figures_and_the_pictures_asked_for(ran):
    assert ran.text.count("<svg") == ran.text.count("aria-label=") == 5
    assert ran.text.count('<article class="card">') == TINY.n_pictures
    assert "nan" not in re.sub(r"<[^>]+>", " ", ran.text).lower().split()


def test_the_page_of_the_demo_asks_for_nothing_from_outside(ran):
    asked = re.findall(r'(?:src|href)="([^"]*)"', ran.text)
    assert asked
    assert all(address.startswith(("data:", "#")) for address in asked)
    assert not re.findall(r"url\((?!#)", ran.text)
    # Names of XML vocabularies are not fetched.
    vocabularies = {"http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"}
    assert set(re.findall(r"https?://[^\s\"<]+", ran.text)) <= vocabularies


def test_every_tag_of_the_demo_has_a_colour_of_its_own(demo):
    assert len(demo.TAGS) == len(set(demo.TAGS.values())) == 40


def test_progress_counts_as_many_steps_as_there_are():
    said = []
    planted.compute(TINY, [f"tag{i}" for i in range(8)], said.append)
    assert len(said) + 1 == TINY.n_steps


def test_a_control_that_learns_is_called_out():
    def results(top5, free):
        scores = {"control": planted.Scores(top5, free, 0.2), "frequency": planted.Scores(0.25, 0.1, 0.2)}
        return planted.Results(TINY, *[None] * 4, scores, {})

    assert results(0.26, 0.05).control_fails
    assert not results(0.6, 0.05).control_fails
    assert not results(0.26, 0.5).control_fails
    assert "leaks" in results(0.6, 0.5).verdict


def test_shuffling_keeps_the_captions_and_moves_them():
    world = planted.draw(TINY, [f"tag{i}" for i in range(8)], 0.5, 0, 10)
    before, after = (
        world.train.bags.captions.toarray(),
        planted.shuffled(world.train.bags, 1).captions.toarray(),
    )
    assert before.sum(axis=0).tolist() == after.sum(axis=0).tolist()
    assert np.mean((before == after).all(axis=1)) < 0.2


def test_accuracy_by_tag_is_that_of_all_regions_split_up_best_first():
    world = planted.draw(TINY, [f"tag{i}" for i in range(8)], 0.5, 0, 10)
    emm = planted.fit(world.train.bags)
    shares = planted.accuracy_by_tag(emm, world.test)
    assert list(shares.values()) == sorted(shares.values(), reverse=True)
    drawn = np.bincount(world.test.region_tags, minlength=8)
    total = sum(share * drawn[emm.tag_names_.index(name)] for name, share in shares.items())
    np.testing.assert_allclose(total / drawn.sum(), planted.region_accuracy(emm, world.test), rtol=1e-12)


def test_words_found_is_one_for_the_truth_itself():
    topics = planted.planted_topics(4, 20, 0.3, np.random.default_rng(0))
    assert planted.words_found(topics, 7 * topics, 5) == 1.0
    assert planted.words_found(topics, topics[::-1], 5) < 0.2
