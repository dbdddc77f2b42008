"""Pyomo's own examples of black boxes: their optima, and what both solvers need for them."""

from __future__ import annotations

import json
from typing import Any
from unittest import mock

import numpy as np
import pyomo.environ as pyo
import pytest

import archeng
from case_studies.greybox import casadi_ipopt
from case_studies.greybox.pyomo_examples import (
    EXAMPLES,
    RECORD,
    Counted,
    by_archeng,
    by_trust_region,
    main,
    watched,
)

EASON, YOSHIO, REACTOR = EXAMPLES


@pytest.mark.parametrize("example", [EASON, YOSHIO], ids=lambda e: e.name)
def test_the_known_optima_are_those_of_the_formulas(example: Any) -> None:
    """With the external function as a formula, IPOPT needs no black box."""
    with mock.patch.object(example.module, "ExternalFunction", lambda function, gradient: function):
        m = example.module.create_model()
    model = archeng.from_pyomo(m, objective=True)
    assert model.outputs == ()
    starts = np.random.default_rng(1).uniform(-2, 2, (8, model.n_variables))
    ends = [casadi_ipopt.minimum(model, start) for start in starts]
    values = [model.objective_function()(x) for x, good in ends if good]
    assert min(values) == pytest.approx(example.optimum, rel=1e-7)


def test_the_optimum_of_the_reactor() -> None:
    """By hand: a from its quadratic equation, b = k1 a / (v + k2)."""
    v = np.linspace(1, 2, 100_001)
    k1, k2, k3, feed = 5 / 6, 5 / 3, 1 / 6000, 10_000
    a = (-(v + k1) + np.sqrt((v + k1) ** 2 + 8 * k3 * v * feed)) / (4 * k3)
    assert np.max(k1 * a / (v + k2)) == pytest.approx(REACTOR.optimum, rel=1e-8)


def test_finite_differences_are_counted() -> None:
    counted = Counted()
    function = counted.function(lambda a, b: a + b)
    gradient = counted.gradient(lambda v, fixed: [1.0, 1.0])
    assert function(1.0, 2.0) == function(1.0, 2.0) == 3.0
    assert gradient([1.0, 2.0], None) == gradient([3.0, 4.0], None) == [1.0, 1.0]
    assert counted.calls() == {
        "function": 2,
        "gradient": 2,
        "black_box": 2 + 2 * 2,  # two points, two differences at each
        "black_box_n_plus_1": 2 + 2 * 3,
    }


@pytest.mark.parametrize("strategy", ["filter", "funnel"])
@pytest.mark.parametrize("example", [EASON, YOSHIO], ids=lambda e: e.name)
def test_the_trust_region_solver_finds_them_with_the_ipopt_of_casadi(
    example: Any, strategy: str
) -> None:
    found = by_trust_region(example, strategy)
    assert found is not None
    assert found["converged"]
    assert found["objective"] == pytest.approx(example.optimum, rel=1e-5)
    assert found["function"] >= found["gradient"] > 1


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda e: e.name)
def test_archeng_finds_them_without_derivatives(example: Any) -> None:
    found = by_archeng(example, seed=1)
    assert found["objective"] == pytest.approx(example.optimum, rel=1e-4)
    assert found["objective_in_pyomo"] == pytest.approx(found["objective"], rel=1e-9)
    assert found["calls_to_optimum"] <= found["black_box"] <= 200
    assert found["infeasible_calls"] == 0


def test_designs_are_explicitly_feasible_by_pyomo_itself() -> None:
    with watched(EASON, derivatives=False) as (m, counted):
        results = pyo.SolverFactory("archeng").solve(m, options={"seed": 2})
        for e in results.archeng.evaluations:
            for name, value in zip(["z[0]", "z[1]", "z[2]", "x[0]", "x[1]"], e.x, strict=True):
                m.find_component(name).set_value(value)
            assert abs(pyo.value(m.c2.body) - pyo.value(m.c2.upper)) <= 1e-5
    assert len(counted.values) == results.archeng.nfev
    assert counted.slopes == []


@pytest.mark.slow
def test_the_command_prints_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--seeds", "1"]) == 0
    out = capsys.readouterr().out
    for word in ("Eason", "Yoshio", "reactor", "not possible", "0.27704479"):
        assert word in out


def test_the_record_is_of_these_examples() -> None:
    record = json.loads(RECORD.read_text(encoding="utf-8"))
    assert [e["name"] for e in record["examples"]] == [e.name for e in EXAMPLES]
    assert "pyomo_examples" in record["provenance"]["command"]
    for example in record["examples"]:
        assert all(run["infeasible_calls"] == 0 for run in example["archeng"])
