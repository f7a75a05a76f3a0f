"""What a fit leaves for learning from verdicts: what it chose, and what pictures and verdicts determine."""

from typing import NamedTuple

from tagmix.arrays import Floats, Ints
from tagmix.errors import ParameterError
from tagmix.learners.context.expected import ExpectedTags
from tagmix.learners.context_emm import ContextEMM
from tagmix.learners.continued.biases import Shared
from tagmix.learners.continued.columns import Columns
from tagmix.learners.continued.instances import Kept
from tagmix.learners.continued.mixture import Regions, Sums
from tagmix.learners.continued.verdicts import Codes
from tagmix.learners.pictures.kernel_ridge import KernelRidge
from tagmix.model.given import RegionModel


class Chosen(NamedTuple):
    """What ``fit`` chose for all tags together, and where its columns and its mixture ended.

    ``columns`` are those of the scorer and of the scorers of folds along ``axes`` (None: words); ``pool`` and
    ``calibration`` the shared parts; ``first`` those of the pool that ``ExpectedTags`` reads, empty without
    it; ``powers`` those of the rare-tag weights; ``regions`` the mixture, and ``sums`` its statistics.
    """

    axes: Floats | None
    columns: Columns
    pool: list[Shared]
    calibration: list[Shared]
    powers: tuple[float, float]
    regions: RegionModel
    sums: Sums
    first: list[Shared]


class Memory(NamedTuple):
    """The training pictures of a model, and what an update reads of them.

    ``ids`` and ``prints`` tell pictures apart, ``codes`` are the verdicts, ``folds`` and ``halves`` the folds
    of the pool and of the calibration. ``weights`` are the columns of now, ``held`` and ``pooled`` the scores
    of training pictures by the scorers of folds and by the scorer; ``sums`` the statistics of the mixture.
    """

    chosen: Chosen
    ids: tuple[str, ...]
    prints: tuple[str, ...]
    codes: Codes
    folds: Ints
    halves: Ints
    factor: Floats
    kept: Kept
    regions: Regions
    weights: Floats
    held: Floats
    pooled: Floats
    sums: Sums


def checked_ridge(model: ContextEMM, n_pictures: int) -> KernelRidge:
    """Return the expert of a model that can learn on from so many pictures, or raise ParameterError."""
    first, *further = model.prior_.experts
    if type(first) is not KernelRidge or [type(one) for one in further] not in ([], [ExpectedTags]):
        raise ParameterError(
            'learning on needs the context "kernel" or ("kernel", "expected"), this model has another: train '
            "again instead, or with the default context."
        )
    both = (first, *expected_of(model))
    most = min(one.max_landmarks for one in both)
    if n_pictures > most or any(len(one.coefficients_) < len(one.leverages_) for one in both):
        raise ParameterError(
            f"learning on is exact up to {most:,} pictures (max_landmarks), got {n_pictures:,}: train again "
            "instead."
        )
    return first


def expected_of(model: ContextEMM) -> tuple[ExpectedTags, ...]:
    """Return the expert of a model that reads what the others expect, if it has one."""
    return tuple(one for one in model.prior_.experts if isinstance(one, ExpectedTags))
