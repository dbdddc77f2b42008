"""Fit the cheap property formulas of the model to CoolProp: ``python -m ...rankine_cycle.fit``.

Every formula is a polynomial in scaled variables. ``fits.json`` beside this file holds the
coefficients, the ranges and the largest error at points halfway between those of the fit.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from case_studies.rankine_cycle.plant import PLANT
from case_studies.rankine_cycle.properties import FILE, powers, terms

HIGH = (3.5, 28.0)  # bar
LOW = (0.95, 5.2)  # bar
SUPERHEAT = (0.0, 45.0)  # K
HOTTEST = 425.0  # K

Row = tuple[tuple[float, ...], float]


def main(argv: Sequence[str] | None = None) -> int:
    """Write the file and print the errors."""
    parser = argparse.ArgumentParser(prog="python -m case_studies.rankine_cycle.fit")
    parser.add_argument("--out", type=Path, default=FILE, help="where to write (default: in place)")
    options = parser.parse_args(argv)
    fits = make_fits()
    lines = ",\n".join(f' "{name}": {json.dumps(fit)}' for name, fit in fits["fits"].items())
    head = json.dumps({k: v for k, v in fits.items() if k != "fits"}, indent=1)
    options.out.write_text(f'{head[:-2]},\n "fits": {{\n{lines}\n }}\n}}\n', encoding="utf-8")
    for name, fit in fits["fits"].items():
        print(f"{name:24s} {len(fit['coefficients']):3d} terms, error <= {fit['error']:.3g}")
    return 0


def make_fits() -> dict[str, Any]:
    """Return the contents of the file."""
    import CoolProp

    samplers = _samplers()
    return {
        "fluid": PLANT.fluid,
        "source": f"CoolProp {CoolProp.__version__}, HEOS",
        "command": "python -m case_studies.rankine_cycle.fit",
        "units": "pressure as ln(bar), temperatures in K, enthalpies in kJ/kg",
        "fits": {name: _fit(*rest) for name, *rest in samplers},
    }


def _fit(
    grids: list[np.ndarray], degree: int, through_zero: bool, sample: Callable[..., Row | None]
) -> dict[str, Any]:
    """Least squares on a grid; the error is the largest one halfway between its points.

    ``through_zero``: the first variable is a factor of all terms.
    """
    rows = [r for r in (sample(*p) for p in product(*grids)) if r is not None]
    halves = [(g[1:] + g[:-1]) / 2 for g in grids]
    tests = [r for r in (sample(*p) for p in product(*halves)) if r is not None]
    x = np.array([r[0] for r in rows])
    y = np.array([r[1] for r in rows])
    low, high = x.min(axis=0), x.max(axis=0)
    if through_zero:
        low[0] = -high[0]
    exponents = powers(len(low), degree, through_zero)
    scaled = (2 * x - low - high) / (high - low)
    matrix = np.stack(terms(scaled.T, exponents), axis=1)
    coefficients = np.linalg.lstsq(matrix, y, rcond=None)[0]
    scaled = (2 * np.array([t[0] for t in tests]) - low - high) / (high - low)
    guess = np.stack(terms(scaled.T, exponents), axis=1) @ coefficients
    error = np.abs(guess - [t[1] for t in tests]).max()
    return {
        "low": low.tolist(),
        "high": high.tolist(),
        "degree": degree,
        "through_zero": through_zero,
        "error": float(f"{error:.2g}"),
        "coefficients": [float(f"{c:.10g}") for c in coefficients],
    }


def _samplers() -> list[tuple[str, list[np.ndarray], int, bool, Callable[..., Row | None]]]:
    """Return name, grids, degree, and a function from a grid point to a row of the fit."""
    from CoolProp import constants as given
    from CoolProp.CoolProp import AbstractState

    fluid, water = AbstractState("HEOS", PLANT.fluid), AbstractState("HEOS", "Water")

    def saturated(p: float, quality: float) -> tuple[float, float]:
        fluid.update(given.PQ_INPUTS, 1e5 * p, quality)
        return fluid.T(), fluid.hmass() / 1e3

    def inlet(p: float, superheat: float) -> tuple[float, float] | None:
        """Enthalpy and entropy at the inlet of the turbine."""
        temperature = saturated(p, 1.0)[0] + superheat
        if temperature > HOTTEST:
            return None
        if superheat == 0:
            fluid.update(given.PQ_INPUTS, 1e5 * p, 1.0)
        else:
            fluid.update(given.PT_INPUTS, 1e5 * p, temperature)
        return fluid.hmass() / 1e3, fluid.smass()

    def superheating(superheat: float, p: float) -> Row | None:
        at = inlet(p, superheat)
        return at and ((superheat, np.log(p)), at[0] - saturated(p, 1.0)[1])

    def drop(high: float, superheat: float, low: float) -> Row | None:
        at = inlet(high, superheat)
        if at is None:
            return None
        fluid.update(given.PSmass_INPUTS, 1e5 * low, at[1])
        return (np.log(high), superheat, np.log(low)), at[0] - fluid.hmass() / 1e3

    def exhaust(superheat: float, low: float) -> tuple[float, float]:
        """Excess of temperature and enthalpy of exhaust vapour over saturated vapour."""
        dew, enthalpy = saturated(low, 1.0)
        if superheat == 0:
            return 0.0, 0.0
        fluid.update(given.PT_INPUTS, 1e5 * low, dew + superheat)
        return superheat, fluid.hmass() / 1e3 - enthalpy

    def vapour_enthalpy(superheat: float, low: float) -> Row:
        t, h = exhaust(superheat, low)
        return (t, np.log(low)), h

    def vapour_temperature(superheat: float, low: float) -> Row:
        t, h = exhaust(superheat, low)
        return (h, np.log(low)), t

    def liquid(p: float) -> Row:
        t, h = saturated(p, 0.0)
        return (h,), t

    def brine(t: float) -> Row:
        water.update(given.PT_INPUTS, PLANT.brine_pressure, t)
        enthalpy = water.hmass()
        water.update(given.PT_INPUTS, PLANT.brine_pressure, PLANT.brine_inlet)
        return ((water.hmass() - enthalpy) / 1e3,), t - PLANT.brine_inlet

    p = np.exp(np.linspace(np.log(LOW[0]), np.log(HIGH[1]), 60))
    few = np.exp(np.linspace(np.log(HIGH[0]), np.log(HIGH[1]), 12))
    low = np.exp(np.linspace(np.log(LOW[0]), np.log(LOW[1]), 8))
    heat = np.linspace(*SUPERHEAT, 10)
    warm = np.linspace(0.0, 90.0, 16)
    return [
        ("temperature", [p], 5, False, lambda p: ((np.log(p),), saturated(p, 1.0)[0])),
        ("liquid enthalpy", [p], 7, False, lambda p: ((np.log(p),), saturated(p, 0.0)[1])),
        ("vapour enthalpy", [p], 7, False, lambda p: ((np.log(p),), saturated(p, 1.0)[1])),
        ("liquid temperature", [p], 6, False, liquid),
        ("superheating", [heat, few], 4, True, superheating),
        ("isentropic drop", [few, heat, low], 4, False, drop),
        ("exhaust enthalpy", [warm, low], 3, True, vapour_enthalpy),
        ("exhaust temperature", [warm, low], 3, True, vapour_temperature),
        ("brine temperature", [np.linspace(320.0, 423.0, 30)], 3, True, brine),
    ]


if __name__ == "__main__":
    raise SystemExit(main())
