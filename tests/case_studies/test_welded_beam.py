"""The welded beam: formulas, known optimum, runs and the command line."""

from __future__ import annotations

import builtins
import math
import re
import sys

import numpy as np
import pytest

import archeng
from case_studies.welded_beam import KNOWN_COST, KNOWN_DESIGN, FabricationCost, build_model
from case_studies.welded_beam.__main__ import main
from case_studies.welded_beam.simulator import exceeded_limits

NAMES = ("weld thickness", "weld length", "bar height", "bar thickness")
LOWER, UPPER = np.array([0.1, 0.1, 0.1, 0.1]), np.array([2.0, 10.0, 10.0, 2.0])
ACTIVE = [
    "shear stress (psi)",
    "bending stress (psi)",
    "weld not thicker than bar (in)",
    "buckling load (lb)",
]

CALLS = 500
"""Ceiling of simulator calls to get within 0.1 % of the optimum (README: 265 in 25 seeds)."""


def cost(x: np.ndarray) -> float:
    h, l, t, b = x  # noqa: E741
    return 1.10471 * h**2 * l + 0.04811 * t * b * (14.0 + l)


def rows(x: np.ndarray) -> dict[str, float]:
    """The published formulas, in plain Python."""
    h, l, t, b = x  # noqa: E741
    P, L, E, G = 6000.0, 14.0, 30e6, 12e6
    M = P * (L + l / 2)
    R = math.sqrt(l**2 / 4 + ((h + t) / 2) ** 2)
    J = 2 * (math.sqrt(2) * h * l * (l**2 / 12 + ((h + t) / 2) ** 2))
    tau1, tau2 = P / (math.sqrt(2) * h * l), M * R / J
    buckling = 4.013 * E * math.sqrt(t**2 * b**6 / 36) / L**2
    return {
        "shear stress (psi)": math.sqrt(tau1**2 + 2 * tau1 * tau2 * l / (2 * R) + tau2**2),
        "bending stress (psi)": 6 * P * L / (b * t**2),
        "weld not thicker than bar (in)": h - b,
        "material cost ($)": 0.10471 * h**2 + 0.04811 * t * b * (14 + l),
        "least weld thickness (in)": h,
        "end deflection (in)": 4 * P * L**3 / (E * t**3 * b),
        "buckling load (lb)": buckling * (1 - t / (2 * L) * math.sqrt(E / (4 * G))),
    }


def known() -> np.ndarray:
    return np.array([KNOWN_DESIGN[name] for name in NAMES])


def by_name(x: np.ndarray) -> dict[str, float]:
    return dict(zip(NAMES, map(float, x), strict=True))


# -- formulas -----------------------------------------


def test_rows_of_the_model_are_the_published_ones():
    model = build_model()
    points = np.random.default_rng(0).uniform(LOWER, UPPER, (50, 4))
    for x in [known(), *points]:
        table = model.violations(x)
        for name, value in rows(x).items():
            assert table[name].value == pytest.approx(value, rel=1e-12, abs=1e-15)


def test_limits_and_units():
    model = build_model()
    table = model.violations(known())
    limits = {e.name: (e.lower, e.upper) for e in table}
    assert limits["shear stress (psi)"] == (-np.inf, 13600)
    assert limits["bending stress (psi)"] == (-np.inf, 30000)
    assert limits["weld not thicker than bar (in)"] == (-np.inf, 0)
    assert limits["material cost ($)"] == (-np.inf, 5)
    assert limits["least weld thickness (in)"] == (0.125, np.inf)
    assert limits["end deflection (in)"] == (-np.inf, 0.25)
    assert limits["buckling load (lb)"] == (6000, np.inf)
    assert len(table) == 4 + 7
    assert [v.name for v in model.variables] == list(NAMES)
    assert {v.unit for v in model.variables} == {"in"}


def test_the_check_of_the_simulator_agrees_with_the_model():
    model = build_model()
    rng = np.random.default_rng(1)
    # Wide points are nearly all illegal; those around the optimum are so half of the time.
    wide = rng.uniform(LOWER - 0.05, UPPER + 0.5, (400, 4))
    near = known() * rng.uniform(0.99, 1.1, (400, 4))
    legal = 0
    for x in np.concatenate((wide, near)):
        feasible = model.violations(x).maximum == 0
        assert (not exceeded_limits(*x)) == feasible, x
        legal += feasible
    assert 100 < legal < 700


def test_simulator_prices_and_counts():
    simulator = FabricationCost()
    x = known() * [1.0, 1.1, 1.0, 1.1]
    assert simulator(by_name(x)) == pytest.approx(cost(x), rel=1e-14)
    with pytest.raises(ValueError, match="shear stress"):
        simulator(by_name(known() * [1.0, 0.9, 1.0, 1.0]))
    with pytest.raises(ValueError, match="illegal"):
        simulator(by_name(known() * [np.nan, 1.0, 1.0, 1.0]))
    assert (simulator.n_calls, simulator.n_illegal) == (3, 2)


# -- the known optimum -----------------------------------------


