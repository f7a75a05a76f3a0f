"""Decode picture files into upright RGB arrays; every error of an untrusted file becomes one line.

Pillow does the decoding, from a short list of formats; of a raw file of a camera it decodes the JPEG preview.
The size is read from the header and checked before
a pixel is decoded. A colour profile (ICC) is ignored: the features downstream compare pictures with each
other, most pictures are sRGB, and a profile is one more untrusted input.
"""

import contextlib
import io
import math
import os
import stat
import threading
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from PIL import Image, UnidentifiedImageError

from tagmix.errors import ImageError
from tagmix.images.orientation import UPRIGHT, combined, inverse, is_orientation, is_sideways, upright
from tagmix.images.raw import SUFFIXES as RAW_SUFFIXES
from tagmix.images.raw import Preview, find_preview

Source: TypeAlias = str | os.PathLike[str] | bytes
RGB: TypeAlias = NDArray[np.uint8]

FORMATS = ("JPEG", "PNG", "WEBP", "TIFF", "GIF", "BMP")
PICTURE_SUFFIXES = frozenset(
    {".jpg", ".jpeg", ".png", ".webp", ".tif", ".tiff", ".gif", ".bmp", ".heic", ".heif"}
)
SUFFIXES = PICTURE_SUFFIXES | RAW_SUFFIXES
MAX_PIXELS = 100_000_000
HEIF_BRANDS = frozenset({b"heic", b"heix", b"heim", b"heis", b"hevc", b"hevx", b"mif1", b"msf1"})
ORIENTATION = 0x0112


class _Opened(NamedTuple):
    """A picture before it is decoded, its orientation, and how far decoding itself will have turned it."""

    image: Image.Image
    orientation: int
    turned: int


def decode(
    source: Source,
    *,
    max_pixels: int = MAX_PIXELS,
    max_side: int | None = None,
    orientation: int | None = None,
) -> RGB:
    """Return the picture as height × width × 3 bytes of RGB, upright; :class:`ImageError` if it cannot be.

    Transparent pixels are laid on white, because that is what pages and viewers show behind them; dropping
    the alpha channel would bring back hidden colours. Sixteen bits per channel are cut to their upper eight.
    Of an animation the first frame is used. With ``max_side`` the picture is shrunk to
    that longer side (never enlarged), and JPEG files are decoded small in the first place. ``orientation``
    (1 to 8, as in EXIF) is used instead of the file's own.

    >>> buffer = io.BytesIO()
    >>> Image.new("RGB", (2, 1), (250, 20, 0)).save(buffer, "PNG")
    >>> decode(buffer.getvalue()).tolist()
    [[[250, 20, 0], [250, 20, 0]]]
    """
    if max_side is not None and max_side < 1:
        raise ImageError(
            f"max_side must be at least 1 pixel, got {max_side}: leave it out for the full size."
        )
    with _opened(source, max_pixels) as found:
        image = found.image
        if max_side is not None and max(image.size) > max_side:
            scale = max_side / max(image.size)
            image.draft(None, (math.ceil(image.width * scale), math.ceil(image.height * scale)))
        image.load()
        turned = upright(_rgb(image), _still_to_turn(found, orientation))
        if max_side is not None and max(turned.size) > max_side:
            turned = _shrunk(turned, max_side)
        return np.array(turned, dtype=np.uint8)


def decode_labels(source: Source, *, max_pixels: int = MAX_PIXELS) -> NDArray[np.uint16]:
    """Return a label mask as height × width numbers: of a palette picture the indices, not the colours."""
    with _opened(source, max_pixels) as (image, _, _):
        image.load()
        if not (image.mode in ("1", "L", "P") or image.mode.startswith("I;16")):
            raise ImageError(
                f"{_shown(source)} must be a label mask with one number per pixel (8 or 16 bits, or a "
                f"palette), got colour mode {image.mode}: save it as greyscale or indexed PNG."
            )
        return np.asarray(image).astype(np.uint16)


