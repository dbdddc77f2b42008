"""The seeded runs whose simulator calls are pinned: each returns its designs in order.

``python tests/pins/pinned_runs.py --store`` writes ``pins.json``: only on purpose, when a change is
meant to change runs. ``--compare`` prints which runs differ.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import tempfile
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np
import pyomo.environ as pyo

import archeng
from archeng import Evaluation, Model, Result, Run, Settings
from archeng.runner import moved

PINS = Path(__file__).with_name("pins.json")
PAPER = Settings.paper()
EVERYWHERE = {"simulator_defined_everywhere": True}
Designs = Sequence[np.ndarray]


# -- models -----------------------------------------------------------------------------------


def disc() -> Model:
    """Two variables, a disc and a line."""
    model = Model("disc")
    x = model.variable("x", lower=-3, upper=3)
    y = model.variable("y", lower=-3, upper=3)
    model.subject_to(x**2 + y**2 <= 4, name="disc")
    model.subject_to(x + 2 * y >= -1, name="line")
    return model


def beam() -> Model:
    """The welded beam, four variables, nonlinear rows over many decades."""
    model = Model("beam")
    h = model.variable("h", lower=0.125, upper=5)
    length = model.variable("l", lower=0.1, upper=10)
    t = model.variable("t", lower=0.1, upper=10)
    b = model.variable("b", lower=0.125, upper=5)
    model.subject_to(504000 / (t**2 * b) <= 30000, name="bending")
    model.subject_to(2.1952 / (t**3 * b) <= 0.25, name="deflection")
    model.subject_to(64746.022 * (1 - 0.0282346 * t) * t * b**3 >= 6000, name="buckling")
    model.subject_to(h <= b, name="weld")
    model.subject_to(6000 / (math.sqrt(2) * h * length) <= 13600, name="shear")
    return model


def mixture() -> Model:
    """Five fractions that sum to one, and a product."""
    model = Model("mixture")
    f = model.variable("f", shape=5, lower=0, upper=1)
    model.subject_to(ca.sum1(f) == 1, name="sum", tolerance=1e-6)
    model.subject_to(f[0] * f[1] >= 0.01, name="product")
    return model


def polytope() -> Model:
    """Ten variables, linear rows."""
    model = Model("polytope")
    x = model.variable("x", shape=10, lower=-5, upper=5)
    rows = np.random.default_rng(5).normal(size=(6, 10))
    for k, row in enumerate(rows):
        model.subject_to(ca.dot(ca.DM(row), x) <= 1 + k / 5, name=f"row {k}")
    return model


def box() -> Model:
    """Bounds only."""
    model = Model("box")
    model.variable("x", shape=4, lower=-1, upper=4)
    return model


def unbounded() -> Model:
    """Variables without bounds, with scales."""
    model = Model("unbounded")
    x = model.variable("x", scale=2.0, start=1.0)
    y = model.variable("y", scale=0.5, start=3.0)
    model.subject_to(x * y >= 1, name="hyperbola")
    return model


# -- simulators: module level, so that worker processes can have them -------------------------


def bowl(design: Any) -> float:
    x = np.concatenate([np.ravel(design[name]) for name in design])
    return float(np.sum(np.arange(1, len(x) + 1) * (x - 1.3) ** 2) + 0.1 * np.sum(np.cos(3 * x)))


def ripples(design: Any) -> float:
    x = np.concatenate([np.ravel(design[name]) for name in design])
    return float(np.sum(x**2 + 3 * (1 - np.cos(2 * np.pi * x))))


def weld_cost(design: Any) -> float:
    h, length, t, b = (float(design[k]) for k in "hltb")
    return 1.10471 * h**2 * length + 0.04811 * t * b * (14 + length)


def weld(design: Any) -> Evaluation:
    """The welded beam, with shear and mass simulated."""
    h, length, t, b = (float(design[k]) for k in "hltb")
    first = 6000 / (math.sqrt(2) * h * length)
    moment = 6000 * (14 + length / 2)
    radius = math.sqrt(length**2 / 4 + ((h + t) / 2) ** 2)
    polar = 2 * (math.sqrt(2) * h * length * (length**2 / 12 + ((h + t) / 2) ** 2))
    second = moment * radius / polar
    shear = math.sqrt(first**2 + 2 * first * second * length / (2 * radius) + second**2)
    return Evaluation(weld_cost(design), {"shear": shear, "mass": h * h * length + t * b * length})


def sometimes_fails(design: Any) -> float:
    x = np.concatenate([np.ravel(design[name]) for name in design])
    return math.nan if math.sin(40 * x[0]) > 0.6 else float(np.sum((x - 1) ** 4))


class BreaksOnce:
    """Raises at one call, as a machine that fails in the night."""

    def __init__(self, simulator: Callable[[Any], Any], at: int) -> None:
        self.simulator, self.at, self.calls = simulator, at, 0

    def __call__(self, design: Any) -> Any:
        self.calls += 1
        if self.calls == self.at:
            raise RuntimeError("the machine failed")
        return self.simulator(design)


# -- ways to run --------------------------------------------------------------------------------


def designs_of(result: Result) -> Designs:
    return [call.x for call in result.evaluations]


def solved(model: Any, simulator: Any, calls: int, **options: Any) -> Designs:
    return designs_of(archeng.solve(model, simulator, max_evaluations=calls, **options))


def resumed(model: Model, simulator: Any, calls: int, at: int, **options: Any) -> Designs:
    """A run that breaks in the middle of a generation and is resumed."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.db"
        breaking = BreaksOnce(simulator, at)
        try:
            archeng.solve(
                model, breaking, max_evaluations=calls, journal=path, on_failure="raise", **options
            )
        except archeng.errors.SimulatorError:
            pass
        else:
            raise AssertionError("the run was to break")
        return designs_of(archeng.resume(path, simulator, retry_failed=True))


