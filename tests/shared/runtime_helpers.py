"""Models, simulators and processes for the tests of the runtime.

Worker processes import this module by name, so everything that a simulator needs is here.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np
import psutil
from discrete_models import frame, simulated_frame, swinging, weight

import archeng
from archeng import Design, Evaluation, Model, Result, Settings
from archeng.journal import Journal

HERE = Path(__file__).resolve().parent
PATIENCE = 60.0  # seconds until a test gives up; only reached when something is wrong

# -- models ----------------------------------------------------------------------------------


def line() -> Model:
    """A half-plane: many candidates are repaired."""
    model = Model("line")
    x = model.variable("x", shape=2, lower=-5, upper=5)
    model.subject_to(x[0] + x[1] >= 1, name="line")
    return model


def can(tolerance: float = 0.01) -> Model:
    """An equality."""
    model = Model("can")
    r = model.variable("radius", lower=1, upper=10, unit="cm")
    h = model.variable("height", lower=1, upper=30, unit="cm")
    model.subject_to(3.0 * r**2 * h == 330, name="volume", tolerance=tolerance)
    model.subject_to(h >= 2 * r, name="shape")
    return model


def corner() -> Model:
    """A polytope with the optimum in a vertex: many candidates are repaired to one design."""
    model = Model("corner")
    x = model.variable("x", shape=2, lower=0, upper=5)
    model.subject_to(x[0] + x[1] <= 4, name="sum")
    model.subject_to(x[0] - x[1] <= 2, name="difference")
    return model


def spring() -> Model:
    """Outputs, one of them a vector, parameters, and formulas of them; with other parameters."""
    model = Model("spring")
    x = model.variable("x", shape=2, lower=-5, upper=5)
    limit = model.parameter("limit", 9.0)
    weights = model.parameter("weights", [1.0, 2.0])
    force = model.output("force", shape=2, unit="N")
    energy = model.output("energy", unit="J")
    model.subject_to(x[0] + x[1] >= 1, name="line")
    model.subject_to(force[0] + 0.5 * force[1] <= limit, name="force")
    model.subject_to(energy + x[0] >= 1, name="energy")
    model.minimize(energy + weights[0] * force[0] + weights[1] * x[1] ** 2, name="cost")
    return model


MODELS: dict[str, Callable[[], Model]] = {
    "line": line,
    "can": can,
    "corner": corner,
    "spring": spring,
    "frame": frame,
    "simulated frame": simulated_frame,
}


def table_model(values: Any = (0.0, 1.0, 4.0), source: str | None = None) -> Model:
    """A model with a table in it, which only CasADi's MX can do."""
    table = ca.interpolant("table", "linear", [[0.0, 1.0, 2.0]], list(values))
    model = Model("table", symbols="MX")
    x = model.variable("x", lower=0, upper=2)
    y = model.variable("y", lower=0, upper=9)
    model.subject_to(table(x) <= y, name="above", source=source)
    return model


# -- objectives ------------------------------------------------------------------------------


def bowl(design: Design) -> float:
    return float(design.x @ design.x + design.x[0])


def down(design: Design) -> float:
    return float(-3 * design.x[0] - design.x[1])


def waves(design: Design) -> float:
    return float(design.x @ design.x / 9 + np.sin(3 * design.x[0]) * np.cos(2 * design.x[1]))


def fragile(design: Design, one_in: int = 7) -> float:
    """Fail in three ways, each at one design in ``one_in``."""
    kind = digest(design.x) % one_in
    if kind == 0:
        raise FloatingPointError("the mesh is tangled")
    return {1: float("nan"), 2: float("inf")}.get(kind, bowl(design))


def sturdier(design: Design) -> float:
    """Fail in the same ways, at one design in eight."""
    return fragile(design, one_in=24)


def springs(design: Design) -> Evaluation:
    """Forces and energy of two springs, with the derivatives of the energy; some calls fail."""
    x, stiffness = design.x, design.parameters["weights"]
    if digest(x) % 11 == 0:
        raise FloatingPointError("the mesh is tangled")
    return Evaluation(
        outputs={
            "force": [float(np.sinh(x[0])), float(stiffness[0] * x[1] ** 3)],
            "energy": float(np.cosh(x[0]) + stiffness[1] * x[1] ** 4 / 4),
            "iterations": digest(x) % 7,
        },
        gradients={"energy": [float(np.sinh(x[0])), float(stiffness[1] * x[1] ** 3)]},
    )


