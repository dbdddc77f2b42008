"""Importers: an existing `casadi.Opti`, or the dictionary that `casadi.nlpsol` takes."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from archeng.checks import flag, named_options, shown, texts
from archeng.errors import ModelError, UnsupportedModelError
from archeng.model.advice import IMPORT_HINTS
from archeng.model.constraint import Constraint, Row, elements_of, half_width, strict_limits
from archeng.model.domain import refusal
from archeng.model.model import Model
from archeng.model.variable import Floats, vector


@named_options(ModelError, IMPORT_HINTS)
def from_nlp(
    nlp: Mapping[str, Any],
    *,
    lbx: ArrayLike = -np.inf,
    ubx: ArrayLike = np.inf,
    lbg: ArrayLike = -np.inf,
    ubg: ArrayLike = np.inf,
    p: ArrayLike | None = None,
    x0: ArrayLike | None = None,
    scale: ArrayLike | None = None,
    names: Sequence[str] | None = None,
    row_names: Sequence[str] | None = None,
    tolerance: float | None = None,
    objective: bool = False,
    name: str = "nlp",
) -> Model:
    """Import the dictionary ``{"x": ..., "g": ..., "p": ..., "f": ...}`` of `casadi.nlpsol`.

    Parameters
    ----------
    nlp : mapping
        ``x`` is needed; ``g`` the rows; ``p`` parameters; ``f`` is ignored unless
        ``objective=True``. SX or MX.
    lbx, ubx, lbg, ubg, p, x0 : array_like
        As in the call of an ``nlpsol`` solver. Scalars are repeated.
    scale : array_like, optional
        Initial standard deviation of each variable; needed where bounds are missing.
    names, row_names : sequence of str, optional
        One per entry of ``x`` and of ``g``; by default the symbols' own names and ``g[0]``, ...
    tolerance : float, optional
        Half-width of the equality rows (``lbg == ubg``); by default relative to each row.
    objective : bool
        Keep ``f``, so that ``archeng.solve(model)`` needs no simulator.

    Returns
    -------
    Model
    """
    _check_nlp(nlp)
    flag("objective", objective, ModelError)
    x = ca.vec(nlp["x"])
    n = x.numel()
    labels = _symbol_names(x) if names is None else texts("names", names, n, ModelError)
    model = Model(name, symbols="SX" if isinstance(x, ca.SX) else "MX")
    low, high = vector("lbx", lbx, n), vector("ubx", ubx, n)
    first = [None] * n if x0 is None else vector("x0", x0, n)
    width = [None] * n if scale is None else vector("scale", scale, n)
    for label, a, b, start, deviation in zip(labels, low, high, first, width, strict=True):
        model.variable(label, lower=a, upper=b, start=start, scale=deviation)
    value = _parameter(nlp, p)
    f = _add_rows(model, x, nlp, value, (lbg, ubg), lambda i: "nlp", tolerance, row_names)
    if objective:
        _keep_objective(model, f, "the nlp dictionary has no objective 'f' to take its place.")
    return model


@named_options(ModelError, IMPORT_HINTS)
def from_opti(
    opti: Any,
    *,
    names: Sequence[str] | None = None,
    scale: ArrayLike | None = None,
    tolerance: float | None = None,
    objective: bool = False,
    name: str = "opti",
) -> Model:
    """Import a `casadi.Opti`: variables, parameter values, constraints, initial guesses.

    ``a < b`` is strict, other than for the solvers of CasADi: the limit itself is excluded.

    Parameters
    ----------
    opti : casadi.Opti
        Not changed. Its solver and, unless ``objective=True``, its objective are ignored.
    names : sequence of str, optional
        One per ``opti.variable()`` call, in order (Opti has no names of its own).
    scale : array_like, optional
        Initial standard deviation per scalar variable; needed where bounds are missing.
    tolerance : float, optional
        Half-width of equality constraints; by default relative to each row.
    objective : bool
        Keep the objective, so that ``archeng.solve(model)`` needs no simulator.

    Returns
    -------
    Model
    """
    if not isinstance(opti, ca.Opti):
        raise ModelError(f"Expected a casadi.Opti, got {shown(opti)}.")
    flag("objective", objective, ModelError)
    variables = _opti_variables(opti, names)
    value, *limits = _opti_numbers(opti)
    every = ca.vertcat(*(ca.vec(s) for _, s in variables))
    start = np.asarray(opti.debug.value(every, opti.initial()), dtype=float).reshape(-1)
    width = None if scale is None else vector("scale", scale, every.numel())
    model = Model(name, symbols="MX")
    end = 0
    for label, symbol in variables:
        begin, end, shape = end, end + symbol.numel(), _shape(symbol)
        first, deviation = (
            None if values is None else values[begin:end].reshape(shape, order="F")
            for values in (start, width)
        )
        model.variable(label, start=first, scale=deviation, shape=shape)
    nlp = {"p": opti.p, "g": opti.g, "f": opti.f}
    f = _add_rows(model, every, nlp, value, limits, partial(_opti_source, opti), tolerance)
    if objective:
        f = None if f.is_constant() else f
        _keep_objective(
            model, f, "the Opti has no objective to take its place: use opti.minimize()."
        )
    return model


def _check_nlp(nlp: Any) -> None:
    """Raise if this is not a dictionary of expressions as casadi.nlpsol takes it."""
    if not isinstance(nlp, Mapping):
        raise ModelError(f"Expected a dictionary as casadi.nlpsol takes it, got {shown(nlp)}.")
    if "x" not in nlp:
        raise ModelError(f"The nlp dictionary has no 'x'; its keys are {sorted(map(str, nlp))}.")
    unknown = sorted(map(str, set(nlp) - {"x", "g", "p", "f"}))
    if unknown:
        raise ModelError(f"The nlp dictionary has unknown keys {unknown}; known: x, g, p, f.")
    for key, value in nlp.items():
        if not isinstance(value, ca.SX | ca.MX) and (key == "x" or value is not None):
            raise ModelError(
                f"The nlp dictionary: {key} must be an SX or MX expression, got {shown(value)}."
            )


def _keep_objective(model: Model, f: Any, missing: str) -> None:
    if f is None:
        raise ModelError(f"There is no simulator, and {missing}")
    model.set_objective(f)


def _opti_variables(opti: Any, names: Sequence[str] | None) -> list[tuple[str, Any]]:
    """Return names and symbols of the variables: no parameters, no multipliers."""
    meta = opti.advanced.get_meta
    symbols = [s for s in opti.advanced.symvar() if meta(s).type == ca.OPTI_VAR]
    own = [re.sub(r"^opti\d+_", "", s.name()) for s in symbols]
    labels = own if names is None else texts("names", names, len(symbols), ModelError)
    variables = list(zip(labels, symbols, strict=True))
    problems = {
        label: [refusal("integer", "opti.set_domain")]
        for label, symbol in variables
        if meta(symbol).domain != ca.OPTI_DOMAIN_REAL
    }
    if problems:
        raise UnsupportedModelError("The Opti", problems)
    return variables


def _opti_numbers(opti: Any) -> tuple[Floats, Floats, Floats]:
    """Return the values of the parameters, and the limits (m,) of the rows."""
    try:
        value, lbg, ubg = (
            np.array(opti.value(e, opti.initial()), dtype=float).reshape(-1)
            for e in (opti.p, opti.lbg, opti.ubg)
        )
    except RuntimeError as error:
        raise ModelError(
            f"The Opti cannot be read: {_last_lines(error)} Give every parameter a value with "
            "opti.set_value()."
        ) from error
    return value, *_strict_where_asked(opti, lbg, ubg)


def _add_rows(
    model: Model,
    x: Any,
    nlp: Mapping[str, Any],
    p: Floats,
    limits: Sequence[ArrayLike],
    source: Callable[[int], str],
    tolerance: float | None,
    row_names: Sequence[str] | None = None,
) -> Any:
    """Add the rows, and return the objective: of the model's symbols, parameters as numbers."""
    symbols, g = (type(x)(0, 1) if nlp.get(k) is None else ca.vec(nlp[k]) for k in ("p", "g"))
    f = nlp.get("f")
    outputs = [ca.densify(g)] if f is None else [ca.densify(g), f]
    try:
        function = ca.Function("nlp", [x, symbols], outputs)
    except RuntimeError as error:
        raise ModelError(
            f"The constraints contain symbols that are neither in x nor in p: {_last_lines(error)}"
        ) from error
    rows, *objective = function.call([model.symbols, p], True, False)
    m = rows.numel()
    if m:
        low, high = vector("lbg", limits[0], m), vector("ubg", limits[1], m)
        own = [f"g[{i}]" for i in range(m)]
        labels = own if row_names is None else texts("row_names", row_names, m, ModelError)
        width = half_width(tolerance, "The imported rows")
        together = zip(labels, elements_of(rows), low, high, strict=True)
        model.add_constraints(
            [
                Constraint(label, (Row(e, a, b),), width, source(i))
                for i, (label, e, a, b) in enumerate(together)
            ]
        )
    return objective[0] if objective else None


