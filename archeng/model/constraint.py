"""`Constraint`: one declared constraint, made of two-sided rows, and how it is read.

A relation in CasADi (``a <= b``, ``a == b``) is an ordinary expression whose last operation is a
comparison. Rows keep the engineer's side as the value and the number as the limit: ``stress <=
250`` becomes the row ``stress`` with upper limit 250, so that tables speak the engineer's language.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import casadi as ca
import numpy as np

from archeng.checks import floats, is_real, shown
from archeng.errors import ModelError
from archeng.model.tolerance import declared_box, default_half_widths, neighbourhood
from archeng.model.variable import Floats, Variable, stacked

_COMPARISONS = (ca.OP_LE, ca.OP_LT, ca.OP_EQ)


@dataclass(frozen=True)
class Row:
    """``lower <= expression <= upper`` with a scalar expression; equality: both limits equal.

    ``when`` is 1 where it must hold and 0 where it need not, a formula of discrete variables; None:
    it must hold always.
    """

    expression: Any
    lower: float
    upper: float
    when: Any = None

    @property
    def is_equality(self) -> bool:
        """Whether both limits are the same number."""
        return self.lower == self.upper


@dataclass(frozen=True)
class Constraint:
    """One call of ``subject_to``: a name, its source line, and one row per element.

    ``tolerance`` is what was asked for: the half-width of the rows whose two limits are equal, or
    None for the default. ``half_widths`` are the defaults, one for each row (0 for an
    inequality); :attr:`Model.constraints` fills them in.
    """

    name: str
    rows: tuple[Row, ...]
    tolerance: float | None
    source: str
    half_widths: tuple[float, ...] = ()
    indices: tuple[int, ...] | None = None  # of the rows, if they are a part of a constraint's

    def row_names(self) -> list[str]:
        """Name of each row: the constraint's own, with an index if there are several."""
        if self.indices is not None:
            return [f"{self.name}[{i}]" for i in self.indices]
        if len(self.rows) == 1:
            return [self.name]
        return [f"{self.name}[{i}]" for i in range(len(self.rows))]

    def part(self, chosen: Iterable[bool]) -> Constraint | None:
        """Return the constraint with some of its rows only, which keep their names; None: none."""
        indices = tuple(i for i, kept in enumerate(chosen) if kept)
        if len(indices) == len(self.rows):
            return self
        rows = tuple(self.rows[i] for i in indices)
        return replace(self, rows=rows, indices=indices) if indices else None

    def with_expressions(self, expressions: Sequence[Any]) -> Constraint:
        """Return the constraint with other expressions in its rows; itself if none differs."""
        pairs = list(zip(self.rows, expressions, strict=True))
        if all(row.expression is expression for row, expression in pairs):
            return self
        return replace(self, rows=tuple(replace(row, expression=e) for row, e in pairs))

    def widths(self) -> Floats:
        """Half-width of each row, 0 for an inequality."""
        given = [self.tolerance or 0.0] * len(self.rows)
        widths = given if self.tolerance is not None else self.half_widths or given
        return np.where(self.equalities(), widths, 0.0)

    def limits(self) -> tuple[Floats, Floats]:
        """Lower and upper limit of each row, equalities widened by the tolerance."""
        lower = np.array([r.lower for r in self.rows], dtype=float)
        upper = np.array([r.upper for r in self.rows], dtype=float)
        return lower - self.widths(), upper + self.widths()

    def equalities(self) -> list[bool]:
        """Which rows are equalities."""
        return [r.is_equality for r in self.rows]

    @property
    def needs_default(self) -> bool:
        """Whether an equality has neither a tolerance nor a default yet."""
        has_one = self.tolerance is not None or self.half_widths
        return not has_one and any(self.equalities())

    def __str__(self) -> str:
        return f"Constraint {self.name!r} ({self.source})"


def half_width(tolerance: Any, where: str) -> float | None:
    """Return the tolerance of an equality as a number; None stands for the default."""
    if tolerance is None:
        return None
    if not is_real(tolerance) or not tolerance > 0:
        raise ModelError(f"{where}: tolerance must be positive and finite, got {shown(tolerance)}.")
    return float(tolerance)


