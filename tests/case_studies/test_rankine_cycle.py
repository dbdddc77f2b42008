"""The Rankine cycle: properties, rows, what happens outside, known optimum, runs, command line."""

from __future__ import annotations

import json
import math
import pickle
from dataclasses import replace
from pathlib import Path

import CoolProp
import numpy as np
import pytest
from CoolProp.CoolProp import PropsSI
from study_commands import compare_one, refused

import archeng
import case_studies.rankine_cycle as study
from archeng.model import compile_model
from case_studies.rankine_cycle import CycleOutputs, SpecificCost, build_model
from case_studies.rankine_cycle.__main__ import main
from case_studies.rankine_cycle.comparison import METHODS, by_outputs, census, penalty_run, solved
from case_studies.rankine_cycle.fit import main as fit
from case_studies.rankine_cycle.limits import BOUNDS, exceeded, limits
from case_studies.rankine_cycle.plant import CORRELATIONS, ESCALATION, PLANT, bare_module_cost
from case_studies.rankine_cycle.properties import FILE, fitted, largest_error
from case_studies.rankine_cycle.simulator import Cycle, log_mean
from case_studies.shared.referee import Watched

pytestmark = pytest.mark.slow

REFERENCE = json.loads(Path(study.__file__).with_name("reference.json").read_text("utf-8"))
OPTIMUM = REFERENCE["optimum"]
LOWER, UPPER = np.array(list(BOUNDS.values())).T


def known(**changes: float) -> dict[str, float]:
    return {**OPTIMUM["design"], **{k.replace("_", " "): v for k, v in changes.items()}}


@pytest.fixture(scope="module")
def cycles() -> list[tuple[archeng.Design, Cycle]]:
    """Legal designs, simulated: none of them raises."""
    simulator = SpecificCost()
    designs = archeng.sample_feasible(build_model(), 200, seed=1)
    return [(design, simulator.simulate(design)) for design in designs]


# -- properties and costs -----------------------------------------


def test_coolprop_has_the_reference_values():
    fluid, water = REFERENCE["fluids"]["R245fa"], REFERENCE["fluids"]["water"]
    assert PropsSI("R245fa", "Tcrit") == pytest.approx(fluid["critical_temperature_K"], abs=0.05)
    assert PropsSI("R245fa", "pcrit") / 1e5 == pytest.approx(36.51, abs=0.02)
    boiling = PropsSI("T", "P", 101325, "Q", 0, "R245fa")
    assert boiling == pytest.approx(fluid["boiling_at_1_atm_K"], abs=0.05)
    boiling = PropsSI("T", "P", 101325, "Q", 0, "Water")
    assert boiling == pytest.approx(water["boiling_at_1_atm_K"], abs=0.002)
    heat = PropsSI("H", "T", 373.15, "Q", 1, "Water") - PropsSI("H", "T", 373.15, "Q", 0, "Water")
    assert heat / 1e3 == pytest.approx(water["heat_of_evaporation_100_C_kJ_kg"], rel=1e-3)


def test_fitted_properties_are_those_of_coolprop():
    rng = np.random.default_rng(3)
    for p in np.exp(rng.uniform(np.log(1.0), np.log(27.0), 40)):
        x = math.log(p)
        for name, key, quality, unit in (
            ("temperature", "T", 1, 1.0),
            ("liquid enthalpy", "H", 0, 1e3),
            ("vapour enthalpy", "H", 1, 1e3),
        ):
            exact = PropsSI(key, "P", 1e5 * p, "Q", quality, "R245fa") / unit
            assert fitted(name, x) == pytest.approx(exact, abs=1.5 * largest_error(name))
        liquid = PropsSI("H", "P", 1e5 * p, "Q", 0, "R245fa") / 1e3
        boiling = PropsSI("T", "P", 1e5 * p, "Q", 0, "R245fa")
        assert fitted("liquid temperature", liquid) == pytest.approx(boiling, abs=0.01)
    assert fitted("superheating", 0.0, 2.0) == fitted("exhaust enthalpy", 0.0, 0.5) == 0


def test_the_fits_can_be_made_again(tmp_path, capsys):
    path = tmp_path / "fits.json"
    assert fit(["--out", str(path)]) == 0
    printed = capsys.readouterr().out
    made, kept = (json.loads(p.read_text("utf-8")) for p in (path, FILE))
    assert made["source"] == f"CoolProp {CoolProp.__version__}, HEOS"
    assert list(made["fits"]) == list(kept["fits"])
    for name, entry in kept["fits"].items():
        assert f"{name} " in printed
        assert made["fits"][name]["error"] == pytest.approx(entry["error"], rel=0.2)
        np.testing.assert_allclose(
            made["fits"][name]["coefficients"], entry["coefficients"], rtol=1e-4, atol=1e-3
        )


