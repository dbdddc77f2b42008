"""archeng as a driver of the real OpenMDAO: its own examples, units, scaling, failures, cases."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import casadi
import numpy as np
import pytest

import archeng
from archeng.errors import ModelError, SettingsError

with warnings.catch_warnings():  # of imports inside OpenMDAO
    warnings.simplefilter("ignore")
    import openmdao.api as om
    from openmdao.test_suite.components.sellar import SellarDerivatives
    from openmdao.test_suite.test_examples.beam_optimization.beam_group import BeamGroup

    from archeng.adapters.openmdao import ArchengDriver


def coupled() -> Any:
    """Sellar without objective and constraints."""
    prob = om.Problem(SellarDerivatives(), reports=False)
    model = prob.model
    model.nonlinear_solver = om.NonlinearBlockGS(iprint=-1, maxiter=50, atol=1e-10, rtol=1e-12)
    model.add_design_var("x", lower=0, upper=10)
    model.add_design_var("z", lower=0, upper=10)
    return prob


def sellar() -> Any:
    prob = coupled()
    prob.model.add_objective("obj")
    prob.model.add_constraint("con1", upper=0)
    prob.model.add_constraint("con2", upper=0)
    return prob


def test_sellar_reaches_its_known_optimum() -> None:
    # Sellar, Batill and Renaud (1996): 3.18339 at z = (1.9776, 0), x = 0.
    prob = sellar()
    prob.driver = ArchengDriver(max_evaluations=300, target=3.1834, seed=1)
    prob.setup()
    outcome = prob.run_driver()
    result = prob.driver.archeng_result
    assert outcome.success
    assert result.fun == pytest.approx(3.18339395, abs=1e-4)
    assert prob["obj"][0] == pytest.approx(result.fun, rel=1e-9)
    np.testing.assert_allclose(prob["z"], [1.977639, 0.0], atol=1e-3)
    assert prob["con1"][0] <= 0
    assert [s.name for s in result.simulated] == ["con1", "con2"]
    assert outcome.model_evals == result.nfev + 1  # and once more at the best design


def test_explicit_constraints_hold_at_every_run_of_the_model() -> None:
    prob = sellar()
    prob.driver = ArchengDriver(max_evaluations=60, seed=1)
    prob.driver.add_explicit("sum", lambda v: v["x"] + v["z"][0] >= 2.5)
    prob.driver.add_explicit("ring", lambda v: v["z"][0] ** 2 + v["z"][1] ** 2, equals=4.0)
    prob.setup()
    prob["x"], prob["z"] = 0.0, [0.0, 0.0]  # violates both; it is not run
    seen: list[Any] = []
    run = prob.model.run_solve_nonlinear

    def watched() -> Any:
        seen.append((prob["x"].item(), *prob["z"]))
        return run()

    prob.model.run_solve_nonlinear = watched
    prob.run_driver()
    assert len(seen) == prob.driver.archeng_result.nfev + 1 > 5
    for x, z0, z1 in seen:
        assert x + z0 >= 2.5
        assert abs(z0**2 + z1**2 - 4.0) <= 1e-6
    assert {r.name for r in prob.driver.archeng_result.rows if r.active} >= {"ring"}


def test_beam_with_its_volume_as_explicit_equality() -> None:
    def beam() -> Any:
        return om.Problem(
            BeamGroup(E=1.0, L=1.0, b=0.1, volume=0.01, num_elements=4), reports=False
        )

    peer = beam()
    peer.driver = om.ScipyOptimizeDriver(optimizer="SLSQP", tol=1e-9, disp=False)
    peer.setup()
    peer.run_driver()
    prob = beam()
    prob.driver = ArchengDriver(max_evaluations=200, seed=1)
    prob.driver.add_explicit(
        "volume", lambda v: 0.1 * sum(v["h"][i] for i in range(4)) / 4, equals=0.01, tolerance=1e-9
    )
    prob.setup()
    prob.run_driver()
    name = "compliance_comp.compliance"
    assert prob[name][0] == pytest.approx(peer[name][0], rel=1e-5)
    np.testing.assert_allclose(prob["h"], peer["h"], rtol=1e-2)
    assert prob["volume_comp.volume"][0] == pytest.approx(0.01, abs=1.001e-9)


def plate(**keywords: Any) -> Any:
    prob = om.Problem(reports=False)
    comp = om.ExecComp(
        ["strength = t * w**2", "mass = 7.85 * t * w", "ratio = w / t"],
        t={"units": "m", "val": 0.02},
        w={"units": "m", "val": 0.2},
        strength={"units": "m**3"},
        mass={"units": "kg"},
    )
    prob.model.add_subsystem("plate", comp, promotes=["*"])
    prob.model.add_design_var("t", lower=5, upper=50, units="mm", ref=10)
    prob.model.add_design_var("w", lower=10, upper=60, units="cm", ref0=10, ref=60)
    prob.driver = ArchengDriver(max_evaluations=80, seed=1, **keywords)
    return prob


def test_units_scaling_and_maximising() -> None:
    prob = plate()
    prob.model.add_objective("strength", units="cm**3", ref=-1e3)  # negative: maximise
    prob.model.add_constraint("mass", upper=100.0, units="g", ref=50)
    prob.driver.add_explicit("slender", lambda v: v["w"] * 10 - 15 * v["t"], upper=0)  # mm
    prob.setup()
    prob.run_driver()
    # w = 15 t and 7850 t w = 100 g give t = 29.14 mm, w = 437.1 mm
    result = prob.driver.archeng_result
    t = np.sqrt(0.1 / 7.85 / 15)
    assert prob.get_val("t", units="m")[0] == pytest.approx(t, rel=1e-4)
    assert prob.get_val("w", units="m")[0] == pytest.approx(15 * t, rel=1e-4)
    assert result.maximize
    assert result.fun == pytest.approx(prob.get_val("strength", units="cm**3")[0], rel=1e-12)
    assert result.design["t"] == pytest.approx(1e3 * t, rel=1e-4)
    assert [v.unit for v in result.variables] == ["mm", "cm"]
    assert result.simulated[0].upper == 100.0


def test_vector_constraints_equalities_and_indices() -> None:
    prob = om.Problem(reports=False)
    comp = om.ExecComp(
        ["f = sum(y**2)", "g = 2 * y", "last = 2 * y[2]"], y={"val": np.ones(3)}, g={"shape": 3}
    )
    prob.model.add_subsystem("c", comp, promotes=["*"])
    prob.model.add_design_var("y", lower=-1, upper=[1, 2], indices=[0, 2])
    prob.model.add_objective("f")
    prob.model.add_constraint("g", lower=[0.5, -1e30, -1e30], upper=[1e30, 1e30, 3])
    prob.model.add_constraint("last", equals=1.0, alias="third")
    prob.driver = ArchengDriver(max_evaluations=120, seed=1, equality_tolerance=1e-3)
    prob.setup()
    prob.run_driver()
    simulated = {s.name: (s.lower, s.upper) for s in prob.driver.archeng_result.simulated}
    assert simulated == {
        "g[0]": (0.5, np.inf), "g[2]": (-np.inf, 3.0), "third": (0.999, 1.001),
    }  # fmt: skip
    np.testing.assert_allclose(prob["y"], [0.25, 1.0, 0.5], atol=2e-3)


class Fragile(om.ExplicitComponent):
    """f = x^2 + y^2, not defined for x > 1.5; a bug for y > 3."""

    def setup(self) -> None:
        self.add_input("x", 1.0)
        self.add_input("y", 1.0)
        self.add_output("f")
        self.declare_partials("*", "*", method="fd")

    def compute(self, inputs: Any, outputs: Any) -> None:
        if inputs["x"] > 1.5:
            raise om.AnalysisError("flow separated")
        if inputs["y"] > 3:
            raise KeyError("a bug")
        outputs["f"] = inputs["x"] ** 2 + inputs["y"] ** 2


def fragile(upper: float) -> Any:
    prob = om.Problem(reports=False)
    prob.model.add_subsystem("c", Fragile(), promotes=["*"])
    prob.model.add_design_var("x", lower=0.5, upper=2)
    prob.model.add_design_var("y", lower=0.5, upper=upper)
    prob.model.add_objective("f")
    prob.driver = ArchengDriver(max_evaluations=60, seed=1)
    return prob


def test_an_analysis_error_is_a_failed_call() -> None:
    prob = fragile(2.0)
    prob.setup()
    prob["x"] = prob["y"] = 1.5
    prob.run_driver()
    result = prob.driver.archeng_result
    failed = [e for e in result.evaluations if not e.good]
    assert failed
    assert all("flow separated" in e.message for e in failed)
    assert prob["f"][0] == pytest.approx(0.5, abs=1e-6)


def test_other_errors_end_the_run() -> None:
    prob = fragile(20.0)
    prob.setup()
    with pytest.raises(KeyError, match="a bug"):
        prob.run_driver()


def test_cases_are_recorded(tmp_path: Path) -> None:
    prob = plate()
    prob.model.add_objective("mass")
    prob.model.add_constraint("strength", lower=1e-4)
    prob.driver.options["max_evaluations"] = 12
    prob.driver.add_recorder(om.SqliteRecorder(tmp_path / "cases.sql"))
    prob.setup()
    prob.run_driver()
    prob.cleanup()
    reader = om.CaseReader(tmp_path / "cases.sql")
    cases = [reader.get_case(c) for c in reader.list_cases("driver", out_stream=None)]
    result = prob.driver.archeng_result
    assert len(cases) == result.nfev + 1
    for case, call in zip(cases, result.evaluations, strict=False):
        assert case.get_val("t", units="mm")[0] == pytest.approx(call.x[0], rel=1e-12)
        assert case.get_val("mass")[0] == pytest.approx(call.objective, rel=1e-12)
        assert case.get_val("strength")[0] == pytest.approx(call.constraints["strength"], rel=1e-9)


def test_journal_and_resume(tmp_path: Path) -> None:
    def problem(**options: Any) -> Any:
        prob = plate(journal=tmp_path / "run.db", **options)
        prob.model.add_objective("mass")
        prob.model.add_constraint("strength", lower=1e-4)
        prob.setup()
        return prob

    first = problem()
    first.driver.options["max_evaluations"] = 8
    first.run_driver()
    second = problem(resume=True)
    second.driver.options["max_evaluations"] = 20
    second.run_driver()
    before, after = first.driver.archeng_result, second.driver.archeng_result
    assert after.nfev > before.nfev == 8
    for a, b in zip(before.evaluations, after.evaluations, strict=False):
        np.testing.assert_array_equal(a.x, b.x)


def test_opt_settings_and_variables_without_bounds() -> None:
    prob = om.Problem(reports=False)
    comp = om.ExecComp("f = (a - 3)**2 + 1e6 * (b - 2e-3)**2")
    prob.model.add_subsystem("c", comp, promotes=["*"])
    prob.model.add_design_var("a")
    prob.model.add_design_var("b", ref=1e-3)
    prob.model.add_objective("f")
    prob.driver = ArchengDriver(max_evaluations=200, seed=1, target=1e-6)
    prob.driver.opt_settings["population_size"] = 10
    prob.setup()
    prob["b"] = 0.0
    assert prob.run_driver().success
    assert prob.driver.archeng_result.status is archeng.Status.TARGET
    assert prob.driver.archeng_result.history[0].population_size == 10


def test_wrong_uses() -> None:
    prob = plate()
    prob.model.add_objective("mass")
    with pytest.raises(ModelError, match="excludes"):
        prob.driver.add_explicit("e", lambda v: v["t"], lower=1, equals=1)
    with pytest.raises(ModelError, match="callable"):
        prob.driver.add_explicit("e", 3, lower=1)
    prob.driver.add_explicit("e", lambda v: v["thickness"], lower=1)
    prob.setup()
    with pytest.raises(ModelError, match="'thickness' is not a design variable; there are t, w"):
        prob.run_driver()
    prob.driver._explicit.clear()
    prob.driver.opt_settings["popsize"] = 3
    with pytest.raises(SettingsError, match="population_size"):
        prob.run_driver()
    prob.driver.opt_settings.clear()
    prob.driver.options["resume"] = True
    with pytest.raises(SettingsError, match="journal"):
        prob.run_driver()


# -- formulas of outputs -----------------------------------------------------------------------


def sellar_formulas() -> archeng.Model:
    """Objective and constraints of `sellar` as they are written in its components."""
    model = archeng.Model("sellar")
    x, z = model.variable("x"), model.variable("z", shape=2)
    y1, y2 = model.output("y1"), model.output("y2")
    model.subject_to(y1 >= 3.16, name="first")
    model.subject_to(y2 <= 24, name="second")
    model.minimize(x**2 + z[1] + y1 + casadi.exp(-y2))
    return model


def test_formulas_of_openmdao_variables() -> None:
    prob = coupled()
    prob.driver = ArchengDriver(model=sellar_formulas(), max_evaluations=60, seed=1)
    prob.setup()
    assert prob.run_driver().success
    result = prob.driver.archeng_result
    assert result.fun == pytest.approx(3.18339395, abs=1e-5)
    assert result.fun == pytest.approx(prob["obj"][0], rel=1e-9)  # OpenMDAO's own formula
    assert [s.name for s in result.simulated] == ["first", "second"]
    assert prob["y1"][0] >= 3.16
    for call in result.evaluations:
        assert call.outputs.keys() == {"y1", "y2"}
        assert (call.x >= 0).all()  # bounds of add_design_var
        assert (call.x <= 10).all()
    assert result.nfev <= 40


def test_the_objective_of_the_model_takes_the_place_of_that_of_openmdao(caplog: Any) -> None:
    prob = coupled()
    prob.model.add_objective("con2")
    prob.driver = ArchengDriver(model=sellar_formulas(), max_evaluations=60, seed=1)
    prob.setup()
    with caplog.at_level("INFO", "archeng"):
        prob.run_driver()
    assert prob["obj"][0] == pytest.approx(3.18339395, abs=1e-5)
    assert "the objective con2 of OpenMDAO is ignored" in caplog.text


def test_explicit_rows_of_the_model_hold_at_every_run() -> None:
    prob, model = coupled(), sellar_formulas()
    model.subject_to(model.symbols[0] + model.symbols[1] >= 2.5, name="sum")
    prob.driver = ArchengDriver(model=model, max_evaluations=40, seed=1)
    prob.setup()
    prob["x"], prob["z"] = 0.0, [0.0, 0.0]
    seen: list[Any] = []
    run = prob.model.run_solve_nonlinear

    def watched() -> Any:
        seen.append(prob["x"].item() + prob["z"][0])
        return run()

    prob.model.run_solve_nonlinear = watched
    prob.run_driver()
    assert len(seen) == prob.driver.archeng_result.nfev + 1 > 5
    assert min(seen) >= 2.5
    assert len(sellar_formulas().declared) == 2
    assert len(model.declared) == 3  # the user's model is not changed


def test_units_of_outputs_and_constraints_of_openmdao_beside_formulas() -> None:
    model = archeng.Model("plate")
    t = model.variable("t", unit="mm")
    w = model.variable("w", unit="cm")
    mass = model.output("mass", unit="g")
    model.subject_to(10 * w <= 15 * t, name="slender")
    model.subject_to(mass / 100 <= 1, name="light")
    model.maximize(t * w**2)  # of the design variables alone
    prob = plate(model=model)
    prob.model.add_constraint("ratio", upper=14.0)
    prob.setup()
    prob.run_driver()
    result = prob.driver.archeng_result
    t_best = np.sqrt(0.1 / 7.85 / 14)
    assert prob.get_val("t", units="m")[0] == pytest.approx(t_best, rel=1e-3)
    assert result.maximize
    assert {s.name for s in result.simulated} == {"ratio", "light"}
    assert result.outputs["mass"] == pytest.approx(100, rel=1e-3)


def test_an_objective_of_the_design_alone_and_no_outputs() -> None:
    model = archeng.Model("plate")
    t, w = model.variable("t"), model.variable("w")
    model.minimize(t * w)
    prob = plate(model=model)
    prob.model.add_constraint("strength", lower=1e-4)
    prob.setup()
    prob.run_driver()
    result = prob.driver.archeng_result
    assert result.fun == pytest.approx(result.design["t"] * result.design["w"], rel=1e-12)
    assert prob["strength"][0] >= 1e-4
    assert result.design["t"] == pytest.approx(5, rel=1e-3)  # thin and wide


def test_formulas_with_the_objective_of_openmdao(tmp_path: Path) -> None:
    def problem(**options: Any) -> Any:
        model = archeng.Model("plate")
        model.variable("t")
        model.variable("w")
        model.subject_to(casadi.sqrt(model.output("strength")) >= 1e-2, name="root")
        prob = plate(model=model, journal=tmp_path / "run.db", **options)
        prob.model.add_objective("mass")
        prob.setup()
        return prob

    first = problem()
    first.driver.options["max_evaluations"] = 8
    first.run_driver()
    second = problem(resume=True)
    second.run_driver()
    before, after = first.driver.archeng_result, second.driver.archeng_result
    assert after.nfev > before.nfev == 8
    assert second["strength"][0] >= 1e-4
    assert after.fun == pytest.approx(7.85 * 0.005 * np.sqrt(1e-4 / 0.005), rel=1e-3)


def test_matrices_keep_their_places() -> None:
    prob = om.Problem(reports=False)
    comp = om.ExecComp(
        ["f = sum((A - B)**2)", "S = 2 * A"],
        A={"val": np.zeros((2, 3))},
        B={"val": np.arange(6.0).reshape(2, 3)},
        S={"shape": (2, 3)},
    )
    prob.model.add_subsystem("c", comp, promotes=["*"])
    prob.model.add_design_var("A", lower=-1, upper=[1.5, 6, 6, 6, 6, 6])
    prob.model.add_objective("f")
    model = archeng.Model("matrix")
    model.variable("A", shape=(2, 3))
    S = model.output("S", shape=(2, 3))
    model.subject_to(S[0, 2] <= 3, name="corner")
    prob.driver = ArchengDriver(model=model, max_evaluations=150, seed=1)
    prob.setup()
    prob.run_driver()
    np.testing.assert_allclose(prob["A"], [[0, 1, 1.5], [3, 4, 5]], atol=1e-2)


def test_models_that_do_not_fit() -> None:
    def run(change: Any, **options: Any) -> Any:
        prob, model = coupled(), sellar_formulas()
        change(model)
        prob.driver = ArchengDriver(model=model, **options)
        prob.setup()
        return prob

    cases = [
        (lambda m: m.variable("u"), r"missing: \[\], not among them: \['u'\]"),
        (lambda m: m.output("y3"), "'y3' of model 'sellar' is not a variable of OpenMDAO"),
        (lambda m: m.output("obj", shape=2), r"shape \(2,\); in OpenMDAO it has 1"),
        (lambda m: m.output("obj", unit="MPa"), "cannot be had in 'MPa'"),
    ]
    for change, message in cases:
        prob = run(change)
        with pytest.raises(ModelError, match=message):
            prob.run_driver()
    prob = run(lambda m: None)
    prob.driver.add_explicit("e", lambda v: v["x"], lower=1)
    with pytest.raises(ModelError, match="write them into the model"):
        prob.run_driver()
    prob = plate(model=archeng.Model())
    prob.model.add_objective("mass")
    prob.setup()
    with pytest.raises(ModelError, match=r"missing: \['t', 'w'\]"):
        prob.run_driver()
    model = archeng.Model()
    model.variable("t", unit="m")
    model.variable("w")
    prob = plate(model=model)
    prob.model.add_objective("mass")
    prob.setup()
    with pytest.raises(
        ModelError, match="'t' has 1 entries, unit 'm'; add_design_var says 1, 'mm'"
    ):
        prob.run_driver()


class Products(om.ExplicitComponent):
    """S = A B (2 x 3 times 3 x 2) in kg, T = 2 u in K, with partial derivatives."""

    def setup(self) -> None:
        self.add_input("A", np.ones((2, 3)), units="m")
        self.add_input("u", 300.0, units="K")
        self.add_output("S", np.ones((2, 2)), units="kg")
        self.add_output("T", 300.0, units="K")
        self.declare_partials("*", "*")

    def compute(self, inputs: Any, outputs: Any) -> None:
        outputs["S"], outputs["T"] = inputs["A"] @ self.second, 2 * inputs["u"]

    def compute_partials(self, inputs: Any, partials: Any) -> None:
        partials["S", "A"] = np.kron(np.eye(2), self.second.T)
        partials["T", "u"] = 2

    second = np.arange(6.0).reshape(3, 2)


def test_gradients_are_those_of_the_outputs_in_their_units() -> None:
    prob = om.Problem(reports=False)
    prob.model.add_subsystem("c", Products(), promotes=["*"])
    prob.model.add_design_var("A", lower=100, upper=300, units="cm", ref=10)
    prob.model.add_design_var("u", lower=250, upper=350)
    model = archeng.Model("products")
    model.variable("A", shape=(2, 3), unit="cm")
    model.variable("u")
    S, T = model.output("S", shape=(2, 2), unit="g"), model.output("T", unit="degF")
    model.subject_to(T <= 700, name="hot")
    model.minimize(S[0, 1] - S[1, 0])
    prob.driver = ArchengDriver(model=model, gradients=True, max_evaluations=12, seed=1)
    prob.setup()
    prob.run_driver()
    first, *others = prob.driver.archeng_result.evaluations
    assert len(others) >= 8
    for call in others:  # all outputs are linear, so slopes are differences
        step = call.x - first.x
        for name in ("S", "T"):
            difference = np.subtract(call.outputs[name], first.outputs[name])
            slope = np.array(call.gradients[name]) @ step
            np.testing.assert_allclose(slope, difference.reshape(-1, order="F"), 1e-8, 1e-6)


def test_gradients_by_some_entries_of_a_variable() -> None:
    prob = om.Problem(reports=False)
    comp = om.ExecComp("f = 3 * y[0] + 5 * y[1] + 7 * y[2]", y={"val": np.ones(3)})
    prob.model.add_subsystem("c", comp, promotes=["*"])
    prob.model.add_design_var("y", lower=-1, upper=1, indices=[2, 0])
    model = archeng.Model("some")
    model.variable("y", shape=2)
    model.minimize(model.output("f") ** 2)
    prob.driver = ArchengDriver(model=model, gradients=True, max_evaluations=3, seed=1)
    prob.setup()
    prob.run_driver()
    for call in prob.driver.archeng_result.evaluations:
        np.testing.assert_allclose(call.gradients["f"], [[7, 3]], rtol=1e-12)


def test_gradients_by_differences_of_the_whole_model_are_refused() -> None:
    prob = coupled()
    prob.model.approx_totals(method="fd")
    prob.driver = ArchengDriver(model=sellar_formulas(), gradients=True, max_evaluations=9)
    prob.setup()
    with pytest.raises(ModelError, match="differences, which would run it at designs that violate"):
        prob.run_driver()


# -- discrete variables ------------------------------------------------------------------------


class Bolts(om.ExplicitComponent):  # type: ignore[misc]
    """A joint with a whole number of bolts."""

    def setup(self) -> None:
        """Declare inputs and outputs."""
        self.add_discrete_input("bolts", 6)
        self.add_input("diameter", 10.0)
        self.add_output("mass")
        self.add_output("strength")
        self.seen: list[Any] = []

    def compute(self, inputs: Any, outputs: Any, discrete_inputs: Any, _: Any = None) -> None:
        """Compute mass and strength."""
        n, d = discrete_inputs["bolts"], inputs["diameter"].item()
        self.seen.append((n, d))
        outputs["mass"] = n * d**2 + 20 * n
        outputs["strength"] = n * d**2.2


def joint(**bounds: Any) -> Any:
    prob = om.Problem(reports=False)
    prob.model.add_subsystem("joint", Bolts(), promotes=["*"])
    prob.model.add_design_var("bolts", **bounds)
    prob.model.add_design_var("diameter", lower=5, upper=30)
    prob.model.add_objective("mass")
    prob.driver = ArchengDriver(max_evaluations=80, seed=1)
    prob.driver.add_explicit("room", lambda v: v["bolts"] * v["diameter"], lower=55)
    return prob


@pytest.mark.slow
def test_discrete_design_variables_are_integers() -> None:
    prob = joint(lower=3, upper=12)
    prob.setup()
    prob.run_driver()
    result = prob.driver.archeng_result
    seen = prob.model.joint.seen
    driven = [(n, d) for n, d in seen if (n, d) != (6, 10.0)]
    assert driven
    assert all(isinstance(n, int) and n * d >= 55 - 1e-9 for n, d in driven)
    assert type(result.design["bolts"]) is int
    best = min(n * max(5.0, 55 / n) ** 2 + 20 * n for n in range(3, 13))
    assert result.fun == pytest.approx(best, rel=1e-4)
    assert prob.get_val("bolts") == result.design["bolts"]


def test_discrete_design_variables_need_bounds() -> None:
    prob = joint(lower=3)
    prob.setup()
    with pytest.raises(ModelError, match="'bolts': needs a lower and an upper bound"):
        prob.run_driver()


def test_rows_of_tables_are_no_design_variables() -> None:
    prob = om.Problem(reports=False)
    prob.model.add_subsystem("c", om.ExecComp("f = a + m"), promotes=["*"])
    prob.model.add_design_var("a", lower=0, upper=1)
    prob.model.add_design_var("m", lower=0, upper=1)
    prob.model.add_objective("f")
    model = archeng.Model("tables")
    model.variable("a")
    model.category("m", ["steel", "wood"])
    prob.driver = ArchengDriver(max_evaluations=5, model=model)
    prob.setup()
    with pytest.raises(ModelError, match="'m' is a row of a table, and OpenMDAO sets numbers"):
        prob.run_driver()