def with_defaults(
    constraints: Sequence[Constraint], variables: Sequence[Variable], symbols: Any
) -> tuple[Constraint, ...]:
    """Return the constraints; equalities without a tolerance get their defaults."""
    chosen = [r for c in constraints if c.needs_default for r in c.rows if r.is_equality]
    if not chosen:
        return tuple(constraints)
    always = [r for c in constraints for r in c.rows if r.when is None]
    box = declared_box(variables, always, symbols)
    near = neighbourhood(*box, *stacked(variables, "start", "scale"))
    widths = default_half_widths(
        [r.expression for r in chosen], [r.lower for r in chosen], symbols, near
    )
    left = iter(widths.tolist())
    return tuple(
        replace(c, half_widths=tuple(next(left) if e else 0.0 for e in c.equalities()))
        if c.needs_default
        else c
        for c in constraints
    )


# -- checking -------------------------------------------------------------------------------


def check_limits(row: Row, where: str) -> None:
    """Raise if the limits of a row are none."""
    if np.isnan(row.lower) or np.isnan(row.upper):
        raise ModelError(f"{where}: a limit is NaN.")
    if row.lower == np.inf or row.upper == -np.inf:
        raise ModelError(
            f"{where}: limits must satisfy lower < +inf and upper > -inf, got "
            f"[{row.lower}, {row.upper}]; no design can satisfy this."
        )
    if row.lower > row.upper:
        raise ModelError(f"{where}: lower limit {row.lower:g} is above upper limit {row.upper:g}.")


def constants_of(expression: Any) -> list[float]:
    """Return all numbers that appear in an expression."""
    function = ca.Function("f", ca.symvar(expression), [expression])
    constants: list[float] = []
    for k in range(function.n_instructions()):
        if function.instruction_id(k) == ca.OP_CONST:
            if isinstance(expression, ca.SX):
                constants.append(function.instruction_constant(k))
            else:
                constants.extend(function.instruction_MX(k).to_DM().full().reshape(-1))
    return constants


# -- reading relations ----------------------------------------------------------------------


def rows_of_relation(relation: Any, label: str) -> list[Row]:
    """Split a relation, element by element, into rows.

    What is no relation is refused: a plain expression, a Python bool, ``!=``, ``and``, ...
    """
    if not isinstance(relation, ca.SX | ca.MX):
        raise ModelError(
            f"{label}: expected a CasADi relation such as `x <= 3`, got {shown(relation)}. "
            "If both sides are numbers the comparison was done by Python; at least one side "
            "must contain a variable of the model. (math.sqrt and the like make NaN of a "
            "formula: use casadi.sqrt.)"
        )
    _check_not_empty(relation, label)
    return _rows(ca.densify(relation) if isinstance(relation, ca.SX) else relation, label)


def rows_of_expression(expression: Any, lower: Any, upper: Any, label: str) -> list[Row]:
    """Rows of a plain expression with ``lower=`` and ``upper=`` (scalars or same shape)."""
    if not isinstance(expression, ca.SX | ca.MX):
        raise ModelError(f"{label}: expected a CasADi expression, got {shown(expression)}.")
    parts: list[Any] = expression.nonzeros() if isinstance(expression, ca.SX) else [expression]
    if any(part.is_op(op) for part in parts for op in (*_COMPARISONS, ca.OP_NE)):
        raise ModelError(
            f"{label}: a relation ({expression}) cannot also take lower= or upper=; "
            "pass the plain expression."
        )
    _check_not_empty(expression, label)
    elements = elements_of(expression)
    low = _limits(lower, -np.inf, len(elements), expression.shape, "lower", label)
    high = _limits(upper, np.inf, len(elements), expression.shape, "upper", label)
    return [Row(e, float(a), float(b)) for e, a, b in zip(elements, low, high, strict=True)]


def _check_not_empty(expression: Any, label: str) -> None:
    if expression.numel() == 0:
        raise ModelError(
            f"{label}: the expression is empty (shape {expression.shape}), so there is nothing to "
            "constrain. Check the slice or the list that it is made of."
        )


