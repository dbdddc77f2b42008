"""Rows as CasADi shows them: elementary operations, linear parts, where they are defined.

Interval arithmetic needs the operations one by one. Square roots, logarithms and powers of a
quantity that may become negative need *guards*: the quantity itself, with the range in which the
operation is defined. :func:`guarded` also returns the row with such operations continued smoothly
outside, so that a solver may pass through there.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import casadi as ca
import numpy as np

from archeng.model.variable import Floats

_T = TypeVar("_T")
_LINEAR = frozenset(  # operations that neither bend nor jump
    (
        ca.OP_INPUT, ca.OP_CONST, ca.OP_ASSIGN, ca.OP_ADD, ca.OP_SUB, ca.OP_NEG, ca.OP_MUL,
        ca.OP_DIV, ca.OP_TWICE,
    )
)  # fmt: skip
_POWERS = (ca.OP_POW, ca.OP_CONSTPOW)
_DOMAINS: dict[int, tuple[float, float, str]] = {  # range of the argument, what is beyond
    ca.OP_SQRT: (0.0, np.inf, "square root of a negative number"),
    ca.OP_LOG: (0.0, np.inf, "logarithm of a number that is not positive"),
    ca.OP_LOG1P: (-1.0, np.inf, "logarithm of a number that is not positive"),
    ca.OP_ASIN: (-1.0, 1.0, "arcsine of a number beyond 1"),
    ca.OP_ACOS: (-1.0, 1.0, "arccosine of a number beyond 1"),
    ca.OP_ACOSH: (1.0, np.inf, "acosh of a number below 1"),
    ca.OP_ATANH: (-1.0, 1.0, "atanh of a number beyond 1"),
    **dict.fromkeys(_POWERS, (0.0, np.inf, "broken power of a negative number")),
}
_MARGIN = 1e-16  # of the size of an argument: where its operation is continued


@dataclass(frozen=True)
class Node:
    """One operation. ``inputs`` are earlier nodes; ``value`` a constant or the variable's index."""

    op: int
    inputs: tuple[int, ...]
    value: float = 0.0


@dataclass(frozen=True)
class Graph:
    """A scalar row; the last node is its value."""

    nodes: tuple[Node, ...]

    @property
    def variables(self) -> tuple[int, ...]:
        """Indices of the variables that occur."""
        return tuple(sorted({int(n.value) for n in self.nodes if n.op == ca.OP_INPUT}))

    def evaluated(
        self,
        variable: Callable[[int], _T],
        constant: Callable[[float], _T],
        operation: Callable[[int, list[_T]], _T],
    ) -> list[_T]:
        """Value of each node in any arithmetic: numbers, intervals, expressions."""
        values: list[_T] = []
        for node in self.nodes:
            if node.op == ca.OP_INPUT:
                values.append(variable(int(node.value)))
            elif node.op == ca.OP_CONST:
                values.append(constant(node.value))
            else:
                values.append(operation(node.op, [values[i] for i in node.inputs]))
        return values


@dataclass(frozen=True)
class DomainGuard:
    """Where an operation is defined: ``lower <= argument <= upper``; ``what`` it is beyond."""

    argument: Any
    lower: float
    upper: float
    what: str


def graph_of(expression: Any, x: Any) -> Graph | None:
    """Return the operations of a scalar SX expression of ``x``; None for MX."""
    if not isinstance(expression, ca.SX):
        return None
    function = ca.Function("row", [x], [expression])
    nodes: list[Node] = []
    at: dict[int, int] = {}  # register to node
    for k in range(function.n_instructions()):
        op, inputs = function.instruction_id(k), function.instruction_input(k)
        if op == ca.OP_OUTPUT:
            return Graph(tuple(nodes[: at[inputs[0]] + 1]))
        if op == ca.OP_INPUT:
            node = Node(op, (), float(inputs[1]))
        elif op == ca.OP_CONST:
            node = Node(op, (), float(function.instruction_constant(k)))
        else:
            node = Node(op, tuple(at[i] for i in inputs))
        at[function.instruction_output(k)[0]] = len(nodes)
        nodes.append(node)
    return None


def guarded(graph: Graph, x: Any, size_of: Callable[[Any], float]) -> tuple[Any, list[DomainGuard]]:
    """Rebuild a row that can be evaluated everywhere, with guards for where it is meaningful.

    ``size_of`` is the typical size of an expression; it decides how near to the edge of its domain
    an operation is continued by its tangent.
    """
    guards: list[DomainGuard] = []

    def apply(op: int, arguments: list[Any]) -> Any:
        domain = _DOMAINS.get(op)
        if domain is None or arguments[0].is_constant() or _whole_power(op, arguments):
            return _applied(op, arguments)
        guard = DomainGuard(arguments[0], *domain)
        guards.append(guard)
        edge = max(_MARGIN * size_of(guard.argument), 1e-9 * abs(guard.lower), 1e-200)
        return _with_tangents(op, arguments, guard.lower + edge, guard.upper - edge)

    return graph.evaluated(x.__getitem__, ca.SX, apply)[-1], guards


