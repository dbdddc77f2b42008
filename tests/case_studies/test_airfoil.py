"""The airfoil at low speed: known sections, formulas against aerosandbox, runs, commands."""

from __future__ import annotations

import builtins
import pickle
import sys

import numpy as np
import pytest
from study_commands import is_picture, refused, run_twice

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
from case_studies.airfoil.limits import exceeded, limits, surface
from case_studies.airfoil.reference import gradient_optimum
from case_studies.airfoil.sections import known_section, trimmed
from case_studies.airfoil.shapes import LOW_SPEED
from case_studies.airfoil.simulator import aerodynamics, kulfan
from case_studies.airfoil.study import Setup, run_seed

pytestmark = pytest.mark.slow

POINT, POLAR = CASES["point"], CASES["polar"]
START = {**reference()["starts"]["NACA 4412"], "angle": [6.0]}


def optimum(name: str) -> dict:
    return reference()["optima"][name]["design"]


def designs(k: int, seed: int) -> list[dict]:
    """Designs on both sides of the limits, around one between the optimum and the start."""
    rng = np.random.default_rng(seed)
    centre = {
        name: (0.8 * np.asarray(value) + 0.2 * np.asarray(START[name]))
        * (1.05 if name == "upper" else 1.0)
        for name, value in optimum("point").items()
    }
    spread = rng.choice([1e-3, 1e-2, 0.1], k)
    return [
        {name: value + s * rng.standard_normal(value.shape) for name, value in centre.items()}
        for s in spread
    ]


def as_aerosandbox(design: dict):
    import aerosandbox

    return aerosandbox.KulfanAirfoil(name="design", **kulfan(design))


# -- the simulator -----------------------------------------


def test_coefficients_of_naca_0012_are_the_measured_ones():
    # Abbott and von Doenhoff, Theory of Wing Sections: at Re = 6e6, smooth, the drag at zero
    # lift is 0.0058 and the lift at 10 degrees 1.08; the lift slope is that of thin sections.
    # With transition as free as in calm air (n_crit 9) computed drag is below that of a tunnel.
    section = known_section("naca0012")
    found = aerodynamics(section, [0.0, 4.0, 10.0], 6e6)
    assert found.lift[0] == pytest.approx(0, abs=1e-9)
    assert found.moment[0] == pytest.approx(0, abs=1e-9)
    assert found.drag[0] == pytest.approx(0.0058, rel=0.15)
    assert found.lift[2] == pytest.approx(1.08, rel=0.05)
    assert found.lift[1] / np.radians(4) == pytest.approx(2 * np.pi, rel=0.1)
    assert (found.confidence > 0.9).all()


def test_it_is_neuralfoil():
    import neuralfoil

    design = optimum("polar")
    found = SectionDrag(POLAR)(design)
    aero = neuralfoil.get_aero_from_kulfan_parameters(
        kulfan(design), alpha=np.array(design["angle"]), Re=POLAR.reynolds, model_size="large"
    )
    weights = np.array(POLAR.weights) / sum(POLAR.weights)
    assert found.objective == pytest.approx(1e4 * float(weights @ aero["CD"]), rel=1e-12)
    assert list(found.constraints) == list(simulated_limits(POLAR))
    assert found.constraints["lift at 1.6"] == aero["CL"][-1]
    assert found.constraints["moment at 0.8"] == aero["CM"][0]
    assert found.constraints["confidence at 1.2"] == aero["analysis_confidence"][2]
    np.testing.assert_array_equal(found.outputs["lift over drag"], aero["CL"] / aero["CD"])


def test_simulator_counts_and_can_be_pickled():
    simulator = SectionDrag(POINT)
    legal = optimum("point")
    thin = {**legal, "upper": 0.9 * np.array(legal["upper"])}
    first = simulator(legal)
    simulator(thin)
    assert (simulator.n_calls, simulator.n_infeasible) == (2, 1)
    copy = pickle.loads(pickle.dumps(simulator))
    assert copy(legal).constraints == first.constraints
    assert (copy.n_calls, copy.n_infeasible) == (3, 1)


def test_known_sections_at_the_lift():
    drags = {}
    for name in ("dae11", "naca4412", "naca2412", "naca0012"):
        found = trimmed(known_section(name), POINT)
        assert found is not None
        drags[name] = found.drag
    assert list(drags) == sorted(drags, key=drags.__getitem__)
    assert drags["dae11"] == pytest.approx(102.7, abs=0.5)
    assert trimmed(known_section("rae2822"), POINT) is None  # it stalls before


