"""Raw files in the layouts of cameras, made by us from their descriptions: previews, no sensor."""

import io
import struct

from PIL import Image

LONG, SHORT, UNDEFINED = 4, 3, 7


def jpeg(width, height, colour=(200, 40, 10)):
    buffer = io.BytesIO()
    Image.new("RGB", (width, height), colour).save(buffer, "JPEG")
    return buffer.getvalue()


class TiffFile:
    """Parts of a TIFF file that point to each other: add data first, then the directories over it."""

    def __init__(self, order="<", magic=42, start=8):
        self.order, self.body = order, bytearray(start)
        struct.pack_into(f"{order}2sH", self.body, 0, {"<": b"II", ">": b"MM"}[order], magic)

    def add(self, data):
        place = len(self.body)
        self.body += data + b"\0" * (len(data) % 2)
        return place

    def directory(self, entries, following=0):
        body = struct.pack(self.order + "H", len(entries))
        for tag, (kind, values) in sorted(entries.items()):
            if kind == UNDEFINED:
                place, length = values
                body += struct.pack(self.order + "HHII", tag, kind, length, place)
                continue
            packed = struct.pack(f"{self.order}{len(values)}{'H' if kind == SHORT else 'I'}", *values)
            if len(packed) > 4:
                packed = struct.pack(self.order + "I", self.add(packed))
            body += struct.pack(self.order + "HHI", tag, kind, len(values)) + packed.ljust(4, b"\0")
        return self.add(body + struct.pack(self.order + "I", following))

    def done(self, first):
        struct.pack_into(self.order + "I", self.body, 4, first)
        return bytes(self.body)


def number(value, kind=LONG):
    return kind, (value,)


def nef(large=(48, 32), small=(12, 8), orientation=6, order=">"):
    """Nikon: a small picture first, the preview and the sensor in directories below it."""
    file = TiffFile(order)
    big = large if isinstance(large, bytes) else jpeg(*large)
    little = jpeg(*small)
    preview = file.directory({0x103: number(6, SHORT), 0x201: number(file.add(big)), 0x202: number(len(big))})
    sensor = file.directory({0x103: number(34713, SHORT), 0x106: number(32803, SHORT)})
    main = {
        0x103: number(6, SHORT),
        0x111: number(file.add(little)),
        0x117: number(len(little)),
        0x14A: (LONG, (preview, sensor)),
    }
    if orientation:
        main[0x112] = number(orientation, SHORT)
    return file.done(file.directory(main))


def cr2(orientation=8):
    """Canon: the preview first, a lossless JPEG of the sensor, which is larger, in the last directory."""
    file = TiffFile("<", start=16)
    file.body[8:10] = b"CR"
    big = jpeg(48, 32)
    lossless = jpeg(480, 320).replace(b"\xff\xc0", b"\xff\xc3", 1)
    sensor = file.directory(
        {0x103: number(6, SHORT), 0x111: number(file.add(lossless)), 0x117: number(len(lossless))}
    )
    main = {0x103: number(6, SHORT), 0x111: number(file.add(big)), 0x117: number(len(big))}
    main[0x112] = number(orientation, SHORT)
    return file.done(file.directory(main, sensor))


def dng():
    """Adobe: the preview below the sensor's directory, as a strip."""
    file = TiffFile()
    big = jpeg(48, 32)
    preview = file.directory(
        {0x103: number(7, SHORT), 0x106: number(6, SHORT), 0x111: number(file.add(big))}
        | {0x117: number(len(big))}
    )
    return file.done(file.directory({0xC612: number(1), 0x112: number(3, SHORT), 0x14A: number(preview)}))


def rw2():
    """Panasonic: a number of its own in place of 42, and the JPEG as the value of an entry."""
    file = TiffFile(magic=0x55)
    big = jpeg(48, 32)
    return file.done(file.directory({0x2E: (UNDEFINED, (file.add(big), len(big))), 0x112: number(6, SHORT)}))


def orf():
    """Olympus: the maker's note leads to the preview; its places count from the note."""
    note = bytearray(b"OLYMPUS\0II\3\0")
    big = jpeg(48, 32)
    settings = 12 + 2 + 12 + 4
    preview = settings + 2 + 24 + 4
    note += struct.pack("<HHHII", 1, 0x2020, LONG, 1, settings) + bytes(4)
    note += struct.pack("<HHHIIHHII", 2, 0x101, LONG, 1, preview, 0x102, LONG, 1, len(big)) + bytes(4)
    note += big
    file = TiffFile(magic=0x4F52)
    exif = file.directory({0x927C: (UNDEFINED, (file.add(bytes(note)), len(note)))})
    return file.done(file.directory({0x8769: number(exif), 0x112: number(6, SHORT)}))


def raf():
    """Fujifilm: a header with place and length of a whole JPEG, which has the orientation."""
    exif = Image.Exif()
    exif[0x112] = 6
    buffer = io.BytesIO()
    Image.new("RGB", (48, 32), (200, 40, 10)).save(buffer, "JPEG", exif=exif)
    big = buffer.getvalue()
    return (b"FUJIFILMCCD-RAW ".ljust(84, b"0") + struct.pack(">II", 128, len(big))).ljust(128, b"\0") + big


def box(kind, content):
    return struct.pack(">I4s", len(content) + 8, kind) + content


def cr3(orientation=6):
    """Canon: boxes; a middle-sized preview in one of them, the largest as the only sample of a track."""
    canon = bytes.fromhex("85c0b687820f11e08111f4ce462b6a48")
    preview = bytes.fromhex("eaf42b5e1c984b88b9fbb7dc406e4d16")
    file = TiffFile()
    tiff = file.done(file.directory({0x112: number(orientation, SHORT)}))
    middle, big = jpeg(24, 16), jpeg(48, 32)

    def moov(place):
        sizes = box(b"stsz", struct.pack(">III", 0, len(big), 1))
        places = box(b"co64", struct.pack(">IIQ", 0, 1, place))
        track = box(b"trak", box(b"mdia", box(b"minf", box(b"stbl", sizes + places))))
        return box(b"moov", box(b"uuid", canon + box(b"CMT1", tiff)) + track)

    head = box(b"ftyp", b"crx \0\0\0\1crx isom")
    shown = box(b"uuid", preview + bytes(8) + box(b"PRVW", bytes(16) + middle))
    place = len(head) + len(moov(0)) + len(shown) + 8
    return head + moov(place) + shown + box(b"mdat", big)


RAWS = {"nef": nef(), "cr2": cr2(), "dng": dng(), "rw2": rw2(), "orf": orf(), "raf": raf(), "cr3": cr3()}
TURNED = {"nef": 6, "cr2": 8, "dng": 3, "rw2": 6, "orf": 6, "raf": 6, "cr3": 6}
