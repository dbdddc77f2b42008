"""Where each handler calls the simulator, what the result makes of it, and what is refused."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np
import pytest
from handlers_helpers import (
    INSIDE,
    OUTSIDE,
    SearchName,
    Watching,
    bowl,
    box,
    circle,
    lens,
    model_for,
    settings_of,
    solved,
    wedge,
)

import archeng
from archeng import Design, Model, Result, Run, Settings, Status, StopReason
from archeng.errors import SettingsError
from archeng.settings import HandlerName

MODELS: dict[str, Callable[[], Model]] = {
    "box": lambda: box(3, 2),
    "wedge": wedge,
    "lens": lens,
    "circle": circle,
}


NO_EQUALITIES: tuple[HandlerName, ...] = (
    "resampling",
    "death-penalty",
    "ma-es-ach",
    "one-plus-one-ach",
    "xcma-es-ach",
    "mu-lambda-ach",
)


def takes(handler: SearchName, model: str) -> bool:
    """Whether the handler can have the model at all."""
    if handler == "ap-bch":
        return model == "box"
    if handler == "lccmsa-es":
        return model in ("box", "wedge")
    return model != "circle" or handler not in NO_EQUALITIES


PAIRS = [(h, m) for h in (*INSIDE, "assisted") for m in MODELS if takes(h, m)]


# -- the promise --------------------------------------------------------------------------------


@pytest.mark.parametrize(("handler", "model"), PAIRS)
def test_no_call_violates_a_row(handler: SearchName, model: str) -> None:
    simulator = Watching(MODELS[model]())
    result = solved(
        handler,
        MODELS[model](),
        simulator=simulator,
        max_evaluations=120,
        restarts=30,
        changes={"tol_x": 0.3},
    )
    assert len(simulator.violations) == result.nfev == 120
    assert simulator.violations == [0.0] * 120
    assert result.n_infeasible_calls == 0
    assert {e.max_violation for e in result.evaluations} == {0.0}


@pytest.mark.parametrize("handler", [*INSIDE, "assisted"])
def test_permission_to_call_everywhere_changes_nothing(handler: SearchName) -> None:
    one = solved(handler)
    two = solved(handler, changes={"simulator_defined_everywhere": True})
    assert [e.x.tobytes() for e in one.evaluations] == [e.x.tobytes() for e in two.evaluations]
    assert two.n_infeasible_calls == 0


@pytest.mark.parametrize(
    ("handler", "model"), [(h, m) for h in OUTSIDE for m in MODELS if takes(h, m)]
)
def test_these_call_outside_and_count_it(handler: HandlerName, model: str) -> None:
    simulator = Watching(MODELS[model]())
    result = solved(handler, MODELS[model](), simulator=simulator, max_evaluations=120)
    violations = [e.max_violation for e in result.evaluations]
    assert violations == simulator.violations
    assert result.n_infeasible_calls == sum(v > 0 for v in violations) > 0
    assert all(e.x.tobytes() == e.sampled.tobytes() for e in result.evaluations)
    assert f"{result.n_infeasible_calls} of them at infeasible designs" in str(result)


@pytest.mark.parametrize("handler", OUTSIDE)
def test_undefined_rows_are_infinite_violations(handler: HandlerName, tmp_path: Path) -> None:
    """Where x[0] < 0 a row of the lens has no value; the simulator says it has one."""
    result = solved(
        handler, lens(), start=[0.1, 1.0], max_evaluations=60, journal=tmp_path / "run.db"
    )
    undefined = [e for e in result.evaluations if e.x[0] < 0]
    assert undefined
    assert all(e.max_violation == np.inf for e in undefined)
    again = archeng.resume(tmp_path / "run.db", bowl)
    assert [e.max_violation for e in again.evaluations] == [
        e.max_violation for e in result.evaluations
    ]


# -- results of runs that call outside ----------------------------------------------------------


@pytest.mark.parametrize("sense", ["minimize", "maximize"])
@pytest.mark.parametrize("handler", OUTSIDE)
def test_the_best_design_is_the_best_feasible_one(handler: HandlerName, sense: str) -> None:
    sign = 1.0 if sense == "minimize" else -1.0
    seen: list[float] = []

    def watch(run: Run) -> None:
        seen.append(np.nan if run.best is None else run.best.objective)

    result = solved(
        handler,
        simulator=lambda d: sign * bowl(d),
        sense=sense,
        max_evaluations=200,
        callback=watch,
    )
    feasible = [sign * e.objective for e in result.evaluations if e.feasible]
    everywhere = [sign * e.objective for e in result.evaluations]
    assert min(everywhere) < min(feasible) == sign * result.fun
    assert all(r.lower <= r.value <= r.upper for r in result.rows)
    assert seen == [g.best for g in result.history]
    assert np.all(np.diff(sign * np.array(seen)) <= 0)
    assert seen[-1] == result.fun


@pytest.mark.parametrize("handler", [h for h in OUTSIDE if h != "mu-lambda-ach"])  # stays near 2
def test_an_infeasible_design_does_not_reach_the_target(handler: HandlerName) -> None:
    result = solved(handler, target=1.5, max_evaluations=300)  # the optimum is 2
    assert min(e.objective for e in result.evaluations) < 1.5 < result.fun
    assert result.stop_reason is StopReason.MAX_EVALUATIONS
    assert result.status is Status.STOPPED
    assert not result.success


@pytest.mark.parametrize("handler", OUTSIDE)
def test_a_feasible_design_does(handler: HandlerName) -> None:
    result = solved(handler, target=3.0, max_evaluations=900)
    assert result.stop_reason is StopReason.TARGET
    assert result.status is Status.TARGET
    last = result.evaluations[-1]
    assert last.feasible
    assert last.objective == result.fun <= 3.0
    assert not any(e.feasible and e.objective <= 3.0 for e in result.evaluations[:-1])


def nothing_feasible(handler: HandlerName, **options: Any) -> Result:
    """An equality that no sample satisfies by chance, and no repair."""
    model = Model("needle")
    x = model.variable("x", shape=3, lower=-3, upper=3, start=[1.0, 1.0, 0.5], scale=0.5)
    model.subject_to(ca.sumsqr(x) == 2.25, name="sphere", tolerance=1e-7)
    if handler == "al":  # its first mean is the start, which is feasible: begin anywhere else
        options.setdefault("simulator", lambda d: np.nan if abs(d.x @ d.x - 2.25) < 1e-6 else 1.0)
    return solved(handler, model, max_evaluations=40, **options)


@pytest.mark.parametrize("handler", [h for h in OUTSIDE if h not in NO_EQUALITIES])
def test_a_run_without_a_feasible_design_ends_well(handler: HandlerName, tmp_path: Path) -> None:
    result = nothing_feasible(handler, verbose=True, journal=tmp_path / "run.db")
    assert result.nfev == 40
    assert result.status is Status.NONE
    assert not result.success
    assert np.isnan(result.fun)
    assert np.all(np.isnan(result.x))
    assert all(np.isnan(r.value) and not r.active for r in result.rows)
    assert result.n_infeasible_calls >= 39
    assert "nan" in repr(result)
    assert "needle" in str(result)
    assert all(np.isnan(g.best) for g in result.history)
    for kind in ("convergence", "search"):
        result.plot(kind).savefig(io.BytesIO())
    result.save(tmp_path / "result.json")
    loaded = Result.load(tmp_path / "result.json")
    assert loaded.status is Status.NONE
    assert loaded.n_infeasible_calls == result.n_infeasible_calls
    assert str(loaded) == str(result)
    again = archeng.resume(tmp_path / "run.db", bowl)
    assert again.status is Status.NONE
    assert again.n_infeasible_calls == result.n_infeasible_calls


@pytest.mark.parametrize("handler", ["mcr", "stochastic-ranking"])
def test_it_does_not_say_that_simulations_failed(handler: HandlerName) -> None:
    result = nothing_feasible(handler)
    assert all(e.good for e in result.evaluations)
    assert "no simulation ended well" not in str(result)


@pytest.mark.parametrize("handler", OUTSIDE)
def test_designs_of_earlier_runs_are_no_calls(handler: HandlerName, tmp_path: Path) -> None:
    first = solved(handler, max_evaluations=90, journal=tmp_path / "run.db")
    second = solved(handler, max_evaluations=5, reuse=[tmp_path / "run.db"])
    assert first.n_infeasible_calls > 5
    assert second.nfev == 5
    assert second.n_infeasible_calls <= second.nfev


@pytest.mark.parametrize("handler", OUTSIDE)
def test_the_table_does_not_call_them_repaired(handler: HandlerName) -> None:
    result = solved(handler, max_evaluations=90)
    assert result.n_infeasible_calls > 0
    (line,) = [text for text in str(result).splitlines() if "repaired" in text]
    assert " 0 were repaired" in line
    assert "to the unrepaired" not in line


@pytest.mark.parametrize("handler", OUTSIDE)
def test_the_curve_of_the_best_design_shows_feasible_ones_only(handler: HandlerName) -> None:
    result = solved(handler, max_evaluations=120)
    assert min(e.objective for e in result.evaluations) < result.fun
    lines = {line.get_label(): line for line in result.plot("convergence").axes[0].get_lines()}
    assert lines["best so far"].get_ydata()[-1] == result.fun


# -- refusals -----------------------------------------------------------------------------------


def never(design: Design) -> float:
    raise AssertionError("a run that is refused makes no call")


def refused(model: Model, settings: Settings) -> str:
    messages = []
    for begin in (archeng.solve, Run):
        with pytest.raises(SettingsError) as caught:
            begin(model, never, seed=1, settings=settings)
        messages.append(str(caught.value))
    assert messages[0] == messages[1]
    return messages[0]


@pytest.mark.parametrize("handler", OUTSIDE)
def test_calls_outside_need_permission(handler: HandlerName) -> None:
    message = refused(model_for(handler), Settings(handler=handler))
    assert repr(handler) in message
    assert "simulator_defined_everywhere=True" in message
    assert '"arch"' in message


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (wedge, ["linear", "steep"]),
        (lens, ["nonlinear", "disc"]),
        (circle, ["circle"]),
    ],
)
def test_the_box_penalty_refuses_rows(model: Callable[[], Model], words: list[str]) -> None:
    message = refused(model(), settings_of("ap-bch"))
    for word in ("'ap-bch'", "bounds", *words, "handlers_helpers.py", '"arch"'):
        assert word in message


@pytest.mark.parametrize(("model", "words"), [(lens, ["nonlinear", "disc"]), (circle, ["circle"])])
def test_null_space_mutation_refuses_nonlinear_rows(
    model: Callable[[], Model], words: list[str]
) -> None:
    message = refused(model(), settings_of("lccmsa-es"))
    for word in ("'lccmsa-es'", "linear", *words, "handlers_helpers.py", '"arch"'):
        assert word in message


def test_the_box_penalty_takes_rows_that_are_bounds() -> None:
    model = box(3, 0)
    model.subject_to(model.symbols[0] >= 2, name="a bound in disguise")
    result = solved("ap-bch", model, max_evaluations=300)
    assert min(e.x[0] for e in result.evaluations) >= 2
    assert result.fun < 4.01


@pytest.mark.parametrize("handler", NO_EQUALITIES)
@pytest.mark.parametrize("linear", [True, False])
def test_waiting_for_feasible_samples_refuses_equalities(
    handler: HandlerName, linear: bool
) -> None:
    model = wedge()
    x = model.symbols
    row = x[0] + x[2] if linear else x[0] * x[2]
    model.subject_to(row == 1, name="balance", source="plant.py:7")
    message = refused(model, settings_of(handler))
    for word in (repr(handler), "equality", "balance", "plant.py:7", '"arch"'):
        assert word in message


@pytest.mark.parametrize("name", ["ARCH", "apbch", "", "penalty", None, 3])
def test_unknown_handlers_are_refused_with_the_known_ones(name: Any) -> None:
    with pytest.raises(SettingsError) as caught:
        Settings(handler=name)
    for word in ("handler", "arch", "active-set-es", repr(name)):
        assert word in str(caught.value)