def test_without_neuralfoil_the_message_says_what_to_install(monkeypatch):
    real = builtins.__import__

    def without(name, *args, **kwargs):
        if name.split(".")[0] == "neuralfoil":
            raise ImportError("no neuralfoil here")
        return real(name, *args, **kwargs)

    monkeypatch.delitem(sys.modules, "neuralfoil", raising=False)
    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ImportError, match=r"archeng\[airfoil\]"):
        SectionDrag(POINT)(optimum("point"))


# -- formulas -----------------------------------------


def test_surfaces_are_those_of_aerosandbox():
    x = np.linspace(0, 1, 21)
    for design in designs(5, seed=1):
        section = as_aerosandbox(design)
        for side in ("upper", "lower"):
            theirs = getattr(section, f"{side}_coordinates")(x)[:, 1]
            ours = surface(design[side], float(design["leading edge"]), x)
            np.testing.assert_allclose(ours, theirs, atol=1e-13)


def test_rows_of_the_model_are_the_geometry_of_aerosandbox():
    model = build_model(POINT)
    for design in designs(5, seed=2):
        table, section = model.violations(design), as_aerosandbox(design)
        for station in (0.02, 0.33, 0.9, 0.96):
            thickness = float(section.local_thickness(station))
            assert table[f"thickness at {station}"].value == pytest.approx(thickness, abs=1e-13)
        angle = float(section.TE_angle())
        assert table["trailing edge (deg)"].value == pytest.approx(angle, rel=1e-12)
        bends = [np.diff(design[side], 2) for side in ("upper", "lower")]
        wiggles = sum(float(b @ b) for b in bends)
        assert table["wiggliness"].value == pytest.approx(wiggles, rel=1e-12)


def test_the_limit_of_the_wiggles_is_twice_that_of_naca_0012():
    section = known_section("naca0012")
    bends = [np.diff(section[f"{side}_weights"], 2) for side in ("upper", "lower")]
    assert pytest.approx(2 * sum(float(b @ b) for b in bends), rel=1e-6) == LOW_SPEED.wiggliness


@pytest.mark.parametrize("case", [POINT, POLAR])
def test_the_judge_has_the_rows_of_the_model(case):
    model = build_model(case)
    table = model.violations(optimum(case.name))
    judged = limits(optimum(case.name), LOW_SPEED.name)
    rows = [e for e in table if e.name.startswith(("thickness", "trailing", "wiggl", "more"))]
    assert len(rows) == 12 + len(case.lifts) - 1
    for entry in rows:
        value, lower, upper = judged[entry.name]
        assert (lower, upper) == (entry.lower, entry.upper)
        assert entry.value == pytest.approx(value, rel=1e-6, abs=1e-9)


def test_the_judge_agrees_with_the_model():
    model, legal = build_model(POINT), 0
    for design in designs(300, seed=3):
        feasible = model.violations(design).maximum == 0
        assert (not exceeded(design, LOW_SPEED.name)) == feasible
        legal += feasible
    assert 20 < legal < 280


@pytest.mark.parametrize(
    ("change", "name"),
    [
        ({"angle": [18.5]}, "angle, most"),
        ({"leading edge": -1.01}, "leading edge"),
        ({"upper": [0.04, *START["upper"][1:]]}, "blunt above"),
        ({"upper": [float("nan")] * 8}, "wiggliness"),
    ],
)
def test_the_judge_sees_bounds(change, name):
    assert name in exceeded({**optimum("point"), **change}, LOW_SPEED.name)


# -- the optimum by gradients -----------------------------------------


@pytest.mark.parametrize("case", [POINT, POLAR])
def test_the_recorded_optimum_is_legal_and_has_its_drag(case):
    design = optimum(case.name)
    assert build_model(case).violations(design).maximum == 0
    found = SectionDrag(case)(design)
    assert found.objective == pytest.approx(reference()["optima"][case.name]["objective"], rel=1e-9)
    for name, (low, _) in simulated_limits(case).items():
        assert found.constraints[name] >= low
    assert min(v for k, v in found.constraints.items() if "moment" in k) < case.least_moment + 1e-5
    assert min(v for k, v in found.constraints.items() if "conf" in k) >= LEAST_CONFIDENCE


