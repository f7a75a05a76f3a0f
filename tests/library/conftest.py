"""A library of five photos: untouched, with a person's sidecar, in a folder, broken."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tagmix.catalogue import Catalogue, open_catalogue
from tests.library.makers import draw_photo, sidecar, use_fixed_model


@pytest.fixture(autouse=True)
def _fixed(monkeypatch: pytest.MonkeyPatch) -> None:
    use_fixed_model(monkeypatch)


@pytest.fixture
def photos(tmp_path: Path) -> Path:
    folder = tmp_path / "photos"
    draw_photo(folder / "a.jpg", 1)
    sidecar(draw_photo(folder / "b.jpg", 2), "boat", "holiday")
    draw_photo(folder / "2026" / "c.png", 3)
    (folder / "d.jpg").write_bytes(b"no picture")
    return folder


@pytest.fixture
def catalogue(tmp_path: Path, photos: Path) -> Iterator[Catalogue]:
    with open_catalogue(tmp_path / "catalogue.sqlite", photos) as opened:
        yield opened