def size_of(source: Source, *, orientation: int | None = None) -> tuple[int, int]:
    """Return height and width of the upright picture from its header, without decoding it."""
    with _opened(source, None) as found:
        width, height = found.image.size
        # Pillow gives the size of a TIFF and a HEIC file as it is after turning
        sideways = is_sideways(_still_to_turn(found, orientation))
        return (width, height) if sideways else (height, width)


def orientation_of(source: Source, given: int | None = None) -> int:
    """Return how the stored pixels of a picture are turned: by the file's own word, or as ``given``.

    The pixels of a HEIC file are those that its decoder gives, which are turned by the file's structure; a
    given orientation that repeats its EXIF turns them no further.
    """
    with _opened(source, None) as found:
        return _still_to_turn(found, given) if found.image.format == "HEIF" else given or found.orientation


def heif_xmp(stream: IO[bytes], limit: int) -> bytes:
    """Return the XMP packet of a HEIC file, the first bytes; none if it has none, or is damaged."""
    try:
        with _QUIET, Image.open(stream, formats=_formats(stream.read(16), "")) as image:
            packet = image.info.get("xmp", b"")
    except Exception:  # what is wrong with the picture is reported where it is decoded
        return b""
    return packet[:limit] if isinstance(packet, bytes) else b""


@contextlib.contextmanager
def _opened(source: Source, max_pixels: int | None) -> Iterator[_Opened]:
    """Open a picture with its size checked; turn every error meanwhile into one ImageError."""
    name = _shown(source)
    try:
        with contextlib.ExitStack() as stack:
            stack.enter_context(_QUIET)
            stream = stack.enter_context(_stream(source, name))
            preview = _preview(stream, name)
            if preview is not None:
                stream = io.BytesIO(preview.content)
            stream.seek(0)
            formats = _formats(stream.read(16), name)
            stream.seek(0)
            image = stack.enter_context(Image.open(stream, formats=formats))
            _check_size(image.size, max_pixels, name)
            own, turned = _orientations(image)
            yield _Opened(image, (preview and preview.orientation) or own, turned)
    except ImageError:
        raise
    except UnidentifiedImageError as error:
        known = ", ".join(FORMATS)
        raise ImageError(
            f"{name} must be one of {known}, HEIC or a raw file of a camera, got something else: convert it."
        ) from error
    except Image.DecompressionBombError as error:
        # Pillow's own limit, which stands above ours and which we do not move for others
        raise ImageError(
            f"{name} must have at most {2 * (Image.MAX_IMAGE_PIXELS or 0):,} pixels, got a header that "
            "promises far more: shrink it first if you trust it."
        ) from error
    except MemoryError as error:
        raise ImageError(f"{name} must fit into memory, and does not: pass a smaller copy.") from error
    except Exception as error:  # codecs raise almost any exception on damaged files
        reason = " ".join(str(error).split())[:120] or type(error).__name__
        raise ImageError(
            f"{name} must be a whole, undamaged picture, got: {reason}; save it again."
        ) from error


def _stream(source: Source, name: str) -> IO[bytes]:
    if isinstance(source, bytes):
        return io.BytesIO(source)
    try:
        path = Path(source)
        plain = stat.S_ISREG(path.stat().st_mode)  # a pipe would wait for ever, a device never end
        if plain:
            return path.open("rb")
    except FileNotFoundError as error:
        raise ImageError(f"{name} must be a picture, got nothing under that name: check the path.") from error
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "not a possible name"
        raise ImageError(f"{name} must be readable, got: {reason}; check name and permissions.") from error
    raise ImageError(f"{name} must be a plain file, got a folder, pipe or device: name the picture.")


def _preview(stream: IO[bytes], name: str) -> Preview | None:
    try:
        return find_preview(stream)
    except ImageError as error:
        raise ImageError(f"{name} {error}") from error


