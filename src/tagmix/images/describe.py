"""From pixels to bags: cut pictures into regions, describe random patches by words, count them a region."""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import asdict, replace
from functools import cache as once
from functools import partial
from numbers import Integral
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from tagmix.bags import Bags
from tagmix.errors import BagsError, ParameterError, printable
from tagmix.images.assemble import Pictured, bags_of, widths_of
from tagmix.images.cache import Arrays, Cache, Form, form_of, key_of
from tagmix.images.network import Network, load_network
from tagmix.images.network_features import features_of, network_setting
from tagmix.images.process_pool import Failure, count_processes, map_files, read_content
from tagmix.images.sift import mirror
from tagmix.images.sketch import PLACES, Recipe, Vocabularies, Words, cut, sketch, words_of
from tagmix.images.vocabulary import Vocabulary, keep_vocabulary

# Part of every cache key: raise it when the same settings would give other numbers.
VERSION = "5"
# How decode calls what it is given; in a problem line the file's name stands there.
BYTES = "the given bytes "
SKETCH_WIDTHS = {"sift": 128, "colour": 6}


class Pictures(Protocol):
    """What a describer asks of an album: items that can be counted, walked through and picked."""

    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[Pictured]: ...
    def __getitem__(self, index: int, /) -> Pictured: ...


def _sketch_file(path: Path, recipe: Recipe, n_patches: int, cache: Cache) -> tuple[Arrays, bool]:
    """Return SIFT and colour of a file's first patches, to learn words from; and whether they were kept.

    At 200 patches they take 107 KB a picture. If the recipe is mirrored, every second one is.
    """
    content = read_content(path)
    n = min(n_patches, recipe.n_patches)
    form = {name: (np.dtype(np.float32), (n, width)) for name, width in SKETCH_WIDTHS.items()}

    def make() -> Arrays:
        found = sketch(content, recipe)
        sift = found.sift[:n]
        if recipe.mirrored:
            sift[1::2] = mirror(sift[1::2])
        return {"sift": sift, "colour": found.colour[:n]}

    def sound(kept: Arrays) -> bool:
        return form_of(kept) == form and all(bool(np.isfinite(array).all()) for array in kept.values())

    same = replace(recipe, nearest=1)  # vectors, however many words they count for
    return cache.keep(key_of(VERSION, "sketch", repr((same, n)), content), make, sound)


def _describe_file(
    path: Path,
    recipe: Recipe,
    vocabularies: Vocabularies,
    network: Network | None,
    setting: str,
    cache: Cache,
) -> tuple[Words, bool]:
    """Return a file's words and features, and whether its bytes were described so before."""
    content = read_content(path)
    form = _form_of_words(recipe, vocabularies)
    see = once(partial(cut, content, recipe))

    def make() -> Arrays:
        words = words_of(sketch(content, recipe, see()), vocabularies, recipe.nearest)._asdict()
        return {name: np.asarray(words[name], dtype=dtype) for name, (dtype, _) in form.items()}

    def sound(kept: Arrays) -> bool:
        boxes = kept.get("boxes")
        if boxes is None or boxes.ndim != 2 or not 1 <= len(boxes) <= recipe.n_regions:
            return False
        shapes = {**form, "boxes": (np.dtype(np.float32), (len(boxes), 5))}
        if form_of(kept) != shapes or not np.all((boxes >= 0) & (boxes <= 1)):
            return False
        above = {"sift": vocabularies.sift.n_words, "place": PLACES, "region": len(boxes)}
        if vocabularies.colour is not None:
            above["colour"] = vocabularies.colour.n_words
        return all(bool((kept[name] < limit).all()) for name, limit in above.items())

    kept, reused = cache.keep(key_of(VERSION, "words", setting, content), make, sound)
    words = Words(**kept, features=None)
    if network is None:
        return words, reused
    cutting = network_setting(network, recipe, VERSION)
    features, known = features_of(content, see, words.n_regions, network, cutting, cache)
    return words._replace(features=features), reused and known


