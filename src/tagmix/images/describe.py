"""From pixels to bags: learn visual words from an album, and describe pictures by them."""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from functools import partial
from typing import Any, NamedTuple, Protocol, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from tagmix.bags import Bags
from tagmix.errors import BagsError, ParameterError
from tagmix.images.assemble import Pictured, bags_of
from tagmix.images.cache import Arrays, Cache
from tagmix.images.config import DescriberConfig
from tagmix.images.network import Network
from tagmix.images.picture import QuantisedPicture
from tagmix.images.process_pool import Failure, count_processes, map_files
from tagmix.images.quantise import Quantiser, examples_of, word_views
from tagmix.images.sources import Problem, Source, check_sources, problem_of
from tagmix.images.views import Vocabularies
from tagmix.images.views.network import NetworkView
from tagmix.images.vocabulary import Vocabulary, keep_vocabulary

Progress: TypeAlias = Callable[[str, int, int], None]
T = TypeVar("T")


class Pictures(Protocol):
    """An album, as far as a describer needs it: items to count, to iterate over and to pick."""

    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[Pictured]: ...
    def __getitem__(self, index: int, /) -> Pictured: ...


class Described(NamedTuple):
    """Bags of the pictures that could be read, a Problem for each of the others, how many were cached."""

    bags: Bags
    problems: tuple[Problem, ...]
    n_reused: int