def parts(design: Design) -> float:
    """Weight of bought parts, by names and attributes; some calls fail."""
    if digest(design.x) % 10 == 0:
        raise FloatingPointError("the mesh is tangled")
    return weight(design)


OBJECTIVES = {
    f.__name__: f for f in (bowl, down, waves, fragile, sturdier, springs, parts, swinging)
}


def digest(x: Any) -> int:
    """A number that looks random but only depends on the design."""
    return int.from_bytes(hashlib.sha256(np.asarray(x, dtype=float).tobytes()).digest()[:4], "big")


class Logged:
    """Append every call it makes to a file, ``begin`` and ``end``, then return an answer.

    ``delay`` are the most seconds that it sleeps; how many depends on the design, so that calls
    which run side by side finish in another order than they began.
    """

    def __init__(self, objective: str, log: Path | str | None = None, delay: float = 0.0) -> None:
        self.objective, self.log, self.delay = objective, log, delay

    def __call__(self, design: Design) -> Any:
        self._note("begin", design)
        if self.delay:
            time.sleep(self.delay * (digest(design.x) % 101) / 100)
        try:
            return OBJECTIVES[self.objective](design)
        finally:
            self._note("end", design)

    def _note(self, what: str, design: Design) -> None:
        if self.log is not None:
            append(self.log, f"{what} {os.getpid()} {design.x.tobytes().hex()}")


def append(path: Path | str, text: str) -> None:
    """Add a line, atomically also with several processes."""
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    try:
        os.write(file, f"{text}\n".encode())
    finally:
        os.close(file)


def lines(path: Path | str, what: str = "") -> list[list[str]]:
    """Words of the finished lines of a log that begin with a word."""
    with contextlib.suppress(FileNotFoundError):
        whole = Path(path).read_text().rpartition("\n")[0]
        return [words for line in whole.splitlines() if (words := line.split())[0].startswith(what)]
    return []


def begun(path: Path | str) -> list[str]:
    """Designs (hexadecimal) whose simulation began, in order."""
    return [words[2] for words in lines(path, "begin")]


# -- the same run ----------------------------------------------------------------------------

PLAIN = Settings(surrogate="none")  # generations of ARCH only, all of the same size
FAST = Settings(surrogate="none", tol_x=0.5)  # converges soon, so that restarts begin soon
ASSISTED = Settings()  # a model of the objective proposes designs, one after the other

CASES: dict[str, dict[str, Any]] = {
    "budget within a generation": {"max_evaluations": 33},
    "target within a generation": {"target": "of a call in the middle", "max_evaluations": 90},
    "failures": {"objective": "fragile", "max_evaluations": 60},
    "duplicates": {"model": "corner", "objective": "down", "max_evaluations": 60},
    "paper": {
        "model": "corner",
        "objective": "down",
        "max_evaluations": 40,
        "settings": Settings.paper(),
    },
    "restarts": {
        "objective": "waves",
        "restarts": 3,
        "settings": FAST,
        "max_evaluations": 160,
        "seed": 8,
    },
    "equality, maximize": {"model": "can", "sense": "maximize", "max_evaluations": 45},
    "proposals": {"objective": "waves", "max_evaluations": 35, "settings": ASSISTED, "seed": 8},
    "proposals to the end": {
        "objective": "sturdier",
        "max_evaluations": 300,
        "settings": ASSISTED,
    },
    "proposals, restarts": {
        "model": "can",
        "objective": "waves",
        "restarts": 3,
        "settings": ASSISTED,
        "max_evaluations": 120,
    },
    "proposals, batches": {
        "objective": "waves",
        "max_evaluations": 41,
        "settings": ASSISTED,
        "parallel": 4,
        "seed": 8,
    },
    "outputs, proposals, batches": {
        "model": "spring",
        "objective": "springs",
        "settings": ASSISTED,
        "max_evaluations": 30,
        "parallel": 3,
    },
    "outputs": {
        "model": "spring",
        "objective": "springs",
        "parameters": {"limit": 6.5},
        "max_evaluations": 33,
    },
    "outputs, proposals": {
        "model": "spring",
        "objective": "springs",
        "parameters": {"weights": [1.5, 0.5]},
        "settings": ASSISTED,
        "max_evaluations": 25,
    },
    "discrete": {"model": "frame", "objective": "parts", "max_evaluations": 40},
    "discrete, proposals": {
        "model": "frame",
        "objective": "parts",
        "settings": ASSISTED,
        "max_evaluations": 25,
    },
    "discrete outputs, proposals": {
        "model": "simulated frame",
        "objective": "swinging",
        "settings": ASSISTED,
        "max_evaluations": 22,
        "seed": 2,
    },
}
"""Without settings they are those of `PLAIN`, without a width one call is made at a time."""


