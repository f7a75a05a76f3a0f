"""From photos to tags in Python: what an annotation holds, what is refused, and files of strangers."""

from pathlib import Path

import numpy as np
import pytest

from tagmix import EMM, AlbumError, Annotator, Describer, ModelFileError, ParameterError, load, storage
from tagmix.annotate import CHUNK, Training, train
from tagmix.datasets import Album, open_album
from tagmix.datasets.scenes import draw_album
from tagmix.images.sketch import Vocabularies
from tagmix.images.vocabulary import Vocabulary

QUICK = {"n_words": 30, "n_colours": 8, "n_patches": 100, "restarts": 1, "places": True}


@pytest.fixture(scope="module")
def album(tmp_path_factory: pytest.TempPathFactory) -> Album:
    return open_album(draw_album(tmp_path_factory.mktemp("drawn"), 40, seed=5, size=(96, 72)))


@pytest.fixture(scope="module")
def training(album: Album) -> Training:
    return train(album.keep_tags(4), Describer(**QUICK), EMM(calibration_folds=2), evidence=0.1)


@pytest.fixture(scope="module")
def stored(training: Training, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("stored") / "annotator.tagmix"
    training.annotator.save(path)
    return path


def test_an_annotation_ranks_tags_by_calibrated_probability(album: Album, training: Training) -> None:
    annotator = training.annotator
    photos = [item.image for item in album][:6]
    found = list(annotator.annotate(photos, k=4))
    assert [annotation.image for annotation in found] == photos
    p = annotator.model.predict_marginals(annotator.describer.transform(album[:6]))
    for annotation, row in zip(found, p, strict=True):
        best = np.argsort(-row, kind="stable")[:4]
        assert [guess.tag for guess in annotation.tags] == [annotator.model.tag_names_[c] for c in best]
        np.testing.assert_allclose([guess.probability for guess in annotation.tags], row[best])


def test_shown_tags_are_those_that_predict_gives(album: Album, training: Training) -> None:
    annotator = training.annotator
    n_tags = len(annotator.model.tag_names_)
    found = list(annotator.annotate([item.image for item in album], k=n_tags))
    predicted = annotator.model.predict(annotator.describer.transform(album))
    for annotation, row in zip(found, predicted, strict=True):
        shown = {guess.tag for guess in annotation.tags if guess.shown}
        assert shown == {annotator.model.tag_names_[c] for c in np.flatnonzero(row)}


def test_regions_carry_the_models_tags_their_boxes_and_areas(album: Album, training: Training) -> None:
    annotator = training.annotator
    (annotation,) = annotator.annotate([album[0].image], region_k=2)
    best = annotator.model.top_region_tags(annotator.describer.transform(album[:1]), k=2)
    names = annotator.model.tag_names_
    assert [[tag for tag, _ in region.tags] for region in annotation.regions] == [
        [names[c] for c in row] for row in best
    ]
    assert sum(region.area for region in annotation.regions) == pytest.approx(1)
    for region in annotation.regions:
        x, y, width, height = region.box
        assert region.area <= width * height + 1e-6
        assert max(x + width, y + height) <= 1 + 1e-6


def test_more_photos_than_a_chunk_come_back_in_order(album: Album, training: Training) -> None:
    photos = [album[i % len(album)].image for i in range(CHUNK + 7)]
    found = list(training.annotator.annotate(photos, k=1))
    assert [annotation.image for annotation in found] == photos


def test_photos_that_cannot_be_read_are_problems_of_every_chunk(
    album: Album, training: Training, tmp_path: Path
) -> None:
    photos = [tmp_path / "gone.jpg", *[album[0].image] * CHUNK, tmp_path / "lost.jpg"]
    assert len(list(training.annotator.annotate(photos, k=1))) == CHUNK
    assert [line.split(":")[0] for line in training.annotator.problems_] == [
        str(tmp_path / "gone.jpg"),
        str(tmp_path / "lost.jpg"),
    ]


def test_an_annotator_from_a_file_says_the_same(album: Album, training: Training, stored: Path) -> None:
    back = load(stored)
    photos = [item.image for item in album][:5]
    assert list(back.annotate(photos)) == list(training.annotator.annotate(photos))


def test_a_mirrored_annotator_comes_back_mirrored(album: Album, tmp_path: Path) -> None:
    mirrored = Describer(**QUICK, mirrored=True)
    annotator = train(album.keep_tags(4), mirrored, EMM(calibration_folds=2), evidence=0.05).annotator
    annotator.save(tmp_path / "mirrored.tagmix")
    back = load(tmp_path / "mirrored.tagmix")
    assert back.describer.recipe.mirrored
    photos = [item.image for item in album][:5]
    assert list(back.annotate(photos)) == list(annotator.annotate(photos))


def test_regions_named_by_colour_alone_have_an_annotator_and_a_file(album: Album, tmp_path: Path) -> None:
    model = EMM(calibration_folds=2, context="kernel")
    annotator = train(album.keep_tags(4), Describer(**QUICK), model, evidence={"colour": 0.1}).annotator
    assert list(annotator.model.widths_) == ["colour"]
    annotator.save(tmp_path / "colour.tagmix")
    photos = [item.image for item in album][:5]
    assert list(load(tmp_path / "colour.tagmix").annotate(photos)) == list(annotator.annotate(photos))


def test_a_context_of_other_words_is_refused_before_any_photo_is_described(
    album: Album, tmp_path: Path
) -> None:
    model = EMM(calibration_folds=2, context="kernel")
    annotator = train(album.keep_tags(4), Describer(**QUICK), model, evidence={"colour": 0.1}).annotator
    other = Describer.of(
        annotator.describer.recipe,
        Vocabularies(Vocabulary(words((9, 128))), annotator.describer.vocabularies_.colour),
    )
    with pytest.raises(ParameterError, match="context was trained on 30 sift words"):
        Annotator(other, annotator.model)


def test_a_file_from_before_words_could_be_mirrored_says_the_same_as_ever(
    album: Album, training: Training, stored: Path, tmp_path: Path
) -> None:
    recipe = storage.read(stored).fields["recipe"]
    older = {name: value for name, value in recipe.items() if name != "mirrored"}
    assert len(older) == len(recipe) - 1
    back = load(spoilt(stored, tmp_path / "older.tagmix", fields={"recipe": older}))
    assert not back.describer.recipe.mirrored
    photos = [item.image for item in album][:5]
    assert list(back.annotate(photos)) == list(training.annotator.annotate(photos))


def test_too_few_pictures_to_calibrate_still_give_a_ranking(album: Album) -> None:
    with pytest.warns(UserWarning, match="calibration"):
        trained = train(album[:8].keep_tags(2), Describer(**QUICK), EMM(), evidence=0.1)
    (annotation,) = trained.annotator.annotate([album[0].image], k=3)
    assert len(annotation.tags) == 3
    assert any(guess.shown for guess in annotation.tags)


def test_an_album_without_tags_is_refused(album: Album) -> None:
    bare = album.keep_tags(10_000)
    with pytest.raises(AlbumError, match="nothing to learn from"):
        train(bare, Describer(**QUICK), EMM())


def test_a_model_of_other_words_is_refused(album: Album, training: Training) -> None:
    other = Describer(**{**QUICK, "n_words": 29}).fit(album)
    with pytest.raises(ParameterError, match="30 sift words"):
        Annotator(other, training.annotator.model)
    with pytest.raises(ParameterError, match="fitted"):
        Annotator(Describer(**QUICK), training.annotator.model)


def spoilt(stored: Path, path: Path, fields=None, arrays=None, drop=()) -> Path:  # type: ignore[no-untyped-def]
    """Write the annotator again with other contents and a right checksum, as an attacker would."""
    contents = storage.read(stored)
    kept = {name: array for name, array in contents.arrays.items() if name not in drop}
    storage.write(path, "Annotator", {**contents.fields, **(fields or {})}, {**kept, **(arrays or {})})
    return path


def words(shape: tuple[int, ...], dtype: type = np.float32, value: float = 0.1) -> np.ndarray:
    return np.full(shape, value, dtype)


@pytest.mark.parametrize(
    "change",
    [
        {"arrays": {"vocabulary.sift": words((29, 128))}},
        {"arrays": {"vocabulary.sift": words((30, 127))}},
        {"arrays": {"vocabulary.sift": words((30, 128), np.float64)}},
        {"arrays": {"vocabulary.sift": words((30, 128), value=np.nan)}},
        {"arrays": {"vocabulary.sift": words((30, 128), value=1e30)}},
        {"arrays": {"vocabulary.colour": words((8,))}},
        {"drop": ("vocabulary.sift",)},
        {"drop": ("vocabulary.colour",)},
        {"drop": ("model.rates",)},
        {"fields": {"recipe": {"n_patches": 10**12}}},
        {"fields": {"recipe": {"n_patches": True}}},
        {"fields": {"recipe": {"segmenter": "__import__"}}},
        {"fields": {"recipe": {"max_side": -1}}},
        {"fields": {"recipe": {"largest_patch": "all"}}},
        {"fields": {"recipe": {"mirrored": 1}}},
        {"fields": {"recipe": {"nearest": 10**9}}},
        {"fields": {"recipe": {"unheard": 1}}},
        {"fields": {"recipe": [1]}},
        {"fields": {"model": {}}},
        {"fields": {"model": 3}},
    ],
)
def test_a_file_whose_parts_do_not_fit_is_refused_in_one_line(
    stored: Path, tmp_path: Path, change: dict[str, object]
) -> None:
    path = spoilt(stored, tmp_path / "bad.tagmix", **change)
    with pytest.raises(ModelFileError) as caught:
        load(path)
    assert len(str(caught.value).splitlines()) == 1