class Describer:
    """Learn visual words from an album and turn pictures into Bags.

    The defaults are those of ``tagmix train``; ``Describer.paper()`` describes pictures as the paper does. A
    fitted describer keeps no state of a run, so threads can share it.

    Parameters
    ----------
    cache : a folder for finished pictures; a killed run resumes from it, and a finished one is repeated in
        next to no time. It grows by about 26 KB per picture, by 80 KB more with the default network, whose
        converted file takes 24 MB, and, for words, by 107 KB for each of ``vocabulary_pictures``: 54 MB for
        500.
    n_jobs : processes; None is one, −1 takes all cores. It never changes a bit of the result.
    **settings : how pictures are sampled (``n_patches``, ``largest_patch``, ``segmenter``, ``n_regions``,
        ``max_side``, ``seed``), how words are learnt (``vocabulary_pictures``, ``vocabulary_patches``,
        ``restarts``) and those of the views in ``images.views``: ``n_words``, ``mirrored`` and ``nearest``
        for SIFT, ``n_colours`` (0 for none), ``places``, ``layout``, and ``network``: a published network by
        name ("efficientnet-lite2"), the TOML of another, a ``Network`` (see ``load_network``), a sequence of
        these, or None. The default, "auto", is "efficientnet-lite2"; without the extra ``network`` it warns
        and is None.

    Attributes
    ----------
    config : all settings.
    vocabularies_ : the words of each view that has some, by the view's name.

    ``progress`` of the methods is called with (stage, done, of): stage "vocabulary" counts the pictures that
    words are learnt from, "words" the sweeps of k-means, "pictures" those described.

    Examples
    --------
    >>> Describer(n_words=200).config.n_patches, Describer.paper().config.largest_patch
    (1000, 0.5)
    >>> Describer(network="efficientnet-lite2").config.view(NetworkView).region_names()
    ('lite2.block14', 'lite2.block19', 'lite2.block20')
    """

    vocabularies_: Vocabularies

    def __init__(
        self, *, cache: str | os.PathLike[str] | None = None, n_jobs: int | None = None, **settings: Any
    ) -> None:
        count_processes(n_jobs)
        self.config, self.cache, self.n_jobs = DescriberConfig.of(settings), Cache(cache), n_jobs

    @classmethod
    def paper(
        cls, *, cache: str | os.PathLike[str] | None = None, n_jobs: int | None = None, **settings: Any
    ) -> "Describer":
        """Return a describer with the paper's settings: one SIFT word per patch, patches of any size."""
        describer = cls(cache=cache, n_jobs=n_jobs, network=None)
        describer.config = DescriberConfig.of(settings, paper=True)
        return describer

    @classmethod
    def of(cls, config: DescriberConfig, vocabularies: Vocabularies) -> "Describer":
        """Return a describer that has its words already, as from a file."""
        describer = cls(network=None)
        describer.config, describer.vocabularies_ = config, dict(vocabularies)
        return describer

    def with_(self, **changes: Any) -> "Describer":
        """Return a copy with other settings; it is fitted if its words would be the same."""
        config = {name: value for name, value in changes.items() if name not in ("cache", "n_jobs")}
        other = type(self)(
            cache=changes.get("cache", self.cache.folder),
            n_jobs=changes.get("n_jobs", self.n_jobs),
            network=None,
        )
        other.config = self.config.changed(config)
        if hasattr(self, "vocabularies_") and _learning(self.config) == _learning(other.config):
            other.vocabularies_ = self.vocabularies_
        return other

    @property
    def networks(self) -> tuple[Network, ...]:
        """The networks whose features describe pictures."""
        view = self.config.view(NetworkView)
        return () if view is None else view.network

    def widths(self) -> dict[str, int]:
        """Return the number of words or channels by view of regions, in the order of the bags' views."""
        own = (view.widths(self.vocabularies_) for view in self.config.active)
        return {name: width for widths in own for name, width in widths.items()}

    def fit(self, album: Pictures, *, progress: Progress | None = None) -> "Describer":
        """Learn the vocabularies from randomly chosen pictures of the album; broken ones are left out."""
        rng = np.random.default_rng(self.config.seed)
        chosen = rng.permutation(len(album))[: self.config.vocabulary_pictures]
        sources = [source_of(album[int(i)]) for i in np.sort(chosen)]
        task = partial(examples_of, config=self.config, cache=self.cache)
        results = self._run("vocabulary", task, sources, progress)
        found: list[Arrays] = [one[0] for one in results if not isinstance(one, Problem)]
        if not found:
            raise BagsError(f"no picture could be read, so no words were learnt: {results[0]}")
        self.vocabularies_ = {
            view.name: self._learn(np.vstack([one[view.name] for one in found]), view.size, progress)
            for view in word_views(self.config)
        }
        return self

    def _learn(self, examples: NDArray[np.float32], n_words: int, progress: Progress | None) -> Vocabulary:
        return keep_vocabulary(
            self.cache,
            examples,
            n_words,
            restarts=self.config.restarts,
            seed=self.config.seed,
            n_threads=count_processes(self.n_jobs),
            progress=partial(progress or _silent, "words"),
        )

    def transform(self, album: Pictures, *, progress: Progress | None = None) -> Described:
        """Return the pictures as Bags with their tags, and a Problem for each that cannot be read."""
        results = self.describe([source_of(item) for item in album], progress=progress)
        pairs = list(zip(album, results, strict=True))
        kept = [(item, one) for item, one in pairs if not isinstance(one, Problem)]
        pictures = [one for _, one in kept]
        bags = self.bags_of(pictures, [str(item.image) for item, _ in kept], [item.tags for item, _ in kept])
        problems = tuple(one for one in results if isinstance(one, Problem))
        return Described(bags, problems, sum(one.reused for one in pictures))

    def bags_of(
        self,
        described: Sequence[QuantisedPicture],
        ids: Sequence[str],
        captions: Sequence[Sequence[str]] | None = None,
    ) -> Bags:
        """Return the Bags of pictures that were described."""
        tags = captions or [()] * len(described)
        return bags_of(ids, tags, described, self.config.active, self.vocabularies_)

    def describe(
        self, sources: Sequence[Source], *, progress: Progress | None = None
    ) -> list[QuantisedPicture | Problem]:
        """Return, for each source in order, the picture in words and features, or why there is none.

        A source is a path, the bytes of a picture file, or a ``PictureBytes`` (a name and bytes).
        """
        if not hasattr(self, "vocabularies_"):
            raise ParameterError("the describer has no words yet: fit it on an album first.")
        check_sources(sources)
        quantiser = Quantiser.of(self.config, self.vocabularies_, self.cache)
        return self._run("pictures", quantiser, sources, progress)

    def _run(
        self,
        stage: str,
        task: Callable[[Any], T],
        sources: Sequence[Source],
        progress: Progress | None,
    ) -> list[T | Problem]:
        """Return result or Problem of each source, in order."""
        if not sources:
            raise BagsError("one picture or more was expected, got none: check where the album was opened.")
        self.cache.prepare()
        (progress or _silent)(stage, 0, len(sources))
        results: dict[int, T | Problem] = {}
        with closing(map_files(task, sources, self.n_jobs)) as outcomes:
            for number, outcome in outcomes:
                if isinstance(outcome, Failure):
                    results[number] = problem_of(sources[number], outcome.reason)
                else:
                    results[number] = outcome
                (progress or _silent)(stage, len(results), len(sources))
        return [results[number] for number in range(len(sources))]


def source_of(item: Pictured) -> Source:
    """Return what to read of an item: its ``source`` if it has one, which knows how it is turned."""
    source: Source = getattr(item, "source", item.image)
    return source


def _learning(config: DescriberConfig) -> Any:
    """Return what the vocabularies follow from, the album apart."""
    views = [(view.name, view.size, view.learning_key()) for view in word_views(config)]
    return config.patch_key(), config.vocabulary_pictures, config.vocabulary_patches, config.restarts, views


def _silent(stage: str, done: int, of: int) -> None:
    """Report no progress."""
