"""All settings of a describer: how pictures are sampled, how words are learnt, and those of each view."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

from tagmix.errors import ParameterError
from tagmix.images.picture import Sampling
from tagmix.images.settings import paper_values, plain_values, refuse_unknown, setting, settings_of
from tagmix.images.views import VIEWS, View

V = TypeVar("V", bound=View)


@dataclass(frozen=True)
class DescriberConfig(Sampling):
    """How an album is described; ``DescriberConfig.of`` takes the settings of all views by name.

    ``vocabulary_pictures`` and ``vocabulary_patches`` are from how many pictures, and patches per picture,
    words are learnt, ``restarts`` the random starts of k-means.

    >>> config = DescriberConfig.of({"n_words": 50, "n_colours": 0, "network": None})
    >>> [view.name for view in config.active]  # a layout needs colours
    ['sift', 'place']
    """

    vocabulary_pictures: int = setting(500, low=1)
    vocabulary_patches: int = setting(200, low=1)
    restarts: int = setting(5, low=1)
    views: tuple[View, ...] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        for what, names in (
            ("regions", [name for view in self.views for name in view.region_names()]),
            ("pictures", [name for view in self.views for name in view.picture_names()]),
        ):
            twice = [name for number, name in enumerate(names) if name in names[:number]]
            if twice:
                raise ParameterError(
                    f"the views of {what} must have different names, got {twice[0]!r:.60} twice: give that "
                    "output of the network another name in its TOML, under names."
                )

    @classmethod
    def of(cls, given: Mapping[str, Any], *, paper: bool = False) -> "DescriberConfig":
        """Return the product's settings, or the paper's, with those that are given."""
        kinds: list[Any] = [cls, *VIEWS.values()]
        refuse_unknown(given, {name: None for kind in kinds for name in settings_of(kind)})

        def values(kind: Any) -> dict[str, Any]:
            own = {name: given[name] for name in settings_of(kind) if name in given}
            return {**paper_values(kind), **own} if paper else own

        return cls(**values(cls), views=tuple(kind.create(**values(kind)) for kind in VIEWS.values()))

    def changed(self, given: Mapping[str, Any]) -> "DescriberConfig":
        """Return the config with other values of some settings."""
        refuse_unknown(given, self.settings())

        def values(kind: Any) -> dict[str, Any]:
            return {name: given[name] for name in settings_of(kind) if name in given}

        views = (type(view).create(**{**plain_values(view), **values(view)}) for view in self.views)
        return replace(self, **values(self), views=tuple(views))

    def settings(self) -> dict[str, Any]:
        """Return the value of every setting by name, those of the views among them."""
        return {name: value for part in (self, *self.views) for name, value in plain_values(part).items()}

    @property
    def active(self) -> tuple[View, ...]:
        """The views that pictures are described by: those turned on whose needs are met."""
        found: dict[str, View] = {}
        for view in self.views:
            if view.on and all(need in found for need in view.needs):
                found[view.name] = view
        return tuple(found.values())

    def view(self, kind: type[V]) -> V | None:
        """Return the view of a class."""
        return next((view for view in self.views if isinstance(view, kind)), None)

    def opened(self, folder: Path | None) -> "DescriberConfig":
        """Return the config with the files found that its views need, or made in this folder."""
        return replace(self, views=tuple(view.opened(folder) for view in self.views))

    def plain(self) -> dict[str, Any]:
        """Return the settings as values that a file holds."""
        own = plain_values(self)
        return {**own, "views": {view.name: view.plain() for view in self.views}}

    @classmethod
    def from_plain(cls, kept: Any) -> "DescriberConfig":
        """Return the config of what ``plain`` gave, every value checked: the file is not trusted."""
        own = {name: value for name, value in kept.items() if name != "views"}
        refuse_unknown(own, settings_of(cls))
        refuse_unknown(kept["views"], VIEWS)
        views = kept["views"]
        known = [kind.from_plain(views[name]) for name, kind in VIEWS.items() if name in views]
        return cls(**own, views=tuple(known))
