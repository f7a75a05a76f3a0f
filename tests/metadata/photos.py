"""Photos and sidecars with keywords, written by us in the form of other programs."""

import io
import struct
from pathlib import Path
from xml.sax.saxutils import escape

from PIL import Image, PngImagePlugin

SPACES = {
    "dc": "http://purl.org/dc/elements/1.1/",
    "lr": "http://ns.adobe.com/lightroom/1.0/",
    "digiKam": "http://www.digikam.org/ns/1.0/",
    "MicrosoftPhoto": "http://ns.microsoft.com/photo/1.0/",
    "mediapro": "http://ns.iview-multimedia.com/mediapro/1.0/",
    "acdsee": "http://ns.acdsee.com/iptc/1.0/",
    "tiff": "http://ns.adobe.com/tiff/1.0/",
}


def bag(*texts: str, kind: str = "Bag") -> str:
    items = "".join(f"<rdf:li>{escape(text)}</rdf:li>" for text in texts)
    return f"<rdf:{kind}>{items}</rdf:{kind}>"


def xmp(orientation: int | None = None, **fields: tuple[str, ...] | str) -> str:
    """Return a packet; a field is named as ``dc_subject``, with texts for a bag or one text."""
    spaces = "".join(f' xmlns:{prefix}="{space}"' for prefix, space in SPACES.items())
    body = ""
    for name, value in fields.items():
        tag = name.replace("_", ":", 1)
        body += f"<{tag}>{escape(value) if isinstance(value, str) else bag(*value)}</{tag}>"
    turned = "" if orientation is None else f' tiff:Orientation="{orientation}"'
    return (
        '<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF '
        'xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">'
        f"<rdf:Description{spaces}{turned}>{body}</rdf:Description></rdf:RDF></x:xmpmeta>"
    )


def dataset(record: int, number: int, value: bytes) -> bytes:
    return struct.pack(">BBBH", 0x1C, record, number, len(value)) + value


def resource(block: bytes) -> bytes:
    return b"8BIM" + struct.pack(">HBBI", 0x0404, 0, 0, len(block)) + block + b"\0" * (len(block) % 2)


def segment(marker: int, body: bytes) -> bytes:
    return bytes([0xFF, marker]) + struct.pack(">H", len(body) + 2) + body


def picture(form: str = "JPEG", size: tuple[int, int] = (12, 8), **options: object) -> bytes:
    buffer = io.BytesIO()
    Image.new("RGB", size, (200, 40, 10)).save(buffer, form, **options)
    return buffer.getvalue()


def holding(form: str, packet: str) -> bytes:
    """Return a picture file with an XMP packet inside."""
    raw = packet.encode()
    if form == "PNG":
        text = PngImagePlugin.PngInfo()
        text.add_itxt("XML:com.adobe.xmp", packet)
        return picture(form, pnginfo=text)
    if form == "TIFF":
        return picture(form, tiffinfo={700: raw})
    return picture(form, xmp=raw)


def exif(orientation: int) -> Image.Exif:
    made = Image.Exif()
    made[0x0112] = orientation
    return made


def photo(path: Path, content: bytes | None = None) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(picture() if content is None else content)
    return path
