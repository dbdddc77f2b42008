"""Pyomo expressions as CasADi SX: Pyomo's own visitor and one table of converters.

A named ``Expression`` is converted once and its SX node is shared by everything that uses it,
so nested expressions grow neither in time nor in size. Parts without variables (parameters,
units, numbers) become plain floats on the way. What cannot be converted is noted and the walk
goes on, so that one import reports everything at once.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from functools import cache, reduce
from typing import Any

import casadi as ca
from pyomo.common.numeric_types import native_numeric_types
from pyomo.core.expr import logical_expr, numeric_expr, relational_expr
from pyomo.core.expr.numvalue import NonNumericValue, value
from pyomo.core.expr.visitor import StreamBasedExpressionVisitor, identify_mutable_parameters

from archeng.model.pyomo.parameters import Chosen, holds

NodeConverter = Callable[[Any, Sequence[Any]], Any]

_FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    name: getattr(ca, name)
    for name in (
        "exp", "log", "log10", "sqrt", "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh",
        "tanh", "asinh", "acosh", "atanh", "ceil", "floor",
    )
}  # fmt: skip


class UnsupportedNodeError(Exception):
    """An expression node has no counterpart in CasADi."""


def _unary(node: Any, arguments: Sequence[Any]) -> Any:
    name = node.getname()
    if name not in _FUNCTIONS:
        raise UnsupportedNodeError(f"function {name}() has no CasADi counterpart")
    return _FUNCTIONS[name](arguments[0])


def _below(left: Any, right: Any, strict: bool) -> Any:
    return left < right if strict else left <= right


def _ranged(node: Any, arguments: Sequence[Any]) -> Any:
    low, body, high = arguments
    first, second = node.strict if isinstance(node.strict, tuple) else (node.strict, node.strict)
    return ca.logic_and(_below(low, body, first), _below(body, high, second))


def _if(node: Any, arguments: Sequence[Any]) -> Any:
    condition, then, otherwise = arguments
    if isinstance(condition, bool | float | int):
        return then if condition else otherwise
    return ca.if_else(condition, then, otherwise)


def _fold(function: Callable[[Any, Any], Any]) -> NodeConverter:
    return lambda node, arguments: reduce(function, arguments)


_CONVERTERS: dict[type, NodeConverter] = {
    numeric_expr.NegationExpression: lambda node, a: -a[0],
    numeric_expr.ProductExpression: lambda node, a: a[0] * a[1],
    numeric_expr.DivisionExpression: lambda node, a: a[0] / a[1],
    numeric_expr.PowExpression: lambda node, a: a[0] ** a[1],
    numeric_expr.SumExpression: _fold(operator.add),
    numeric_expr.MinExpression: _fold(ca.fmin),
    numeric_expr.MaxExpression: _fold(ca.fmax),
    numeric_expr.AbsExpression: lambda node, a: ca.fabs(a[0]),
    numeric_expr.UnaryFunctionExpression: _unary,
    numeric_expr.Expr_ifExpression: _if,
    relational_expr.InequalityExpression: lambda node, a: _below(a[0], a[1], node.strict),
    relational_expr.RangedExpression: _ranged,
    relational_expr.EqualityExpression: lambda node, a: a[0] == a[1],
    relational_expr.NotEqualExpression: lambda node, a: a[0] != a[1],
    logical_expr.NotExpression: lambda node, a: ca.logic_not(a[0]),
    logical_expr.AndExpression: _fold(ca.logic_and),
    logical_expr.OrExpression: _fold(ca.logic_or),
}
"""How each Pyomo node becomes SX. Subclasses (linear, monomial, ...) use their parent's entry."""


@cache
def _converter(kind: type) -> NodeConverter:
    return next((_CONVERTERS[c] for c in kind.__mro__ if c in _CONVERTERS), _unknown)


def _unknown(node: Any, arguments: Sequence[Any]) -> Any:
    raise UnsupportedNodeError(f"{type(node).__name__} is not supported")