def test_cost_correlations():
    (k1, k2, k3), factor = CORRELATIONS["exchanger"]
    purchase = 10 ** (k1 + 2 * k2 + 4 * k3)
    assert purchase == pytest.approx(REFERENCE["costs"]["purchase_of_100_m2_exchanger"], rel=1e-3)
    assert factor == pytest.approx(REFERENCE["costs"]["installed_factor_exchanger"])
    assert bare_module_cost("exchanger", 100.0) == pytest.approx(ESCALATION * factor * purchase)
    for kw in (200, 400, 800):  # economy of scale
        assert 1 < bare_module_cost("turbine", 2 * kw) / bare_module_cost("turbine", kw) < 2


def test_logarithmic_mean():
    assert log_mean(10.0, 5.0) == pytest.approx(5 / math.log(2))
    assert log_mean(7.0, 7.0) == 7.0
    assert log_mean(7.0, 7.0 + 1e-9) == pytest.approx(7.0)
    with pytest.raises(ValueError, match="math domain"):
        log_mean(5.0, -1.0)


# -- the simulator -----------------------------------------


def test_published_cycle():
    """n-Butane between 100 and 30 C with a recuperator: 13.0 % in the abstract of the paper."""
    case = REFERENCE["published_cycle"]
    fluid = case["fluid"]
    plant = replace(
        PLANT,
        fluid=fluid,
        turbine_efficiency=case["turbine_efficiency"],
        pump_efficiency=case["pump_efficiency"],
    )
    design = {
        "evaporating pressure": PropsSI("P", "T", 273.15 + 100, "Q", 1, fluid) / 1e5,
        "condensing pressure": PropsSI("P", "T", 273.15 + 30, "Q", 0, fluid) / 1e5,
        "superheat": 0.001,
        "subcooling": 0.001,
        "working fluid": 10.0,
        "cooling water": 400.0,
        "effectiveness": 0.5,
    }
    T = SpecificCost(plant).simulate(design).temperatures
    design["effectiveness"] = 1 - case["recuperator_approach_K"] / (T["4"] - T["2"])
    cycle = SpecificCost(plant).simulate(design)
    T, h = cycle.temperatures, cycle.enthalpies
    assert T["4r"] - T["2"] == pytest.approx(case["recuperator_approach_K"], abs=1e-6)
    efficiency = (h["3"] - h["4"] - h["2"] + h["1"]) / (h["3"] - h["2r"])
    assert efficiency == pytest.approx(case["thermal_efficiency"], abs=0.002)


def test_no_legal_design_fails_and_all_obey_the_laws(cycles):
    assert len(cycles) == 200
    for design, cycle in cycles:
        T, h = cycle.temperatures, cycle.enthalpies
        flow = design["working fluid"]
        rejected = flow * (h["4r"] - h["1"])
        work = flow * (h["3"] - h["4"] - h["2"] + h["1"])
        assert cycle.heat_in - rejected == pytest.approx(work, rel=1e-6)
        assert 0 < cycle.efficiency < 1 - PLANT.coolant_inlet / PLANT.brine_inlet
        assert T["1"] < T["2"] <= T["2r"] < T["boiling"] < T["3"] < PLANT.brine_inlet
        assert T["dew"] < T["4r"] <= T["4"] < T["3"]
        assert cycle.specific_cost > 0.99 * OPTIMUM["cost"]


def test_the_formulas_of_the_model_are_close_to_the_simulator(cycles):
    for design, cycle in cycles:
        assert not exceeded(design)
        rows = {name: value for name, (value, _, _) in limits(design).items()}
        T, h = cycle.temperatures, cycle.enthalpies
        hot_end = PLANT.brine_inlet - rows["hot end of evaporator (K)"]
        pinches = (rows["pinch at boiling (K)"], rows["cold end of evaporator (K)"], hot_end)
        assert min(pinches) == pytest.approx(cycle.evaporator_pinch, abs=0.3)
        pinches = (rows["pinch at condensing (K)"], rows["cold end of condenser (K)"])
        assert min(pinches) == pytest.approx(cycle.condenser_pinch, abs=0.2)
        assert rows["reinjection (K)"] == pytest.approx(cycle.brine_outlet, abs=0.3)
        exhaust = rows["no condensing in recuperator (K)"]
        assert exhaust == pytest.approx(T["4r"] - T["dew"], abs=0.6)
        liquid = rows["no boiling in recuperator (kJ/kg)"]
        assert liquid == pytest.approx((h["boiling"] - h["2r"]) / 1e3, abs=1.0)
        assert rows["net power (kW)"] == pytest.approx(cycle.net_power / 1e3, abs=5)


