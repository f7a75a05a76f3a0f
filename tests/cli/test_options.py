"""What the options of the command line reach."""

import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import tagmix
from tagmix import Bags, ContextEMM, Describer
from tagmix.annotate import Annotation, Region
from tagmix.cli import counts, demo, run
from tagmix.cli import train as train_verb
from tagmix.cli.annotated import Annotated, where
from tagmix.datasets import Album, Item, open_album
from tagmix.images.config import DescriberConfig
from tagmix.images.describe import Described
from tagmix.learners.shown import Outcome
from tagmix.metadata.read import PhotoMetadata
from tagmix.report.album_results import Score
from tagmix.studies.datasets import ONE_WORD, Sources
from tests.cli.conftest import QUICK


class Enough(Exception):
    """The call has come as far as the test looks."""


def test_every_option_of_train_reaches_what_it_is_for(album, tmp_path, monkeypatch):
    seen = {}

    def catch(describer, described, model, **how):
        seen.update(describer=describer, model=model)
        raise Enough

    monkeypatch.setattr(train_verb, "train_described", catch)
    monkeypatch.setattr(Describer, "fit", lambda describer, part, **_: seen.update(part=part))
    monkeypatch.setattr(Describer, "transform", lambda *_, **__: Described(None, (), 0))
    options = ["--regions", "4", "--segmenter", "grid", "--seed", "5", "--no-places", "--patches", "70"]
    options += ["--largest-patch", "0.3", "--split", "test", "--min-count", "1"]
    options += ["--no-mirrored", "--no-layout", "--nearest", "2", "--context", "linear", "--evidence", "0.2"]
    options += ["--no-background"]
    monkeypatch.setenv("TAGMIX_DEBUG", "1")
    with pytest.raises(Enough):
        run(["train", str(album), "-m", str(tmp_path / "m"), *options])
    expected = {"n_patches": 70, "segmenter": "grid", "n_regions": 4, "seed": 5, "largest_patch": 0.3}
    expected |= {"places": False, "mirrored": False, "layout": False, "nearest": 2}
    assert seen["describer"].config == DescriberConfig.of(expected)
    model = ContextEMM(context="linear", evidence=0.2, background=False, random_state=5, n_jobs=-1)
    assert seen["model"].get_params() == model.get_params()
    assert {item.split for item in seen["part"]} == {"test"}


@pytest.mark.parametrize("verb", ["train", "describe", "evaluate"])
@pytest.mark.parametrize(
    ("flag", "mirrored"), [([], True), (["--mirrored"], True), (["--no-mirrored"], False)]
)
def test_options_left_out_have_the_defaults_of_a_describer(
    album, tmp_path, monkeypatch, verb, flag, mirrored
):
    def catch(describer, part, **_):
        usual = Describer(n_words=40, n_colours=10, n_patches=120, mirrored=mirrored, network=None)
        assert describer.config == usual.config
        raise Enough

    monkeypatch.setattr(Describer, "fit", catch)
    monkeypatch.setenv("TAGMIX_DEBUG", "1")
    target = {"train": "--model", "describe": "--bags", "evaluate": "--out"}[verb]
    with pytest.raises(Enough):
        run([verb, str(album), target, str(tmp_path / "out"), *QUICK, *flag])


def test_the_demo_mirrors_words_and_the_reproduction_of_the_paper_does_not(tmp_path, monkeypatch):
    def catch(describer, part, **_):
        raise Enough(describer.config)

    monkeypatch.setattr(Describer, "fit", catch)
    monkeypatch.setenv("TAGMIX_DEBUG", "1")
    with pytest.raises(Enough) as caught:
        run(["demo", "--pictures", "30", "--out", str(tmp_path / "demo"), "--jobs", "1"])
    assert caught.value.args == (Describer(nearest=1).config,)
    drawn = open_album(tmp_path / "demo" / "album")
    with pytest.raises(Enough) as caught:
        Sources(None, {}, tmp_path / "out", (), 1, lambda *_: None).described("scenes", drawn, **ONE_WORD)
    assert caught.value.args == (Describer.paper(n_colours=200, places=True, largest_patch=0.125).config,)


def test_describe_learns_its_words_from_the_split_alone(album, tmp_path, monkeypatch):
    splits = []
    fit = Describer.fit
    monkeypatch.setattr(
        Describer, "fit", lambda s, p, **k: splits.append({i.split for i in p}) or fit(s, p, **k)
    )
    assert run(["describe", str(album), "--split", "train", "-b", str(tmp_path / "b"), *QUICK]) == 0
    assert splits == [{"train"}]


def test_annotate_uses_the_processes_and_the_cache_that_were_asked_for(
    album,
    model,
    tmp_path,
    monkeypatch,
):
    jobs = []
    describe = Describer.describe
    monkeypatch.setattr(Describer, "describe", lambda s, p, **k: jobs.append(s.n_jobs) or describe(s, p, **k))
    photo = str(album / "images" / "0000.jpg")
    assert run(["annotate", photo, "-m", str(model), "-j", "1", "--cache", str(tmp_path)]) == 0
    assert jobs == [1]
    assert len(list(tmp_path.rglob("*.tagmix"))) == 1