class Converter(StreamBasedExpressionVisitor):  # type: ignore[misc]
    """Visitor that turns a Pyomo expression into a float or a CasADi SX.

    Parameters
    ----------
    symbol_of : callable
        Returns the SX symbol of a Pyomo variable (a ``VarData``).
    external : callable
        Returns the symbol of an external function, from its node and its converted arguments.
    parameters : dict
        Params that are symbols; all others enter with their value.
    """

    def __init__(
        self,
        symbol_of: Callable[[Any], Any],
        external: NodeConverter,
        parameters: Chosen | None = None,
    ) -> None:
        super().__init__()
        self._symbol_of, self._external = symbol_of, external
        self._parameters = parameters or {}
        # by their ids, which are valid as long as the nodes are kept here, too
        self._shared: dict[int, tuple[Any, Any, dict[str, None]]] = {}
        self._open: list[dict[str, None]] = []  # reasons found in each open named expression

    def convert(self, expression: Any) -> tuple[Any, list[str]]:
        """Return the SX of an expression and what was unsupported in it."""
        self._open = [{}]
        value = self.walk_expression(expression)
        return value, list(self._open[0])

    # -- the visitor's hooks (names are Pyomo's) --------------------------------------------

    def initializeWalker(self, expr: Any) -> tuple[bool, Any]:  # noqa: D102
        descend, value = self.beforeChild(None, expr, 0)
        return descend, expr if descend else value

    def beforeChild(self, node: Any, child: Any, index: int) -> tuple[bool, Any]:  # noqa: D102
        if child.__class__ in native_numeric_types:
            return False, float(child)
        if isinstance(child, bool | str):  # a text is an argument of an external function
            return False, child
        if isinstance(child, NonNumericValue):
            return False, child.value
        if child is None:
            return False, self._problem("an expression without a value (None)")
        if not child.is_expression_type():
            if getattr(child, "is_logical_type", lambda: False)():
                return False, self._problem(f"Boolean variable {child.name!r} in an expression")
            if id(child) in self._parameters:
                return False, self._parameters[id(child)][0]
            leaf = self._symbol_of if child.is_variable_type() else self._number
            return False, leaf(child)
        if child.is_named_expression_type():
            if id(child) in self._shared:
                _, value, problems = self._shared[id(child)]
                self._open[-1].update(problems)
                return False, value
            if child.expr is None:
                return False, self._problem(f"expression {child.name!r} has no value")
            self._open.append({})
            return True, None
        if not child.is_potentially_variable() and not holds(child, self._parameters):
            return False, self._number(child)
        return True, None

    def exitNode(self, node: Any, data: Sequence[Any]) -> Any:  # noqa: D102
        if node.is_named_expression_type():
            reasons = self._open.pop()
            self._open[-1].update(reasons)
            self._shared[id(node)] = (node, data[0], reasons)
            return data[0]
        external = isinstance(node, numeric_expr.ExternalFunctionExpression)
        try:
            return (self._external if external else _converter(node.__class__))(node, data)
        except UnsupportedNodeError as reason:
            return self._problem(str(reason))
        except (ArithmeticError, TypeError, ValueError) as error:
            return self._problem(f"{type(node).__name__} cannot be evaluated: {error}")

    # -- helpers ----------------------------------------------------------------------------

    def _number(self, part: Any) -> float:
        """Value of a part without variables."""
        number, why = constant(part)
        return self._problem(why) if why else number

    def _problem(self, reason: str) -> float:
        self._open[-1][reason] = None
        return 1.0  # a stand-in: the import fails anyway once the walk is over


def constant(part: Any) -> tuple[float, str]:
    """Value of an expression without variables, and why it has none (empty if it has)."""
    try:
        number = value(part, exception=False)
    except (ArithmeticError, AttributeError, TypeError, ValueError):
        number = None
    if number.__class__ in native_numeric_types or isinstance(number, bool):
        return float(number), ""
    unset = [p.name for p in identify_mutable_parameters(part) if value(p, exception=False) is None]
    if unset:
        return math.nan, f"parameter {', '.join(unset)} has no value"
    return math.nan, f"{part} has the value {number!r}, not a number"
