"""Random sidecars in the ways that programs write them, and foreign edits of them."""

import random
from xml.etree import ElementTree
from xml.sax.saxutils import escape

RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
NAMESPACES = {
    "rdf": RDF,
    "x": "adobe:ns:meta/",
    "dc": "http://purl.org/dc/elements/1.1/",
    "lr": "http://ns.adobe.com/lightroom/1.0/",
    "digiKam": "http://www.digikam.org/ns/1.0/",
    "xmp": "http://ns.adobe.com/xap/1.0/",
    "Iptc4xmpExt": "http://iptc.org/std/Iptc4xmpExt/2008-02-29/",
    "mwg-rs": "http://www.metadataworkinggroup.com/schemas/regions/",
    "stArea": "http://ns.adobe.com/xmp/sType/Area#",
    "stDim": "http://ns.adobe.com/xap/1.0/sType/Dimensions#",
    "ex": "http://example.org/private/",
}
KEYWORDS = {"dc:subject": "", "lr:hierarchicalSubject": "|", "digiKam:TagsList": "/"}
WORDS = [
    "sea",
    "sky",
    "Ängste",
    "夜",
    "𝄞 clef",
    "A & B",
    "a<b",
    'say "hi"',
    "o'clock",
    "AC/DC",
    "Berlin",
    "Paris",
    "x" * 40,
]
TAGS = [*WORDS, "Places|Germany|Berlin", "Places|Paris", "Music|AC/DC", "Things|sea"]
FORMS = (
    "Bag",
    "Bag",
    "Bag",
    "Seq",
    "Alt",
    "numbered",
    "empty array",
    "empty",
    "text",
    "attribute",
    "empty attribute",
)


def keyword(field: str, tag: str) -> str:
    """Return how programs write a tag in a field."""
    separator = KEYWORDS[field]
    levels = tag.split("|")
    if not separator:
        return levels[-1]
    return separator.join(level.replace("/", "|") if separator == "/" else level for level in levels)


