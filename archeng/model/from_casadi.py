"""Importers: an existing `casadi.Opti`, or the dictionary that `casadi.nlpsol` takes."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from archeng.checks import documented, flag, named_options, shown, texts
from archeng.errors import ModelError
from archeng.model.advice import IMPORT_HINTS
from archeng.model.black_boxes import EQUALITY_TOLERANCE
from archeng.model.casadi_problem import Problem, build, last_lines
from archeng.model.domain import INTEGER, REAL, Domain
from archeng.model.model import Model
from archeng.model.structure.named import named_items
from archeng.model.teaching import symbol_shape
from archeng.model.variable import Floats, vector

_COMMON = (
    (
        "scale",
        "array_like, optional",
        "Initial standard deviation per scalar variable; needed where bounds are missing.",
    ),
    (
        "tolerance",
        "float, optional",
        "Half-width of equalities; by default relative to each row, and "
        f"{EQUALITY_TOLERANCE:g} if the row holds results of black boxes.",
    ),
    (
        "black_boxes",
        "sequence of casadi.Function or str, optional",
        "Expensive functions in the formulas (a casadi.Callback is one), or their names. They "
        "become outputs of the model, computed once for each design that is simulated.",
    ),
    (
        "gradients",
        "bool",
        "Ask CasADi for the derivatives of the black boxes at each of these designs, too.",
    ),
    (
        "independent",
        "list, optional",
        "Variables of the problem, entries of them, or names, as :meth:`Model.independent` takes "
        "them; by default the independent variables are chosen for you.",
    ),
    (
        "parameters",
        "bool",
        "Keep parameters as those of the model, which ``solve(..., parameters={name: value})`` "
        "changes. By default their values are put into the formulas.",
    ),
    (
        "objective",
        "bool, optional",
        "Keep the objective, so that ``archeng.solve(model)`` needs no simulator. By default only "
        "with black boxes.",
    ),
)
"""Options that both importers have: name, type, meaning."""


@documented(_COMMON)
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
    discrete: Sequence[bool] | None = None,
    scale: ArrayLike | None = None,
    names: Sequence[str] | None = None,
    row_names: Sequence[str] | None = None,
    tolerance: float | None = None,
    black_boxes: Sequence[Any] | None = None,
    gradients: bool = False,
    independent: Sequence[Any] | None = None,
    parameters: bool = False,
    objective: bool | None = None,
    name: str = "nlp",
) -> Model:
    """Import the dictionary ``{"x": ..., "g": ..., "p": ..., "f": ...}`` of `casadi.nlpsol`.

    Parameters
    ----------
    nlp : mapping
        ``x`` is needed; ``g`` are the rows, ``p`` parameters (kept under the name ``"p"``), ``f``
        the objective. SX or MX.
    lbx, ubx, lbg, ubg, p, x0 : array_like
        As in the call of an ``nlpsol`` solver. Scalars are repeated.
    discrete : sequence of bool, optional
        As the option of ``nlpsol`` for Bonmin and the like: which entries of ``x`` are integers.
    names, row_names : sequence of str, optional
        One per entry of ``x`` and of ``g``; by default the symbols' own names and ``g[0]``, ...
    {options}

    Returns
    -------
    Model
    """
    _check_nlp(nlp)
    flag("parameters", parameters, ModelError)
    x, value = ca.vec(nlp["x"]), _parameter(nlp, p)
    n = x.numel()
    labels = _symbol_names(x) if names is None else texts("names", names, n, ModelError)
    columns = {"lower": vector("lbx", lbx, n), "upper": vector("ubx", ubx, n)}
    columns |= {} if x0 is None else {"start": vector("x0", x0, n)}
    columns |= {} if scale is None else {"scale": vector("scale", scale, n)}
    columns |= {"domain": np.array(_domains(discrete, n), dtype=object)}
    variables = [(label, {k: v[i] for k, v in columns.items()}) for i, label in enumerate(labels)]
    symbols, g = (type(x)(0, 1) if nlp.get(k) is None else ca.vec(nlp[k]) for k in ("p", "g"))
    kept = (("p", value if len(value) > 1 else value[0]),) if parameters and len(value) else ()
    missing = "the nlp dictionary has no objective 'f'"
    f = _kept_objective(nlp.get("f"), objective, black_boxes, missing)
    problem = Problem(x, symbols, value, kept, g, f, lbg, ubg, row_names=row_names)
    boxes = black_boxes, gradients
    model = build(name, variables, problem, boxes, tolerance, lambda i: "nlp")
    return model.name_independents(named_items(independent), x)


@documented(_COMMON)
@named_options(ModelError, IMPORT_HINTS)
def from_opti(
    opti: Any,
    *,
    names: Sequence[str] | None = None,
    scale: ArrayLike | None = None,
    tolerance: float | None = None,
    black_boxes: Sequence[Any] | None = None,
    gradients: bool = False,
    independent: Sequence[Any] | None = None,
    parameters: bool = False,
    parameter_names: Sequence[str] | None = None,
    objective: bool | None = None,
    name: str = "opti",
) -> Model:
    """Import a `casadi.Opti`: variables, parameter values, constraints, initial guesses.

    ``a < b`` is strict, other than for the solvers of CasADi: the limit itself is excluded.

    Parameters
    ----------
    opti : casadi.Opti
        Not changed. Its solver is ignored.
    names : sequence of str, optional
        One per ``opti.variable()`` call, in order (Opti has no names of its own).
    parameter_names : sequence of str, optional
        One per ``opti.parameter()`` call, in order: they are kept under these names, instead of
        ``p_1``, ``p_2``, ... of ``parameters=True``.
    {options}

    Returns
    -------
    Model
    """
    if not isinstance(opti, ca.Opti):
        raise ModelError(f"Expected a casadi.Opti, got {shown(opti)}.")
    flag("parameters", parameters, ModelError)
    symbols = _opti_variables(opti, names)
    every = ca.vertcat(*(ca.vec(s) for _, s in symbols))
    columns = {"start": np.array(opti.debug.value(every, opti.initial()), dtype=float).reshape(-1)}
    columns |= {} if scale is None else {"scale": vector("scale", scale, every.numel())}
    variables, end = [], 0
    for label, symbol in symbols:
        begin, end, shape = end, end + symbol.numel(), symbol_shape(symbol)
        own = {k: v[begin:end].reshape(shape, order="F") for k, v in columns.items()}
        real = opti.advanced.get_meta(symbol).domain == ca.OPTI_DOMAIN_REAL
        variables.append((label, {"shape": shape, "domain": REAL if real else INTEGER, **own}))
    f = None if opti.f.is_constant() else opti.f
    f = _kept_objective(f, objective, black_boxes, "the Opti has no objective (opti.minimize)")
    problem = _opti_problem(opti, every, f, parameters, parameter_names)
    boxes = black_boxes, gradients
    model = build(name, variables, problem, boxes, tolerance, partial(_opti_source, opti))
    return model.name_independents(named_items(independent), every)


def _kept_objective(f: Any, objective: bool | None, black_boxes: Any, missing: str) -> Any:
    """Return the objective if it is kept: as asked, or else if there are black boxes."""
    if objective is None:
        return None if black_boxes is None else f
    if flag("objective", objective, ModelError) and f is None:
        raise ModelError(f"There is no simulator, and {missing} to take its place.")
    return f if objective else None


# -- nlp -------------------------------------------------------------------------------------


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


def _parameter(nlp: Mapping[str, Any], p: ArrayLike | None) -> Floats:
    size = 0 if nlp.get("p") is None else ca.vec(nlp["p"]).numel()
    if size and p is None:
        raise ModelError(f"The nlp has {size} parameters; give their values as p=.")
    value = vector("p", 0.0 if p is None else p, size)
    if not np.all(np.isfinite(value)):
        raise ModelError(f"p must be finite, got {value}.")
    return value


def _domains(discrete: Any, size: int) -> list[Domain]:
    """Return the domains of entries, as the option of nlpsol says it."""
    if discrete is None:
        return [REAL] * size
    try:
        flags = [bool(flag) if flag in (0, 1) else None for flag in discrete]
    except (TypeError, ValueError):
        flags = [None]
    if len(flags) != size or None in flags:
        raise ModelError(
            f"discrete must have one True or False for each of the {size} variables, got "
            f"{shown(discrete)}."
        )
    return [INTEGER if flag else REAL for flag in flags]


def _symbol_names(x: Any) -> list[str]:
    """Names of the entries of a symbolic vector; ``x[0]`` style when one symbol has several."""
    names: list[str] = []
    for symbol in ca.symvar(x):
        size = symbol.numel()
        names += [symbol.name()] if size == 1 else [f"{symbol.name()}[{i}]" for i in range(size)]
    return names if len(set(names)) == len(names) else [f"x[{i}]" for i in range(x.numel())]


# -- Opti ------------------------------------------------------------------------------------


def _opti_variables(opti: Any, names: Sequence[str] | None) -> list[tuple[str, Any]]:
    """Return names and symbols of the variables: no parameters, no multipliers."""
    meta = opti.advanced.get_meta
    symbols = [s for s in opti.advanced.symvar() if meta(s).type == ca.OPTI_VAR]
    labels = (
        _own_names(symbols) if names is None else texts("names", names, len(symbols), ModelError)
    )
    return list(zip(labels, symbols, strict=True))


def _opti_problem(
    opti: Any, x: Any, f: Any, parameters: bool, names: Sequence[str] | None
) -> Problem:
    """Read the rows of an Opti with their limits, and the values of its parameters."""
    meta = opti.advanced.get_meta
    symbols = [s for s in opti.advanced.symvar() if meta(s).type == ca.OPTI_PAR]
    labels = _own_names(symbols)
    if names is not None:
        labels = texts("parameter_names", names, len(symbols), ModelError)
    keep = parameters or names is not None
    p = ca.veccat(ca.MX(0, 1), *symbols) if keep else opti.p
    try:
        value, lower, upper, *own = (
            np.array(opti.value(e, opti.initial()), dtype=float).reshape(-1, order="F")
            for e in (p, opti.lbg, opti.ubg, *symbols[: len(symbols) if keep else 0])
        )
    except RuntimeError as error:
        raise ModelError(
            f"The Opti cannot be read: {last_lines(error)} Give every parameter a value with "
            "opti.set_value()."
        ) from error
    shapes = [symbol_shape(s) for s in symbols]
    kept = tuple(
        (label, array.reshape(shape, order="F"))
        for label, array, shape in zip(labels, own, shapes, strict=False)
    )
    metas = [opti.advanced.get_meta_con(c) for c in opti.advanced.constraints()]
    strict = [m.original.is_op(ca.OP_LT) for m in metas for _ in range(m.canon.numel())]
    limits = (opti.lbg, opti.ubg) if kept else None
    return Problem(x, p, value, kept, ca.vec(opti.g), f, lower, upper, limits, strict)


def _own_names(symbols: Sequence[Any]) -> list[str]:
    """Names as CasADi gives them, without the number of the Opti: x_1, p_1, ..."""
    return [re.sub(r"^opti\d+_", "", s.name()) for s in symbols]


def _opti_source(opti: Any, row: int) -> str:
    match = re.search(r"called from (.*):(\d+)", opti.debug.g_describe(row))
    return f"{Path(match[1]).name}:{match[2]}" if match else "Opti"
