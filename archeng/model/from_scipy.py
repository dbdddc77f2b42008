"""Importer: ``x0``, bounds and constraints as `scipy.optimize.minimize` takes them.

SciPy is imported when it is needed, not with the package.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from archeng.checks import floats, named_options, shown, texts
from archeng.errors import ModelError
from archeng.model.advice import IMPORT_HINTS
from archeng.model.callables import PythonFunction
from archeng.model.model import Model
from archeng.model.variable import Floats, vector

_STEPS = ("2-point", "3-point", "cs")
_UNBOUNDED_SCALE = 0.2  # initial deviation of a variable without both bounds, per max(1, |x0|)


@dataclass(frozen=True)
class _Rows:
    """One constraint: a matrix or a Python function, with its limits."""

    name: str
    source: str
    lower: Any
    upper: Any
    matrix: Any = None
    function: Callable[[Floats], Any] | None = None
    jac: Any = None
    hess: Any = None
    rel_step: Any = None


@named_options(ModelError, IMPORT_HINTS)
def from_scipy(
    x0: ArrayLike,
    *,
    bounds: Any = None,
    constraints: Any = (),
    names: Sequence[str] | None = None,
    scale: ArrayLike | None = None,
    tolerance: float | None = None,
    name: str = "minimize",
) -> Model:
    """Import bounds and constraints in the forms that `scipy.optimize.minimize` takes.

    Parameters
    ----------
    x0 : array_like, shape (n,)
        Where to begin. It need not be feasible, but functions must be defined there.
    bounds : scipy.optimize.Bounds or sequence of (min, max), optional
        ``None`` in a pair means no bound.
    constraints : optional
        A `LinearConstraint`, a `NonlinearConstraint`, a dictionary with ``type``, ``fun``,
        ``jac`` and ``args``, or a sequence of them. Linear ones become exact rows. Functions
        become rows with derivatives from ``jac`` and ``hess`` if these are callable, from complex
        steps for ``jac="cs"``, and from central finite differences otherwise.
        ``finite_diff_jac_sparsity`` and ``keep_feasible`` mean nothing here: all constraints
        always hold.
    names : sequence of str, optional
        One per variable; by default ``x[0]``, ``x[1]``, ...
    scale : array_like, optional
        Initial standard deviation of each variable. By default a fifth of the width between its
        bounds, and without both bounds a fifth of max(1, abs(x0)).
    tolerance : float, optional
        Half-width of equalities; by default relative to each row.

    Returns
    -------
    Model
        Functions stay in this process: such a model is not stored in journals.

    Raises
    ------
    ModelError
        A form that SciPy would not take either, or a function that fails at ``x0``.
    """
    start = _start(x0)
    n = len(start)
    lower, upper = _bounds(bounds, n)
    rows = [_read(item, position, n) for position, item in enumerate(_sequence(constraints))]
    model = Model(name, symbols="SX" if all(r.function is None for r in rows) else "MX")
    _declare(model, names, lower, upper, start, _deviations(scale, start, lower, upper))
    inside = np.clip(start, lower, upper)
    size = np.where(np.isfinite(upper - lower), upper - lower, np.maximum(np.abs(inside), 1.0))
    for label, r in zip(_labels([r.name for r in rows]), rows, strict=True):
        expression = _expression(model, label, r, inside, size)
        low, high = _limits(r, expression.numel(), label)
        width = tolerance if np.any(low == high) else None
        model.subject_to(
            expression, lower=low, upper=high, name=label, source=r.source, tolerance=width
        )
    return model


def _expression(model: Model, label: str, rows: _Rows, at: Floats, size: Floats) -> Any:
    """Return the rows of one constraint as an expression of the variables."""
    if rows.function is None:
        return ca.mtimes(ca.DM(rows.matrix), model.symbols)
    function = PythonFunction(
        f"{label!r} ({rows.source})",
        rows.function,
        at,
        size,
        jac=rows.jac,
        hess=rows.hess,
        rel_step=rows.rel_step,
    )
    model.keep(function)
    return function(model.symbols)


# -- variables --------------------------------------------------------------------------------


def _start(x0: Any) -> Floats:
    try:
        start = np.atleast_1d(floats(x0))
    except (TypeError, ValueError):
        start = np.zeros(0)
    if start.ndim != 1 or start.size == 0 or not np.all(np.isfinite(start)):
        raise ModelError(f"x0 must be a vector of finite numbers, got {shown(x0)}.")
    return start


def _bounds(bounds: Any, n: int) -> tuple[Floats, Floats]:
    from scipy.optimize import Bounds

    if bounds is None:
        return np.full(n, -np.inf), np.full(n, np.inf)
    try:
        if isinstance(bounds, Bounds):
            low, high = bounds.lb, bounds.ub
        else:
            pairs = [(a, b) for a, b in bounds]
            if len(pairs) != n:
                raise ValueError(f"{len(pairs)} pairs for {n} variables")
            low = [-np.inf if a is None else a for a, _ in pairs]
            high = [np.inf if b is None else b for _, b in pairs]
        return (
            np.array(np.broadcast_to(floats(low), (n,))),
            np.array(np.broadcast_to(floats(high), (n,))),
        )
    except Exception as error:  # an object may raise anything
        raise ModelError(
            f"bounds must be a scipy.optimize.Bounds or one (min, max) for each of the {n} "
            f"variables, got {shown(bounds)} ({error})."
        ) from error


def _deviations(scale: Any, start: Floats, lower: Floats, upper: Floats) -> Floats:
    """Return initial deviations (n,); NaN where the bounds say it."""
    if scale is not None:
        return vector("scale", scale, len(start))
    bounded = np.isfinite(lower) & np.isfinite(upper)
    return np.where(bounded, np.nan, _UNBOUNDED_SCALE * np.maximum(1.0, np.abs(start)))


def _declare(
    model: Model, names: Any, lower: Floats, upper: Floats, start: Floats, scale: Floats
) -> None:
    width = np.where(np.isnan(scale), (upper - lower) / 5.0, scale)
    width = np.where(lower == upper, 1.0, width)  # fixed: not used
    if names is None:
        model.variable("x", shape=len(start), lower=lower, upper=upper, start=start, scale=width)
        return
    labels = texts("names", names, len(start), ModelError)
    for label, a, b, x, s in zip(labels, lower, upper, start, width, strict=True):
        model.variable(label, lower=a, upper=b, start=x, scale=s)


# -- constraints ------------------------------------------------------------------------------


def _sequence(constraints: Any) -> list[Any]:
    from scipy.optimize import LinearConstraint, NonlinearConstraint

    if isinstance(constraints, Mapping | LinearConstraint | NonlinearConstraint):
        return [constraints]
    try:
        return list(constraints)
    except Exception as error:  # an object may raise anything
        raise ModelError(_what_was_expected(constraints)) from error


def _read(item: Any, position: int, n: int) -> _Rows:
    from scipy.optimize import LinearConstraint, NonlinearConstraint

    default = f"c{position + 1}"
    if isinstance(item, LinearConstraint):
        matrix = item.A.toarray() if hasattr(item.A, "toarray") else item.A
        matrix = np.atleast_2d(floats(matrix))
        if matrix.shape[1] != n:
            raise ModelError(
                f"constraints[{position}]: the matrix has {matrix.shape[1]} columns for {n} "
                "variables."
            )
        return _Rows(default, "LinearConstraint", item.lb, item.ub, matrix=matrix)
    if isinstance(item, NonlinearConstraint):
        label, source = _origin(item.fun, default)
        return _Rows(
            label,
            source,
            item.lb,
            item.ub,
            function=item.fun,
            jac=_derivative(item.jac, position),
            hess=item.hess if callable(item.hess) else None,
            rel_step=item.finite_diff_rel_step,
        )
    if isinstance(item, Mapping):
        return _read_dictionary(item, position, default)
    raise ModelError(f"constraints[{position}]: {_what_was_expected(item)}")


def _read_dictionary(item: Mapping[str, Any], position: int, default: str) -> _Rows:
    kind, fun = str(item.get("type", "")).lower(), item.get("fun")
    unknown = sorted(set(item) - {"type", "fun", "jac", "args"})
    if kind not in ("eq", "ineq") or not callable(fun) or unknown:
        raise ModelError(
            f"constraints[{position}]: a dictionary needs 'type' ('eq' or 'ineq') and a callable "
            f"'fun', and may have 'jac' and 'args'; got {shown(dict(item))}."
        )
    args = item.get("args", ())
    args = args if isinstance(args, tuple) else (args,)
    jac = _derivative(item.get("jac"), position)
    label, source = _origin(fun, default)
    return _Rows(
        label,
        source,
        0.0,
        0.0 if kind == "eq" else np.inf,
        function=_bound(fun, args),
        jac=_bound(jac, args) if callable(jac) else jac,
    )


def _bound(function: Callable[..., Any], args: tuple[Any, ...]) -> Callable[[Floats], Any]:
    return (lambda x: function(x, *args)) if args else function


def _derivative(jac: Any, position: int) -> Any:
    """Return a callable Jacobian, ``"cs"``, or None for finite differences."""
    if jac is None or jac is False or callable(jac):
        return jac or None
    if not isinstance(jac, str) or jac not in _STEPS:
        raise ModelError(
            f"constraints[{position}]: jac must be callable or one of {', '.join(_STEPS)}, got "
            f"{shown(jac)}."
        )
    return "cs" if jac == "cs" else None


def _origin(function: Any, default: str) -> tuple[str, str]:
    """Name and source line of a function, for tables and messages."""
    inner = inspect.unwrap(function)
    label = getattr(inner, "__name__", "")
    code = getattr(inner, "__code__", None)
    source = type(function).__name__
    if code is not None:
        source = f"{Path(code.co_filename).name}:{code.co_firstlineno}"
    return (label if label.isidentifier() else default), source


def _labels(names: list[str]) -> list[str]:
    """Names made unique: the second ``wall`` is ``wall_2``."""
    taken: set[str] = set()
    for position, label in enumerate(names):
        unique, number = label, 2
        while unique in taken:
            unique, number = f"{label}_{number}", number + 1
        taken.add(unique)
        names[position] = unique
    return names


def _limits(rows: _Rows, m: int, label: str) -> tuple[Floats, Floats]:
    where = f"Constraint {label!r} ({rows.source})"
    return vector(f"{where}: lb", rows.lower, m), vector(f"{where}: ub", rows.upper, m)


def _what_was_expected(value: Any) -> str:
    return (
        "expected a scipy.optimize.LinearConstraint, a NonlinearConstraint, a dictionary with "
        f"'type' and 'fun', or a sequence of them; got {shown(value)}."
    )
