"""The wind farm: simulator against published figures, model against numpy, runs, command line."""

from __future__ import annotations

import json
import pickle
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest
from study_commands import is_picture, refused, run_twice

import archeng
from case_studies.wind_farm import (
    MinusAnnualEnergy,
    annual_energy,
    build_model,
    is_feasible,
    scenario,
)
from case_studies.wind_farm.__main__ import main
from case_studies.wind_farm.model import pairs
from case_studies.wind_farm.published import TURBINES
from case_studies.wind_farm.report import published_table
from case_studies.wind_farm.study import METHODS, Record, improvements, run_seed, setup_for

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]


def submitted(participant: int):
    return next(s for s in scenario(16).submissions if s.participant == participant)


def moved_inside(x: np.ndarray, y: np.ndarray, radius: float) -> tuple[np.ndarray, np.ndarray]:
    """Turbines on or outside the circle, moved to R - 1e-6 m."""
    factor = np.minimum(1.0, (radius - 1e-6) / np.hypot(x, y))
    return x * factor, y * factor


def random_layouts(turbines: int, k: int, seed: int) -> np.ndarray:
    """Layouts (k, 2, turbines) on both sides of the constraints."""
    farm = scenario(turbines)
    rng = np.random.default_rng(seed)
    rings = np.sqrt((np.arange(turbines) + 0.5) / turbines) * farm.radius_m
    angles = np.arange(turbines) * np.pi * (3 - np.sqrt(5))  # a spiral, well spread
    spread = np.stack((rings * np.cos(angles), rings * np.sin(angles)))
    steps = rng.choice([1.0, 30.0, 300.0], (k, 1, 1)) * rng.standard_normal((k, 2, turbines))
    return spread + steps


# -- published figures -----------------------------------------


@pytest.mark.parametrize("turbines", TURBINES)
def test_simulator_reproduces_the_baseline(turbines):
    from py_wake.examples.data.iea37._iea37 import IEA37Site

    x, y = IEA37Site(turbines).initial_position.T
    farm = scenario(turbines)
    assert annual_energy(x, y) == pytest.approx(farm.baseline_aep_mwh, rel=1e-9)
    apart = annual_energy(1e6 * np.arange(turbines), 1e5 * np.arange(turbines) ** 2)
    assert apart == pytest.approx(farm.no_wakes_aep_mwh, rel=1e-6)


@pytest.mark.parametrize("participant", [3, 4, 12])
def test_simulator_reproduces_the_participants(participant):
    s = submitted(participant)
    x, y = np.array(s.x_m), np.array(s.y_m)
    assert annual_energy(x, y) == pytest.approx(s.aep_mwh, rel=1e-9)
    assert np.hypot(x, y).max() - 1300 == pytest.approx(s.boundary_excess_m, abs=1e-6)
    assert not s.strictly_feasible
    assert not is_feasible(x, y, 16)
    inside = moved_inside(x, y, 1300)
    assert is_feasible(*inside, 16)
    assert annual_energy(*inside) == pytest.approx(s.inside_aep_mwh, abs=1e-3)


def test_published_figures():
    farm = scenario(16)
    assert farm.best(gradient=False).aep_mwh == pytest.approx(402318.8, abs=0.05)
    assert farm.best(gradient=True).aep_mwh == pytest.approx(418924.4, abs=0.05)
    for turbines in TURBINES:
        energies = [s.aep_mwh for s in scenario(turbines).submissions]
        assert len(energies) == 12
        assert energies == sorted(energies, reverse=True)
        assert scenario(turbines).baseline_aep_mwh < energies[-1]
    with pytest.raises(ValueError, match="17"):
        scenario(17)


def test_tables_say_what_is_wrong_with_a_layout():
    farm = scenario(36)
    record = Record(
        seed=1,
        curve=[(1, 8e5)],
        aep_mwh=8e5,
        searches_mwh=[8e5],
        calls=10,
        infeasible_calls=0,
        seconds=1.0,
        simulator_seconds=0.5,
        x_m=[],
        y_m=[],
    )
    table = published_table(farm, [record])
    assert "| 12, method not given |  | 882,383.3 | +19.58 % | no: 0.0049 m outside |" in table
    assert "| no: spacing 94 m short | 820,394.2 (spacing violated) |" in table
    assert table.index("fmincon") < table.index("**archeng") < table.index("Genetic")


