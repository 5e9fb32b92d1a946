"""A fitted model as an ONNX graph: float64 throughout, one node for all columns of a kind."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
from typing import TYPE_CHECKING, Any

import numpy as np

from naively._export.additive import (
    FARTHEST,
    FARTHEST_IN_FORMULA,
    IMPOSSIBLE,
    AdditiveForm,
    ColumnTable,
    additive,
    is_double,
    refuse_scale,
    refuse_whole_dates,
)
from naively._export.sql_tables import FARTHEST as FARTHEST_NUMBER
from naively._export.sql_tables import intervals_of
from naively.engines._gpu_formulas import polynomial
from naively.errors import GapError, ParameterError
from naively.families._date import TREND
from naively.families._formulas import Node, formula_tree
from naively.statistics._calendar import SECONDS_PER_DAY
from naively.typing import FloatArray

if TYPE_CHECKING:
    from naively.classifier import NaiveBayes

OPSET, ML_OPSET, IR_VERSION = 17, 3, 8
MOST_CANCELLED = 1e6
"""Parabolas are added up term by term where no more nats than this cancel: a millionth of a millionth is then lost."""

OPERATORS = {
    "add": "Add",
    "subtract": "Sub",
    "multiply": "Mul",
    "divide": "Div",
    "negative": "Neg",
    "log": "Log",
    "greater": "Greater",
    "equal": "Equal",
    "where": "Where",
}


def to_onnx(model: NaiveBayes, missing: str = "") -> Any:
    """The ONNX graph of a model: see `NaiveBayes.to_onnx`."""
    return _Graph(additive(model), missing).written()


def _onnx() -> Any:
    try:
        import onnx
    except ImportError as error:
        raise ImportError("ONNX graphs are written with onnx. Install it with: pip install 'naively[onnx]'") from error
    return onnx


class _Graph:
    """Collects the nodes of a graph. Tensors of evidence have the shape (rows, columns, classes)."""

    def __init__(self, form: AdditiveForm, missing: str):
        self.form, self.missing, self.onnx = form, missing, _onnx()
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self.inputs: list[Any] = []
        self.cells: dict[int, str] = {}
        self.n_classes = len(form.classes)
        self.own = _apart_from(form.names)

    def written(self) -> Any:
        """The model, checked by onnx itself."""
        helper = self.onnx.helper
        self._read_inputs()
        scores = self._sum()
        label, probability = self._decide(scores)
        proto = self.onnx.TensorProto
        kind = {"U": proto.STRING, "O": proto.STRING, "i": proto.INT64, "b": proto.BOOL, "f": proto.DOUBLE}
        outputs = [
            helper.make_tensor_value_info(label, kind[self._classes().dtype.kind], [None]),
            helper.make_tensor_value_info(probability, proto.DOUBLE, [None, self.n_classes]),
        ]
        graph = helper.make_graph(self.nodes, "naively", self.inputs, outputs, self.constants)
        opsets = [helper.make_opsetid("", OPSET), helper.make_opsetid("ai.onnx.ml", ML_OPSET)]
        found = helper.make_model(graph, opset_imports=opsets, producer_name="naively", ir_version=IR_VERSION)
        self.onnx.checker.check_model(found)
        return found

    # -- parts --------------------------------------------------------------------------------------------------------

    def node(self, operator: str, *inputs: str, output: str | None = None, domain: str = "", **options: Any) -> str:
        """Add a node; returns the name of its output."""
        output = f"{self.own}t{len(self.nodes)}" if output is None else output
        made = self.onnx.helper.make_node(operator, list(inputs), [output], domain=domain, **options)
        self.nodes.append(made)
        return output

    def constant(self, values: Any) -> str:
        """Add a constant; returns its name."""
        name = f"{self.own}c{len(self.constants)}"
        values = np.asarray(values)
        if values.dtype.kind in "UO":
            proto, flat = self.onnx.TensorProto.STRING, [str(one).encode() for one in values.ravel()]
            made = self.onnx.helper.make_tensor(name, proto, values.shape, flat)
        else:
            made = self.onnx.numpy_helper.from_array(np.ascontiguousarray(values), name)
        self.constants.append(made)
        return name

    def whole(self, *values: int) -> str:
        """A vector of whole numbers."""
        return self.constant(np.array(values, dtype=np.int64))

    def _classes(self) -> Any:
        classes = np.array(self.form.classes)
        return classes.astype(np.int64) if classes.dtype.kind in "iu" else classes

    # -- inputs -------------------------------------------------------------------------------------------------------

    def _read_inputs(self) -> None:
        """One input of all cells for a model of an array of numbers, else one for each column."""
        info, proto = self.onnx.helper.make_tensor_value_info, self.onnx.TensorProto
        columns, names = self.form.columns, self.form.names
        together = not self.form.named and not any(_is_text(column) for column in columns)
        if together:
            self.inputs = [info("X", proto.DOUBLE, [None, len(names)])]
        for place, column in enumerate(columns):
            refuse_whole_dates(column)
            if together:
                cell = self.node("Gather", "X", self.whole(names.index(column.name)), axis=1)
            else:
                kind = proto.STRING if _is_text(column) else proto.DOUBLE
                if not place or columns[place - 1].name != column.name:  # once for all parts of a date
                    self.inputs.append(info(column.name, kind, [None, 1]))
                cell = self.node("Identity", column.name, output=f"{self.own}x{place}")
            self.cells[place] = cell if column.part in (None, TREND) else self._date_part(cell, str(column.part))

    def _date_part(self, seconds: str, part: str) -> str:
        """The month, weekday or hour of dates that are given as seconds."""
        seconds = self.node("Floor", seconds)
        if part == "hour":
            return self._quotient(self._rest(seconds, SECONDS_PER_DAY), 3600)
        days = self._quotient(seconds, SECONDS_PER_DAY)
        if part == "weekday":
            return self._plus(self._rest(self._plus(days, 3), 7), 1)  # the first of January 1970 was a Thursday
        day = self._rest(self._plus(days, 719468), 146097)  # of the 400 years that began on a first of March
        ends = self._total((-1, self._quotient(day, 1460)), (1, self._quotient(day, 36524)), (1, day))
        year = self._quotient(self._total((-1, self._quotient(day, 146096)), (1, ends)), 365)
        of_year = self._total((1, day), (-365, year), (-1, self._quotient(year, 4)), (1, self._quotient(year, 100)))
        month = self._quotient(self._plus(self._total((5, of_year)), 2), 153)  # 0: March
        return self._plus(self._rest(self._plus(month, 2), 12), 1)

    def _plus(self, x: str, number: float) -> str:
        return self.node("Add", x, self.constant(float(number)))

    def _quotient(self, x: str, by: float) -> str:
        """How often a whole number goes into whole numbers."""
        return self.node("Floor", self.node("Div", x, self.constant(float(by))))

    def _rest(self, x: str, by: float) -> str:
        """What is left of whole numbers then."""
        return self._total((1, x), (-by, self._quotient(x, by)))

    def _total(self, *parts: tuple[float, str]) -> str:
        """A sum of multiples."""
        terms = [one if times == 1 else self.node("Mul", one, self.constant(float(times))) for times, one in parts]
        return self.node("Sum", *terms)

    def _numbers(self, places: Sequence[int]) -> str:
        """The cells of some columns side by side, (rows, columns)."""
        cells = [self.cells[place] for place in places]
        return cells[0] if len(cells) == 1 else self.node("Concat", *cells, axis=1)

    # -- evidence -----------------------------------------------------------------------------------------------------

    def _sum(self) -> str:
        """The start and all evidence, (rows, classes)."""
        first = self.cells[0]
        rows = self.node("Shape", first, end=1)
        shape = self.node("Concat", rows, self.whole(self.n_classes), axis=0)
        scores = self.node("Expand", self.constant(self.form.start[None, :]), shape)
        for kind, places in self._groups():
            summed = self._parabolas(places) if kind == "formula" else None
            if summed is None:
                said = {"labels": self._labels, "intervals": self._intervals, "formula": self._formula}[kind](places)
                summed = self.node("ReduceSum", said, self.whole(1), keepdims=0)
            scores = self.node("Add", scores, summed)
        return scores

    def _groups(self) -> list[tuple[str, list[int]]]:
        """The columns that are computed together."""
        groups: dict[tuple[str, Any], list[int]] = {}
        for place, column in enumerate(self.form.columns):
            if column.kind == "nothing" and not column.missing.any():
                continue
            key: tuple[str, Any] = ("intervals", None)
            if column.kind == "labels":
                key = ("labels", None if _is_text(column) else place)
            elif column.kind == "formula":
                refuse_scale(column, 0.0, FARTHEST_IN_FORMULA)
                key = ("formula", (column.table["formula"], column.contrast is None))
            elif column.contrast is not None:
                raise GapError(f"Column {column.name!r} has a curve too steep to be weighed in ONNX.", "is too steep")
            groups.setdefault(key, []).append(place)
        return [(kind, places) for (kind, _), places in groups.items()]

    def _labels(self, places: list[int]) -> str:
        """Look-ups of text, or of one column of numbers."""
        columns = [self.form.columns[place] for place in places]
        if not _is_text(columns[0]):
            return self._number_labels(places[0], columns[0])
        codes, tables, first = [], [], 0
        for place, column in zip(places, columns, strict=True):
            values, evidence = column.table["values"], column.table["evidence"]
            if self.missing in values:
                raise ParameterError(
                    f"missing={self.missing!r} is a label of column {column.name!r}. Say to_onnx(missing=...) with a "
                    "text that no column holds."
                )
            code = self.node(
                "LabelEncoder",
                self.cells[place],
                domain="ai.onnx.ml",
                keys_strings=[*values, self.missing],
                values_int64s=[*range(first, first + len(values)), first + len(values) + 1],
                default_int64=first + len(values),
            )
            codes.append(code)
            tables.append(np.column_stack([evidence, column.table["unknown"], column.missing]).T)
            first += len(values) + 2
        joined = codes[0] if len(codes) == 1 else self.node("Concat", *codes, axis=1)
        return self.node("Gather", self.constant(np.concatenate(tables)), joined, axis=0)

    def _number_labels(self, place: int, column: ColumnTable) -> str:
        values = column.table["values"]
        if any(isinstance(value, str) for value in values):
            raise GapError(
                f"Column {column.name!r} holds text and numbers, but an input has one type.",
                "holds text and numbers in one column",
            )
        if not all(map(is_double, values)):
            raise GapError(
                f"Column {column.name!r} holds whole numbers as labels that an input of float64 cannot tell apart.",
                "holds labels beyond 2 ** 53",
            )
        numbers = self.constant(np.array([[float(value) for value in values]]))
        unknown = column.table["unknown"]
        hits = self.node("Cast", self.node("Equal", self.cells[place], numbers), to=self.onnx.TensorProto.DOUBLE)
        finite = np.where(np.isneginf(column.table["evidence"]), -1e300, column.table["evidence"])
        said = self.node("MatMul", hits, self.constant(finite.T - unknown))
        said = self.node("Where", self.node("Less", said, self.constant(-1e299)), self.constant(-np.inf), said)
        said = self.node("Unsqueeze", self.node("Add", said, self.constant(unknown)), self.whole(1))
        return self._known(self.cells[place], said, [column])

    def _intervals(self, places: list[int]) -> str:
        """Steps and curves: a tree for each column gives the interval, whose line is looked up."""
        columns = [self.form.columns[place] for place in places]
        found = [intervals_of(_with_steps(column, self.n_classes)) for column in columns]
        x = self.node("Clip", self._numbers(places), self.constant(-FARTHEST_NUMBER), self.constant(FARTHEST_NUMBER))
        clean = self.node("Where", self.node("IsNaN", x), self.constant(0.0), x)
        inside = self.node(
            "TreeEnsembleRegressor", clean, domain="ai.onnx.ml", **_trees([one.lows[1:] for one in found], self.onnx)
        )
        begins = np.cumsum([0, *(len(one.lows) for one in found)])[:-1]
        place = self.node("Cast", inside, to=self.onnx.TensorProto.INT64)
        place = self.node("Add", place, self.constant(begins[None, :].astype(np.int64)))
        evidence = np.concatenate([one.evidence.T for one in found])
        said = self.node("Gather", self.constant(evidence), place, axis=0)
        if any(one.slopes is not None for one in found):
            flat = [np.zeros(one.evidence.shape) if one.slopes is None else one.slopes for one in found]
            slopes = self.node("Gather", self.constant(np.concatenate([part.T for part in flat])), place, axis=0)
            low = self.node("Gather", self.constant(np.concatenate([one.lows for one in found])), place, axis=0)
            along = self.node("Unsqueeze", self.node("Sub", clean, low), self.whole(2))
            said = self.node("Add", said, self.node("Mul", along, slopes))
        return self._known(self._numbers(places), said, columns)

    def _parabolas(self, places: list[int]) -> str | None:
        """The evidence (rows, classes) of columns whose formulas are parabolas, by one product of matrices.

        None where they are none, or where the terms of one would cancel.
        """
        columns = [self.form.columns[place] for place in places]
        found = [_parabola(column) for column in columns]
        if any(one is None for one in found):
            return None
        anchors, terms = zip(*[one for one in found if one is not None], strict=True)
        x = self._numbers(places)
        odd = self._odd(x, columns)
        away = self.node("Sub", x, self.constant(np.array([anchors])))
        held = self.node("Clip", away, self.constant(-FARTHEST_IN_FORMULA), self.constant(FARTHEST_IN_FORMULA))
        held = self.node("Where", odd, self.constant(0.0), held)
        missing = self.node("Cast", odd, to=self.onnx.TensorProto.DOUBLE)
        factors = self.node("Concat", self.node("Mul", held, held), held, missing, axis=1)
        constants, slopes, curves = (np.stack(part) for part in zip(*terms, strict=True))
        absent = np.stack([column.missing for column in columns]) - constants
        said = self.node("MatMul", factors, self.constant(np.concatenate([curves, slopes, absent])))
        return self.node("Add", said, self.constant(constants.sum(axis=0)))

    def _formula(self, places: list[int]) -> str:
        columns = [self.form.columns[place] for place in places]
        parameters = {
            name: np.stack([column.table["parameters"][name] for column in columns])
            for name in columns[0].table["parameters"]
        }
        x = self._numbers(places)
        most = FARTHEST_IN_FORMULA
        least = [-most if column.least is None else column.least for column in columns]
        held = self.node("Max", self.node("Min", x, self.constant(most)), self.constant(np.array([least])))
        held = self.node("Unsqueeze", held, self.whole(2))
        said = self._tree(formula_tree(columns[0].table["formula"], parameters), held)
        if columns[0].contrast is not None:
            said = self._contrasted(said, columns)
        return self._known(x, said, columns)

    def _tree(self, node: Node, x: str) -> str:
        """The tensor (rows, columns, classes) of a formula."""
        if node[0] == "x":
            return x
        if node[0] == "number":
            return self.constant(np.asarray(node[1], dtype=np.float64))
        operator, *inputs = node[0], *(self._tree(operand, x) for operand in node[1:])
        if operator == "square":
            return self.node("Mul", inputs[0], inputs[0])
        if operator == "log1p":
            return self.node("Log", self.node("Add", inputs[0], self.constant(1.0)))
        return self.node(OPERATORS[operator], *inputs)

    def _contrasted(self, said: str, columns: Sequence[ColumnTable]) -> str:
        """Evidence made finite, centred and weighed."""
        weights, known = (np.stack([column.contrast[part] for column in columns]) for part in (0, 1))  # type: ignore[index]
        infinite = self.node("IsInf", said)
        lowest = self.node("ReduceMin", self.node("Where", infinite, self.constant(1e300), said), axes=[2])
        nothing = self.node("Greater", lowest, self.constant(1e299))
        nearly = self.node("Sub", lowest, self.constant(IMPOSSIBLE))
        nearly = self.node("Where", nothing, self.constant(0.0), nearly)
        said = self.node("Where", infinite, nearly, said)
        least = self.node("Sub", self.node("ReduceMax", said, axes=[2]), self.constant(FARTHEST))
        said = self.node("Max", said, least)
        said = self.node("Sub", said, self.node("ReduceMean", said, axes=[2]))
        return self.node("Add", self.node("Mul", said, self.constant(weights)), self.constant(known))

    def _known(self, x: str, said: str, columns: Sequence[ColumnTable]) -> str:
        """The evidence of cells that hold a number which the model would take, and that of missing cells."""
        missing = np.stack([column.missing for column in columns])
        odd = self.node("Unsqueeze", self._odd(x, columns), self.whole(2))
        return self.node("Where", odd, self.constant(missing), said)

    def _odd(self, x: str, columns: Sequence[ColumnTable]) -> str:
        """Where cells are missing, or hold what the model would refuse, (rows, columns)."""
        odd = self.node("Or", self.node("IsNaN", x), self.node("IsInf", x))
        if any(column.least is not None for column in columns):
            least = np.array([[-np.inf if column.least is None else column.least for column in columns]])
            odd = self.node("Or", odd, self.node("Less", x, self.constant(least)))
        return odd

    # -- the decision -------------------------------------------------------------------------------------------------

    def _decide(self, scores: str) -> tuple[str, str]:
        if self.form.can_be_impossible:
            best = self.node("ReduceMax", scores, axes=[1])
            scores = self.node("Where", self.node("IsInf", best), self.constant(self.form.prior[None, :]), scores)
        best = self.node("ArgMax", scores, axis=1, keepdims=0)
        label = self.node("Gather", self.constant(self._classes()), best, axis=0, output=self._output("label"))
        return label, self.node("Softmax", scores, axis=1, output=self._output("probabilities"))

    def _output(self, name: str) -> str:
        """The name of an output, with underscores before it while a column has that name."""
        taken = {one.name for one in self.inputs}
        while name in taken:
            name = f"_{name}"
        return name


def _apart_from(names: Sequence[str]) -> str:
    """What the names of a graph's own tensors begin with: as no column's name does."""
    return next(own for own in map("_".__mul__, count(1)) if not any(name.startswith(own) for name in names))


def _parabola(column: ColumnTable) -> tuple[float, list[FloatArray]] | None:
    """A number near the tops of a column's parabolas, and their terms from there, (classes,) each; None if unfit."""
    if column.contrast is not None:
        return None
    node = formula_tree(column.table["formula"], column.table["parameters"])
    shape = np.zeros(len(column.missing))

    def terms_from(anchor: float) -> list[FloatArray] | None:
        with np.errstate(all="ignore"):
            terms = polynomial(node, anchor)
        terms = None if terms is None else [term + shape for term in terms]
        return terms if terms is not None and np.isfinite(terms).all() else None

    terms = terms_from(0.0)
    if terms is None:
        return None
    bent = terms[2] != 0
    tops = -terms[1][bent] / (2 * terms[2][bent])
    anchor = float(np.mean(tops)) if len(tops) else 0.0
    terms = terms_from(anchor)
    cancelled = np.abs(terms[2][bent]) * (tops - anchor) ** 2 if terms is not None else np.array([np.inf])
    return None if terms is None or cancelled.max(initial=0.0) > MOST_CANCELLED else (anchor, terms)


