"""What train says before it learns: what was read, what was left out, what would help."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import tagmix
from tagmix.cli import counts, run
from tagmix.datasets import Album, Item, open_album
from tagmix.metadata.write import Addition, apply_change, plan_addition
from tests.cli.conftest import QUICK
from tests.cli.test_train import one_line_error
from tests.images.raws import nef
from tests.metadata.photos import holding, photo, xmp


def folder_of(root: Path, **tags: tuple[str, ...]) -> Path:
    """Make a photo per name with these tags as Lightroom writes them; of some pixels of its own."""
    for name, own in tags.items():
        rng = np.random.default_rng(len(list(root.glob("*"))))
        pixels = rng.normal(60 + 150 * ("light" in str(own)), 20, (40, 40, 3)).clip(0, 255)
        root.mkdir(exist_ok=True)
        Image.fromarray(pixels.astype(np.uint8)).save(root / f"{name}.png")
        flat = tuple(level for tag in own for level in tag.split("|"))
        if own:
            packet = xmp(dc_subject=flat, lr_hierarchicalSubject=own)
            (root / f"{name}.png.xmp").write_text(packet)
    return root


def test_photos_with_levels_are_learnt_and_files_of_other_kinds_are_counted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    light = {f"a{n}": (f"Scene|light|room {n}",) for n in range(6)}
    dark = {f"b{n}": ("Scene|dark",) for n in range(6)}
    none: dict[str, tuple[str, ...]] = {f"c{n}": () for n in range(2)}
    root = folder_of(tmp_path / "album", **light, **dark, **none)
    for name in ("x.mov", "y.MOV", "z.psd", "notes.txt", "Thumbs.db", ".hidden.mp4"):
        (root / name).write_bytes(b"x")
    path = tmp_path / "m.tagmix"
    assert run(["train", str(root), "-m", str(path), *QUICK]) == 0
    said = capsys.readouterr()
    assert said.out.startswith("12 of 14 pictures have tags, 3 tags on at least 4 of them; 6 rarer tags left")
    assert "not read: 2 .mov, 1 .psd\n" in said.err
    annotator = tagmix.load(path)
    assert annotator.model.tag_names_ == ("Scene|dark", "Scene|light")
    assert annotator.implied == ("Scene|light",)
    capsys.readouterr()
    assert (
        run(["annotate", str(root / "b0.png"), "-m", str(path), "--top", "2", "--no-cache", "-j", "1"]) == 0
    )
    line = capsys.readouterr().out
    assert ": dark " in line
    assert "(has it)" in line
    assert "light" not in line
    call = [
        "annotate",
        str(root / "a0.png"),
        "-m",
        str(path),
        "--top",
        "2",
        "--no-cache",
        "-j",
        "1",
        "--parents",
    ]
    assert run(call) == 0
    assert "light" in capsys.readouterr().out


def test_an_album_of_stopped_keywords_alone_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = folder_of(tmp_path / "album", **{f"a{n}": ("darktable|changed", "format|rw2") for n in range(3)})
    (root / "x.mov").write_bytes(b"x")
    assert run(["train", str(root), "-m", str(tmp_path / "m.tagmix"), *QUICK]) == 1
    line = one_line_error(capsys)
    assert "only keywords that programs write for themselves: darktable|changed, format|rw2" in line
    assert "1 .mov not read" in line


def test_tags_by_tagmix_alone_are_not_learnt_from(tmp_path: Path) -> None:
    path = photo(tmp_path / "a.jpg")
    apply_change(plan_addition(path, Addition((("sky", 0.9),), (), run="r", model="m")))
    album = open_album(tmp_path)
    assert album[0].tags == ()
    assert album.notes.machine_only == 1
    with pytest.raises(tagmix.errors.AlbumError, match="1 photo with machine tags alone"):
        counts.training_part(album, None)


def test_what_would_help_is_said() -> None:
    items = [Item(Path(f"/a/{n}.jpg"), (f"t{n % 5}", f"u{n % 3}", "v") if n < 10 else ()) for n in range(30)]
    album = Album(tuple(items), Path("/a"), format="folder")
    first, second = counts.hints(album, album.keep_tags(4), 4)
    assert "most photos have no tags" in first
    assert second == "most tags are too rare: --min-count 3 learns 4, --min-count 2 learns 9"
    with pytest.raises(tagmix.errors.AlbumError, match=r"lower --min-count \(4 gives 2 tags\)$"):
        counts.frequent_part(album, 11)
    full = Album(tuple(items[:10]), Path("/a"), format="folder")
    assert counts.hints(full, full.keep_tags(1), 1) == []


def test_a_raw_file_and_a_picture_of_its_name_are_one_picture_with_the_tags_of_both(tmp_path: Path) -> None:
    photo(tmp_path / "a.jpg", holding("JPEG", xmp(dc_subject=("inside",))))
    photo(tmp_path / "a.NEF", nef())
    photo(tmp_path / "b.nef", nef())
    (tmp_path / "a.xmp").write_text(xmp(dc_subject=("of the raw file",)))
    album = open_album(tmp_path)
    assert {item.id: item.tags for item in album} == {"a.jpg": ("inside", "of the raw file"), "b.nef": ()}
    assert album.notes.pairs == 1
    assert "1 raw file beside a picture" in counts.hints(album, album, 1)[0]