def denominators(graph: Graph, x: Any) -> list[Any]:
    """Return the quantities by which a row divides, as expressions of ``x``."""
    below: list[Any] = []

    def apply(op: int, arguments: list[Any]) -> Any:
        if op in (ca.OP_DIV, ca.OP_INV) and not arguments[-1].is_constant():
            below.append(arguments[-1])
        return _applied(op, arguments)

    graph.evaluated(x.__getitem__, ca.SX, apply)
    return below


def _whole_power(op: int, arguments: list[Any]) -> bool:
    """Whether this is a power with a whole exponent, which is defined everywhere."""
    exponent = arguments[-1]
    return op in _POWERS and exponent.is_constant() and float(exponent).is_integer()


def _applied(op: int, arguments: list[Any]) -> Any:
    if op == ca.OP_ASSIGN:
        return arguments[0]
    if len(arguments) == 1:
        return ca.SX.unary(op, arguments[0])
    return ca.SX.binary(op, *arguments)


def _with_tangents(op: int, arguments: list[Any], lower: float, upper: float) -> Any:
    """Apply an operation, continued by its tangents below ``lower`` and above ``upper``."""
    u = arguments[0]
    inside = ca.fmin(ca.fmax(u, lower), upper) if np.isfinite(upper) else ca.fmax(u, lower)
    value = _applied(op, [inside, *arguments[1:]])
    for edge, outside in ((lower, ca.fmin(u - lower, 0)), (upper, ca.fmax(u - upper, 0))):
        if np.isfinite(edge):
            t = ca.SX.sym("t")
            slope = ca.substitute(ca.jacobian(_applied(op, [t, *arguments[1:]]), t), t, edge)
            value = value + slope * outside
    return value


def continued(
    rows: list[Any], graphs: list[Graph | None], x: Any, points: Floats
) -> tuple[list[Any], list[tuple[int, DomainGuard]]]:
    """Return the rows that can be evaluated everywhere, and their guards as (row, guard).

    Sizes of arguments are taken from the points (k, n).
    """

    def size_of(expression: Any) -> float:
        return median(np.abs(ca.Function("s", [x], [expression])(points.T).full()))

    safe = list(rows)
    guards: list[tuple[int, DomainGuard]] = []
    for j, graph in enumerate(graphs):
        expression, own = (None, []) if graph is None else guarded(graph, x, size_of)
        if own:
            safe[j] = expression
            guards += [(j, guard) for guard in own]
    return safe, guards


def linear_parts(
    rows: list[Any], graphs: list[Graph | None], x: Any
) -> tuple[Floats, Floats, list[bool]]:
    """Gradients (m, n) and constants (m,), zero if not linear, and which rows are not linear."""
    m, n = len(rows), x.numel()
    if m == 0 or n == 0:
        constants: Any = ca.Function("c", [x], [ca.vertcat(*rows)])(np.zeros(n)) if rows else []
        return np.zeros((m, n)), np.array(constants, dtype=float).ravel(), [False] * m
    stacked = ca.vertcat(*rows)
    curved = [
        bool(bent) or graph is None or any(node.op not in _LINEAR for node in graph.nodes)
        for bent, graph in zip(ca.which_depends(stacked, x, 2, True), graphs, strict=True)
    ]
    function = ca.Function("l", [x], [stacked, ca.densify(ca.jacobian(stacked, x))])
    value, jacobian = function(np.zeros(n))
    straight = ~np.array(curved)
    gradients = np.where(straight[:, None], jacobian.full(), 0.0)
    return gradients, np.where(straight, value.full().ravel(), 0.0), curved


def dependencies(expressions: list[Any], x: Any) -> list[tuple[int, ...]]:
    """Return the indices of the variables on which each scalar expression depends."""
    indices: list[set[int]] = [set() for _ in expressions]
    if expressions and x.numel():
        sparsity = ca.jacobian_sparsity(ca.vertcat(*expressions), x)
        for row, column in zip(*sparsity.get_triplet(), strict=True):
            indices[row].add(column)
    return [tuple(sorted(i)) for i in indices]


def median(values: Floats) -> float:
    """Median of the positive finite values; 1 if there are none."""
    good = values[np.isfinite(values) & (values > 0)]
    return float(np.median(good)) if len(good) else 1.0
