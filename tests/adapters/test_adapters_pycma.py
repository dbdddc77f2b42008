"""ARCH around the real pycma: the promise, known optima, and pycma as it is without constraints."""

from __future__ import annotations

import math
from typing import Any

import cma
import numpy as np
import pygmo
import pytest

import archeng
from archeng.adapters.pycma import Arch, distribution_of, stand_ins
from archeng.errors import InfeasibleModelError, SettingsError, SimulatorError
from case_studies.cec2006 import problem

QUIET = {"verbose": -9, "seed": 3}


class Checked:
    """A problem of CEC 2006, its constraints refereed by pygmo at every call."""

    def __init__(self, name: str) -> None:
        self.problem = problem(name)
        self.referee = pygmo.problem(pygmo.cec2006(prob_id=int(name[1:])))
        self.infeasible = self.calls = 0

    def __call__(self, design: archeng.Design) -> float:
        x = np.asarray(design)
        self.calls += 1
        fitness, n_equal = self.referee.fitness(x), self.referee.get_nec()
        equal = np.abs(fitness[1 : 1 + n_equal]) <= 1e-4
        holds = np.all(equal) and np.all(fitness[1 + n_equal :] <= 0)
        inside = np.all((x >= self.problem.lower) & (x <= self.problem.upper))
        self.infeasible += not (holds and inside)
        return self.problem.objective(x)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["g04", "g05", "g06", "g09", "g11", "g24"])
def test_known_optima_without_infeasible_calls(name: str) -> None:
    simulator = Checked(name)
    arch = Arch.start(simulator.problem.model, QUIET, seed=1)
    best = arch.run(simulator, max_evaluations=2500)
    assert simulator.calls == arch.n_calls > 0
    assert simulator.infeasible == 0
    assert best is not None
    f_opt = simulator.problem.f_opt
    assert best.objective == pytest.approx(f_opt, abs=1e-4 * max(1.0, abs(f_opt)))
    assert simulator.problem.objective(np.asarray(best.design)) == best.objective


def hs71() -> archeng.Model:
    # Hock and Schittkowski, problem 71: optimum 17.0140173.
    model = archeng.Model("hs71")
    x = model.variable("x", shape=4, lower=1, upper=5, start=[1, 5, 5, 1])
    model.subject_to(x[0] * x[1] * x[2] * x[3] >= 25, name="product")
    model.subject_to(x[0] ** 2 + x[1] ** 2 + x[2] ** 2 + x[3] ** 2 == 40, name="sphere")
    return model


def cost(design: archeng.Design) -> float:
    x = design["x"]
    assert np.prod(x) >= 25 - 1e-12
    assert abs(x @ x - 40) <= 2e-6
    return float(x[0] * x[3] * (x[0] + x[1] + x[2]) + x[2])


def test_ask_and_tell_with_an_equality() -> None:
    es = cma.CMAEvolutionStrategy([1, 5, 5, 1], 0.5, QUIET)
    arch = Arch(es, hs71())
    alphas = []
    while not es.stop() and arch.n_calls < 2000:
        designs = arch.ask()
        arch.tell([cost(design) if design else None for design in designs])
        alphas.append(arch.alpha)
    assert arch.best is not None
    assert arch.best.objective == pytest.approx(17.0140173, abs=1e-4)
    assert min(alphas) < 1 < max(alphas)
    assert all(1 / es.popsize <= a <= es.popsize for a in alphas)


def test_a_feasible_mean_lowers_alpha() -> None:
    model = archeng.Model("box")
    model.variable("x", shape=3, lower=-1, upper=1)
    arch = Arch(cma.CMAEvolutionStrategy([0, 0, 0], 0.1, QUIET), model)
    arch.ask()
    assert (arch.d_m, arch.alpha) == (0.0, pytest.approx(math.exp(-1 / 3)))


def test_without_active_constraints_it_is_pycma() -> None:
    model = archeng.Model("wide")
    model.variable("x", shape=4, lower=-1e6, upper=1e6)
    alone = cma.CMAEvolutionStrategy([1, 2, 3, 4], 0.5, QUIET)
    for _ in range(30):
        points = alone.ask()
        alone.tell(points, [cma.ff.elli(x) for x in points])
    es = cma.CMAEvolutionStrategy([1, 2, 3, 4], 0.5, QUIET)
    arch = Arch(es, model)
    for _ in range(30):
        arch.tell([cma.ff.elli(design["x"]) for design in arch.ask()])
    np.testing.assert_array_equal(es.mean, alone.mean)
    assert es.sigma == alone.sigma
    assert es.best.f == alone.best.f