def test_ipopt_finds_the_recorded_optimum():
    design = gradient_optimum(POINT, START)
    assert design is not None
    drag = reference()["optima"]["point"]["objective"]
    assert SectionDrag(POINT)(design).objective == pytest.approx(drag, rel=1e-5)


# -- runs -----------------------------------------


def test_a_short_run_improves_without_infeasible_calls():
    simulator = SectionDrag(POINT)
    result = archeng.solve(
        build_model(POINT, "black"),
        simulator,
        simulated=simulated_limits(POINT),
        max_evaluations=40,
        seed=1,
    )
    assert result.nfev == simulator.n_calls == 40
    assert result.n_infeasible_calls == simulator.n_infeasible == 0
    assert all(s.holds for s in result.simulated)
    section = trimmed(kulfan(START), POINT)  # NACA 4412, where the run begins
    assert section is not None
    assert result.fun < section.drag - 5
    drag, lift = result.outputs["drag"][0], result.outputs["lift"][0]
    assert result.fun == pytest.approx(1e4 * drag, rel=1e-12)
    assert lift >= 1.25


def test_one_seed_of_the_study_with_six_lifts():
    record = run_seed(Setup("polar", calls=400, plain=True), seed=1)  # the grey form
    assert (record.calls, record.infeasible_calls) == (400, 0)
    assert record.violating_calls > 0
    assert not exceeded(record.design, LOW_SPEED.name)
    assert SectionDrag(POLAR)(record.design).objective == pytest.approx(record.objective, rel=1e-12)
    assert all(record.simulated[k] >= v for k, (v, _) in simulated_limits(POLAR).items())
    assert record.curve[-1][1] == record.objective < record.curve[0][1]
    assert record.calls_to(record.objective, POLAR.sign) == record.curve[-1][0]
    assert record.calls_to(0.0, POLAR.sign) is None


@pytest.mark.parametrize("form", ["grey", "direct"])
def test_the_grey_form_at_low_speed_is_the_black_box(form):
    model, simulator = build_model(POLAR, form), build_simulator(POLAR, form)
    formulas = compile_model(model).formulas
    assert formulas.row_names == tuple(simulated_limits(POLAR))
    design = archeng.Design(model.variables, model.flat(optimum("polar")), model.parameters)
    found, known = simulator(design), SectionDrag(POLAR)(design)
    z = np.concatenate([found.outputs[name] for name in ("lift", "drag", "moment", "confidence")])
    objective, rows = formulas.at(design.x, z)
    assert objective == pytest.approx(known.objective, rel=1e-12)
    np.testing.assert_allclose(rows, list(known.constraints.values()), rtol=1e-12)


def test_the_reynolds_number_is_a_parameter():
    model, simulator = build_model(POINT), build_simulator(POINT)
    drags = []
    for reynolds in (5e5, 2e6):
        other = model.with_parameters({"Reynolds number": [reynolds]})
        design = archeng.Design(model.variables, model.flat(optimum("point")), other.parameters)
        drags.append(float(simulator(design).outputs["drag"][0]))
    assert 1e4 * drags[0] == pytest.approx(reference()["optima"]["point"]["objective"], rel=1e-9)
    assert drags[1] < 0.95 * drags[0]


# -- the command line -----------------------------------------


def test_command_line(tmp_path, capsys):
    out = tmp_path / "new" / "folder"
    arguments = ["--case", "point", "--plain", "--seeds", "1", "--calls", "40", "--out", str(out)]
    shown, data = run_twice(main, arguments, out / "point_grey_plain_40.json", capsys)
    assert "- infeasible calls: 0 of 40, judged in NumPy at every call" in shown.out
    assert "| DAE-11 | 102." in shown.out
    assert "optimum by gradients 85.80" in shown.out
    assert "40/40 calls" in shown.err
    assert is_picture(out / "point_grey_plain_40.png")
    assert data["provenance"]["neuralfoil"]


def test_command_line_mistakes(tmp_path, capsys):
    assert "supersonic" in refused(main, ["--case", "supersonic"], capsys)
    (tmp_path / "point_grey_60.json").write_text('{"seeds": [{}]}')
    arguments = ["--case", "point", "--quick", "--out", str(tmp_path)]
    assert "choose another --out" in refused(main, arguments, capsys)
