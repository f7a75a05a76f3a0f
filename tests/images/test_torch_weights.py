"""Weights out of PyTorch files: the numbers as they were, and nothing that a pickle asks for."""

import io
import os
import pickle
import sys
from collections import OrderedDict
from types import ModuleType

import numpy as np
import pytest

from tagmix import NetworkError
from tagmix.images.torch_weights import MAGIC, read_weights


class Tensor:
    """Stands for a tensor: pickled as PyTorch does, a call of a name with a storage and a place in it."""

    def __init__(self, key, kind, length, start, shape, steps):
        self.storage = Storage(kind, key, length)
        self.place = (start, shape, steps, False, OrderedDict())

    def __reduce__(self):
        return sys.modules["torch._utils"]._rebuild_tensor_v2, (self.storage, *self.place)


class Storage:
    def __init__(self, kind, key, length):
        self.kind, self.key, self.length = kind, key, length


class Pickler(pickle.Pickler):
    def persistent_id(self, thing):
        if not isinstance(thing, Storage):
            return None
        return ("storage", getattr(sys.modules["torch"], thing.kind), thing.key, "cpu", thing.length, None)


@pytest.fixture(autouse=True)
def torch(monkeypatch):
    """Give the names that such a pickle calls, without PyTorch."""
    package, utils = ModuleType("torch"), ModuleType("torch._utils")
    for kind in ("FloatStorage", "LongStorage", "HalfStorage"):
        setattr(package, kind, type(kind, (), {"__module__": "torch"}))

    def _rebuild_tensor_v2(*_):
        raise AssertionError("never called")

    _rebuild_tensor_v2.__module__, _rebuild_tensor_v2.__qualname__ = "torch._utils", "_rebuild_tensor_v2"
    utils._rebuild_tensor_v2 = _rebuild_tensor_v2
    monkeypatch.setitem(sys.modules, "torch", package)
    monkeypatch.setitem(sys.modules, "torch._utils", utils)


FLOATS = np.arange(12, dtype="<f4") / 7
COUNT = np.array([41], dtype="<i8")


def stream(weights, keys=("a", "b"), head=(MAGIC, 1001, {"little_endian": True}), storages=(FLOATS, COUNT)):
    file = io.BytesIO()
    for part in (*head, weights, list(keys)):
        Pickler(file, protocol=2).dump(part)
    for numbers in storages:
        file.write(len(numbers).to_bytes(8, "little") + numbers.tobytes())
    return file.getvalue()


def floats(start=0, shape=(3, 4), steps=(4, 1), kind="FloatStorage"):
    return Tensor("a", kind, 12, start, shape, steps)


def named(*tensors):
    return OrderedDict((f"w{i}", tensor) for i, tensor in enumerate(tensors))


def test_weights_come_back_as_they_were():
    count = Tensor("b", "LongStorage", 1, 0, (), ())
    found = read_weights(stream(named(floats(), floats(2, (2, 3), (1, 2)), count)))
    np.testing.assert_array_equal(found["w0"], FLOATS.reshape(3, 4))
    np.testing.assert_array_equal(found["w1"], FLOATS[2:8].reshape(3, 2).T)
    assert found["w2"] == 41
    assert found["w0"].dtype == np.float32


class Hostile:
    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.mkdir, (str(self.path),)


@pytest.mark.parametrize("place", range(6))
def test_a_pickle_that_wants_to_execute_something_is_refused_wherever_it_hides(tmp_path, place):
    target = tmp_path / "executed"
    hostile = Hostile(target)
    head, weights, keys = [MAGIC, 1001, {}], named(floats()), ["a", "b"]
    if place < 3:
        head[place] = hostile
    elif place == 3:
        weights["w1"] = hostile
    elif place == 4:
        weights = hostile
    else:
        keys = [hostile]
    content = stream(weights, keys, head)
    with pytest.raises(NetworkError, match=r"it names (posix|nt)\.mkdir"):
        read_weights(content)
    assert not target.exists()
    pickle.loads(pickle.dumps(hostile))  # which would have been executed by any other reader
    assert target.exists()


@pytest.mark.parametrize(
    "tensor",
    [
        floats(start=1),
        floats(start=-1),
        floats(shape=(4, 4)),
        floats(steps=(5, 1)),
        floats(start=11, steps=(-4, -1)),
        floats(shape=(10**9, 10**9), steps=(0, 0)),
        floats(shape=(0, 4)),
        floats(shape=(3,)),
        floats(shape=("3", 4)),
        floats(start=2.0),
        floats(kind="HalfStorage"),
        Tensor("c", "FloatStorage", 12, 0, (3, 4), (4, 1)),
    ],
)
def test_a_tensor_that_does_not_lie_in_its_storage_is_refused(tensor):
    with pytest.raises(NetworkError) as caught:
        read_weights(stream(named(tensor)))
    assert len(str(caught.value).splitlines()) == 1


def test_files_that_are_cut_or_something_else_are_refused():
    whole = stream(named(floats()))
    for content in (
        b"",
        b"PK\x03\x04",
        whole[:-20],
        whole[:100],
        stream(named(floats()), head=(7, 1001, {})),
    ):
        with pytest.raises(NetworkError):
            read_weights(content)


def test_a_storage_that_promises_more_than_the_file_has_takes_no_memory():
    content = stream(named(floats()), storages=()) + (2**62).to_bytes(8, "little")
    with pytest.raises(NetworkError, match="this is none"):
        read_weights(content)
