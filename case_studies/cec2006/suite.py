"""Assembling the problems: the definitions, the known answers and a fresh archeng model."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from archeng.model import Model
from case_studies.cec2006 import g01_g09, g10_g15, g16, g17_g20, g21_g24
from case_studies.cec2006.definition import Definition, Floats
from case_studies.shared.suites import BoxProblem, evaluate, frozen, known_optima, look_up

EQUALITY_TOLERANCE = 1e-4
"""Half-width of the equalities in the report, to which its best known values belong."""

_OPTIMA = Path(__file__).with_name("known_optima.json")
_DEFINITIONS: dict[str, Definition] = {
    **g01_g09.DEFINITIONS,
    **g10_g15.DEFINITIONS,
    **g16.DEFINITIONS,
    **g17_g20.DEFINITIONS,
    **g21_g24.DEFINITIONS,
}


@dataclass(frozen=True, eq=False, kw_only=True)
class Problem(BoxProblem):
    """One problem of the suite.

    The model has one vector variable ``x``; its rows are named ``g1``, ``g2``, ... (inequalities)
    and ``h1``, ``h2``, ... (equalities) as in the report. `f_opt` and `x_opt` are those published,
    where equalities hold to `EQUALITY_TOLERANCE`.

    Attributes
    ----------
    f_strict, x_strict : float or None, ndarray of shape (n,) or None
        The same with the equalities met to rounding; None if no such point is known.
    feasible_known : bool
        False only for g20, whose published point violates its constraints.
    """

    f_strict: float | None
    x_strict: Floats | None
    feasible_known: bool


def names() -> list[str]:
    """Names of the problems, ``["g01", ..., "g24"]``."""
    return list(_DEFINITIONS)


def definition(name: str) -> Definition:
    """Look up the definition of a problem (``KeyError`` if there is none)."""
    return look_up(_DEFINITIONS, name, "CEC 2006")


def problem(name: str) -> Problem:
    """Build a problem with a fresh model.

    Parameters
    ----------
    name : str
        One of :func:`names`.

    Raises
    ------
    KeyError
        There is no problem of that name.

    Examples
    --------
    >>> g06 = problem("g06")
    >>> round(g06.objective(g06.x_opt), 4)
    -6961.8139
    """
    source, known = definition(name), known_optima(_OPTIMA)[name]
    return Problem(
        name=name,
        model=_model(name, source),
        objective=partial(evaluate, source.objective, len(source.lower)),
        lower=frozen(source.lower),
        upper=frozen(source.upper),
        f_opt=known["f_opt"],
        x_opt=frozen(known["x_opt"]),
        f_strict=known["f_strict"],
        x_strict=None if known["x_strict"] is None else frozen(known["x_strict"]),
        feasible_known=known["feasible_known"],
        source=known["source"],
    )


def constraints(name: str, x: Any) -> dict[str, Any]:
    """Constraint functions at x, numbers or CasADi symbols: ``g1``, ... (<= 0), ``h1``, ... (= 0).

    Examples
    --------
    >>> round(float(constraints("g24", [2.3295, 3.1785])["g1"]), 4)
    0.0
    """
    rows = _DEFINITIONS[name].constraints(x)
    named = {f"g{j}": value for j, value in enumerate(rows.g, start=1)}
    return named | {f"h{j}": value for j, value in enumerate(rows.h, start=1)}


def add_constraint(model: Model, name: str, row: str, expression: Any) -> None:
    """Add a constraint of a problem to a model."""
    source = f"CEC 2006 {name}"
    if row.startswith("h"):
        model.subject_to(expression == 0, name=row, tolerance=EQUALITY_TOLERANCE, source=source)
    else:
        model.subject_to(expression <= 0, name=row, source=source)


def _model(name: str, definition: Definition) -> Model:
    model = Model(name)
    x = model.variable(
        "x", lower=definition.lower, upper=definition.upper, shape=len(definition.lower)
    )
    for row, expression in constraints(name, x).items():
        add_constraint(model, name, row, expression)
    return model
