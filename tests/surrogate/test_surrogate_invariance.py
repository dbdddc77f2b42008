"""Affine maps of the design space move whole runs with a model of the objective."""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca
import numpy as np
import pytest

import archeng
from archeng import Model, Settings
from archeng.distribution import Distribution, Floats
from archeng.model import compile_model
from archeng.outcomes import Outcomes, PastCalls
from archeng.repair import Repairer
from archeng.runner.handlers import make_handler
from archeng.surrogate.trust import ProposalKind

ELSEWHERE = (ProposalKind.LEAP, ProposalKind.WANDER)


@dataclass(frozen=True)
class Call:
    """A design in the original coordinates, and how it came about."""

    x: Floats
    proposed: bool
    kind: ProposalKind


def objective(x: Floats) -> float:
    """Far from quadratic, so that the run does not end at once."""
    return float(np.sum(30 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2) + np.exp(0.5 * x[2]))


def played(A: Floats, t: Floats, calls: int, seed: int, mixed: float = 0.2) -> list[Call]:
    """Calls of a search in y = A x + t; in x its metric is diagonal if ``mixed`` is zero."""
    n, inverse = len(t), np.linalg.inv(A)
    start = A @ np.linspace(1.6, 0.7, n) + t
    model = Model("mapped")
    y = model.variable("y", shape=n, start=start, scale=np.linalg.norm(A, axis=1))
    x = ca.mtimes(ca.DM(inverse), y - ca.DM(t))
    model.subject_to(2 * x[0] + x[1] >= 2, name="steep")
    model.subject_to(x[0] + 2 * x[1] >= 2, name="flat")
    model.subject_to(ca.sumsqr(x) <= 4 * n, name="ball")
    settings = Settings()
    repairer = Repairer(compile_model(model), settings)
    F = 0.5 * np.eye(n) + mixed * np.diag((-1.0) ** np.arange(n - 1), k=1)
    distribution = Distribution(start, 0.8, A @ F, np.linalg.inv(A @ F))
    handler = make_handler(repairer, repairer, settings, distribution)
    search, rng = handler.init(distribution, start, None), np.random.default_rng(seed)
    points, values, result = np.zeros((0, n)), np.zeros(0), []
    while len(values) < calls:
        search, population = handler.ask(search, rng, PastCalls(points, values))
        mode = search.trust.kind
        new = np.array([r.x for r in population.repairs])
        back = (new - t) @ inverse.T
        objectives = np.array([objective(x) for x in back])
        points, values = np.concatenate((points, new)), np.append(values, objectives)
        known = PastCalls(points, values)
        search = handler.tell(search, population, Outcomes(objectives), known, rng)
        result += [Call(x, population.proposed, mode) for x in back]
    return result[:calls]


def assert_near(one: list[Call], two: list[Call]) -> None:
    for k, (a, b) in enumerate(zip(one, two, strict=True)):
        np.testing.assert_allclose(b.x, a.x, atol=1e-5, err_msg=f"call {k}")
        assert (a.proposed, a.kind) == (b.proposed, b.kind)


def units(n: int) -> tuple[Floats, Floats]:
    """Other units of the variables, and another origin."""
    factors = np.resize([1e3, 1e-2, 7.0], n)
    return np.diag(factors), factors * np.linspace(1, -2, n)


def mixing(n: int) -> tuple[Floats, Floats]:
    rng = np.random.default_rng(8)
    return rng.standard_normal((n, n)) + 2 * np.eye(n), rng.standard_normal(n)


LONG = pytest.param(3, 25)
sizes = pytest.mark.parametrize(("n", "calls"), [(3, 10), (6, 27), LONG])


@sizes
@pytest.mark.parametrize("seed", [1, 2])
def test_units_of_the_variables(n: int, calls: int, seed: int) -> None:
    one = played(np.eye(n), np.zeros(n), calls, seed)
    assert sum(c.proposed for c in one) >= 3
    assert_near(one, played(*units(n), calls, seed))


@sizes
@pytest.mark.parametrize("seed", [1, 2])
def test_maps_that_mix_variables(n: int, calls: int, seed: int) -> None:
    """Until the first look elsewhere: the designs that it begins at are those of the box."""
    one, two = played(np.eye(n), np.zeros(n), calls, seed), played(*mixing(n), calls, seed)
    away = next((k for k, c in enumerate(one) if c.proposed and c.kind in ELSEWHERE), len(one))
    assert sum(c.proposed for c in one[:away]) >= 3
    assert_near(one[:away], two[:away])


def test_a_metric_that_is_diagonal_in_one_system_only() -> None:
    """Models in many variables have a diagonal frame in one run, and a full one in the other."""
    n, calls = 20, 36
    one = played(np.eye(n), np.zeros(n), calls, 3, mixed=0.0)
    two = played(*mixing(n), calls, 3, mixed=0.0)
    away = next((k for k, c in enumerate(one) if c.proposed and c.kind in ELSEWHERE), len(one))
    assert sum(c.proposed for c in one[:away]) >= 10
    assert_near(one[:away], two[:away])


@pytest.mark.parametrize("seed", [9, 10])
def test_units_through_the_public_interface(seed: int) -> None:
    def calls(units: Floats) -> Floats:
        model = Model("units")
        low, high = np.array([0.0, 0.1, -1, 0, 0]), np.array([4.0, 2, 3, 2, 2])
        y = model.variable("y", shape=5, lower=units * low, upper=units * high)
        x = y / ca.DM(units)
        model.subject_to(x[0] * x[1] >= 0.5, name="product")
        model.subject_to(x[0] + x[1] + x[2] ** 2 <= 5, name="sum")
        result = archeng.solve(
            model, lambda d: objective(d.x / units), seed=seed, max_evaluations=21
        )
        assert sum(e.repair_kind == "proposed" for e in result.evaluations) >= 3
        return np.array([e.x / units for e in result.evaluations])

    other = np.array([2.54, 1e4, 1e-3, 1e2, 0.7])
    np.testing.assert_allclose(calls(other), calls(np.ones(5)), atol=1e-5)
