"""Least squares: the simulator returns a curve, the objective is its squared distance to data.

Sources: J. J. Moré, B. S. Garbow and K. E. Hillstrom, Testing unconstrained optimization
software, ACM Trans. Math. Softw. 7 (1981) 17-41, for Box, Brown-Dennis, Meyer and Osborne 1, with
a box around the solution. The other two are made here: their data are a curve with known
parameters plus a wave that no parameter can follow.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import casadi as ca
import numpy as np

from archeng import Model
from case_studies.greybox.definition import Definition, Floats, Outputs, Plain
from case_studies.shared.referee import Range

_INF = np.inf
Curve = Callable[[Any, Any], list[Any]]
Rows = Callable[[Any], dict[str, tuple[Any, float, float]]]


def _fit(
    title: str,
    box: dict[str, tuple[float, float]],
    curve: Curve,
    data: Floats,
    rows: Rows = lambda x: {},
) -> Definition:
    """Return the problem of fitting a curve.

    Parameters
    ----------
    title : str
    box : dict
        Bounds of the parameters by name.
    curve : callable
        Parameters and module (NumPy or CasADi) to the values of the curve.
    data : ndarray, shape (m,)
        What the curve shall be.
    rows : callable
        Parameters to value and limits of the explicit constraints by name.
    """

    def build() -> Model:
        model = Model(title)
        x = [model.variable(name, lower=low, upper=high) for name, (low, high) in box.items()]
        y = model.output("curve", shape=len(data))
        for name, (value, low, high) in rows(x).items():
            model.subject_to(value, lower=_side(low), upper=_side(high), name=name)
        model.minimize(ca.sumsqr(y - data))
        return model

    def residuals(z: Outputs) -> Floats:
        return np.asarray(z["curve"], dtype=float) - data

    def plain(x: Floats, z: Outputs) -> Plain:
        explicit: dict[str, Range] = {k: (float(v), a, b) for k, (v, a, b) in rows(x).items()}
        return Plain(float((residuals(z) ** 2).sum()), explicit)

    return Definition(
        title=title,
        family="least squares",
        build=build,
        outputs=lambda x, m: {"curve": curve(x, m)},
        plain=plain,
        residuals=residuals,
    )


def _side(limit: float) -> float | None:
    return limit if math.isfinite(limit) else None


# -- Box: two rates, five times, no residual is left -----------------------------------------

_BOX_TIMES = [0.2 * k for k in range(1, 6)]


def _box_curve(x: Any, m: Any) -> list[Any]:
    slow, fast, size = x
    return [
        m.exp(-t * slow) - m.exp(-t * fast) - size * (math.exp(-t) - math.exp(-10 * t))
        for t in _BOX_TIMES
    ]


def _box_rows(x: Any) -> dict[str, tuple[Any, float, float]]:
    return {"rates apart": (x[1] - x[0], 2.0, _INF)}


# -- kinetics: 2 A -> B -> C, concentration of B at twelve times -----------------------------

_KINETIC_TIMES = np.linspace(0.5, 6.0, 12)
_STEPS = 5  # of Runge-Kutta between two times
_KINETIC_TRUTH = (1.2, 0.35, 1.9)


def _kinetic_curve(x: Any, m: Any) -> list[Any]:
    first, second, start = x
    a, b = start, 0.0 * start
    h = 0.5 / _STEPS

    def slope(a: Any, b: Any) -> tuple[Any, Any]:
        made = first * a * a
        return -made, 0.5 * made - second * b

    seen = []
    for _ in _KINETIC_TIMES:
        for _ in range(_STEPS):
            a1, b1 = slope(a, b)
            a2, b2 = slope(a + h / 2 * a1, b + h / 2 * b1)
            a3, b3 = slope(a + h / 2 * a2, b + h / 2 * b2)
            a4, b4 = slope(a + h * a3, b + h * b3)
            a = a + h / 6 * (a1 + 2 * a2 + 2 * a3 + a4)
            b = b + h / 6 * (b1 + 2 * b2 + 2 * b3 + b4)
        seen.append(b)
    return seen


def _kinetic_data() -> Floats:
    wave = 0.01 * np.sin(4.1 * np.arange(12.0) ** 1.5)
    return np.array(_kinetic_curve(_KINETIC_TRUTH, np), dtype=float) + wave


def _kinetic_rows(x: Any) -> dict[str, tuple[Any, float, float]]:
    return {"decay slower than a quarter of the formation": (x[1] - 0.25 * x[0], -_INF, 0.0)}


# -- Brown and Dennis: twenty residuals, far from zero at the optimum ------------------------


def _brown_dennis_curve(x: Any, m: Any) -> list[Any]:
    times = [k / 5 for k in range(1, 21)]
    return [
        (x[0] + t * x[1] - math.exp(t)) ** 2 + (x[2] + x[3] * math.sin(t) - math.cos(t)) ** 2
        for t in times
    ]


# -- two peaks of a spectrum at fifty places -------------------------------------------------

_PLACES = np.linspace(0.0, 10.0, 50)
_PEAKS_TRUTH = (1.0, 3.4, 0.8, 0.6, 5.9, 1.4)


def _peaks_curve(x: Any, m: Any) -> list[Any]:
    height1, place1, width1, height2, place2, width2 = x
    return [
        height1 * m.exp(-(((s - place1) / width1) ** 2))
        + height2 * m.exp(-(((s - place2) / width2) ** 2))
        for s in _PLACES
    ]


def _peaks_data() -> Floats:
    wave = 0.02 * np.sin(2.3 * np.arange(50.0) ** 1.5)
    return np.array(_peaks_curve(_PEAKS_TRUTH, np), dtype=float) + wave


def _peaks_rows(x: Any) -> dict[str, tuple[Any, float, float]]:
    return {
        "peaks apart": (x[4] - x[1], 0.5, _INF),
        "amount of substance": (x[0] * x[2] + x[3] * x[5], -_INF, 1.5),
    }


# -- Meyer: a thermistor, one of the worst conditioned fits ----------------------------------

_MEYER = np.array(
    [34780, 28610, 23650, 19630, 16370, 13720, 11540, 9744, 8261, 7030, 6005, 5147, 4427, 3820,
     3307, 2872], dtype=float,
)  # fmt: skip


def _meyer_curve(x: Any, m: Any) -> list[Any]:
    return [x[0] * m.exp(x[1] / (45.0 + 5.0 * k + x[2])) for k in range(1, 17)]


# -- Osborne 1: a constant and two exponentials at 33 times ----------------------------------

_OSBORNE = np.array(
    [0.844, 0.908, 0.932, 0.936, 0.925, 0.908, 0.881, 0.850, 0.818, 0.784, 0.751, 0.718, 0.685,
     0.658, 0.628, 0.603, 0.580, 0.558, 0.538, 0.522, 0.506, 0.490, 0.478, 0.467, 0.457, 0.448,
     0.438, 0.431, 0.424, 0.420, 0.414, 0.411, 0.406],
)  # fmt: skip


def _osborne_curve(x: Any, m: Any) -> list[Any]:
    return [
        x[0] + x[1] * m.exp(-10.0 * k * x[3]) + x[2] * m.exp(-10.0 * k * x[4]) for k in range(33)
    ]


def _osborne_rows(x: Any) -> dict[str, tuple[Any, float, float]]:
    return {"order of the rates": (x[4] - x[3], 0.0, _INF)}


DEFINITIONS: dict[str, Definition] = {
    "box_exponentials": _fit(
        "Two rates of Box from 5 times",
        {"slow": (0.1, 5.0), "fast": (2.0, 15.0), "size": (0.0, 3.0)},
        _box_curve,
        np.zeros(5),
        _box_rows,
    ),
    "kinetics": _fit(
        "Rates of 2 A -> B -> C from 12 concentrations",
        {"formation": (0.1, 4.0), "decay": (0.02, 1.0), "start": (0.5, 4.0)},
        _kinetic_curve,
        _kinetic_data(),
        _kinetic_rows,
    ),
    "brown_dennis": _fit(
        "Brown and Dennis, 20 residuals",
        {"x1": (-25.0, 25.0), "x2": (-25.0, 25.0), "x3": (-5.0, 5.0), "x4": (-5.0, 5.0)},
        _brown_dennis_curve,
        np.zeros(20),
    ),
    "two_peaks": _fit(
        "Two peaks of a spectrum at 50 places",
        {
            "height 1": (0.1, 2.0),
            "place 1": (1.0, 9.0),
            "width 1": (0.3, 3.0),
            "height 2": (0.1, 2.0),
            "place 2": (1.0, 9.0),
            "width 2": (0.3, 3.0),
        },
        _peaks_curve,
        _peaks_data(),
        _peaks_rows,
    ),
    "meyer": _fit(
        "Meyer's thermistor, 16 temperatures",
        {"x1": (0.001, 0.02), "x2": (5000.0, 7000.0), "x3": (300.0, 400.0)},
        _meyer_curve,
        _MEYER,
    ),
    "osborne_1": _fit(
        "Osborne 1, 33 times",
        {
            "x1": (0.0, 1.0),
            "x2": (0.5, 3.0),
            "x3": (-3.0, 0.0),
            "x4": (0.005, 0.05),
            "x5": (0.01, 0.1),
        },
        _osborne_curve,
        _OSBORNE,
        _osborne_rows,
    ),
}
"""Definition of each problem of this module."""
