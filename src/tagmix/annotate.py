"""Pictures and a trained model in, tags out: for whole pictures and for their regions."""

import contextlib
import os
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from tagmix import annotator_files
from tagmix.arrays import Floats
from tagmix.bags import Bags
from tagmix.card import Card, card_of, check_counts
from tagmix.datasets import Album
from tagmix.errors import AlbumError, ParameterError
from tagmix.evaluation.metrics import check_k, top_tags
from tagmix.images.describe import Described, Describer, Progress
from tagmix.images.picture import QuantisedPicture
from tagmix.images.polygons import Polygon
from tagmix.images.sources import Problem, Source, check_sources, name_of
from tagmix.learners.base import best_region_tags, none_shares
from tagmix.learners.context_emm import ContextEMM
from tagmix.learners.continued.memory import Memory
from tagmix.learners.continued.remember import remember
from tagmix.learners.mixture import MixtureEstimator
from tagmix.levels import NEVER, Levels, without_parents
from tagmix.metadata.read import photo_source

# Pictures described before their tags are inferred: bounds the memory, and costs no speed.
CHUNK = 256


class Guess(NamedTuple):
    """A tag of the whole picture, the probability that it is right, and whether it is worth showing."""

    tag: str
    probability: float
    shown: bool


class Region(NamedTuple):
    """A region: its best tags with their shares, its box (x, y, width, height) and area as shares.

    A region of which none of the tags holds more than the best tag has no tags; ``none`` is that share.
    ``polygons`` is its outline, points (x, y) as shares of the picture: per polygon its outer ring, then
    its holes.
    """

    tags: tuple[tuple[str, float], ...]
    box: tuple[float, float, float, float]
    area: float
    none: float = 0.0
    polygons: tuple[Polygon, ...] = ()


class Annotation(NamedTuple):
    """The tags of one picture, best first, and its regions in reading order.

    ``source`` is the path of the file, or the name of a ``PictureBytes`` in memory.
    """

    source: Path | str
    tags: tuple[Guess, ...]
    regions: tuple[Region, ...]