@pytest.mark.parametrize("options", [{}, {"CMA_diagonal": True}, {"CMA_stds": [1, 5, 0.1, 2]}])
def test_the_metric_is_that_of_pycma(options: dict[str, Any]) -> None:
    es = cma.CMAEvolutionStrategy([1, 2, 3, 4], 0.5, {**QUIET, **options})
    for _ in range(20):
        points = es.ask()
        es.tell(points, [cma.ff.elli(x) for x in points])
    points = es.ask()
    distribution = distribution_of(es)
    np.testing.assert_allclose(
        distribution.factor @ distribution.inverse_factor, np.eye(4), atol=1e-9
    )
    for x in points:
        ours = math.sqrt(distribution.distance_squared(x, distribution.mean))
        assert ours == pytest.approx(es.mahalanobis_norm(x - es.mean), rel=1e-9)


def test_stand_ins_sort_by_total_rank() -> None:
    objectives = np.array([3.0, np.nan, 1.0, 1.0, 2.0])
    order = np.array([4, 2, 3, 0, 1])
    values = stand_ins(objectives, order)
    assert np.argsort(values, kind="stable").tolist() == order.tolist()
    np.testing.assert_allclose(np.sort(values), [1, 1, 2, 3, 3], rtol=1e-15)
    assert len(set(values)) == 5
    assert len(set(stand_ins(np.full(4, np.nan), np.arange(4)))) == 4


def test_failing_simulators() -> None:
    def sometimes(design: archeng.Design) -> float:
        value = cost(design)
        if design["x"][0] > 1.2:
            raise RuntimeError("no convergence")
        return value

    arch = Arch(cma.CMAEvolutionStrategy([1, 5, 5, 1], 0.3, QUIET), hs71())
    best = arch.run(sometimes, max_evaluations=1500)
    assert best is not None
    assert best.objective == pytest.approx(17.0140173, abs=1e-3)

    def never(design: archeng.Design) -> float:
        raise RuntimeError("licence server is down")

    arch = Arch(cma.CMAEvolutionStrategy([1, 5, 5, 1], 0.3, QUIET), hs71())
    with pytest.raises(SimulatorError, match="licence server"):
        arch.run(never)


def test_designs_are_simulated_once_and_the_budget_is_kept() -> None:
    model = archeng.Model("corner")
    x = model.variable("x", shape=2, lower=0, upper=1)
    model.subject_to(x[0] + x[1] >= 0.1, name="cut")
    seen: list[bytes] = []

    def simulator(design: archeng.Design) -> float:
        seen.append(design.x.tobytes())
        return float(-design["x"].sum())

    arch = Arch.start(model, QUIET)
    best = arch.run(simulator, max_evaluations=100)
    assert len(seen) == len(set(seen)) == arch.n_calls <= 100
    assert best is not None
    assert best.objective == pytest.approx(-2.0, abs=1e-9)
    assert arch.known(best.design) == best.objective


def test_wrong_uses() -> None:
    model = hs71()
    with pytest.raises(SettingsError, match="must be a cma"):
        Arch(None, model)
    with pytest.raises(SettingsError, match="3 variables, the model has 4"):
        Arch(cma.CMAEvolutionStrategy([1, 2, 3], 1, QUIET), model)
    with pytest.raises(SettingsError, match="bounds"):
        Arch(cma.CMAEvolutionStrategy([1, 2, 3, 4], 1, {**QUIET, "bounds": [0, 9]}), model)
    whole = {**QUIET, "integer_variables": [0]}
    with pytest.raises(SettingsError, match="transform"):
        Arch(cma.CMAEvolutionStrategy([1, 2, 3, 4], 1, whole), model)
    arch = Arch(cma.CMAEvolutionStrategy([1, 2, 3, 4], 1, QUIET), model)
    with pytest.raises(SettingsError, match="without ask"):
        arch.tell([1.0])
    arch.ask()
    with pytest.raises(SettingsError, match="before tell"):
        arch.ask()
    with pytest.raises(SettingsError, match="1 objectives"):
        arch.tell([1.0])


def test_an_empty_set_is_refused() -> None:
    model = archeng.Model("empty")
    x = model.variable("x", shape=2, lower=0, upper=1)
    model.subject_to(x[0] ** 2 + x[1] >= 3, name="too much")
    with pytest.raises(InfeasibleModelError, match="too much"):
        Arch(cma.CMAEvolutionStrategy([0.5, 0.5], 0.3, QUIET), model)


def test_discrete_variables_are_refused() -> None:
    model = archeng.Model()
    model.variable("x", lower=0, upper=1)
    model.integer("bolts", lower=1, upper=4)
    with pytest.raises(SettingsError, match=r"bolts are discrete: use archeng\.solve"):
        Arch.start(model)
    with pytest.raises(SettingsError, match="bolts are discrete"):
        Arch(cma.CMAEvolutionStrategy([0.5, 2], 0.3, {"verbose": -9}), model)
