"""One picture at a time: examples to learn words from, and the arrays of all views, cached by content."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache as once
from functools import partial

import numpy as np

from tagmix.images.cache import Arrays, Cache, Form, form_of, key_of
from tagmix.images.config import DescriberConfig
from tagmix.images.picture import QuantisedPicture, SampledPicture, sample_picture
from tagmix.images.polygons import Rings, are_rings, rings_of
from tagmix.images.sources import Content, Source, content_of
from tagmix.images.views import View, Vocabularies, WordView

# Part of every cache key: raise it when the same settings would give other numbers.
VERSION = "7"

Sample = Callable[[], SampledPicture]


def word_views(config: DescriberConfig) -> list[WordView]:
    """Return the active views that have a vocabulary."""
    return [view for view in config.active if isinstance(view, WordView)]


def examples_of(source: Source, config: DescriberConfig, cache: Cache) -> tuple[Arrays, bool]:
    """Return the descriptors of a picture's first patches, by view, and whether they were cached.

    At 200 patches they take 107 KB per picture.
    """
    content, views = content_of(source), word_views(config)
    n = min(config.vocabulary_patches, config.n_patches)
    form = {view.name: (np.dtype(np.float32), (n, view.dimensions)) for view in views}

    def make() -> Arrays:
        picture = sample_picture(content.data, config, content.orientation).first(n)
        return {view.name: view.examples(picture) for view in views}

    def sound(kept: Arrays) -> bool:
        return form_of(kept) == form and all(bool(np.isfinite(array).all()) for array in kept.values())

    setting = repr([n, config.patch_key(), *((view.name, view.learning_key()) for view in views)])
    return cache.keep(key_of(VERSION, "examples", setting, *content.turn, content.data), make, sound)


@dataclass(frozen=True)
class Quantiser:
    """Turns a source into a QuantisedPicture; it can be sent to another process.

    ``setting`` is the digest of all that the words of a picture follow from, its content apart.
    """

    config: DescriberConfig
    words: Vocabularies
    cache: Cache
    setting: str

    @classmethod
    def of(cls, config: DescriberConfig, words: Vocabularies, cache: Cache) -> "Quantiser":
        """Return a quantiser with its views ready for work."""
        keys = [view.key() for view in config.active if not view.own_cache]
        centres = [words[view.name].centres.tobytes() for view in word_views(config)]
        return cls(
            config.opened(cache.folder),
            words,
            cache,
            key_of(VERSION, config.patch_key(), repr(keys), *centres),
        )

    def __call__(self, source: Source) -> QuantisedPicture:
        """Return the arrays of all views of a picture, from the cache where it has them."""
        content = content_of(source)
        sample = once(partial(sample_picture, content.data, self.config, content.orientation))
        kept, reused = self._shared(content, sample)
        arrays, boxes = dict(kept), kept["boxes"]
        for view in self.config.active:
            if view.own_cache:
                own, known = self._own(view, content, sample, len(boxes))
                arrays, reused = arrays | own, reused and known
        region, rings = arrays.pop("region"), Rings(arrays.pop("points"), arrays.pop("sizes"))
        return QuantisedPicture(region, arrays.pop("boxes"), arrays, reused, rings)

    def _shared(self, content: Content, sample: Sample) -> tuple[Arrays, bool]:
        """Return regions, boxes, outlines and the arrays of the views that share a file in the cache."""
        views = [view for view in self.config.active if not view.own_cache]

        def make() -> Arrays:
            picture = sample()
            found: Arrays = {"region": picture.region, "boxes": picture.boxes}
            for view in views:
                found |= view.describe(picture, self.words)
            return rings_of(picture.labels)._asdict() | _cast(found, self._form(views, len(picture.boxes)))

        def sound(kept: Arrays) -> bool:
            boxes = kept.get("boxes")
            if boxes is None or boxes.ndim != 2 or not 1 <= len(boxes) <= self.config.n_regions:
                return False
            if not are_rings(kept, len(boxes)):
                return False
            form = form_of({name: array for name, array in kept.items() if name not in Rings._fields})
            if form != self._form(views, len(boxes)) or not np.all((boxes >= 0) & (boxes <= 1)):
                return False
            return bool((kept["region"] < len(boxes)).all()) and all(
                view.sound(kept, self.words) for view in views
            )

        return self.cache.keep(key_of("words", self.setting, *content.turn, content.data), make, sound)

    def _own(self, view: View, content: Content, sample: Sample, n_regions: int) -> tuple[Arrays, bool]:
        """Return the arrays of a view that has a file of its own in the cache."""
        form = view.form(self.config.n_patches, n_regions, self.words)

        def sound(kept: Arrays) -> bool:
            return form_of(kept) == form and view.sound(kept, self.words)

        key = key_of(VERSION, self.config.region_key(), view.key(), *content.turn, content.data)
        return self.cache.keep(key, lambda: _cast(view.describe(sample(), self.words), form), sound)

    def _form(self, views: Sequence[View], n_regions: int) -> Form:
        n = self.config.n_patches
        form: Form = {
            "region": (np.min_scalar_type(self.config.n_regions), (n,)),
            "boxes": (np.dtype(np.float32), (n_regions, 5)),
        }
        for view in views:
            form |= view.form(n, n_regions, self.words)
        return form


def _cast(arrays: Arrays, form: Form) -> Arrays:
    return {name: np.asarray(arrays[name], dtype=dtype) for name, (dtype, _) in form.items()}