def _is_text(column: ColumnTable) -> bool:
    return column.kind == "labels" and bool(column.table["values"]) and isinstance(column.table["values"][0], str)


def _with_steps(column: ColumnTable, n_classes: int) -> ColumnTable:
    """A column that says nothing but where it is missing, as one step."""
    if column.kind != "nothing":
        return column
    table = {"cuts": np.empty(0), "evidence": np.zeros((n_classes, 1))}
    return ColumnTable(column.name, "steps", table, column.missing, column.holds)


def _trees(bounds: Sequence[FloatArray], onnx: Any) -> dict[str, Any]:
    """The attributes of trees that count, for each column, how many of its bounds are at or below the number."""
    nodes: dict[str, list[Any]] = {name: [] for name in ("tree", "node", "column", "mode", "value", "yes", "no")}
    leaves: dict[str, list[int]] = {"tree": [], "node": [], "target": [], "weight": []}
    for column, knots in enumerate(bounds):
        _tree_nodes(knots, column, nodes, leaves)
    from_array = onnx.numpy_helper.from_array
    return {
        "n_targets": len(bounds),
        "nodes_treeids": nodes["tree"],
        "nodes_nodeids": nodes["node"],
        "nodes_featureids": nodes["column"],
        "nodes_modes": nodes["mode"],
        "nodes_truenodeids": nodes["yes"],
        "nodes_falsenodeids": nodes["no"],
        "nodes_values_as_tensor": from_array(np.array(nodes["value"], dtype=np.float64), "values"),
        "target_treeids": leaves["tree"],
        "target_nodeids": leaves["node"],
        "target_ids": leaves["target"],
        "target_weights_as_tensor": from_array(np.array(leaves["weight"], dtype=np.float64), "weights"),
    }


def _tree_nodes(knots: FloatArray, column: int, nodes: dict[str, list[Any]], leaves: dict[str, list[int]]) -> None:
    """A balanced tree: below bound i the count is at most i, else it is more."""
    waiting = [(0, len(knots))]  # the least and the largest count that a node may give
    number = 0
    while number < len(waiting):
        low, high = waiting[number]
        is_leaf = low == high
        middle = (low + high) // 2
        children = (0, 0) if is_leaf else (len(waiting), len(waiting) + 1)
        values = (column, number, column, "LEAF" if is_leaf else "BRANCH_LT", 0.0 if is_leaf else float(knots[middle]))
        for name, value in zip(nodes, (*values, *children), strict=True):
            nodes[name].append(value)
        if is_leaf:
            for name, value in zip(leaves, (column, number, column, low), strict=True):
                leaves[name].append(value)
        else:
            waiting += [(low, middle), (middle + 1, high)]
        number += 1