def test_boxes_in_json_are_x_y_width_height(album, model, capsys):
    photo = album / "images" / "0001.jpg"
    assert (
        run(["annotate", str(photo), "-m", str(model), "--json", "--regions", "--no-cache", "-j", "1"]) == 0
    )
    found = json.loads(capsys.readouterr().out)
    (annotation,) = tagmix.load(model).annotate([photo])
    for region, expected in zip(found["regions"], annotation.regions, strict=True):
        np.testing.assert_allclose(region["box"], expected.box, atol=1e-4)


def test_places_in_words_follow_the_middle_of_the_box():
    assert where(Region((), (0.7, 0.8, 0.3, 0.2), 0.06)) == "bottom right"
    assert where(Region((), (0.0, 0.4, 0.2, 0.2), 0.04)) == "left"


def test_regions_of_a_tag_share_a_line_with_the_place_of_the_largest():
    def region(tag, left, area):
        return Region(((tag, 0.9),) if tag else (), (left, 0.4, 0.2, 0.2), area)

    shown = [
        region("sea", 0.0, 0.1),
        region("boat", 0.8, 0.25),
        region("sea", 0.4, 0.2),
        region("", 0.4, 0.45),
    ]
    annotated = Annotated(Annotation("a.jpg", (), tuple(shown)), {}, PhotoMetadata(), regions=True)
    assert annotated.text().splitlines()[1:] == [
        "  centre         30% of the photo   sea (2 regions)",
        "  right          25% of the photo   boat",
        "  1 region       45% of the photo   none of the tags",
    ]


def test_the_summary_names_what_it_compares():
    model = ContextEMM()
    model.settings_ = SimpleNamespace(evidence={"map": 0.1, "sift": 0.3})
    model.tag_names_, model.accuracy_, model.frequency_accuracy_ = range(40), 0.987, 0.321
    model.calibration_ = SimpleNamespace(outcome=Outcome(200, 500, 400, 250, 270.0, 190, 50, 20))
    said = [
        "weight κ of each view: sift 0.3, map 0.1",
        "top-5 accuracy, cross-validated: 0.987; always the most frequent tags: 0.321",
        "shown tags: expected precision 0.68, cross-validated 0.62, recall 0.50; 95% of pictures get "
        "at least one",
        "50 of 200 pictures get their most probable tag alone, below the threshold: 20 right, "
        "cross-validated",
    ]
    training = SimpleNamespace(annotator=SimpleNamespace(model=model), bags=tagged(200, of=200))
    assert train_verb.summary(training) == said
    training.bags = tagged(99, of=200)
    assert train_verb.summary(training) == [
        *said,
        "only 99 pictures with a tag to learn: with so few this estimate is noisy and optimistic (tagmix "
        "evaluate is stricter); tag at least 100",
    ]


def test_a_summary_without_best_tags_below_the_threshold_does_not_name_any():
    found = train_verb._shown_tags(Outcome(10, 20, 20, 15, 14.0, 10, 0, 0))
    assert found == [
        "shown tags: expected precision 0.70, cross-validated 0.75, recall 0.75; 100% of pictures get "
        "at least one"
    ]


def tagged(some, of):
    """Return bags of pictures of which some have a tag."""
    tags = [["sky"]] * some + [[]] * (of - some)
    views = {"sift": np.ones((of, 1), dtype=int), "map": np.ones((of, 2))}
    return Bags(views, range(of + 1), tags, tag_names=["sea", "sky"])


def size_of(items, min_count):
    whole = Album(tuple(items), Path("/a"))
    return counts.size_of(whole, whole.keep_tags(min_count), min_count)


def test_the_size_of_an_album_counts_what_is_left_out():
    items = [Item(Path(f"/a/{i}.jpg"), ("sky", "sea")[: i % 3]) for i in range(6)]
    assert size_of(items, 2) == "4 of 6 pictures have tags, 2 tags on at least 2 of them"
    assert size_of(items[1:3], 1) == "2 pictures, 2 tags on at least 1 of them"
    assert size_of(items, 3) == (
        "4 of 6 pictures have tags, 1 tag on at least 3 of them; 1 rarer tag left out (--min-count)"
    )
    rare = Item(Path("/a/7.jpg"), ("moon",))
    assert size_of([*items, rare], 2) == (
        "5 of 7 pictures have tags, 4 after --min-count, 2 tags on at least 2 of them; 1 rarer tag left out "
        "(--min-count)"
    )


def test_the_demo_says_each_number_in_its_line():
    scores = {
        "tagmix": Score(0.11, 0.12, 0.13),
        "tag frequency": Score(0.21, 0.22, 0.23),
        "chance": Score(0.31, 0.32, 0.33),
        "ceiling": Score(0.41, None, None),
    }
    numbers = [
        [word.strip(";,") for word in line.split() if word[:2] == "0."] for line in demo.lines_of(scores, 5)
    ]
    assert numbers == [
        ["0.110", "0.410", "0.210", "0.310"],
        ["0.120", "0.220", "0.320"],
        ["0.130", "0.230", "0.330"],
    ]
