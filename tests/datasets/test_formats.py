"""What is particular to each format: layouts, odd cases, what is passed over."""

import json
import os
import struct

import numpy as np
import pytest
from PIL import Image

from tagmix import Bags, save
from tagmix.datasets import READERS, Runs, open_album
from tagmix.errors import AlbumError
from tagmix.metadata.embedded import embedded
from tagmix.metadata.iptc import iptc_keywords


def photo(path, **options):
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("RGB", (12, 8), (9, 99, 199)).save(path, **options)


def text(path, content):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content, encoding="utf-8")
    return path


def read(name, path, **options):
    return READERS[name](path, **options)


# --- jsonl


def test_jsonl_has_masks_with_names_splits_and_runs(tmp_path):
    photo(tmp_path / "a.jpg")
    Image.new("L", (12, 8), 2).save(tmp_path / "m.png")
    text(tmp_path / "labels.txt", "0 void\n1 sky\n2 golden gate\nx y\n\n1 twice\n70000 far\n")
    record = {
        "image": "a.jpg",
        "split": "train",
        "mask": "m.png",
        "regions": [{"tag": "sky", "runs": {"size": [8, 12], "counts": [0, 96]}}],
    }
    album = read("jsonl", text(tmp_path / "x.jsonl", json.dumps(record) + "\n\n"))
    assert album.mask_labels == {1: "sky", 2: "golden gate"}
    assert album[0].mask == tmp_path.resolve() / "m.png"
    assert album[0].split == "train"
    assert album[0].tags == ("sky",)  # none stated, so those of the regions
    assert album[0].regions[0].runs == Runs(8, 12, (0, 96))
    assert [problem.partition(":")[0] for problem in album.problems] == [
        f"labels.txt line {k}" for k in (4, 6, 7)
    ]


def test_jsonl_with_masks_but_without_their_names_says_so(tmp_path):
    photo(tmp_path / "a.jpg")
    Image.new("L", (12, 8), 2).save(tmp_path / "m.png")
    album = read("jsonl", text(tmp_path / "x.jsonl", '{"image": "a.jpg", "mask": "m.png"}'))
    assert "no names" in album.problems[0]
    assert not album.mask_of(album[0], (8, 12)).any()


def test_jsonl_sets_bad_lines_aside_and_goes_on(tmp_path):
    photo(tmp_path / "a.jpg")
    lines = [
        "not json",
        "[1, 2]",
        "3",
        '{"tags": ["x"]}',
        '{"image": "a.jpg", "tags": ["sky", "sky"]}',
        "[" * 9999,
    ]
    album = read("jsonl", text(tmp_path / "x.jsonl", "\n".join(lines)))
    assert [item.tags for item in album] == [("sky",)]
    assert [problem.partition(":")[0] for problem in album.problems] == [
        f"x.jsonl line {k}" for k in (1, 2, 3, 4, 6)
    ]


def test_jsonl_is_cut_at_line_feeds_only(tmp_path):
    photo(tmp_path / "a.jpg")
    album = read("jsonl", text(tmp_path / "x.jsonl", '{"image": "a.jpg", "tags": ["a\u2028b"]}\n'))
    assert album.problems == ()
    assert album[0].tags == ("a b",)


def test_a_folders_jsonl_that_is_a_link_out_of_it_is_refused(tmp_path):
    photo(tmp_path / "album" / "a.jpg")
    (tmp_path / "album" / "annotations.jsonl").symlink_to(text(tmp_path / "x.jsonl", '{"image": "a.jpg"}'))
    with pytest.raises(AlbumError, match="link"):
        read("jsonl", tmp_path / "album")


# --- csv


@pytest.mark.parametrize(
    ("content", "tags"),
    [
        ("image,tags\na.jpg,sky;sea|sand\n", ("sky", "sea", "sand")),
        ("image,tags\na.jpg,Places|Rome;sea;\n", ("Places|Rome", "sea")),
        ("image;tags\na.jpg;sky|sea\n", ("sky", "sea")),
        ("file\tkeywords\tsplit\na.jpg\tsky; sea\ttest\n", ("sky", "sea")),
        ('image,tags\n"a.jpg","golden gate;sea, calm"\n', ("golden gate", "sea, calm")),
        ("image,tag1,tag2,tag3\na.jpg,sky,sea,\n", ("sky", "sea")),
        ("image,sky,sea,sand\na.jpg,1,0,1\n", ("sky", "sand")),
        ("a.jpg,sky,sea\n", ("sky", "sea")),
        ("a.jpg\n", ()),
        ("Image,Caption\na.jpg,A boat on the sea\n", ("boat", "sea")),
        ("tags,image\nsky,a.jpg\n", ("sky",)),
        ("image,tags\na.jpg,\n", ()),
    ],
)
def test_csv_layouts(tmp_path, content, tags):
    photo(tmp_path / "a.jpg")
    album = read("csv", text(tmp_path / "x.csv", content))
    assert album.problems == ()
    assert [item.tags for item in album] == [tags]