def _form_of_words(recipe: Recipe, vocabularies: Vocabularies) -> Form:
    """Return type and shape of each array of Words: the smallest whole numbers that hold them."""
    n, colour, sift = recipe.n_patches, vocabularies.colour, vocabularies.sift
    n_colours, n_coloured = (0, 0) if colour is None else (colour.n_words, n)
    each = min(recipe.nearest, sift.n_words) * (2 if recipe.mirrored else 1)
    return {
        "sift": (np.min_scalar_type(sift.n_words), (each * n,)),
        "colour": (np.min_scalar_type(n_colours), (n_coloured,)),
        "place": (np.min_scalar_type(PLACES), (n,)),
        "region": (np.min_scalar_type(recipe.n_regions), (n,)),
        "boxes": (np.dtype(np.float32), (recipe.n_regions, 5)),
    }


class Describer:
    """Learn visual words from an album and turn pictures into Bags.

    Parameters
    ----------
    n_words, n_colours : size of the vocabularies of SIFT and of colour; 0 colours leave colour out.
    n_patches, segmenter, n_regions, max_side, seed, largest_patch, places, mirrored, layout, nearest : how a
        picture is described (see ``Recipe``).
    vocabulary_pictures, vocabulary_patches : from how many pictures, and patches of each, words are learnt.
    restarts : random starts of k-means.
    cache : a folder for what is finished; a run that was killed goes on where it was, and a finished one
        takes next to no time again. It grows by 5 to 16 KB a picture (17 KB more with a network) and,
        for words, by 107 KB for each of ``vocabulary_pictures``: 54 MB for 500.
    n_jobs : processes; None is one, −1 takes all cores. It never changes a bit of the result.
    network : an ONNX network by its TOML (see ``load_network``), whose features become further views.
    progress : called with (stage, done, of) as work gets done: stage "vocabulary" counts the pictures that
        words are learnt from, "words" the sweeps of k-means, "pictures" those described.

    Attributes
    ----------
    vocabularies_ : the words.
    problems_ : a line for each file that was set aside in the last run, in the album's order.
    reused_ : how many pictures of the last run came from the cache.
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
        n_jobs: int | None = None,
        seed: int = 0,
        largest_patch: float = 0.5,
        places: bool = False,
        mirrored: bool = False,
        layout: bool = False,
        nearest: int = 1,
        network: Network | str | os.PathLike[str] | None = None,
        progress: Callable[[str, int, int], None] | None = None,
    ) -> None:
        _check_counts(
            n_words=(n_words, 1),
            n_colours=(n_colours, 0),
            vocabulary_pictures=(vocabulary_pictures, 1),
            vocabulary_patches=(vocabulary_patches, 1),
            restarts=(restarts, 1),
        )
        self.n_words, self.n_colours = n_words, n_colours
        how = (largest_patch, places, mirrored, layout, nearest)
        self.recipe = Recipe(n_patches, segmenter, n_regions, max_side, seed, *how)
        self.vocabulary_pictures, self.vocabulary_patches = vocabulary_pictures, vocabulary_patches
        self.restarts, self.cache, self.n_jobs, self.progress = restarts, Cache(cache), n_jobs, progress
        self.network = network if network is None or isinstance(network, Network) else load_network(network)
        self.problems_: list[str] = []
        self.reused_ = 0
        count_processes(n_jobs)

    @classmethod
    def of(cls, recipe: Recipe, vocabularies: Vocabularies, network: Network | None = None) -> "Describer":
        """Return a describer that has its words already, as from a file."""
        describer = cls(**asdict(recipe), network=network)
        describer.vocabularies_ = vocabularies
        return describer

    def widths(self) -> dict[str, int]:
        """Return the number of words or channels by view, in the order of the bags' views."""
        words = widths_of(self.vocabularies_, self.recipe.places)
        return words if self.network is None else {**words, **self.network.widths}

    def keep_in(self, folder: str | os.PathLike[str] | None) -> None:
        """Keep finished pictures in another folder, or nowhere."""
        self.cache = Cache(folder)

    def fit(self, album: Pictures) -> "Describer":
        """Learn the vocabularies from randomly chosen pictures of the album; broken ones are left out."""
        rng = np.random.default_rng(self.recipe.seed)
        chosen = rng.permutation(len(album))[: self.vocabulary_pictures]
        paths = [album[int(i)].image for i in np.sort(chosen)]
        task = partial(_sketch_file, recipe=self.recipe, n_patches=self.vocabulary_patches, cache=self.cache)
        found = [one for one in self._run("vocabulary", task, paths) if one is not None]
        if not found:
            raise BagsError(f"no picture could be read, so no words were learnt: {self.problems_[0]}")
        sift = self._learn([one["sift"] for one in found], self.n_words)
        colour = self._learn([one["colour"] for one in found], self.n_colours) if self.n_colours else None
        self.vocabularies_ = Vocabularies(sift, colour)
        return self

    def _learn(self, found: list[NDArray[np.float32]], n_words: int) -> Vocabulary:
        return keep_vocabulary(
            self.cache,
            np.vstack(found),
            n_words,
            restarts=self.restarts,
            seed=self.recipe.seed,
            n_threads=count_processes(self.n_jobs),
            progress=partial(self._tell, "words"),
        )

    def transform(self, album: Pictures) -> Bags:
        """Return the pictures as Bags with their tags; broken files are set aside in ``problems_``."""
        found = self.describe([item.image for item in album])
        kept = [(item, words) for item, words in zip(album, found, strict=True) if words is not None]
        return self.bags_of([item for item, _ in kept], [words for _, words in kept])

    def bags_of(self, items: Sequence[Pictured], described: Sequence[Words]) -> Bags:
        """Return the Bags of pictures that were described: words, features, the items' tags."""
        widths = widths_of(self.vocabularies_, self.recipe.places)
        return bags_of(items, described, widths, self.network, self.recipe.layout)

    def describe(self, paths: Sequence[Path]) -> list[Words | None]:
        """Return the words of each picture, None where a file was set aside in ``problems_``."""
        if not hasattr(self, "vocabularies_"):
            raise ParameterError("the describer has no words yet: fit it on an album first.")
        self.network = self.network and self.network.found()
        centres = [v.centres.tobytes() for v in self.vocabularies_ if v is not None]
        task = partial(
            _describe_file,
            recipe=self.recipe,
            vocabularies=self.vocabularies_,
            network=self.network,
            setting=key_of(repr(self.recipe), *centres),
            cache=self.cache,
        )
        return self._run("pictures", task, paths)

    def _run(self, stage: str, task: Callable[[Path], Any], paths: Sequence[Path]) -> list[Any]:
        """Return the results in the order of the paths, None where a file was set aside."""
        if not paths:
            raise BagsError("one picture or more was expected, got none: check where the album was opened.")
        self.cache.prepare()
        results: list[Any] = [None] * len(paths)
        problems: dict[int, str] = {}
        self.reused_ = 0
        with closing(map_files(task, paths, self.n_jobs)) as outcomes:
            for done, (number, outcome) in enumerate(outcomes, start=1):
                if isinstance(outcome, Failure):
                    problems[number] = f"{printable(paths[number])}: {outcome.reason.removeprefix(BYTES)}"
                else:
                    results[number], reused = outcome
                    self.reused_ += reused
                self._tell(stage, done, len(paths))
        self.problems_ = [problems[number] for number in sorted(problems)]
        return results

    def _tell(self, stage: str, done: int, of: int) -> None:
        if self.progress is not None:
            self.progress(stage, done, of)


def _check_counts(**given: tuple[Any, int]) -> None:
    for name, (value, least) in given.items():
        if not isinstance(value, Integral) or isinstance(value, bool) or value < least:
            raise ParameterError(
                f"{name} must be a whole number from {least} up, got {value!r:.60}: change it."
            )
