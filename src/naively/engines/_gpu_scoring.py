"""Scoring on a GPU: the tables and formulas of a model's estimates, copied there once, and the kernels that add up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from naively._kernels.gpu import attributes, kernel
from naively._table.device import DeviceTable
from naively.engines._gpu_formulas import Polynomial, function, polynomial
from naively.errors import GapError, InputError
from naively.families._formulas import formula_tree
from naively.typing import FloatArray, IntArray

POLYNOMIAL, LABELS, STEPS, CURVE, NOTHING, FORMULA = range(6)
COLUMN = np.dtype(
    [("kind", "i4"), ("size", "i4"), ("position", "i8"), ("points", "i8"), ("table", "i8"), ("anchor", "f8"),
     ("least", "i8")]
)  # fmt: skip
NONE = np.iinfo(np.int64).max
"""The place of no cell."""

WARPS, STAGES = 12, 2
"""Of `multiply_polynomials`: the warps that a multiprocessor runs at once, and the copies of each."""

MOST_CLASSES = 16
"""Classes whose scores a thread holds; more are scored in several passes."""

LARGEST_COEFFICIENT = 1e200
"""With coefficients up to here no score of float32 cells is infinite, so that differences of scores are numbers."""


@dataclass
class DeviceModel:
    """What the columns of a model say, as a kernel reads it.

    Parameters
    ----------
    n_columns, n_classes : int
    """

    n_columns: int
    n_classes: int
    points: list[FloatArray] = field(default_factory=list)
    tables: list[FloatArray] = field(default_factory=list)
    formulas: dict[str, int] = field(default_factory=dict)
    is_whole: bool = True
    """Whether nothing that all classes share is left out."""

    def __post_init__(self) -> None:
        self.columns = np.zeros(self.n_columns, dtype=COLUMN)
        self.columns["kind"] = NOTHING
        self.polynomials = np.zeros((self.n_columns, self.n_classes, 2))
        self.constants = np.zeros((self.n_columns, self.n_classes))

    def add(self, place: int, said: Mapping[str, Any]) -> None:
        """Add what a column says, as `Estimate.as_table` gives it."""
        kind = said["kind"]
        if kind == "date":
            raise GapError("as_table", "dates are read part by part, which tables on a GPU do not hold", [place])
        if said.get("contrast") is not None:
            raise GapError(
                "as_table", "evidence is weighed after it was centred, which tables on a GPU do not hold", [place]
            )
        if kind == "formula":
            self._add_formula(place, said)
        elif kind == "labels":
            self._add_labels(place, said)
        elif kind == "steps":
            evidence = np.asarray(said["evidence"]).T
            self._add_table(place, STEPS, said["cuts"], np.vstack([evidence, evidence[:1], self._missing(said)]))
        elif kind == "curve":
            evidence = np.asarray(said["evidence"]).T
            self._add_table(place, CURVE, said["knots"], np.vstack([evidence, evidence[:1], self._missing(said)]))

    def _missing(self, said: Mapping[str, Any]) -> FloatArray:
        return np.broadcast_to(np.asarray(said.get("missing", 0.0), dtype=np.float64), (1, self.n_classes))

    def _add_formula(self, place: int, said: Mapping[str, Any]) -> None:
        if np.any(said.get("missing", 0.0)):
            raise GapError("formula", "a missing cell says something, which formulas on a GPU cannot", [place])
        names = {name: np.asarray(value, dtype=np.float64) for name, value in said["parameters"].items()}
        node = formula_tree(said["formula"], names)
        anchor = _middle(polynomial(node, 0.0))
        terms = polynomial(node, anchor)
        if terms is not None and all(np.isfinite(np.asarray(term)).all() for term in terms):
            constant, slope, curve = (np.broadcast_to(term, self.n_classes) for term in terms)
            self.columns[place] = (POLYNOMIAL, 0, place, 0, 0, anchor, 0)
            self.polynomials[place, :, 0], self.polynomials[place, :, 1] = curve, slope
            self.constants[place] = constant
            return
        body, parameters = function(node)
        number = self.formulas.setdefault(body, len(self.formulas))
        table = np.stack([np.broadcast_to(one, self.n_classes) for one in parameters])
        self._add_table(place, FORMULA, np.zeros(0), table)
        self.columns[place]["size"] = number

    def _add_labels(self, place: int, said: Mapping[str, Any]) -> None:
        values, rows = [], []
        for value, evidence in zip(said["values"], np.asarray(said["evidence"]).T, strict=True):
            if not isinstance(value, str) and float(value) == value:  # others cannot be on a GPU
                values.append(float(value))
                rows.append(evidence)
        order = np.argsort(values)
        table = np.asarray(rows)[order] if rows else np.zeros((0, self.n_classes))
        unknown = np.broadcast_to(np.asarray(said["unknown"], dtype=np.float64), (1, self.n_classes))
        self._add_table(place, LABELS, np.asarray(values)[order] if values else np.zeros(0),
                        np.vstack([table, unknown, self._missing(said)]))  # fmt: skip

    def _add_table(self, place: int, kind: int, points: Any, table: FloatArray) -> None:
        points = np.asarray(points, dtype=np.float64)
        starts = sum(map(len, self.points)), sum(part.size for part in self.tables)
        self.columns[place] = (kind, len(points), place, *starts, 0.0, 0)
        self.points.append(points)
        self.tables.append(np.ascontiguousarray(table, dtype=np.float64))

    def formula_code(self) -> str:
        """The CUDA function of all formulas that are no polynomials."""
        cases = "".join(f"        case {number}: return {body};\n" for body, number in self.formulas.items())
        return (
            "__device__ __forceinline__ double square(double x) { return x * x; }\n"
            "__device__ __forceinline__ double formula(int number, double x, const double* p, int n_classes) {\n"
            f"    switch (number) {{\n{cases}        default: return 0.0;\n    }}\n}}\n"
        )


def _middle(terms: Polynomial | None) -> float:
    """Where the parabolas of the classes have their tops, on average: seen from there their terms do not cancel."""
    if terms is None:
        return 0.0
    slope, curve = np.broadcast_arrays(*(np.asarray(term, dtype=np.float64) for term in terms[1:]))
    tops = -slope[curve != 0] / (2 * curve[curve != 0])
    return float(np.mean(tops)) if tops.size and np.isfinite(tops).all() else 0.0


def device_model(factors: Sequence[Any], n_columns: int, n_classes: int) -> DeviceModel:
    """The estimates of a model as tables and formulas; a `GapError` says why there are none.

    Parameters
    ----------
    factors : sequence
        Each with the positions of its columns, `members`, and its `estimate`.
    n_columns, n_classes : int
    """
    model = DeviceModel(n_columns, n_classes)
    for factor in factors:
        tables = factor.estimate.as_table()
        if len(tables) != len(factor.members):
            raise GapError("as_table", "several columns say something together", factor.members.tolist())
        for member, said in zip(factor.members.tolist(), tables, strict=True):
            model.add(member, said)
        model.is_whole &= factor.estimate.table_is_whole
        model.columns["least"][factor.members] = 2 * factor.estimate.positive or int(factor.estimate.nonnegative)
    return model


class DeviceScorer:
    """A model's tables on a GPU.

    Parameters
    ----------
    model : DeviceModel
    bias : ndarray (classes,) or None
    device : int
    """

    def __init__(self, model: DeviceModel, bias: FloatArray | None, device: int):
        import cupy

        self.model, self.device = model, device
        self.bias = np.zeros(model.n_classes) if bias is None else np.asarray(bias)
        polynomial = model.columns["kind"] == POLYNOMIAL
        self.is_plain = bool(polynomial.all()) and not model.columns["least"].any()
        with np.errstate(invalid="ignore"):
            self.start = self.bias + model.constants[polynomial].sum(axis=0)
        self.code = model.formula_code()
        coefficients = np.abs(model.polynomials).max(initial=0.0), np.abs(model.constants).max(initial=0.0)
        self.is_moderate = max(coefficients) <= LARGEST_COEFFICIENT
        with cupy.cuda.Device(device):
            self.polynomials = cupy.asarray(model.polynomials)
            self.anchors = cupy.asarray(np.ascontiguousarray(model.columns["anchor"]))
            self.constants = cupy.asarray(model.constants)
            self.points = cupy.asarray(np.concatenate([*model.points, np.zeros(1)]))
            self.tables = cupy.asarray(np.concatenate([*(part.ravel() for part in model.tables), np.zeros(1)]))

    @cached_property
    def relative(self) -> tuple[Any, Any]:
        """Coefficients of polynomials and their constants, those of the last class taken out."""
        return self.polynomials - self.polynomials[:, -1:], self.constants - self.constants[:, -1:]

    def scores(self, table: DeviceTable, positions: IntArray | None, log_prior: FloatArray, finish: bool) -> Any:
        """Scores with the prior, or probabilities, (rows, classes), and in how many rows no class was possible.

        Parameters
        ----------
        table : DeviceTable
        positions : ndarray or None
            Where the model's columns are in the table; -1: absent.
        log_prior : ndarray (classes,)
        finish : bool
            Whether to give probabilities; that takes no more classes than a thread can hold.
        """
        import cupy

        n_classes = self.model.n_classes
        out_type = "float" if finish and is_short_float(table) else "double"
        plain = self.is_plain and positions is None and table.n_columns == self.model.n_columns
        with np.errstate(invalid="ignore"):
            base = log_prior + self.start
        out = cupy.empty((table.n_rows, n_classes), dtype=cupy.float32 if out_type == "float" else cupy.float64)
        there = cupy.asarray(np.concatenate([np.array([NONE, 0]).view(np.float64), base, log_prior]))  # one copy
        found = there[:2].view(cupy.int64)  # the place of a bad cell, and rows that no class could have produced
        starts = (there[2 : 2 + n_classes], there[2 + n_classes :])
        ends = (*starts, np.int32(n_classes), np.int32(finish), found[:1], found[1:], out)
        if plain and self._multiplies(table):
            self._multiply(table, ends, self._n_beside(table, finish), out_type)
        else:
            self._add(table, positions, ends, out_type, "add_polynomials" if plain else "add_scores")
        bad, n_impossible = found.tolist()
        self._refuse(table, positions, bad)
        return out, n_impossible

    def _add(
        self, table: DeviceTable, positions: IntArray | None, ends: tuple[Any, ...], out_type: str, name: str
    ) -> None:
        """The scores of columns of any kind, added up one after the other."""
        n_classes = self.model.n_classes
        chunk = min(n_classes, MOST_CLASSES)
        n_per_thread = 1 if table.values.dtype.itemsize > 4 else 2
        add = self._kernel(table, name, CLASSES=chunk, ROWS=n_per_thread, OUT=out_type)
        rows, cells = self._cells(table, positions)
        blocks = (-(-table.n_rows // (128 * n_per_thread)), -(-n_classes // chunk))
        add(blocks, (128,), (*rows, *cells, *ends))

    def _multiplies(self, table: DeviceTable) -> bool:
        """Whether the tensor cores can multiply the rows: they must take float64, and rows be read by 16 bytes."""
        import cupy

        values: Any = table.values
        aligned = values.data.ptr % 16 == 0 and values.strides[0] % 16 == 0 and values.strides[1] == values.itemsize
        whole = table.n_columns * values.itemsize % 16 == 0
        room = self._n_warps(table, 0) > 0
        return bool(aligned and whole and room) and int(cupy.cuda.Device(self.device).compute_capability) >= 90

    def _n_beside(self, table: DeviceTable, finish: bool) -> int:
        """The classes that are not multiplied where one or two are left of eight: probabilities do with differences."""
        n_classes = self.model.n_classes
        return n_classes - 8 if n_classes in (9, 10) and finish and is_short_float(table) and self.is_moderate else 0

    def _n_warps(self, table: DeviceTable, n_beside: int) -> int:
        """The warps of a block: as many as it has the shared memory for, 0 if for none."""
        most = attributes(self.device)["MaxSharedMemoryPerBlockOptin"]
        return next((n for n in (WARPS, WARPS // 2, WARPS // 4) if self._room(table, n, n_beside) <= most), 0)

    def _room(self, table: DeviceTable, n_warps: int, n_beside: int) -> int:
        """The shared memory that cells on their way, coefficients and anchors take."""
        step, slab = 64 // table.values.itemsize, _slab(table)
        n_steps = -(-table.n_columns // (step * slab // 4)) * slab // 4
        n_multiplied = 8 if self.model.n_classes - n_beside <= 8 else 16
        of_column = 16 * n_multiplied + 16 * (n_beside == 2) + 8
        return 512 * n_warps * STAGES * slab + n_steps * step * of_column + 8 * (n_multiplied + n_beside)

    def _multiply(self, table: DeviceTable, ends: tuple[Any, ...], n_beside: int, out_type: str) -> None:
        """The scores of polynomials as a product of matrices."""
        values, device, n_warps = table.values, attributes(self.device), self._n_warps(table, n_beside)
        room = self._room(table, n_warps, n_beside)
        of_memory = device["MaxSharedMemoryPerMultiprocessor"] // (room + 1024)
        n_resident = min(WARPS // n_warps, of_memory)
        n_classes = min(self.model.n_classes, MOST_CLASSES)
        options = {
            "CLASSES": n_classes, "BESIDE": n_beside, "ALL": int(n_classes == self.model.n_classes), "OUT": out_type,
            "WARPS": n_warps, "STAGES": STAGES, "BLOCKS": n_resident, "SLAB": _slab(table),
        }  # fmt: skip
        add = kernel("polynomials", "multiply_polynomials", self.device, **options, **table.c_type)
        add.max_dynamic_shared_size_bytes = max(room, 49152)
        n_blocks = min(n_resident * device["MultiProcessorCount"], -(-table.n_rows // (32 * n_warps)))
        blocks = (n_blocks, -(-self.model.n_classes // n_classes))
        stride = np.int64(values.strides[0] // values.itemsize)
        rows = (values, stride, np.int64(table.n_rows), self.anchors, np.int32(table.n_columns))
        said = self.relative if n_beside else (self.polynomials, self.constants)
        add(blocks, (32 * n_warps,), (*rows, *said, *ends), shared_mem=room)

    def evidence(self, table: DeviceTable, positions: IntArray | None, n_terms: int) -> Any:
        """The evidence of every cell, (rows, terms, classes), the class bias as the last term where there is one."""
        import cupy

        n_columns, n_classes = self.model.n_columns, self.model.n_classes
        bad = cupy.full(1, NONE, dtype=cupy.int64)
        out = cupy.empty((table.n_rows, n_columns, n_classes))
        rows, cells = self._cells(table, positions)
        give = self._kernel(table, "cell_evidence", CLASSES=min(n_classes, 8), ROWS=1, OUT="double")
        give((4096,), (256,), (*rows, *cells, np.int32(n_classes), bad, out))
        self._refuse(table, positions, int(bad[0]))
        if n_terms == n_columns:
            return out
        bias = cupy.broadcast_to(cupy.asarray(self.bias), (table.n_rows, 1, n_classes))
        return cupy.concatenate([out, bias], axis=1)

    def _kernel(self, table: DeviceTable, name: str, **options: Any) -> Any:
        return kernel("scores", name, self.device, before=self.code, **table.c_type, **options)

    def _cells(self, table: DeviceTable, positions: IntArray | None) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        import cupy

        values = table.values
        if values.strides[1] != values.itemsize:
            values = cupy.ascontiguousarray(values)
        columns = self.model.columns.copy()
        if positions is not None:
            columns["position"] = positions
        stride = np.int64(values.strides[0] // values.itemsize)
        described = cupy.asarray(columns.view(np.uint8))
        rows = (values, stride, np.int64(table.n_rows), described, np.int32(len(columns)))
        return rows, (self.polynomials, self.constants, self.points, self.tables)

    def _refuse(self, table: DeviceTable, positions: IntArray | None, place: int) -> None:
        """Refuse a cell that no family reads, given its place among all cells of the model's columns."""
        if place == NONE:
            return
        row, column = divmod(place, self.model.n_columns)
        position = column if positions is None else int(positions[column])
        cell = float(table.numbers(np.array([position]), slice(row, row + 1))[0, 0])
        if np.isinf(cell):
            what, advice = "Input X contains infinity", "Use NaN for what is not known"
        elif self.model.columns["least"][column] == 1:
            what, advice = "Negative values in data, where counts belong", "Check the column"
        else:
            what, advice = "Numbers must be above 0 for the family", "Check the column"
        raise InputError(f"{what}: column {table.names[position]!r}, row {row}. {advice}.")


def _slab(table: DeviceTable) -> int:
    """By how many times 16 bytes `multiply_polynomials` reads rows: by fewer where more were nothing at their ends."""
    n_steps = -(-table.n_columns * table.values.itemsize // 64)
    return 16 if n_steps % 4 in (0, 3) else 8


def is_short_float(table: DeviceTable) -> bool:
    """Whether X holds floats of less than 64 bits: probabilities are then given as float32."""
    return bool(table.c_type["FLOATS"]) and table.values.dtype.itemsize < 8


def decided(scores: Any, log_prior: FloatArray) -> tuple[Any, int]:
    """Scores with those of rows that no class could have produced replaced by the prior, and how many there are."""
    import cupy

    none = cupy.isneginf(scores).all(axis=1)
    n_none = int(none.sum())
    if n_none:
        scores[none] = cupy.asarray(log_prior)
    return scores, n_none
