"""What is particular to the formats of drawn regions: COCO, VOC, LabelMe."""

import json

import pytest
from PIL import Image

from tagmix.datasets import READERS, Runs
from tagmix.errors import AlbumError


def photo(path, **options):
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("RGB", (12, 8), (9, 99, 199)).save(path, **options)


def text(path, content):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content, encoding="utf-8")
    return path


def read(name, path, **options):
    return READERS[name](path, **options)


# --- coco


def coco(tmp_path, annotations, categories=({"id": 5, "name": "boat"},), **image):
    photo(tmp_path / "a.jpg")
    content = {
        "images": [{"id": 1, "file_name": "a.jpg"} | image],
        "annotations": [{"image_id": 1} | note for note in annotations],
        "categories": list(categories),
    }
    return text(tmp_path / "x.json", json.dumps(content))


def test_coco_reads_polygons_runs_and_boxes(tmp_path):
    notes = [
        {"category_id": 5, "segmentation": [[0, 0, 4, 0, 4, 4], [6, 6, 7, 6, 7, 7]], "bbox": [0, 0, 7, 7]},
        {"category_id": 5, "segmentation": {"size": [2, 2], "counts": [0, 4]}, "iscrowd": 1},
        {"category_id": 5, "segmentation": {"size": [7, 15], "counts": "61X13mN]1"}},
        {"category_id": 5, "bbox": [1, 2, 3, 4]},
    ]
    album = read("coco", coco(tmp_path, notes))
    assert album.problems == ()
    assert album[0].tags == ("boat",)
    kinds = [(r.box, r.polygon, r.runs) for r in album[0].regions]
    assert kinds == [
        (None, ((0, 0), (4, 0), (4, 4)), None),
        (None, ((6, 6), (7, 6), (7, 7)), None),
        (None, None, Runs(2, 2, (0, 4))),
        (None, None, Runs(7, 15, (6, 1, 40, 4, 5, 49))),
        ((1, 2, 3, 4), None, None),
    ]


@pytest.mark.parametrize(
    "note",
    [
        {"category_id": 6},
        {"category_id": None},
        {"category_id": [1]},
        {"category_id": 5, "segmentation": [[0, 0, 1, 1]]},
        {"category_id": 5, "segmentation": [[0, 0, 1, 1, 2]]},
        {"category_id": 5, "segmentation": [5]},
        {"category_id": 5, "segmentation": {"size": [2, 2], "counts": [1]}},
        {"caption": "the of a"},
        {"caption": 7},
        {"image_id": 99, "category_id": 5},
        {"image_id": {}, "category_id": 5},
    ],
)
def test_coco_sets_bad_annotations_aside(tmp_path, note):
    album = read("coco", coco(tmp_path, [{"category_id": 5, "bbox": [0, 0, 1, 1]}, note]))
    assert len(album[0].regions) == 1
    assert len(album.problems) == 1


def test_coco_ids_that_are_there_twice_keep_the_first(tmp_path):
    photo(tmp_path / "a.jpg")
    photo(tmp_path / "b.jpg")
    content = {"images": [{"id": 1, "file_name": "a.jpg"}, {"id": 1, "file_name": "b.jpg"}]}
    album = read("coco", text(tmp_path / "x.json", json.dumps(content)))
    assert [item.id for item in album] == ["a.jpg"]
    assert "twice" in album.problems[0]


def test_coco_pictures_may_be_in_a_folder_the_user_names(tmp_path):
    photo(tmp_path / "train2017" / "a.jpg")
    path = text(tmp_path / "annotations" / "x.json", '{"images": [{"id": 1, "file_name": "a.jpg"}]}')
    assert len(read("coco", path)) == 0
    album = read("coco", path, images=tmp_path / "train2017")
    assert [item.image for item in album] == [(tmp_path / "train2017" / "a.jpg").resolve()]


# --- voc


