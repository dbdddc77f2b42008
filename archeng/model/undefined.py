"""Rows that CasADi may fail to evaluate count as undefined where it fails.

A formula is NaN outside its domain. A rootfinder without a root, an integrator whose solution blows
up, or a Callback that raises end the whole evaluation with an error instead, also in the middle
of a solver. Each row with such a part becomes a function of its own that is NaN there, with
derivatives by CasADi. They cannot be sent to another process; the model itself may be stored
as before.
"""

from __future__ import annotations

import contextlib
import io
import logging
from functools import partial
from typing import Any, NoReturn

import casadi as ca
import numpy as np

from archeng.errors import ModelError
from archeng.model.callables import BRIDGE, bridged, remembering
from archeng.model.conditional import in_one
from archeng.model.declarations import Declarations
from archeng.model.functions import FastFunction
from archeng.model.variable import Floats

logger = logging.getLogger("archeng")

# Kinds of functions that are formulas, or made of others.
_SAFE = frozenset(
    (
        "SXFunction", "MXFunction", "Switch", "Map", "ThreadMap", "OmpMap", "MapSum", "BSpline",
        "BSplineInterpolant", "LinearInterpolant",
    )
)  # fmt: skip


def free_rows(
    model: Declarations, free: Any, template: Floats
) -> tuple[Any, list[Any], tuple[Any, ...]]:
    """Return a symbol for the free variables, the rows as scalars, and what is to be kept alive.

    Conditions are parts of the rows; see :func:`free_formulas`.
    """
    x, rows, conditions, kept = free_formulas(model, free, template)
    limits = [pair for c in model.constraints for pair in zip(*c.limits(), strict=True)]
    together = zip(rows, conditions, limits, strict=True)
    return x, [in_one(row, when, float(a), float(b)) for row, when, (a, b) in together], kept


def free_formulas(
    model: Declarations, free: Any, template: Floats
) -> tuple[Any, list[Any], list[Any], tuple[Any, ...]]:
    """Return the symbol, the rows, the condition of each (or None), and what is to be kept alive.

    ``free`` are the positions (n,) of the free variables, ``template`` (n_full,) has the values of
    the others. MX models are expanded to SX where CasADi can do that (faster to evaluate).
    """
    every = [r for c in model.constraints for r in c.rows]
    conditional = [k for k, r in enumerate(every) if r.when is not None]
    expressions = [r.expression for r in every] + [every[k].when for k in conditional]
    function = ca.Function("all", [model.symbols], expressions)
    kind: Any = type(model.symbols)
    kept: tuple[Any, ...] = ()
    if may_fail(function):
        names = [name for c in model.constraints for name in c.row_names()]
        names += [f"condition of {names[k]}" for k in conditional]
        function, kept = _guarded(function, names)
        kind = ca.MX
    elif kind is ca.MX:
        with contextlib.suppress(RuntimeError):
            function, kind = function.expand(), ca.SX
    x = kind.sym("x", len(free))
    position = {int(full): k for k, full in enumerate(free)}
    entries = [x[position[i]] if i in position else template[i] for i in range(len(template))]
    results = function.call([ca.vertcat(*entries)], True, False)
    scalars = [kind(ca.densify(result)) for result in results]
    found = dict(zip(conditional, scalars[len(every) :], strict=True))
    return x, scalars[: len(every)], [found.get(k) for k in range(len(every))], kept


def _guarded(function: Any, names: list[str]) -> tuple[Any, tuple[Any, ...]]:
    """Return the function of all rows with guards around those that may fail, and the guards."""
    symbols = ca.MX.sym("symbols", function.numel_in(0))
    rows = function.call([symbols], True, False)
    guards = []
    for k, row in enumerate(rows):
        if may_fail(ca.Function("row", [symbols], [row])):
            guards.append(_Guard(names[k], row, symbols))
            rows[k] = guards[-1](symbols)
    return ca.Function("all", [symbols], rows), tuple(guards)


def may_fail(function: Any) -> bool:
    """Whether a function is made of others that may end in an error."""
    return any(
        f.class_name() not in _SAFE and not f.name().startswith(BRIDGE)
        for f in function.find_functions()
    )


class _Guard:
    """One row as a function of the variables in it: NaN where CasADi fails."""

    def __init__(self, name: str, row: Any, symbols: Any) -> None:
        self._name, self._warned = name, False
        _, columns = ca.jacobian_sparsity(row, symbols).get_triplet()
        self._columns = sorted(set(columns))
        k = len(self._columns)
        u, entries = ca.MX.sym("u", k), [ca.MX(0.0)] * symbols.numel()
        for i, column in enumerate(self._columns):
            entries[column] = u[i]
        value = ca.densify(ca.Function("row", [symbols], [row])(ca.vertcat(*entries)))
        try:
            first = ca.densify(ca.jacobian(value, u))
        except (RuntimeError, NotImplementedError) as error:
            raise ModelError(
                f"Constraint {name}: CasADi cannot differentiate it. Give its Callback a Jacobian "
                f'(has_jacobian) or the option {{"enable_fd": True}}. CasADi says: {error}'
            ) from error
        second = ca.MX.zeros(k, k)
        with contextlib.suppress(RuntimeError, NotImplementedError):  # it only guides the solvers
            second = ca.densify(ca.jacobian(first.T, u))
        self._functions = [
            FastFunction(ca.Function(f"row_{i}", [u], [e]))
            for i, e in enumerate((value, first, second))
        ]
        self._values = remembering(partial(self._evaluated, 0))  # a failure may take long
        self._bridges = bridged(k, 1, self._values, partial(self._evaluated, 1), self._second)

    def __call__(self, symbols: Any) -> Any:
        """Return the row as an expression of the symbols of the model."""
        return self._bridges[0](ca.vertcat(*(symbols[i] for i in self._columns)))

    def _evaluated(self, order: int, at: Floats) -> Floats:
        """Evaluate; NaN if CasADi fails, which it would also describe on standard error."""
        function = self._functions[order]
        undefined = np.full(function.function.numel_out(0), np.nan)
        if order and np.isnan(self._values(at)).any():
            return undefined
        try:
            with contextlib.redirect_stderr(io.StringIO()):
                return function.single(at)
        except RuntimeError as error:
            if not self._warned:
                self._warned = True
                last = str(error).strip().splitlines()[-1]
                logger.info("constraint %s counts as undefined at %s: %s", self._name, at, last)
            return undefined

    def _second(self, at: Floats) -> Floats:
        second = self._evaluated(2, at)
        return np.where(np.isfinite(second), second, 0.0)

    def __reduce__(self) -> NoReturn:
        raise TypeError(f"constraint {self._name} is guarded and stays in its process")
