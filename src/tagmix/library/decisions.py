"""Questions to a human while photos are tagged, and the answers."""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple, TypeAlias

from tagmix.library.events import Likely


class Proposal(NamedTuple):
    """A photo with the tags to decide on, and those it has already."""

    path: Path
    new: Likely
    present: Likely


class Decision(NamedTuple):
    """Which of the tags of a proposal a human accepts and rejects; nothing is said of the others."""

    accepted: tuple[str, ...] = ()
    rejected: tuple[str, ...] = ()


class StopAsking(Exception):  # noqa: N818 (an answer, not an error)
    """Raised by a ``Decide`` to end the run: what was decided before stands."""


# None leaves the photo as it is.
Decide: TypeAlias = Callable[[Proposal], Decision | None]
