"""What a model's file says about its training, and the id of a model."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import tagmix
from tagmix import Annotator, Bags, ContextEMM, Describer, ModelFileError, model_id, storage
from tagmix.annotate import train
from tagmix.card import MOST_STEPS, Card, Step, card_of, today
from tagmix.datasets.scenes import draw_album
from tagmix.learners.quality import quality_of

NOW = Step("train", "2024-05-06", "0.1.0", 3)


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> tuple[Annotator, tagmix.Album]:
    folder = draw_album(tmp_path_factory.mktemp("album") / "Photos", 14, seed=1, size=(80, 60))
    (folder / "images" / "0000.jpg").write_bytes(b"broken")
    album = tagmix.open_album(folder)
    quick = Describer.paper(n_words=20, n_patches=50, restarts=1, places=True)
    return train(album, quick, ContextEMM(tol=0.1, evidence=0.1)).annotator, album


@pytest.fixture
def file(trained: tuple[Annotator, tagmix.Album], tmp_path: Path) -> Path:
    trained[0].save(tmp_path / "m.tagmix")
    return tmp_path / "m.tagmix"


def rewritten(file: Path, **changes: object) -> Path:
    """Write the file again with other values in its card; without a card if ``card`` is None."""
    kind, fields, arrays = storage.read(file)
    fields["card"] = {**fields["card"], **changes}
    storage.write(file, kind, fields, arrays)
    return file


def test_a_training_records_what_it_learnt_from_and_no_path(trained, file) -> None:
    annotator, album = trained
    card = tagmix.load(file).card
    assert card == annotator.card
    assert (card.album, card.format, card.pictures, card.unreadable) == ("Photos", "jsonl", 13, 1)
    counts = album[1:].tag_counts()
    assert card.counts == tuple(counts[tag] for tag in annotator.model.tag_names_)
    assert [(step.kind, step.date, step.pictures) for step in card.steps] == [("train", today(), 13)]
    assert str(album.root.parent) not in json.dumps(storage.read(file).fields)


def test_other_settings_of_a_describer_keep_the_card(trained) -> None:
    assert trained[0].with_(n_jobs=1).card is trained[0].card


def test_a_file_without_card_and_qualities_is_read_as_before_them(file) -> None:
    kind, fields, arrays = storage.read(file)
    del fields["card"]
    fields["model"]["learnt"]["calibration_"]["fields"].pop("quality")
    storage.write(file, kind, fields, {n: a for n, a in arrays.items() if ".quality." not in n})
    old = tagmix.load(file)
    assert old.card is None
    assert old.model.calibration_.quality is None


@pytest.mark.parametrize(
    "changes",
    [
        {"counts": [1]}, {"pictures": -1}, {"pictures": True}, {"album": "a\nb"}, {"album": "a" * 201},
        {"steps": []}, {"steps": [{"kind": "train"}]}, {"tagged": 10**9}, {"extra": 1}, {"steps": 3},
        {"steps": [{"kind": "x", "date": "2024-05-06", "version": "1", "pictures": 1, "note": ""}]},
    ],
)  # fmt: skip
def test_a_card_that_no_training_writes_is_refused(file: Path, changes: dict[str, object]) -> None:
    with pytest.raises(ModelFileError, match="parts do not fit together"):
        tagmix.load(rewritten(file, **changes))


def test_updates_are_a_history_whose_first_entry_stays() -> None:
    bags = Bags([[1], [1], [2]], [0, 1, 2, 3], [["sky"], ["sea", "sky"], []], tag_names=["sea", "sky"])
    card = card_of(tagmix.Album((), Path("/home/me/Photos")), bags[:2])
    assert (card.pictures, card.tagged, card.counts, card.album) == (2, 2, (1, 2), "Photos")
    card = card.updated(replace(NOW, kind="update", pictures=1, note="17 photos changed"), bags)
    assert (card.pictures, card.tagged, len(card.steps)) == (3, 2, 2)
    for _ in range(MOST_STEPS):
        card = card.updated(replace(NOW, kind="update"))
    assert len(card.steps) == MOST_STEPS
    assert [card.steps[0].kind, card.steps[1].note, card.steps[-1].date] == ["train", "", "2024-05-06"]
    assert Card.of(json.loads(json.dumps(card.plain()))) == card


def test_a_model_id_is_of_what_predicts_and_not_of_the_file(trained, file, monkeypatch) -> None:
    annotator, _ = trained
    own = model_id(file)
    assert len(own) == 12
    assert own == model_id(str(file)) == model_id(annotator) == model_id(tagmix.load(file))
    assert own == model_id(rewritten(file, album="Others"))
    assert own == model_id(shutil.copy(file, file.with_name("copy")))
    annotator.model.save(file)
    assert model_id(file) == model_id(annotator.model) != own


def test_a_file_and_its_annotator_have_one_id_also_with_implied_tags(trained, file) -> None:
    annotator, _ = trained
    own, tags = model_id(annotator), annotator.model.tag_names_
    above = Annotator(annotator.describer, annotator.model, annotator.card, tags[-2:])
    above.save(file)
    assert model_id(file) == model_id(above) == model_id(tagmix.load(file)) != own


@pytest.mark.parametrize("what", ["threshold", "view"])
def test_another_model_has_another_id(file: Path, what: str) -> None:
    own = model_id(file)
    kind, fields, arrays = storage.read(file)
    if what == "threshold":
        arrays = {**arrays, "model.calibration_.thresholds": arrays["model.calibration_.thresholds"] * 0.5}
    else:
        fields["describer"]["views"]["place"] = {}
    storage.write(file, kind, fields, arrays)
    assert model_id(file) != own


def test_the_place_of_a_network_does_not_enter_an_id(tmp_path: Path) -> None:
    ids = set()
    for place in ("/home/a/n.toml", "n.toml"):
        storage.write(tmp_path / "m", "Annotator", {"views": [{"place": place, "sha256": "x"}]}, {})
        ids.add(model_id(tmp_path / "m"))
    assert len(ids) == 1


def test_qualities_leave_unknown_pairs_out_and_add_up_to_the_outcome(trained) -> None:
    calibration = trained[0].model.calibration_
    sums = [int(part.sum()) for part in calibration.quality[:3]]
    assert sums == [calibration.outcome.given, calibration.outcome.shown, calibration.outcome.right]
    p, tags = np.array([[0.9], [0.8], [0.1]]), np.array([[0.0], [1.0], [0.0]])
    known = np.array([[False], [True], [True]])
    found = {known is None: quality_of(p, tags, np.array([0.5]), known) for known in (known, None)}
    assert [values.tolist() for values in found[False]] == [[1], [1], [1], [1.0]]
    assert [values.tolist() for values in found[True]] == [[1], [2], [1], [0.5]]
