"""The small TOML file that defines how an ONNX network reads pictures, and its checks."""

import math
import re
import tomllib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, NamedTuple

from tagmix.errors import NetworkError, printable
from tagmix.storage import read_limited

MAX_TOML_BYTES = 8 * 1024  # ours has 565; reading nested names takes the square of their length
MAX_SIDE, MAX_MULTIPLE = 2048, 128
MAX_OUTPUTS, MAX_NAME = 16, 200
MAX_SPECIAL = 64  # tokens before those of patches
# Bytes lie between 0 and 255; numbers far beyond that normalise nothing.
MAX_NUMBER = 1e6
_SHA256 = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True)
class NetworkSettings:
    """How a network reads a picture, and which of its outputs are used.

    ``size`` is the root of the input's pixels, sides in the picture's proportion and multiples of
    ``multiple``; or height and width of a network that takes one size only. A channel enters as
    (byte − ``mean``) / ``std``. Maps named in ``regions`` are averaged over regions, outputs named in
    ``picture`` describe the whole. ``root`` names the outputs whose vectors become signed roots of length 1,
    ``names`` the views of outputs that are not called like them. ``tokens`` describes outputs that are grids
    of tokens: ``cls`` special tokens, then one per square of ``patch`` pixels.
    """

    sha256: str
    input: str
    size: int | tuple[int, int]
    multiple: int = 32
    mean: tuple[float, ...] = (0.0,)
    std: tuple[float, ...] = (1.0,)
    layout: str = "NCHW"
    regions: tuple[str, ...] = ()
    picture: tuple[str, ...] = ()
    root: tuple[str, ...] = ()
    names: Mapping[str, str] = field(default_factory=dict)
    tokens: Mapping[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        _expect(isinstance(self.sha256, str) and bool(_SHA256.fullmatch(self.sha256)), self, "sha256",
                "64 digits of 0-9a-f")  # fmt: skip
        _expect(_is_name(self.input), self, "input", "the name of the network's input")
        sides = self.size if isinstance(self.size, tuple) and len(self.size) == 2 else (self.size,)
        _expect(all(_is_whole(side, MAX_SIDE) for side in sides), self, "size",
                f"a whole number up to {MAX_SIDE:,}, or two: height and width")  # fmt: skip
        _expect(_is_whole(self.multiple, MAX_MULTIPLE), self, "multiple",
                f"a whole number up to {MAX_MULTIPLE}")  # fmt: skip
        for name in ("mean", "std"):
            _expect(
                _are_numbers(getattr(self, name)), self, name, "one number or three, on the scale 0 … 255"
            )
        _expect(all(number > 0 for number in self.std), self, "std", "above 0")
        _expect(self.layout == "NCHW", self, "layout", '"NCHW", the only one that is read')
        self._check_outputs()
        self._check_tokens()

    def _check_outputs(self) -> None:
        for name in ("regions", "picture", "root"):
            own = getattr(self, name)
            names = isinstance(own, tuple) and len(own) <= MAX_OUTPUTS and all(map(_is_name, own))
            _expect(names, self, name, f"a list of at most {MAX_OUTPUTS} names of outputs")
            _expect(len(set(own)) == len(own), self, name, "names that differ")
        _expect(bool(self.outputs), self, "regions", "at least one output, here or in picture")
        _expect(set(self.root) <= set(self.outputs), self, "root", "outputs that regions or picture name")
        named = isinstance(self.names, dict) and all(map(_is_name, self.names.values()))
        _expect(
            named and set(self.names) <= set(self.outputs), self, "names", "a name for outputs named above"
        )

    def _check_tokens(self) -> None:
        known = self.tokens
        if not known:
            return
        _expect(isinstance(known, dict) and set(known) == {"cls", "patch"}, self, "tokens",
                "{cls = …, patch = …}: the number of special tokens, and the side of a patch")  # fmt: skip
        good = _is_whole(known["patch"], MAX_MULTIPLE) and _is_whole(known["cls"], MAX_SPECIAL, low=0)
        _expect(good, self, "tokens", f"whole numbers: cls up to {MAX_SPECIAL}, patch up to {MAX_MULTIPLE}")
        sides = self.size if isinstance(self.size, tuple) else (self.multiple,)
        _expect(all(side % known["patch"] == 0 for side in sides), self, "tokens",
                "patches that divide multiple, or both sides of size")  # fmt: skip

    @property
    def outputs(self) -> tuple[str, ...]:
        """All outputs that are used, each once."""
        return tuple(dict.fromkeys((*self.regions, *self.picture)))

    def view_of(self, output: str) -> str:
        """Return the name of the view that an output becomes."""
        return self.names.get(output, output)

    @classmethod
    def of(cls, given: Any) -> "NetworkSettings":
        """Return settings from plain values: of a TOML, or of a model's file."""
        if not isinstance(given, dict):
            raise NetworkError(f"a network's settings must be names and values, got {given!r:.60}: add them.")
        known = [field.name for field in fields(cls)]
        unknown = [str(name) for name in given if name not in known]
        if unknown:
            raise NetworkError(
                f"a network's settings are {', '.join(known)}, got {unknown[0]!r:.60}: remove or rename it."
            )
        missing = [name for name in ("sha256", "input", "size") if name not in given]
        if missing:
            raise NetworkError(f"a network's settings must have {missing[0]!r}, got none: add it.")
        numbers = {name: _floats(given[name]) for name in ("mean", "std") if name in given}
        lists = {name: tuple(value) for name, value in given.items() if isinstance(value, list)}
        return cls(**{**given, **lists, **numbers})

    def plain(self) -> dict[str, Any]:
        """Return the settings as values that JSON keeps."""
        return {name: list(v) if isinstance(v, tuple) else v for name, v in asdict(self).items()}


class NetworkToml(NamedTuple):
    """The contents of a TOML: the file of the network, and everything else, before the digest is taken."""

    model: Path
    given: dict[str, Any]


def read_toml(path: Path) -> NetworkToml:
    """Return the contents of a network's TOML; the path of the model file is relative to it."""
    place, content = shown(path), bytes_of(path, MAX_TOML_BYTES)
    try:
        given = tomllib.loads(content.decode())
    except (ValueError, RecursionError) as error:  # a TOMLDecodeError is a ValueError
        raise NetworkError(
            f"{place} must be a TOML file that describes a network ({error!s:.100}): see "
            "`tagmix network --help` for a ready one."
        ) from error
    model = given.pop("model", None)
    if not _is_name(model) or "\0" in model:
        raise NetworkError(
            f'{place} must name the network\'s file as model = "….onnx", got {model!r:.60}: add the line.'
        )
    return NetworkToml(path.parent / model, given)


def bytes_of(path: Path, most: int) -> bytes:
    """Return the content of a plain file of at most so many bytes; NetworkError if there is none."""
    try:
        return read_limited(path, most)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or (str(error) if path.exists() else "it does not exist")
        raise NetworkError(f"{shown(path)} cannot be read ({reason}): check the path.") from error


def shown(path: Path) -> str:
    """Return a path for a message."""
    return f"{printable(path)!r:.200}"


def _expect(holds: bool, settings: NetworkSettings, name: str, what: str) -> None:
    if not holds:
        raise NetworkError(
            f"a network's {name} must be {what}, got {getattr(settings, name)!r:.80}: change it."
        )


def _is_whole(value: Any, most: int, low: int = 1) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and low <= value <= most


def _is_name(value: Any) -> bool:
    return isinstance(value, str) and 0 < len(value) <= MAX_NAME and value.isprintable()


def _floats(value: Any) -> Any:
    numbers = value if isinstance(value, list) else [value]
    plain = all(isinstance(n, int | float) and not isinstance(n, bool) for n in numbers)
    # an integer of a TOML may have more digits than a float can hold
    return tuple(float(n) if abs(n) <= MAX_NUMBER else math.inf for n in numbers) if plain else value


def _are_numbers(value: Any) -> bool:
    if not isinstance(value, tuple) or len(value) not in (1, 3):
        return False
    return all(isinstance(number, float) and abs(number) <= MAX_NUMBER for number in value)
