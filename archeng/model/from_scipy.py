"""Importer: ``x0``, bounds and constraints as `scipy.optimize.minimize` takes them.

SciPy is imported when it is needed, not with the package.
"""

from __future__ import annotations

import functools
import inspect
import itertools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from archeng.checks import floats, named_options, shown, texts
from archeng.errors import ModelError
from archeng.model.advice import IMPORT_HINTS
from archeng.model.callables import PythonFunction
from archeng.model.domain import INTEGER, REAL, Domain
from archeng.model.model import Model
from archeng.model.variable import Floats, rounded, vector

_STEPS = ("2-point", "3-point", "cs")
_UNBOUNDED_SCALE = 0.2  # initial deviation of a variable without both bounds, per max(1, |x0|)


@named_options(ModelError, IMPORT_HINTS)
def from_scipy(
    x0: ArrayLike,
    *,
    bounds: Any = None,
    constraints: Any = (),
    integrality: ArrayLike | None = None,
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
    integrality : array_like, optional
        As in `scipy.optimize.milp`: 1 for integers, which need both bounds, 0 for real numbers.
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
    lower, upper = _bounds(bounds, len(start))
    read = [
        _read(item, position, len(start)) for position, item in enumerate(_sequence(constraints))
    ]
    model = Model(name, symbols="MX" if any(hasattr(c, "fun") for c in read) else "SX")
    _declare(model, names, _domains(integrality, len(start)), (lower, upper, start), scale)
    inside, taken = np.clip(start, lower, upper), set[str]()
    size = np.where(np.isfinite(upper - lower), upper - lower, np.maximum(np.abs(inside), 1.0))
    for position, c in enumerate(read):
        label, source = _origin(c, position, taken)
        _add_rows(model, c, label, source, inside, size, tolerance)
    return model


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
        lower, upper = (np.array(np.broadcast_to(floats(side), (n,))) for side in (low, high))
        return lower, upper
    except Exception as error:  # an object may raise anything
        raise ModelError(
            f"bounds must be a scipy.optimize.Bounds or one (min, max) for each of the {n} "
            f"variables, got {shown(bounds)} ({error})."
        ) from error


def _domains(integrality: Any, n: int) -> list[Domain]:
    """Return the domain of each variable."""
    codes = vector("integrality", 0 if integrality is None else integrality, n)
    for code in codes.tolist():
        if code in (2.0, 3.0):
            raise ModelError(
                f"integrality={code:g}: semi-continuous variables are not supported. Use a binary "
                "and two constraints: lower * binary <= x and x <= upper * binary."
            )
        if code not in (0.0, 1.0):
            raise ModelError(f"integrality must be 0 (real) or 1 (integer), got {code:g}.")
    return [INTEGER if code else REAL for code in codes.tolist()]


def _declare(
    model: Model, names: Any, domains: list[Domain], columns: tuple[Floats, ...], scale: Any
) -> None:
    lower, upper, start = columns
    bounded = np.isfinite(lower) & np.isfinite(upper)
    rough = np.where(bounded, np.nan, _UNBOUNDED_SCALE * np.maximum(1.0, np.abs(start)))
    width = rough if scale is None else vector("scale", scale, len(start))
    width = np.where(np.isnan(width), (upper - lower) / 5.0, width)
    width = np.where(lower == upper, 1.0, width)  # fixed: not used
    options = {"lower": lower, "upper": upper, "start": start, "scale": width}
    if names is None and len(set(domains)) == 1:
        model.declare("x", shape=len(start), **rounded(domains[0], **options))
        return
    labels = [f"x[{i}]" for i in range(len(start))]
    if names is not None:
        labels = texts("names", names, len(start), ModelError)
    for i, (label, domain) in enumerate(zip(labels, domains, strict=True)):
        model.declare(label, **rounded(domain, **{key: v[i] for key, v in options.items()}))


# -- constraints ------------------------------------------------------------------------------


def _sequence(constraints: Any) -> list[Any]:
    from scipy.optimize import LinearConstraint, NonlinearConstraint

    if isinstance(constraints, Mapping | LinearConstraint | NonlinearConstraint):
        return [constraints]
    try:
        return list(constraints)
    except Exception as error:  # an object may raise anything
        raise ModelError(_what_was_expected(constraints)) from error


def _read(item: Any, position: int, n: int) -> Any:
    """Return a constraint as one of the two classes of SciPy."""
    from scipy.optimize import LinearConstraint, NonlinearConstraint

    where = f"constraints[{position}]"
    if isinstance(item, LinearConstraint):
        columns = item.A.shape[1]
        if columns != n:
            raise ModelError(f"{where}: the matrix has {columns} columns for {n} variables.")
        return item
    if isinstance(item, Mapping):
        kind, fun = str(item.get("type", "")).lower(), item.get("fun")
        unknown = sorted(set(item) - {"type", "fun", "jac", "args"})
        if kind not in ("eq", "ineq") or not callable(fun) or unknown:
            raise ModelError(
                f"{where}: a dictionary needs 'type' ('eq' or 'ineq') and a callable 'fun', and "
                f"may have 'jac' and 'args'; got {shown(dict(item))}."
            )
        args, jac = item.get("args", ()), item.get("jac")
        args = args if isinstance(args, tuple) else (args,)
        upper = 0.0 if kind == "eq" else np.inf
        item = NonlinearConstraint(_bound(fun, args), 0.0, upper, jac=_bound(jac, args))
    if not isinstance(item, NonlinearConstraint):
        raise ModelError(f"{where}: {_what_was_expected(item)}")
    jac = item.jac
    named = isinstance(jac, str) and jac in _STEPS
    if not callable(jac) and not named and jac is not None and jac is not False:
        raise ModelError(
            f"{where}: jac must be callable or one of {', '.join(_STEPS)}, got {shown(jac)}."
        )
    return item


def _bound(function: Any, args: tuple[Any, ...]) -> Any:
    """Return a function of x alone; what is no function as it is."""
    if not callable(function) or not args:
        return function
    return functools.wraps(function)(lambda x: function(x, *args))


def _add_rows(
    model: Model, c: Any, label: str, source: str, at: Floats, size: Floats, tolerance: Any
) -> None:
    """Add a constraint; its function is called ``at`` a point first, to learn how many rows."""
    where = f"{label!r} ({source})"
    if hasattr(c, "fun"):
        jac = c.jac if callable(c.jac) or c.jac == "cs" else None
        hess = c.hess if callable(c.hess) else None
        steps = c.finite_diff_rel_step
        function = PythonFunction(where, c.fun, at, size, jac=jac, hess=hess, rel_step=steps)
        model.keep(function)
        rows = function(model.symbols)
    else:
        matrix = c.A.toarray() if hasattr(c.A, "toarray") else c.A
        rows = ca.mtimes(ca.DM(floats(matrix)), model.symbols)
    low = vector(f"Constraint {where}: lb", c.lb, rows.numel())
    high = vector(f"Constraint {where}: ub", c.ub, rows.numel())
    width = tolerance if np.any(low == high) else None
    model.subject_to(rows, lower=low, upper=high, name=label, source=source, tolerance=width)


def _origin(constraint: Any, position: int, taken: set[str]) -> tuple[str, str]:
    """Name and source line of a constraint; the second ``wall`` is ``wall_2``."""
    inner = inspect.unwrap(getattr(constraint, "fun", constraint))
    label, code = getattr(inner, "__name__", ""), getattr(inner, "__code__", None)
    label = label if label.isidentifier() else f"c{position + 1}"
    others = (f"{label}_{number}" for number in itertools.count(2))
    unique = next(name for name in itertools.chain([label], others) if name not in taken)
    taken.add(unique)
    source = type(inner).__name__
    if code is not None:
        source = f"{Path(code.co_filename).name}:{code.co_firstlineno}"
    return unique, source


def _what_was_expected(value: Any) -> str:
    return (
        "expected a scipy.optimize.LinearConstraint, a NonlinearConstraint, a dictionary with "
        f"'type' and 'fun', or a sequence of them; got {shown(value)}."
    )
