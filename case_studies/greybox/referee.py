"""The referee: IPOPT on all formulas, the simulator's included, from many starts.

``python -m case_studies.greybox optima`` prints what it finds beside the known optima.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np

import archeng
from case_studies.claims.definition import Formulas, formulas_of
from case_studies.claims.referee import descend
from case_studies.greybox.definition import Definition, Floats
from case_studies.greybox.suite import definition
from case_studies.peers.constraints import same_variables

EXACT = {"bound_relax_factor": 0.0, "constr_viol_tol": 1e-10, "acceptable_tol": 1e-9}
"""Options of IPOPT: optima are not bought with violations."""

_SAME = 1e-6
"""Relative difference of two ends that count as one."""


@dataclass(frozen=True, eq=False)
class Optimum:
    """Best end of the starts.

    Attributes
    ----------
    f, x : float, ndarray of shape (n,)
    starts, agreeing : int
        How many began, and how many of them ended within 1e-6 (relative) of the best.
    """

    f: float
    x: Floats
    starts: int
    agreeing: int


def optimum(name: str, *, starts: int, seed: int) -> Optimum:
    """Minimise a problem of the suite from feasible designs, see `optimum_of`."""
    return optimum_of(definition(name), starts=starts, seed=seed)


def optimum_of(source: Definition, *, starts: int, seed: int) -> Optimum:
    """Minimise from feasible designs.

    Raises
    ------
    RuntimeError
        IPOPT converged from none of them.
    """
    ends = []
    for x in archeng.sample_feasible(source.build(), starts, seed=seed).x:
        f, end = _descend(source, x, 1.0)
        if np.isfinite(f):
            ends.append((f, end))
    if not ends:
        raise RuntimeError(f"IPOPT converged from none of {starts} starts: {source.title}.")
    f, x = min(ends, key=lambda end: end[0])
    near = sum(end[0] - f <= _SAME * max(abs(f), _SAME) for end in ends)
    again, end = _descend(source, x, abs(f) or 1.0)  # scaled by what it is there
    return Optimum(again, end, starts, near) if np.isfinite(again) else Optimum(f, x, starts, near)


def _descend(source: Definition, x: Floats, size: float) -> tuple[float, Floats]:
    """Objective and design of IPOPT from a design; ``size`` is that of the objective."""
    formulas, pieces = whole(source, size)
    if pieces is None:
        return descend(formulas, x, **EXACT)
    begin = np.append(x, float(pieces(x).full().max()))
    f, end = descend(formulas, begin, **EXACT)
    return size * f, end[:-1]


def whole(source: Definition, size: float = 1.0) -> tuple[Formulas, Any]:
    """Return the formulas with the outputs put in, and the pieces if the objective is a maximum.

    The least maximum is the least t (one more variable, the last) with all pieces, divided by
    ``size``, at most t.
    """
    model = source.build()
    x = model.symbols
    outputs = source.outputs(ca.vertsplit(x), ca)
    z = ca.vertcat(*(_column(outputs[output.name]) for output in model.outputs))
    full = same_variables(model)
    full.add_constraints(model.constraints)
    for constraint in model.simulated:
        for label, row, low, high in zip(
            constraint.row_names(), constraint.rows, *constraint.limits(), strict=True
        ):
            expression = ca.substitute(ca.SX(row.expression), model.output_symbols, z)
            sides = {"lower": low, "upper": high}
            given: Any = {k: float(v) for k, v in sides.items() if np.isfinite(v)}
            full.subject_to(expression, name=label, **given)
    if source.pieces is None:
        full.minimize(ca.substitute(model.objective, model.output_symbols, z))
        return formulas_of(full), None
    pieces = ca.vertcat(*source.pieces(x, outputs)) / size
    t = full.variable("largest", start=0.0, scale=1.0)
    full.subject_to(pieces - t, upper=0.0, name="largest of the pieces")
    full.minimize(t)
    return formulas_of(full), ca.Function("pieces", [x], [pieces])


def _column(value: Any) -> Any:
    return ca.vertcat(*value) if isinstance(value, list | tuple) else value