# -- the model -----------------------------------------


@pytest.mark.parametrize("turbines", TURBINES)
def test_rows_are_the_squared_distances(turbines):
    model, farm = build_model(turbines), scenario(turbines)
    rows = turbines + turbines * (turbines - 1) // 2
    assert repr(model) == (
        f"<archeng.Model 'wind farm, {turbines} turbines': {2 * turbines} variables, {rows} rows>"
    )
    x, y = random_layouts(turbines, 1, seed=1)[0]
    table = model.violations({"x": x, "y": y})
    for k in range(turbines):
        entry = table[f"boundary[{k}]"]
        assert entry.value == pytest.approx(x[k] ** 2 + y[k] ** 2, rel=1e-13)
        assert (entry.lower, entry.upper) == (-np.inf, farm.radius_m**2)
    for k, (i, j) in enumerate(pairs(turbines)):
        entry = table[f"spacing[{k}]"]
        assert entry.value == pytest.approx((x[i] - x[j]) ** 2 + (y[i] - y[j]) ** 2, rel=1e-13)
        assert (entry.lower, entry.upper) == (260.0**2, np.inf)


def test_the_judge_agrees_with_the_model():
    model = build_model(16)
    legal = 0
    for x, y in random_layouts(16, 200, seed=2):
        feasible = model.violations({"x": x, "y": y}).maximum == 0
        assert is_feasible(x, y, 16) == feasible
        legal += feasible
    assert 20 < legal < 180


def test_the_judge_has_no_tolerance():
    x, y = random_layouts(16, 1, seed=3)[0] * 0.5
    x[:2], y[:2] = (1300.0, 1040.0), (0.0, 0.0)
    for k in range(2, 16):  # the others on a circle of their own
        x[k], y[k] = 700 * np.cos(k * np.pi / 8), 700 * np.sin(k * np.pi / 8)
    assert is_feasible(x, y, 16)
    assert not is_feasible(np.where(x == 1300, np.nextafter(1300, 2000), x), y, 16)
    assert not is_feasible(np.where(x == 1040, np.nextafter(1040, 2000), x), y, 16)


# -- the simulator -----------------------------------------


def test_simulator_counts_and_can_be_pickled():
    simulator = MinusAnnualEnergy(16)
    s = submitted(4)
    inside = dict(zip(("x", "y"), moved_inside(*np.array([s.x_m, s.y_m]), 1300), strict=True))
    assert simulator({"x": s.x_m, "y": s.y_m}) == pytest.approx(-s.aep_mwh, rel=1e-9)
    assert simulator(inside) == -annual_energy(**inside)
    assert (simulator.n_calls, simulator.n_infeasible) == (2, 1)
    copy = pickle.loads(pickle.dumps(simulator))
    assert copy(inside) == simulator(inside)
    assert (copy.n_calls, copy.n_infeasible) == (3, 1)


# -- runs -----------------------------------------


def recorded_file(turbines, method):
    name = f"{turbines}" if method == METHODS[0] else f"{turbines}_{method}"
    return ROOT / f"docs/benchmarks/wind_farm_{name}.json"


def setup_of(data):
    """Return the set-up of a record; those of ARCH are older than the other method."""
    return {"method": "arch"} | data["setup"]


def test_one_seed_of_relocation():
    setup = setup_for(16, calls=560)  # the model begins at 512
    record = run_seed(setup, 1)
    assert setup.calls - 8 < record.calls <= setup.calls
    assert record.infeasible_calls == 0
    assert is_feasible(record.x_m, record.y_m, 16)
    assert annual_energy(record.x_m, record.y_m) == pytest.approx(record.aep_mwh, rel=1e-12)
    early = max(energy for calls, energy in record.curve if calls <= 512)
    assert record.aep_mwh > early > record.curve[0][1] + 5000


def test_a_short_run_improves_without_infeasible_calls():
    simulator = MinusAnnualEnergy(16)
    plain = archeng.Settings(surrogate="none")
    result = archeng.solve(
        build_model(16), simulator, max_evaluations=100, sigma=100.0, seed=1, settings=plain
    )
    assert result.nfev == simulator.n_calls == 100
    assert result.n_infeasible_calls == simulator.n_infeasible == 0
    assert all(is_feasible(*e.x.reshape(2, 16), 16) for e in result.evaluations)
    first = max(-e.objective for e in result.evaluations[:10])
    assert -result.fun > first + 5000
    assert -result.fun == pytest.approx(annual_energy(*result.x.reshape(2, 16)), rel=1e-12)


