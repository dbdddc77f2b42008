"""Whole runs over mixed designs: the optimum, every call legal, no call twice, true claims."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import archeng
from archeng import Model, Settings

THICKNESSES = [0.0625 * k for k in range(1, 100)]


def vessel() -> Model:
    """A pressure vessel of plates that are multiples of a sixteenth of an inch."""
    model = Model("pressure vessel")
    shell, head = (model.choice(name, THICKNESSES, unit="in") for name in ("shell", "head"))
    r = model.variable("radius", lower=10, upper=200, unit="in")
    length = model.variable("length", lower=10, upper=200, unit="in")
    model.subject_to(shell >= 0.0193 * r, name="hoop stress")
    model.subject_to(head >= 0.00954 * r, name="head stress")
    volume = 3.141592653589793 * (r**2 * length + 4 * r**3 / 3)
    model.subject_to(volume >= 1296000, name="volume")
    return model


def vessel_cost(s: float, h: float, r: float, length: float) -> float:
    return 0.6224 * s * r * length + 1.7781 * h * r**2 + 3.1661 * s**2 * length + 19.84 * s**2 * r


def legal(s: float, h: float, r: float, length: float) -> bool:
    volume = np.pi * (r**2 * length + 4 * r**3 / 3)
    listed = all(k / 0.0625 == round(k / 0.0625) and 0.0625 <= k <= 6.1875 for k in (s, h))
    return bool(
        listed
        and s >= 0.0193 * r
        and h >= 0.00954 * r
        and volume >= 1296000 * (1 - 1e-12)
        and 10 <= r <= 200
        and 10 <= length <= 200
    )


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
def test_the_pressure_vessel_in_tens_of_calls(seed: int) -> None:
    calls: list[tuple[float, ...]] = []

    def simulator(design: Any) -> float:
        calls.append(tuple(np.asarray(design).tolist()))
        return vessel_cost(*calls[-1])

    result = archeng.solve(vessel(), simulator, seed=seed, max_evaluations=150)
    assert result.fun == pytest.approx(6059.714335, rel=1e-6)
    assert all(legal(*call) for call in calls)
    assert len(set(calls)) == len(calls) <= 70
    assert result.stop_reason is archeng.StopReason.CONVERGED
    assert result.status is archeng.Status.CONVERGED
    assert result.design["shell"] == 0.8125
    assert result.optimality is not None
    around = result.optimality.neighbours
    assert around is not None
    assert around.open == 0
    assert around.simulated + around.infeasible + around.predicted > 4
    assert "neighbours" in str(result)


def knapsack() -> tuple[Model, np.ndarray[Any, Any]]:
    """Ten binaries, nothing continuous: what a black box is worth, within a weight."""
    model = Model("knapsack")
    take = model.binary("take", shape=10)
    weights = np.array([7, 2, 9, 4, 6, 3, 8, 5, 1, 7])
    model.subject_to(sum(int(w) * take[i] for i, w in enumerate(weights)) <= 25, name="weight")
    return model, weights


def worth(z: np.ndarray[Any, Any]) -> float:
    values = np.array([10, 3, 14, 6, 7, 5, 11, 6, 2, 12])
    return float(values @ z + 3 * z[0] * z[3] - 4 * z[2] * z[9])


def test_a_purely_discrete_model_ends_at_its_optimum() -> None:
    model, weights = knapsack()
    calls: list[tuple[int, ...]] = []

    def simulator(design: Any) -> float:
        calls.append(tuple(design["take"].tolist()))
        return worth(design["take"])

    result = archeng.solve(model, simulator, sense="maximize", seed=0, max_evaluations=150)
    every = [np.array(z) for z in itertools.product((0, 1), repeat=10)]
    best = max(worth(z) for z in every if weights @ z <= 25)
    assert result.fun == best
    assert all(weights @ np.array(z) <= 25 for z in calls)
    assert len(set(calls)) == len(calls) < 100
    assert result.success


def categories() -> Model:
    """Nothing but categories."""
    model = Model("recipe")
    for name in ("base", "glue", "coat"):
        model.category(name, {f"{name} {k}": {"strength": (3 * k) % 5} for k in range(5)})
    return model


def test_a_model_of_categories_alone() -> None:
    def simulator(design: Any) -> float:
        base, glue, coat = (int(str(design[name])[-1]) for name in ("base", "glue", "coat"))
        return (base - 3) ** 2 + (glue - 1) ** 2 + abs(coat - base) + 0.5 * (glue == coat)

    result = archeng.solve(categories(), simulator, seed=1, max_evaluations=90)
    assert result.fun == 0.0
    assert result.design["base"] == "base 3"
    assert result.design["coat"]["strength"] == 4


def test_simulated_constraints_with_a_catalogue() -> None:
    pipes = [{"name": f"DN{d}", "d": d / 1000, "price": d**1.4} for d in (80, 100, 150, 200, 300)]
    model = Model("pipes")
    pipe = model.catalogue("pipe", pipes, shape=3)
    loss = model.output("loss", shape=3, unit="m")
    model.subject_to(loss <= 8, name="losses")
    model.minimize(pipe["price"][0] + 2 * pipe["price"][1] + pipe["price"][2], name="cost")

    def losses(d: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        return np.cumsum(np.array([0.06, 0.04, 0.02]) ** 1.85 / d**4.87) * 10.67 / 130**1.85 * 900

    seen = []

    def simulator(design: Any) -> dict[str, Any]:
        seen.append(tuple(map(str, design["pipe"])))
        return {"loss": losses(np.array([row["d"] for row in design["pipe"]]))}

    result = archeng.solve(model, simulator, seed=0, max_evaluations=80)
    best = np.inf
    for rows in itertools.product(pipes, repeat=3):
        if losses(np.array([row["d"] for row in rows])).max() <= 8:
            p = [row["price"] for row in rows]
            best = min(best, p[0] + 2 * p[1] + p[2])
    assert np.isfinite(best)
    assert result.fun == pytest.approx(best)
    assert result.success
    assert len(set(seen)) == len(seen) <= 60


@pytest.mark.slow
def test_a_run_without_models_stays_on_the_lattice() -> None:
    calls: list[tuple[float, ...]] = []

    def simulator(design: Any) -> float:
        calls.append(tuple(np.asarray(design).tolist()))
        return vessel_cost(*calls[-1])

    settings = Settings(surrogate="none")
    archeng.solve(vessel(), simulator, seed=1, max_evaluations=64, settings=settings)
    assert all(legal(*call) for call in calls)
    assert min(vessel_cost(*call) for call in calls) < 7500


@pytest.mark.slow
def test_proposals_for_idle_workers_are_different_designs() -> None:
    calls: list[tuple[float, ...]] = []

    def simulator(design: Any) -> float:
        calls.append(tuple(np.asarray(design).tolist()))
        return vessel_cost(*calls[-1])

    settings = Settings(proposals=3)
    result = archeng.solve(vessel(), simulator, seed=0, max_evaluations=120, settings=settings)
    assert len(set(calls)) == len(calls)
    assert result.fun == pytest.approx(6059.714335, rel=1e-4)


@pytest.mark.parametrize("seed", range(4))
def test_a_level_that_no_call_has_is_not_predicted(seed: int) -> None:
    """Most designs have y = 0, and models of these know nothing of y = 1, which is better."""
    model = Model("one of two")
    x = model.variable("x", lower=0.5, upper=1.5)
    y = model.binary("y")
    model.subject_to(x >= 1.3 * y, name="room")
    result = archeng.solve(
        model, lambda d: d["x"] ** 2 - 2.5 * d["y"], seed=seed, start={"x": 0.6, "y": 0}
    )
    assert result.success
    assert result.design["y"] == 1
    assert result.fun == pytest.approx(1.3**2 - 2.5, abs=1e-5)
