"""What a learner keeps in a file: each fitted attribute by name, shape, type and range.

A learner declares ``SCHEMA``, a mapping from fitted attribute to one of the fields below; ``serialise``
writes and reads by it. A file may come from a stranger: whatever is not declared is refused, and so is every
array of another shape, type or range than training can produce. Dimensions have names: "tags" is the number
of tags, "components" the same and a background if there is one, "view" the width of the view that a
``ByName`` entry is named after, any other name must mean one number throughout the learner, and only one that
ends in "?" may be 0.
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, Protocol

import numpy as np
from scipy.sparse import csr_array

from tagmix.arrays import check_csr, is_sparse
from tagmix.learners.checks import is_number

LARGEST = 1e60
Arrays = dict[str, Any]
Dimensions = dict[str, int]


class Field(Protocol):
    """How one attribute is stored: as plain JSON values, and as arrays named after its path."""

    def pack(self, value: Any, path: str, arrays: Arrays) -> Any:
        """Return plain values; put arrays under ``path``."""

    def unpack(self, plain: Any, path: str, arrays: Mapping[str, Any], sizes: Dimensions) -> Any:
        """Return the value; raise ValueError where it is not what training produces."""


class Array(NamedTuple):
    """An array of named or fixed dimensions, of doubles or, with ``whole``, of integers."""

    shape: tuple[str | int, ...] | None
    low: float = -LARGEST
    high: float = LARGEST
    whole: bool = False

    def pack(self, value: Any, path: str, arrays: Arrays) -> None:
        """Store the array itself."""
        arrays[path] = np.asarray(value)

    def unpack(self, plain: Any, path: str, arrays: Mapping[str, Any], sizes: Dimensions) -> Any:
        """Return the array, checked."""
        array = arrays[path]
        if self.whole and (array.dtype.kind not in "iu" or array.itemsize < 4):
            raise ValueError(f"{path:.60} must be whole numbers of four or eight bytes, got {array.dtype}")
        if not self.whole and array.dtype != np.float64:
            raise ValueError(f"{path:.60} must be float64, got {array.dtype}")
        if self.shape is not None:
            _check_shape(path, array.shape, self.shape, sizes)
        if not np.all((array >= self.low) & (array <= self.high)):  # nan is not
            raise ValueError(f"{path:.60} must be from {self.low:g} to {self.high:g}")
        return array


class StoredMatrix(NamedTuple):
    """A matrix of doubles, dense or in compressed sparse rows; a dimension None may be anything."""

    shape: tuple[str | None, str | None]
    low: float = -LARGEST
    high: float = LARGEST

    def pack(self, value: Any, path: str, arrays: Arrays) -> list[int] | None:
        """Store the matrix, or its sparse parts; return the shape of a sparse one."""
        if not is_sparse(value):
            arrays[path] = np.asarray(value)
            return None
        for part in ("data", "indices", "indptr"):
            arrays[f"{path}.{part}"] = getattr(value, part)
        return [int(size) for size in value.shape]

    def unpack(self, plain: Any, path: str, arrays: Mapping[str, Any], sizes: Dimensions) -> Any:
        """Return the matrix, every index checked."""
        if plain is None:
            matrix: Any = Array(None, self.low, self.high).unpack(None, path, arrays, sizes)
        else:
            data = Array(None, self.low, self.high).unpack(None, f"{path}.data", arrays, sizes)
            indices, indptr = (
                Array(None, 0, 2**62, whole=True).unpack(None, f"{path}.{part}", arrays, sizes)
                for part in ("indices", "indptr")
            )
            if not all(array.ndim == 1 for array in (data, indices, indptr)) or len(indptr) - 1 != plain[0]:
                raise ValueError(f"{path:.60} must have one start per row, and one more")
            if indptr[-1] != len(data):  # SciPy would cut the rest off
                raise ValueError(f"{path:.60} must have {len(data)} entries, got {indptr[-1]}")
            matrix = csr_array((data, indices, indptr), shape=tuple(plain))
            check_csr(matrix)
        named = tuple(n if name is None else name for n, name in zip(matrix.shape, self.shape, strict=True))
        _check_shape(path, matrix.shape, named, sizes)
        return matrix


def _check_shape(path: str, got: tuple[int, ...], wanted: tuple[str | int, ...], sizes: Dimensions) -> None:
    fits = len(got) == len(wanted)
    for size, name in zip(got, wanted, strict=False):
        expected = name if isinstance(name, int) else sizes.setdefault(name, size)
        fits = fits and size == expected and (size > 0 or str(name).endswith("?"))
    if not fits:
        raise ValueError(f"{path:.60} must have the shape {wanted}, got {got}")


class Number(NamedTuple):
    """A number in a range."""

    low: float = -LARGEST
    high: float = LARGEST
    whole: bool = False

    def pack(self, value: Any, path: str, arrays: Arrays) -> float | int:
        """Return it as a plain number."""
        return int(value) if self.whole else float(value)

    def unpack(self, plain: Any, path: str, arrays: Mapping[str, Any], sizes: Dimensions) -> Any:
        """Return the number, checked."""
        if not is_number(plain, self.low, self.high, self.whole):
            raise ValueError(
                f"{path:.60} must be a number from {self.low:g} to {self.high:g}, got {plain!r:.60}"
            )
        return plain if self.whole else float(plain)  # NumPy has no integers beyond 64 bits


class Dimension(NamedTuple):
    """The number of tags, or one more with a background; it becomes a dimension of what follows."""

    name: str

    def pack(self, value: Any, path: str, arrays: Arrays) -> int:
        """Return it as a plain number."""
        return int(value)

    def unpack(self, plain: Any, path: str, arrays: Mapping[str, Any], sizes: Dimensions) -> int:
        """Return the number, checked."""
        sizes[self.name] = Number(sizes["tags"], sizes["tags"] + 1, whole=True).unpack(
            plain, path, arrays, sizes
        )
        return sizes[self.name]


class Flag(NamedTuple):
    """True or False."""

    def pack(self, value: Any, path: str, arrays: Arrays) -> bool:
        """Return it as a plain value."""
        return bool(value)

    def unpack(self, plain: Any, path: str, arrays: Mapping[str, Any], sizes: Dimensions) -> bool:
        """Return the flag, checked."""
        if not isinstance(plain, bool):
            raise TypeError(f"{path:.60} must be true or false, got {plain!r:.60}")
        return plain


class Choices(NamedTuple):
    """A tuple of words, each one of those allowed at its place."""

    allowed: tuple[tuple[str, ...], ...]

    def pack(self, value: Any, path: str, arrays: Arrays) -> list[str]:
        """Return the words."""
        return list(value)

    def unpack(self, plain: Any, path: str, arrays: Mapping[str, Any], sizes: Dimensions) -> tuple[str, ...]:
        """Return the words, checked."""
        for word, allowed in zip(plain, self.allowed, strict=True):
            if word not in allowed:
                raise ValueError(f"{path:.60} must be one of {', '.join(allowed)}, got {word!r:.60}")
        return tuple(plain)


class Maybe(NamedTuple):
    """A field, or None."""

    field: Any

    def pack(self, value: Any, path: str, arrays: Arrays) -> Any:
        """Return None, or the packed value in a list."""
        return None if value is None else [self.field.pack(value, path, arrays)]

    def unpack(self, plain: Any, path: str, arrays: Mapping[str, Any], sizes: Dimensions) -> Any:
        """Return None or the value."""
        if plain is None:
            return None
        (one,) = plain
        return self.field.unpack(one, path, arrays, sizes)


class ByName(NamedTuple):
    """A mapping from names to one field; ``key`` makes names of plain text, ``view`` the view of a name."""

    field: Any
    key: Callable[[str], Any] = str
    view: Callable[[str], str] = str

    def pack(self, value: Mapping[Any, Any], path: str, arrays: Arrays) -> list[list[Any]]:
        """Return pairs of name and packed value: a list, because a container sorts names."""
        return [
            [str(name), self.field.pack(one, f"{path}.{i}", arrays)]
            for i, (name, one) in enumerate(value.items())
        ]

    def unpack(self, plain: Any, path: str, arrays: Mapping[str, Any], sizes: Dimensions) -> dict[Any, Any]:
        """Return the mapping."""
        found: dict[Any, Any] = {}
        for i, (name, one) in enumerate(plain):
            if not isinstance(name, str):
                raise TypeError(f"names in {path:.60} must be text, got {name!r:.60}")
            inside = {**sizes, "view": sizes.get(f"width {self.view(name)}", -1)}
            found[self.key(name)] = self.field.unpack(one, f"{path}.{i}", arrays, inside)
            sizes |= {name: size for name, size in inside.items() if name != "view"}
        if len(found) != len(plain):
            raise ValueError(f"names in {path:.60} must differ")
        return found


class Several(NamedTuple):
    """A tuple of one field."""

    field: Any

    def pack(self, value: Any, path: str, arrays: Arrays) -> list[Any]:
        """Return the packed values."""
        return [self.field.pack(one, f"{path}.{i}", arrays) for i, one in enumerate(value)]

    def unpack(self, plain: Any, path: str, arrays: Mapping[str, Any], sizes: Dimensions) -> tuple[Any, ...]:
        """Return the values."""
        return tuple(self.field.unpack(one, f"{path}.{i}", arrays, sizes) for i, one in enumerate(plain))


class Part(NamedTuple):
    """An object made of fields, of one of several kinds: name → (class, its fields, a check, what is added).

    ``extra`` are arguments that a file does not hold, such as the kernels to compute with.
    """

    kinds: Mapping[str, "Kind"]

    def pack(self, value: Any, path: str, arrays: Arrays) -> dict[str, Any]:
        """Return the kind and the packed fields."""
        name = next(name for name, kind in self.kinds.items() if type(value) is kind.make)
        fields = self.kinds[name].fields
        packed = {
            key: field.pack(getattr(value, key), f"{path}.{key}", arrays) for key, field in fields.items()
        }
        return {"kind": name, "fields": packed}

    def unpack(self, plain: Any, path: str, arrays: Mapping[str, Any], sizes: Dimensions) -> Any:
        """Return the object, every field checked, and then all of it."""
        kind, stored = self.kinds[plain["kind"]], plain["fields"]
        if not set(kind.fields) - kind.newer <= set(stored) <= set(kind.fields):
            raise ValueError(f"{path:.60} must have the fields {sorted(kind.fields)}")
        inside = dict(sizes) if kind.own_dimensions else sizes
        values = {
            key: field.unpack(stored.get(key), f"{path}.{key}", arrays, inside)
            for key, field in kind.fields.items()
        }
        kind.check(values)
        return kind.make(**values, **kind.extra())


class Kind(NamedTuple):
    """One kind of ``Part``; ``newer`` names fields of ``Maybe`` that older files lack."""

    make: Any
    fields: Mapping[str, Any]
    check: Callable[[dict[str, Any]], None] = lambda values: None
    extra: Callable[[], dict[str, Any]] = dict
    own_dimensions: bool = False
    newer: frozenset[str] = frozenset()
