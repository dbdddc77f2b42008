"""The ten-bar truss of the engineering problems, by another method."""

from __future__ import annotations

import numpy as np
import pytest

from case_studies.engineering import problem
from case_studies.engineering.trusses import BARS, DENSITY, LENGTHS, LOADS, NODES, YOUNG


def stiffness_method(areas: np.ndarray, loads: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Stresses and displacements from the 8 x 8 stiffness matrix."""
    direction = (NODES[BARS[:, 1]] - NODES[BARS[:, 0]]) / LENGTHS[:, None]
    strain = np.zeros((10, 12))
    for i, (a, b) in enumerate(BARS):
        strain[i, 2 * a : 2 * a + 2] = -direction[i] / LENGTHS[i]
        strain[i, 2 * b : 2 * b + 2] = direction[i] / LENGTHS[i]
    strain = strain[:, :8]  # nodes 5 and 6 are fixed
    stiffness = strain.T @ np.diag(YOUNG * areas * LENGTHS) @ strain
    u = np.linalg.solve(stiffness, loads)
    return YOUNG * strain @ u, u


@pytest.mark.parametrize(("name", "case"), [("ten_bar_truss", 1), ("ten_bar_truss_2", 2)])
def test_force_method_agrees_with_the_stiffness_method(name: str, case: int) -> None:
    p = problem(name)
    rng = np.random.default_rng(3)
    for areas in [p.x_opt, *rng.uniform(p.lower, p.upper, (20, 10))]:
        stresses, u = stiffness_method(areas, LOADS[case])
        rows = [e.value for e in p.model.violations(areas)][10:]
        np.testing.assert_allclose(rows[:10], stresses, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(rows[10:], u, rtol=1e-9, atol=1e-10)


def test_ten_bar_lengths_and_weight() -> None:
    assert LENGTHS[:6] == pytest.approx([360.0] * 6)
    assert LENGTHS[6:] == pytest.approx([360 * 2**0.5] * 4)
    p = problem("ten_bar_truss")
    assert p.objective(np.ones(10)) == pytest.approx(DENSITY * LENGTHS.sum())
