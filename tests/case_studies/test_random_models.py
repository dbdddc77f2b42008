"""Random models: a slice of the study, and a referee that can say no."""

from __future__ import annotations

import math

import numpy as np
import pytest

from archeng.model import compile_model
from case_studies.random_models import KINDS, make_case, violated
from case_studies.random_models.__main__ import main
from case_studies.random_models.referee import value_and_error
from case_studies.random_models.study import judge, run_all, summary


@pytest.mark.slow
def test_a_slice_of_the_study() -> None:
    results = list(run_all(range(2 * len(KINDS))))
    found = summary(results)
    assert {r.kind for r in results} == set(KINDS)
    assert found["infeasible calls"] == 0
    assert found["raw exceptions"] == found["refused"] == 0, [r for r in results if r.message]
    assert found["no feasible design found"] <= 1
    assert found["calls"] > 200


@pytest.mark.parametrize("seed", range(2 * len(KINDS)))
def test_both_evaluations_of_a_formula_agree(seed: int) -> None:
    case = make_case(seed)
    assert judge(case, case.planted)
    model = case.model()
    table = {row.name: row.value for row in model.violations(case.planted)}
    for k, row in enumerate(case.rows):
        value, error = value_and_error(row.tree, case.planted)
        assert abs(table[f"r{k}"] - float(value)) <= 8 * float(error)


def test_the_referee_rejects_what_archeng_rejects() -> None:
    """Random designs of all kinds: both say the same, but for rounding at the limits."""
    rejected = 0
    for seed in range(len(KINDS)):
        case = make_case(seed)
        fs = compile_model(case.model())
        for u in np.random.default_rng(seed).uniform(-1, 1, (20, len(case.center))):
            x = case.center + case.half * u
            feasible = fs.is_feasible(x)
            assert feasible == judge(case, x)
            rejected += not feasible
    assert rejected > 20


def test_the_referee_by_hand() -> None:
    x = ("x", 0)
    assert violated(x, -math.inf, 1.0, [1.0 + 1e-15])
    assert not violated(x, -math.inf, 1.0, [1.0])
    assert violated(("log", x), -math.inf, math.inf, [0.0])
    assert violated(("/", 1.0, x), -math.inf, math.inf, [0.0])
    edge = ("-", ("*", 3.0, x), 0.3)  # with the double 0.1, negative by less than its error
    assert not violated(("sqrt", edge), -1.0, 1.0, [np.nextafter(0.1, 0)])
    assert violated(("sqrt", edge), -1.0, 1.0, [0.1 - 1e-14])
    assert violated(("log", edge), -math.inf, math.inf, [0.1 - 1e-14])
    third = ("/", x, 3.0)  # not a float: within the error of the division
    assert not violated(third, 1 / 3, 1 / 3, [1.0])
    assert violated(("if", 0, 2.0, x, 0.0), 1.5, math.inf, [2.0])
    assert not violated(("if", 0, 2.0, x, 0.0), 1.5, math.inf, [1.9])


def test_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--models", "2", "--seed", "4"]) == 0
    printed = capsys.readouterr().out
    assert "infeasible calls: 0" in printed
    with pytest.raises(SystemExit):
        main(["--models", "0"])
