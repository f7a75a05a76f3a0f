"""The use case of the shells: photos and a trained model in, tags out, for pictures and for regions."""

import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from tagmix import annotator_files
from tagmix.arrays import Floats
from tagmix.bags import Bags
from tagmix.datasets import Album, Item
from tagmix.errors import AlbumError
from tagmix.evaluation.metrics import top_tags
from tagmix.images.describe import Describer
from tagmix.images.sketch import Words
from tagmix.learners.emm import EMM
from tagmix.learners.tuning import Choice, choose_evidence, most_tried

# Photos described before their tags are inferred: bounds the memory, and costs no speed.
CHUNK = 256


class Guess(NamedTuple):
    """A tag of the whole picture, the probability that it is right, and whether it is worth showing."""

    tag: str
    probability: float
    shown: bool


class Region(NamedTuple):
    """A region: its best tags with their shares, its box (x, y, width, height) and area as shares."""

    tags: tuple[tuple[str, float], ...]
    box: tuple[float, float, float, float]
    area: float


class Annotation(NamedTuple):
    """What the model says about one photo: tags best first, regions in reading order."""

    image: Path
    tags: tuple[Guess, ...]
    regions: tuple[Region, ...]


class Annotator:
    """A describer and a model that fit each other: from photos to tags.

    ``problems_`` has a line for each photo of the last run that could not be read.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from tagmix.datasets import open_album
    >>> from tagmix.datasets.scenes import draw_album
    >>> from tagmix.images.describe import Describer
    >>> with TemporaryDirectory() as folder:
    ...     album = open_album(draw_album(folder, 12, seed=1, size=(80, 60)))
    ...     quick = Describer(n_words=20, n_patches=50, restarts=1)
    ...     annotator = train(album, quick, EMM(calibration_folds=2)).annotator
    ...     annotation = next(annotator.annotate([album[0].image], k=3))
    >>> len(annotation.tags), len(annotation.regions) > 1
    (3, True)
    """

    def __init__(self, describer: Describer, model: EMM) -> None:
        annotator_files.check_fit(describer, model)
        self.describer, self.model = describer, model

    @property
    def problems_(self) -> list[str]:
        """A line for each photo that was set aside in the last run."""
        return self.describer.problems_

    def annotate(
        self, photos: Sequence[str | os.PathLike[str]], k: int = 5, region_k: int = 3
    ) -> Iterator[Annotation]:
        """Yield an annotation for each photo that can be read, with its k best tags, in order.

        Photos are described in parallel if the describer has several processes. Memory does not grow
        with the number of photos.
        """
        problems: list[str] = []
        self.describer.problems_ = problems
        for start in range(0, len(photos), CHUNK):
            paths = [Path(photo) for photo in photos[start : start + CHUNK]]
            found = self.describer.describe(paths)
            problems += self.describer.problems_
            self.describer.problems_ = problems
            whole = [(path, words) for path, words in zip(paths, found, strict=True) if words is not None]
            if whole:
                yield from self._annotate(whole, k, region_k)

    def _annotate(self, described: list[tuple[Path, Words]], k: int, region_k: int) -> Iterator[Annotation]:
        items = [Item(path) for path, _ in described]
        bags = self.describer.bags_of(items, [words for _, words in described])
        if self.model.calibration_ is None:
            probability, shares = self.model.predict_proba(bags), self.model.predict_regions(bags)
        else:
            probability, shares = self.model.predict_both(bags)
        shown, order = self._shown(probability), top_tags(probability, k)
        best = top_tags(shares, region_k)
        names = self.model.tag_names_
        for n, (path, words) in enumerate(described):
            guesses = (Guess(names[c], float(probability[n, c]), bool(shown[n, c])) for c in order[n])
            rows = range(int(bags.offsets[n]), int(bags.offsets[n + 1]))
            regions = (
                Region(tuple((names[c], float(shares[r, c])) for c in best[r]), *words.place_of(i))
                for i, r in enumerate(rows)
            )
            yield Annotation(path, tuple(guesses), tuple(regions))

    def judge(self, bags: Bags) -> tuple[Floats, Floats]:
        """Return the probability of each tag and whether it is worth showing, pictures × tags.

        A model that was trained on too few pictures to be calibrated gives its shares instead, and shows
        what holds more than its part of the regions.
        """
        calibrated = self.model.calibration_ is not None
        probability = (self.model.predict_marginals if calibrated else self.model.predict_proba)(bags)
        return probability, self._shown(probability)

    def _shown(self, probability: Floats) -> Any:
        known = self.model.calibration_
        return probability > 1 / probability.shape[1] if known is None else probability >= known.thresholds

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write words and model into one file, safe to open from a stranger; ``tagmix.load`` reads it."""
        annotator_files.save(self.describer, self.model, Path(path))


class Training(NamedTuple):
    """A trained annotator, the bags it learnt from, and how κ was chosen (None if it was given)."""

    annotator: Annotator
    bags: Bags
    choice: Choice | None


def train(
    album: Album,
    describer: Describer,
    model: EMM,
    *,
    evidence: float | dict[str, float] | None = None,
    progress: Callable[[str, int, int], None] | None = None,
) -> Training:
    """Learn words and tags from an album; without ``evidence``, κ is chosen on held-out pictures.

    ``progress`` is called with (stage, done, of).
    """
    if not album.tag_counts():
        raise AlbumError(
            "no picture of the album has a tag, so there is nothing to learn from: add keywords, or see "
            "`tagmix train --help` for the formats that have tags"
        )
    tell = progress or (lambda stage, done, of: None)
    describer.progress = tell
    bags = describer.fit(album).transform(album)
    choice = None
    if evidence is None:
        most = most_tried(model, bags)
        choice = choose_evidence(model, bags, progress=lambda tried: tell("evidence", tried, most))
        evidence = choice.evidence
    tell("model", 0, 1)
    model.set_params(evidence=evidence).fit(bags)
    tell("model", 1, 1)
    return Training(Annotator(describer, model), bags, choice)
