"""Features of networks: maps averaged over regions, and vectors of whole pictures."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np

from tagmix.images.cache import Arrays, Form
from tagmix.images.network import AUTO, Network, networks_of
from tagmix.images.picture import QuantisedPicture, SampledPicture
from tagmix.images.settings import setting
from tagmix.images.views.base import View, Vocabularies, stack

# Part of every cache key: raise it when the same network would give other numbers.
VERSION = "network 3"
REGIONS, PICTURE = "network.regions", "network.picture"  # names of arrays, with their number


@dataclass(frozen=True)
class NetworkView(View):
    """The outputs of ONNX networks; each is a matrix of the name that its network gives it."""

    name: ClassVar[str] = "network"
    own_cache: ClassVar[bool] = True

    network: tuple[Network, ...] = setting(
        (), several="NETWORK", option="--network",
        help="Describe pictures by this network too: efficientnet-lite2 (the default if it is installed), "
        "efficientnet-lite1, a TOML that describes another (see `tagmix network --help`), or none; may be "
        "repeated.",
    )  # fmt: skip

    @classmethod
    def create(cls, **settings: Any) -> Self:
        """Return the view of networks: names, TOMLs or ``Network``; the default one if none is named."""
        return cls(networks_of(settings.get("network", AUTO)))

    @classmethod
    def from_plain(cls, kept: Any) -> Self:
        """Return the view with the networks' settings checked; no file is opened yet."""
        own = kept["network"] or []
        # A file of an earlier version has one network, not a list.
        return cls(tuple(Network.of(one) for one in ([own] if isinstance(own, dict) else own)))

    def plain(self) -> dict[str, Any]:
        """Return all that a file keeps of the networks: not the weights."""
        return {"network": [network.plain() for network in self.network]}

    def opened(self, folder: Path | None) -> Self:
        """Return the view with the networks' files found and checked, or made in this folder."""
        return replace(self, network=tuple(network.found(folder=folder) for network in self.network))

    @property
    def on(self) -> bool:
        """Whether there is a network."""
        return bool(self.network)

    def key(self) -> str:
        """Return the networks' settings, which hold the digests of their weights."""
        return f"{VERSION} {[network.settings for network in self.network]!r}"

    def region_names(self) -> tuple[str, ...]:
        """Return the names of the views of regions."""
        return tuple(one.settings.view_of(name) for one in self.network for name in one.settings.regions)

    def picture_names(self) -> tuple[str, ...]:
        """Return the names of the views of whole pictures."""
        return tuple(one.settings.view_of(name) for one in self.network for name in one.settings.picture)

    def widths(self, words: Vocabularies) -> dict[str, int]:
        """Return the channels of each view of regions."""
        known = self.network
        return {one.settings.view_of(name): width for one in known for name, width in one.widths.items()}

    def form(self, n_patches: int, n_regions: int, words: Vocabularies) -> Form:
        """Return one row per region of each map, and one vector per output for whole pictures.

        Signed roots lie between −1 and 1, where float16 is exact to 0.0005.
        """

        def kind(network: Network, name: str) -> Any:
            return np.dtype(np.float16 if name in network.settings.root else np.float32)

        maps = [
            (kind(one, name), (n_regions, width))
            for one in self.network
            for name, width in one.widths.items()
        ]
        vectors = [
            (kind(one, name), (width,)) for one in self.network for name, width in one.picture_widths.items()
        ]
        return {
            **{f"{REGIONS}.{i}": form for i, form in enumerate(maps)},
            **{f"{PICTURE}.{i}": form for i, form in enumerate(vectors)},
        }

    def describe(self, picture: SampledPicture, words: Vocabularies) -> Arrays:
        """Return the features of a picture and of its regions."""
        found = [network.describe(picture.pixels, picture.labels) for network in self.network]
        rows = [array for one in found for array in one.regions]
        vectors = [array for one in found for array in one.picture]
        return {
            **{f"{REGIONS}.{i}": own for i, own in enumerate(rows)},
            **{f"{PICTURE}.{i}": own for i, own in enumerate(vectors)},
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
