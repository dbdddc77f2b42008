"""One rule for whatever a simulator returns: a number, or a state with a reason."""

from __future__ import annotations

import ctypes
import math
from fractions import Fraction
from typing import Any

import casadi as ca
import numpy as np
import pytest

import archeng
from archeng import Design, Evaluation, Model
from archeng.simulator import CallStatus, call


def model() -> Model:
    made = Model("square")
    x = made.variable("x", lower=0, upper=1)
    y = made.variable("y", lower=0, upper=1)
    made.subject_to(x + y <= 1.5, name="corner")
    return made


class Tensor:
    """As tensors that remember how they were computed."""

    def __array__(self, *arguments: Any, **keywords: Any) -> Any:
        raise RuntimeError("call detach() first")


class Shy:
    def __repr__(self) -> str:
        raise RuntimeError("no words")


ANSWERS = {
    "huge integer": 10**400,
    "huge fraction": Fraction(10**400),
    "tensor": Tensor(),
    "no repr": Shy(),
    "symbol": ca.MX.sym("a"),
    "masked": np.ma.masked,
    "masked mean": np.ma.array([3.0, 4.0], mask=True).mean(),
    "masked element": np.ma.array([3.0], mask=[True]),
    "complex": np.array([1.0 + 2.0j]),
    "ragged output": {"objective": 1.0, "outputs": {"loads": [[1, 2], [3]]}},
    "huge output": {"objective": 1.0, "outputs": {"n": 10**400}},
    "complex output": Evaluation(1.0, outputs={"z": np.array([1j])}),
    "masked output": Evaluation(1.0, outputs={"z": np.ma.array([1.0, 2.0], mask=[0, 1])}),
    "masked constraint": Evaluation(1.0, constraints={"g": np.ma.masked}),
    "constraints are a number": Evaluation(1.0, constraints=3),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("name", ANSWERS)
def test_strange_answers_are_invalid(name: str) -> None:
    design = Design(model().variables, np.array([0.5, 0.25]))
    outcome = call(lambda d: ANSWERS[name], design)
    assert outcome.status is CallStatus.INVALID
    assert math.isnan(outcome.objective)
    assert "the simulator returned" in outcome.message
    assert len(outcome.message) < 600


@pytest.mark.parametrize("workers", [None, "threads:2"])
@pytest.mark.parametrize("name", ANSWERS)
def test_they_end_no_run(name: str, workers: Any) -> None:
    def simulator(design: Design) -> Any:
        return ANSWERS[name] if design["x"] > 0.5 else float(design.x.sum())

    options: dict[str, Any] = {"start": [0.2, 0.2], "seed": 3, "max_evaluations": 16}
    result = archeng.solve(model(), simulator, workers=workers, **options)
    for e in result.evaluations:
        assert e.status == ("invalid" if e.x[0] > 0.5 else "ok")


def test_arrays_that_are_masked_nowhere_are_numbers() -> None:
    design = Design(model().variables, np.array([0.5, 0.25]))
    assert call(lambda d: np.ma.array([3.0], mask=[False]), design).objective == 3.0


@pytest.mark.parametrize("to", [0.25, 5.0])
@pytest.mark.parametrize("how", ["flags", "pointer"])
@pytest.mark.parametrize("workers", [None, "threads:2"])
def test_what_a_simulator_writes_into_its_design_is_not_recorded(
    how: str, to: float, workers: Any
) -> None:
    def simulator(design: Design) -> float:
        value = float(design.x.sum())
        if how == "flags":
            design.x.setflags(write=True)
            design.x[:] = to
        else:  # as a routine in C or Fortran does
            first = design.x.ctypes.data_as(ctypes.POINTER(ctypes.c_double))
            first[0] = first[1] = to
        return value

    result = archeng.solve(model(), simulator, seed=1, max_evaluations=12, workers=workers)
    assert result.nfev == 12
    for e in result.evaluations:
        assert e.status == "ok"
        assert e.objective == e.x.sum()


def test_a_repeated_call_gets_the_same_design() -> None:
    seen: list[tuple[float, ...]] = []

    def simulator(design: Design) -> float:
        seen.append(tuple(design.x.tolist()))
        design.x.setflags(write=True)
        design.x[:] = 0.0
        if seen.count(seen[-1]) == 1:
            raise RuntimeError("no licence")
        return 1.0

    result = archeng.solve(model(), simulator, seed=1, max_evaluations=4, retries=1)
    assert [e.status for e in result.evaluations] == ["ok"] * 4
    assert sorted(seen) == sorted([tuple(e.x.tolist()) for e in result.evaluations] * 2)
