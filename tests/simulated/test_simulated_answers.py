"""What a simulator may return: numbers, evaluations, dictionaries, and what is wrong in others."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from simulated_helpers import DISC, disc, gap, plane

import archeng
from archeng import Design, Evaluation, Model, Run
from archeng.errors import SimulatorError
from archeng.model import compile_model
from archeng.simulator import Asked, Call, CallStatus, call, told


@pytest.fixture
def design() -> Design:
    return Design(rod().variables, np.array([1.5]))


def rod() -> Model:
    model = Model("m")
    model.variable("t", lower=0, upper=3)
    return model


def completed(outcome: Call) -> Call:
    """Return what becomes of an answer if two constraints are declared."""
    return Asked(compile_model(rod()), ("stress", "mode")).completed(outcome, np.array([1.5]))


def outcome_of(answer: Any, design: Design) -> Call:
    return call(lambda d: answer, design)


# -- good answers -----------------------------------------------------------------------------


@pytest.mark.parametrize("number", [2.5, 2, np.float32(2.5), np.array([2.5]), np.int64(2)])
def test_a_number(number: Any, design: Design) -> None:
    outcome = outcome_of(number, design)
    assert (outcome.status, outcome.objective) == (CallStatus.OK, float(np.ravel(number)[0]))
    assert outcome.constraints == {}
    assert outcome.outputs == {}


GOOD = [
    Evaluation(2.5, {"stress": 1, "mode": np.float64(50)}, {"mass": 3.2}),
    {"objective": 2.5, "constraints": {"stress": 1.0, "mode": 50.0}, "outputs": {"mass": 3.2}},
    Evaluation(np.array([2.5]), {"mode": np.array([50.0]), "stress": 1.0}, {"mass": np.int8(3)}),
]


@pytest.mark.parametrize("answer", GOOD)
def test_evaluations_and_equal_dictionaries(answer: Any, design: Design) -> None:
    outcome = completed(outcome_of(answer, design))
    assert (outcome.status, outcome.objective, outcome.message) == (CallStatus.OK, 2.5, "")
    assert outcome.constraints == {"stress": 1.0, "mode": 50.0}
    assert {type(v) for v in outcome.constraints.values()} == {float}
    assert outcome.outputs["mass"] == pytest.approx(3.2, abs=0.21)


def test_a_dictionary_needs_an_objective_only(design: Design) -> None:
    outcome = outcome_of({"objective": 1.5}, design)
    assert outcome == Call(CallStatus.OK, 1.5, "", outcome.seconds)


OUTPUTS: list[tuple[Any, Any]] = [
    (3.2, 3.2),
    (7, 7.0),
    (np.float32(0.5), 0.5),
    (True, True),
    (np.bool_(False), False),
    ("converged", "converged"),
    ("", ""),
    ([1, 2.5], [1.0, 2.5]),
    ((1.0, 2.0), [1.0, 2.0]),
    (np.arange(3), [0.0, 1.0, 2.0]),
    ([], []),
    (np.array([[1, 2], [3, 4]]), [[1.0, 2.0], [3.0, 4.0]]),
    (-math.inf, -math.inf),
]


@pytest.mark.parametrize(("given", "kept"), OUTPUTS)
def test_outputs_are_plain(given: Any, kept: Any, design: Design) -> None:
    outcome = outcome_of(Evaluation(1.0, outputs={"o": given}), design)
    assert outcome.status is CallStatus.OK
    found = outcome.outputs["o"]
    assert found == kept
    assert type(found) is type(kept)


def test_an_undefined_output_does_no_harm(design: Design) -> None:
    outcome = outcome_of(Evaluation(1.0, outputs={"o": math.nan, "v": [1.0, math.nan]}), design)
    assert outcome.status is CallStatus.OK
    assert math.isnan(outcome.outputs["o"])
    assert math.isnan(outcome.outputs["v"][1])


# -- bad answers ------------------------------------------------------------------------------

BAD: list[tuple[Any, list[str]]] = [
    (Evaluation(math.nan, {"stress": 1.0, "mode": 50.0}), ["nan", "objective"]),
    (Evaluation("2.5"), ["str", "objective", "not a number"]),  # type: ignore[arg-type]
    (Evaluation(1.0, {"stress": math.nan, "mode": 50.0}), ["nan", "constraint 'stress'"]),
    (Evaluation(1.0, {"stress": math.inf, "mode": 50.0}), ["inf", "constraint 'stress'"]),
    (Evaluation(1.0, {"mode": "50"}), ["str", "'50'", "constraint 'mode'"]),  # type: ignore[dict-item]
    (Evaluation(1.0, {"mode": None}), ["NoneType", "constraint 'mode'"]),  # type: ignore[dict-item]
    (Evaluation(1.0, {"mode": True}), ["bool", "constraint 'mode'"]),
    (Evaluation(1.0, [1.0, 2.0]), ["constraints = [1.0, 2.0]", "dictionary"]),  # type: ignore[arg-type]
    (Evaluation(1.0, outputs=None), ["outputs = None", "dictionary"]),  # type: ignore[arg-type]
    (Evaluation(1.0, outputs={"field": object()}), ["object", "output 'field'", "a text"]),
    (Evaluation(1.0, outputs={"field": None}), ["NoneType", "output 'field'"]),
    (Evaluation(1.0, outputs={"field": [[[1.0], [2.0]]]}), ["list", "output 'field'"]),
    (Evaluation(1.0, outputs={"field": ["a"]}), ["list", "output 'field'"]),
    (Evaluation(1.0, outputs={"field": {"a": 1}}), ["dict", "output 'field'"]),
    (Evaluation(1.0, outputs={"field": np.zeros(10_001)}), ["ndarray", "output 'field'"]),
    ({"objective": 1.0, "stress": 2.0}, ["['objective', 'stress']", "'constraints'"]),
    ({"objective": 1.0, 3: 2.0}, ["'3'"]),
    ({"constraints": {"stress": 2.0}}, ["['constraints']", "'objective'"]),
    ({}, ["[]", "'objective'"]),
    (np.array([1.0, 2.0]), ["ndarray", "not a number"]),
]


@pytest.mark.parametrize(("answer", "words"), BAD)
def test_bad_answers_are_invalid_and_say_why(answer: Any, words: list[str], design: Design) -> None:
    outcome = outcome_of(answer, design)
    assert outcome.status is CallStatus.INVALID
    assert math.isnan(outcome.objective)
    assert outcome.constraints == {}
    for word in words:
        assert word in outcome.message


@pytest.mark.parametrize(("answer", "words"), BAD)
def test_bad_answers_may_be_told_too(answer: Any, words: list[str]) -> None:
    outcome = told(answer)
    assert outcome.status is CallStatus.INVALID
    assert outcome.message.startswith("told as failed: ")
    assert words[-1] in outcome.message


def test_without_a_formula_an_objective_is_needed(design: Design) -> None:
    answer = Evaluation(constraints={"stress": 1.0, "mode": 50.0})
    outcome = completed(outcome_of(answer, design))
    assert outcome.status is CallStatus.INVALID
    assert "returned no objective; return a number, or archeng.Evaluation(" in outcome.message
    assert "model.minimize(...)" in outcome.message


OTHERS: list[tuple[Any, list[str], list[str]]] = [
    (1.0, ["no value of the declared ['stress', 'mode']"], ["which simulated="]),
    (Evaluation(1.0, {"mode": 50.0}), ["no value of the declared ['stress']"], ["'mode'"]),
    (
        Evaluation(1.0, {"mode": 50.0, "stress": 1.0, "mass": 2.0}),
        ["values of ['mass'], which simulated= does not declare", "outputs"],
        ["no value of"],
    ),
    (
        Evaluation(1.0, {"mode": 50.0, "Stress": 1.0}),
        ["no value of the declared ['stress'] and values of ['Stress']"],
        [],
    ),
]


@pytest.mark.parametrize(("answer", "words", "not_there"), OTHERS)
def test_missing_and_undeclared_constraints_are_named(
    answer: Any, words: list[str], not_there: list[str], design: Design
) -> None:
    outcome = completed(outcome_of(answer, design))
    assert outcome.status is CallStatus.INVALID
    assert math.isnan(outcome.objective)
    assert outcome.constraints == {}
    assert all(word in outcome.message for word in words)
    assert not any(word in outcome.message for word in not_there)


def test_failed_calls_are_not_blamed_for_missing_constraints(design: Design) -> None:
    failed = call(lambda d: 1 / 0, design)
    assert completed(failed) is failed


# -- in a run ---------------------------------------------------------------------------------


def test_everything_is_recorded() -> None:
    result = archeng.solve(plane(), disc, simulated=DISC, max_evaluations=12, seed=1)
    assert {e.violated for e in result.evaluations} == {(), ("size",)}
    for e in result.evaluations:
        size = float(e.x @ e.x)
        assert e.constraints == {"size": size}
        assert e.violated == (("size",) if size > 4 else ())
        assert e.acceptable == (size <= 4)
        assert e.outputs == {
            "sum": float(e.x.sum()),
            "where": "in" if size <= 4 else "out",
            "x": e.x.tolist(),
        }
    best = min((e for e in result.evaluations if e.acceptable), key=lambda e: e.objective)
    assert result.fun == best.objective
    assert result.outputs == best.outputs


def test_outputs_without_constraints() -> None:
    def simulator(design: Design) -> dict[str, Any]:
        return {"objective": gap(design.x), "outputs": {"twice": 2 * design.x}}

    result = archeng.solve(plane(), simulator, max_evaluations=8, seed=1)
    assert [e.outputs["twice"] for e in result.evaluations] == [
        (2 * e.x).tolist() for e in result.evaluations
    ]
    assert result.outputs == {"twice": (2 * result.x).tolist()}
    assert result.simulated == ()


@pytest.mark.parametrize(
    ("answer", "word"),
    [(1.0, "'size'"), (Evaluation(1.0, {"length": 1.0}), "'length'")],
)
def test_a_simulator_that_never_returns_them_ends_the_run(answer: Any, word: str) -> None:
    with pytest.raises(SimulatorError, match=word) as caught:
        archeng.solve(plane(), lambda d: answer, simulated=DISC, max_evaluations=20, seed=1)
    assert {e.status for e in caught.value.evaluations} == {"invalid"}


def test_single_answers_without_a_value_are_failed_calls() -> None:
    calls = []

    def simulator(design: Design) -> Any:
        calls.append(design.x)
        if len(calls) % 4 == 0:
            return gap(design.x)
        return (
            Evaluation(gap(design.x), {"size": math.nan}) if len(calls) % 4 == 1 else disc(design)
        )

    result = archeng.solve(plane(), simulator, simulated=DISC, max_evaluations=12, seed=1)
    statuses = [e.status for e in result.evaluations]
    assert statuses == ["invalid", "ok", "ok", "invalid"] * 3
    assert "nan as constraint 'size'" in result.evaluations[0].message
    assert "no value of the declared ['size']" in result.evaluations[3].message
    for e in result.evaluations:
        assert e.good or (e.constraints, e.violated, e.acceptable) == ({}, (), False)


def test_an_answer_without_a_value_is_not_asked_for_again() -> None:
    """Retries are for failed, timed out and lost calls."""
    calls: list[Any] = []

    def simulator(design: Design) -> Any:
        calls.append(design)
        return 1.0 if len(calls) == 2 else disc(design)

    result = archeng.solve(plane(), simulator, simulated=DISC, max_evaluations=6, seed=1, retries=2)
    assert [e.status for e in result.evaluations] == ["ok", "invalid"] + ["ok"] * 4
    assert {e.attempts for e in result.evaluations} == {1}


# -- ask and tell -----------------------------------------------------------------------------


def test_told_evaluations_are_the_run_that_solve_makes() -> None:
    result = archeng.solve(plane(), disc, simulated=DISC, max_evaluations=14, seed=4)
    run = Run(plane(), simulated=DISC, max_evaluations=14, seed=4)
    while not run.stopped:
        answers: list[Any] = []
        for k, candidate in enumerate(run.ask()):
            assert candidate.design is not None
            e = disc(candidate.design)
            plain = {"objective": e.objective, "constraints": e.constraints, "outputs": e.outputs}
            answers.append(plain if k % 2 else e)
        run.tell(answers)
    for a, b in zip(result.evaluations, run.result().evaluations, strict=True):
        assert a.x.tobytes() == b.x.tobytes()
        assert (a.constraints, a.outputs, a.violated) == (b.constraints, b.outputs, b.violated)
    assert run.result().simulated == result.simulated


def test_what_is_told_must_have_the_constraints() -> None:
    run = Run(plane(), simulated=DISC, max_evaluations=20, seed=1)
    candidates = run.ask()
    answers: list[Any] = [disc(c.design) for c in candidates if c.design is not None]
    answers[0], answers[1], answers[2] = None, 1.0, Evaluation(1.0, {"weight": 2.0})
    run.tell(answers)
    assert [e.status for e in run.evaluations[:4]] == ["invalid", "invalid", "invalid", "ok"]
    assert "'size'" in run.evaluations[1].message
    assert "'weight'" in run.evaluations[2].message