def elements_of(expression: Any) -> list[Any]:
    """Scalar expressions of a matrix expression in flat (column-major) order."""
    dense = ca.densify(expression)
    if isinstance(dense, ca.SX):
        return list(dense.nonzeros())
    return list(ca.vertsplit(ca.vec(dense))) if dense.numel() != 1 else [dense]


def _limits(
    value: Any, default: float, size: int, shape: tuple[int, int], what: str, label: str
) -> Any:
    try:
        array = floats(default if value is None else value)
        if array.ndim == 2:
            array = np.broadcast_to(array, shape).reshape(-1, order="F")
        return np.broadcast_to(array, (size,))
    except (TypeError, ValueError) as error:
        raise ModelError(
            f"{label}: {what}={shown(value)} must be a number or have one entry for each of the "
            f"{size} elements of the expression."
        ) from error


def _rows(relation: Any, label: str) -> list[Row]:
    """Rows of a relation; none of a part that CasADi already simplified to `true`.

    SX relations are scalars, or matrices of scalars; MX ones hold whole matrices on each side.
    """
    if isinstance(relation, ca.SX):
        parts = relation.nonzeros() if relation.numel() > 1 else []
    elif relation.is_op(ca.OP_VERTCAT) or relation.is_op(ca.OP_HORZCAT):
        parts = [relation.dep(i) for i in range(relation.n_dep())]
    else:
        parts = []
    if parts:
        return [row for part in parts for row in _rows(part, label)]
    if relation.is_constant():
        if np.all(ca.evalf(relation).full() == 1.0):
            return []
        raise ModelError(
            f"{label}: the relation is constant ({relation}), no variable is left in it. "
            "Check the expression: as written it can never hold."
        )
    if not any(relation.is_op(op) for op in _COMPARISONS):
        raise ModelError(
            f"{label}: {relation} is not a relation that archeng can use. Write `expression <= "
            "limit`, `>=` or `==`, or pass a plain expression with lower= and upper=. (A Python "
            "chain `a <= x <= b` does not work with symbols; use lower=, upper=. A yes or no, as "
            "of `part.is_(name)`, is 1 or 0: write `== 1`.)"
        )
    if any(relation.dep(i).is_op(op) for i in range(2) for op in _COMPARISONS):
        raise ModelError(
            f"{label}: {relation} compares a comparison, which is 0 or 1, with something. Write "
            "two constraints, or a plain expression with lower= and upper=."
        )
    sides = (_side(relation.dep(i), relation.shape) for i in range(2))
    return [_row(relation, left, right) for left, right in zip(*sides, strict=True)]


def _side(expression: Any, shape: tuple[int, int]) -> list[Any]:
    """Elements of one side; numbers stay constants, so that they become limits."""
    if expression.is_constant():
        values = np.broadcast_to(ca.evalf(expression).full(), shape).reshape(-1, order="F")
        return [type(expression)(float(v)) for v in values]
    if expression.numel() == 1 and shape != (1, 1):
        expression = ca.repmat(expression, *shape)
    return elements_of(expression)


def _row(relation: Any, left: Any, right: Any) -> Row:
    """Row of one element of a relation; the side that is a number is the limit."""
    equal = relation.is_op(ca.OP_EQ)
    if right.is_constant():
        limit = float(right)
        expression, lower, upper = left, limit if equal else -np.inf, limit
    elif left.is_constant():
        limit = float(left)
        expression, lower, upper = right, limit, limit if equal else np.inf
    else:
        expression, lower, upper = left - right, 0.0 if equal else -np.inf, 0.0
    if relation.is_op(ca.OP_LT):
        lower, upper = strict_limits(lower, upper)
    return Row(expression, lower, upper)


def strict_limits(lower: float, upper: float) -> tuple[float, float]:
    """Return the limits next to these, inside: those of ``lower < expression < upper``."""
    low, high = np.nextafter(lower, np.inf), np.nextafter(upper, -np.inf)
    return (float(low) if np.isfinite(lower) else lower), (
        float(high) if np.isfinite(upper) else upper
    )