def test_one_seed_of_the_study():
    setup = replace(setup_for(16, calls=150, method="arch"), searches=3, first_calls=30)
    seen = []
    record = run_seed(setup, 2, lambda calls, best: seen.append((calls, best)))
    assert (record.calls, record.infeasible_calls) == (140, 0)  # 3 * 2 generations, then 4
    assert [calls for calls, _ in seen] == list(range(14, 141, 14))
    assert len(record.searches_mwh) == 3
    assert record.aep_mwh >= max(record.searches_mwh) == seen[5][1]
    assert seen[-1][1] == record.aep_mwh
    assert is_feasible(record.x_m, record.y_m, 16)
    assert annual_energy(record.x_m, record.y_m) == pytest.approx(record.aep_mwh, rel=1e-12)
    assert record.curve[-1][1] == record.aep_mwh
    assert 0 < record.simulator_seconds < record.seconds
    assert Record.from_data(json.loads(json.dumps(record.__dict__))) == record


@pytest.mark.parametrize("method", METHODS)
def test_the_command_begins_as_the_recorded_seeds_did(method):
    """The record was made by this set-up: starts, seeds and steps of the first generation."""
    first = setup_for(16, method=method).population_size
    setup = replace(setup_for(16, method=method), calls=first, first_calls=first)
    data = json.loads(recorded_file(16, method).read_text())
    assert setup_of(data) == asdict(setup_for(16, method=method))
    recorded = next(Record.from_data(r) for r in data["seeds"] if r["seed"] == 1)
    record = run_seed(setup, 1)
    steps, expected = ([s for s in r.curve if s[0] <= first] for r in (record, recorded))
    assert len(expected) >= 2
    assert [c for c, _ in steps] == [c for c, _ in expected]
    assert [e for _, e in steps] == pytest.approx([e for _, e in expected], rel=1e-9)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("turbines", TURBINES)
def test_recorded_layouts_are_what_the_record_says(turbines, method):
    path = recorded_file(turbines, method)
    if not path.exists():
        pytest.skip("this size has no record of this method")
    data = json.loads(path.read_text())
    assert setup_of(data) == asdict(setup_for(turbines, data["setup"]["calls"], method))
    for record in map(Record.from_data, data["seeds"]):
        assert is_feasible(record.x_m, record.y_m, turbines)
        assert annual_energy(record.x_m, record.y_m) == pytest.approx(record.aep_mwh, rel=1e-9)
        assert record.infeasible_calls == 0
        assert record.calls <= data["setup"]["calls"]
        assert len(record.searches_mwh) == data["setup"]["searches"]


def test_curves_keep_what_matters():
    energies = [100.0, 90.0, 100.001, 100.003, 100.0, 130.0, 130.001]
    assert improvements(energies, marks=[]) == [(1, 100.0), (6, 130.0), (7, 130.001)]
    assert improvements(energies, marks=[100.002])[1] == (4, 100.003)


# -- the command line -----------------------------------------


def test_command_line(tmp_path, capsys):
    out = tmp_path / "new" / "farm"
    arguments = ["--seeds", "1", "--calls", "160", "--out", str(out)]
    shown, data = run_twice(main, arguments, out / "16_turbines.json", capsys)
    assert "- infeasible calls: 0 of 160, judged in numpy at every call" in shown.out
    assert "| 12, method not given |  | 421,561.9 | +14.89 % | no: 3.5 m outside |" in shown.out
    assert "0 of 1 seeds" in shown.out
    assert "seed 1: 160/160 calls, best " in shown.err
    assert is_picture(out / "16_layout.png")
    assert is_picture(out / "16_convergence.png")
    assert data["provenance"]["py_wake"]


def test_command_line_mistakes(tmp_path, capsys):
    assert "17" in refused(main, ["--turbines", "17"], capsys)
    (tmp_path / "16_turbines.json").write_text('{"setup": {}, "seeds": []}')
    arguments = ["--quick", "--out", str(tmp_path)]
    assert "choose another --out" in refused(main, arguments, capsys)
