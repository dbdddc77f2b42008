"""The fuel blend: gases, simulator, off the simplex, rows, known optimum, runs, command line."""

from __future__ import annotations

import json
import pickle
from pathlib import Path

import cantera as ct
import numpy as np
import pytest
from study_commands import compare_one, refused

import archeng
import case_studies.fuel_blend as study
from archeng.model import compile_model
from case_studies.fuel_blend import Furnace, FurnaceOutputs, HeatCost, build_model
from case_studies.fuel_blend.__main__ import main
from case_studies.fuel_blend.comparison import (
    METHODS,
    by_outputs,
    normalised,
    penalty_run,
    solved,
    total,
)
from case_studies.fuel_blend.gases import MOLAR_VOLUME, gases, species
from case_studies.fuel_blend.limits import exceeded, limits
from case_studies.fuel_blend.simulator import blended
from case_studies.shared.comparison import calls_to
from case_studies.shared.other_methods import slsqp
from case_studies.shared.referee import Watched

pytestmark = pytest.mark.slow

REFERENCE = json.loads(Path(study.__file__).with_name("reference.json").read_text("utf-8"))
OPTIMUM = REFERENCE["optimum"]
OFF = REFERENCE["off_the_simplex"]["design"]
NAMES = [*(g.name for g in gases()), "air ratio", "primary air"]


@pytest.fixture(scope="module")
def gas() -> ct.Solution:
    return ct.Solution("gri30.yaml")


def heat_of_combustion(gas: ct.Solution, name: str) -> float:
    """Net heating value in kJ/mol from the enthalpies of the mechanism."""
    part = gas.species(name).composition

    def enthalpy(species: str) -> float:
        return float(gas.species(species).thermo.h(298.15)) / 1e6

    carbon, hydrogen, oxygen = (part.get(e, 0.0) for e in "CHO")
    burnt = carbon * enthalpy("CO2") + hydrogen / 2 * enthalpy("H2O")
    needed = carbon + hydrogen / 4 - oxygen / 2
    return enthalpy(name) + needed * enthalpy("O2") - burnt


# -- gases -----------------------------------------


def test_heating_values_are_those_of_the_mechanism(gas):
    water = 44.01  # kJ/mol, heat of evaporation at 25 C
    tolerance = REFERENCE["heating_values"]["relative_tolerance"]
    for name, entry in species().items():
        net = heat_of_combustion(gas, name)
        assert entry["net"] == pytest.approx(net, rel=tolerance, abs=0.01)
        assert entry["gross"] - entry["net"] == pytest.approx(entry["H"] / 2 * water, abs=0.1)
        mass = gas.molecular_weights[gas.species_index(name)]
        assert entry["mass"] == pytest.approx(mass, abs=0.01)
        formula = gas.species(name).composition
        assert {e: entry[e] for e in "CHO"} == {e: formula.get(e, 0) for e in "CHO"}


def test_flame_temperatures(gas):
    table = REFERENCE["flame_temperatures_K"]
    for name in ("CH4", "C2H4", "C2H6", "C3H8", "H2"):
        gas.set_equivalence_ratio(1.0, name, "O2:0.21, N2:0.79")
        gas.TP = 298.15, 101325.0
        gas.equilibrate("HP")
        assert pytest.approx(table[name], abs=table["tolerance"]) == gas.T


def test_gases_are_plausible():
    for g in gases():
        assert sum(g.composition.values()) == pytest.approx(1.0, abs=1e-12)
        low, high = REFERENCE["works_gases_MJ_m3"].get(g.name, (0.0, 100.0))
        assert low <= g.net <= high
    methane = species()["CH4"]
    wobbe = methane["gross"] / MOLAR_VOLUME / np.sqrt(methane["mass"] / 28.96)
    assert wobbe == pytest.approx(53.4, abs=0.1)  # MJ/m3, as in ISO 6976 for 25 C and 0 C


def test_flue_gas_of_methane():
    biogas = next(g for g in gases() if g.name == "biogas")
    assert biogas.oxygen == pytest.approx(0.6 * 2)
    # CO2 of both parts, steam, and the nitrogen of the air
    assert biogas.flue == pytest.approx(1.0 + 2 * 0.6 + 0.6 * 2 * 79 / 21)


