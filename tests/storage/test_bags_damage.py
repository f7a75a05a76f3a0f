"""Files of bags whose checksum is right and whose parts do not fit together."""

import numpy as np
import pytest

import tagmix
from tagmix import Bags, storage
from tagmix.errors import ModelFileError


def refusal(path, **arrays):
    """Return why a file of bags with these arrays in place of its own is refused."""
    bags = Bags(np.ones((2, 3), int), [0, 1, 2], [[1, 0], [0, 1]], rejected=[[0, 1], [0, 0]])
    tagmix.save(bags, path)
    contents = storage.read(path)
    storage.write(path, contents.kind, contents.fields, {**contents.arrays, **arrays})
    with pytest.raises(ModelFileError) as caught:
        tagmix.load(path)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_a_rejection_that_no_row_holds_is_refused(tmp_path):
    assert "must hold every entry" in refusal(
        tmp_path / "b", **{"rejected.indptr": np.array([0, 0, 0], np.int32)}
    )


def test_indices_that_are_not_whole_are_refused(tmp_path):
    assert "must be whole numbers" in refusal(tmp_path / "b", **{"rejected.indices": np.array([0.5])})