class Annotator:
    """A describer and a model that fit each other: from pictures to tags.

    An annotator keeps no state of a run: threads can share one. ``card`` has what it was trained
    on, if that is known; ``implied`` are tags that no picture was given, but tags below them.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from tagmix.datasets import open_album
    >>> from tagmix.datasets.scenes import draw_album
    >>> with TemporaryDirectory() as folder:
    ...     album = open_album(draw_album(folder, 12, seed=1, size=(80, 60)))
    ...     quick = Describer.paper(n_words=20, n_patches=50, restarts=1)
    ...     annotator = train(album, quick, ContextEMM(tol=0.1)).annotator
    ...     annotation, problem = annotator.annotate([album[0].image, b"no picture"], k=3)
    >>> len(annotation.tags), len(annotation.regions) > 1
    (3, True)
    >>> problem.source
    '<bytes>'
    """

    def __init__(
        self,
        describer: Describer,
        model: MixtureEstimator,
        card: Card | None = None,
        implied: Collection[str] = (),
    ) -> None:
        annotator_files.check_fit(describer, model)
        check_counts(card, model.tag_names_)
        self.describer, self.model, self.card = describer, model, card
        self.implied = tuple(tag for tag in model.tag_names_ if tag in set(implied))
        self._levels = Levels(model.tag_names_, self.implied)

    def with_(self, **changes: Any) -> "Annotator":
        """Return an annotator with other settings of its describer, such as ``n_jobs`` or ``cache``."""
        return Annotator(self.describer.with_(**changes), self.model, self.card, self.implied)

    def annotate(
        self,
        sources: Sequence[Source],
        k: int = 5,
        region_k: int = 3,
        *,
        precision: float | None = None,
        parents: bool = False,
        progress: Progress | None = None,
    ) -> Iterator[Annotation | Problem]:
        """Yield, for each source in order, an annotation with its k best tags, or why there is none.

        A source is a path, the bytes of a picture file, or ``PictureBytes`` (a name and bytes). A file is
        turned as its sidecar says. Pictures are described in parallel if the describer has several processes.
        Memory does not grow with their number. ``precision`` shows as many tags as possible of which this
        share is expected to be right. A tag above one that is shown is left out, and so are implied tags;
        ``parents`` lists them like others.
        ``progress`` is called with ("pictures", done, of).
        """
        check_sources(sources)
        check_k(k)
        check_k(region_k)
        self.check_precision(precision)
        for start in range(0, len(sources), CHUNK):
            part = [_as_turned(source) for source in sources[start : start + CHUNK]]
            report = None if progress is None else _shifted(progress, start, len(sources))
            found = self.describer.describe(part, progress=report)
            pictures = [one for one in found if not isinstance(one, Problem)]
            names = [name_of(source) for source in part]
            annotated = iter(self._annotate(pictures, k, region_k, precision, parents) if pictures else ())
            for name, one in zip(names, found, strict=True):
                yield one if isinstance(one, Problem) else Annotation(name, *next(annotated))

    def _annotate(
        self,
        described: list[QuantisedPicture],
        k: int,
        region_k: int,
        precision: float | None,
        parents: bool,
    ) -> Iterator[tuple[tuple[Guess, ...], tuple[Region, ...]]]:
        bags = self.describer.bags_of(described, [str(n) for n in range(len(described))])
        marginals, shares = _predict(self.model, bags)
        shares = shares if parents else self._levels.pushed(shares)
        probability, shown = self._levels.suggested(marginals, self._rule(precision), parents=parents)
        order = top_tags(probability, k)
        best, none, names = best_region_tags(shares, region_k), none_shares(shares), self.model.tag_names_

        def region(picture: QuantisedPicture, i: int, row: int) -> Region:
            tags = tuple((names[c], float(shares[row, c])) for c in best[row] if c >= 0)
            return Region(
                tags if parents else without_parents(tags),
                *picture.box_of(i),
                float(none[row]),
                picture.polygons_of(i),
            )

        for n, picture in enumerate(described):
            guesses = (
                Guess(names[c], float(probability[n, c]), bool(shown[n, c]))
                for c in order[n]
                if probability[n, c] > NEVER
            )
            first = int(bags.offsets[n])
            regions = (region(picture, i, first + i) for i in range(picture.n_regions))
            yield tuple(guesses), tuple(regions)

    def judge(self, bags: Bags, precision: float | None = None) -> tuple[Floats, Floats]:
        """Return the probability of each tag and whether it is worth showing, pictures × tags.

        ``precision`` is as in ``annotate``. A model that was trained on too few pictures to be calibrated
        gives its shares instead, and shows the tags that hold more than an even share of the regions.
        """
        self.check_precision(precision)
        probability = self._levels.raised(_probability(self.model, bags))
        return probability, self._levels.suggested(probability, self._rule(precision))[1]

    def _rule(self, precision: float | None) -> Callable[[Floats], Any]:
        return lambda probability: _shown(self.model, probability, precision)

    def check_precision(self, precision: float | None) -> None:
        """Raise ParameterError if the model cannot be asked for this precision; None is always possible."""
        if precision is None:
            return
        if self.model.calibration_ is None:
            raise ParameterError(
                "a precision needs calibrated probabilities, and this model has none, for too few pictures: "
                "train it on more, or ask for a number of tags."
            )
        self.model.calibration_.threshold(precision)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write describer and model into one file, safe to open from any source; ``tagmix.load`` reads it."""
        annotator_files.save(self.describer, self.model, self.card, Path(path), self.implied)


class Training(NamedTuple):
    """A trained annotator, its bags, unreadable pictures, and if asked the memory to learn on by."""

    annotator: Annotator
    bags: Bags
    problems: tuple[Problem, ...] = ()
    memory: Memory | None = None


def train(
    album: Album,
    describer: Describer | None = None,
    model: MixtureEstimator | None = None,
    *,
    progress: Progress | None = None,
) -> Training:
    """Learn words and tags from an album, by default as ``tagmix train`` does.

    A tag with levels is learnt together with those above it: pictures of "Places|Rome" are pictures of
    "Places".

    ``progress`` is called with (stage, done, of): the stages of ``Describer``, then those of
    ``ContextEMM.fit``.
    """
    if not album.tag_counts():
        raise AlbumError(
            "no picture of the album has a tag, so there is nothing to learn from: add keywords, or see "
            "`tagmix train --help` for the formats that have tags"
        )
    describer = (describer or Describer()).fit(album, progress=progress)
    whole, implied = with_levels(album)
    described = describer.transform(whole, progress=progress)
    return train_described(describer, described, model, album=album, implied=implied, progress=progress)


def with_levels(album: Album, given: Collection[str] | None = None) -> tuple[Album, frozenset[str]]:
    """Return the album with the tags above each tag, and those of them that nobody gave: the implied ones.

    ``given`` are the tags that were given, by default those of the album. An implied tag of all pictures with
    tags is left out: it tells nothing.
    """
    whole = album.with_parents()
    tagged, known = sum(bool(item.tags) for item in album), given or album.tag_counts().keys()
    implied = {tag: count for tag, count in whole.tag_counts().items() if tag not in known}
    everywhere = {tag for tag, count in implied.items() if count == tagged}
    items = (replace(item, tags=tuple(t for t in item.tags if t not in everywhere)) for item in whole)
    return replace(whole, items=tuple(items)), frozenset(implied.keys() - everywhere)


def train_described(
    describer: Describer,
    described: Described,
    model: MixtureEstimator | None = None,
    *,
    album: Album | None = None,
    implied: Collection[str] = (),
    remembering: bool = False,
    progress: Progress | None = None,
) -> Training:
    """Learn tags from an album that its describer has described.

    ``album`` is for the annotator's card; ``implied`` are the tags that it has only through tags below them.
    ``remembering`` keeps what ``continue_training`` needs, if the model can learn on.
    """
    fitted, memory = ContextEMM(n_jobs=-1) if model is None else model, None
    if remembering and isinstance(fitted, ContextEMM):
        learnt = fitted.learn(described.bags, progress=progress)
        with contextlib.suppress(ParameterError):  # then it learns as without being asked to remember
            fitted, memory = remember(fitted, learnt)
    else:
        fitted.fit(described.bags, progress=progress)
    card = None if album is None else card_of(album, described.bags, len(described.problems))
    return Training(Annotator(describer, fitted, card, implied), described.bags, described.problems, memory)


def _probability(model: MixtureEstimator, bags: Bags) -> Floats:
    """Return the probability of each tag per picture."""
    return (model.predict_proba if model.calibration_ is None else model.predict_marginals)(bags)


def _predict(model: MixtureEstimator, bags: Bags) -> tuple[Floats, Floats]:
    """Return the probability of each tag per picture, and the share of each tag per region."""
    if model.calibration_ is None:
        return model.predict_proba(bags), model.predict_regions(bags)
    return model.predict_both(bags)


def _shown(model: MixtureEstimator, probability: Floats, precision: float | None) -> Any:
    known = model.calibration_
    return probability > 1 / probability.shape[1] if known is None else known.shown(probability, precision)


def _as_turned(source: Source) -> Source:
    """Return a source, a file as its sidecar turns it."""
    return source if isinstance(source, tuple | bytes) else photo_source(Path(source))


def _shifted(progress: Progress, start: int, total: int) -> Progress:
    return lambda stage, done, of: progress(stage, start + done, total)