# -- the simulator -----------------------------------------


def test_atoms_and_energy_are_conserved(gas):
    simulator = HeatCost()
    hour = simulator.simulate(OPTIMUM["design"])
    f, phases = simulator.furnace, simulator._phases
    flow = f.volume_flow / MOLAR_VOLUME / 3600
    fuel, air, flue = phases["fuel"], phases["air"], phases["second"]
    fuel_flow = flow * sum(blended(OPTIMUM["design"]).values()) * fuel.mean_molecular_weight
    oxygen = flow * sum(OPTIMUM["design"][g.name] * g.oxygen for g in gases())
    air_flow = OPTIMUM["design"]["air ratio"] * oxygen / 0.21 * air.mean_molecular_weight
    for element in "CHON":
        into = fuel_flow * fuel.elemental_mass_fraction(element)
        into += air_flow * air.elemental_mass_fraction(element)
        out = (fuel_flow + air_flow) * flue.elemental_mass_fraction(element)
        assert out == pytest.approx(into, rel=1e-6)
    given = fuel_flow * fuel.enthalpy_mass + air_flow * air.enthalpy_mass
    given -= (fuel_flow + air_flow) * flue.enthalpy_mass
    assert hour.heat == pytest.approx(3600e-9 * given, rel=1e-4)
    assert pytest.approx(f.pressure, rel=0.005) == phases["first"].P


def test_cost_adds_up():
    hour = HeatCost().simulate(OPTIMUM["design"])
    blend = OPTIMUM["design"]
    fuel = 1000 * sum(blend[g.name] * g.net * g.price / 1e3 for g in gases())
    assert hour.fuel_cost == pytest.approx(fuel, rel=1e-12)
    assert hour.emission_cost == pytest.approx(4.5 * hour.nox + hour.monoxide, rel=1e-12)
    costs = hour.fuel_cost + hour.allowance_cost + hour.emission_cost
    assert hour.cost == pytest.approx(costs / hour.heat, rel=1e-12)
    charge = REFERENCE["nox_charge"]["SEK_per_kg"] / 11
    assert Furnace().nox_charge == pytest.approx(charge, rel=0.02)
    fossil = 1000 * blend["natural gas"] * (0.93 + 0.08 + 0.03 + 0.01) / 22.414 * 44.01
    assert hour.allowance_cost == pytest.approx(0.07 * fossil, rel=1e-12)


def test_hotter_air_makes_more_nitrogen_oxides():
    cold, hot = (
        HeatCost(Furnace(air_temperature=t)).simulate({**OPTIMUM["design"], "primary air": 1.0})
        for t in (300.0, 900.0)
    )
    assert hot.nox > 2 * cold.nox
    assert hot.heat > cold.heat


def test_staging_lowers_nitrogen_oxides_and_both_ends_are_valleys():
    simulator = HeatCost()
    shares = (0.42, 0.6, 0.85, 1.0)
    hours = [simulator.simulate({**OPTIMUM["design"], "primary air": s}) for s in shares]
    assert hours[0].nox < 0.3 * hours[2].nox
    costs = [hour.cost for hour in hours]
    assert costs[0] < costs[1] < costs[2] > costs[3]


def test_every_legal_design_burns():
    simulator = HeatCost()
    designs = archeng.sample_feasible(build_model(), 200, seed=1)
    assert len(designs) == 200
    for design in designs:
        assert not exceeded(design)
        hour = simulator.simulate(design)
        assert hour.first_temperature > 1500  # it has not gone out
        assert 2.5 < hour.heat < 6.0
        assert hour.cost > 0.999 * OPTIMUM["cost"]


def test_same_number_whatever_was_simulated_before_and_after_pickling():
    simulator = HeatCost()
    value = simulator(OPTIMUM["design"])
    simulator({**OPTIMUM["design"], "primary air": 0.9, "air ratio": 1.3})
    copy = pickle.loads(pickle.dumps(simulator))
    assert copy.n_calls == 2
    for other in (simulator, copy):
        assert other(OPTIMUM["design"]) == pytest.approx(value, rel=1e-7)


# -- off the simplex -----------------------------------------


