"""Engineering problems in grey form: stresses and deflections simulated, the cost explicit.

Objective, limits and optimum are those of :mod:`case_studies.engineering`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import casadi as ca
import numpy as np

from archeng import Model
from case_studies.engineering.suite import definition
from case_studies.engineering.trusses import BARS, LENGTHS, LOADS, NODES, YOUNG, ten_bar_analysis
from case_studies.greybox.definition import Definition, Floats, Limits, Outputs, Plain
from case_studies.peers.constraints import same_variables
from case_studies.shared.referee import Range

_INF = np.inf


def _grey(name: str, explicit: tuple[str, ...], limits: Mapping[str, Limits]) -> Model:
    """Return a problem with scalar outputs instead of the constraints on them."""
    source = definition(name)
    whole = source.build()
    model = same_variables(whole)
    model.add_constraints([c for c in whole.constraints if c.name in explicit])
    for output, (low, high) in limits.items():
        model.subject_to(model.output(output), lower=low, upper=high, name=f"limit of {output}")
    model.minimize(_cost_formula(name, model))
    return model


def _cost_formula(name: str, model: Model) -> Any:
    symbols = np.empty(model.n_variables, dtype=object)
    symbols[:] = ca.vertsplit(model.symbols)
    return ca.SX(definition(name).objective(symbols))


def _simulated(z: Outputs, limits: Mapping[str, Limits]) -> dict[str, Range]:
    return {
        f"limit of {name}": (
            float(z[name]),
            -_INF if low is None else low,
            _INF if high is None else high,
        )
        for name, (low, high) in limits.items()
    }


# -- welded beam -----------------------------------------------------------------------------

_BEAM: dict[str, Limits] = {
    "shear stress": (None, 13600.0),
    "bending stress": (None, 30000.0),
    "deflection": (None, 0.25),
    "buckling load": (6000.0, None),
}


def _beam() -> Model:
    rows = (
        "weld not thicker than bar (in)",
        "material cost ($)",
        "least weld thickness (in)",
    )
    return _grey("welded_beam", rows, _BEAM)


def beam_outputs(x: Any, m: Any, load: float = 6000.0) -> Outputs:
    """Stresses, deflection and buckling load of the welded beam, in lb and in."""
    h, l, t, b = x  # noqa: E741
    overhang, young, shear = 14.0, 30e6, 12e6
    arm, across, up = overhang + 0.5 * l, 0.5 * l, 0.5 * (h + t)
    area = math.sqrt(2.0) * h * l
    twist = load * arm / (2.0 * area * (l**2 / 12.0 + up**2))
    direct = load / area
    strong, weak = b * t**3 / 12.0, t * b**3 / 12.0
    lateral = 4.013 * young * 2.0 * weak / overhang**2
    return {
        "shear stress": m.sqrt((direct + twist * across) ** 2 + (twist * up) ** 2),
        "bending stress": load * overhang * 0.5 * t / strong,
        "deflection": load * overhang**3 / (3.0 * young * strong),
        "buckling load": lateral * (1.0 - 0.25 * t / overhang * math.sqrt(young / shear)),
    }


def _beam_plain(x: Floats, z: Outputs) -> Plain:
    h, l, t, b = x  # noqa: E741
    explicit = {
        "weld below bar": (float(h - b), -_INF, 0.0),
        "material": (float(0.10471 * h * h + 0.04811 * t * b * (14.0 + l)), -_INF, 5.0),
        "least weld": (float(h), 0.125, _INF),
    }
    cost = 1.10471 * h * h * l + 0.04811 * t * b * (14.0 + l)
    return Plain(float(cost), explicit, _simulated(z, _BEAM))


# -- pressure vessel: utilisations of shell and head, and the volume -------------------------

_VESSEL: dict[str, Limits] = {
    "hoop stress over limit": (None, 1.0),
    "head stress over limit": (None, 1.0),
    "volume": (1_296_000.0, None),
}


def _vessel() -> Model:
    return _grey("pressure_vessel", ("length (in)",), _VESSEL)


def _vessel_outputs(x: Any, m: Any) -> Outputs:
    shell, head, radius, length = x
    return {
        "hoop stress over limit": 0.0193 * radius / shell,
        "head stress over limit": 0.00954 * radius / head,
        "volume": math.pi * radius**2 * (length + 4 * radius / 3),
    }


def _vessel_plain(x: Floats, z: Outputs) -> Plain:
    shell, head, radius, length = x
    cost = 0.6224 * shell * radius * length + 1.7781 * head * radius * radius
    cost += shell * shell * (3.1661 * length + 19.84 * radius)
    return Plain(float(cost), {"length": (float(length), -_INF, 240.0)}, _simulated(z, _VESSEL))


# -- speed reducer: stresses of teeth and shafts, deflections of shafts ----------------------

_REDUCER: dict[str, Limits] = {
    "bending of teeth": (None, 1.0),
    "contact of teeth": (None, 1.0),
    "deflection of shaft 1": (None, 1.0),
    "deflection of shaft 2": (None, 1.0),
    "stress in shaft 1": (None, 1100.0),
    "stress in shaft 2": (None, 850.0),
}


def _reducer() -> Model:
    rows = (
        "pitch diameter (cm)",
        "least face width (cm)",
        "most face width (cm)",
        "room on shaft 1 (cm)",
        "room on shaft 2 (cm)",
    )
    return _grey("speed_reducer", rows, _REDUCER)


def _reducer_outputs(x: Any, m: Any) -> Outputs:
    face, module, teeth, length1, length2, d1, d2 = x
    pitch = module * teeth

    def stress(length: Any, d: Any, torque: float) -> Any:
        return 10 * m.sqrt((745 * length / pitch) ** 2 + torque) / d**3

    return {
        "bending of teeth": 27 / (face * module * pitch),
        "contact of teeth": 397.5 / (face * pitch**2),
        "deflection of shaft 1": 1.93 * length1**3 / (pitch * d1**4),
        "deflection of shaft 2": 1.93 * length2**3 / (pitch * d2**4),
        "stress in shaft 1": stress(length1, d1, 16.9e6),
        "stress in shaft 2": stress(length2, d2, 157.5e6),
    }


def _reducer_plain(x: Floats, z: Outputs) -> Plain:
    face, module, teeth, length1, length2, d1, d2 = x
    weight = (
        0.7854 * face * module**2 * (3.3333 * teeth**2 + 14.9334 * teeth - 43.0934)
        - 1.508 * face * (d1**2 + d2**2)
        + 7.4777 * (d1**3 + d2**3)
        + 0.7854 * (length1 * d1**2 + length2 * d2**2)
    )
    explicit = {
        "pitch": (float(module * teeth), -_INF, 40.0),
        "least face": (float(face - 5 * module), 0.0, _INF),
        "most face": (float(face - 12 * module), -_INF, 0.0),
        "room 1": (float(1.5 * d1 + 1.9 - length1), -_INF, 0.0),
        "room 2": (float(1.1 * d2 + 1.9 - length2), -_INF, 0.0),
    }
    return Plain(float(weight), explicit, _simulated(z, _REDUCER))


# -- spring ----------------------------------------------------------------------------------

_SPRING: dict[str, Limits] = {
    "deflection over least": (1.0, None),
    "shear stress over limit": (None, 1.0),
    "surge frequency over least": (1.0, None),
}


def _spring() -> Model:
    return _grey("spring", ("outer diameter (in)",), _SPRING)


def _spring_outputs(x: Any, m: Any) -> Outputs:
    d, coil, turns = x
    shear = coil * (4 * coil - d) / (12566 * d**3 * (coil - d)) + 1 / (5108 * d**2)
    return {
        "deflection over least": coil**3 * turns / (71785 * d**4),
        "shear stress over limit": shear,
        "surge frequency over least": 140.45 * d / (coil**2 * turns),
    }


def _spring_plain(x: Floats, z: Outputs) -> Plain:
    d, coil, turns = x
    weight = coil * d**2 * (2 + turns)
    return Plain(
        float(weight), {"outer diameter": (float(d + coil), -_INF, 1.5)}, _simulated(z, _SPRING)
    )


# -- ten-bar truss: stresses and displacements by the stiffness method -----------------------

_STRESS, _SHIFT = 25.0, 2.0  # ksi, in


def _truss() -> Model:
    model = same_variables(definition("ten_bar_truss").build())
    stress = model.output("stress", unit="ksi", shape=10)
    shift = model.output("displacement", unit="in", shape=8)
    for i in range(10):
        model.subject_to(stress[i], lower=-_STRESS, upper=_STRESS, name=f"stress {i + 1}")
    for k in range(8):
        model.subject_to(shift[k], lower=-_SHIFT, upper=_SHIFT, name=f"displacement {k + 1}")
    model.minimize(_cost_formula("ten_bar_truss", model), name="weight (lb)")
    return model


def truss_outputs(x: Any, m: Any) -> Outputs:
    """Stresses (ksi) and displacements (in) of the ten-bar truss under its first load case."""
    if m is np:
        stress, shift = _stiffness_method(np.asarray(x, dtype=float))
        return {"stress": stress, "displacement": shift}
    stress, shift = ten_bar_analysis(ca.vertcat(*x), LOADS[1])
    return {"stress": ca.vertsplit(stress), "displacement": ca.vertsplit(shift)}


def _stiffness_method(areas: Floats) -> tuple[Floats, Floats]:
    """Return stresses (10,) and displacements (8,): free nodes 1 to 4, x before y."""
    units = (NODES[BARS[:, 1]] - NODES[BARS[:, 0]]) / LENGTHS[:, None]
    elongation = np.zeros((10, 12))  # of each bar for unit displacements of the six nodes
    for bar, (start, end) in enumerate(BARS):
        elongation[bar, 2 * start : 2 * start + 2] -= units[bar]
        elongation[bar, 2 * end : 2 * end + 2] += units[bar]
    free = elongation[:, :8]
    stiffness = free.T @ ((YOUNG * areas / LENGTHS)[:, None] * free)
    shift = np.linalg.solve(stiffness, LOADS[1])
    return YOUNG * (free @ shift) / LENGTHS, shift


def _truss_plain(x: Floats, z: Outputs) -> Plain:
    rows = {f"stress {i + 1}": (float(s), -_STRESS, _STRESS) for i, s in enumerate(z["stress"])}
    rows |= {
        f"displacement {k + 1}": (float(u), -_SHIFT, _SHIFT)
        for k, u in enumerate(z["displacement"])
    }
    return Plain(float(0.1 * (LENGTHS @ x)), {}, rows)


def _machine(name: str, build: Any, outputs: Any, plain: Any) -> Definition:
    return Definition(
        title=definition(name).title,
        family="engineering",
        build=build,
        outputs=outputs,
        plain=plain,
    )


DEFINITIONS: dict[str, Definition] = {
    "welded_beam": _machine("welded_beam", _beam, beam_outputs, _beam_plain),
    "pressure_vessel": _machine("pressure_vessel", _vessel, _vessel_outputs, _vessel_plain),
    "speed_reducer": _machine("speed_reducer", _reducer, _reducer_outputs, _reducer_plain),
    "spring": _machine("spring", _spring, _spring_outputs, _spring_plain),
    "ten_bar_truss": _machine("ten_bar_truss", _truss, truss_outputs, _truss_plain),
}
"""Definition of each problem of this module."""
