"""A memory as plain fields and arrays, and back, every part checked: a file may come from a stranger."""

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from tagmix.arrays import Floats, check_csr, is_sparse
from tagmix.learners.context_emm import ContextEMM
from tagmix.learners.continued.biases import Shared
from tagmix.learners.continued.columns import Columns
from tagmix.learners.continued.instances import Kept
from tagmix.learners.continued.memory import Chosen, Memory, checked_ridge, expected_of
from tagmix.learners.continued.mixture import Regions, Sums
from tagmix.learners.continued.verdicts import UNKNOWN
from tagmix.learners.schema import LARGEST, Arrays
from tagmix.learners.stored_parts import REGION_MODEL

KIND = "Training"
DIGEST = 16
MOST_FOLDS = 100


def packed(memory: Memory) -> tuple[dict[str, Any], Arrays]:
    """Return the fields and arrays that a memory is stored as: half of the factor, the rest as it is."""
    chosen, same = memory.chosen, ("codes", "folds", "halves", "weights", "held", "pooled")
    arrays: Arrays = {name: getattr(memory, name) for name in same}
    arrays["ids"] = np.frombuffer(json.dumps(list(memory.ids)).encode(), dtype=np.uint8)
    arrays["prints"] = np.frombuffer(bytes.fromhex("".join(memory.prints)), np.uint8).reshape(-1, DIGEST)
    arrays["factor"] = np.concatenate([row[: n + 1] for n, row in enumerate(memory.factor)])
    arrays |= {"kept.starts": memory.kept.starts, "regions.offsets": memory.regions.offsets}
    arrays |= {f"columns.{name}": part for name, part in chosen.columns._asdict().items()}
    arrays |= {} if chosen.axes is None else {"axes": chosen.axes}
    fields: dict[str, Any] = {
        "powers": list(chosen.powers),
        "kept": _pack_rows("kept.rows", memory.kept.rows, arrays),
    }
    names = list(memory.regions.views)
    fields["views"] = [
        [name, _pack_rows(f"regions.{i}", memory.regions.views[name], arrays)] for i, name in enumerate(names)
    ]
    for i, name in enumerate(names):
        arrays |= {f"sums.{i}": memory.sums[name], f"sums.fit.{i}": chosen.sums[name]}
    fields["mixture"] = REGION_MODEL.pack(chosen.regions, "mixture", arrays)
    for what, shared in (("pool", chosen.pool), ("calibration", chosen.calibration), ("first", chosen.first)):
        fields[what] = [_pack_shared(f"{what}.{i}", own, arrays) for i, own in enumerate(shared)]
    return fields, arrays


def unpacked(fields: Any, arrays: Mapping[str, Any], model: ContextEMM) -> Memory:
    """Return the memory of a model, every part checked; raise what a wrong part leads to."""
    reader = _Reader(fields, arrays, model)
    memory = reader.memory()
    spare = set(arrays) - reader.read
    if spare:
        raise ValueError(f"a memory has no array {min(spare)!r:.60}")
    return memory


def _pack_rows(path: str, rows: Any, arrays: Arrays) -> int | None:
    """Store a matrix; return the width of a sparse one."""
    if not is_sparse(rows):
        arrays[path] = rows
        return None
    arrays |= {f"{path}.{part}": getattr(rows, part) for part in ("data", "indices", "indptr")}
    return int(rows.shape[1])


def _pack_shared(path: str, shared: Shared, arrays: Arrays) -> list[float]:
    own = shared._asdict()
    arrays |= {f"{path}.{name}": part for name, part in own.items() if name not in ("centre", "spread")}
    return [shared.centre, shared.spread]