def asked(model: Model, simulator: Any, calls: int, **options: Any) -> Designs:
    run = Run(model, max_evaluations=calls, **options)
    while not run.stopped:
        run.tell([None if c.design is None else simulator(c.design) for c in run.ask()])
    return designs_of(run.result())


def pyomo_model() -> Any:
    m = pyo.ConcreteModel("flow")
    m.x = pyo.Var([1, 2, 3], bounds=(0, 4), initialize=1.0)
    m.sum = pyo.Constraint(expr=m.x[1] + m.x[2] + m.x[3] == 5)
    m.cone = pyo.Constraint(expr=m.x[1] ** 2 + m.x[2] ** 2 <= 9)
    m.cost = pyo.Objective(
        expr=(m.x[1] - 3) ** 2 + pyo.exp(m.x[2] / 3) + (m.x[3] - 2) ** 4 + m.x[1] * m.x[3]
    )
    return m


def from_nl_file(calls: int, **options: Any) -> Designs:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "flow.nl"
        pyomo_model().write(str(path))
        return solved(str(path), None, calls, **options)


def from_opti(calls: int, **options: Any) -> Designs:
    opti = ca.Opti()
    x = opti.variable(3)
    opti.subject_to(opti.bounded(-2, x, 2))
    opti.subject_to(ca.sumsqr(x) <= 3)
    opti.subject_to(x[0] + x[1] == 0.5)
    opti.minimize(ca.sumsqr(x - ca.DM([1, 2, 3])) + ca.exp(x[0] * x[1]))
    return solved(opti, None, calls, **options)


def from_nlp(calls: int, **options: Any) -> Designs:
    x = ca.SX.sym("x", 2)
    nlp = {"x": x, "f": (1 - x[0]) ** 2 + 100 * (x[1] - x[0] ** 2) ** 2, "g": ca.sumsqr(x)}
    return solved(nlp, None, calls, lbx=-2, ubx=2, ubg=1.5, **options)


