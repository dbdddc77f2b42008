"""One simulator call: every outcome is a state."""

from __future__ import annotations

import sys
import time
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from archeng import Design, Model
from archeng.errors import SimulationTimeoutError, SimulatorError
from archeng.model import compile_model
from archeng.simulator import Asked, CallStatus, call, check_simulator


@pytest.fixture
def design() -> Design:
    model = Model()
    model.variable("t")
    return Design(model.variables, np.array([1.5]))


@pytest.mark.parametrize(
    "value",
    [
        2.5,
        np.float64(2.5),
        np.float32(2.5),
        np.array(2.5),
        np.array([2.5]),
        np.array([[2.5]]),
        Fraction(5, 2),
    ],
)
def test_real_scalars_and_one_element_arrays_are_numbers(design: Design, value: Any) -> None:
    outcome = call(lambda d: value, design)
    assert outcome.status is CallStatus.OK
    assert outcome.objective == 2.5
    assert type(outcome.objective) is float
    assert outcome.message == ""


@pytest.mark.parametrize("value", [3, np.int64(3), np.array([3], dtype=np.int8)])
def test_integers_are_numbers(design: Design, value: Any) -> None:
    assert call(lambda d: value, design).objective == 3.0


def test_the_simulator_gets_a_copy_of_the_very_design(design: Design) -> None:
    seen = []
    call(lambda d: seen.append(d) or 1.0, design)
    assert seen == [design]
    assert seen[0].variables == design.variables
    assert not np.shares_memory(seen[0].x, design.x)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, np.array([np.nan]), np.float32("inf")])
def test_nan_and_infinities_are_invalid(design: Design, value: Any) -> None:
    outcome = call(lambda d: value, design)
    assert outcome.status is CallStatus.INVALID
    assert np.isnan(outcome.objective)
    assert str(float(np.ravel(value)[0])) in outcome.message


NO_NUMBERS = [
    "2.5",
    b"2.5",
    None,
    True,
    False,
    np.bool_(True),
    1 + 0j,
    np.complex128(1),
    [1.0, 2.0],
    [],
    (1.0, 2.0),
    np.array([1.0, 2.0]),
    np.array([]),
    {"value": 1.0, "objective": 2.0},
    object(),
    lambda: 1.0,
]


@pytest.mark.parametrize("value", NO_NUMBERS)
def test_everything_else_is_invalid(design: Design, value: Any) -> None:
    outcome = call(lambda d: value, design)
    assert outcome.status is CallStatus.INVALID
    assert np.isnan(outcome.objective)
    assert type(value).__name__ in outcome.message


def test_a_dictionary_of_outputs_is_for_a_model_that_declares_them(design: Design) -> None:
    """The call itself cannot know; what is asked of the simulator says whether it will do."""
    model = Model()
    model.variable("t", lower=0, upper=2)
    outcome = call(lambda d: {"value": 1.0}, design)
    assert outcome.status is CallStatus.OK
    assert outcome.outputs == {"value": 1.0}
    refused = Asked(compile_model(model)).completed(outcome, design.x)
    assert refused.status is CallStatus.INVALID
    assert refused.mistake
    assert "dictionary with the keys ['value']; expected 'objective'" in refused.message
    model.minimize(2 * model.output("value"))
    accepted = Asked(compile_model(model)).completed(outcome, design.x)
    assert accepted.status is CallStatus.OK
    assert accepted.objective == 2.0


@pytest.mark.parametrize(
    "value",
    [np.array([1 + 2j]), np.array([True]), np.array(["2.5"]), ["2.5"]],
)
def test_arrays_of_no_numbers_are_no_numbers_either(design: Design, value: Any) -> None:
    assert call(lambda d: value, design).status is CallStatus.INVALID


def explode(design: Design) -> float:
    return design["t"] / 0


def test_an_exception_is_a_failed_call_with_its_traceback(design: Design) -> None:
    outcome = call(explode, design)
    assert outcome.status is CallStatus.FAILED
    assert np.isnan(outcome.objective)
    assert "ZeroDivisionError" in outcome.message
    assert "in explode" in outcome.message
    assert 'design["t"] / 0' in outcome.message


def test_a_key_error_by_a_misspelt_name_explains_itself(design: Design) -> None:
    outcome = call(lambda d: d["thick"], design)
    assert outcome.status is CallStatus.FAILED
    assert "'thick' is not a variable; there are t" in outcome.message


def test_sys_exit_is_a_failed_call(design: Design) -> None:
    outcome = call(lambda d: sys.exit("no licence"), design)
    assert outcome.status is CallStatus.FAILED
    assert "no licence" in outcome.message


def test_a_time_out_inside_the_simulator_is_a_state_of_its_own(design: Design) -> None:
    def slow(d: Design) -> float:
        raise SimulationTimeoutError("solver took 3 s")

    outcome = call(slow, design)
    assert outcome.status is CallStatus.TIMED_OUT
    assert outcome.message == "solver took 3 s"


def test_ctrl_c_is_not_swallowed(design: Design) -> None:
    def interrupted(d: Design) -> float:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        call(interrupted, design)


def test_time_in_the_simulator_is_measured(design: Design) -> None:
    outcome = call(lambda d: time.sleep(0.02) or 1.0, design)
    assert 0.015 < outcome.seconds < 5


@pytest.mark.parametrize("thing", [None, 3, "f", [abs]])
def test_a_simulator_must_be_callable(thing: Any) -> None:
    with pytest.raises(SimulatorError, match=f"callable.*got {type(thing).__name__}"):
        check_simulator(thing)


@pytest.mark.parametrize("thing", [abs, lambda d: 1.0, explode, int])
def test_callables_are_simulators(thing: Any) -> None:
    check_simulator(thing)
