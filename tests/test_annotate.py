"""From photos to tags in Python: what an annotation holds, what is refused, and files of strangers."""

from concurrent.futures import ThreadPoolExecutor
from copy import copy
from pathlib import Path

import numpy as np
import pytest

from tagmix import (
    EMM,
    AlbumError,
    Annotator,
    ContextEMM,
    Describer,
    ModelFileError,
    ParameterError,
    load,
    storage,
)
from tagmix.annotate import Training, train
from tagmix.datasets import Album, open_album
from tagmix.datasets.scenes import draw_album
from tagmix.images.sources import PictureBytes, Problem
from tagmix.images.vocabulary import Vocabulary

QUICK = {"n_words": 30, "n_colours": 8, "n_patches": 100, "restarts": 1, "places": True}


@pytest.fixture(scope="module")
def album(tmp_path_factory: pytest.TempPathFactory) -> Album:
    return open_album(draw_album(tmp_path_factory.mktemp("drawn"), 40, seed=5, size=(96, 72)))


@pytest.fixture(scope="module")
def training(album: Album) -> Training:
    return train(album.keep_tags(4), Describer.paper(**QUICK), ContextEMM(evidence=0.1))


@pytest.fixture(scope="module")
def stored(training: Training, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("stored") / "annotator.tagmix"
    training.annotator.save(path)
    return path


def test_an_annotation_ranks_tags_by_calibrated_probability(album: Album, training: Training) -> None:
    annotator = training.annotator
    photos = [item.image for item in album][:6]
    found = list(annotator.annotate(photos, k=4))
    assert [annotation.source for annotation in found] == photos
    p = annotator.model.predict_marginals(annotator.describer.transform(album[:6]).bags)
    for annotation, row in zip(found, p, strict=True):
        best = np.argsort(-row, kind="stable")[:4]
        assert [guess.tag for guess in annotation.tags] == [annotator.model.tag_names_[c] for c in best]
        np.testing.assert_allclose([guess.probability for guess in annotation.tags], row[best])


def test_shown_tags_are_those_that_predict_gives(album: Album, training: Training) -> None:
    annotator = training.annotator
    n_tags = len(annotator.model.tag_names_)
    found = list(annotator.annotate([item.image for item in album], k=n_tags))
    predicted = annotator.model.predict(annotator.describer.transform(album).bags)
    for annotation, row in zip(found, predicted, strict=True):
        shown = {guess.tag for guess in annotation.tags if guess.shown}
        assert shown == {annotator.model.tag_names_[c] for c in np.flatnonzero(row)}


def test_regions_carry_the_models_tags_their_boxes_and_areas(album: Album, training: Training) -> None:
    annotator = training.annotator
    (annotation,) = annotator.annotate([album[0].image], region_k=2)
    best = annotator.model.top_region_tags(annotator.describer.transform(album[:1]).bags, k=2)
    names = annotator.model.tag_names_
    assert [[tag for tag, _ in region.tags] for region in annotation.regions] == [
        [names[c] for c in row] for row in best
    ]
    assert sum(region.area for region in annotation.regions) == pytest.approx(1)
    for region in annotation.regions:
        x, y, width, height = region.box
        assert region.area <= width * height + 1e-6
        assert max(x + width, y + height) <= 1 + 1e-6


def test_each_region_has_its_own_box(album: Album, training: Training) -> None:
    photos = [item.image for item in album][:3]
    described = training.annotator.describer.describe(photos)
    for annotation, picture in zip(training.annotator.annotate(photos), described, strict=True):
        expected = [picture.box_of(n) for n in range(picture.n_regions)]  # type: ignore[union-attr]
        assert [(region.box, region.area) for region in annotation.regions] == expected  # type: ignore[union-attr]


def test_a_tag_at_its_threshold_is_shown(album: Album, training: Training) -> None:
    annotator = training.annotator
    bags = annotator.describer.transform(album[:1]).bags
    (p,) = annotator.model.predict_marginals(bags)
    model = copy(annotator.model)
    assert model.calibration_ is not None
    model.calibration_ = model.calibration_._replace(thresholds=p)
    assert model.predict(bags).all()
    assert Annotator(annotator.describer, model).judge(bags)[1].all()


def test_tags_are_judged_by_the_precision_that_is_asked_for(album: Album, training: Training) -> None:
    annotator = training.annotator
    bags = annotator.describer.transform(album).bags
    p, shown = annotator.judge(bags, 0.3)
    np.testing.assert_array_equal(p, annotator.model.predict_marginals(bags))
    np.testing.assert_array_equal(shown, annotator.model.predict(bags, precision=0.3) > 0)
    assert (shown != annotator.judge(bags)[1]).any()


def test_photos_that_cannot_be_read_are_problems_in_their_place_in_every_chunk(
    album: Album, training: Training, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tagmix.annotate.CHUNK", 4)
    photos = [tmp_path / "gone.jpg", *(item.image for item in album[:9]), tmp_path / "lost.jpg"]
    told: list[tuple[str, int, int]] = []
    found = list(training.annotator.annotate(photos, k=1, progress=lambda *step: told.append(step)))
    assert [one.source for one in found] == photos
    assert [n for n, one in enumerate(found) if isinstance(one, Problem)] == [0, 10]
    assert list(dict.fromkeys(told)) == [("pictures", n, 11) for n in range(12)]
    assert list(training.annotator.annotate(photos[:1])) == found[:1]


def test_bytes_are_annotated_as_their_file_is(album: Album, training: Training) -> None:
    path = album[0].image
    sources = [path, path.read_bytes(), PictureBytes("beach", path.read_bytes())]
    file, bare, named = (next(training.annotator.annotate([source])) for source in sources)
    assert (bare.source, named.source) == ("<bytes>", "beach")
    assert bare[1:] == named[1:] == file[1:]


@pytest.mark.parametrize(
    "sources",
    ["beach.jpg", b"bytes", Path("beach.jpg"), PictureBytes("beach", b"bytes"), iter([b"bytes"]), None]
    + [[one] for one in (None, 3, bytearray(b"bytes"), ("beach", b"bytes"), PictureBytes("beach", None))],
)
def test_what_is_no_list_of_pictures_is_refused_in_one_line(training: Training, sources: object) -> None:
    for ask in (training.annotator.annotate, training.annotator.describer.describe):
        with pytest.raises(ParameterError, match=r"^(pictures must be a list|a picture must be a path)"):
            list(ask(sources))  # type: ignore[arg-type]


@pytest.mark.parametrize("how", [{"k": 0}, {"region_k": 0}])
def test_no_tags_are_refused_before_any_picture_is_read(training: Training, how: dict[str, int]) -> None:
    with pytest.raises(ParameterError, match="k must be a whole number >= 1, got 0"):
        list(training.annotator.annotate([b"no picture"], **how))


def test_two_threads_share_an_annotator(album: Album, training: Training, tmp_path: Path) -> None:
    photos = [item.image for item in album]
    parts = [photos[:10], [tmp_path / "gone.jpg", *photos[10:20]], photos[5:15], [b"none", *photos[:3]]]
    one_by_one = [list(training.annotator.annotate(part)) for part in parts]
    state, own = dict(vars(training.annotator.describer)), dict(vars(training.annotator))
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(lambda part: list(training.annotator.annotate(part)), parts)) == one_by_one
    assert vars(training.annotator.describer) == state
    assert vars(training.annotator) == own


def test_an_annotator_with_other_processes_and_cache_leaves_the_first_as_it_was(
    album: Album, training: Training, tmp_path: Path
) -> None:
    other = training.annotator.with_(n_jobs=2, cache=tmp_path)
    photos = [item.image for item in album][:3]
    assert list(other.annotate(photos)) == list(training.annotator.annotate(photos))
    assert len(list(tmp_path.rglob("*.tagmix"))) == 3
    assert (training.annotator.describer.n_jobs, training.annotator.describer.cache.folder) == (None, None)


def test_an_annotator_from_a_file_says_the_same(album: Album, training: Training, stored: Path) -> None:
    back = load(stored)
    photos = [item.image for item in album][:5]
    assert list(back.annotate(photos)) == list(training.annotator.annotate(photos))


def test_kernels_that_do_not_exist_are_not_blamed_on_the_file(
    stored: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TAGMIX_KERNELS", "quantum")
    with pytest.raises(ParameterError, match=r"^TAGMIX_KERNELS must be one of"):
        load(stored)


def test_a_mirrored_annotator_comes_back_mirrored(album: Album, tmp_path: Path) -> None:
    mirrored = Describer.paper(**QUICK, mirrored=True)
    annotator = train(album.keep_tags(4), mirrored, ContextEMM(evidence=0.05)).annotator
    annotator.save(tmp_path / "mirrored.tagmix")
    back = load(tmp_path / "mirrored.tagmix")
    assert back.describer.config == mirrored.config
    photos = [item.image for item in album][:5]
    assert list(back.annotate(photos)) == list(annotator.annotate(photos))


def test_regions_modelled_by_colour_alone_have_a_file_and_need_the_other_views_too(
    album: Album, tmp_path: Path
) -> None:
    model = ContextEMM(evidence={"colour": 0.1})
    annotator = train(album.keep_tags(4), Describer.paper(**QUICK), model).annotator
    assert list(annotator.model.evidence_) == ["colour"]
    assert set(annotator.model.widths_) == {"sift", "colour", "place"}
    annotator.save(tmp_path / "colour.tagmix")
    photos = [item.image for item in album][:5]
    assert list(load(tmp_path / "colour.tagmix").annotate(photos)) == list(annotator.annotate(photos))
    other = Describer.of(
        annotator.describer.config,
        {**annotator.describer.vocabularies_, "sift": Vocabulary(words((9, 128)))},
    )
    with pytest.raises(ParameterError, match="trained on 8 colour words, 30 sift words"):
        Annotator(other, annotator.model)


def test_too_few_pictures_to_calibrate_still_give_a_ranking(album: Album) -> None:
    with pytest.warns(UserWarning, match="calibration"):
        trained = train(album[:8].keep_tags(2), Describer.paper(**QUICK), EMM(evidence=0.1))
    (annotation,) = trained.annotator.annotate([album[0].image], k=3)
    assert len(annotation.tags) == 3
    assert any(guess.shown for guess in annotation.tags)


def test_an_album_without_tags_is_refused(album: Album) -> None:
    bare = album.keep_tags(10_000)
    with pytest.raises(AlbumError, match="nothing to learn from"):
        train(bare, Describer.paper(**QUICK), EMM())


def test_a_model_of_other_words_is_refused(album: Album, training: Training) -> None:
    other = Describer.paper(**{**QUICK, "n_words": 29}).fit(album)
    with pytest.raises(ParameterError, match="30 sift words"):
        Annotator(other, training.annotator.model)
    with pytest.raises(ParameterError, match="fitted"):
        Annotator(Describer.paper(**QUICK), training.annotator.model)


def spoilt(stored: Path, path: Path, fields=None, arrays=None, drop=(), describer=None, sift=None) -> Path:  # type: ignore[no-untyped-def]
    """Write the annotator again with other contents and a right checksum, as an attacker would."""
    contents = storage.read(stored)
    contents.fields["describer"]["views"]["sift"].update(sift or {})  # type: ignore[index]
    contents.fields["describer"].update(describer or {})  # type: ignore[union-attr]
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
        {"drop": ("model.regions_.instances.0.mu",)},
        {"arrays": {"vocabulary.place": words((8, 6))}},
        {"arrays": {"vocabulary.colour": words((9, 6))}},
        {"describer": {"n_patches": 10**12}},
        {"describer": {"n_patches": True}},
        {"describer": {"segmenter": "__import__"}},
        {"describer": {"max_side": -1}},
        {"describer": {"largest_patch": "all"}},
        {"describer": {"unheard": 1}},
        {"describer": {"views": [1]}},
        {"describer": {"views": {"unheard": {}}}},
        {"describer": {"views": {}}},
        {"sift": {"mirrored": 1}},
        {"sift": {"nearest": 10**9}},
        {"sift": {"unheard": 1}},
        {"fields": {"describer": [1]}},
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