def _formats(head: bytes, name: str) -> tuple[str, ...]:
    """Return the formats to try; the package for HEIC is imported only for such a file."""
    if not head:
        raise ImageError(f"{name} must be a picture, got an empty file: copy it again.")
    if head[4:8] != b"ftyp" or head[8:12] not in HEIF_BRANDS:
        return FORMATS
    try:
        from pillow_heif import register_heif_opener  # noqa: PLC0415 (other pictures need none of its memory)
    except ImportError as error:
        raise ImageError(
            f"{name} is HEIC, which needs the package pillow-heif: install it again, or convert to JPEG."
        ) from error
    register_heif_opener()
    return ("HEIF",)


def _check_size(size: tuple[int, int], max_pixels: int | None, name: str) -> None:
    width, height = size
    if width < 1 or height < 1:
        raise ImageError(f"{name} must have at least one pixel, got {width} × {height}: save it again.")
    if max_pixels is not None and width * height > max_pixels:
        raise ImageError(
            f"{name} must have at most {max_pixels:,} pixels, got {width:,} × {height:,}: shrink it, or "
            "raise max_pixels if you trust it."
        )


def _rgb(image: Image.Image) -> Image.Image:
    if image.mode.startswith("I;16"):
        return _from_16_bits(image)
    if image.has_transparency_data:
        paper = Image.new("RGBA", image.size, "white")
        return Image.alpha_composite(paper, image.convert("RGBA")).convert("RGB")
    if image.mode in ("I", "F"):  # depth maps and measurements, whose white point is unknown
        raise ValueError(f"32 bits per pixel in mode {image.mode}, where pictures have 8 or 16")
    return image if image.mode == "RGB" else image.convert("RGB")


def _from_16_bits(image: Image.Image) -> Image.Image:
    # Upper eight bits, as Pillow does for 16-bit colour, where its own grey conversion would clip at 255
    values: NDArray[Any] = np.asarray(image)
    grey = (values >> 8).astype(np.uint8)
    clear = image.info.get("transparency")
    if isinstance(clear, int):
        grey[values == clear] = 255
    return Image.fromarray(grey).convert("RGB")


def _orientations(image: Image.Image) -> tuple[int, int]:
    """Return the file's own orientation, and the one that Pillow turns by when it decodes."""
    value: Any
    if image.format == "HEIF":
        value = image.info.get("original_orientation")
        own = value if is_orientation(value) else UPRIGHT
        return own, own
    try:
        value = image.getexif().get(ORIENTATION, UPRIGHT)
    except Exception:  # pixels can be sound where the EXIF block is damaged
        return UPRIGHT, UPRIGHT
    own = value if is_orientation(value) else UPRIGHT
    return own, own if image.format == "TIFF" else UPRIGHT


def _still_to_turn(found: _Opened, orientation: int | None) -> int:
    return combined(inverse(found.turned), found.orientation if orientation is None else orientation)


def _shrunk(image: Image.Image, max_side: int) -> Image.Image:
    scale = max_side / max(image.size)
    width, height = (max(1, round(side * scale)) for side in image.size)
    return image.resize((width, height), Image.Resampling.LANCZOS, reducing_gap=2.0)


def _shown(source: Source) -> str:
    """Return the name for messages, quoted so that no name can break them into lines."""
    return "the given bytes" if isinstance(source, bytes) else repr(os.fspath(source))


class _Quiet:
    """Silence warnings while any thread decodes: damaged metadata is harmless, a damaged picture an error.

    ``warnings.catch_warnings`` restores what it found, which goes wrong when two threads overlap; so the
    first thread in silences, and the last one out restores.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._inside = 0
        self._saved: warnings.catch_warnings[None] | None = None

    def __enter__(self) -> None:
        with self._lock:
            self._inside += 1
            if self._inside == 1:
                self._saved = warnings.catch_warnings()
                self._saved.__enter__()
                warnings.simplefilter("ignore")

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._inside -= 1
            if self._inside == 0 and self._saved is not None:
                self._saved.__exit__(None, None, None)


_QUIET = _Quiet()
