"""The engineering problems: the reference optima cannot be beaten, and archeng finds them."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize, nnls

import archeng
from archeng.model import compile_model
from case_studies.engineering import Problem, names, problem
from case_studies.engineering.beams import square_cantilever_optimum
from case_studies.engineering.optimum import optimum

# Rows that the optimum meets exactly; bounds are called "bounds of ...".
ACTIVE = {
    "welded_beam": {"shear stress (psi)", "bending stress (psi)", "buckling load (lb)",
                    "weld not thicker than bar (in)"},
    "cantilever_square": {"tip deflection over limit"},
    "cantilever_stepped": {*(f"aspect ratio {i} (cm)" for i in range(1, 6)),
                           *(f"bending stress {i} (N/cm2)" for i in (3, 4, 5)),
                           "tip deflection (cm)"},
    "i_beam": {"area (cm2)", "bounds of height", "bounds of flange width",
               "bounds of web thickness"},
    "three_bar_truss": {"stress, near bar (kN/cm2)"},
    "spring": {"deflection over least", "shear stress over limit"},
    "speed_reducer": {"stress in shaft 1 (kgf/cm2)", "stress in shaft 2 (kgf/cm2)",
                      "least face width (cm)", "room on shaft 2 (cm)",
                      "bounds of module of teeth", "bounds of teeth of pinion",
                      "bounds of length of shaft 1"},
    "clutch_brake": {"ring width (mm)", "stopping time (s)", "bounds of outer radius",
                     "bounds of disk thickness", "bounds of actuating force"},
    "pressure_vessel": {"hoop stress in shell (in)", "stress in head (in)", "volume (in3)",
                        "bounds of length"},
    "tubular_column": {"stress (kgf/cm2)", "stress below buckling (kgf/cm2)"},
}  # fmt: skip

# All starts inside the box end at the optimum: there a few starts suffice to find it again.
EASY = [n for n in names() if n not in ("ten_bar_truss", "corrugated_bulkhead", "piston_lever")]


def size_of(lower: float, upper: float) -> float:
    """Larger limit of a row, or one if it has none but zero."""
    return max([abs(v) for v in (lower, upper) if np.isfinite(v) and v != 0], default=1.0)


# -- the reference points -----------------------------------------


@pytest.mark.parametrize("name", names())
def test_optimum_is_feasible_and_has_its_value(name: str) -> None:
    p = problem(name)
    assert p.objective(p.x_opt) == pytest.approx(p.f_opt, rel=1e-14)
    assert np.all((p.lower <= p.x_opt) & (p.x_opt <= p.upper))
    for entry in p.model.violations(p.x_opt):
        assert entry.violation <= 1e-11 * size_of(entry.lower, entry.upper), entry


@pytest.mark.parametrize("name", ACTIVE)
def test_active_rows(name: str) -> None:
    p = problem(name)
    near = {
        e.name
        for e in p.model.violations(p.x_opt)
        if min(abs(e.value - e.lower), abs(e.value - e.upper)) <= 1e-8 * size_of(e.lower, e.upper)
    }
    assert near == ACTIVE[name]


@pytest.mark.parametrize("name", names())
def test_first_order_conditions(name: str) -> None:
    """The slope of the black box is a combination of the active rows with the right signs."""
    p = problem(name)
    feasible = compile_model(p.model)
    box = p.upper - p.lower
    values, jacobian = feasible.values_and_jacobian(p.x_opt)
    normals = []
    for j, row in enumerate(feasible.rows):
        tolerance = 1e-8 * size_of(feasible.lower[j], feasible.upper[j])
        normal = jacobian[j] * box
        normal = normal / np.linalg.norm(normal)
        if row.equality or abs(values[j] - feasible.upper[j]) <= tolerance:
            normals.append(-normal)
        if row.equality or abs(values[j] - feasible.lower[j]) <= tolerance:
            normals.append(normal)
    slope = np.empty(len(box))
    for i in range(len(box)):
        step = np.zeros(len(box))
        step[i] = 1e-6 * max(abs(p.x_opt[i]), 1e-3)
        slope[i] = (p.objective(p.x_opt + step) - p.objective(p.x_opt - step)) / (2 * step[i])
    slope *= box
    _, rest = nnls(np.array(normals).T, slope)
    assert rest <= 1e-6 * np.linalg.norm(slope)


def test_square_cantilever_has_a_closed_form() -> None:
    p = problem("cantilever_square")
    f, x = square_cantilever_optimum()
    assert p.f_opt == pytest.approx(f, rel=1e-14)
    np.testing.assert_allclose(p.x_opt, x, rtol=1e-7)


def test_clutch_brake_by_hand() -> None:
    """Least ring, thinnest disk, greatest force: the stopping time fixes the surfaces."""
    torque = 55 * (np.pi * 250 / 30) / 15 - 3
    mean = 2 / 3 * (90.0**3 - 70.0**3) / (90.0**2 - 70.0**2) / 1000
    surfaces = torque / (0.5 * 1000 * mean)
    mass = np.pi * (90.0**2 - 70.0**2) * 7.8e-6 * (surfaces + 1)
    assert problem("clutch_brake").f_opt == pytest.approx(mass, rel=1e-13)


# -- nothing better is found -----------------------------------------


@pytest.mark.parametrize("name", names())
def test_ipopt_from_random_starts_finds_nothing_better(name: str) -> None:
    p = problem(name)
    found = optimum(name, starts=10, seed=7)
    assert found.converged > 0
    assert found.f >= p.f_opt - 1e-9 * abs(p.f_opt)
    if name in EASY:
        assert found.f == pytest.approx(p.f_opt, rel=1e-10)


def local_search(p: Problem, start: np.ndarray) -> tuple[float, float]:
    """SLSQP on the black box itself: value and largest violation, relative to its limit."""
    feasible = compile_model(p.model)
    scale, reference = np.abs(p.x_opt), abs(p.f_opt)
    size = np.array([size_of(a, b) for a, b in zip(feasible.lower, feasible.upper, strict=True)])
    most, least = np.isfinite(feasible.upper), np.isfinite(feasible.lower)

    def rows(u: np.ndarray) -> np.ndarray:
        values = feasible.values(scale * u)
        above = ((values - feasible.lower) / size)[least]
        return np.concatenate((((feasible.upper - values) / size)[most], above))

    end = minimize(
        lambda u: p.objective(scale * u) / reference,
        start / scale,
        method="SLSQP",
        bounds=list(zip(p.lower / scale, p.upper / scale, strict=True)),
        constraints={"type": "ineq", "fun": rows},
        options={"maxiter": 300, "ftol": 1e-13},
    )
    return end.fun * reference, float(np.max(-rows(end.x)))


@pytest.mark.parametrize("name", names())
def test_slsqp_on_the_black_box_finds_nothing_better_nearby(name: str) -> None:
    p = problem(name)
    rng = np.random.default_rng(11)
    ends = []
    for _ in range(3):
        start = np.clip(p.x_opt * rng.uniform(0.98, 1.02, len(p.x_opt)), p.lower, p.upper)
        f, violation = local_search(p, start)
        if violation <= 1e-8:
            ends.append(f)
            assert f >= p.f_opt - 1e-6 * abs(p.f_opt)
    assert min(ends) == pytest.approx(p.f_opt, rel=1e-4)


# -- archeng -----------------------------------------


@pytest.mark.parametrize(("name", "ceiling"), [("three_bar_truss", 200), ("tubular_column", 200)])
def test_archeng_reaches_the_optimum(name: str, ceiling: int) -> None:
    p, checked = problem(name), problem(name).model
    illegal = []

    def simulator(design: archeng.Design) -> float:
        x = np.asarray(design)
        if checked.violations(x).maximum > 0:
            illegal.append(x)
        return p.objective(x)

    target = p.f_opt + 1e-4 * abs(p.f_opt)
    result = archeng.solve(p.model, simulator, max_evaluations=ceiling, seed=1, target=target)
    assert result.stop_reason is archeng.StopReason.TARGET
    assert p.f_opt * (1 - 1e-10) <= result.fun <= target
    assert result.nfev <= ceiling
    assert result.n_infeasible_calls == 0
    assert illegal == []