def test_known_optimum_is_feasible_to_rounding_and_has_its_cost():
    table = build_model().violations(known())
    for entry in table:
        scale = max(abs(v) for v in (entry.lower, entry.upper, 1.0) if np.isfinite(v))
        assert entry.violation <= 1e-13 * scale, entry
    for name in ACTIVE:
        limit = table[name].upper if np.isfinite(table[name].upper) else table[name].lower
        assert table[name].value == pytest.approx(limit, rel=1e-13, abs=1e-13)
    assert cost(known()) == pytest.approx(KNOWN_COST, rel=1e-14)
    assert FabricationCost()(by_name(known())) == pytest.approx(KNOWN_COST, rel=1e-14)
    # What is printed in the literature.
    np.testing.assert_allclose(known(), [0.205730, 3.470489, 9.036624, 0.205730], atol=5e-7)
    assert pytest.approx(1.724852, abs=5e-7) == KNOWN_COST


def test_known_optimum_satisfies_the_first_order_conditions():
    x = known()

    def scaled(y: np.ndarray) -> np.ndarray:
        values = rows(y)
        return np.array(
            [
                values["shear stress (psi)"] / 13600,
                values["bending stress (psi)"] / 30000,
                values["weld not thicker than bar (in)"],
                -values["buckling load (lb)"] / 6000,
                cost(y),
            ]
        )

    jacobian = np.empty((5, 4))
    for i in range(4):
        step = np.zeros(4)
        step[i] = 1e-6 * x[i]
        jacobian[:, i] = (scaled(x + step) - scaled(x - step)) / (2 * step[i])
    # Four independent active rows in four variables: a vertex. Its multipliers are positive,
    # so every feasible direction makes the beam dearer.
    assert np.linalg.matrix_rank(jacobian[:4]) == 4
    multipliers = np.linalg.solve(jacobian[:4].T, -jacobian[4])
    assert (multipliers > 0.01).all()


# -- runs -----------------------------------------


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_within_a_thousandth_of_the_optimum(seed):
    simulator = FabricationCost()
    result = archeng.solve(
        build_model(), simulator, max_evaluations=CALLS, target=KNOWN_COST * 1.001, seed=seed
    )
    assert result.success
    assert KNOWN_COST * (1 - 1e-12) <= result.fun <= KNOWN_COST * 1.001
    assert result.nfev == simulator.n_calls <= CALLS
    assert result.n_infeasible_calls == simulator.n_illegal == 0
    assert result.fun == pytest.approx(cost(result.x), rel=1e-14)


def test_same_seed_same_run():
    runs = [
        archeng.solve(build_model(), FabricationCost(), max_evaluations=60, seed=7)
        for _ in range(2)
    ]
    points = [np.array([e.x for e in run.evaluations]) for run in runs]
    np.testing.assert_array_equal(points[0], points[1])


# -- the command line -----------------------------------------


def test_command_line(tmp_path, capsys):
    pytest.importorskip("matplotlib")
    path = tmp_path / "new" / "folder" / "beam.png"
    assert main(["--seed", "2", "--max-evaluations", "120", "--figure", str(path)]) == 0
    assert path.read_bytes().startswith(b"\x89PNG\r\n\x1a\n")
    captured = capsys.readouterr()
    found = re.search(r"after (\d+) simulator calls", captured.out)
    assert found is not None
    calls = int(found[1])
    assert 20 <= calls <= 120
    words = (
        "model welded beam: 4 variables, 7 rows",
        "0 of them at infeasible designs",
        *NAMES,
        *ACTIVE,
        "best known cost: 1.724852309 $",
        f"the simulator's own check: {calls} calls, 0 of them at illegal designs",
        f"figure saved to {path}",
    )
    for word in words:
        assert word in captured.out
    assert f"{calls}/120 calls" in captured.err


def test_command_line_quiet(capsys):
    assert main(["--quiet", "--max-evaluations", "20"]) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    assert captured.out.startswith("welded beam: ")
    assert "figure" not in captured.out


def test_command_line_without_matplotlib(tmp_path, capsys, monkeypatch):
    real = builtins.__import__

    def without(name, *args, **kwargs):
        if name.split(".")[0] == "matplotlib":
            raise ImportError("no matplotlib here")
        return real(name, *args, **kwargs)

    for name in [n for n in sys.modules if n.split(".")[0] == "matplotlib"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(builtins, "__import__", without)
    path = tmp_path / "beam.png"
    assert main(["--quiet", "--max-evaluations", "20", "--figure", str(path)]) == 0
    assert "pip install 'archeng[plot]'" in capsys.readouterr().err
    assert not path.exists()


def test_command_line_help_and_mistakes(capsys):
    with pytest.raises(SystemExit) as stop:
        main(["--help"])
    assert stop.value.code == 0
    assert "--max-evaluations" in capsys.readouterr().out
    with pytest.raises(SystemExit) as stop:
        main(["--quiet", "--max-evaluations", "0"])
    assert stop.value.code == 2
    assert "max_evaluations" in capsys.readouterr().err
