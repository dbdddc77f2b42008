"""Number and places of turbines: model against numpy, formulas against py_wake, runs, command."""

from __future__ import annotations

import pickle
from functools import cache

import numpy as np
import pytest
from study_commands import refused, run_twice

from archeng.model import compile_model
from case_studies.wind_farm.__main__ import main
from case_studies.wind_farm.economy import SITE, is_legal
from case_studies.wind_farm.number_model import ENERGY, FarmEnergy, build_number_model
from case_studies.wind_farm.number_optimum import best_layout
from case_studies.wind_farm.number_study import best_cost, number_reference, run_number_seed
from case_studies.wind_farm.simulator import annual_energy, energy_of_any

pytest.importorskip("py_wake")
pytestmark = pytest.mark.slow

MOST = SITE.most


def random_farms(k: int, seed: int) -> list[np.ndarray]:
    """Flat designs on both sides of the rules: built, x, y."""
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(k):
        n = rng.integers(1, MOST + 1)
        built = (np.arange(MOST) < n).astype(float)
        if rng.random() < 0.1:
            rng.shuffle(built)
        angle = 2 * np.pi * (np.arange(MOST) + rng.uniform(0, 0.4, MOST)) / n
        radius = 600 * rng.choice([0.8, 0.95, 1.001], p=[0.5, 0.47, 0.03], size=MOST)
        found.append(np.concatenate((built, radius * np.cos(angle), radius * np.sin(angle))))
    return found


@cache
def compiled():
    return compile_model(build_number_model())


def feasible_in_the_model(x: np.ndarray) -> bool:
    feasible_set = compiled()
    first = x[0] == 1  # built in every design: it is no free variable
    return bool(first) and feasible_set.is_feasible(feasible_set.reduce(x))


def test_the_referee_agrees_with_the_model():
    legal = 0
    for x in random_farms(400, seed=1):
        feasible = feasible_in_the_model(x)
        assert feasible == is_legal(*x.reshape(3, MOST))
        legal += feasible
    assert 60 < legal < 350


def test_turbines_that_are_not_built_are_in_nobodys_way():
    built = np.array([1.0, 1, 0, 0, 0, 0, 0, 0])
    x, y = np.zeros(MOST), np.zeros(MOST)
    x[1] = 260.0
    assert is_legal(built, x, y)
    assert feasible_in_the_model(np.concatenate((built, x, y)))
    built[2] = 1
    assert not is_legal(built, x, y)
    assert not feasible_in_the_model(np.concatenate((built, x, y)))
    assert not is_legal(np.zeros(MOST), x, y)
    assert not is_legal(0.5 * built, x, y)


def test_cost_of_energy_by_hand():
    feasible_set = compiled()
    x = np.zeros(3 * MOST)
    x[:4] = 1
    cost, _ = feasible_set.formulas.at(feasible_set.reduce(x), np.array([1e5]))
    annuity = sum(1.07**-year for year in range(1, 21))
    dollars = (7.4e6 + 4 * 1400 * 3350) / annuity + 4 * 40 * 3350
    assert cost == pytest.approx(dollars / 1e5, rel=1e-12)


def test_the_simulator_counts_only_what_is_built():
    farm = FarmEnergy()
    x, y = np.linspace(-500, 500, MOST), np.zeros(MOST)
    built = np.array([1] * 2 + [0] * 6)
    alone = farm({"built": np.eye(MOST)[0], "x": x, "y": y}).outputs[ENERGY]
    assert alone == pytest.approx(29346.0)  # no wakes: the rated power all the year
    x[1] = 510
    both = farm({"built": built, "x": x, "y": y}).outputs[ENERGY]
    assert alone < both < 2 * alone
    assert (farm.n_calls, farm.n_illegal) == (2, 0)
    farm({"built": np.ones(MOST), "x": x, "y": y})
    assert farm.n_illegal == 1
    assert pickle.loads(pickle.dumps(farm)).n_calls == 3


def test_any_number_of_turbines_has_the_energy_of_the_case_study():
    rng = np.random.default_rng(2)
    x, y = rng.uniform(-900, 900, (2, 16))
    assert energy_of_any(x, y) == annual_energy(x, y)


def test_the_reference_is_what_it_says():
    known = number_reference()
    costs = {}
    for key, farm in known["numbers"].items():
        n = int(key)
        x, y = (np.append(farm[axis], np.zeros(MOST - n)) for axis in "xy")
        assert is_legal(np.arange(MOST) < n, x, y)
        assert energy_of_any(farm["x"], farm["y"]) == pytest.approx(farm["energy"], rel=1e-9)
        costs[n] = SITE.cost_of_energy(n, farm["energy"])
        assert costs[n] == pytest.approx(farm["cost"], rel=1e-9)
    assert list(costs) == list(range(1, MOST + 1))
    assert best_cost() == pytest.approx(min(costs.values()), rel=1e-9)
    assert 1 < known["best"] < MOST  # neither end: a real trade


def test_ipopt_finds_the_energy_of_two_turbines_again():
    energy, x, y, ended = best_layout(2, starts=20, seed=1)
    assert ended >= 15
    assert energy == pytest.approx(number_reference()["numbers"]["2"]["energy"], rel=1e-6)
    assert len(x) == len(y) == 2


@pytest.mark.parametrize("plain", [False, True])
def test_one_seed_has_no_infeasible_call(plain):
    record = run_number_seed(1, 24, plain=plain)
    assert (record.calls, record.infeasible_calls) == (24, 0)
    assert sum(record.simulated.values()) == 24
    assert len(record.x_m) == len(record.y_m) == record.turbines
    energy = energy_of_any(record.x_m, record.y_m)
    assert energy == pytest.approx(record.energy, rel=1e-12)
    assert SITE.cost_of_energy(record.turbines, energy) == pytest.approx(record.cost, rel=1e-9)
    assert best_cost() * (1 - 1e-9) <= record.cost == record.curve[-1][1]


def test_command_line(tmp_path, capsys):
    arguments = ["--aim", "cost", "--seeds", "1", "--calls", "12", "--out", str(tmp_path)]
    shown, data = run_twice(main, arguments, tmp_path / "number_grey.json", capsys)
    assert "- infeasible calls: 0 of 12, judged in numpy at every call" in shown.out
    assert "| 6 | 25.0938 | 165,727 | 27,621 |" in shown.out
    assert data["seeds"][0]["calls"] == 12


def test_command_line_mistakes(tmp_path, capsys):
    (tmp_path / "number_grey.json").write_text('{"calls": 7, "plain": false, "seeds": []}')
    arguments = ["--aim", "cost", "--quick", "--out", str(tmp_path)]
    assert "choose another --out" in refused(main, arguments, capsys)
