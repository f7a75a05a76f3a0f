"""Mulan's sets become bags with one region a row."""

import pytest

from tagmix.datasets import BAG_READERS
from tagmix.datasets.mulan import read_mulan
from tagmix.errors import AlbumError

XML = (
    '<?xml version="1.0" encoding="utf-8"?>\n<labels xmlns="http://mulan.sourceforge.net/labels">\n'
    '<label name="sky"><label name="deep sea"/></label></labels>'
)
HEADER = """% a comment
@RELATION 'corel: -C 2'

@attribute Cluster1 {0,1}
@ATTRIBUTE sky {0,1}
@attribute 'it\\'s' numeric
@attribute "deep sea" {0, 1}
@DATA
"""


def mulan(tmp_path, data, header=HEADER, xml=XML, name="set"):
    (tmp_path / f"{name}.arff").write_text(header + data, encoding="utf-8")
    (tmp_path / "set.xml").write_text(xml, encoding="utf-8")
    return tmp_path / f"{name}.arff"


def test_dense_and_sparse_rows_mean_the_same(tmp_path):
    dense = read_mulan(mulan(tmp_path, "1,0,3,1\n% no\n\n0,1,0,0\n0,0,0,0\n"))
    sparse = read_mulan(mulan(tmp_path, "{0 1, 2 3,3 1}\n{1 1}\n{}\n"))
    for bags in (dense, sparse):
        assert bags.tag_names == ("sky", "deep sea")
        assert bags.captions.toarray().tolist() == [[0, 1], [1, 0], [0, 0]]
        assert bags.views["words"].toarray().tolist() == [[1, 3], [0, 0], [0, 0]]
        assert bags.offsets.tolist() == [0, 1, 2, 3]


def test_real_numbers_are_an_embedding(tmp_path):
    bags = read_mulan(mulan(tmp_path, "1,0,-2.5e-1,1\n"))
    assert bags.views["words"].tolist() == [[1, -0.25]]


def test_the_labels_file_may_have_another_name_and_line_ends_may_be_of_windows(tmp_path):
    path = mulan(tmp_path, "1,0,3,1\n", name="set-train")
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    assert len(BAG_READERS["mulan"](path, tmp_path / "set.xml")) == 1
    with pytest.raises(AlbumError, match=r"set-train\.xml"):
        read_mulan(path)


@pytest.mark.parametrize(
    "row",
    [
        "1,0,3",
        "1,0,3,1,1",
        "1,0,?,1",
        "1,0,nan,1",
        "1,0,x,1",
        "{9 1}",
        "{-1 1}",
        "{0 1, 0 1}",
        "{0}",
        "1,2,3,1",
    ],
)
def test_rows_that_are_none_are_refused(tmp_path, row):
    with pytest.raises(AlbumError) as caught:
        read_mulan(mulan(tmp_path, f"1,0,3,1\n{row}\n"))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "header",
    [
        "",
        "hello\n",
        "@relation x\n@data\n",
        HEADER.replace("numeric", "{red,blue}"),
        HEADER.replace("numeric", "{1,0}"),
        HEADER.replace("numeric", "string"),
        HEADER.replace("numeric", ""),
        HEADER.replace("Cluster1", "sky"),
        "@relation x\n@attribute sky {0,1}\n@attribute 'deep sea' {0,1}\n@data\n",
        "@relation x\n@attribute a numeric\n@attribute sky {0,1}\n@data\n",
    ],
)
def test_headers_that_are_none_are_refused(tmp_path, header):
    with pytest.raises(AlbumError):
        read_mulan(mulan(tmp_path, "1,0,1,1\n", header=header))


@pytest.mark.parametrize(
    "xml", ["<labels/>", "<labels><label/></labels>", XML.replace("deep sea", "sky"), "no"]
)
def test_label_files_that_are_none_are_refused(tmp_path, xml):
    with pytest.raises(AlbumError):
        read_mulan(mulan(tmp_path, "1,0,3,1\n", xml=xml))


def test_a_set_without_rows_is_refused(tmp_path):
    with pytest.raises(AlbumError, match="rows"):
        read_mulan(mulan(tmp_path, "% nothing\n"))
