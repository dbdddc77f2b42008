"""Other methods on the same model and simulator: penalty, evolution, SLSQP."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import optimize

from archeng import Model
from archeng.model import FeasibleSet, compile_model
from case_studies.shared.referee import Design

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Claim:
    """What a penalty method believes to be its best design.

    Attributes
    ----------
    design : dict
    value : float
        What the simulator returned there.
    violation : float
        Largest violation of a row, relative to its limit.
    """

    design: dict[str, float]
    value: float
    violation: float


def cma_with_penalty(
    model: Model,
    simulator: Callable[[Design], float],
    *,
    weight: float,
    calls: int,
    seed: int,
    failed: float,
    before: Callable[[Design], dict[str, float]] | None = None,
) -> Claim:
    """Minimise f + weight * (sum of squared relative violations) by pycma, as people do.

    Bounds are given to pycma as such; it starts in the middle of the box.

    Parameters
    ----------
    model, simulator
    weight : float
        Of the penalty, in units of f.
    calls, seed : int
    failed : float
        Value of a call that raises.
    before : callable, optional
        Changes a design before rows and simulator see it.
    """
    import cma

    fs = compile_model(model)
    low, high = fs.box()
    scale = limit_sizes(fs)
    rng = np.random.default_rng(seed)
    options = {"bounds": [0, 1], "seed": int(rng.integers(1, 2**31)), "verbose": -9}
    search = cma.CMAEvolutionStrategy([0.5] * fs.n, 0.25, options)
    best, claim, done = np.inf, Claim({}, np.nan, np.nan), 0
    while done < calls:
        points = search.ask()
        values = []
        for u in points[: calls - done]:
            design = named(fs, low + np.clip(u, 0, 1) * (high - low))
            if before is not None:
                design = before(design)
            relative = fs.violations(vector(fs, design)) / scale
            try:
                value = simulator(design)
            except Exception:
                value = failed
            done += 1
            values.append(value + weight * float(relative @ relative))
            if values[-1] < best:
                best, claim = values[-1], Claim(design, value, float(relative.max()))
        if len(values) == len(points):
            search.tell(points, values)
    return claim


class _Enough(BaseException):
    """The budget is used up. Not an ``Exception``, so that nobody catches it on its way."""


def evolution(
    model: Model, simulator: Callable[[Design], float], *, calls: int, seed: int, failed: float
) -> None:
    """Run SciPy's differential evolution, all defaults, until the calls are used up.

    It is given the rows as constraints and calls the simulator at legal designs only. When it
    ends by itself it begins again.
    """
    fs = compile_model(model)
    low, high = fs.box()
    rows = slice(len(fs.bounded), None)
    rule = optimize.NonlinearConstraint(
        lambda x: fs.values(x)[rows], fs.lower[rows], fs.upper[rows]
    )
    done = 0

    def objective(x: Floats) -> float:
        nonlocal done
        if done >= calls:
            raise _Enough
        done += 1
        try:
            return simulator(named(fs, x))
        except Exception:
            return failed

    function = optimize.differential_evolution
    name = "rng" if "rng" in inspect.signature(function).parameters else "seed"
    generator = {name: np.random.default_rng(seed)}
    box = optimize.Bounds(low, high)
    try:
        while True:
            function(objective, box, constraints=rule, polish=False, **generator)
    except _Enough:
        return


def slsqp(
    model: Model,
    simulator: Callable[[Design], float],
    start: Design,
    *,
    failed: float,
    step: float = 1e-5,
) -> tuple[float, dict[str, float]]:
    """Minimise by SciPy's SLSQP with differences of the simulator: value and design.

    It is not held to legal designs on its way. The value is infinite if the design that it ends
    with violates a row by more than 1e-6 of its limit. A call that raises counts as ``failed``.
    """
    fs = compile_model(model)
    low, high = fs.box()
    width = high - low
    rows = slice(len(fs.bounded), None)
    sizes = limit_sizes(fs)
    lower, upper = fs.lower[rows] / sizes[rows], fs.upper[rows] / sizes[rows]
    below, above = np.isfinite(lower), np.isfinite(upper)
    unit = abs(simulator(start))

    def objective(u: Floats) -> float:
        try:
            return simulator(named(fs, low + u * width)) / unit
        except Exception:
            return failed / unit

    def slack(u: Floats) -> Floats:
        values = fs.values(low + u * width)[rows] / sizes[rows]
        return np.concatenate([(values - lower)[below], (upper - values)[above]])

    def slopes(u: Floats) -> Floats:
        jacobian = fs.values_and_jacobian(low + u * width)[1][rows] * width / sizes[rows, None]
        return np.concatenate([jacobian[below], -jacobian[above]])

    end = optimize.minimize(
        objective,
        (vector(fs, start) - low) / width,
        method="SLSQP",
        bounds=[(0.0, 1.0)] * fs.n,
        constraints=[{"type": "ineq", "fun": slack, "jac": slopes}],
        options={"eps": step, "ftol": 1e-11, "maxiter": 200},
    )
    x = low + end.x * width
    legal = (fs.violations(x) <= 1e-6 * sizes).all()
    return float(end.fun) * unit if legal else np.inf, named(fs, x)


def limit_sizes(fs: FeasibleSet) -> Floats:
    """Return what violations are relative to: the larger limit of each row, or 1 if that is 0."""
    limits = np.abs(np.array([fs.lower, fs.upper]))
    sizes = np.where(np.isfinite(limits), limits, 0.0).max(axis=0)
    return np.where(sizes > 0, sizes, 1.0)


def named(fs: FeasibleSet, x: Floats) -> dict[str, float]:
    """Vector to design."""
    return dict(zip(fs.free_names, map(float, x), strict=True))


def vector(fs: FeasibleSet, design: Design) -> Floats:
    """Design to vector."""
    return np.array([design[name] for name in fs.free_names], dtype=float)