def handler(name: str, **settings: Any) -> Settings:
    return Settings(handler=name, **settings)


LIMITS = {"shear": (None, 13600.0), "mass": (None, 7.0)}

RUNS: Mapping[str, Callable[[], Designs]] = {
    "paper disc": lambda: solved(disc(), bowl, 120, seed=1, settings=PAPER),
    "paper beam": lambda: solved(beam(), weld_cost, 150, seed=2, settings=PAPER),
    "paper mixture": lambda: solved(mixture(), bowl, 120, seed=3, settings=PAPER),
    "paper polytope": lambda: solved(polytope(), bowl, 200, seed=4, settings=PAPER),
    "defaults disc": lambda: solved(disc(), bowl, 100, seed=1),
    "defaults beam": lambda: solved(beam(), weld_cost, 120, seed=2),
    "defaults mixture": lambda: solved(mixture(), bowl, 100, seed=3),
    "defaults polytope": lambda: solved(polytope(), bowl, 120, seed=4),
    "defaults unbounded": lambda: solved(unbounded(), bowl, 80, seed=5),
    "defaults ripples": lambda: solved(disc(), ripples, 150, seed=6),
    "proposals": lambda: solved(polytope(), bowl, 100, seed=4, settings=Settings(proposals=3)),
    "no surrogate": lambda: solved(
        beam(), weld_cost, 120, seed=2, settings=Settings(surrogate="none")
    ),
    "maximize": lambda: solved(disc(), bowl, 80, seed=7, sense="maximize"),
    "start and sigma": lambda: solved(beam(), weld_cost, 80, seed=8, start=[1, 4, 5, 2], sigma=0.3),
    "population": lambda: solved(beam(), weld_cost, 100, seed=8, population_size=12),
    "failures": lambda: solved(disc(), sometimes_fails, 120, seed=9),
    "restarts": lambda: solved(disc(), ripples, 400, seed=10, restarts=4),
    "paper restarts": lambda: solved(
        disc(), ripples, 900, seed=10, restarts=3, settings=PAPER, population_size=5
    ),
    "simulated": lambda: solved(beam(), weld, 80, seed=11, simulated=LIMITS),
    "simulated paper": lambda: solved(beam(), weld, 150, seed=11, simulated=LIMITS, settings=PAPER),
    "simulated proposals": lambda: solved(
        beam(), weld, 60, seed=12, simulated=LIMITS, settings=Settings(proposals=2)
    ),
    "arch-nearest": lambda: solved(
        beam(), weld_cost, 80, seed=13, settings=handler("arch-nearest")
    ),
    "resampling": lambda: solved(disc(), bowl, 80, seed=13, settings=handler("resampling")),
    "death-penalty": lambda: solved(disc(), bowl, 80, seed=13, settings=handler("death-penalty")),
    "ap-bch": lambda: solved(box(), bowl, 80, seed=13, settings=handler("ap-bch")),
    "active-set-es": lambda: solved(disc(), bowl, 80, seed=13, settings=handler("active-set-es")),
    "al": lambda: solved(disc(), bowl, 100, seed=13, settings=handler("al", **EVERYWHERE)),
    "mcr": lambda: solved(disc(), bowl, 100, seed=13, settings=handler("mcr", **EVERYWHERE)),
    "stochastic-ranking": lambda: solved(
        disc(), bowl, 100, seed=13, settings=handler("stochastic-ranking", **EVERYWHERE)
    ),
    "one-plus-one-ach": lambda: solved(
        disc(), bowl, 80, seed=13, settings=handler("one-plus-one-ach")
    ),
    "xcma-es-ach": lambda: solved(disc(), bowl, 100, seed=13, settings=handler("xcma-es-ach")),
    "mu-lambda-ach": lambda: solved(
        disc(), bowl, 100, seed=13, settings=handler("mu-lambda-ach", **EVERYWHERE)
    ),
    "ask and tell": lambda: asked(beam(), weld_cost, 80, seed=14),
    "ask and tell paper": lambda: asked(mixture(), bowl, 80, seed=14, settings=PAPER),
    "ask and tell simulated": lambda: asked(beam(), weld, 60, seed=14, simulated=LIMITS),
    "workers": lambda: solved(beam(), weld_cost, 60, seed=2, workers=2, parallel=1),
    "threads": lambda: solved(polytope(), bowl, 80, seed=4, workers="threads:2", parallel=1),
    "journal": lambda: journalled(beam(), weld_cost, 60, seed=2),
    "resume": lambda: resumed(beam(), weld_cost, 80, 31, seed=15),
    "resume paper": lambda: resumed(mixture(), bowl, 80, 37, seed=15, settings=PAPER),
    "resume simulated": lambda: resumed(beam(), weld, 60, 33, seed=15, simulated=LIMITS),
    "resume restarts": lambda: resumed(disc(), ripples, 300, 171, seed=10, restarts=4),
    "resume al": lambda: resumed(
        disc(), bowl, 80, 41, seed=16, settings=handler("al", **EVERYWHERE)
    ),
    "resume mcr": lambda: resumed(
        disc(), bowl, 80, 41, seed=16, settings=handler("mcr", **EVERYWHERE)
    ),
    "resume active-set-es": lambda: resumed(
        disc(), bowl, 60, 29, seed=16, settings=handler("active-set-es")
    ),
    "resume one-plus-one-ach": lambda: resumed(
        disc(), bowl, 60, 29, seed=16, settings=handler("one-plus-one-ach")
    ),
    "resume xcma-es-ach": lambda: resumed(
        disc(), bowl, 80, 41, seed=16, settings=handler("xcma-es-ach")
    ),
    "resume ap-bch": lambda: resumed(box(), bowl, 80, 41, seed=16, settings=handler("ap-bch")),
    "nlp": lambda: from_nlp(60, seed=17),
    "pyomo": lambda: solved(pyomo_model(), None, 60, seed=18),
    "pyomo paper": lambda: solved(pyomo_model(), None, 60, seed=18, settings=PAPER),
    "nl": lambda: from_nl_file(60, seed=19),
    "opti": lambda: from_opti(60, seed=20),
    "sample": lambda: list(archeng.sample_feasible(beam(), 20, seed=21).x),
}