def test_voc_boxes_count_from_one_and_include_their_end(tmp_path):
    photo(tmp_path / "JPEGImages" / "a.jpg")
    text(
        tmp_path / "Annotations" / "a.xml",
        "<annotation><object><name>cat</name><bndbox><xmin>1</xmin><ymin>2</ymin><xmax>3</xmax><ymax>2</ymax>"
        "</bndbox><part><name>head</name></part></object><object><name>dog</name></object></annotation>",
    )
    text(tmp_path / "ImageSets" / "Main" / "val.txt", "a\n")
    album = read("voc", tmp_path)
    assert album[0].regions[0].box == (0, 1, 3, 1)
    assert album[0].tags == ("cat", "dog")
    assert album[0].split == "val"
    assert len(album.problems) == 1  # the dog has no box


def test_voc_without_annotations_is_refused(tmp_path):
    photo(tmp_path / "JPEGImages" / "a.jpg")
    with pytest.raises(AlbumError, match="XML"):
        read("voc", tmp_path)


# --- labelme


def labelme(tmp_path, shapes, **more):
    photo(tmp_path / "a.jpg")
    content = {"imagePath": "a.jpg", "shapes": shapes, "imageData": "x" * 100} | more
    return read("labelme", text(tmp_path / "a.json", json.dumps(content)))


def test_labelme_json_reads_rectangles_circles_and_flags(tmp_path):
    shapes = [
        {"label": "box", "points": [[9, 8], [3, 2]], "shape_type": "rectangle"},
        {"label": "round", "points": [[5, 5], [5, 7]], "shape_type": "circle"},
        {"label": "dot", "points": [[1, 1]], "shape_type": "point"},
        {"label": "old", "points": [[0, 0], [1, 0], [1, 1]]},
        {"label": "cut", "points": [[0, 0], [4, 4]], "shape_type": "mask", "mask": "AAAA"},
    ]
    album = labelme(tmp_path, shapes, flags={"outdoors": True, "blurred": False})
    assert album.problems == ()
    assert album[0].tags == ("outdoors", "box", "round", "dot", "old", "cut")
    regions = {region.tag: region for region in album[0].regions}
    assert regions["box"].box == (3, 2, 6, 6)
    assert len(regions["round"].polygon) == 32
    assert regions["old"].polygon == ((0, 0), (1, 0), (1, 1))
    assert regions["cut"].box == (0, 0, 4, 4)
    assert "dot" not in regions


@pytest.mark.parametrize(
    "shape",
    [
        7,
        {"points": []},
        {"label": "x", "points": None},
        {"label": "x", "points": [[1, 1]], "shape_type": "rectangle"},
        {"label": "x", "points": [1, 2], "shape_type": "rectangle"},
        {"label": "x", "points": [["a", 1], [2, 2]], "shape_type": "rectangle"},
        {"label": "x", "points": [[1, 1], [1]], "shape_type": "circle"},
    ],
)
def test_labelme_sets_bad_shapes_aside(tmp_path, shape):
    album = labelme(tmp_path, [shape])
    assert album[0].regions == ()
    assert len(album.problems) == 1


def test_labelme_json_in_a_sister_folder_finds_its_picture(tmp_path):
    photo(tmp_path / "imgs" / "a.jpg")
    text(tmp_path / "labels" / "a.json", json.dumps({"imagePath": "..\\imgs\\a.jpg", "shapes": []}))
    assert [item.id for item in read("labelme", tmp_path)] == ["imgs/a.jpg"]


def test_labelme_xml_in_its_own_layout_finds_its_picture_and_skips_the_deleted(tmp_path):
    photo(tmp_path / "Images" / "street" / "a.jpg")
    points = "".join(f"<pt><x>{x}</x><y>{y}</y><time>t</time></pt>" for x, y in ((1, 1), (5, 1), (5, 6)))
    things = "".join(
        f"<object><name> {name} </name><deleted>{gone}</deleted><polygon>{points}</polygon></object>"
        for name, gone in (("car", 0), ("ghost", 1))
    )
    names = "<filename>a.jpg</filename><folder>street</folder>"
    text(tmp_path / "Annotations" / "street" / "a.xml", f"<annotation>{names}{things}</annotation>")
    album = read("labelme", tmp_path)
    assert album.problems == ()
    assert [(item.id, item.tags) for item in album] == [("Images/street/a.jpg", ("car",))]
    assert album[0].regions[0].polygon == ((1, 1), (5, 1), (5, 6))
