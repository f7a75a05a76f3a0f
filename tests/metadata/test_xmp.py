"""The parser of XMP: places, forms of writing, limits."""

import tracemalloc

import pytest

from tagmix.errors import MetadataError
from tagmix.metadata import xmp
from tagmix.metadata.rdf import array_of, items_of, properties, rdf_of, texts_of
from tagmix.metadata.xmp import RDF, parse_xmp

DC = "http://purl.org/dc/elements/1.1/"
SUBJECT = f"{DC}}}subject"
DATE = f"{DC}}}date"
TEXT = """<?xml version="1.0"?><!-- ü 𝄞 > " -->
<x:xmpmeta xmlns:x='adobe:ns:meta/'><r:RDF xmlns:r="http://www.w3.org/1999/02/22-rdf-syntax-ns#">
<r:Description r:about='' xmlns:d="http://purl.org/dc/elements/1.1/" d:date = '20>26"' d:title=""/>
<r:Description><d:subject xmlns:d="http://purl.org/dc/elements/1.1/"><r:Bag a="/>"><r:li>sea é𝄞</r:li><r:li
>a&amp;b</r:li ><r:li/></r:Bag></d:subject></r:Description></r:RDF></x:xmpmeta>"""
ENCODINGS = {
    "utf-8": b"",
    "utf-8 with a mark": b"\xef\xbb\xbf",
    "utf-16-le": b"\xff\xfe",
    "utf-16-be": b"\xfe\xff",
    "utf-16-le without a mark": b"",
    "utf-16-be without a mark": b"",
}


def encoded(text: str, encoding: str) -> bytes:
    return ENCODINGS[encoding] + text.encode(encoding.partition(" ")[0])


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_places_are_bytes_of_the_file_in_every_encoding(encoding: str) -> None:
    document = parse_xmp(encoded(TEXT, encoding), "a sidecar")
    (subject,) = (one.element for one in properties(document) if one.name == SUBJECT)
    assert subject is not None
    bag = array_of(subject)
    assert bag is not None
    texts = [document.text_of(item.start, item.end) for item in items_of(bag)]
    assert texts == ["<r:li>sea é𝄞</r:li>", "<r:li\n>a&amp;b</r:li >", "<r:li/>"]
    assert [document.is_one_tag(item) for item in items_of(bag)] == [False, False, True]
    assert document.text_of(bag.start, document.inside(bag)) == '<r:Bag a="/>">'
    assert document.text_of(bag.close, bag.end) == "</r:Bag>"
    assert texts_of(document, SUBJECT) == ("sea é𝄞", "a&b", "")
    assert document.text_of(document.root.end, len(document.raw)) == ""
    assert document.text_of(document.root.start, document.inside(document.root)).startswith("<x:xmpmeta x")


def test_a_property_in_an_attribute_has_a_place() -> None:
    document = parse_xmp(TEXT.encode(), "a sidecar")
    found = {one.name: one for one in properties(document)}
    date = found[DATE]
    assert date.attribute is not None
    assert date.value.texts == ('20>26"',)
    assert document.text_of(*document.place_of(date.node, date.attribute)) == """ d:date = '20>26"'"""
    assert document.is_one_tag(date.node)
    assert found[f"{DC}}}title"].value.texts == ()


def test_prefixes_are_those_in_scope() -> None:
    shadow = b"<a:a xmlns:a='u' xmlns:b='u' xmlns='w'><b:b xmlns:a='v'><c xmlns=''/></b:b></a:a>"
    root = parse_xmp(shadow, "").root
    inner = root.children[0]
    assert (root.prefix_of("u"), root.prefix_of("w"), root.prefix_of("x")) == ("b", "", None)
    assert (inner.prefix_of("u"), inner.prefix_of("v")) == ("b", "a")
    assert inner.children[0].prefix_of("w") is None


