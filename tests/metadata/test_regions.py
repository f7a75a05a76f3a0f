"""Regions in all eight orientations, against pixels that Pillow turns."""

import re
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageDraw

from tagmix.metadata.rdf import properties
from tagmix.metadata.write import Addition, RegionTag, apply_change, plan_addition
from tagmix.metadata.xmp import RDF, parse_xmp

# A shape without any symmetry, in an upright picture.
WIDTH, HEIGHT = 400, 300
CORNERS = ((40, 30), (320, 30), (320, 120), (120, 150), (80, 270), (40, 270))
BOX = (40, 30, 280, 240)
# How cameras turn the upright picture before they store it: the inverse of what viewers do.
STORED = {
    1: None,
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_90,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_270,
}


def upright_mask() -> Image.Image:
    mask = Image.new("L", (WIDTH, HEIGHT))
    ImageDraw.Draw(mask).polygon(CORNERS, fill=255)
    return mask


def stored(image: Image.Image, orientation: int) -> Image.Image:
    turn = STORED[orientation]
    return image if turn is None else image.transpose(turn)


def photo_of(folder: Path, orientation: int, source: str) -> Path:
    """Return a photo whose stored pixels need turning, as EXIF or the sidecar says."""
    path = folder / "photo.png"
    exif = Image.Exif()
    if source == "photo":
        exif[0x0112] = orientation
    stored(upright_mask(), orientation).save(path, exif=exif)
    if source == "sidecar":
        path.with_name("photo.png.xmp").write_text(
            f"<r:RDF xmlns:r='{RDF}'><r:Description r:about='' xmlns:tiff='http://ns.adobe.com/tiff/1.0/'"
            f" tiff:Orientation='{orientation}'/></r:RDF>"
        )
    return path


def written(path: Path, regions: str) -> str:
    ring = tuple((x / WIDTH, y / HEIGHT) for x, y in CORNERS)
    box = (BOX[0] / WIDTH, BOX[1] / HEIGHT, BOX[2] / WIDTH, BOX[3] / HEIGHT)
    region = RegionTag("boat", ((ring,),), box, 0.5)
    apply_change(plan_addition(path, Addition((("boat", 0.5),), (region,), "run", "model"), regions=regions))
    name = {"iptc": "ImageRegion", "mwg": "Regions"}[regions]
    document = parse_xmp(path.with_name("photo.png.xmp").read_bytes(), "")
    (found,) = (one for one in properties(document) if one.name.endswith(f"}}{name}"))
    assert found.element is not None
    return document.text_of(found.element.start, found.element.end)


def numbers(text: str, name: str) -> list[float]:
    return [float(found) for found in re.findall(rf'{name}(?:="|>)([\d.]+)', text)]


@pytest.mark.parametrize("source", ["photo", "sidecar"])
@pytest.mark.parametrize("orientation", range(1, 9))
def test_polygons_cover_the_stored_pixels(orientation: int, source: str, tmp_path: Path) -> None:
    path = photo_of(tmp_path, orientation, source)
    text = written(path, "iptc")
    expected = stored(upright_mask(), orientation)
    width, height = expected.size
    corners = zip(numbers(text, "rbX"), numbers(text, "rbY"), strict=True)
    drawn = Image.new("L", expected.size)
    ImageDraw.Draw(drawn).polygon([(x * width, y * height) for x, y in corners], fill=255)
    inside, wanted = np.asarray(drawn) > 0, np.asarray(expected) > 0
    # Pillow fills pixels on the line as well, and a mirrored line lies on the next pixel
    assert (inside & wanted).sum() > 0.9 * (inside | wanted).sum()
    mirrored = np.asarray(expected.transpose(Image.Transpose.FLIP_LEFT_RIGHT)) > 0
    assert (inside & mirrored).sum() < 0.8 * (inside | mirrored).sum()


@pytest.mark.parametrize("source", ["photo", "sidecar"])
@pytest.mark.parametrize("orientation", range(1, 9))
def test_boxes_cover_the_stored_pixels(orientation: int, source: str, tmp_path: Path) -> None:
    path = photo_of(tmp_path, orientation, source)
    text = written(path, "mwg")
    expected = stored(upright_mask(), orientation)
    width, height = expected.size
    assert numbers(text, "stDim:w") == [width]
    assert numbers(text, "stDim:h") == [height]
    (x,), (y,), (w,), (h,) = (numbers(text, f"stArea:{key}") for key in "xywh")
    left, top, right, bottom = expected.getbbox() or (0, 0, 0, 0)
    found = ((x - w / 2) * width, (y - h / 2) * height, (x + w / 2) * width, (y + h / 2) * height)
    assert found == pytest.approx((left, top, right, bottom), abs=1.01)


def test_holes_are_left_out_and_every_polygon_is_a_region(tmp_path: Path) -> None:
    path = photo_of(tmp_path, 1, "photo")
    square = ((0.0, 0.0), (1.0, 0.0), (1.0, 1.0), (0.0, 1.0))
    hole = ((0.4, 0.4), (0.6, 0.4), (0.6, 0.6))
    region = RegionTag("A & B", ((square, hole), (hole,)), (0, 0, 1, 1), 0.5)
    apply_change(plan_addition(path, Addition((("A & B", 0.5),), (region,), "run", "model")))
    text = path.with_name("photo.png.xmp").read_text("utf-8")
    assert text.count("rbX=") == 7
    assert text.count("<Iptc4xmpExt:RegionBoundary") == 2
