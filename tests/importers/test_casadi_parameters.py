"""Parameters of an Opti and of an nlp dictionary: kept on request, changed by solve()."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np
import pytest
from black_box_helpers import beam, stress_of

import archeng
from archeng.errors import ModelError
from archeng.model import compile_model


def opti(strict: bool = False) -> Any:
    """p1[0] <= x[0] <= p1[1], x[1] == 2 p2 in the limits, p2 x[0] + x[1] <= 20 in a row."""
    o = ca.Opti()
    x, p1, p2 = o.variable(2), o.parameter(2), o.parameter()
    o.set_value(p1, [1, 4])
    o.set_value(p2, 3)
    o.subject_to(o.bounded(p1[0], x[0], p1[1]))
    o.subject_to(x[0] < 2 * p2 if strict else x[0] <= 2 * p2)
    o.subject_to(x[1] == 2 * p2)
    o.subject_to(p2 * x[0] + x[1] <= 20)
    o.minimize(-x[0])
    o.set_initial(x, 1)
    return o


def test_names_and_values() -> None:
    model = archeng.from_opti(opti(), parameters=True)
    assert [(p.name, p.shape) for p in model.parameters] == [("p_1", (2,)), ("p_2", ())]
    assert model.parameters[1].value == 3
    named = archeng.from_opti(opti(), parameter_names=["range", "load"])
    assert [p.name for p in named.parameters] == ["range", "load"]
    assert not archeng.from_opti(opti()).parameters


@pytest.mark.parametrize("x", [[0.5, 6.0], [3.0, 6.0], [5.0, 4.0]])
def test_the_same_rows_as_with_the_values_put_in(x: list[float]) -> None:
    """Also where a parameter is in a limit: the row is a difference then."""
    other = opti()
    parameters = [s for s in other.advanced.symvar() if "_p_" in s.name()]
    other.set_value(parameters[0], [0, 9])
    other.set_value(parameters[1], 2.5)
    put_in = archeng.from_opti(other, tolerance=1e-3).violations(x)
    kept = archeng.from_opti(opti(), tolerance=1e-3, parameters=True)
    changed = kept.with_parameters({"p_1": [0, 9], "p_2": 2.5}).violations(x)
    assert sorted(r.violation for r in put_in if r.violation > 0) == pytest.approx(
        sorted(r.violation for r in changed if r.violation > 0)
    )
    assert put_in.maximum == pytest.approx(changed.maximum)


def test_strict_limits_with_parameters_stay_strict() -> None:
    def holds(strict: bool) -> bool:
        model = archeng.from_opti(opti(strict), parameters=True, tolerance=1e-3)
        model = model.with_parameters({"p_1": [0, 9], "p_2": 2.0})
        return model.violations([4.0, 4.0]).maximum == 0

    assert holds(strict=False)
    assert not holds(strict=True)


def test_solve_with_other_values() -> None:
    first = archeng.solve(opti(), seed=1, scale=1)
    assert first.x == pytest.approx([4, 6], abs=1e-5)
    other = archeng.solve(opti(), seed=1, scale=1, parameters={"p_1": [1, 9], "p_2": 2.5})
    assert other.x == pytest.approx([5, 5], abs=1e-5)
    named = archeng.solve(
        opti(), seed=1, scale=1, parameter_names=["range", "load"], parameters={"range": [1, 2]}
    )
    assert named.x == pytest.approx([2, 6], abs=1e-5)


def test_simulators_find_them_in_the_design() -> None:
    seen = []

    def simulator(design: Any) -> float:
        seen.append((design.parameters["load"], *design.parameters["range"]))
        return float(design["x_1"][0])

    archeng.solve(
        opti(), simulator, seed=1, scale=1, max_evaluations=3,
        parameter_names=["range", "load"], parameters={"load": 2},
    )  # fmt: skip
    assert set(seen) == {(2, 1, 4)}


@pytest.mark.parametrize("kind", [ca.SX, ca.MX])
def test_nlp(kind: Any) -> None:
    x, p = kind.sym("x", 2), kind.sym("load", 2)
    nlp = {"x": x, "p": p, "g": p[0] * x[0] + x[1], "f": (x[0] - p[1]) ** 2 + x[1]}
    keywords = {"lbx": 0, "ubx": 5, "ubg": 4, "p": [1, 3], "seed": 1}
    assert archeng.solve(nlp, **keywords).x == pytest.approx([3, 0], abs=1e-3)
    changed = archeng.solve(nlp, parameters={"p": [2, 4]}, **keywords)
    assert changed.x == pytest.approx([2, 0], abs=1e-3)


def test_a_scalar_p_is_a_number() -> None:
    x, p = ca.SX.sym("x"), ca.SX.sym("p")
    model = archeng.from_nlp({"x": x, "p": p, "g": p * x}, p=2, ubg=4, parameters=True)
    assert model.parameters[0].value == 2.0
    assert model.with_parameters(p=4).violations([1.5])["g[0]"].value == 6


def test_names_that_do_not_exist() -> None:
    with pytest.raises(ModelError, match=r"no parameters \['load'\]; it has p_1, p_2"):
        archeng.solve(opti(), seed=1, parameters={"load": 3})
    x, p = ca.SX.sym("x"), ca.SX.sym("p")
    with pytest.raises(ModelError, match=r"no parameters \['q'\]; it has p"):
        archeng.solve({"x": x, "p": p, "g": p * x}, p=1, parameters={"q": 3})
    with pytest.raises(ModelError, match=r"no parameters \['p'\]; it has none"):
        archeng.solve({"x": ca.SX.sym("x")}, parameters={"p": 3})
    with pytest.raises(ModelError, match="parameter_names must have one text for each of the 2"):
        archeng.from_opti(opti(), parameter_names=["load"])
    with pytest.raises(ModelError, match="'x_1' exists already"):
        archeng.from_opti(opti(), parameter_names=["load", "x_1"])
    with pytest.raises(ModelError, match="expected shape"):
        archeng.solve(opti(), parameters={"p_1": 3})


def test_black_boxes_get_the_parameters() -> None:
    o, box = beam()
    result = archeng.solve(
        o, black_boxes=[box], parameter_names=["load"], parameters={"load": 12}, seed=1,
        max_evaluations=40,
    )  # fmt: skip
    assert {float(load[0]) for _, load in box.calls} == {12.0}
    assert result.fun == pytest.approx(2 * 3 ** (2 / 3), rel=1e-3)
    assert result.evaluations[0].parameters_read == ("load",)


def test_a_parameter_that_no_box_gets_is_not_read() -> None:
    """Calls can be reused if only such a parameter has changed."""
    o, box = beam()
    x, limit = o.x, o.parameter()
    o.set_value(limit, 9)
    o.subject_to(ca.sum1(x) <= limit)
    model = archeng.from_opti(o, black_boxes=[box], parameter_names=["load", "limit"])
    result = archeng.solve(model, seed=1, max_evaluations=4)
    assert result.evaluations[0].parameters_read == ("load",)


def test_resume_keeps_the_parameters_of_the_journal(tmp_path: Path) -> None:
    o, box = beam()
    path = tmp_path / "run.db"
    archeng.solve(
        o, black_boxes=[box], parameters={"p_1": 12}, seed=1, max_evaluations=6, journal=path
    )
    box.calls.clear()
    result = archeng.resume(path, model=o, max_evaluations=12)
    assert result.nfev == 12
    assert {float(load[0]) for _, load in box.calls} == {12.0}
    for call in result.evaluations:
        assert call.outputs["fem"] == pytest.approx(float(stress_of(call.x, 12)[0]))


def test_limits_are_bounds_as_before_if_they_hold_no_parameter() -> None:
    o = opti()
    o.subject_to(o.bounded(-9, o.x, 9))
    low, high = compile_model(archeng.from_opti(o, parameters=True)).box()
    assert (high <= 9).all()
    assert np.isfinite(low).all()
