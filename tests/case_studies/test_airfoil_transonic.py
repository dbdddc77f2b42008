"""The airfoil at high speed: correction for compressibility, formulas, reference, runs."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import archeng
from archeng.model import compile_model
from case_studies.airfoil import (
    CASES,
    SectionDrag,
    build_model,
    build_simulator,
    simulated_limits,
)
from case_studies.airfoil.__main__ import main
from case_studies.airfoil.cases import LEAST_CONFIDENCE, reference
from case_studies.airfoil.credibility import (
    crossed,
    networks_table,
    polar,
    trips_table,
    tunnel_table,
)
from case_studies.airfoil.limits import JUDGED, exceeded, surface
from case_studies.airfoil.reference import gradient_optimum
from case_studies.airfoil.report import best_record
from case_studies.airfoil.sections import BUFFET, broken_rules, known_section, trimmed
from case_studies.airfoil.simulator import aerodynamics, kulfan
from case_studies.airfoil.study import Setup, run_seed

pytestmark = pytest.mark.slow

CASE = CASES["transonic"]
RECORDS = Path(__file__).parents[2] / "docs" / "benchmarks"
OPTIMUM = reference()["optima"]["transonic"]["design"]
START = reference()["starts"]["RAE 2822"]


def designs(k: int, seed: int) -> list[dict]:
    """Designs on both sides of the limits, around one between the optimum and a plain section."""
    rng = np.random.default_rng(seed)
    centre = {
        "upper": 0.6 * np.array(OPTIMUM["upper"]) + 0.4 * 0.19,
        "lower": 0.6 * np.array(OPTIMUM["lower"]) - 0.4 * 0.19,
        "leading edge": np.array(OPTIMUM["leading edge"]),
        "angle": np.array(OPTIMUM["angle"]),
    }
    spread = rng.choice([1e-3, 1e-2, 0.05], k)
    return [
        {name: value + s * rng.standard_normal(value.shape) for name, value in centre.items()}
        for s in spread
    ]


def coefficients(section: str, mach: float, angle: float = 1.0) -> dict[str, float]:
    found = aerodynamics(known_section(section), angle, 6.5e6, mach=mach, transition=0.07)
    return {name: float(value[0]) for name, value in vars(found).items()}


# -- the simulator -----------------------------------------


def test_it_is_the_call_of_aerosandbox():
    import aerosandbox

    found = SectionDrag(CASE)(OPTIMUM)
    section = aerosandbox.KulfanAirfoil(
        name="section",
        upper_weights=np.array(OPTIMUM["upper"]),
        lower_weights=np.array(OPTIMUM["lower"]),
        leading_edge_weight=OPTIMUM["leading edge"],
        TE_thickness=0.0,
    )
    aero = section.get_aero_from_neuralfoil(
        alpha=OPTIMUM["angle"][0],
        Re=6.5e6,
        mach=0.73,
        xtr_upper=0.07,
        xtr_lower=0.07,
        model_size="large",
        include_360_deg_effects=False,
    )
    assert found.objective == pytest.approx(float(aero["CL"][0] / aero["CD"][0]), rel=1e-12)
    assert found.constraints == pytest.approx(
        {
            "lift": float(aero["CL"][0]),
            "moment": float(aero["CM"][0]),
            "confidence": float(aero["analysis_confidence"][0]),
        },
        rel=1e-12,
    )
    critical = float(aero["mach_crit"][0])
    assert found.outputs["critical Mach number"][0] == pytest.approx(critical, rel=1e-12)


def test_without_a_mach_number_there_is_no_correction():
    # aerosandbox's correction at Mach 0 is not quite nothing; the low-speed cases go without it.
    import neuralfoil

    section = known_section("naca4412")
    ours = aerodynamics(section, [2.0, 6.0], 5e5)
    theirs = neuralfoil.get_aero_from_kulfan_parameters(
        section, alpha=np.array([2.0, 6.0]), Re=5e5, model_size="large"
    )
    for name, key in (("lift", "CL"), ("drag", "CD"), ("moment", "CM")):
        np.testing.assert_array_equal(getattr(ours, name), theirs[key])
    assert np.isnan(ours.critical_mach).all()
    for name in ("point", "polar"):
        case = CASES[name]
        assert (case.mach, case.transition, case.sense) == (0.0, 1.0, "minimize")


def test_runs_at_low_speed_are_those_of_the_record():
    # Recorded before there was a Mach number.
    record = json.loads((RECORDS / "airfoil_point_plain.json").read_text(encoding="utf-8"))
    expected = [(calls, drag) for calls, drag in record["seeds"][0]["curve"] if calls <= 80]
    found = run_seed(Setup("point", calls=80, plain=True, form="black"), seed=1).curve
    assert len(expected) == 5
    assert [calls for calls, _ in found] == [calls for calls, _ in expected]
    np.testing.assert_allclose([d for _, d in found], [d for _, d in expected], rtol=1e-6)


def test_the_lift_slope_rises_with_the_mach_number():
    # Prandtl and Glauert: 1 / sqrt(1 - M^2) is 1.25 at 0.6; aerosandbox's is a little softer.
    slopes = []
    for mach in (0.0, 0.6):
        low, high = (coefficients("naca0012", mach, angle)["lift"] for angle in (0.0, 1.0))
        slopes.append(high - low)
    assert 1.15 < slopes[1] / slopes[0] < 1.25


def test_drag_rises_beyond_the_critical_mach_number_and_not_before():
    critical = coefficients("rae2822", 0.73)["critical_mach"]
    assert 0.6 < critical < 0.73
    before, at, divergence, beyond = (
        coefficients("rae2822", critical + step)["drag"] for step in (-0.05, 0.0, 0.068, 0.12)
    )
    assert before == pytest.approx(at, rel=1e-9)
    # Lock's law, 80 (M - Mcrit)^4: its slope is 0.1 where the drag diverges.
    assert 1e4 * (divergence - at) == pytest.approx(80e4 * 0.068**4, rel=0.01)
    assert beyond - divergence > 3 * (divergence - at)


def test_lift_breaks_down_at_the_buffet():
    critical = coefficients("naca0012", 0.7, 2.0)["critical_mach"]
    below, above = (
        coefficients("naca0012", critical + BUFFET + step, 2.0)["lift"] for step in (-0.05, 0.05)
    )
    assert above < 0.7 * below


def test_rae_2822_is_plausible_below_its_buffet_and_not_beyond():
    # AGARD AR-138: 85 counts at Mach 0.676 and a lift of 0.566, moment -0.082.
    found = polar(0.676, 5.7e6)
    near = int(np.argmax(found.lift >= 0.5))
    assert found.critical_mach[near] + BUFFET > 0.676
    assert found.drag[near] == pytest.approx(0.0085, rel=0.1)
    assert found.moment[near] == pytest.approx(-0.082, abs=0.015)
    assert tunnel_table().count("buffets before") == 4  # in the tunnel it does not


def test_networks_of_other_sizes_disagree_about_the_optimum():
    lines = [line.split(" | ") for line in networks_table().splitlines()[2:]]
    ratios = {line[0].strip("| "): float(line[1]) for line in lines}
    assert ratios["large"] == pytest.approx(72.9, abs=0.05)
    assert all(60 < ratio < 80 for ratio in ratios.values())


def test_the_network_is_not_sure_of_trips_near_the_nose_and_of_surfaces_that_cross():
    lines = [line.strip("| ").split(" | ") for line in trips_table().splitlines()[2:]]
    confidences = [float(line[2]) for line in lines]
    assert confidences == sorted(confidences)
    assert confidences[1] < LEAST_CONFIDENCE < confidences[2]
    assert float(crossed().split()[-1]) < 0.001


def test_known_sections_at_their_best_angle():
    found = {name: trimmed(known_section(name), CASE) for name in ("rae2822", "naca2412")}
    rae, naca = found["rae2822"], found["naca2412"]
    assert rae is not None
    assert naca is not None
    assert rae.objective == pytest.approx(47.6, abs=0.2)
    assert rae.objective == pytest.approx(1e4 * rae.lift / rae.drag, rel=1e-9)
    assert rae.lift >= 0.4
    assert naca.objective < rae.objective
    assert trimmed(known_section("naca0012"), CASE) is None  # past its buffet
    slower = trimmed(known_section("naca0012"), replace(CASE, mach=0.6))
    assert slower is not None
    assert slower.critical_mach + BUFFET > 0.6
    assert broken_rules(known_section("rae2822"), "transport") == ["wiggliness"]


# -- the grey form -----------------------------------------


def by_formulas(model, design) -> list[float]:
    """Lift over drag and the limited quantities by the model, of what the simulator returns."""
    feasible_set, found = compile_model(model), build_simulator(CASE)(design)
    z = np.concatenate([np.ravel(found[output.name]) for output in model.outputs])
    objective, rows = feasible_set.formulas.at(feasible_set.reduce(design.x), z)
    return [-objective, *rows]


def test_the_correction_in_the_model_is_that_of_aerosandbox():
    model, critical = build_model(CASE), []
    for design in designs(60, seed=4):
        x = archeng.Design(model.variables, model.flat(design), model.parameters)
        known = SectionDrag(CASE)(design)
        expected = [known.objective, *known.constraints.values()]
        np.testing.assert_allclose(by_formulas(model, x), expected, rtol=1e-10)
        critical += list(known.outputs["critical Mach number"])
    beyond = 0.73 - np.array(critical)
    for low, high in ((0.0, 0.068), (0.068, BUFFET), (BUFFET, 1.0)):  # Lock, patch, buffet
        assert ((beyond > low) & (beyond < high)).sum() >= 3


@pytest.mark.parametrize("mach", [0.6, 0.76])
def test_another_mach_number_needs_no_other_simulator(mach):
    model = build_model(CASE).with_parameters({"Mach number": mach})
    design = archeng.Design(model.variables, model.flat(OPTIMUM), model.parameters)
    known = SectionDrag(replace(CASE, mach=mach))(OPTIMUM)
    expected = [known.objective, *known.constraints.values()]
    np.testing.assert_allclose(by_formulas(model, design), expected, rtol=1e-10)
    direct = build_simulator(CASE, "direct")(design)  # here the simulator is told
    assert direct.outputs["lift over drag"][0] == pytest.approx(known.objective, rel=1e-12)


@pytest.mark.parametrize("form", ["grey", "direct"])
def test_without_models_all_forms_are_the_same_search(form):
    grey, black = (
        run_seed(Setup("transonic", calls=60, plain=True, form=f), seed=2) for f in (form, "black")
    )
    assert (grey.calls, grey.infeasible_calls) == (60, 0)
    assert [n for n, _ in grey.curve] == [n for n, _ in black.curve]
    assert grey.objective == pytest.approx(black.objective, rel=1e-10)
    assert grey.simulated == pytest.approx(black.simulated, rel=1e-10)


# -- formulas -----------------------------------------


def test_the_judge_has_the_figures_of_the_model():
    for case in (CASE, CASES["point"]):
        judged, shape = JUDGED[case.shape.name], case.shape
        assert dict(zip(judged.stations, judged.least, strict=True)) == shape.thickness
        assert (judged.trailing, judged.wiggles) == (shape.trailing_angle, shape.wiggliness)
        assert (judged.nose, judged.most_angle) == (shape.blunt, shape.angles[1])


def test_rows_of_the_model_are_the_geometry_of_aerosandbox():
    import aerosandbox

    model = build_model(CASE)
    for design in designs(5, seed=2):
        table = model.violations(design)
        section = aerosandbox.KulfanAirfoil(name="design", **kulfan(design))
        for station in CASE.shape.thickness:
            thickness = float(section.local_thickness(station))
            assert table[f"thickness at {station}"].value == pytest.approx(thickness, abs=1e-13)
        angle = float(section.TE_angle())
        assert table["trailing edge (deg)"].value == pytest.approx(angle, rel=1e-12)


def test_the_judge_agrees_with_the_model():
    model, legal = build_model(CASE), 0
    for design in designs(300, seed=3):
        feasible = model.violations(design).maximum == 0
        assert (not exceeded(design, "transport")) == feasible
        legal += feasible
    assert 20 < legal < 280


@pytest.mark.parametrize(
    ("change", "name"),
    [
        ({"angle": [8.1]}, "angle, most"),
        ({"upper": [0.09, *OPTIMUM["upper"][1:]]}, "blunt above"),
        ({"lower": [-0.09, *OPTIMUM["lower"][1:]]}, "blunt below"),
        ({"upper": [0.9 * w for w in OPTIMUM["upper"]]}, "thickness at 0.38"),
        ({"upper": START["upper"], "lower": START["lower"]}, "wiggliness"),
    ],
)
def test_the_judge_sees(change, name):
    assert exceeded(OPTIMUM, "transport") == []
    assert name in exceeded({**OPTIMUM, **change}, "transport")


def test_the_limit_of_the_nose_is_a_radius_of_half_a_percent():
    x = 1e-8  # y^2 = 2 r x at the nose of a parabola
    y = float(surface([CASE.shape.blunt] * 8, 0.0, x))
    assert y**2 / (2 * x) == pytest.approx(0.005, rel=1e-6)


# -- the optimum by gradients -----------------------------------------


def test_the_recorded_optimum_is_legal_and_has_its_ratio():
    assert build_model(CASE).violations(OPTIMUM).maximum == 0
    found = SectionDrag(CASE)(OPTIMUM)
    best = reference()["optima"]["transonic"]["objective"]
    assert found.objective == pytest.approx(best, rel=1e-9)
    assert found.constraints["lift"] > 0.4
    assert -0.12 <= found.constraints["moment"] < -0.12 + 1e-5
    assert found.constraints["confidence"] >= LEAST_CONFIDENCE


def test_ipopt_finds_the_recorded_optimum():
    design = gradient_optimum(CASE, START)
    assert design is not None
    best = reference()["optima"]["transonic"]["objective"]
    assert SectionDrag(CASE)(design).objective == pytest.approx(best, rel=1e-5)


# -- runs -----------------------------------------


def test_a_short_run_with_models_improves_without_infeasible_calls():
    simulator = SectionDrag(CASE)
    result = archeng.solve(
        build_model(CASE, "black"),
        simulator,
        simulated=simulated_limits(CASE),
        sense=CASE.sense,
        max_evaluations=50,
        seed=1,
    )
    assert result.nfev == simulator.n_calls == 50
    assert result.n_infeasible_calls == simulator.n_infeasible == 0
    assert all(s.holds for s in result.simulated)
    section = trimmed(known_section("rae2822"), CASE)
    assert section is not None
    assert result.fun > section.objective + 3
    assert result.outputs["critical Mach number"][0] < 0.73


def test_one_seed_of_the_study():
    record = run_seed(Setup("transonic", calls=400, plain=True), seed=1)
    assert (record.calls, record.infeasible_calls) == (400, 0)
    assert not exceeded(record.design, "transport")
    assert SectionDrag(CASE)(record.design).objective == pytest.approx(record.objective, rel=1e-12)
    assert all(record.simulated[k] >= v for k, (v, _) in simulated_limits(CASE).items())
    ratios = [ratio for _, ratio in record.curve]
    assert ratios == sorted(ratios)
    assert ratios[-1] == record.objective > 58
    assert record.objective < reference()["optima"]["transonic"]["objective"]
    assert record.calls_to(record.objective, CASE.sign) == record.curve[-1][0]
    assert record.calls_to(100.0, CASE.sign) is None


def test_the_best_seed_is_one_that_found_something():
    record = run_seed(Setup("transonic", calls=12, plain=True), seed=1)
    none, better = replace(record, objective=np.nan), replace(record, objective=99.0)
    assert best_record(CASE, [none, record, better]) is better
    assert best_record(CASES["point"], [none, better, record]) is record
    assert best_record(CASE, [none]) is none


def test_command_line(tmp_path, capsys):
    assert (
        main(["--plain", "--form", "both", "--seeds", "1", "--calls", "60", "--out", str(tmp_path)])
        == 0
    )
    printed = capsys.readouterr().out
    assert "- infeasible calls: 0 of 60, judged in NumPy at every call" in printed
    assert "| RAE 2822 | 47.64 | 0.401 |" in printed
    assert "| NACA 0012 | buffets before that lift | - |" in printed
    assert "| Mach 0.73 |" in printed
    assert "optimum by gradients 72.87" in printed
    widths = {line.count("|") for line in printed.splitlines() if "buffets" in line}
    assert widths == {printed.splitlines()[4].count("|")}
    for form in ("grey", "black"):
        data = json.loads((tmp_path / f"transonic_{form}_plain_60.json").read_text())
        assert (data["setup"]["case"], data["setup"]["form"]) == ("transonic", form)
        options = f"--case transonic --form {form} --plain --seeds 1 --calls 60"
        command = f"python -m case_studies.airfoil {options}"
        assert data["provenance"]["command"] == command  # not the folder
        assert (tmp_path / f"transonic_{form}_plain_60.png").stat().st_size > 10_000
        assert f"| {form} | 1 | {data['seeds'][0]['objective']:.7g} |" in printed
