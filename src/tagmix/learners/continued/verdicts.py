"""What is known of each (picture, tag) of the training pictures, as one number, and corrections of it."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from tagmix.arrays import Floats
from tagmix.bags import Bags
from tagmix.errors import ParameterError
from tagmix.learners.targets import Targets, targets_of

Verdict: TypeAlias = Literal["yes", "no", "unknown"]
# Pictures × tags: absent, given, rejected or unknown.
Codes: TypeAlias = NDArray[np.int8]
ABSENT, YES, NO, UNKNOWN = 0, 1, 2, 3
CODE_OF: Mapping[str, int] = {"yes": YES, "no": NO, "unknown": UNKNOWN}


class Correction(NamedTuple):
    """What somebody said of a tag of a training picture: yes, no, or that it is unknown."""

    picture: str
    tag: str
    verdict: Verdict


def codes_of(bags: Bags) -> Codes:
    """Return the verdicts of bags, pictures × tags.

    >>> bags = Bags(np.ones((1, 1), int), [0, 1], [[1, 0, 0, 0]], rejected=[[0, 1, 0, 0]])
    >>> codes_of(bags).tolist()
    [[1, 2, 0, 0]]
    """
    codes = bags.captions.toarray().astype(np.int8)
    for matrix, code in ((bags.rejected, NO), (bags.unknown, UNKNOWN)):
        if matrix is not None:
            codes[matrix.nonzero()] = code
    return codes


def labelled(codes: Codes, names: Sequence[str]) -> Bags:
    """Return bags with these verdicts and no regions: what reads labels alone reads these.

    >>> labelled(np.array([[1, 2], [3, 0]], dtype=np.int8), ["sky", "sea"])
    Bags(2 pictures, 0 regions, 2 tags, 1 rejected, 1 unknown; none: 1 word)
    """
    nothing = {"none": np.zeros((0, 1), dtype=np.int64)}
    return Bags(nothing, np.zeros(len(codes) + 1, dtype=np.int64), **labels_of(codes, names))


def labels_of(codes: Codes, names: Sequence[str]) -> dict[str, Any]:
    """Return the labels as keyword arguments of ``Bags``."""
    rejected, unknown = (csr_array((codes == code).astype(np.uint8)) for code in (NO, UNKNOWN))
    tags = csr_array((codes == YES).astype(np.uint8))
    return {"tags": tags, "tag_names": list(names), "rejected": rejected, "unknown": unknown}


def targets(codes: Codes, absent: float = 0.0) -> Targets:
    """Return ``targets_of`` bags with these verdicts.

    >>> targets(np.array([[0, 1, 2, 3]], dtype=np.int8), 0.1).y.tolist()
    [[0.1, 1.0, 0.0, 0.0]]
    """
    return targets_of(labelled(codes, [f"tag{i}" for i in range(codes.shape[1])]), absent)


def given(codes: Codes) -> Floats:
    """Return 1 for tags that are given, pictures × tags."""
    y: Floats = (codes == YES).astype(np.float64)
    return y


def corrected(
    codes: Codes, ids: Sequence[str], names: Sequence[str], corrections: Sequence[Correction]
) -> Codes:
    """Return the verdicts after these corrections; the last one of a pair counts."""
    row_of, column_of = ({name: i for i, name in enumerate(all_)} for all_ in (ids, names))
    changed = codes.copy()
    for picture, tag, verdict in corrections:
        if picture not in row_of:
            raise ParameterError(
                f"corrections must be of pictures that the model learnt from, got {picture!r:.80}: pass it "
                "with the new pictures."
            )
        if tag not in column_of or verdict not in CODE_OF:
            raise ParameterError(
                f"a correction must be yes, no or unknown of a tag of the model, got {verdict!r:.20} of "
                f"{tag!r:.60}: train again to learn other tags."
            )
        changed[row_of[picture], column_of[tag]] = CODE_OF[verdict]
    return changed
