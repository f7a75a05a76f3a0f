"""A network's features: maps averaged over regions, and vectors of whole pictures."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from tagmix.images.cache import Arrays, Form
from tagmix.images.network import Network, load_network
from tagmix.images.picture import QuantisedPicture, SampledPicture
from tagmix.images.settings import setting
from tagmix.images.views.base import View, Vocabularies, stack

# Part of every cache key: raise it when the same network would give other numbers.
VERSION = "network 2"
REGIONS, PICTURE = "network.regions", "network.picture"  # names of arrays, with their number


@dataclass(frozen=True)
class NetworkView(View):
    """The outputs of an ONNX network; its matrices have the names of the outputs."""

    name: ClassVar[str] = "network"
    own_cache: ClassVar[bool] = True

    network: Network | None = setting(  # noqa: RUF009 (a field, as for the other views)
        None, file="FILE.toml", option="--network",
        help="Describe pictures by this network too (see `tagmix network --help`).",
    )  # fmt: skip

    @classmethod
    def create(cls, **settings: Any) -> Self:
        """Return the view of a network, or of the TOML that describes one."""
        network: Any = settings.get("network")
        known = network is None or isinstance(network, Network)
        return cls(network if known else load_network(network))

    @classmethod
    def from_plain(cls, kept: Any) -> Self:
        """Return the view with the network's settings checked; no file is opened yet."""
        return cls(None if kept["network"] is None else Network.of(kept["network"]))

    def plain(self) -> dict[str, Any]:
        """Return all that a file keeps of the network: not the weights."""
        return {"network": None if self.network is None else self.network.plain()}

    def opened(self) -> Self:
        """Return the view with the network's file found and checked."""
        return self if self.network is None else replace(self, network=self.network.found())

    @property
    def on(self) -> bool:
        """Whether there is a network."""
        return self.network is not None

    @property
    def _own(self) -> Network:
        assert self.network is not None
        return self.network

    def key(self) -> str:
        """Return the network's settings, which hold the digest of its weights."""
        return f"{VERSION} {self._own.settings!r}"

    def region_names(self) -> tuple[str, ...]:
        """Return the names of the maps."""
        return () if self.network is None else self.network.settings.regions

    def picture_names(self) -> tuple[str, ...]:
        """Return the names of the outputs for whole pictures."""
        return () if self.network is None else self.network.settings.picture

    def widths(self, words: Vocabularies) -> dict[str, int]:
        """Return the channels of each map."""
        return dict(self._own.widths)

    def form(self, n_patches: int, n_regions: int, words: Vocabularies) -> Form:
        """Return one row per region of each map, and one vector per output for whole pictures."""
        float32, maps, vectors = np.dtype(np.float32), self._own.widths, self._own.picture_widths
        return {
            **{f"{REGIONS}.{i}": (float32, (n_regions, width)) for i, width in enumerate(maps.values())},
            **{f"{PICTURE}.{i}": (float32, (width,)) for i, width in enumerate(vectors.values())},
        }

    def describe(self, picture: SampledPicture, words: Vocabularies) -> Arrays:
        """Return the features of a picture and of its regions."""
        found = self._own.describe(picture.pixels, picture.labels)
        return {
            **{f"{REGIONS}.{i}": rows for i, rows in enumerate(found.regions)},
            **{f"{PICTURE}.{i}": vector for i, vector in enumerate(found.picture)},
        }

    def sound(self, arrays: Arrays, words: Vocabularies) -> bool:
        """Return whether all are numbers."""
        return all(bool(np.isfinite(array).all()) for array in arrays.values())

    def region_views(self, described: Sequence[QuantisedPicture], words: Vocabularies) -> dict[str, Any]:
        """Return the means of each map over each region."""
        return {name: stack(described, f"{REGIONS}.{i}") for i, name in enumerate(self.region_names())}

    def picture_views(self, described: Sequence[QuantisedPicture], words: Vocabularies) -> dict[str, Any]:
        """Return the outputs for whole pictures."""
        return {name: stack(described, f"{PICTURE}.{i}") for i, name in enumerate(self.picture_names())}
