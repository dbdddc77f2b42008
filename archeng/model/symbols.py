"""`Family`: symbols of one kind with their records; and what formulas may be made of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Generic, TypeVar

import casadi as ca
import numpy as np

from archeng.errors import ModelError
from archeng.model.constraint import Constraint, Row, check_limits, constants_of
from archeng.model.quantities import Output, Parameter

R = TypeVar("R")


class Family(Generic[R]):
    """Symbols of a model of one kind (variables, parameters or outputs), in declaration order."""

    def __init__(self, kind: Any) -> None:
        self.records: dict[str, R] = {}
        self.symbols: list[Any] = []
        self.hashes: set[int] = set()  # of their scalars, or of MX symbols
        self._kind = kind

    def add(self, symbol: Any, record: Any) -> None:
        """Take a symbol and its record, which has a name."""
        self.records[record.name] = record
        self.symbols.append(symbol)
        self.hashes.update(hash(s) for s in ca.symvar(symbol))

    @property
    def column(self) -> Any:
        """All of them as one CasADi column vector."""
        return ca.vertcat(self._kind(0, 1), *(ca.vec(s) for s in self.symbols))

    def held_by(self, expressions: Sequence[Any]) -> list[bool]:
        """Which formulas hold one of them."""
        return [any(hash(s) in self.hashes for s in ca.symvar(e)) for e in expressions]

    def copy(self, records: Mapping[str, R] | None = None) -> Family[R]:
        """Return a family of the same symbols, with some other records."""
        new = Family[R](self._kind)
        new.records, new.symbols = {**self.records, **(records or {})}, list(self.symbols)
        new.hashes = set(self.hashes)
        return new


def put_in(expressions: list[Any], parameters: Family[Parameter]) -> list[Any]:
    """Return formulas with the values of the parameters in their places."""
    if not parameters.records or not expressions:
        return expressions
    values = [
        ca.DM(np.reshape(record.values, symbol.shape, order="F"))
        for record, symbol in zip(parameters.records.values(), parameters.symbols, strict=True)
    ]
    return list(ca.substitute(expressions, parameters.symbols, values))


def parts(
    constraints: Sequence[Constraint],
    outputs: Family[Output],
    parameters: Family[Parameter],
    *,
    held: bool,
) -> tuple[Constraint, ...]:
    """Return constraints with those rows that hold outputs, or that hold none.

    Parameters have their values in them.
    """
    if outputs.records:
        chosen = [
            c.part(inside == held for inside in outputs.held_by([r.expression for r in c.rows]))
            for c in constraints
        ]
        constraints = [part for part in chosen if part is not None]
    elif held:
        return ()
    left = iter(put_in([row.expression for c in constraints for row in c.rows], parameters))
    return tuple(c.with_expressions([next(left) for _ in c.rows]) for c in constraints)


def check_rows(rows: list[Row], kind: Any, families: Sequence[Family[Any]], where: str) -> None:
    """Raise unless limits make sense, symbols are the model's own and coefficients are finite.

    ``kind`` is that of the model's symbols, SX or MX.
    """
    for row in rows:
        check_limits(row, where)
        if not isinstance(row.expression, kind):
            raise ModelError(
                f"{where}: the model uses {kind.__name__} symbols but the expression "
                f"is {type(row.expression).__name__}. Use the symbols of model.variable()."
            )
    if not rows:
        return
    expression = ca.vertcat(*(row.expression for row in rows))
    check_known(expression, families, where)
    bad = [c for c in constants_of(expression) if not np.isfinite(c)]
    if bad:
        hint = " math.sqrt and the like make NaN of a formula: use casadi.sqrt."
        raise ModelError(
            f"{where}: a coefficient is {bad[0]}; all must be finite numbers."
            f"{hint if np.isnan(bad[0]) else ''}"
        )


def check_known(expression: Any, families: Sequence[Family[Any]], where: str) -> None:
    """Raise if a formula holds a symbol that the model does not have."""
    foreign = sorted(
        {str(s) for s in ca.symvar(expression) if not any(hash(s) in f.hashes for f in families)}
    )
    if foreign:
        known = [s for family in families for s in ca.symvar(family.column)]
        have = ", ".join(dict.fromkeys(str(s) for s in known)) or "none"
        raise ModelError(
            f"{where}: unknown variable {', '.join(foreign)}; the model has {have}. Declare it "
            "with model.variable() or replace it by a number."
        )
