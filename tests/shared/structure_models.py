"""Models with many equations, with their formulas once more for NumPy and SciPy.

A case has its formulas in one function of the variables and of a module for mathematics: CasADi
makes the model of them, NumPy judges designs, SciPy solves the equations, and IPOPT finds the
optimum. Worker processes import this module by name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import NDArray
from scipy.optimize import root

from archeng import Design, Evaluation, Model
from archeng.model import FeasibleSet

Vector = NDArray[np.float64]
ROUNDING = 1e-12


@dataclass(frozen=True)
class Quantity:
    """A variable: one number, or ``size`` of them."""

    lower: float = -np.inf
    upper: float = np.inf
    start: float | None = None
    size: int = 0
    scale: float | None = None


@dataclass
class Formulas:
    """What must be zero, what must lie between two limits, and what is to be small."""

    equations: dict[str, Any] = field(default_factory=dict)
    limits: dict[str, tuple[Any, float, float]] = field(default_factory=dict)
    cost: Any = 0.0


@dataclass(frozen=True)
class Case:
    """A model: variables, formulas of them, and names of independents that suit it."""

    name: str
    quantities: dict[str, Quantity]
    formulas: Callable[[Mapping[str, Any], Any], Formulas]
    independent: tuple[str, ...] = ()

    def declare(self, **options: Any) -> tuple[Model, dict[str, Any]]:
        """Return the model with its variables only, and their symbols."""
        model = Model(self.name, **options)
        return model, {
            name: model.variable(
                name, shape=q.size or (), lower=q.lower, upper=q.upper, start=q.start, scale=q.scale
            )
            for name, q in self.quantities.items()
        }

    def model(self, named: tuple[str, ...] = (), objective: bool = False, **options: Any) -> Model:
        model, v = self.declare(**options)
        written = self.formulas(v, ca)
        for name, residual in written.equations.items():
            model.subject_to(residual == 0, name=name)
        for name, (value, low, high) in written.limits.items():
            model.subject_to(value, lower=low, upper=high, name=name)
        if objective:
            model.minimize(written.cost, name="cost")
        if named:
            model.independent(*named)
        return model

    @cached_property
    def names(self) -> list[str]:
        return [
            f"{name}[{i}]" if q.size else name
            for name, q in self.quantities.items()
            for i in range(q.size or 1)
        ]

    def at(self, x: Any) -> dict[str, Any]:
        """Values by name, of a full vector."""
        values, first = {}, 0
        for name, q in self.quantities.items():
            values[name] = x[first : first + q.size] if q.size else x[first]
            first += q.size or 1
        return values

    def residuals(self, x: Vector) -> Vector:
        return np.array([float(e) for e in self.formulas(self.at(x), np).equations.values()])

    def value(self, row: str, x: Vector) -> float:
        """Value of a row, by the name that it has in a feasible set."""
        if row.startswith("bounds of "):
            return float(x[self.names.index(row.removeprefix("bounds of "))])
        written = self.formulas(self.at(x), np)
        return float(written.equations[row] if row in written.equations else written.limits[row][0])

    def cost(self, x: Vector) -> float:
        return float(self.formulas(self.at(x), np).cost)

    def offences(self, x: Vector, tolerances: Mapping[str, float]) -> list[str]:
        """Which bounds, equations and limits a full vector violates, by NumPy."""
        written, found = self.formulas(self.at(x), np), []
        low, high = self.bounds()
        found += [f"bounds of {self.names[i]}" for i in np.flatnonzero((x < low) | (x > high))]
        for name, value in written.equations.items():
            if not abs(value) <= tolerances[name] + ROUNDING * max(1.0, np.abs(x).max()):
                found.append(f"{name}: {value}")
        for name, (value, least, most) in written.limits.items():
            room = ROUNDING * max(1.0, abs(value))
            if not least - room <= value <= most + room:
                found.append(f"{name}: {value}")
        return found

    def bounds(self) -> tuple[Vector, Vector]:
        spread = [q for q in self.quantities.values() for _ in range(q.size or 1)]
        return np.array([q.lower for q in spread]), np.array([q.upper for q in spread])

    def solved(self, x: Vector, columns: Any) -> Vector:
        """Solve the equations by SciPy for some variables, beginning at a full vector."""
        x = np.array(x)

        def gap(v: Vector) -> Vector:
            x[columns] = v
            return self.residuals(x)

        found = root(gap, x[columns], method="hybr", options={"xtol": 1e-14})
        x[columns] = found.x
        assert np.abs(self.residuals(x)).max() < 1e-8, found.message
        return x

    def optimum(self, x0: Vector) -> tuple[float, Vector]:
        """Return the least cost by IPOPT over all variables, with exact derivatives."""
        x = ca.MX.sym("x", len(self.names))
        written = self.formulas(self.at(x), ca)
        rows = [*written.equations.values(), *(v for v, _, _ in written.limits.values())]
        zeros = [0.0] * len(written.equations)
        least = zeros + [low for _, low, _ in written.limits.values()]
        most = zeros + [high for _, _, high in written.limits.values()]
        problem = {"x": x, "f": written.cost, "g": ca.vertcat(*rows)}
        quiet = {"print_time": False, "ipopt": {"print_level": 0, "sb": "yes", "tol": 1e-10}}
        solver = ca.nlpsol("referee", "ipopt", problem, quiet)
        low, high = self.bounds()
        answer = solver(x0=x0, lbx=low, ubx=high, lbg=least, ubg=most)
        assert solver.stats()["success"]
        return float(answer["f"]), np.asarray(answer["x"], dtype=float).reshape(-1)


# -- the models ------------------------------------------------------------------------------

TANKS = 8


def _tanks(v: Mapping[str, Any], math: Any) -> Formulas:
    """Stirred tanks in a row: temperature, concentration, rate and flow of each."""
    rows = Formulas()
    T, c, k, r, w = (v[name] for name in ("T", "c", "k", "r", "w"))
    size = v["volume"] / TANKS * 10
    for i in range(TANKS):
        before = (v["inlet"], 1.5, v["feed"]) if i == 0 else (T[i - 1], c[i - 1], w[i - 1])
        heat = (v["heat0"] if 2 * i < TANKS else v["heat1"]) * 10 / TANKS
        loss = 0.05 * (T[i] - 300) * 10 / TANKS
        rows.equations |= {
            f"speed {i}": k[i] - 0.05 * math.exp(20 * (1 - 330 / T[i])),
            f"rate {i}": r[i] - k[i] * c[i] ** 2 / (1 + c[i]),
            f"mass {i}": w[i] * (before[1] - c[i]) - r[i] * size,
            f"flow {i}": w[i] - before[2] * (1 + 0.001 / TANKS * c[i]),
            f"energy {i}": w[i] * (T[i] - before[0]) - heat - 20 * r[i] * size + loss,
        }
    rows.limits["conversion"] = c[TANKS - 1], -np.inf, 0.9
    rows.limits["power"] = v["heat0"] + v["heat1"], -np.inf, 60.0
    rows.limits["hot"] = T[TANKS - 1] * c[TANKS - 1], 200.0, np.inf
    rows.cost = (
        0.05 * (v["heat0"] ** 2 + v["heat1"] ** 2) / 10 + v["volume"] / 5
        - v["feed"] * (1.5 - c[TANKS - 1]) + (v["inlet"] - 305) ** 2 / 100
    )  # fmt: skip
    return rows


TANK_CASE = Case(
    "tanks",
    {
        "feed": Quantity(5, 20, 10),
        "inlet": Quantity(300, 340, 310),
        "heat0": Quantity(0, 50, 10),
        "heat1": Quantity(0, 50, 10),
        "volume": Quantity(5, 50, 20),
        "T": Quantity(290, 420, 330, TANKS),
        "c": Quantity(0, 2, 0.8, TANKS),
        "r": Quantity(0, start=0.05, size=TANKS),
        "k": Quantity(start=0.05, size=TANKS, scale=0.05),
        "w": Quantity(start=10, size=TANKS, scale=5),
    },
    _tanks,
    ("feed", "inlet", "heat0", "heat1", "volume"),
)

BUSES = 20


def _grid(v: Mapping[str, Any], math: Any) -> Formulas:
    """A ring of buses, lines with losses, and four generators: one block of all equations."""
    rows, plants = Formulas(), {5: "east", 10: "south", 15: "west"}
    a, f = v["angle"], v["flow"]
    for i in range(BUSES):
        here, there = (0.0 if j == 0 else a[j - 1] for j in (i, (i + 1) % BUSES))
        power = v["slack"] if i == 0 else v[plants[i]] if i in plants else 0.0
        load = 0.1 + 0.02 * (i % 4)
        loss = 0.03 * f[i - 1] ** 2
        rows.equations |= {
            f"line {i}": f[i] - 5 * math.sin(here - there),
            f"bus {i}": f[i - 1] - loss - f[i] + power - load,
        }
    rows.limits["supply"] = v["east"] + v["west"], -np.inf, 1.6
    rows.limits["heat of a line"] = f[4] ** 2 + f[5] ** 2, -np.inf, 0.5
    prices = {"slack": 1.2, "east": 0.9, "south": 1.0, "west": 0.8}
    rows.cost = sum(
        price * v[name] + (0.1 + 0.05 * n) * v[name] ** 2
        for n, (name, price) in enumerate(prices.items())
    )
    return rows


GRID_CASE = Case(
    "grid",
    {
        "slack": Quantity(0, 2, 0.5),
        "east": Quantity(0, 1.2, 0.5),
        "south": Quantity(0, 1.2, 0.5),
        "west": Quantity(0, 1.2, 0.5),
        "angle": Quantity(-1.5, 1.5, 0, BUSES - 1),
        "flow": Quantity(-0.9, 0.9, 0, BUSES),
    },
    _grid,
    ("east", "south", "west"),
)

GAUGES = 40


def _circle(v: Mapping[str, Any], math: Any) -> Formulas:
    """A point on a circle, and numbers that follow from it."""
    rows = Formulas()
    x, y, z = v["x"], v["y"], v["z"]
    rows.equations["circle"] = x**2 + y**2 - 1
    for i in range(GAUGES):
        rows.equations[f"gauge {i}"] = v["w"][i] - (i + 1) * z - 0.01 * x * y
    rows.limits["slope"] = y + 0.5 * z, -0.9, np.inf
    rows.cost = -x + (z - 0.2) ** 2 + 0.3 * y**4
    return rows


CIRCLE_CASE = Case(
    "circle",
    {
        "x": Quantity(-1.5, 1.5, 0.1),
        "y": Quantity(-1.5, 1.5, 0.9),
        "z": Quantity(-1, 1, 0.3),
        "w": Quantity(-100, 100, size=GAUGES),
    },
    _circle,
    ("x", "z"),
)

CASES = {case.name: case for case in (TANK_CASE, GRID_CASE, CIRCLE_CASE)}


class Costs:
    """Simulator of a case: its cost in plain NumPy."""

    def __init__(self, case: str) -> None:
        self.case = case

    def __call__(self, design: Design) -> float:
        return CASES[self.case].cost(np.array(design.x))


def tolerances(model: Model) -> dict[str, float]:
    """Tolerance of each equation, by its name."""
    return {
        name: width
        for c in model.constraints
        for name, equal, width in zip(c.row_names(), c.equalities(), c.half_widths, strict=False)
        if equal
    }


def near_points(fs: FeasibleSet, k: int, reach: float = 0.2, seed: int = 0) -> Vector:
    """Independents (k, n) around the start, in typical changes."""
    shifts = np.random.default_rng(seed).uniform(-1, 1, (k, fs.n))
    return np.asarray(fs.start + reach * shifts * fs.scale)


# -- a loop through the simulator ------------------------------------------------------------

STREAMS = ("feed", "mix", "hot", "out", "prod", "rest", "back", "waste")
SPLIT = {"A": 0.02, "B": 0.03, "C": 0.98, "I": 0.1}
"""Share of each species that leaves a separator with the product."""


def reaction(temperature: Any, volume: Any, total: Any, math: Any) -> tuple[Any, Any]:
    """Conversion and selectivity of a reactor."""
    speed = math.exp(8 - 5000 / temperature) * volume / total * 100
    conversion = speed / (1 + speed)
    return conversion, 1 / (1 + 0.02 * math.exp((temperature - 600) / 60) * conversion)


def _recycle(v: Mapping[str, Any], math: Any, reacted: tuple[Any, Any] | None = None) -> Formulas:
    """Mixer, reactor and separator with a recycle; ``reacted`` replaces the reactor's formulas."""
    rows = Formulas()
    feed, mix, hot, out, prod, rest, back, waste = (v[s] for s in STREAMS)
    given = reaction(v["temperature"], v["volume"], v["total"], math)
    conversion, selectivity = given if reacted is None else reacted
    fed = {"A": 100, "B": 100 * v["excess"], "C": 0, "I": 5}
    for i, (c, share) in enumerate(SPLIT.items()):
        rows.equations |= {
            f"feed {c}": feed[i] - fed[c],
            f"mix {c}": mix[i] - feed[i] - back[i],
            f"heat {c}": hot[i] - mix[i],
            f"prod {c}": prod[i] - share * out[i],
            f"rest {c}": rest[i] - out[i] + prod[i],
            f"back {c}": back[i] - (1 - v["purge"]) * rest[i],
            f"waste {c}": waste[i] - v["purge"] * rest[i],
        }
    rows.equations |= {
        "sum": v["total"] - (hot[0] + hot[1] + hot[2] + hot[3]),
        "react A": out[0] - hot[0] + conversion * hot[0],
        "react B": out[1] - hot[1] + hot[0] - out[0],
        "react C": out[2] - hot[2] - selectivity * conversion * hot[0],
        "react I": out[3] - hot[3] - 0.5 * (hot[0] - out[0] - out[2] + hot[2]),
    }
    rows.limits["compressor"] = v["total"], -np.inf, 1500.0
    rows.cost = (
        0.02 * (v["temperature"] - 500) + 2 * v["volume"] ** 0.6 + 0.03 * v["total"]
        + 10 * v["excess"] + 0.2 * (waste[0] + waste[1] + waste[2] + waste[3]) - 0.5 * prod[2]
    )  # fmt: skip
    return rows


