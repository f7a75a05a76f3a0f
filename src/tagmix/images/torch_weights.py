"""Weights out of a PyTorch file of the old kind, without PyTorch and without executing anything.

Such a file is a row of pickles (a magic number, a version, facts of the machine, the weights by name, the
keys of the storages) and then the storages' raw numbers. A pickle may call whatever it names; here it can
name three things, none of which does anything.
"""

import io
import math
import pickle
from collections import OrderedDict
from operator import index
from typing import IO, Any, NamedTuple

import numpy as np
from numpy.lib.stride_tricks import as_strided
from numpy.typing import NDArray

from tagmix.errors import NetworkError

MAGIC = 0x1950A86A20F9469CFC6C
TYPES = {"FloatStorage": "<f4", "LongStorage": "<i8"}


class _Tensor(NamedTuple):
    """A tensor as the pickle describes it: a piece of a storage, in elements."""

    storage: Any
    start: Any
    shape: Any
    steps: Any


class _Storage(NamedTuple):
    kind: str
    key: str


def _tensor(storage: Any, start: Any, shape: Any, steps: Any, *_: Any) -> _Tensor:
    return _Tensor(storage, start, shape, steps)


class _Reader(pickle.Unpickler):
    """A reader of pickles that resolves three names and refuses all others."""

    def find_class(self, module: str, name: str) -> Any:
        """Return what the name stands for, if it is one of the three."""
        if (module, name) == ("collections", "OrderedDict"):
            return OrderedDict
        if (module, name) == ("torch._utils", "_rebuild_tensor_v2"):
            return _tensor
        if module == "torch" and name in TYPES:
            return name
        raise pickle.UnpicklingError(f"it names {module}.{name}")

    def persistent_load(self, pid: Any) -> _Storage:
        """Return the storage of this id; its numbers come later."""
        _, kind, key, *_ = pid
        if not isinstance(kind, str) or not isinstance(key, str):
            raise pickle.UnpicklingError("a storage must have a type and a key")
        return _Storage(kind, key)


def read_weights(content: bytes) -> dict[str, NDArray[Any]]:
    """Return the weights by name; NetworkError if the bytes are anything but weights."""
    stream = io.BytesIO(content)
    try:
        _check_magic(*(_Reader(stream).load() for _ in range(3)))
        named, keys = _Reader(stream).load(), _Reader(stream).load()
        tensors = {str(name): one for name, one in named.items() if isinstance(one, _Tensor)}
        kinds = {one.storage.key: one.storage.kind for one in tensors.values()}
        storages = {key: _numbers(stream, kinds[key]) for key in keys}
        return {name: _piece(one, storages[one.storage.key]) for name, one in tensors.items()}
    except Exception as error:  # an untrusted pickle can fail in any way
        raise NetworkError(
            f"a PyTorch file of weights was expected, this is none ({type(error).__name__}: {error!s:.100}): "
            "download it again."
        ) from error


def _check_magic(magic: object, *_: object) -> None:
    if magic != MAGIC:
        raise ValueError("it does not begin as such files do")


def _numbers(stream: IO[bytes], kind: str) -> NDArray[Any]:
    """Return the next storage: its length and its numbers."""
    length, dtype = int.from_bytes(stream.read(8), "little", signed=True), np.dtype(TYPES[kind])
    raw = stream.read(length * dtype.itemsize) if length >= 0 else b""
    if length < 0 or len(raw) != length * dtype.itemsize:
        raise ValueError("a storage is cut off")
    return np.frombuffer(raw, dtype)


def _piece(tensor: _Tensor, storage: NDArray[Any]) -> NDArray[Any]:
    """Return a tensor's numbers, which must lie inside of the storage and be no more than it has."""
    shape, steps = tuple(map(index, tensor.shape)), tuple(map(index, tensor.steps))
    start = index(tensor.start)
    last = start + sum((n - 1) * step for n, step in zip(shape, steps, strict=True))
    if min((start, *steps)) < 0 or min(shape, default=1) < 1:
        raise ValueError("a tensor is empty or runs backwards")
    if last >= len(storage) or math.prod(shape) > len(storage):
        raise ValueError("a tensor lies outside of its storage")
    return as_strided(storage[start:], shape, [step * storage.itemsize for step in steps]).copy()