FORMS = {
    "a bag": "<d:subject><r:Bag><r:li>sea</r:li><r:li>sky</r:li></r:Bag></d:subject>",
    "numbered items": "<d:subject><r:Seq><r:_1>sea</r:_1><r:_2>sky</r:_2></r:Seq></d:subject>",
    "values with qualifiers": "<d:subject><r:Bag><r:li r:parseType='Resource'><r:value>sea</r:value>"
    "<d:x>1</d:x></r:li><r:li><r:Description r:value='sky' d:x='2'/></r:li></r:Bag></d:subject>",
    "two properties": "<d:subject>sea</d:subject><d:subject><r:Alt>"
    "<r:li xml:lang='de'>sky</r:li></r:Alt></d:subject>",
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("node", ["r:Description", "d:Photo"])
def test_every_form_of_writing_gives_the_same_texts(form: str, node: str) -> None:
    packet = f"<r:RDF xmlns:r='{RDF}'><{node} xmlns:d='{DC}'>{FORMS[form]}</{node}></r:RDF>"
    assert texts_of(parse_xmp(packet.encode(), ""), SUBJECT) == ("sea", "sky")


def test_structs_are_equal_in_all_three_forms() -> None:
    forms = (
        "<d:x r:parseType='Resource'><d:a>1</d:a><d:b>2</d:b></d:x>",
        "<d:x><r:Description d:b='2'><d:a>1</d:a></r:Description></d:x>",
        "<d:x d:a='1' d:b='2'/>",
    )
    packet = f"<r:RDF xmlns:r='{RDF}'><r:Description xmlns:d='{DC}'>{''.join(forms)}</r:Description></r:RDF>"
    values = [one.value for one in properties(parse_xmp(packet.encode(), ""))]
    assert len(values) == 3
    assert len(set(values)) == 1
    assert values[0].kind == "struct"


def test_zeros_behind_a_packet_are_padding() -> None:
    assert rdf_of(parse_xmp(f"<r:RDF xmlns:r='{RDF}'/>".encode() + bytes(9), "")) is not None
    assert rdf_of(parse_xmp(f"<r:RDF xmlns:r='{RDF}'/>".encode("utf-16") + bytes(8), "")) is not None


BAD = {
    "nothing": b"",
    "no XML": b"\x89PNG",
    "open elements": b"<a><b></b>",
    "a DOCTYPE": b"<!DOCTYPE a [<!ENTITY b 'c'>]><a>&b;</a>",
    "another encoding": b"<?xml version='1.0' encoding='latin-1'?><a>\xe9</a>",
    "half a character": b"\xff\xfe<\0a\0/\0>\0\0",
    "half a surrogate pair": "<a>\ud800</a>".encode("utf-16-le", "surrogatepass"),
    "bytes that are no UTF-8": b"<a>\xff</a>",
    "too many bytes": b"<a>" + b" " * xmp.MOST_BYTES + b"</a>",
    "too many elements": b"<a>" + b"<b/>" * xmp.MOST_ELEMENTS + b"</a>",
    "too many attributes": b"<a>" + b"<b c='' d='' e=''/>" * (xmp.MOST_ATTRIBUTES // 3 + 1) + b"</a>",
    "too many namespaces": b"<a>"
    + b"<b xmlns:c='d' xmlns:d='d'/>" * (xmp.MOST_ATTRIBUTES // 2 + 1)
    + b"</a>",
    "too many names": b"<a>" + b"".join(b"<a%d/>" % n for n in range(xmp.MOST_NAMES)) + b"</a>",
    "too many levels": b"<a>" * 65 + b"</a>" * 65,
    "a long namespace": b"<a xmlns='" + b"u" * 501 + b"'/>",
    "a long name": b"<" + b"a" * 1501 + b"/>",
}


@pytest.mark.parametrize("what", BAD)
def test_a_bad_packet_is_refused_in_one_line(what: str) -> None:
    with pytest.raises(MetadataError) as caught:
        parse_xmp(BAD[what], "a\nsidecar")
    message = str(caught.value)
    assert message.startswith("a\\nsidecar must ")
    assert "\n" not in message
    assert len(message) < 200


def largest(piece: bytes) -> bytes:
    return b"<a>" + piece * ((xmp.MOST_BYTES - 7) // len(piece)) + b"</a>"


HEAVY = {
    "text": largest(b"sea "),
    "wide text": largest("é𝄞".encode()),
    "references": largest(b"&#65;"),
    "elements": b"<a>" + (b"<b c=''>" + b"x" * 70 + b"</b>") * (xmp.MOST_ELEMENTS - 1) + b"</a>",
    "comments": largest(b"<!---->"),
    "one attribute": b"<a b='" + b"c" * (xmp.MOST_BYTES - 9) + b"'/>",
}


@pytest.mark.parametrize("what", HEAVY)
def test_parsing_takes_a_small_multiple_of_the_file(what: str) -> None:
    tracemalloc.start()
    parse_xmp(HEAVY[what], "a sidecar")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 10 * xmp.MOST_BYTES, peak / xmp.MOST_BYTES
