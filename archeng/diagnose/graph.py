"""Rows as lists of elementary operations, read from CasADi.

Two uses: interval arithmetic needs the operations one by one, and square roots, logarithms and
powers of a quantity that may become negative need *guards*: the quantity itself, with the range
in which the operation is defined. :func:`guarded` also returns the row with such operations
continued smoothly outside, so that a solver may pass through there.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np

_LINEAR = frozenset(
    (
        ca.OP_INPUT, ca.OP_CONST, ca.OP_ASSIGN, ca.OP_ADD, ca.OP_SUB, ca.OP_NEG, ca.OP_MUL,
        ca.OP_DIV, ca.OP_TWICE,
    )
)  # fmt: skip


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

    @property
    def only_linear_operations(self) -> bool:
        """Whether no operation bends or jumps (products and quotients may)."""
        return all(node.op in _LINEAR for node in self.nodes)


@dataclass(frozen=True)
class Guard:
    """Where an operation is defined: ``lower <= argument <= upper``."""

    argument: Any
    lower: float
    upper: float
    what: str


_DOMAINS: dict[int, tuple[float, float, str]] = {
    ca.OP_SQRT: (0.0, np.inf, "square root of a negative number"),
    ca.OP_LOG: (0.0, np.inf, "logarithm of a number that is not positive"),
    ca.OP_LOG1P: (-1.0, np.inf, "logarithm of a number that is not positive"),
    ca.OP_ASIN: (-1.0, 1.0, "arcsine of a number beyond 1"),
    ca.OP_ACOS: (-1.0, 1.0, "arccosine of a number beyond 1"),
    ca.OP_ACOSH: (1.0, np.inf, "acosh of a number below 1"),
    ca.OP_ATANH: (-1.0, 1.0, "atanh of a number beyond 1"),
}
_POWERS = (ca.OP_POW, ca.OP_CONSTPOW)
_POWER_DOMAIN = (0.0, np.inf, "broken power of a negative number")
_MARGIN = 1e-16  # of the size of an argument: where its operation is continued


def graph_of(expression: Any, x: Any) -> Graph | None:
    """Return the operations of a scalar SX expression of ``x``; None for MX."""
    if not isinstance(expression, ca.SX):
        return None
    function = ca.Function("row", [x], [expression])
    nodes: list[Node] = []
    at: dict[int, int] = {}  # register to node
    last = 0
    for k in range(function.n_instructions()):
        op, inputs = function.instruction_id(k), function.instruction_input(k)
        if op == ca.OP_OUTPUT:
            last = at[inputs[0]]
            continue
        if op == ca.OP_INPUT:
            node = Node(op, (), float(inputs[1]))
        elif op == ca.OP_CONST:
            node = Node(op, (), float(function.instruction_constant(k)))
        else:
            node = Node(op, tuple(at[i] for i in inputs))
        at[function.instruction_output(k)[0]] = len(nodes)
        nodes.append(node)
    return Graph(tuple(nodes[: last + 1]))


def domain_of(graph: Graph, node: Node) -> tuple[float, float, str] | None:
    """Range of a node's first input in which it is defined; None if that is everywhere."""
    if node.op in _POWERS:
        exponent = graph.nodes[node.inputs[1]]
        if exponent.op == ca.OP_CONST and float(exponent.value).is_integer():
            return None
        return _POWER_DOMAIN
    return _DOMAINS.get(node.op)


def guarded(graph: Graph, x: Any, size_of: Callable[[Any], float]) -> tuple[Any, list[Guard]]:
    """Rebuild a row that can be evaluated everywhere, with guards for where it is meaningful.

    Parameters
    ----------
    graph : Graph
    x : casadi.SX
        The variables.
    size_of : callable
        Typical size of an expression; decides how near to the edge of its domain an operation
        is continued by its tangent.
    """
    built: list[Any] = []
    guards: list[Guard] = []
    for node in graph.nodes:
        if node.op == ca.OP_INPUT:
            built.append(x[int(node.value)])
            continue
        if node.op == ca.OP_CONST:
            built.append(ca.SX(node.value))
            continue
        arguments = [built[i] for i in node.inputs]
        domain = domain_of(graph, node)
        if domain is None or arguments[0].is_constant():
            built.append(_apply(node.op, arguments))
            continue
        lower, upper, what = domain
        guards.append(Guard(arguments[0], lower, upper, what))
        edge = max(_MARGIN * size_of(arguments[0]), 1e-9 * abs(lower), 1e-200)
        built.append(_continued(node.op, arguments, lower + edge, upper - edge))
    return built[-1], guards


def _apply(op: int, arguments: list[Any]) -> Any:
    if op == ca.OP_ASSIGN:
        return arguments[0]
    if len(arguments) == 1:
        return ca.SX.unary(op, arguments[0])
    return ca.SX.binary(op, *arguments)


def _continued(op: int, arguments: list[Any], lower: float, upper: float) -> Any:
    """Apply an operation, continued by its tangents below ``lower`` and above ``upper``."""
    u = arguments[0]
    inside = ca.fmin(ca.fmax(u, lower), upper) if np.isfinite(upper) else ca.fmax(u, lower)
    value = _apply(op, [inside, *arguments[1:]])
    for edge, outside in ((lower, ca.fmin(u - lower, 0)), (upper, ca.fmax(u - upper, 0))):
        if np.isfinite(edge):
            t = ca.SX.sym("t")
            slope = ca.substitute(ca.jacobian(_apply(op, [t, *arguments[1:]]), t), t, edge)
            value = value + slope * outside
    return value


def denominators(graph: Graph, x: Any) -> list[Any]:
    """Return the quantities by which a row divides, as expressions of ``x``."""
    built: list[Any] = []
    found: list[Any] = []
    for node in graph.nodes:
        if node.op == ca.OP_INPUT:
            built.append(x[int(node.value)])
        elif node.op == ca.OP_CONST:
            built.append(ca.SX(node.value))
        else:
            arguments = [built[i] for i in node.inputs]
            below = {ca.OP_DIV: 1, ca.OP_INV: 0}.get(node.op)
            if below is not None and not arguments[below].is_constant():
                found.append(arguments[below])
            built.append(_apply(node.op, arguments))
    return found