@functools.cache
def _target() -> float:
    """Objective of a call that is the best so far, and neither first nor last of its generation."""
    result = solve_case("budget within a generation", max_evaluations=90)
    size = result.history[0].population_size
    best = float("inf")
    for e in result.evaluations:
        if e.objective < best and e.index >= 2 * size and e.index % size not in (0, size - 1):
            return e.objective
        best = min(best, e.objective)
    raise AssertionError("choose another seed")


def solve_case(name: str, **options: Any) -> Result:
    """Run one of the cases; options replace those of the case."""
    case = {"seed": 5, "settings": PLAIN, "parallel": 1, **CASES[name]}
    if "target" in case:
        case["target"] = _target()
    model = MODELS[case.pop("model", "line")]()
    objective = case.pop("objective", "bowl")
    delay, log = options.pop("delay", 0.0), options.pop("log", None)
    simulator = options.pop("simulator", Logged(objective, log, delay))
    return archeng.solve(model, simulator, **{**case, **options})


@functools.cache
def reference(name: str) -> Result:
    """A case with one call after the other in this process, without a journal."""
    return solve_case(name)


def trace(result: Result) -> dict[str, Any]:
    """Everything of a run that must not depend on where and how fast its calls ran."""
    return {
        "calls": [
            (e.index, e.generation, e.restart, e.x.tobytes().hex(), e.objective.hex(), e.status)
            for e in result.evaluations
        ],
        "sampled": [e.sampled.tobytes() for e in result.evaluations],
        "answers": [
            (dict(e.constraints), e.violated, dict(e.outputs), dict(e.gradients), e.parameters_read)
            for e in result.evaluations
        ],
        "formulas": (
            result.simulated,
            dict(result.outputs),
            result.declared_outputs,
            result.objective_name,
            result.objective_formula,
            [p.to_data() for p in result.parameters],
        ),
        "history": [
            (g.generation, g.restart, g.evaluations, g.sigma.hex(), g.alpha.hex(), g.d_m.hex())
            for g in result.history
        ],
        "best": (result.x.tobytes(), result.fun.hex()),
        "stop": (result.stop_reason, result.status),
        "nfev": result.nfev,
    }


def assert_same(result: Result, reference: Result) -> None:
    """Compare two runs, with a short message about the first difference."""
    mine, other = trace(result), trace(reference)
    for k, (a, b) in enumerate(zip(mine["calls"], other["calls"], strict=False)):
        assert a == b, f"call {k} differs"
    assert len(mine["calls"]) == len(other["calls"])
    assert mine == other


def finished(journal: Path) -> list[str]:
    """Designs (hexadecimal) of the calls that are in a journal."""
    with reading(journal) as opened:
        return [c.call.x.tobytes().hex() for c in opened.calls()]


@contextlib.contextmanager
def reading(journal: Path) -> Iterator[Journal]:
    opened = Journal.read(journal)
    try:
        yield opened
    finally:
        opened.close()


# -- processes -------------------------------------------------------------------------------


def wait_for(condition: Callable[[], Any], what: str = "it", seconds: float = PATIENCE) -> Any:
    """Poll until a condition holds, and return its value."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        value = condition()
        if value:
            return value
        time.sleep(0.005)
    raise AssertionError(f"{what} did not happen within {seconds:g} s")


def alive(pid: int) -> bool:
    """Whether a process exists and is more than a zombie."""
    try:
        return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


def own_workers() -> list[psutil.Process]:
    """Worker processes of this process, zombies too."""
    found = []
    for child in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.NoSuchProcess):
            command = " ".join(child.cmdline())
            if "archeng.simulator.processes" in command or child.status() == psutil.STATUS_ZOMBIE:
                found.append(child)
    return found


def run_script(script: Path | str, *arguments: Any, **options: Any) -> Any:
    """Run a Python script (or module, as ``-m name``) as its own process to its end."""
    command = script.split() if isinstance(script, str) else [str(script)]
    return subprocess.run(
        [sys.executable, *command, *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=2 * PATIENCE,
        check=False,
        **{"env": environment(), **options},
    )


def environment() -> dict[str, str]:
    """Environment in which archeng and the helpers of tests can be imported from anywhere."""
    path = os.pathsep.join([str(HERE.parents[1]), str(HERE)])
    return {**os.environ, "PYTHONPATH": path, "OPENBLAS_NUM_THREADS": "1"}
