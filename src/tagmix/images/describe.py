"""From pixels to bags: cut pictures into regions, describe random patches by words, count them a region."""

import os
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import cv2
import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from tagmix.bags import Bags
from tagmix.errors import BagsError, ParameterError
from tagmix.images.cache import Cache, key_of
from tagmix.images.colour import patch_colours
from tagmix.images.decode import decode
from tagmix.images.patches import content_key, patch_generator, random_patches
from tagmix.images.segment import segment
from tagmix.images.sift import describe_patches
from tagmix.images.vocabulary import Vocabulary, learn_vocabulary
from tagmix.images.work import Failure, map_files

# Part of every cache key: raise it when the same settings would give other numbers.
VERSION = "1"


class Pictured(Protocol):
    """What a describer asks of an album's item: where its picture is and, to make bags, its tags."""

    @property
    def image(self) -> Path:
        """The file."""

    @property
    def tags(self) -> tuple[str, ...]:
        """The tags of the whole picture."""


@dataclass(frozen=True)
class Recipe:
    """How a picture is described; the defaults are the paper's, on pictures of at most 640 pixels."""

    n_patches: int = 1000
    segmenter: str = "ncuts"
    n_regions: int = 10
    max_side: int = 640
    seed: int = 0


class Sketch(NamedTuple):
    """A picture before words: SIFT and colour of each patch, and the region it lies in."""

    sift: NDArray[np.float32]
    colour: NDArray[np.float32]
    region: NDArray[np.int64]
    n_regions: int


def sketch(content: bytes, recipe: Recipe, name: str = "picture") -> Sketch:
    """Return what a picture's patches look like and where they lie."""
    image = decode(content, max_side=recipe.max_side)
    labels = segment(image, method=recipe.segmenter, n_regions=recipe.n_regions)
    rng = patch_generator(content_key(content), recipe.seed)
    patches = random_patches(image.shape[0], image.shape[1], recipe.n_patches, rng)
    column = np.clip(np.rint(patches[:, 0]).astype(np.int64), 0, image.shape[1] - 1)
    row = np.clip(np.rint(patches[:, 1]).astype(np.int64), 0, image.shape[0] - 1)
    grey = cv2.cvtColor(image, cv2.COLOR_RGB2GRAY)
    sift = describe_patches(grey, patches)
    return Sketch(
        sift, patch_colours(image, patches), labels[row, column].astype(np.int64), int(labels.max()) + 1
    )


class Words(NamedTuple):
    """A picture in words: the word of each patch by view, and the region it lies in."""

    sift: NDArray[np.int64]
    colour: NDArray[np.int64]
    region: NDArray[np.int64]
    n_regions: int


class Vocabularies(NamedTuple):
    """The words of each view; ``colour`` None leaves colour out."""

    sift: Vocabulary
    colour: Vocabulary | None


def words_of(found: Sketch, vocabularies: Vocabularies) -> Words:
    """Return the nearest word of each patch."""
    colour = vocabularies.colour
    return Words(
        vocabularies.sift.words_of(found.sift),
        np.zeros(0, dtype=np.int64) if colour is None else colour.words_of(found.colour),
        found.region,
        found.n_regions,
    )


