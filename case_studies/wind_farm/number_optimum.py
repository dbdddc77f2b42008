"""The reference for number and places: ``python -m case_studies.wind_farm.number_optimum``.

It writes ``number.json``. The wake model of the case study as formulas, and IPOPT from many random
layouts of each number of turbines; py_wake confirms the energies. archeng is given none of this.
There are very many local optima, so the best are the best found, not more.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np

from case_studies.wind_farm.economy import SITE, is_legal
from case_studies.wind_farm.model import pairs
from case_studies.wind_farm.simulator import energy_of_any

STARTS, SEED = 600, 2026
ROTOR = 130.0  # m, diameter
SPREAD = 0.0324555  # of a wake with the distance
THRUST = 8 / 9  # coefficient
WIND, CUT_IN = 9.8, 4.0  # m/s; turbines have their rated power at the first
RATED = 3.35  # MW
HOURS = 8760.0
SHARES = (0.025, 0.024, 0.029, 0.036, 0.063, 0.065, 0.100, 0.122,
          0.063, 0.038, 0.039, 0.083, 0.213, 0.046, 0.032, 0.022)  # fmt: skip
"""Of the 16 directions of the wind, from north by east."""
TINY = 1e-30  # keeps the derivative of a root finite where there is no wake
SCALE = 1e6  # of squared distances
INSIDE = 1e-7  # share by which rules are tightened: IPOPT rounds


def energy(x: Any, y: Any, n: int) -> Any:
    """Annual energy of n turbines in MWh, as a CasADi formula."""
    total = 0
    for k, share in enumerate(SHARES):
        towards = np.radians(270 - 360 * k / len(SHARES))
        c, s = np.cos(towards), np.sin(towards)
        for i in range(n):
            squares = TINY
            for j in range(n):
                if j == i:
                    continue
                along = (x[i] - x[j]) * c + (y[i] - y[j]) * s
                across = (y[i] - y[j]) * c - (x[i] - x[j]) * s
                sigma = SPREAD * ca.fmax(along, 0) + ROTOR / np.sqrt(8)
                middle = 1 - ca.sqrt(1 - THRUST / (8 * sigma**2 / ROTOR**2))
                loss = middle * ca.exp(-0.5 * (across / sigma) ** 2)
                squares += ca.if_else(along > 0, loss**2, 0)
            speed = WIND * (1 - ca.sqrt(squares))
            total += share * ca.fmax((speed - CUT_IN) / (WIND - CUT_IN), 0) ** 3
    return HOURS * RATED * total


def best_layout(n: int, starts: int, seed: int) -> tuple[float, list[float], list[float], int]:
    """Return energy (by py_wake), places, and how many starts ended legally."""
    places = ca.SX.sym("places", 2 * n)
    x, y = places[:n], places[n:]
    rows = [(x[i] ** 2 + y[i] ** 2) / SCALE for i in range(n)]
    rows += [((x[i] - x[j]) ** 2 + (y[i] - y[j]) ** 2) / SCALE for i, j in pairs(n)]
    apart = SITE.spacing_m**2 / SCALE * (1 + INSIDE)
    lower = [0.0] * n + [apart] * (len(rows) - n)
    upper = [SITE.radius_m**2 / SCALE * (1 - INSIDE)] * n + [np.inf] * (len(rows) - n)
    problem = {"x": places, "f": -energy(x, y, n) / 1e3, "g": ca.vertcat(*rows)}
    quiet = {"print_level": 0, "sb": "yes", "max_iter": 300, "tol": 1e-8}
    solver = ca.nlpsol("layout", "ipopt", problem, {"print_time": False, "ipopt": quiet})
    rng, found, ended = np.random.default_rng(seed), (-np.inf, [], []), 0
    for _ in range(starts):
        angle, radius = rng.uniform(0, 2 * np.pi, n), SITE.radius_m * np.sqrt(rng.random(n))
        begin = np.concatenate((radius * np.cos(angle), radius * np.sin(angle)))
        end = np.asarray(solver(x0=begin, lbg=lower, ubg=upper)["x"], dtype=float).ravel()
        east, north = end[:n], end[n:]
        idle = np.zeros(SITE.most - n)
        built = np.concatenate((np.ones(n), idle))
        if not is_legal(built, np.append(east, idle), np.append(north, idle)):
            continue
        ended += 1
        value = energy_of_any(east, north)
        if value > found[0]:
            found = (value, east.tolist(), north.tolist())
    return (*found, ended)


def main() -> None:
    """Search all numbers of turbines and write ``number.json``."""
    numbers = {}
    for n in range(1, SITE.most + 1):
        value, x, y, ended = best_layout(n, STARTS, SEED)
        numbers[n] = {
            "cost": SITE.cost_of_energy(n, value),
            "energy": value,
            "x": [round(v, 9) for v in x],
            "y": [round(v, 9) for v in y],
            "legal ends": ended,
        }
        print(n, numbers[n]["cost"], value, ended, flush=True)
    best = min(numbers, key=lambda n: numbers[n]["cost"])
    about = (
        f"dollars a MWh, MWh a year, m; best of {STARTS} starts of IPOPT for each number of "
        f"turbines (seed {SEED}), energies by py_wake"
    )
    text = json.dumps({"about": about, "best": best, "numbers": numbers}, indent=1)
    text = re.sub(r"(?<=[\d,])\s+(?=-?\d)", " ", text)  # numbers side by side
    Path(__file__).with_name("number.json").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
