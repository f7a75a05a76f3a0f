"""Any ONNX image network, run by onnxruntime: maps averaged over regions, vectors of whole pictures."""

import math
import os
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import cv2
import numpy as np
from numpy.typing import NDArray

from tagmix.bag_checks import MOST
from tagmix.errors import ImageError, NetworkError
from tagmix.images import network_session
from tagmix.images.network_file import NetworkSettings, read_toml, shown
from tagmix.images.region_means import region_means

T = TypeVar("T")


class NetworkFeatures(NamedTuple):
    """A network's output for a picture: regions × channels of each map, a vector of each other output."""

    regions: tuple[NDArray[np.float32], ...]
    picture: tuple[NDArray[np.float32], ...]


class _Once:
    """Results of steps that are done once per network and process, also where threads share it."""

    def __init__(self, **known: Any) -> None:
        self._lock, self._known = threading.Lock(), known

    def do(self, step: str, make: Callable[[], T]) -> T:
        with self._lock:
            if step not in self._known:
                self._known[step] = make()
        return self._known[step]


@dataclass(frozen=True)
class Network:
    """A network by its TOML; its session opens when it is first needed, once per process.

    ``widths`` are the channels of the maps that regions are described by, ``picture_widths`` those of the
    outputs for whole pictures. ``model`` is the ONNX file; None where the settings come from a trained model
    and the TOML was not looked for yet.
    """

    settings: NetworkSettings
    place: Path = field(repr=False)  # the same network at another place gives the same numbers
    widths: Mapping[str, int]
    picture_widths: Mapping[str, int]
    model: Path | None = field(default=None, repr=False)
    _once: _Once = field(default_factory=_Once, repr=False, compare=False)

    def __reduce__(self) -> Any:
        own = (self.settings, self.place, self.widths, self.picture_widths, self.model)
        return Network, own  # a session stays in its process

    def plain(self) -> dict[str, Any]:
        """Return the parts of a network that a model file stores: all but the weights."""
        widths = [list(self.widths.values()), list(self.picture_widths.values())]
        return {"settings": self.settings.plain(), "place": str(self.place), "widths": widths}

    @classmethod
    def of(cls, kept: Any) -> "Network":
        """Return the network of what ``plain`` gave, checked: the file is not trusted; nothing is opened."""
        settings, place = NetworkSettings.of(kept["settings"]), kept["place"]
        if not isinstance(place, str) or "\0" in place:
            raise NetworkError(f"a network's place must be a path, got {place!r:.60}: train the model again.")
        names = (settings.regions, settings.picture)
        maps, whole = (_widths(*pair) for pair in zip(names, kept["widths"], strict=True))
        return cls(settings, Path(place), maps, whole)

    def found(self, place: Path | None = None) -> "Network":
        """Return the network with its file, by the TOML at its place or another; it must be the same."""
        if place is None and self.model is not None:
            return self
        return self._once.do("found", self._find) if place is None else self._find(place)

    def _find(self, place: Path | None = None) -> "Network":
        try:
            other = load_network(place or self.place)
        except NetworkError as error:
            if place is not None:
                raise
            raise NetworkError(
                f"{error} The model was trained with this network; if its TOML lies elsewhere now, give it "
                "by --network."
            ) from error
        where = shown(other.place)
        if other.settings.sha256 != self.settings.sha256:
            raise NetworkError(
                f"the model was trained with the network of sha256 {self.settings.sha256[:16]}…, that of "
                f"{where} has {other.settings.sha256[:16]}…: give the right TOML (--network), or train again."
            )
        if other != replace(self, place=other.place, model=other.model):
            was, now = self.settings.plain(), other.settings.plain()
            changed = [
                f"{name} = {value}, not {now[name]}" for name, value in was.items() if value != now[name]
            ]
            raise NetworkError(
                f"the model was trained with other settings than {where} has "
                f"({', '.join(changed) or 'numbers of channels'}): set them back, or train again."
            )
        return other

    def describe(self, pixels: NDArray[np.uint8], labels: NDArray[np.integer]) -> NetworkFeatures:
        """Return the features of a picture (RGB) and of its regions; ImageError where they are not finite."""
        if self.model is None:
            raise NetworkError("the network's file was not looked for yet: use what found() returns.")
        session = self._once.do("session", self._open)
        batch = prepared(pixels, self.settings)
        outputs = network_session.run(session, self.settings, batch, self.model)
        for name, output in outputs.items():
            with np.errstate(over="ignore"):  # values beyond the range of float32 become infinite
                outputs[name] = numbers = output[0].astype(np.float32)
            if not (np.abs(numbers) <= MOST).all():  # NaN fails the comparison
                raise ImageError(
                    f"makes the network's output {name!r:.60} NaN, infinite or beyond {MOST:g}: leave it out."
                )
            self._check_width(name, len(numbers))
        return NetworkFeatures(
            tuple(region_means(outputs[name], labels) for name in self.settings.regions),
            tuple(_whole(outputs[name]) for name in self.settings.picture),
        )

    def _open(self) -> Any:
        assert self.model is not None
        content, _ = network_session.content_of(self.model, self.settings.sha256)
        return network_session.opened(content, self.settings, self.model)

    def _check_width(self, name: str, channels: int) -> None:
        """Refuse channels that follow the picture; the first one, which is grey, gave their number."""
        known = {**self.widths, **self.picture_widths}.get(name, channels)
        if channels != known:
            raise NetworkError(
                f"the network's output {name!r:.60} must have {known:,} channels for every picture, got "
                f"{channels:,} for this one: name an output whose channels do not follow the size."
            )