def _parameter(nlp: Mapping[str, Any], p: ArrayLike | None) -> Floats:
    size = 0 if nlp.get("p") is None else ca.vec(nlp["p"]).numel()
    if size and p is None:
        raise ModelError(f"The nlp has {size} parameters; give their values as p=.")
    value = vector("p", 0.0 if p is None else p, size)
    if not np.all(np.isfinite(value)):
        raise ModelError(f"p must be finite, got {value}.")
    return value


def _symbol_names(x: Any) -> list[str]:
    """Names of the entries of a symbolic vector; ``x[0]`` style when one symbol has several."""
    names: list[str] = []
    for symbol in ca.symvar(x):
        size = symbol.numel()
        names += [symbol.name()] if size == 1 else [f"{symbol.name()}[{i}]" for i in range(size)]
    return names if len(set(names)) == len(names) else [f"x[{i}]" for i in range(x.numel())]


def _strict_where_asked(opti: Any, lower: Floats, upper: Floats) -> tuple[Floats, Floats]:
    """Return the limits (m,) of the rows, stepped inside where a constraint is strict."""
    metas = [opti.advanced.get_meta_con(c) for c in opti.advanced.constraints()]
    strict = [meta.original.is_op(ca.OP_LT) for meta in metas for _ in range(meta.canon.numel())]
    for i in np.flatnonzero(strict):
        lower[i], upper[i] = strict_limits(lower[i], upper[i])
    return lower, upper


def _opti_source(opti: Any, row: int) -> str:
    match = re.search(r"called from (.*):(\d+)", opti.debug.g_describe(row))
    return f"{Path(match[1]).name}:{match[2]}" if match else "Opti"


def _shape(symbol: Any) -> tuple[int, ...]:
    rows, columns = symbol.shape
    if (rows, columns) == (1, 1):
        return ()
    return (rows,) if columns == 1 else (rows, columns)


def _last_lines(error: Exception) -> str:
    return " ".join(str(error).strip().splitlines()[-2:])