def test_csv_takes_a_delimiter_and_a_split(tmp_path):
    photo(tmp_path / "a.jpg")
    path = text(tmp_path / "x.csv", "image:tags:split\na.jpg:sky:train\n")
    assert read("csv", path, delimiter=":")[0].split == "train"
    with pytest.raises(AlbumError, match="delimiter"):
        read("csv", path, delimiter="::")


def test_csv_rows_without_a_picture_are_set_aside(tmp_path):
    photo(tmp_path / "a.jpg")
    album = read("csv", text(tmp_path / "x.csv", "tags,image\nsky,a.jpg\nsea\nsand,\n"))
    assert len(album) == 1
    assert len(album.problems) == 2


# --- corel5k


def corel(tmp_path, annotations, images=("images/1000.jpeg", "images/1001.jpeg")):
    for name in images:
        photo(tmp_path / name)
    text(tmp_path / "corel5k_dictionary.txt", "city\nmountain\nsky\n")
    text(tmp_path / "corel5k_train_list.txt", "1000\n")
    text(tmp_path / "corel5k_test_list.txt", "images/1001.jpeg\n")
    text(tmp_path / "corel5k_annotations.txt", annotations)


def test_corel5k_numbers_words_from_one_and_finds_pictures_without_endings(tmp_path):
    corel(tmp_path, "1000 1 3\n1001.jpeg 2\n")
    album = read("corel5k", tmp_path)
    assert album.problems == ()
    assert [(item.id, item.tags, item.split) for item in album] == [
        ("images/1000.jpeg", ("city", "sky"), "train"),
        ("images/1001.jpeg", ("mountain",), "test"),
    ]


def test_corel5k_may_number_words_from_zero(tmp_path):
    corel(tmp_path, "1000 0 2\n1001 1\n")
    assert [item.tags for item in read("corel5k", tmp_path, first=0)] == [("city", "sky"), ("mountain",)]


def test_corel5k_notes_numbers_and_pictures_that_are_none(tmp_path):
    corel(tmp_path, "1000 0 4 x -1 1\n1000 2\n2000 1\n")
    album = read("corel5k", tmp_path)
    assert [item.tags for item in album] == [("city",), ()]
    assert len(album.problems) == 7  # four numbers, one twice, one without a line, one in no list


# --- folder


def xmp(*tags):
    items = "".join(f"<rdf:li>{tag}</rdf:li>" for tag in tags)
    return (
        '<?xpacket begin="\ufeff" id="W5M0"?><x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF '
        'xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"><rdf:Description '
        'xmlns:dc="http://purl.org/dc/elements/1.1/">'
        "<dc:title><rdf:Alt><rdf:li>no tag</rdf:li></rdf:Alt></dc:title>"
        f"<dc:subject><rdf:Bag>{items}</rdf:Bag></dc:subject></rdf:Description></rdf:RDF></x:xmpmeta>"
        '<?xpacket end="w"?>' + " " * 50
    )


def dataset(record, number, value):
    return struct.pack(">BBBH", 0x1C, record, number, len(value)) + value


def with_iptc(path, block):
    """Put an IPTC block into a JPEG file, as Photoshop does: resource 0x0404 in segment APP13."""
    resource = b"8BIM" + struct.pack(">HBBI", 0x0404, 0, 0, len(block)) + block + b"\0" * (len(block) % 2)
    body = b"Photoshop 3.0\0" + resource
    data = path.read_bytes()
    path.write_bytes(data[:2] + b"\xff\xed" + struct.pack(">H", len(body) + 2) + body + data[2:])


def test_a_folder_gathers_keywords_from_inside_and_beside_its_photos(tmp_path):
    photo(tmp_path / "a.jpg", xmp=xmp("inside", "café").encode())
    with_iptc(
        tmp_path / "a.jpg", dataset(1, 90, b"\x1b%G") + dataset(2, 5, b"title") + dataset(2, 25, b"iptc")
    )
    text(tmp_path / "a.jpg.xmp", xmp("long name", "inside"))
    text(tmp_path / "a.xmp", xmp("not read beside a.jpg.xmp"))
    text(tmp_path / "a.txt", "one, two\nthree")
    text(tmp_path / "a.json", '{"tags": ["json"], "keywords": "k1;k2", "caption": "A red boat"}')
    album = read("folder", tmp_path)
    assert album.problems == ()
    assert album[0].tags == (
        *("iptc", "inside", "café", "long name", "one", "two", "three"),
        *("json", "k1", "k2", "red", "boat"),
    )