def journalled(model: Model, simulator: Any, calls: int, **options: Any) -> Designs:
    """A run with a journal, as the journal tells it."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.db"
        archeng.solve(model, simulator, max_evaluations=calls, journal=path, **options)
        return designs_of(archeng.read_journal(path))


# -- pins -----------------------------------------------------------------------------------------


def numerics() -> str:
    """What the last digits depend on: processor, BLAS, versions."""
    packages = [f"{name} {version(name)}" for name in ("casadi", "numpy", "scipy")]
    return " ".join([*moved.numerics().values(), *packages])


def pin(designs: Designs) -> dict[str, Any]:
    """A hash of all designs, how many there are, and the first three as numbers."""
    data = b"".join(np.asarray(x, dtype="<f8").tobytes() for x in designs)
    return {
        "calls": len(designs),
        "sha256": hashlib.sha256(data).hexdigest(),
        "first": [np.asarray(x, dtype=float).tolist() for x in designs[:3]],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--store", action="store_true", help="write pins.json anew")
    parser.add_argument("only", nargs="*", help="names of runs (default: all)")
    arguments = parser.parse_args()
    pins = {name: pin(RUNS[name]()) for name in arguments.only or RUNS}
    if arguments.store:
        PINS.write_text(json.dumps({"numerics": numerics(), "runs": pins}, indent=1) + "\n")
        return
    stored = json.loads(PINS.read_text())["runs"]
    for name, here in pins.items():
        print(f"{'same' if here == stored[name] else 'DIFFERENT':10}{here['calls']:5}  {name}")


if __name__ == "__main__":
    main()
