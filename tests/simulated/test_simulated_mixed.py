"""CEC 2006 problems with half of their constraints simulated: nothing is lost, nothing is added."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from archeng import Design
from archeng.model import FeasibleSet, compile_model
from case_studies.cec2006 import EQUALITY_TOLERANCE, problem
from case_studies.mixed.problems import NAMES, half_simulated


def named(fs: FeasibleSet, x: NDArray[np.float64]) -> dict[str, float]:
    """Constraints that are no bounds, by name."""
    values = zip(fs.rows, fs.values(fs.reduce(x)), strict=True)
    return {row.name: float(value) for row, value in values if row.name[0] in "gh"}


@pytest.mark.parametrize("name", NAMES)
def test_explicit_and_simulated_rows_are_those_of_the_problem(name: str) -> None:
    whole = problem(name)
    model, simulator, _ = half_simulated(name)
    fs, together = compile_model(model), compile_model(whole.model)
    rng = np.random.default_rng(3)
    for _ in range(5):
        x = rng.uniform(whole.lower, whole.upper)
        expected, explicit = named(together, x), named(fs, x)
        answer = simulator(Design(fs.variables, x))
        assert answer.objective == pytest.approx(whole.objective(x), rel=1e-12)
        simulated = dict(answer.constraints)
        assert not set(explicit) & set(simulated)
        assert set(explicit) | set(simulated) == set(expected)
        assert abs(len(explicit) - len(simulated)) <= 1
        for row, value in (explicit | simulated).items():
            size = max(1.0, abs(expected[row]))
            assert value == pytest.approx(expected[row], abs=1e-9 * size), row


@pytest.mark.parametrize("name", NAMES)
def test_limits_are_those_of_the_report(name: str) -> None:
    model, simulator, limits = half_simulated(name)
    assert tuple(limits) == simulator.rows
    assert len(limits) > 0
    for row, (low, high) in limits.items():
        if row.startswith("h"):
            assert (low, high) == (-EQUALITY_TOLERANCE, EQUALITY_TOLERANCE)
        else:
            assert (low, high) == (None, 0.0)
    fs = compile_model(model)
    for row, low, high in zip(fs.rows, fs.lower, fs.upper, strict=True):
        if row.name.startswith("h"):
            assert (low, high) == (-EQUALITY_TOLERANCE, EQUALITY_TOLERANCE)
        elif row.name.startswith("g"):
            assert (low, high) == (-np.inf, 0.0)


@pytest.mark.parametrize("name", NAMES)
def test_the_known_optimum_satisfies_all(name: str) -> None:
    whole = problem(name)
    model, simulator, limits = half_simulated(name)
    fs = compile_model(model)
    x = np.asarray(whole.x_opt, dtype=float)
    answer = simulator(Design(fs.variables, x))
    assert answer.objective == pytest.approx(whole.f_opt, rel=1e-6)
    assert fs.violations(fs.reduce(x)).max() <= 1e-6
    for row, (low, high) in limits.items():
        value = answer.constraints[row]
        assert low is None or value >= low - 1e-6
        assert high is None or value <= high + 1e-6
