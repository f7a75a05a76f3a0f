"""tagmix info: the model card of every kind of file."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from rich.cells import cell_len

import tagmix
from tagmix import Bags, ContextEMM, planted_topics, sample_bags
from tagmix.cli import info as info_verb
from tagmix.cli import run
from tagmix.cli.info import text
from tagmix.learners import EMM, KNN
from tagmix.report import model_card
from tagmix.report.model_card_sections import Section, markdown, sections_of, tags_section
from tests.cli.test_train import one_line_error


def info(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    assert run(["info", *map(str, arguments)]) == 0
    return capsys.readouterr().out


@pytest.fixture(scope="module")
def drawn() -> Bags:
    rng = np.random.default_rng(0)
    return sample_bags(planted_topics(5, 30, 0.3, rng), 40, n_regions=4, rng=rng).bags


def test_the_card_of_an_annotator_says_what_the_model_says(
    model: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = json.loads(info(capsys, model, "--json"))
    annotator = tagmix.load(model)
    card, outcome = annotator.card, annotator.model.calibration_.outcome
    assert (found["kind"], found["learner"], found["model_id"]) == (
        *("Annotator", "ContextEMM"),
        tagmix.model_id(annotator),
    )
    assert found["data"] == {
        "album": "album",
        "format": "jsonl",
        "date": "1970-01-01",
        "pictures": card.pictures,
        "tagged": card.tagged,
        "unreadable": 0,
        "regions": card.regions,
    }
    assert found["scores"]["precision"] == outcome.right / outcome.shown
    assert found["scores"]["top_k_accuracy"] == annotator.model.accuracy_
    counts = dict(zip(annotator.model.tag_names_, card.counts, strict=True))
    assert {row["tag"]: row["pictures"] for row in found["tags"]} == counts
    quality = annotator.model.calibration_.quality
    c = annotator.model.tag_names_.index(found["tags"][0]["tag"])
    assert found["tags"][0]["average_precision"] == quality.average_precision[c]
    assert found["tags"][0]["recall"] == quality.right[c] / quality.given[c]
    assert any("fewer than 100" in limit for limit in found["limits"])
    assert found["describer"]["n_words"] == 40


def test_a_card_as_text_fits_the_terminal_and_lists_the_most_frequent_tags(
    model: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    tags = tagmix.load(model).model.tag_names_
    monkeypatch.setattr(info_verb, "MOST_TAGS", 5)
    for columns in (44, 80):
        monkeypatch.setenv("COLUMNS", str(columns))
        said = info(capsys, model)
        assert max(map(cell_len, said.splitlines())) <= columns
        assert sum(f"\n  {tag} " in said.partition("\nTags\n")[2] for tag in tags) == 5
        assert f"and {len(tags) - 5} more tags" in " ".join(said.split())
        assert f"{len(tags)}" in next(line for line in said.splitlines() if line.startswith("  Tags "))
    assert all(f"\n  {tag} " in info(capsys, model, "--all-tags") for tag in tags)


def test_a_card_as_markdown_has_all_tags_and_no_path(
    album: Path, model: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = info(capsys, model, "--markdown")
    assert page.startswith("# Model card: scenes.tagmix\n")
    for title in ("Intended use", "Limits", "Training data", "Scores, cross-validated", "Tags", "History"):
        assert f"\n## {title}\n" in page
    assert all(f"\n| {tag} | " in page for tag in tagmix.load(model).model.tag_names_)
    assert str(album.parent) not in page


@pytest.mark.parametrize(
    "learner", [EMM(), ContextEMM(evidence=0.1), KNN()], ids=["EMM", "ContextEMM", "KNN"]
)
def test_a_bare_learner_has_a_card_without_training_data(
    learner: object, drawn: Bags, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tagmix.save(learner.fit(drawn), tmp_path / "l.tagmix")  # type: ignore[attr-defined]
    found = json.loads(info(capsys, tmp_path / "l.tagmix", "--json"))
    assert (found["learner"], found["data"], found["history"]) == (type(learner).__name__, None, [])
    said = " ".join(info(capsys, tmp_path / "l.tagmix").split())
    assert "not recorded" in said
    assert ("not calibrated" in said) == isinstance(learner, KNN)
    assert info(capsys, tmp_path / "l.tagmix", "--markdown").count("\n## ") >= 4


def test_bags_have_a_short_card(drawn: Bags, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tagmix.save(drawn, tmp_path / "b.tagmix")
    found = json.loads(info(capsys, tmp_path / "b.tagmix", "--json"))
    assert found["data"] == {"pictures": 40, "regions": drawn.n_regions}
    assert sum(row["pictures"] for row in found["tags"]) == drawn.captions.nnz
    said = info(capsys, tmp_path / "b.tagmix")
    assert "Intended use" not in said
    assert "words 30" in said
    tagmix.save(Bags([[1, 2]], [0, 1]), tmp_path / "b.tagmix")
    assert "Tags 0" in " ".join(info(capsys, tmp_path / "b.tagmix").split())


def test_the_place_of_a_network_is_shown_only_on_request(capsys: pytest.CaptureFixture[str]) -> None:
    facts = {
        "file": "m",
        "bytes": 1,
        "kind": "Annotator",
        "model_id": "0",
        "written_by": "x",
        "data": None,
        "tags": [],
        "networks": [{"name": "n", "size": "480", "sha256": "ab"}],
    }
    assert "/home" not in markdown(facts)
    facts["networks"][0]["place"] = "/home/me/n.toml"  # type: ignore[index]
    assert "/home/me/n.toml" in markdown(facts)
    assert [one.title for one in sections_of(facts)] == ["", "Training data", "Networks"]


@pytest.mark.parametrize("places", [False, True])
def test_facts_have_the_place_of_a_network_only_on_request(places: bool) -> None:
    network = SimpleNamespace(
        title="n", size_shown="480", settings=SimpleNamespace(sha256="ab"), place=Path("/home/me/n.toml")
    )
    describer: Any = SimpleNamespace(networks=(network,), config=tagmix.Describer(network=None).config)
    facts = model_card._describer(describer, places)
    assert ("/home/me" in json.dumps(facts)) == places
    assert "network" not in facts["describer"]


def test_names_of_tags_cannot_break_a_card() -> None:
    tags = [{"tag": "a|b\nc", "pictures": 3}, {"tag": "海" * 60, "pictures": 1_000}]
    lines = text([tags_section(tags)], 40)
    assert lines == [
        "", "Tags",
        f"  Tag{' ' * 29}Photos",
        f"  a|b\\nc{' ' * 31}3",
        f"  {'海' * 14}…    1,000",
    ]  # fmt: skip
    facts = {"file": "m", "bytes": 1, "kind": "?", "model_id": "", "written_by": "", "data": None}
    assert "| a\\|b\\\\nc | 3 |" in markdown({**facts, "tags": tags})


def test_a_label_that_is_too_long_has_its_value_below() -> None:
    assert text([Section("", [("Precision of shown tags", "0.64")])], 40) == [
        "  Precision of shown tags",
        " " * 17 + "0.64",
    ]


def test_wrong_calls_of_info_are_refused(
    album: Path, model: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["info", str(model), "--json", "--markdown"]) == 2
    capsys.readouterr()
    assert run(["info", str(album / "images" / "0000.jpg")]) == 1
    assert "is not a tagmix file" in one_line_error(capsys)