def test_the_iptc_block_is_where_pillow_puts_it(tmp_path):
    photo(tmp_path / "a.jpg")
    with_iptc(tmp_path / "a.jpg", dataset(2, 25, b"sky"))
    assert embedded(tmp_path / "a.jpg").iptc == dataset(2, 25, b"sky")


def test_iptc_letters_are_utf_8_or_latin_1_and_damage_ends_the_reading():
    assert iptc_keywords(dataset(2, 25, "été".encode())) == ["été"]
    assert iptc_keywords(dataset(2, 25, "été".encode("latin-1"))) == ["été"]
    assert iptc_keywords(dataset(1, 90, b"\x1b%G") + dataset(2, 25, b"a\xff")) == ["a\ufffd"]
    assert iptc_keywords(dataset(2, 25, b"a") + b"\x1c\x02\x19\xff\xffx") == ["a"]
    assert iptc_keywords(dataset(2, 25, b"a") + b"\x1c\x02\x19\x00\x09x") == ["a"]
    assert iptc_keywords(b"junk") == []


def test_a_folder_is_walked_down_and_its_hidden_files_are_passed_over(tmp_path):
    for name in ("b.JPG", "sub/deep/a.png", ".hidden.jpg", ".cache/x.jpg", "notes.pdf.txt"):
        photo(tmp_path / name) if not name.endswith(".txt") else text(tmp_path / name, "x")
    album = read("folder", tmp_path, subfolders=True)
    assert {item.id: item.tags for item in album} == {"b.JPG": (), "sub/deep/a.png": ("sub", "deep")}
    assert read("folder", tmp_path)[1].tags == ()


def test_a_folders_text_sidecars_may_be_sentences(tmp_path):
    photo(tmp_path / "a.jpg")
    text(tmp_path / "a.txt", "The boat on the sea.")
    assert read("folder", tmp_path, captions=True)[0].tags == ("boat", "sea")
    assert read("folder", tmp_path)[0].tags == ("The boat on the sea.",)


def test_broken_photos_and_sidecars_are_set_aside(tmp_path):
    photo(tmp_path / "a.jpg", xmp=b"<!DOCTYPE a><a/>")
    text(tmp_path / "a.xmp", "<cut>")
    text(tmp_path / "a.json", '{"tags": [1]}')
    (tmp_path / "a.txt").write_bytes(b"\xff\xff\xff")
    (tmp_path / "b.jpg").write_bytes(b"no photo")
    album = read("folder", tmp_path)
    assert [item.id for item in album] == ["a.jpg"]
    assert len(album.problems) == 5


# --- finding the format


def test_an_unknown_format_is_refused_with_the_names_of_the_formats(tmp_path):
    with pytest.raises(AlbumError, match=r"got another file: check the path, .* jsonl, folder, csv, coco"):
        open_album(text(tmp_path / "x.docx", "Dear all"))
    for spec in (tmp_path / "y.docx", "nothing", "docx:x", str(tmp_path / "gone.json"), "a\0b", "x" * 5000):
        with pytest.raises(AlbumError, match=r"does not exist: check the path, .* jsonl, folder, csv, coco"):
            open_album(spec)


@pytest.mark.parametrize("name", ["photos.tagmix", "photos", "photos.json", "photos.jsonl"])
def test_a_model_in_place_of_an_album_is_recognised_by_its_content(tmp_path, name):
    save(Bags(np.ones((1, 2), int), [0, 1]), tmp_path / name)
    with pytest.raises(AlbumError, match="must be an album, got a tagmix model or bags"):
        open_album(tmp_path / name)


def test_options_reach_the_reader(tmp_path):
    photo(tmp_path / "beach" / "a.jpg")
    assert open_album(tmp_path, subfolders=True)[0].tags == ("beach",)
    assert open_album(f"folder:{tmp_path}", subfolders=True)[0].tags == ("beach",)


def test_a_picture_without_regions_has_a_truth_of_zeros(tmp_path):
    photo(tmp_path / "a.jpg")
    album = open_album(tmp_path)
    assert np.array_equal(album.region_truth(album[0], (8, 12)).labels, np.zeros((8, 12)))


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes in folders are a Unix thing")
def test_finding_the_format_opens_neither_pipes_nor_links_out(tmp_path):
    photo(tmp_path / "album" / "a.jpg")
    outside = text(tmp_path / "x.json", '{"shapes": []}')
    (tmp_path / "album" / "link.json").symlink_to(outside)
    os.mkfifo(tmp_path / "album" / "pipe.json")
    assert [item.id for item in open_album(tmp_path / "album")] == ["a.jpg"]