def test_pickled_simulator_gives_the_same_number():
    simulator = SpecificCost()
    value = simulator(known())
    copy = pickle.loads(pickle.dumps(simulator))
    assert (copy(known()), copy.n_calls, simulator.n_calls) == (value, 2, 1)


# -- outside of the limits -----------------------------------------


def test_above_the_critical_pressure_there_is_no_boiling_point():
    design = known(evaporating_pressure=40.0)
    assert "subcritical (bar)" in exceeded(design)
    with pytest.raises(ValueError, match="PQ_flash"):
        SpecificCost()(design)


@pytest.mark.parametrize(
    ("change", "row"),
    [
        ({"working_fluid": 45.0}, "pinch at boiling (K)"),
        ({"cooling_water": 120.0}, "pinch at condensing (K)"),
        ({"evaporating_pressure": 25.0, "superheat": 40.0}, "hot end of evaporator (K)"),
    ],
)
def test_where_temperatures_cross_there_is_no_area(change, row):
    assert row in exceeded(known(**change))
    with pytest.raises(ValueError, match="math domain"):
        SpecificCost()(known(**change))


def test_a_plant_that_takes_power_has_a_wonderful_cost():
    design = known(
        evaporating_pressure=4.0, condensing_pressure=3.4, superheat=20.0, working_fluid=20.0
    )
    assert {"net power (kW)", "pressure ratio (bar)"} <= set(exceeded(design))
    cycle = SpecificCost().simulate(design)  # it does not raise
    assert cycle.net_power < 0
    assert cycle.specific_cost < -1e5


def test_census_of_the_box():
    counts = census(150, seed=0)
    assert counts.total() == 150
    assert counts["ValueError: math domain error"] > 50
    assert counts["ValueError: Pressure to PQ_flash"] > 10
    assert counts["a number, legal design"] < 10


# -- the model -----------------------------------------


def test_rows_of_the_model_are_those_in_plain_floats():
    model = build_model()
    rng = np.random.default_rng(0)
    near = np.array([OPTIMUM["design"][name] for name in BOUNDS])
    points = np.concatenate(
        (rng.uniform(LOWER, UPPER, (40, 7)), near * rng.uniform(0.9, 1.1, (40, 7)))
    )
    assert [v.name for v in model.variables] == list(BOUNDS)
    for x in points:
        table = model.violations(x)
        expected = limits(dict(zip(BOUNDS, x, strict=True)))
        assert len(table) == len(expected) == 7 + 12
        for entry in table:
            value, lower, upper = expected[entry.name.removeprefix("bounds of ")]
            violation = max(lower - value, value - upper, 0.0)
            assert entry.violation == pytest.approx(violation, rel=1e-9, abs=1e-9)


def test_known_optimum():
    assert build_model().violations(OPTIMUM["design"]).maximum == 0
    assert SpecificCost()(OPTIMUM["design"]) == pytest.approx(OPTIMUM["cost"], rel=1e-8)
    cycle = SpecificCost().simulate(OPTIMUM["design"])
    low, high = REFERENCE["expected"]["thermal_efficiency"]
    assert low < cycle.efficiency < high


def test_known_optimum_satisfies_the_first_order_conditions():
    fs = compile_model(build_model())
    x = np.array([OPTIMUM["design"][name] for name in BOUNDS])
    width, simulator = UPPER - LOWER, SpecificCost()
    slope = np.empty(7)
    for i in range(7):
        step = np.zeros(7)
        step[i] = 1e-5 * width[i]
        ahead, behind = (
            simulator(dict(zip(BOUNDS, x + s * step, strict=True))) for s in (1.0, -1.0)
        )
        slope[i] = (ahead - behind) / 2e-5
    names = [row.name for row in fs.rows]
    active = [names.index(name) for name in OPTIMUM["active"]]
    assert fs.values(x)[active] == pytest.approx(fs.lower[active], rel=1e-7)
    rows = (fs.values_and_jacobian(x)[1][active] * width).T
    multipliers, *_ = np.linalg.lstsq(rows, slope, rcond=None)
    assert (multipliers > 1.0).all()  # all are lower limits
    assert np.abs(slope - rows @ multipliers).max() < 1e-3 * np.abs(slope).max()


