"""The largest of several outputs is minimised.

Sources: L. Lukšan and J. Vlček, Test problems for nonsmooth unconstrained and linearly
constrained optimization, report 798, Academy of Sciences of the Czech Republic, Prague 2000, for
CB2 (Charalambous and Bandler), MAD1 (Madsen and Schjaer-Jacobsen) and EXP (a Chebyshev fit). The
truss is made here.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import reduce
from typing import Any

import casadi as ca
import numpy as np

from archeng import Model
from case_studies.engineering.suite import definition
from case_studies.engineering.trusses import LENGTHS
from case_studies.greybox.definition import Definition, Floats, Outputs, Plain
from case_studies.greybox.machines import truss_outputs
from case_studies.peers.constraints import same_variables

_INF = np.inf


def largest(pieces: Sequence[Any]) -> Any:
    """Return the largest of some CasADi expressions."""
    return reduce(ca.fmax, pieces)


def _each(_: Any, z: Outputs) -> list[Any]:
    """Pieces of a maximum of the outputs themselves."""
    return [piece for value in z.values() for piece in value]


def _both_signs(_: Any, z: Outputs) -> list[Any]:
    """Pieces of a maximum of absolute values of the first output."""
    first = next(iter(z.values()))
    return [sign * piece for piece in first for sign in (1, -1)]


# -- CB2 -------------------------------------------------------------------------------------


def _cb2() -> Model:
    model = Model("CB2")
    for name in ("x1", "x2"):
        model.variable(name, lower=-5, upper=5)
    model.minimize(largest(ca.vertsplit(model.output("response", shape=3))))
    return model


def _cb2_outputs(x: Any, m: Any) -> Outputs:
    x1, x2 = x
    return {"response": [x1**2 + x2**4, (2 - x1) ** 2 + (2 - x2) ** 2, 2 * m.exp(x2 - x1)]}


def _plain_max(x: Floats, z: Outputs) -> Plain:
    return Plain(float(np.max(z["response"])))


# -- MAD1: a linear constraint ---------------------------------------------------------------


def _mad1() -> Model:
    model = Model("MAD1")
    x1, x2 = (model.variable(name, lower=-5, upper=5) for name in ("x1", "x2"))
    model.subject_to(x1 + x2 >= 0.5, name="sum")
    model.minimize(largest(ca.vertsplit(model.output("response", shape=3))))
    return model


def _mad1_outputs(x: Any, m: Any) -> Outputs:
    x1, x2 = x
    return {"response": [x1**2 + x2**2 + x1 * x2 - 1, m.sin(x1), -m.cos(x2)]}


def _mad1_plain(x: Floats, z: Outputs) -> Plain:
    return Plain(float(np.max(z["response"])), {"sum": (float(x[0] + x[1]), 0.5, _INF)})


# -- EXP: a rational function as near as possible to exp at 21 places ------------------------

_PLACES = np.linspace(-1.0, 1.0, 21)
_NO_POLE = 0.1  # least denominator
_EXP_BOX = {
    "a0": (0.0, 2.0),
    "a1": (-1.0, 1.0),
    "b1": (-1.5, 0.5),
    "b2": (-0.5, 1.0),
    "b3": (-0.5, 0.5),
}


def _exp() -> Model:
    model = Model("rational function for exp")
    x = [model.variable(name, lower=low, upper=high) for name, (low, high) in _EXP_BOX.items()]
    curve = model.output("curve", shape=len(_PLACES))
    bottom = 1 + x[2] * _PLACES + x[3] * _PLACES**2 + x[4] * _PLACES**3
    model.subject_to(bottom, lower=_NO_POLE, name="no pole")
    model.minimize(largest(ca.vertsplit(ca.fabs(curve - np.exp(_PLACES)))))
    return model


def _exp_outputs(x: Any, m: Any) -> Outputs:
    a0, a1, b1, b2, b3 = x
    return {"curve": [(a0 + a1 * t) / (1 + t * (b1 + t * (b2 + t * b3))) for t in _PLACES]}


def _exp_pieces(_: Any, z: Outputs) -> list[Any]:
    away = [y - math.exp(t) for y, t in zip(z["curve"], _PLACES, strict=True)]
    return [sign * a for a in away for sign in (1, -1)]


def _exp_plain(x: Floats, z: Outputs) -> Plain:
    bottom = np.polynomial.polynomial.polyval(_PLACES, np.concatenate(([1.0], x[2:])))
    away = np.abs(np.asarray(z["curve"], dtype=float) - np.exp(_PLACES))
    rows = {f"no pole {k}": (float(b), _NO_POLE, _INF) for k, b in enumerate(bottom)}
    return Plain(float(away.max()), rows)


# -- truss: the largest stress in ten bars, with the weight given ----------------------------

_WEIGHT = 2000.0  # lb
_DENSITY = 0.1  # lb / in^3


def _stress() -> Model:
    model = same_variables(definition("ten_bar_truss").build())
    model.subject_to(_DENSITY * ca.dot(LENGTHS, model.symbols), upper=_WEIGHT, name="weight (lb)")
    stress = model.output("stress", unit="ksi", shape=10)
    model.minimize(largest(ca.vertsplit(ca.fabs(stress))), name="largest stress")
    return model


def _stress_outputs(x: Any, m: Any) -> Outputs:
    return {"stress": truss_outputs(x, m)["stress"]}


def _stress_plain(x: Floats, z: Outputs) -> Plain:
    weight = _DENSITY * float(LENGTHS @ x)
    return Plain(float(np.abs(z["stress"]).max()), {"weight": (weight, -_INF, _WEIGHT)})


def _maximum(title: str, build: Any, outputs: Any, plain: Any, pieces: Any = _each) -> Definition:
    return Definition(
        title=title, family="maximum", build=build, outputs=outputs, plain=plain, pieces=pieces
    )


DEFINITIONS: dict[str, Definition] = {
    "cb2": _maximum("CB2 of Charalambous and Bandler", _cb2, _cb2_outputs, _plain_max),
    "mad1": _maximum("MAD1 of Madsen", _mad1, _mad1_outputs, _mad1_plain),
    "chebyshev_exp": _maximum(
        "Rational function nearest to exp", _exp, _exp_outputs, _exp_plain, _exp_pieces
    ),
    "truss_stress": _maximum(
        "Ten-bar truss of least largest stress",
        _stress,
        _stress_outputs,
        _stress_plain,
        _both_signs,
    ),
}
"""Definition of each problem of this module."""
