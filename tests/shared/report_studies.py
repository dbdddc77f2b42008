"""Studies for the tests of report and dashboard; runnable, to write a journal in another process.

``python report_studies.py NAME JOURNAL SECONDS`` runs a study with calls of so many seconds; with
``endless`` after it, until it is killed.
"""

from __future__ import annotations

import dataclasses
import math
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import casadi as ca
from runtime_helpers import can

import archeng
from archeng import Design, Evaluation, Model, Result

HOSTILE = "<script>document.title='owned'</script>"
HOSTILE_MESSAGE = "<img src=x onerror=\"document.title='owned'\">"


def area(design: Design) -> float:
    return 6.0 * design["radius"] * (design["radius"] + design["height"])


def beam() -> Model:
    model = Model("beam")
    w = model.variable("width", lower=0.01, upper=0.2, unit="m")
    h = model.variable("depth", lower=0.01, upper=0.4, unit="m")
    model.subject_to(h <= 4 * w, name="slenderness")
    return model


def stress(design: Design) -> Evaluation:
    w, h = design["width"], design["depth"]
    if w * h < 0.0015:
        raise FloatingPointError("the mesh is tangled")
    return Evaluation(
        w * h,
        constraints={"stress": 6e3 / (w * h**2), "deflection": 1e-5 / (w * h**3)},
        outputs={"mass": 7800 * w * h, "solver": "direct"},
    )


def strange() -> Model:
    """Names that HTML, mathtext and layouts do not like."""
    model = Model(f"study {HOSTILE} & co")
    x = model.variable(HOSTILE, lower=0, upper=1, unit="<b>m</b>")
    y = model.variable("$\\frac{x$", lower=0, upper=1, unit="$^")
    z = model.variable("very_long_name_" * 10, lower=0, upper=1)
    model.subject_to(x + y + z >= 1, name="<i>sum</i> $_")
    return model


def fails(design: Design) -> Evaluation:
    if design.x[0] < 0.35:
        raise ValueError(HOSTILE_MESSAGE)
    value = float(design.x @ design.x)
    return Evaluation(value, constraints={"<u>$limit": value}, outputs={"<b>": HOSTILE})


def table() -> Model:
    """A model that a journal cannot hold."""
    function = ca.interpolant("table", "linear", [[0.0, 1.0, 2.0]], [0.0, 1.0, 4.0])
    model = Model("table", symbols="MX")
    x = model.variable("x", lower=0, upper=2, unit="kg")
    y = model.variable("y", lower=0, upper=9)
    model.subject_to(function(x) <= y, name="above")
    return model


def grey() -> Model:
    """Outputs, parameters and formulas, with names that HTML does not like."""
    model = Model("grey")
    t = model.variable("t<b>", lower=1, upper=20, unit="mm")
    load = model.parameter("load & wind", [8e3, 12e3], unit="<N>")
    stress = model.output("σ<i>", unit="N/mm²", shape=2)
    price = model.output("price", unit="EUR")
    model.subject_to(t <= 19, name="room")
    model.subject_to(1.5 * stress * load[0] <= 0.003 * t * load, name="strength", source="a.py:1")
    model.minimize(price / t + t, name="cost & <u>")
    return model


def bracket(design: Design) -> Evaluation:
    t, load = design["t<b>"], design.parameters["load & wind"]
    return Evaluation(
        outputs={"σ<i>": (load / 1e5 / t).tolist(), "price": 30 + t / 3, "<mesh>": HOSTILE}
    )


def bowl(design: Design) -> float:
    return float((design.x - 0.7) @ (design.x - 0.7))


def many() -> Model:
    model = Model("many")
    x = model.variable("x", shape=150, lower=-1, upper=1)
    model.subject_to(ca.sum1(x) >= 1, name="sum")
    return model


STUDIES: dict[str, tuple[Callable[[], Model], Callable[[Design], Any], dict[str, Any]]] = {
    "can": (can, area, {"max_evaluations": 60}),
    "most": (can, area, {"max_evaluations": 60, "sense": "maximize"}),
    "beam": (
        beam,
        stress,
        {
            "max_evaluations": 60,
            "simulated": {"stress": (None, 20e6), "deflection": (None, 2e-2)},
        },
    ),
    "strange": (strange, fails, {"max_evaluations": 40, "simulated": {"<u>$limit": (None, 0.6)}}),
    "grey": (grey, bracket, {"max_evaluations": 30, "parameters": {"load & wind": [9e3, 16e3]}}),
    "table": (table, bowl, {"max_evaluations": 40}),
    "many": (many, bowl, {"max_evaluations": 60}),
    "target": (can, area, {"max_evaluations": 200, "target": 280.0}),
    "restarts": (
        can,
        lambda design: math.sin(3 * design["radius"]) + design["height"] / 30,
        {"max_evaluations": 150, "restarts": 2},
    ),
}


class Slow:
    """A simulator that takes its time."""

    def __init__(self, simulator: Callable[[Design], Any], seconds: float) -> None:
        self.simulator, self.seconds = simulator, seconds

    def __call__(self, design: Design) -> Any:
        time.sleep(self.seconds)
        return self.simulator(design)


def run(name: str, seconds: float = 0.0, **options: Any) -> Result:
    model, simulator, own = STUDIES[name]
    call = Slow(simulator, seconds) if seconds else simulator
    return archeng.solve(model(), call, **{"seed": 3, **own, **options})


def start(name: str, journal: Path, seconds: float, *more: str) -> subprocess.Popen[bytes]:
    """Run a study in another process; with ``endless`` until it is killed."""
    env = {**os.environ, "PYTHONPATH": str(Path(archeng.__file__).parents[1])}
    command = [sys.executable, __file__, name, str(journal), str(seconds), *more]
    return subprocess.Popen(command, env=env)


def comparable(result: Result) -> dict[str, Any]:
    """Everything that a result holds, NaN and arrays so that they compare."""
    data = {f.name: getattr(result, f.name) for f in dataclasses.fields(result)}
    data.pop("provenance")
    return {name: _plain(value) for name, value in data.items()}


def _plain(value: Any) -> Any:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {
            f.name: _plain(getattr(value, f.name))
            for f in dataclasses.fields(value)
            if f.name != "elapsed"  # kept to the millisecond
        }
    if isinstance(value, tuple | list):
        return [_plain(v) for v in value]
    if hasattr(value, "tolist"):
        return _plain(value.tolist())
    if hasattr(value, "items"):
        return {k: _plain(v) for k, v in value.items()}
    return "nan" if isinstance(value, float) and math.isnan(value) else value


if __name__ == "__main__":
    endless = {"max_evaluations": 10**6, "settings": archeng.Settings(stop_tests=False)}
    options = endless if sys.argv[4:] == ["endless"] else {}
    run(sys.argv[1], float(sys.argv[3]), journal=sys.argv[2], **options)