class _Reader:
    """Reads the parts of a memory, and notes which arrays were read."""

    def __init__(self, fields: Any, arrays: Mapping[str, Any], model: ContextEMM) -> None:
        self.fields, self.arrays, self.model, self.read = fields, arrays, model, set[str]()
        self.n_tags = len(model.tag_names_)
        self.n = len(self._raw("codes"))

    def memory(self) -> Memory:
        """Return the memory."""
        n, t = self.n, self.n_tags
        chosen = self._chosen()
        folds = chosen.columns.weights.shape[0] - 1
        kept = Kept(self._rows("kept.rows", self.fields["kept"], chosen.columns.weights.shape[1] - 1),
                    self._starts("kept.starts"))  # fmt: skip
        regions = self._regions(chosen)
        if (
            kept.rows.shape[0] != kept.starts[-1]
            or (np.diff(kept.starts) != np.diff(regions.offsets) + 1).any()
        ):
            raise ValueError("a memory must have one row per region and one per picture")
        sums = {
            name: self._floats(f"sums.{i}", own.shape) for i, (name, own) in enumerate(chosen.sums.items())
        }
        return Memory(
            chosen, self._ids(), self._prints(), self._whole("codes", (n, t), UNKNOWN).astype(np.int8),
            self._whole("folds", (n,), folds - 1), self._whole("halves", (n,), len(chosen.calibration) - 2),
            self._factor(), kept, regions, self._floats("weights", chosen.columns.weights.shape),
            self._floats("held", (n, t)), self._floats("pooled", (n, t)), sums,
        )  # fmt: skip

    def _chosen(self) -> Chosen:
        scorer = self.model.prior_.scorer
        width, t = sum(scorer.widths_.values()), self.n_tags
        axes = None
        if scorer.scaling_:
            axes = self._floats("axes", (width, min(width, self._raw("axes").shape[-1])))
            width = axes.shape[1]
        shape = (len(self._raw("columns.weights")), width + 1, t)
        if not 2 <= shape[0] - 1 <= MOST_FOLDS:
            raise ValueError(f"a memory must have 2 to {MOST_FOLDS} folds, got {shape[0] - 1}")
        medians = self._floats("columns.medians", shape[:1], 0.5)
        columns = Columns(
            self._floats("columns.weights", shape), self._floats("columns.tilts", shape), medians
        )
        n_expected = len(expected_of(self.model))
        pool, calibration = (
            self._shared("pool", 3 + 2 * n_expected, shape[0]),
            self._shared("calibration", 1, 3),
        )
        first = self._shared("first", 3, shape[0]) if n_expected else []
        a, b = (float(power) for power in self.fields["powers"])
        if not (abs(a) <= 10 and abs(b) <= 10):
            raise ValueError(f"powers must be at most 10, got {a}, {b}")
        regions = self._mixture()
        sums = {
            name: self._floats(f"sums.fit.{i}", own.empty_statistics().shape)
            for i, (name, own) in enumerate(regions.instances.items())
        }
        return Chosen(axes, columns, pool, calibration, (a, b), regions, sums, first)

    def _mixture(self) -> Any:
        sizes = {f"width {view}": width for view, width in self.model.widths_.items()} | {"tags": self.n_tags}
        inside = {name: own for name, own in self.arrays.items() if name.startswith("mixture.")}
        regions = REGION_MODEL.unpack(self.fields["mixture"], "mixture", inside, sizes)
        self.read |= set(inside)
        own = self.model.regions_
        if list(regions.instances) != list(own.instances) or regions.background != own.background:
            raise ValueError("the mixture of a memory must have the views and the background of the model")
        return regions

    def _regions(self, chosen: Chosen) -> Regions:
        views: Sums = {}
        names = [name for name, _ in self.fields["views"]]
        if names != list(chosen.regions.instances):
            raise ValueError("a memory must have the views of its mixture")
        offsets = self._starts("regions.offsets")
        for i, (name, width) in enumerate(self.fields["views"]):
            own = chosen.regions.instances[name]
            expected = own.mu.shape[1] if hasattr(own, "mu") else own.means.shape[1]  # type: ignore[attr-defined]
            if (width is None) == hasattr(own, "mu"):
                raise ValueError(f"view {name!r:.60} of a memory must be as its mixture models it")
            views[name] = self._rows(f"regions.{i}", width, expected)
            if views[name].shape[0] != offsets[-1]:
                raise ValueError(f"view {name!r:.60} of a memory must have one row per region")
        return Regions(views, offsets)

    def _shared(self, what: str, n_features: int, n_parts: int) -> list[Shared]:
        if len(self.fields[what]) != n_parts:
            raise ValueError(f"{what} must have {n_parts} parts, got {len(self.fields[what])}")
        made = []
        for i, (centre, spread) in enumerate(self.fields[what]):
            path = f"{what}.{i}"
            knots = self._floats(f"{path}.knots", (len(self._raw(f"{path}.knots")),))
            levels = self._floats(f"{path}.levels", knots.shape, 0.0, 1.0)
            if not len(knots) or (np.diff(knots) < 0).any() or not float(spread) > 0:
                raise ValueError("an isotonic curve needs rising knots, and a spread must be above 0")
            centres = self._floats(f"{path}.centres", (n_features,))
            scales = self._floats(f"{path}.scales", (n_features,), 1e-300)
            theta = self._floats(f"{path}.theta", (n_features + 1, 2))
            made.append(Shared(centres, scales, theta, float(centre), float(spread), knots, levels))
        return made

    def _raw(self, name: str) -> Any:
        self.read.add(name)
        return self.arrays[name]

    def _floats(
        self, name: str, shape: tuple[int, ...], low: float = -LARGEST, high: float = LARGEST
    ) -> Floats:
        array = self._raw(name)
        if array.dtype != np.float64 or array.shape != shape or not np.all((array >= low) & (array <= high)):
            raise ValueError(
                f"{name:.60} must be float64 of shape {shape}, finite, got {array.dtype} {array.shape}"
            )
        return array

    def _whole(self, name: str, shape: tuple[int, ...], high: int) -> Any:
        array = self._raw(name)
        if array.dtype.kind not in "iu" or array.shape != shape or array.min() < 0 or array.max() > high:
            raise ValueError(
                f"{name:.60} must be numbers from 0 to {high} of shape {shape}, got {array.shape}"
            )
        return array

    def _starts(self, name: str) -> Any:
        array = self._whole(name, (self.n + 1,), 2**40)
        if array[0] != 0 or (np.diff(array.astype(np.int64)) < 0).any():
            raise ValueError(f"{name:.60} must rise from 0")
        return array.astype(np.int64)

    def _rows(self, path: str, width: Any, expected: int) -> Any:
        if width is None:
            rows = self._raw(path)
            if (
                rows.dtype.kind != "f"
                or rows.ndim != 2
                or rows.shape[1] != expected
                or not np.isfinite(rows).all()
            ):
                raise ValueError(f"{path:.60} must be finite rows of width {expected}, got {rows.shape}")
            return rows
        data, indices, indptr = (self._raw(f"{path}.{part}") for part in ("data", "indices", "indptr"))
        if (
            any(part.ndim != 1 for part in (data, indices, indptr))
            or data.dtype.kind not in "uif"
            or indices.dtype.kind + indptr.dtype.kind != "ii"
        ):
            raise ValueError(f"{path:.60} must be the parts of sparse rows")
        matrix = csr_array((data, indices, indptr), shape=(len(indptr) - 1, expected))
        check_csr(matrix)
        if width != expected or not np.isfinite(data).all() or (data < 0).any():
            raise ValueError(f"{path:.60} must be counts of width {expected}, got {width!r:.20}")
        return matrix

    def _ids(self) -> tuple[str, ...]:
        ids = json.loads(self._raw("ids").tobytes().decode())
        if not isinstance(ids, list) or len(ids) != self.n or not all(isinstance(name, str) for name in ids):
            raise ValueError(f"a memory must have {self.n} ids")
        if len(set(ids)) != len(ids):
            raise ValueError("the ids of a memory must differ")
        return tuple(ids)

    def _prints(self) -> tuple[str, ...]:
        raw = self._whole("prints", (self.n, DIGEST), 255).astype(np.uint8)
        return tuple(row.tobytes().hex() for row in raw)

    def _factor(self) -> Floats:
        ridge, n = checked_ridge(self.model, self.n), self.n
        if len(ridge.coefficients_) != n:
            raise ValueError(f"a memory must have the pictures of the model, got {n}")
        flat = self._floats("factor", (n * (n + 1) // 2,))
        factor, start = np.zeros((n, n)), 0
        for row in range(n):
            factor[row, : row + 1] = flat[start : start + row + 1]
            start += row + 1
        if not (np.diagonal(factor) > 0).all():
            raise ValueError("the diagonal of a factor must be positive")
        return factor