def test_off_the_simplex_it_is_silently_cheaper():
    assert total(OFF) == pytest.approx(1.451, abs=0.001)
    assert exceeded(OFF) == ["fractions add up"]
    claimed = HeatCost()(OFF)  # no exception, no warning
    assert claimed < 0.9 * OPTIMUM["cost"]
    real = normalised(OFF)
    assert total(real) == pytest.approx(1.0, abs=1e-12)
    assert "heating value (MJ/m3)" in exceeded(real)
    assert limits(real)["heating value (MJ/m3)"][0] < 8.5
    assert HeatCost().simulate(real).heat < 0.85 * HeatCost().simulate(OFF).heat


def test_a_flame_that_is_out_looks_cheap_too():
    design = {**OPTIMUM["design"], "primary air": 0.25}
    assert exceeded(design) == ["primary air"]
    hour = HeatCost().simulate(design)
    assert hour.first_temperature < 900
    assert hour.cost < 1.2 * OPTIMUM["cost"]


# -- the model -----------------------------------------


def test_rows_of_the_model_are_those_by_species():
    model = build_model()
    rng = np.random.default_rng(0)
    upper = np.array([*(g.most for g in gases()), 1.5, 1.1])
    assert [v.name for v in model.variables] == NAMES
    for x in rng.uniform(0.0, upper, (60, 9)):
        table = model.violations(x)
        expected = limits(dict(zip(NAMES, x, strict=True)))
        assert len(table) == len(expected) == 9 + 6
        for entry in table:
            value, lower, top = expected[entry.name.removeprefix("bounds of ")]
            violation = max(lower - value, value - top, 0.0)
            assert entry.violation == pytest.approx(violation, rel=1e-9, abs=1e-12)


def test_the_equality_can_be_left_out():
    names = [c.name for c in build_model().constraints]
    assert [c.name for c in build_model(adds_up=False).constraints] == names[1:]
    assert names[0] == "fractions add up"


def test_known_optimum():
    table = limits(OPTIMUM["design"])
    assert exceeded(OPTIMUM["design"], slack=1e-6) == []
    assert table["heating value (MJ/m3)"][0] == pytest.approx(12.0, abs=1e-6)
    assert table["renewable heat (MJ/m3)"][0] == pytest.approx(0.0, abs=1e-6)
    assert HeatCost()(OPTIMUM["design"]) == pytest.approx(OPTIMUM["cost"], rel=1e-6)
    assert OPTIMUM["local_optimum"]["cost"] > 1.05 * OPTIMUM["cost"]


# -- the grey form -----------------------------------------


def by_formula(model: archeng.Model, design: archeng.Design) -> float:
    """Cost by the formula of the model, of what the simulator returns."""
    feasible_set, found = compile_model(model), FurnaceOutputs()(design)
    z = np.array([found[output.name] for output in model.outputs])
    return feasible_set.formulas.at(feasible_set.reduce(design.x), z)[0]


def test_the_cost_is_a_formula_of_the_outputs():
    model = build_model()
    assert [output.name for output in model.outputs] == ["heat", "NOx", "CO"]
    for sampled in archeng.sample_feasible(model, 4, seed=2):
        design = archeng.Design(model.variables, sampled.x, model.parameters)
        cost = HeatCost()(design)
        assert by_formula(model, design) == pytest.approx(cost, rel=1e-7)
        assert by_outputs(design, FurnaceOutputs()(design)) == pytest.approx(cost, rel=1e-7)


def test_prices_and_temperatures_are_parameters():
    model = build_model().with_parameters({"charge on NOx": 45.0, "air temperature": 300.0})
    design = archeng.Design(model.variables, model.flat(OPTIMUM["design"]), model.parameters)
    expected = HeatCost(Furnace(air_temperature=300.0, nox_charge=45.0))(OPTIMUM["design"])
    assert by_formula(model, design) == pytest.approx(expected, rel=1e-7)
    assert abs(expected / OPTIMUM["cost"] - 1) > 0.05
    dearer = [2 * gas.price for gas in gases()]
    twice = build_model().with_parameters(price=dearer, allowance=0.14)
    hour = HeatCost().simulate(OPTIMUM["design"])
    more = (hour.fuel_cost + hour.allowance_cost) / hour.heat
    design = archeng.Design(twice.variables, twice.flat(OPTIMUM["design"]), twice.parameters)
    assert by_formula(twice, design) == pytest.approx(hour.cost + more, rel=1e-7)