def load_network(path: str | os.PathLike[str]) -> Network:
    """Return the network that a TOML describes, its file checked and run once on a grey picture."""
    place = Path(path).absolute()
    model, given = read_toml(place)
    content, sha256 = network_session.content_of(model, given.get("sha256"))
    settings = NetworkSettings.of({**given, "sha256": sha256})
    session = network_session.opened(content, settings, model)
    network = Network(settings, place, {}, {}, model, _Once(session=session))
    try:
        found = network.describe(np.full((64, 64, 3), 127, np.uint8), np.zeros((64, 64), np.int32))
    except ImageError as error:
        raise NetworkError(
            f"the network {shown(model)} must give numbers for a grey picture, which {error!s:.200}"
        ) from error
    widths = {name: one.shape[1] for name, one in zip(settings.regions, found.regions, strict=True)}
    whole = {name: len(one) for name, one in zip(settings.picture, found.picture, strict=True)}
    return replace(network, widths=widths, picture_widths=whole)


def prepared(pixels: NDArray[np.uint8], settings: NetworkSettings) -> NDArray[np.float32]:
    """Return a picture as the network reads it: resized, normalised, 1 × channels × height × width."""
    height, width = pixels.shape[:2]
    rows, columns = input_shape(height, width, settings)
    way = cv2.INTER_AREA if rows * columns < height * width else cv2.INTER_CUBIC
    resized = cv2.resize(pixels, (columns, rows), interpolation=way)
    mean, std = (np.array(numbers, dtype=np.float32) for numbers in (settings.mean, settings.std))
    return np.ascontiguousarray(((resized.astype(np.float32) - mean) / std).transpose(2, 0, 1)[None])


def input_shape(height: int, width: int, settings: NetworkSettings) -> tuple[int, int]:
    """Return the height and width at which a picture of this size enters the network.

    >>> input_shape(213, 320, NetworkSettings("0" * 64, "image", 320, 32, regions=("block10",)))
    (256, 384)
    """
    if isinstance(settings.size, tuple):
        return settings.size
    scale, step = settings.size / math.sqrt(height * width), settings.multiple
    return max(1, round(height * scale / step)) * step, max(1, round(width * scale / step)) * step


def _widths(names: tuple[str, ...], widths: Any) -> dict[str, int]:
    good = all(isinstance(width, int) and 1 <= width <= network_session.MAX_CHANNELS for width in widths)
    if not good:
        raise NetworkError(
            f"a network's widths must be numbers of channels, got {widths!r:.60}: train again."
        )
    return dict(zip(names, widths, strict=True))


def _whole(output: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the channels of a vector, or the means of a map."""
    return output if output.ndim == 1 else output.mean(axis=(1, 2), dtype=np.float64).astype(np.float32)
