"""Expensive functions inside an Opti or an nlp: taken out, and called at feasible designs only."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np
import pytest
from black_box_helpers import BEST, Box, assert_explicit, beam, stress_of

import archeng
from archeng.errors import JournalError, ModelError, SettingsError, SimulatorError
from archeng.model import compile_model
from archeng.model.black_boxes import EQUALITY_TOLERANCE
from archeng.simulator import Design


def nlp() -> tuple[dict[str, Any], dict[str, Any], Box]:
    """The beam as an nlp dictionary, with its keywords."""
    box = Box("fem", stress_of, [2, 1], {"stress": (1, 1)})
    x, p = ca.MX.sym("x", 2), ca.MX.sym("p")
    problem = {"x": x, "p": p, "g": ca.vertcat(x[1] - 2 * x[0], box(x, p)), "f": x[0] * x[1]}
    return problem, {"lbx": 0.2, "ubx": 5, "ubg": [0, 2], "p": 6, "x0": 2}, box


def at(model: Any, x: Any) -> dict[str, Any]:
    """What the black boxes of a model return at a design."""
    answer: dict[str, Any] = model.black_box(
        Design(model.variables, np.array(x, dtype=float), model.parameters)
    )
    return answer


# -- what becomes of the formulas --------------------------------------------------------------


def test_rows_without_the_box_are_explicit_and_exact() -> None:
    opti, box = beam()
    model = archeng.from_opti(opti, black_boxes=[box])
    assert [c.name for c in model.constraints] == ["g[0]", "g[1]", "g[2]"]
    assert [c.name for c in model.simulated] == ["g[3]"]
    assert [(o.name, o.shape) for o in model.outputs] == [("fem", ())]
    assert model.has_objective
    assert isinstance(model.symbols, ca.SX)  # each row by itself, and fast
    assert model.violations([1.0, 3.0])["g[2]"].value == 1.0
    assert not box.calls
    assert at(model, [1, 2]) == {"outputs": {"fem": 3.0}}
    assert len(box.calls) == 1


def test_results_of_several_shapes_and_names() -> None:
    box = Box("sim", lambda x: [x[0], [[1, 2], [3, x[1]]], x], [2], {
        "a": (1, 1), "b": (2, 2), "c": (2, 1),
    })  # fmt: skip
    opti = ca.Opti()
    x = opti.variable(2)
    a, b, _ = box(x)
    opti.subject_to(ca.vertcat(a + b[1, 1], x[0] - x[1]) <= 3)
    model = archeng.from_opti(opti, black_boxes=[box])
    assert [(o.name, o.shape) for o in model.outputs] == [("sim_a", ()), ("sim_b", (2, 2))]
    assert [c.name for c in model.constraints] == ["g[1]"]  # one element of a vector constraint
    outputs = at(model, [5, 7])["outputs"]
    assert outputs["sim_a"] == 5
    np.testing.assert_array_equal(outputs["sim_b"], [[1, 2], [3, 7]])


def test_a_row_that_only_mx_can_do_does_not_make_the_others_simulated() -> None:
    """Without SX, an element of a column holds all symbols of the column."""
    opti, box = beam()
    other = Box("other", lambda x: [x[0] + x[1]], [2], {"y": (1, 1)}, enable_fd=True)
    x = ca.vertcat(*(s for s in opti.advanced.symvar() if "x" in s.name()))
    opti.subject_to(other(x) <= 8)
    model = archeng.from_opti(opti, black_boxes=[box])
    assert isinstance(model.symbols, ca.MX)
    assert [c.name for c in model.constraints] == ["g[0]", "g[1]", "g[2]", "g[4]"]
    assert [c.name for c in model.simulated] == ["g[3]"]
    result = archeng.solve(model, seed=1, max_evaluations=30)
    assert result.fun == pytest.approx(BEST, rel=1e-3)
    assert len(box.calls) == result.nfev
    assert len(other.calls) > result.nfev  # not named: as before


def test_elements_of_one_vector_that_only_mx_can_do() -> None:
    box = Box("sim", lambda x: [x[0]], [2], {"y": (1, 1)})
    other = Box("other", lambda x: [x[1]], [2], {"y": (1, 1)}, enable_fd=True)
    opti = ca.Opti()
    x = opti.variable(2)
    opti.subject_to(2 * ca.vertcat(box(x), x[0], other(x)) <= 8)
    model = archeng.from_opti(opti, black_boxes=[box])
    assert [c.name for c in model.constraints] == ["g[1]", "g[2]"]
    assert [c.name for c in model.simulated] == ["g[0]"]
    assert model.violations([5.0, 1.0])["g[1]"].value == 10


def test_bounds_beside_a_callback_that_is_not_named_are_bounds() -> None:
    box = Box("sim", lambda x: [x[0]], [2], {"y": (1, 1)}, enable_fd=True)
    opti = ca.Opti()
    x = opti.variable(2)
    opti.subject_to(opti.bounded(1, x, 2))
    opti.subject_to(box(x) <= 8)
    low, high = compile_model(archeng.from_opti(opti)).box()
    assert (low.tolist(), high.tolist()) == ([1, 1], [2, 2])


def test_same_arguments_are_one_call_and_others_another() -> None:
    box = Box("sim", lambda x: [x[0] ** 2], [1], {"y": (1, 1)})
    opti = ca.Opti()
    x = opti.variable()
    opti.subject_to(box(2 * x) <= 3)
    opti.subject_to(box(2 * x) + box(x + 1) <= 9)
    model = archeng.from_opti(opti, black_boxes=[box])
    assert at(model, [3])["outputs"] == {"sim_1": 36.0, "sim_2": 16.0}
    assert len(box.calls) == 2


def test_a_box_that_feeds_another_comes_first() -> None:
    first = Box("first", lambda x: [x[0] + x[1]], [2], {"y": (1, 1)})
    second = Box("second", lambda y, x: [y[0] * x[0]], [1, 1], {"y": (1, 1)})
    x = ca.MX.sym("x", 2)
    problem = {"x": x, "g": second(ca.sqrt(first(x)), x[1]) + x[0]}
    model = archeng.from_nlp(problem, lbx=0, ubx=9, ubg=5, black_boxes=[second, first])
    assert [o.name for o in model.outputs] == ["second"]  # the first is in no formula
    assert at(model, [1, 3])["outputs"]["second"] == 6.0
    assert first.calls[0][0].tolist() == [1, 3]
    assert second.calls[0][0].tolist() == [2]
    assert len(first.calls) == len(second.calls) == 1
    assert model.black_box.names == ("first", "second")


def test_a_box_inside_another_function_is_found() -> None:
    box = Box("sim", lambda x: [x[0] + 1], [1], {"y": (1, 1)})
    s = ca.MX.sym("s")
    inner = ca.Function("inner", [s], [2 * box(s), s])
    outer = ca.Function("outer", [s], [inner(s + 1)[0] + inner(s)[1]])
    opti = ca.Opti()
    x = opti.variable()
    opti.subject_to(outer(3 * x) <= 30)
    model = archeng.from_opti(opti, black_boxes=["sim"])
    assert at(model, [2])["outputs"] == {"sim": 8.0}
    expression = model.simulated[0].rows[0].expression
    row = ca.Function("row", [model.symbols, model.output_symbols], [expression])
    assert float(row(2, 8)) == 2 * 8 + 6


def test_names_of_outputs_avoid_those_of_variables() -> None:
    box = Box("x", lambda x: [x[0]], [1], {"y": (1, 1)})
    other = Box("objective", lambda x: [x[0]], [1], {"y": (1, 1)})
    x = ca.MX.sym("x")
    problem = {"x": x, "g": box(x) + other(x)}
    model = archeng.from_nlp(problem, lbx=0, ubx=1, ubg=1, black_boxes=[box, other])
    assert sorted(o.name for o in model.outputs) == ["objective_", "x_"]


def test_sparse_arguments_and_results() -> None:
    """A diagonal matrix goes in and comes out; its zeros are no unknowns of the formulas."""

    class Diagonal(Box):
        def get_sparsity_in(self, i: int) -> Any:
            return ca.Sparsity.diag(2)

        def get_sparsity_out(self, i: int) -> Any:
            return ca.Sparsity.diag(2)

        def eval(self, arguments: Any) -> Any:
            return [2 * arguments[0]]

    box = Diagonal("twice", stress_of, [2], {"y": (2, 2)})
    x = ca.MX.sym("x", 2)
    problem = {"x": x, "g": ca.sum1(ca.sum2(box(ca.diag(x))))}
    model = archeng.from_nlp(problem, lbx=0, ubx=1, ubg=1, black_boxes=[box])
    np.testing.assert_array_equal(at(model, [3, 4])["outputs"]["twice"], [[6, 0], [0, 8]])


def test_functions_of_casadi_itself_can_be_black_boxes() -> None:
    s = ca.SX.sym("s", 2)
    norm = ca.Function("norm", [s], [ca.norm_2(s)])
    opti = ca.Opti()
    x = opti.variable(2)
    opti.subject_to(norm(x) >= 1)
    assert not archeng.from_opti(opti).outputs
    model = archeng.from_opti(opti, black_boxes=[norm])
    assert at(model, [3, 4])["outputs"] == {"norm": 5.0}


def test_equalities_with_outputs_have_a_tolerance() -> None:
    box = Box("sim", lambda x: [x[0]], [1], {"y": (1, 1)})
    opti = ca.Opti()
    x = opti.variable()
    opti.subject_to(box(x) == 3)

    def limits(**options: Any) -> list[float]:
        model = archeng.from_opti(opti, black_boxes=[box], **options)
        return [float(side[0]) for side in model.simulated[0].limits()]

    assert limits() == [3 - EQUALITY_TOLERANCE, 3 + EQUALITY_TOLERANCE]
    assert limits(tolerance=0.5) == [2.5, 3.5]


@pytest.mark.parametrize(
    ("boxes", "message"),
    [
        (["fea"], "'fea' does not occur in the constraints and the objective.*there: fem"),
        ([Box("fem", stress_of, [2, 1], {"y": (1, 1)})], "'fem' does not occur"),
        ([], "black_boxes must be a list of CasADi functions"),
        ([stress_of], "black_boxes must be a list of CasADi functions"),
        (3, "black_boxes must be a list of CasADi functions"),
    ],
)
def test_what_is_no_black_box_of_the_model(boxes: Any, message: str) -> None:
    opti, _box = beam()
    with pytest.raises(ModelError, match=message):
        archeng.from_opti(opti, black_boxes=boxes)


def test_a_box_in_an_objective_that_is_not_kept_does_not_occur() -> None:
    box = Box("sim", lambda x: [x[0]], [1], {"y": (1, 1)})
    opti = ca.Opti()
    opti.minimize(box(opti.variable()))
    with pytest.raises(ModelError, match=r"'sim' does not occur in the constraints; .*none"):
        archeng.from_opti(opti, black_boxes=[box], objective=False)


def test_places_from_which_a_box_cannot_be_taken() -> None:
    box = Box("sim", lambda x: [x[0]], [1], {"y": (1, 1)})
    opti = ca.Opti()
    x = opti.variable(1, 3)
    opti.subject_to(box.map(3)(x) <= 1)
    with pytest.raises(ModelError, match=r"is inside 'map3_sim', a function of type Map"):
        archeng.from_opti(opti, black_boxes=[box])
    s = ca.SX.sym("s")
    with pytest.raises(ModelError, match=r"SX symbols hold no calls.*'sim'.*MX"):
        archeng.from_nlp({"x": s, "g": s**2}, black_boxes=[box])
    opti, box = beam()
    with pytest.raises(ModelError, match="no derivatives of the black box 'fem'"):
        archeng.from_opti(opti, black_boxes=[box], gradients=True)
    with pytest.raises(ModelError, match="there are none"):
        archeng.from_opti(opti, gradients=True)


# -- derivatives -------------------------------------------------------------------------------


def test_gradients_follow_the_chain_of_boxes() -> None:
    a, b = ca.SX.sym("a", 2), ca.SX.sym("b")
    first = ca.Function("first", [a, b], [a[0] * a[1] + ca.sin(b), a * b], ["a", "b"], ["u", "v"])
    second = ca.Function("second", [b], [b**3])
    x = ca.MX.sym("x", 2)
    u, v = first(x, x[0] ** 2)
    z = second(u + x[1])
    problem = {"x": x, "g": ca.vertcat(z, v, u)}
    boxes = [first, second]
    model = archeng.from_nlp(problem, lbx=0, ubx=3, black_boxes=boxes, gradients=True)
    answer = at(model, [1.3, 0.7])
    exact = ca.Function("exact", [x], [ca.jacobian(e, x) for e in (z, v, u)])(ca.DM([1.3, 0.7]))
    for name, matrix in zip(("second", "first_v", "first_u"), exact, strict=True):
        np.testing.assert_allclose(answer["gradients"][name], matrix.full(), rtol=1e-12)
    bare = archeng.from_nlp(problem, lbx=0, ubx=3, black_boxes=boxes)
    assert "gradients" not in at(bare, [1, 1])


class WithJacobian(Box):
    """x0^2 x1 with its derivatives, which are written by hand."""

    def has_jacobian(self) -> bool:
        return True

    def get_jacobian(self, name: str, inputs: Any, outputs: Any, options: Any) -> Any:
        x, y = ca.MX.sym("x", 2), ca.MX.sym("y")
        slope = ca.horzcat(2 * x[0] * x[1], x[0] ** 2)
        return ca.Function(name, [x, y], [slope], inputs, outputs, options)


def test_gradients_reach_the_records_of_the_calls() -> None:
    box = WithJacobian("sim", lambda x: [x[0] ** 2 * x[1]], [2], {"y": (1, 1)})
    opti = ca.Opti()
    x = opti.variable(2)
    opti.subject_to(opti.bounded(1, x, 2))
    opti.minimize(box(3 * x))
    result = archeng.solve(opti, black_boxes=[box], gradients=True, max_evaluations=5, seed=1)
    assert len(box.calls) == result.nfev == 5  # derivatives need no further calls
    for call in result.evaluations:
        a, b = call.x
        np.testing.assert_allclose(call.gradients["sim"], [[54 * a * b, 27 * a**2]], rtol=1e-12)


def test_finite_differences_are_refused() -> None:
    """They would call the box at designs that violate explicit constraints."""
    opti, box = beam(enable_fd=True)
    with pytest.raises(ModelError, match="only finite differences for the black box 'fem'"):
        archeng.from_opti(opti, black_boxes=[box], gradients=True)
    assert not box.calls


# -- runs --------------------------------------------------------------------------------------


def test_the_box_is_called_once_per_design_and_never_where_an_explicit_row_is_violated() -> None:
    opti, box = beam()
    result = archeng.solve(opti, black_boxes=[box], seed=1, max_evaluations=60)
    assert_explicit([x for x, _ in box.calls])
    assert len(box.calls) == result.nfev <= 40
    assert result.fun == pytest.approx(BEST, rel=1e-4)
    assert result.design["x_1"][1] == pytest.approx(2 * 1.5 ** (1 / 3), rel=1e-3)
    assert float(stress_of(result.x, 6)[0]) <= 2
    called = np.array([x for x, _ in box.calls])
    np.testing.assert_array_equal(called, [e.x for e in result.evaluations])


def test_an_nlp_makes_the_same_run() -> None:
    (opti, box), (problem, keywords, other) = beam(), nlp()
    first = archeng.solve(opti, black_boxes=[box], seed=3, max_evaluations=20, scale=0.96)
    second = archeng.solve(
        problem, black_boxes=["fem"], seed=3, max_evaluations=20, scale=0.96, **keywords
    )
    assert_explicit([x for x, _ in other.calls])
    np.testing.assert_allclose(first.x, second.x, rtol=1e-6)


def test_a_fixed_variable_is_an_argument_like_the_others() -> None:
    problem, keywords, box = nlp()
    keywords["lbx"], keywords["ubx"] = [1.5, 0.2], [1.5, 5]
    result = archeng.solve(problem, black_boxes=[box], seed=1, max_evaluations=30, **keywords)
    assert {float(x[0]) for x, _ in box.calls} == {1.5}
    assert result.x[1] == pytest.approx(2, rel=1e-3)  # 12 / (1.5 h^2) = 2


def test_a_box_in_the_objective_only() -> None:
    box = Box("cost", lambda x: [(x[0] - 1) ** 2 + x[1]], [2], {"y": (1, 1)})
    opti = ca.Opti()
    x = opti.variable(2)
    opti.subject_to(opti.bounded(0, x, 3))
    opti.subject_to(ca.sum1(x) >= 2)
    opti.minimize(ca.exp(box(x)))
    result = archeng.solve(opti, black_boxes=[box], seed=1, max_evaluations=60)
    assert all(np.sum(x) >= 2 for (x,) in box.calls)
    np.testing.assert_allclose(result.x, [1.5, 0.5], atol=2e-3)
    assert result.fun == pytest.approx(np.exp(0.75), rel=1e-5)


def test_a_simulator_takes_the_place_of_the_boxes() -> None:
    opti, box = beam()
    result = archeng.solve(
        opti,
        lambda d: {"fem": stress_of(d.x, 6)[0]},
        black_boxes=[box],
        seed=1,
        max_evaluations=60,
    )
    assert result.fun == pytest.approx(BEST, rel=1e-3)
    assert not box.calls
    with pytest.raises(SimulatorError, match=r'a formula.*"fem"'):
        archeng.solve(opti, lambda d: 3.0, black_boxes=[box], max_evaluations=5)


def test_boxes_without_an_objective_are_not_called() -> None:
    opti, box = beam()
    opti.minimize(0)
    with pytest.raises(SettingsError, match=r"black boxes but no objective.*\['fem'\]"):
        archeng.solve(opti, black_boxes=[box], max_evaluations=5)
    assert not box.calls


def test_a_box_that_raises_is_a_failed_call() -> None:
    def fragile(x: Any, load: Any) -> list[Any]:
        if x[0] > 1.6:
            raise ArithmeticError("no convergence")
        return stress_of(x, load)

    opti, box = beam(fragile)
    opti.set_initial(opti.x, [1.5, 2.5])
    result = archeng.solve(opti, black_boxes=[box], seed=1, max_evaluations=60)
    failed = [e for e in result.evaluations if not e.good]
    assert failed
    assert all("no convergence" in e.message for e in failed)
    assert result.fun == pytest.approx(BEST, rel=1e-3)


def test_a_box_known_by_its_name_fails_as_well(capfd: Any) -> None:
    def fragile(x: Any, load: Any) -> list[Any]:
        if x[0] > 1.6:
            raise ArithmeticError("no convergence")
        return stress_of(x, load)

    opti, box = beam(fragile)
    opti.set_initial(opti.x, [1.5, 2.5])
    result = archeng.solve(opti, black_boxes=["fem"], seed=1, max_evaluations=30)
    assert [e for e in result.evaluations if "no convergence" in e.message]
    assert box.calls
    capfd.readouterr()


@pytest.mark.parametrize("answer", [None, 3.0, [1.0, 2.0], [[1.0, 2.0]], ["text"]])
def test_a_box_that_is_written_wrongly_ends_the_run(answer: Any) -> None:
    opti, box = beam(lambda x, load: answer)
    with pytest.raises(SimulatorError, match=r"black box 'fem'|fem|Wrong|text"):
        archeng.solve(opti, black_boxes=[box], seed=1, max_evaluations=20)
    assert len(box.calls) == 1


# -- workers -----------------------------------------------------------------------------------


def test_threads_call_the_box() -> None:
    names = set()

    def noted(x: Any, load: Any) -> list[Any]:
        names.add(threading.current_thread().name)
        return stress_of(x, load)

    opti, box = beam(noted)
    result = archeng.solve(opti, black_boxes=[box], seed=1, max_evaluations=24, workers="threads:2")
    assert_explicit([x for x, _ in box.calls])
    assert result.nfev == len(box.calls)
    assert names
    assert all(name.startswith("archeng") for name in names)


def test_a_callback_cannot_be_sent_to_another_process() -> None:
    opti, box = beam()
    with pytest.raises(SettingsError, match=r"black box 'fem' is a Callback.*threads:N"):
        archeng.solve(opti, black_boxes=[box], seed=1, max_evaluations=8, workers=2)
    assert not box.calls


@pytest.mark.slow
def test_functions_of_casadi_can_be_sent_to_another_process() -> None:
    s = ca.SX.sym("s", 2)
    product = ca.Function("product", [s], [s[0] * s[1]])
    opti = ca.Opti()
    x = opti.variable(2)
    opti.subject_to(opti.bounded(0.5, x, 3))
    opti.subject_to(product(x) >= 2)
    opti.minimize(ca.sum1(x))
    result = archeng.solve(opti, black_boxes=[product], seed=1, max_evaluations=40, workers=1)
    assert result.fun == pytest.approx(2 * np.sqrt(2), rel=1e-3)


# -- journals ----------------------------------------------------------------------------------


@pytest.mark.parametrize("as_model", [True, False])
def test_a_journal_goes_on_with_the_same_calls(tmp_path: Path, as_model: bool) -> None:
    opti, box = beam()
    whole = archeng.solve(
        opti, black_boxes=[box], seed=1, max_evaluations=16, journal=tmp_path / "whole.db"
    )
    path = tmp_path / "part.db"
    archeng.solve(opti, black_boxes=[box], seed=1, max_evaluations=7, journal=path)
    box.calls.clear()
    given = archeng.from_opti(opti, black_boxes=[box]) if as_model else opti
    result = archeng.resume(path, model=given, max_evaluations=16)
    assert len(box.calls) == result.nfev - 7
    assert_explicit([x for x, _ in box.calls])
    np.testing.assert_array_equal(
        [e.x for e in result.evaluations], [e.x for e in whole.evaluations]
    )


def test_a_journal_without_the_box_says_what_to_pass(tmp_path: Path) -> None:
    opti, box = beam()
    path = tmp_path / "run.db"
    archeng.solve(opti, black_boxes=[box], seed=1, max_evaluations=7, journal=path)
    with pytest.raises(JournalError, match=r"black box 'fem'.*model=opti"):
        archeng.resume(path, max_evaluations=9)
    plain = archeng.from_opti(opti, black_boxes=[box])
    plain.black_box = None
    with pytest.raises(JournalError, match=r"black box 'fem'.*black_boxes="):
        archeng.resume(path, model=plain, max_evaluations=9)

    def simulator(design: Any) -> dict[str, Any]:
        return {"fem": stress_of(design.x, 6)[0]}

    calls = len(box.calls)
    result = archeng.resume(path, simulator, max_evaluations=9)  # as the outputs say
    assert result.nfev == 9
    assert len(box.calls) == calls
