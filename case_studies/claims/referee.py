"""The referee: IPOPT on the formulas, begun at the design that a run returned."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np

from case_studies.claims.definition import Floats, Formulas

_IPOPT: dict[str, Any] = {
    "print_time": False,
    "error_on_fail": False,
    "show_eval_warnings": False,
    "ipopt": {
        "print_level": 0,
        "sb": "yes",
        "tol": 1e-9,
        "max_iter": 2000,
        "mu_init": 1e-4,  # stay in the basin of the start
        "bound_push": 1e-8,
        "bound_frac": 1e-8,
    },
}


_BOX = 0.01
"""Part of the box around a design in which nothing may be better than at a local optimum."""
_SAME = 1e-5
"""Gain in that box, relative, that a local optimum may leave."""


def local_optimum(formulas: Formulas, x: Floats, value: float, **ipopt: float) -> float:
    """Return the objective of a local optimum near a design (n,) of a given value.

    First IPOPT looks for a better design in a small box around it. If there is hardly one, the
    design is at a local optimum; else IPOPT goes as far as it likes. NaN if it fails.
    ``ipopt`` are further options of it.
    """
    near, _ = descend(formulas, x, _BOX, **ipopt)
    if np.isfinite(near) and gap(value, near) <= _SAME:
        return near
    return descend(formulas, x, **ipopt)[0]


def descend(
    formulas: Formulas, x: Floats, box: float = np.inf, **ipopt: float
) -> tuple[float, Floats]:
    """Return the lowest objective that IPOPT finds within a part of the box around x (n,).

    And where it is. NaN if it finds none. Variables and rows are scaled to a size of about one.
    ``ipopt`` are further options of it.
    """
    low, high = formulas.box
    width = np.where(np.isfinite(high - low), high - low, np.maximum(np.abs(x), 1.0))
    width = np.where(width > 0, width, 1.0)  # a fixed variable
    u = ca.SX.sym("u", len(x))
    shifted = x + width * u
    f, g = ca.substitute([formulas.f, formulas.g], [formulas.x], [shifted])
    here = ca.Function("here", [u], [f, g, ca.jacobian(g, u)])
    f0, _, slopes = (part.full() for part in here(np.zeros(len(x))))
    sizes = np.linalg.norm(np.nan_to_num(slopes, posinf=0.0, neginf=0.0), axis=1)
    sizes = np.where(sizes > 0, sizes, 1.0)
    scale = abs(float(f0.item())) or 1.0
    nlp = {"x": u, "f": f / scale, "g": g / sizes}
    options = {**_IPOPT, "ipopt": {**_IPOPT["ipopt"], **ipopt}}
    solver = ca.nlpsol("referee", "ipopt", nlp, options)
    end = solver(
        x0=np.zeros(len(x)),
        lbx=np.maximum((low - x) / width, -box),
        ubx=np.minimum((high - x) / width, box),
        lbg=formulas.lower / sizes,
        ubg=formulas.upper / sizes,
    )
    stats = solver.stats()
    if stats["return_status"] not in ("Solve_Succeeded", "Solved_To_Acceptable_Level"):
        return float("nan"), x
    return float(end["f"]) * scale, x + width * end["x"].full().ravel()


def gap(value: float, optimum: float) -> float:
    """Return how far a value is above an optimum, relative to it (absolute at zero)."""
    return (value - optimum) / (abs(optimum) if abs(optimum) > 1e-8 else 1.0)
