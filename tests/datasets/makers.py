"""Small albums in every format, written by us; the conformance and fuzz tests load this file by its path."""

import json
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple
from xml.sax.saxutils import escape

from PIL import Image


class Entry(NamedTuple):
    image: str
    tags: tuple = ()
    box: tuple | None = None  # of the first tag: x, y, width, height


GOOD = (
    Entry("a.jpg", ("sky", "golden gate"), (1, 1, 4, 3)),
    Entry("b.png", ("sea",)),
    Entry("c.jpg", ("sky", "sea"), (0, 0, 2, 2)),
)


def picture(path, size=(12, 8), colour=(200, 40, 10)):
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("RGB", size, colour).save(path)


def pictures(folder, entries, prefix=""):
    for entry in entries:
        picture(folder / prefix / entry.image)


def plain(text):
    return text.encode()


def windows(text):
    return text.replace("\n", "\r\n").encode("utf-8-sig")


def write(path, text, to_bytes):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(to_bytes(text))


def corners(box):
    x, y, width, height = box
    return [[x, y], [x + width, y], [x + width, y + height], [x, y + height]]


def make_jsonl(folder, entries, to_bytes=plain):
    def line(entry):
        regions = [{"tag": entry.tags[0], "box": entry.box}] if entry.box else []
        return json.dumps({"image": entry.image, "tags": entry.tags, "regions": regions}) + "\n"

    write(folder / "annotations.jsonl", "".join(map(line, entries)), to_bytes)
    return folder / "annotations.jsonl"


def make_csv(folder, entries, to_bytes=plain):
    rows = "".join(f"{entry.image},{';'.join(entry.tags) or ';'}\n" for entry in entries)
    write(folder / "album.csv", f"image,tags\n{rows}", to_bytes)
    return folder / "album.csv"


def make_folder(folder, entries, to_bytes=plain):
    for entry in entries:
        write((folder / entry.image).with_suffix(".txt"), "\n".join(entry.tags) + "\n", to_bytes)
    return folder


def make_coco(folder, entries, to_bytes=plain):
    names = list(dict.fromkeys(tag for entry in entries for tag in entry.tags))
    notes = [
        {"image_id": k, "category_id": names.index(tag)}
        | ({"bbox": entry.box} if entry.box and j == 0 else {})
        for k, entry in enumerate(entries)
        for j, tag in enumerate(entry.tags)
    ]
    content = {
        "info": {"year": 2017},
        "images": [{"id": k, "file_name": entry.image} for k, entry in enumerate(entries)],
        "annotations": notes,
        "categories": [{"id": k, "name": name, "supercategory": "x"} for k, name in enumerate(names)],
    }
    write(folder / "instances.json", json.dumps(content, indent=1), to_bytes)
    return folder / "instances.json"


def make_captions(folder, entries, to_bytes=plain):
    content = {
        "images": [{"id": k, "file_name": entry.image} for k, entry in enumerate(entries)],
        "annotations": [
            {"image_id": k, "caption": f"The {' and a '.join(entry.tags)}"} for k, entry in enumerate(entries)
        ],
    }
    write(folder / "captions.json", json.dumps(content, indent=1), to_bytes)
    return folder / "captions.json"


def make_voc(folder, entries, to_bytes=plain):
    (folder / "JPEGImages").mkdir(parents=True, exist_ok=True)
    for k, entry in enumerate(entries):
        x, y, width, height = entry.box or (0, 0, 2, 2)
        things = "".join(
            f"<object>\n<name>{escape(tag)}</name><difficult>0</difficult><bndbox><xmin>{x + 1}</xmin>"
            f"<ymin>{y + 1}</ymin><xmax>{x + width}</xmax><ymax>{y + height}</ymax></bndbox></object>\n"
            for tag in entry.tags
        )
        text = f"<annotation>\n<filename>{escape(entry.image)}</filename>\n{things}</annotation>\n"
        write(folder / "Annotations" / f"{k:06}.xml", text, to_bytes)
    write(folder / "ImageSets" / "Main" / "train.txt", "000000\n000001\n", to_bytes)
    return folder


def make_labelme(folder, entries, to_bytes=plain):
    for k, entry in enumerate(entries):
        shapes = [
            {"label": tag, "points": corners(entry.box or (0, 0, 2, 2)), "shape_type": "polygon"}
            for tag in entry.tags
        ]
        content = {
            "version": "5.5.0",
            "flags": {},
            "shapes": shapes,
            "imagePath": entry.image,
            "imageData": "AA==",
        }
        write(folder / f"note{k}.json", json.dumps(content, indent=2), to_bytes)
    return folder


def make_labelme_xml(folder, entries, to_bytes=plain):
    for k, entry in enumerate(entries):
        points = "".join(f"<pt><x>{x}</x><y>{y}</y></pt>" for x, y in corners(entry.box or (0, 0, 2, 2)))
        polygon = f"<polygon><username>x</username>{points}</polygon>"
        things = "".join(
            f"<object><name>\n{escape(tag)}\n</name><deleted>0</deleted>{polygon}</object>"
            for tag in entry.tags
        )
        gone = f"<object><name>ghost</name><deleted>1</deleted>{polygon}</object>"
        named = f"<filename>\n{escape(entry.image)}\n</filename><folder></folder>"
        text = f"<annotation>{named}{things}{gone}</annotation>"
        write(folder / f"note{k}.xml", text, to_bytes)
    return folder


def make_corel5k(folder, entries, to_bytes=plain):
    names = list(dict.fromkeys(tag for entry in entries for tag in entry.tags if tag))
    write(folder / "corel5k_words.txt", "\n".join(names or ["x"]) + "\n", to_bytes)
    write(folder / "corel5k_train_list.txt", "".join(f"{entry.image}\n" for entry in entries), to_bytes)
    lines = (
        " ".join([Path(entry.image).stem, *(str(names.index(tag) + 1) for tag in entry.tags if tag)])
        for entry in entries
    )
    write(folder / "corel5k_train_annot.txt", "".join(f"{line}\n" for line in lines), to_bytes)
    return folder


class Maker(NamedTuple):
    format: str
    make: object
    prefix: str = ""  # where the pictures go
    states_paths: bool = True
    has_regions: bool = False
    splits_words: bool = False  # captions: "golden gate" is two words


MAKERS = {
    "jsonl": Maker("jsonl", make_jsonl, has_regions=True),
    "folder": Maker("folder", make_folder, states_paths=False),
    "csv": Maker("csv", make_csv),
    "coco": Maker("coco", make_coco, has_regions=True),
    "coco captions": Maker("coco", make_captions, splits_words=True),
    "voc": Maker("voc", make_voc, prefix="JPEGImages", has_regions=True),
    "labelme": Maker("labelme", make_labelme, has_regions=True),
    "labelme xml": Maker("labelme", make_labelme_xml, has_regions=True),
    "corel5k": Maker("corel5k", make_corel5k),
}

_watching = []


def _hook(event, arguments):
    if _watching and event == "open" and isinstance(arguments[0], str | bytes):
        name = arguments[0].decode() if isinstance(arguments[0], bytes) else arguments[0]
        _watching[-1].append((name, arguments[1], arguments[2]))


sys.addaudithook(_hook)


@contextmanager
def watched():
    """Give the list of the files opened meanwhile: name, mode, flags."""
    _watching.append([])
    try:
        yield _watching[-1]
    finally:
        _watching.pop()
