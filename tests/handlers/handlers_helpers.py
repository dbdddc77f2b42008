"""Handlers by name, small models with known optima, and runs compared bit for bit."""

from __future__ import annotations

import hashlib
from typing import Any, Literal, get_args

import casadi as ca
import numpy as np
from numpy.typing import NDArray

import archeng
from archeng import Design, Model, Result, Settings
from archeng.distribution import Distribution
from archeng.model import compile_model
from archeng.settings import HandlerName

Vector = NDArray[np.float64]

HANDLERS: tuple[HandlerName, ...] = get_args(HandlerName)
OUTSIDE: tuple[HandlerName, ...] = (
    "al",
    "mcr",
    "stochastic-ranking",
    "epsilon-lexicographic",
    "mu-lambda-ach",
)
INSIDE: tuple[HandlerName, ...] = tuple(h for h in HANDLERS if h not in OUTSIDE)
SINGLES: tuple[HandlerName, ...] = ("active-set-es", "one-plus-one-ach")
"""Handlers whose generations have one candidate."""

SearchName = HandlerName | Literal["assisted"]
SEARCHES: tuple[SearchName, ...] = (*HANDLERS, "assisted")
"""The handlers alone, and ARCH with proposals by a model of the objective."""


def settings_of(name: SearchName, **changes: Any) -> Settings:
    """Settings of a handler alone, or the default; those that need it may simulate everywhere.

    ``max_samples`` and ``ranking_probability`` go to the handlers that have them.
    """
    own = {"resampling": "max_samples", "stochastic-ranking": "ranking_probability"}
    values = {key: changes.pop(key) for key in own.values() if key in changes}
    if own.get(name) in values:
        changes["handler_options"] = values
    changes.setdefault("simulator_defined_everywhere", name in OUTSIDE)
    if name == "assisted":
        return Settings(handler="arch", surrogate="auto", **changes)
    return Settings(handler=name, surrogate="none", **changes)


# -- models ----------------------------------------------------------------------------------


def box(n: int, active: int, *, start: float = 3.0, scale: float = 1.0) -> Model:
    """Bounds only; the first ``active`` lower bounds cut off the origin."""
    model = Model("box")
    lower = np.where(np.arange(n) < active, 1.0, -5.0)
    model.variable("x", shape=n, lower=lower, upper=5.0, start=start, scale=scale)
    return model


def box_optimum(n: int, active: int) -> Vector:
    """The point of :func:`box` that is nearest to the origin."""
    return np.where(np.arange(n) < active, 1.0, 0.0)


def wedge() -> Model:
    """Linear rows: the origin is cut off by two of them, which are active at (1, 1, 0)."""
    model = Model("wedge")
    x = model.variable("x", shape=3, lower=-5, upper=5, start=2.0, scale=1.0)
    model.subject_to(2 * x[0] + x[1] >= 3, name="steep")
    model.subject_to(x[0] + 2 * x[1] >= 3, name="flat")
    model.subject_to(x[0] + x[1] + x[2] <= 8, name="slack")
    return model


def lens() -> Model:
    """Nonlinear rows, one of them undefined for x[0] < 0."""
    model = Model("lens")
    x = model.variable("x", shape=2, lower=[-2, -5], upper=5, start=[2.0, 1.0], scale=0.7)
    model.subject_to(ca.sumsqr(x) <= 9, name="disc")
    model.subject_to(ca.sqrt(x[0]) + x[1] >= 1, name="root")
    return model


def circle() -> Model:
    """A nonlinear equality."""
    model = Model("circle")
    x = model.variable("x", shape=3, lower=-3, upper=3, start=1.0, scale=0.5)
    model.subject_to(ca.sumsqr(x) == 3, name="circle", tolerance=1e-4)
    return model


def model_for(handler: SearchName) -> Model:
    """A model whose rows the handler takes, with active limits at the optimum of `bowl`."""
    return box(3, 2) if handler == "ap-bch" else wedge()


# -- objectives ------------------------------------------------------------------------------


def bowl(design: Design) -> float:
    return float(design.x @ design.x)


def upside_down(design: Design) -> float:
    return -bowl(design)


def digest(x: Any) -> int:
    """A number that looks random but only depends on the design."""
    return int.from_bytes(hashlib.sha256(np.asarray(x, dtype=float).tobytes()).digest()[:4], "big")


def fragile(design: Design) -> float:
    """Fail now and then; never at the start of the models above."""
    return float("nan") if digest(design.x) % 6 == 1 else bowl(design)


class Watching:
    """A simulator that evaluates the rows of a model at every design that arrives."""

    def __init__(self, model: Model) -> None:
        self._set = compile_model(model)
        self.violations: list[float] = []

    def __call__(self, design: Design) -> float:
        x = self._set.reduce(design.x)
        self.violations.append(float(self._set.violations(x).max(initial=0.0)))
        return bowl(design)


# -- runs ------------------------------------------------------------------------------------


def solved(handler: SearchName, model: Model | None = None, **options: Any) -> Result:
    """Minimise `bowl`; ``changes`` are those of the settings."""
    settings = settings_of(handler, **options.pop("changes", {}))
    simulator = options.pop("simulator", bowl)
    options = {"seed": 3, "max_evaluations": 60, **options}
    return archeng.solve(model or model_for(handler), simulator, settings=settings, **options)


def trace(result: Result) -> dict[str, Any]:
    """Everything of a run that must be the same, bit for bit."""
    return {
        "calls": [
            (e.index, e.generation, e.restart, e.x.tobytes(), e.objective.hex(), e.status)
            for e in result.evaluations
        ],
        "sampled": [e.sampled.tobytes() for e in result.evaluations],
        "violations": [e.max_violation for e in result.evaluations],
        "history": [
            (g.generation, g.restart, g.evaluations, g.sigma.hex(), g.n_active, g.repairs)
            for g in result.history
        ],
        "best": (result.x.tobytes(), result.fun.hex()),
        "stop": (result.stop_reason, result.status),
    }


def assert_same(one: Result, two: Result) -> None:
    """Compare two runs, with a short message about the first difference."""
    a, b = trace(one), trace(two)
    for k, (left, right) in enumerate(zip(a["calls"], b["calls"], strict=False)):
        assert left == right, f"call {k} differs"
    assert a == b


def designs(result: Result) -> list[bytes]:
    return [e.x.tobytes() for e in result.evaluations]


def isotropic(mean: Any, sigma: float = 1.0) -> Distribution:
    mean = np.asarray(mean, dtype=float)
    return Distribution(mean, sigma, np.eye(len(mean)), np.eye(len(mean)))