RECYCLE_CASE = Case(
    "recycle",
    {
        "temperature": Quantity(500, 700, 600),
        "volume": Quantity(1, 20, 8),
        "purge": Quantity(0.02, 0.5, 0.1),
        "excess": Quantity(1, 2, 1.2),
        **{s: Quantity(0, 2000, {"feed": 50, "mix": 80}.get(s, 40), 4) for s in STREAMS},
        "total": Quantity(1, 5000, 200),
    },
    _recycle,
)
MISMATCH = 1e-3
"""Tolerance of the equations with outputs."""


def recycle() -> Model:
    """The same plant, whose reactor only the simulator knows."""
    model, v = RECYCLE_CASE.declare()
    reacted = model.output("conversion"), model.output("selectivity")
    written = _recycle(v, ca, reacted)
    for name, residual in written.equations.items():
        simulated = {"tolerance": MISMATCH} if name in ("react A", "react C") else {}
        model.subject_to(residual == 0, name=name, **simulated)
    for name, (value, _, high) in written.limits.items():
        model.subject_to(value <= high, name=name)
    model.minimize(written.cost, name="cost")
    return model


def reactor(design: Design) -> dict[str, float]:
    found = reaction(design["temperature"], design["volume"], design["total"], np)
    return {"conversion": float(found[0]), "selectivity": float(found[1])}


def reactor_with_gradients(design: Design) -> Evaluation:
    """The same with derivatives by all variables, most of them zero."""
    symbols = ca.SX.sym("x", 3)
    values = ca.vertcat(*reaction(symbols[0], symbols[1], symbols[2], ca))
    places = [RECYCLE_CASE.names.index(n) for n in ("temperature", "volume", "total")]
    slopes = np.zeros((2, len(RECYCLE_CASE.names)))
    J = ca.Function("J", [symbols], [ca.jacobian(values, symbols)])
    slopes[:, places] = np.asarray(J(design.x[places]))
    names = ("conversion", "selectivity")
    return Evaluation(outputs=reactor(design), gradients=dict(zip(names, slopes, strict=True)))