def test_sixty_calls_in_the_grey_form():
    run, result = solved(1, 60)
    assert (run.method, run.illegal, run.failures) == ("archeng grey box", 0, 0)
    assert result.n_infeasible_calls == 0
    assert run.calls == result.nfev <= 60
    assert run.best[-1] == pytest.approx(result.fun, rel=1e-9)
    assert 0.9999 * OPTIMUM["cost"] < result.fun < 1.1 * OPTIMUM["cost"]


# -- runs -----------------------------------------


def test_sixty_calls():
    simulator = Watched(HeatCost(), exceeded)
    result = archeng.solve(build_model(form="black"), simulator, max_evaluations=60, seed=1)
    assert result.n_infeasible_calls == simulator.n_illegal == 0
    assert not simulator.failures
    assert result.nfev == simulator.n_calls <= 60
    sums = [sum(e.x[:-2]) for e in result.evaluations]
    assert max(abs(s - 1) for s in sums) <= 1e-6 + 1e-12
    assert simulator.best[0] > 1.5 * OPTIMUM["cost"]
    assert 0.9999 * OPTIMUM["cost"] < result.fun < 1.1 * OPTIMUM["cost"]


def test_slsqp_agrees_with_the_known_optimum():
    simulator = Watched(HeatCost(), exceeded)
    changes = {"natural gas": 0.1, "blast furnace gas": 0.194137, "air ratio": 1.2}
    start = {**OPTIMUM["design"], **changes}
    value, design = slsqp(build_model(form="black"), simulator, start, failed=1e3)
    assert value == pytest.approx(OPTIMUM["cost"], rel=1e-6)
    assert simulator.n_illegal > 5  # it goes where it likes
    assert total(design) == pytest.approx(1.0, abs=1.1e-6)


def test_a_light_penalty_sells_heat_that_is_not_there():
    run = penalty_run("penalty", 10.0, seed=1, calls=60)
    assert run.illegal == run.calls == 60
    assert run.failures == 0
    assert run.claimed < 0.9 * OPTIMUM["cost"]
    assert run.heating_value < 11.0
    assert "heating value (MJ/m3)" in run.broken
    assert run.row(1.01 * OPTIMUM["cost"])["legal"] is None


def test_normalising_keeps_the_sum_but_not_the_rows():
    run = METHODS["normalised"](1, 40)
    assert run.total == pytest.approx(1.0, abs=1e-12)
    assert run.illegal > 10


# -- the helpers -----------------------------------------


def test_referee_counts_calls_failures_and_the_best():
    def simulator(design):
        if design["x"] > 5:
            raise ValueError("too large: 7 is more than 5")
        return design["x"]

    watched = Watched(simulator, lambda d: ["x"] if d["x"] < 0 else [])
    for x in (3.0, -1.0, 2.0, 4.0):
        assert watched({"x": x}) == x
    with pytest.raises(ValueError, match="too large"):
        watched({"x": 7.0})
    assert (watched.n_calls, watched.n_illegal) == (5, 1)
    assert watched.best == [3.0, 3.0, 2.0, 2.0, 2.0]
    assert watched.best_design == {"x": 2.0}
    assert watched.failures == {"ValueError: too large:": 1}
    assert calls_to(watched.best, 2.5) == 3
    assert calls_to(watched.best, 1.0) == np.inf


# -- the command line -----------------------------------------


def test_command_line(tmp_path, capsys):
    shown, row = compare_one(main, "fuel_blend", tmp_path / "new" / "folder", capsys)
    assert row["failures"] == 0
    for words in (
        "model fuel blend: 9 variables, 6 rows",
        "15 calls, 0 at illegal designs; the fractions are never farther from 1 than",
        "without the row 'fractions add up' the simulator claims",
    ):
        assert words in shown


def test_command_line_mistakes(capsys):
    assert "--seeds" in refused(main, ["--seeds", "0"], capsys)
    assert "--calls" in refused(main, ["--calls", "x"], capsys)
    assert "no method is named luck" in refused(main, ["--methods", "luck"], capsys)