# -- the grey form -----------------------------------------


def by_formula(model: archeng.Model, design: archeng.Design) -> float:
    """Cost by the formula of the model, of what the simulator returns."""
    feasible_set, found = compile_model(model), CycleOutputs()(design)
    z = np.array([*found["work"], *found["area"]])
    return feasible_set.formulas.at(feasible_set.reduce(design.x), z)[0]


def test_the_cost_is_a_formula_of_the_outputs(cycles):
    model = build_model()
    for sampled, cycle in cycles[:40]:
        design = archeng.Design(model.variables, sampled.x, model.parameters)
        assert by_formula(model, design) == pytest.approx(cycle.specific_cost, rel=1e-12)
        assert by_outputs(design, CycleOutputs()(design)) == pytest.approx(
            cycle.specific_cost, rel=1e-12
        )


def test_colder_water_is_a_parameter_of_rows_and_simulator():
    model = build_model().with_parameters({"cooling water inlet": 283.15, "wells": 5e6})
    design = archeng.Design(model.variables, model.flat(OPTIMUM["design"]), model.parameters)
    usual = build_model().violations(OPTIMUM["design"])["pinch at condensing (K)"]
    colder = model.violations(OPTIMUM["design"])["pinch at condensing (K)"]
    assert colder.value - colder.lower == pytest.approx(usual.value - usual.lower + 5, rel=1e-9)
    plant = replace(PLANT, coolant_inlet=283.15, wells=5e6)
    expected = SpecificCost(plant).simulate(OPTIMUM["design"])
    assert by_formula(model, design) == pytest.approx(expected.specific_cost, rel=1e-12)
    assert expected.condenser_pinch > SpecificCost().simulate(known()).condenser_pinch + 1


def test_sixty_calls_in_the_grey_form():
    run, result = solved(1, 60)
    assert (run.method, run.illegal, run.failed) == ("archeng grey box", 0, 0)
    assert result.n_infeasible_calls == 0
    assert run.calls == result.nfev <= 60
    assert run.best[-1] == pytest.approx(result.fun, rel=1e-12)
    assert result.fun < 1.02 * OPTIMUM["cost"]
    assert result.fun == pytest.approx(SpecificCost()(result.design), rel=1e-12)


# -- runs -----------------------------------------


def test_sixty_calls():
    simulator = Watched(SpecificCost(), exceeded)
    result = archeng.solve(build_model(form="black"), simulator, max_evaluations=60, seed=1)
    assert result.n_infeasible_calls == simulator.n_illegal == 0
    assert not simulator.failures
    assert result.nfev == simulator.n_calls <= 60
    first = next(v for v in simulator.best if np.isfinite(v))
    assert first > 1.1 * OPTIMUM["cost"]
    assert OPTIMUM["cost"] * (1 - 1e-7) < result.fun < 1.01 * OPTIMUM["cost"]
    assert result.fun == pytest.approx(SpecificCost()(result.design), rel=1e-12)


def test_the_penalty_method_buys_a_plant_that_takes_power():
    run = penalty_run("penalty", 1e4, False, seed=1, calls=150)
    assert run.calls == 150
    assert run.illegal > 75
    assert run.failed > 20
    assert run.claimed < 0
    assert "net power (kW)" in run.broken


def test_evolution_stays_legal_and_is_slow():
    run = METHODS["differential evolution"](1, 60)
    assert (run.calls, run.illegal, run.failed) == (60, 0, 0)
    assert run.best[-1] > 1.02 * OPTIMUM["cost"]


# -- the command line -----------------------------------------


def test_command_line(tmp_path, capsys):
    shown, row = compare_one(main, "rankine_cycle", tmp_path / "new" / "folder", capsys)
    assert row["failed"] == 0
    for words in (
        "model organic Rankine cycle: 7 variables, 12 rows",
        f"the referee: {row['calls']} calls, 0 at illegal designs",
        "what the simulator says at 100 random designs",
    ):
        assert words in shown


def test_command_line_mistakes(capsys):
    assert "--seeds" in refused(main, ["--seeds", "0"], capsys)
    assert "--calls" in refused(main, ["--calls", "-3"], capsys)
    assert "no method is named luck" in refused(main, ["--methods", "luck"], capsys)