class Maker:
    """One random sidecar: ``raw``, and ``keywords`` per field."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.keywords: dict[str, list[str]] = {}
        self.spelling = {p: (p if rng.random() < 0.7 else f"{p[:1]}{n}") for n, p in enumerate(NAMESPACES)}
        self.newline = rng.choice(["\n", "\n", "\r\n", ""])
        self.quote = rng.choice("\"'")
        self.encoding = rng.choice(["utf-8", "utf-8", "utf-8", "utf-8-sig", "utf-16-le", "utf-16-be"])
        text = self._packet()
        mark = {"utf-16-le": b"\xff\xfe", "utf-16-be": b"\xfe\xff"}.get(self.encoding, b"")
        self.raw = mark + text.encode(self.encoding)

    def name(self, name: str) -> str:
        prefix, _, local = name.partition(":")
        return f"{self.spelling[prefix]}:{local}"

    def attribute(self, name: str, value: str) -> str:
        return f" {self.name(name)}={self.quote}{self._text(value)}{self.quote}"

    def _text(self, text: str) -> str:
        written = escape(text, {'"': "&quot;", "'": "&apos;"})
        if self.rng.random() < 0.1 and "&" not in written:
            written = written.replace("s", "&#x73;").replace("a", "&#97;", 1)
        return written

    def _packet(self) -> str:
        rng, line = self.rng, self.newline
        nodes = [self._node(n) for n in range(rng.randint(0, 3))]
        fields = [field for field in KEYWORDS if rng.random() < 0.6]
        for field in fields:
            at = rng.randrange(len(nodes)) if nodes else 0
            nodes = nodes or [["", ""]]
            attributes, children = self._keywords(field)
            nodes[at] = [nodes[at][0] + attributes, nodes[at][1] + children]
        body = "".join(self._description(*node) for node in nodes)
        declared = "".join(
            f"{line or ' '} xmlns:{self.spelling[prefix]}={self.quote}{uri}{self.quote}"
            for prefix, uri in NAMESPACES.items()
            if prefix != "x"
        )
        rdf = f"<{self.name('rdf:RDF')}{declared}"
        rdf += "/>" if not body and rng.random() < 0.5 else f">{body}{line} </{self.name('rdf:RDF')}>"
        if rng.random() < 0.8:
            x = self.spelling["x"]
            rdf = f"<{x}:xmpmeta xmlns:{x}='adobe:ns:meta/'>{line} {rdf}{line}</{x}:xmpmeta>"
        if rng.random() < 0.7:
            rdf = f"<?xpacket begin='\ufeff' id='W5M0MpCehiHzreSzNTczkc9d'?>{line}{rdf}"
            rdf += f"{line}{' ' * rng.choice([0, 200])}<?xpacket end='w'?>{line}"
        if rng.random() < 0.4:
            encoding = "UTF-16" if "16" in self.encoding else "UTF-8"
            rdf = f"<?xml version='1.0' encoding='{encoding}'?>{line}{rdf}"
        return rdf

    def _node(self, number: int) -> list[str]:
        rng = self.rng
        attributes, children = "", ""
        if number == 0:
            attributes += self.attribute("xmp:Rating", str(rng.randint(0, 5))) if rng.random() < 0.5 else ""
            children += self._faces() if rng.random() < 0.3 else ""
            children += self._image_region() if rng.random() < 0.3 else ""
        for n in range(rng.randint(0, 3)):
            private = f"ex:p{number}{n}"
            value = self._text(rng.choice(WORDS))
            private_name = self.name(private)
            children += rng.choice(["", "<!-- a <note> -->", "<?ex keep?>"]) + self._space(3)
            children += f"<{private_name}>{value}</{private_name}>"
            if rng.random() < 0.5:
                attributes += self.attribute(f"{private}a", rng.choice(WORDS))
        if number == 0 and rng.random() < 0.3:
            title = "<dc:title><rdf:Alt><rdf:li xml:lang='x-default'>T</rdf:li></rdf:Alt></dc:title>"
            children += self._spelled(title)
        return [attributes, children]

    def _space(self, depth: int) -> str:
        return f"{self.newline}{' ' * depth}" if self.newline else ""

    def _description(self, attributes: str, children: str) -> str:
        name = self.name("rdf:Description")
        about = self.attribute("rdf:about", "")
        if not children and self.rng.random() < 0.7:
            return f"{self._space(2)}<{name}{about}{attributes}/>"
        return f"{self._space(2)}<{name}{about}{attributes}>{children}{self._space(2)}</{name}>"

    def _keywords(self, field: str) -> tuple[str, str]:
        rng = self.rng
        form = rng.choice(FORMS)
        tags = rng.sample(TAGS, rng.randint(1, 4))
        if form in ("text", "attribute"):
            tags = tags[:1]
        if form.startswith("empty"):
            tags = []
        values = [keyword(field, tag) for tag in tags]
        self.keywords[field] = values
        if form.endswith("attribute"):
            return self.attribute(field, "".join(values)), ""
        return "", self._space(3) + self._field(self.name(field), form, values)

    def _field(self, name: str, form: str, values: list[str]) -> str:
        rng = self.rng
        if form == "text":
            return f"<{name}>{self._text(values[0])}</{name}>"
        if form == "empty":
            return rng.choice([f"<{name}/>", f"<{name}></{name}>", f"<{name} >{self._space(3)}</{name} >"])
        array = self.name(f"rdf:{form}" if form in ("Bag", "Seq", "Alt") else "rdf:Bag")
        if form == "empty array":
            inner = rng.choice(
                [f"<{array}/>", f"<{array} />", f"<{array}></{array}>", f"<{array}>\n</{array}>"]
            )
            return f"<{name}>{inner}</{name}>"
        items = ""
        for n, value in enumerate(values, 1):
            li = self.name(f"rdf:_{n}" if form == "numbered" else "rdf:li")
            items += (
                rng.choice(["", "", "<!-- li -->"]) + self._space(5) + f"<{li}>{self._text(value)}</{li}>"
            )
        return f"<{name}>{self._space(4)}<{array}>{items}{self._space(4)}</{array}>{self._space(3)}</{name}>"

    def _faces(self) -> str:
        text = (
            "<mwg-rs:Regions rdf:parseType='Resource'><mwg-rs:AppliedToDimensions stDim:w='40' stDim:h='30' "
            "stDim:unit='pixel'/><mwg-rs:RegionList><rdf:Bag><rdf:li><rdf:Description mwg-rs:Name='Ann' "
            "mwg-rs:Type='Face'><mwg-rs:Area stArea:x='.5' stArea:y='.5' stArea:w='.1' stArea:h='.1' "
            "stArea:unit='normalized'/></rdf:Description></rdf:li></rdf:Bag></mwg-rs:RegionList></mwg-rs:Regions>"
        )
        return self._spelled(text)

    def _image_region(self) -> str:
        text = (
            "<Iptc4xmpExt:ImageRegion><rdf:Seq><rdf:li rdf:parseType='Resource'><Iptc4xmpExt:rId>persons"
            "</Iptc4xmpExt:rId></rdf:li></rdf:Seq></Iptc4xmpExt:ImageRegion>"
        )
        return self._spelled(text)

    def _spelled(self, text: str) -> str:
        for prefix in ("rdf", "dc", "mwg-rs", "stDim", "stArea", "Iptc4xmpExt"):
            for before in "< /":
                text = text.replace(f"{before}{prefix}:", f"{before}\1{prefix}\1:")
        for prefix, written in self.spelling.items():
            text = text.replace(f"\1{prefix}\1", written)
        return text


def qualified(name: str) -> str:
    """Return a name as ElementTree writes it."""
    prefix, _, local = name.partition(":")
    return f"{{{NAMESPACES[prefix]}}}{local}"


Facts = dict[str, list[str]]


def facts_of(raw: bytes) -> Facts:
    """Return what each property says, found with ElementTree: the items of arrays, or one text."""
    found: Facts = {}
    root = ElementTree.fromstring(raw)
    for rdf in root.iter(f"{{{RDF}}}RDF"):
        for node in rdf:
            for name, value in node.attrib.items():
                if not name.startswith(f"{{{RDF}}}"):
                    found.setdefault(name, []).extend([value] if value else [])
            for child in node:
                found.setdefault(child.tag, []).extend(_items(child))
    return found


def _items(element: ElementTree.Element) -> list[str]:
    if len(element) == 1 and element[0].tag in (f"{{{RDF}}}{kind}" for kind in ("Bag", "Seq", "Alt")):
        return [_canonical(item) for item in element[0]]
    text = _canonical(element)
    return [text] if text else []


def _canonical(element: ElementTree.Element) -> str:
    """Return a simple text as it is, and a structure as its sorted fields in one form."""
    fields = [(name, value) for name, value in element.attrib.items() if not name.startswith(f"{{{RDF}}}")]
    for child in element:
        if child.tag == f"{{{RDF}}}Description":
            return _canonical(child)
        is_item = child.tag.startswith(f"{{{RDF}}}")
        fields.append(("item" if is_item else child.tag, _canonical(child)))
    if not fields:
        text = element.text or ""
        return text if text.strip() else ""
    return repr(sorted(fields))


def rewritten(raw: bytes, rng: random.Random) -> bytes:
    """Return the packet as another program writes it: other prefixes and order, no comments."""
    root = ElementTree.fromstring(raw)
    for rdf in root.iter(f"{{{RDF}}}RDF"):
        nodes = list(rdf)
        rng.shuffle(nodes)
        rdf[:] = nodes
        for node in nodes:
            children = list(node)
            rng.shuffle(children)
            node[:] = children
    if rng.random() < 0.5:
        ElementTree.indent(root)
    return ElementTree.tostring(root, encoding=rng.choice(["utf-8", "utf-16"]))


def with_keyword(raw: bytes, tag: str, fields: list[str]) -> bytes:
    """Return the packet after a human added a tag to some fields in another program."""
    root = ElementTree.fromstring(raw)
    rdf = next(root.iter(f"{{{RDF}}}RDF"))
    for field in fields:
        name, value = qualified(field), keyword(field, tag)
        if value in facts_of(raw).get(name, []):
            continue
        arrays = [
            a for kind in ("Bag", "Seq", "Alt") for p in rdf.iter(name) for a in p.iter(f"{{{RDF}}}{kind}")
        ]
        if not arrays:
            arrays = [_new_array(rdf, name, _taken(rdf, name))]
        ElementTree.SubElement(arrays[0], f"{{{RDF}}}li").text = value
    return ElementTree.tostring(root)


def _taken(rdf: ElementTree.Element, name: str) -> list[str]:
    """Remove a property that is no array, and return its texts."""
    texts = []
    for node in list(rdf):
        texts.append(node.attrib.pop(name, ""))
        for child in [child for child in node if child.tag == name]:
            texts.append(child.text or "")
            node.remove(child)
    return [text for text in texts if text.strip()]


def _new_array(rdf: ElementTree.Element, name: str, texts: list[str]) -> ElementTree.Element:
    node = ElementTree.SubElement(rdf, f"{{{RDF}}}Description", {f"{{{RDF}}}about": ""})
    array = ElementTree.SubElement(ElementTree.SubElement(node, name), f"{{{RDF}}}Bag")
    for text in texts:
        ElementTree.SubElement(array, f"{{{RDF}}}li").text = text
    return array


def without_keyword(raw: bytes, tag: str) -> bytes:
    """Return the packet after a human removed a tag in another program."""
    root = ElementTree.fromstring(raw)
    for field in KEYWORDS:
        for one in root.iter(qualified(field)):
            for array in one:
                for item in [i for i in array if i.text == keyword(field, tag)]:
                    array.remove(item)
    return ElementTree.tostring(root)
