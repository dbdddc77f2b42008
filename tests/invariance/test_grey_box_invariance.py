"""Runs of models with formulas of outputs: what leaves them as they are, and what does not.

Affine maps of the design space move a run with its models, as long as the outputs are the same;
so do other units of outputs. Increasing maps of a *formula* are other formulas: the search
without models ranks designs only and does not notice, but models know the formula, so that it
matters how it is written. Factors do not; of anything else the optimum is the same, the way there
is not.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import casadi as ca
import numpy as np
import pytest

import archeng
from archeng import Design, Model, Settings, Status
from archeng.distribution import Distribution
from archeng.model import compile_model
from archeng.outcomes import Limits, Outcomes, PastCalls
from archeng.repair import Repairer
from archeng.runner.handlers import make_handler

Floats = np.ndarray
N = 3
LOW, HIGH, START = np.array([-2.0, 0.2, -1]), np.array([3.0, 4, 2]), np.array([1.5, 1.2, 0.7])
EARLY = 13
"""Calls until designs are added for a better geometry: rounding decides which way they go."""
NO_MODELS = Settings(surrogate="none", stop_tests=False)


def plain(value: Any) -> Any:
    return value


def outputs(x: Floats) -> Floats:
    """A residual, another one, a stress."""
    u, v, w = x
    return np.array([u**2 - v + 0.2 * w, np.exp(0.3 * u) - w, (1 + u**2) / (v * (2.5 + w))])


def grey(
    A: Floats | None = None,
    units: Floats | None = None,
    objective: Callable[[Any], Any] = plain,
    row: Callable[[Any], Any] = plain,
    box: bool = True,
) -> tuple[Model, Callable[[Design], dict[str, Floats]]]:
    """A model in y = A x, with outputs in some units, and maps of the objective and of a row."""
    A = np.eye(N) if A is None else A
    units = np.ones(3) if units is None else units
    diagonal = not np.any(A - np.diag(np.diag(A)))
    model = Model("grey")
    bounds = {"lower": A @ LOW, "upper": A @ HIGH} if box and diagonal else {}
    scale = np.linalg.norm(A, axis=1)
    y = model.variable("y", shape=N, start=A @ START, scale=scale, **bounds)
    x = ca.mtimes(ca.DM(np.linalg.inv(A)), y)
    z = model.output("z", shape=3) / ca.DM(units)
    model.subject_to(x[0] + x[1] <= 4, name="explicit")
    if not bounds:
        model.subject_to(x, lower=LOW, upper=HIGH, name="box")
    model.subject_to(row(z[2]) <= row(ca.SX(0.6)), name="stress")
    model.minimize(objective(1 + ca.sumsqr(z[:2]) + 0.1 * ca.sumsqr(x - 1) + 0.5 * z[2]))
    inverse = np.linalg.inv(A)
    return model, lambda design: {"z": units * outputs(inverse @ design.x)}


def calls(
    A: Floats | None = None, seed: int = 1, settings: Settings | None = None, most: int = EARLY,
    **choices: Any,
) -> Floats:  # fmt: skip
    """Designs (k, n) of a run, in x."""
    model, simulator = grey(A, **choices)
    result = archeng.solve(
        model, simulator, seed=seed, max_evaluations=most, settings=settings or Settings()
    )
    if settings is None:
        assert sum(e.repair_kind == "proposed" for e in result.evaluations) >= 5
    assert result.n_infeasible_calls == 0
    X = np.array([e.x for e in result.evaluations])
    return X if A is None else X @ np.linalg.inv(A).T


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_units_of_the_variables(seed: int) -> None:
    A = np.diag([1e3, 1e-2, 7.0])
    np.testing.assert_allclose(calls(A, seed), calls(seed=seed), atol=1e-5)


def played(A: Floats, t: Floats, seed: int, most: int = EARLY) -> Floats:
    """Designs (k, n) of a search in y = A x + t whose initial distribution is mapped, too."""
    model, inverse = Model("mapped"), np.linalg.inv(A)
    y = model.variable("y", shape=N, start=A @ START + t)
    x = ca.mtimes(ca.DM(inverse), y - ca.DM(t))
    z = model.output("z", shape=3)
    model.subject_to(x, lower=LOW, upper=HIGH, name="box")
    model.subject_to(z[2] <= 0.6, name="stress")
    model.minimize(1 + ca.sumsqr(z[:2]) + 0.1 * ca.sumsqr(x - 1) + 0.5 * ca.fmax(z[2], z[1]))
    fs = compile_model(model)
    assert fs.formulas is not None
    F = 0.5 * np.eye(N) + 0.2 * np.diag((-1.0) ** np.arange(N - 1), k=1)
    start = Distribution(A @ START + t, 0.8, A @ F, np.linalg.inv(A @ F))
    repairer = Repairer(fs, Settings())
    limits = Limits(("stress",), np.array([-np.inf]), np.array([0.6]))
    handler = make_handler(repairer, repairer, Settings(), start, limits)
    search, rng = handler.init(start, start.mean, None), np.random.default_rng(seed)
    past = PastCalls(np.zeros((0, N)), np.zeros(0), np.zeros((0, 1)), np.zeros((0, 3)))
    proposed = 0
    while len(past) < most:
        search, population = handler.ask(search, rng, past)
        new = np.array([r.x for r in population.repairs])
        Z = np.array([outputs(inverse @ (x - t)) for x in new])
        values = fs.formulas.at_all(new, Z)
        past = PastCalls(
            np.concatenate((past.points, new)),
            np.append(past.objectives, values[:, 0]),
            np.concatenate((past.simulated, values[:, 1:])),
            np.concatenate((past.outputs, Z)),
        )
        search = handler.tell(search, population, Outcomes(values[:, 0], values[:, 1:]), past, rng)
        proposed += population.proposed
    assert proposed >= 3
    return (past.points[:most] - t) @ inverse.T


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_maps_that_mix_variables(seed: int) -> None:
    rng = np.random.default_rng(8)
    A, t = rng.standard_normal((N, N)) + 2 * np.eye(N), rng.standard_normal(N)
    one, two = played(np.eye(N), np.zeros(N), seed), played(A, t, seed)
    np.testing.assert_allclose(two, one, atol=1e-5)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_units_and_signs_of_the_outputs(seed: int) -> None:
    """A pressure in Pa or in bar, a force one way or the other."""
    units = np.array([1e5, -1e-3, 20.0])
    np.testing.assert_allclose(calls(units=units, seed=seed), calls(seed=seed), atol=1e-5)


@pytest.mark.parametrize("seed", [1, 2])
def test_factors_of_formulas(seed: int) -> None:
    """Objective and row in other units."""
    one = calls(seed=seed)
    two = calls(seed=seed, objective=lambda f: 1e4 * f, row=lambda c: 1e-3 * c)
    np.testing.assert_allclose(two, one, atol=1e-5)


@pytest.mark.parametrize("most", [EARLY, 45])
def test_the_same_seed_is_the_same_run(most: int) -> None:
    np.testing.assert_array_equal(calls(most=most), calls(most=most))
    assert not np.array_equal(calls(seed=1), calls(seed=2))


INCREASING: dict[str, Callable[[Any], Any]] = {
    "exp": lambda v: ca.exp(v / 10),
    "cube": lambda v: (v + 1) ** 3,
    "affine": lambda v: 4 * v - 100,
}


@pytest.mark.parametrize("name", INCREASING)
def test_without_models_increasing_maps_of_formulas_do_not_change_a_bit(name: str) -> None:
    """Designs are compared by objective, and by whether and how they violate one limit."""
    one = calls(settings=NO_MODELS, most=80)
    two = calls(settings=NO_MODELS, most=80, objective=INCREASING[name])
    np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize("name", INCREASING)
def test_with_models_the_end_is_the_same(name: str) -> None:
    """The formula of the objective is another one, and so is the way; its optimum is not."""
    ends = []
    for choice in (plain, INCREASING[name]):
        model, simulator = grey(objective=choice, row=choice)
        result = archeng.solve(model, simulator, seed=3, max_evaluations=200)
        assert result.status is Status.CONVERGED
        ends.append(result.x)
    np.testing.assert_allclose(ends[1], ends[0], atol=3e-3)