def _sketch_file(path: Path, recipe: Recipe, n_patches: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return SIFT and colour of the first patches of a file: what a vocabulary is learnt from."""
    found = sketch(path.read_bytes(), recipe)
    return found.sift[:n_patches], found.colour[:n_patches]


def _describe_file(
    path: Path, recipe: Recipe, vocabularies: Vocabularies, setting: str, cache: Cache
) -> Words:
    """Return a file's words, from the cache if its bytes were described with these settings before."""
    content = path.read_bytes()
    key = key_of(content, setting)
    kept = cache.get(key)
    if kept is not None:
        return Words(kept["sift"], kept["colour"], kept["region"], int(kept["n_regions"]))
    words = words_of(sketch(content, recipe), vocabularies)
    cache.put(key, {name: np.asarray(value, dtype=np.int64) for name, value in words._asdict().items()})
    return words


class Describer:
    """Learn visual words from an album and turn pictures into Bags.

    Parameters
    ----------
    n_words, n_colours : size of the vocabularies of SIFT and of colour; 0 colours leave colour out.
    n_patches, segmenter, n_regions, max_side, seed : how a picture is described (see ``Recipe``).
    vocabulary_pictures, vocabulary_patches : from how many pictures, and patches of each, words are learnt.
    restarts : random starts of k-means.
    cache : a folder for finished pictures; an interrupted run goes on where it was.
    n_jobs : processes.
    progress : called with (done, of) after each picture.

    Attributes
    ----------
    vocabularies_ : the words. ``problems_`` : a line for each file that was set aside in the last run.
    """

    def __init__(
        self,
        *,
        n_words: int = 1000,
        n_colours: int = 0,
        n_patches: int = 1000,
        segmenter: str = "ncuts",
        n_regions: int = 10,
        max_side: int = 640,
        vocabulary_pictures: int = 500,
        vocabulary_patches: int = 200,
        restarts: int = 5,
        cache: str | os.PathLike[str] | None = None,
        n_jobs: int = 1,
        seed: int = 0,
        progress: Callable[[int, int], None] | None = None,
    ) -> None:
        self.n_words, self.n_colours = n_words, n_colours
        self.recipe = Recipe(n_patches, segmenter, n_regions, max_side, seed)
        self.vocabulary_pictures, self.vocabulary_patches = vocabulary_pictures, vocabulary_patches
        self.restarts, self.cache, self.n_jobs, self.progress = restarts, Cache(cache), n_jobs, progress
        self.problems_: list[str] = []

    def fit(self, album: Sequence[Pictured]) -> "Describer":
        """Learn the vocabularies from randomly chosen pictures of the album."""
        rng = np.random.default_rng(self.recipe.seed)
        chosen = rng.permutation(len(album))[: self.vocabulary_pictures]
        paths = [album[int(i)].image for i in np.sort(chosen)]
        found = self._run(partial(_sketch_file, recipe=self.recipe, n_patches=self.vocabulary_patches), paths)
        sketches = [one for one in found if one is not None]
        if not sketches:
            raise BagsError(
                f"no picture could be read, so no words were learnt: {'; '.join(self.problems_[:1])}"
            )
        how = {"restarts": self.restarts, "seed": self.recipe.seed}
        sift = learn_vocabulary(np.vstack([one[0] for one in sketches]), self.n_words, **how)
        colour = None
        if self.n_colours:
            colour = learn_vocabulary(np.vstack([one[1] for one in sketches]), self.n_colours, **how)
        self.vocabularies_ = Vocabularies(sift, colour)
        return self

    def transform(self, album: Sequence[Pictured]) -> Bags:
        """Return the pictures as Bags with their tags; broken files are set aside in ``problems_``."""
        if not hasattr(self, "vocabularies_"):
            raise ParameterError("the describer has no words yet: fit it on an album first.")
        task = partial(
            _describe_file,
            recipe=self.recipe,
            vocabularies=self.vocabularies_,
            setting=self._setting(),
            cache=self.cache,
        )
        found = self._run(task, [item.image for item in album])
        kept = [(item, words) for item, words in zip(album, found, strict=True) if words is not None]
        return bags_of([item for item, _ in kept], [words for _, words in kept], self.vocabularies_)

    def _setting(self) -> str:
        centres = [v.centres.tobytes() for v in self.vocabularies_ if v is not None]
        return key_of(VERSION, repr(sorted(asdict(self.recipe).items())), *centres)

    def _run(self, task: Callable[[Path], Any], paths: list[Path]) -> list[Any]:
        """Return the results in the order of the paths, None where a file was set aside."""
        results: list[Any] = [None] * len(paths)
        self.problems_ = []
        for done, (number, result) in enumerate(map_files(task, paths, self.n_jobs), start=1):
            if isinstance(result, Failure):
                self.problems_.append(f"{paths[number].name}: {result.reason}")
            else:
                results[number] = result
            if self.progress is not None:
                self.progress(done, len(paths))
        self.problems_.sort()
        return results


def bags_of(items: Sequence[Pictured], described: Sequence[Words], vocabularies: Vocabularies) -> Bags:
    """Return Bags of pictures in words: a row of counts a region, the tags of the items, ids by place."""
    if not items:
        raise BagsError("no picture could be described: see the problems of the describer.")
    offsets = np.cumsum([0, *(words.n_regions for words in described)])
    region = np.concatenate([words.region + start for words, start in zip(described, offsets, strict=False)])

    def counts(words: list[NDArray[np.int64]], width: int) -> Any:
        ones = np.ones(len(region), dtype=np.int64)
        return csr_array((ones, (region, np.concatenate(words))), shape=(int(offsets[-1]), width))

    views = {"sift": counts([words.sift for words in described], vocabularies.sift.n_words)}
    if vocabularies.colour is not None:
        views["colour"] = counts([words.colour for words in described], vocabularies.colour.n_words)
    names = sorted({tag for item in items for tag in item.tags})
    column = {name: i for i, name in enumerate(names)}
    pairs = [(n, column[tag]) for n, item in enumerate(items) for tag in dict.fromkeys(item.tags)]
    entries = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    tags = csr_array((np.ones(len(entries)), (entries[:, 0], entries[:, 1])), shape=(len(items), len(names)))
    ids = [str(item.image) for item in items]
    unique = ids if len(set(ids)) == len(ids) else None
    return Bags(views, offsets, tags=tags if names else None, tag_names=names or None, ids=unique)
