"""What is exported is read back by the project's own readers, and by COCO's."""

import csv
import json

import pytest
from pycocotools import mask as masks
from pycocotools.coco import COCO

from tagmix.datasets import open_album
from tagmix.datasets.coco import read_coco
from tagmix.errors import AlbumError
from tagmix.library.export import Choice, export
from tests.library.shelves import Shelf, region

SQUARE = ((0.1, 0.1), (0.6, 0.1), (0.6, 0.6), (0.1, 0.6))
HOLE = ((0.2, 0.2), (0.4, 0.2), (0.4, 0.4), (0.2, 0.4))
BOX = (0.1, 0.1, 0.5, 0.5)


@pytest.fixture
def shelf(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    shelf = Shelf(tmp_path / "photos")
    shelf.sea = shelf.photo("2019/sea.png", human=["sea"], metadata=["Places|Germany|Rügen", "boat"])
    shelf.plain = shelf.photo("plain.png", metadata=["sky"], denied=["sea"])
    shelf.bare = shelf.photo("bare.png")
    return shelf


def exported(shelf, out, form, **options):
    choice = options.pop("choice", None)
    found = shelf.catalogue.search(options.pop("search", "missing:no"))
    return export(shelf.catalogue, found, out, form, choice, **options)


def tags_of(album):
    return {item.id: set(item.tags) for item in album}


WANTED = {
    "2019/sea.png": {"sea", "Places|Germany|Rügen", "boat"},
    "plain.png": {"sky"},
    "bare.png": set(),
}


@pytest.mark.parametrize(
    ("form", "name"), [("coco", "all.json"), ("csv", "all.csv"), ("jsonl", "annotations.jsonl")]
)
def test_an_export_beside_the_photos_is_read_back_with_the_same_tags(shelf, form, name):
    shelf.guess({shelf.bare: {"moon": 0.9}})
    done = exported(shelf, shelf.root / name, form)
    album = open_album(shelf.root / name)
    assert tags_of(album) == WANTED
    assert album.problems == ()
    assert (done.photos, done.tagged, done.tags, done.problems) == (3, 2, 4, ())


def test_labelme_files_in_a_folder_of_their_own_are_read_back_with_the_same_tags(shelf):
    shelf.photo("plain.jpeg", human=["sky"])
    exported(shelf, shelf.root / "labels", "labelme")
    names = {path.relative_to(shelf.root / "labels").as_posix() for path in shelf.root.rglob("*.json")}
    assert names == {"2019/sea.json", "bare.json", "plain.json", "plain.png.json"}
    flags = json.loads((shelf.root / "labels" / "2019" / "sea.json").read_text("utf-8"))["flags"]
    assert flags == dict.fromkeys(WANTED["2019/sea.png"], True)
    album = open_album(f"labelme:{shelf.root}")
    assert tags_of(album) == WANTED | {"plain.jpeg": {"sky"}}
    assert album.problems == ()


def test_tags_of_the_machine_are_exported_on_demand_above_a_probability(shelf):
    shelf.guess({shelf.bare: {"moon": 0.9, "cloud": 0.4}, shelf.plain: {"sea": 0.99}})
    file = shelf.root / "annotations.jsonl"
    exported(shelf, file, "jsonl", choice=Choice(machine=True, probability=0.9))
    assert tags_of(open_album(file)) == WANTED | {"bare.png": {"moon"}}
    # a human denied the sea of "plain": the machine's guess does not bring it back


@pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")
def test_coco_has_regions_with_holes_as_its_own_library_measures_them(shelf):
    shelf.guess({shelf.sea: {"boat": 0.9}}, [region("boat", BOX, SQUARE, HOLE)])
    file = shelf.root / "all.json"
    exported(shelf, file, "coco", choice=Choice(machine=True))
    coco = COCO(file)
    (note,) = coco.loadAnns(coco.getAnnIds())
    mask = coco.annToMask(note)
    assert note["bbox"] == [8, 6, 40, 30]
    assert note["area"] == 40 * 30 - 16 * 12
    assert (mask.sum(), mask[20, 20], mask[40, 70], mask[10, 10]) == (note["area"], 0, 0, 1)
    assert masks.toBbox(coco.annToRLE(note)).tolist() == note["bbox"]
    assert coco.loadCats(coco.getCatIds(supNms=["Places|Germany"]))[0]["name"] == "Places|Germany|Rügen"


@pytest.mark.parametrize("form", ["coco", "jsonl", "labelme"])
def test_regions_are_read_back_where_they_were(shelf, form):
    shelf.catalogue.regions.say(shelf.sea, region("", BOX, SQUARE), "boat")
    shelf.catalogue.regions.say(shelf.sea, region("", (0.5, 0.5, 0.25, 0.5)), "harbour")
    shelf.catalogue.regions.say(shelf.sea, region("", (0.0, 0.0, 0.1, 0.1)), "sky", "no")
    out = shelf.root / {"coco": "all.json", "jsonl": "all.jsonl", "labelme": "labels"}[form]
    done = exported(shelf, out, form)
    album = open_album(f"{form}:{shelf.root if form == 'labelme' else out}")
    (item,) = [item for item in album if item.regions]
    assert item.id == "2019/sea.png"
    assert [(one.tag, one.box, one.polygon) for one in item.regions] == [
        ("boat", None, ((8.0, 6.0), (48.0, 6.0), (48.0, 36.0), (8.0, 36.0))),
        ("harbour", (40.0, 30.0, 20.0, 30.0), None),  # which is no tag of the whole
    ]
    assert done.regions == 2


def test_no_cell_of_a_table_is_a_formula_and_all_are_read_back(shelf):
    names = ["=1+1.png", "+a.png", "-b.png", "@c.png", " d.png", "\ttab.png", 'quote",.png', "line\nend.png"]
    tags = ["=HYPERLINK(1)", "-x", "@y", "Places|Rome", "\uff1dz", "plain"]
    for name, tag in zip(names, [*tags, "a", "b"], strict=True):
        shelf.photo(name, human=[tag])
    file = shelf.root / "all.csv"
    exported(shelf, file, "csv")
    with file.open(encoding="utf-8-sig", newline="") as stream:
        cells = [cell for row in csv.reader(stream) for cell in row]
    assert not [cell for cell in cells if cell.startswith(tuple("=+-@\t\r\uff1d"))]
    found = tags_of(open_album(file))
    assert {name: found[name] for name in names} == {
        name: {tag} for name, tag in zip(names, [*tags, "a", "b"], strict=True)
    }


def test_a_tag_with_a_semicolon_is_written_with_a_comma_in_tables_and_said(shelf):
    shelf.photo("x.png", human=["red; blue"])
    done = exported(shelf, shelf.root / "all.csv", "csv")
    assert tags_of(open_album(shelf.root / "all.csv"))["x.png"] == {"red, blue"}
    assert done.notes == ("tags with ';' are written with ',': red; blue",)


def test_a_file_outside_the_folder_names_photos_below_it(shelf, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    out = tmp_path / "elsewhere" / "all.json"
    done = exported(shelf, out, "coco")
    assert done.base == shelf.root
    assert tags_of(read_coco(out, images=shelf.root)) == WANTED


@pytest.mark.parametrize("form", ["coco", "csv", "jsonl"])
def test_only_an_export_is_replaced_and_only_if_asked(shelf, form):
    out = shelf.root / "out"
    out.write_text('{"image": "mine.jpg", "tags": []}\n')
    for again in (False, True):
        with pytest.raises(AlbumError, match="tagmix did not export it"):
            exported(shelf, out, form, again=again)
    assert "mine.jpg" in out.read_text()
    out.unlink()
    exported(shelf, out, form)
    first = out.read_bytes()
    with pytest.raises(AlbumError, match="--replace"):
        exported(shelf, out, form)
    exported(shelf, out, form, again=True)
    assert out.read_bytes() == first
    assert not list(shelf.root.glob(".tagmix*"))


def test_labelme_leaves_files_of_others_beside_the_photos(shelf):
    (shelf.root / "plain.json").write_text('{"mine": 1}')
    done = exported(shelf, shelf.root, "labelme", again=True)
    assert json.loads((shelf.root / "plain.json").read_text()) == {"mine": 1}
    assert [line.partition(":")[0] for line in done.problems] == ["plain.png"]
    assert done.photos == 2


def test_photos_that_cannot_be_exported_are_named(shelf):
    shelf.photo("gone.png", human=["a"])
    (shelf.root / "gone.png").unlink()
    shelf.photo("back\\slash.png", human=["b"])
    shelf.photo("broken.png", human=["c"])
    (shelf.root / "broken.png").write_bytes(b"no picture")
    done = exported(shelf, shelf.root / "all.json", "coco")
    assert [line.partition(":")[0] for line in done.problems] == ["back\\slash.png", "broken.png", "gone.png"]
    assert (done.photos, done.tags) == (3, 4)
    assert tags_of(open_album(shelf.root / "all.json")) == WANTED
