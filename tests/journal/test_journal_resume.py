"""Going on with a journal: exact, with other limits, and only with the same model."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from runtime_helpers import (
    CASES,
    PLAIN,
    Logged,
    assert_same,
    begun,
    bowl,
    can,
    finished,
    fragile,
    line,
    reading,
    reference,
    solve_case,
    table_model,
    trace,
)

import archeng
from archeng import Design, Model, StopReason
from archeng.errors import JournalError, SettingsError, SimulatorError

pytestmark = pytest.mark.slow

NAME = "budget within a generation"


def never(design: Design) -> float:
    raise AssertionError("nothing is left to simulate")


@pytest.mark.parametrize("name", CASES)
def test_a_journal_does_not_change_the_run(name: str, tmp_path: Path) -> None:
    result = solve_case(name, journal=tmp_path / "run.db")
    assert_same(result, reference(name))
    with reading(tmp_path / "run.db") as opened:
        for stored, e in zip(opened.calls(), result.evaluations, strict=True):
            kept = stored.call
            assert kept.x.tobytes() == e.x.tobytes()
            assert kept.sampled.tobytes() == e.sampled.tobytes()
            same = ("status", "message", "seconds", "attempts", "repair_kind", "max_violation")
            assert [getattr(kept, k) for k in same] == [getattr(e, k) for k in same]
            assert repr(kept.objective) == repr(e.objective)


@pytest.mark.parametrize("name", CASES)
def test_a_finished_run_makes_no_call(name: str, tmp_path: Path) -> None:
    result = solve_case(name, journal=tmp_path / "run.db")
    for _ in range(2):
        again = archeng.resume(tmp_path / "run.db", never, on_failure="rank_last")
        assert_same(again, result)


OTHERS = ["failures", "proposals", "outputs", "outputs, proposals", "discrete, proposals"]


@pytest.mark.parametrize(
    ("name", "first"),
    [
        *((NAME, first) for first in (1, 5, 6, 7, 12, 13, 30)),
        *((name, first) for name in OTHERS for first in (5, 6, 13)),
        ("discrete", 7),
    ],
)
def test_a_larger_budget_goes_on_like_a_run_that_had_it(
    name: str, first: int, tmp_path: Path
) -> None:
    log = tmp_path / "log"
    solve_case(name, journal=tmp_path / "run.db", max_evaluations=first, log=log)
    objective = CASES[name].get("objective", "bowl")
    for budget in (first + 1, 31, 44):
        longer = archeng.resume(
            tmp_path / "run.db", Logged(objective, log), max_evaluations=max(budget, first)
        )
    assert_same(longer, solve_case(name, max_evaluations=44))
    assert len(begun(log)) == longer.nfev


@pytest.mark.parametrize("first", [40, 131])
@pytest.mark.parametrize("name", ["restarts", "proposals, restarts"])
def test_a_larger_budget_with_restarts(name: str, first: int, tmp_path: Path) -> None:
    solve_case(name, journal=tmp_path / "run.db", max_evaluations=first)
    longer = archeng.resume(tmp_path / "run.db", Logged("waves"), max_evaluations=200)
    assert_same(longer, solve_case(name, max_evaluations=200))
    assert longer.history[-1].restart >= 1


def test_a_smaller_budget_makes_no_call(tmp_path: Path) -> None:
    solve_case(NAME, journal=tmp_path / "run.db")
    result = archeng.resume(tmp_path / "run.db", never, max_evaluations=9)
    assert result.stop_reason is StopReason.MAX_EVALUATIONS


def test_a_harder_target_goes_on(tmp_path: Path) -> None:
    name = "target within a generation"
    easy = solve_case(name, journal=tmp_path / "run.db")
    whole = solve_case(NAME, max_evaluations=150)
    hard = archeng.resume(tmp_path / "run.db", bowl, target=whole.fun, max_evaluations=150)
    first = next(e.index for e in whole.evaluations if e.objective <= whole.fun)
    assert hard.stop_reason is StopReason.TARGET
    assert hard.nfev == first + 1 > easy.nfev
    assert trace(hard)["calls"] == trace(whole)["calls"][: first + 1]


@pytest.mark.parametrize("budget", [12, 14])
def test_a_target_that_is_already_reached_makes_no_call(budget: int, tmp_path: Path) -> None:
    result = solve_case(NAME, journal=tmp_path / "run.db", max_evaluations=budget)
    again = archeng.resume(
        tmp_path / "run.db", never, target=result.fun, max_evaluations=100, on_failure="raise"
    )
    assert again.stop_reason is StopReason.TARGET
    assert again.fun == result.fun


def test_a_run_that_was_stopped_by_its_callback_goes_on(tmp_path: Path) -> None:
    def stop(run: archeng.Run) -> None:
        if len(run.history) == 3:
            raise StopIteration

    stopped = solve_case(NAME, journal=tmp_path / "run.db", callback=stop)
    assert stopped.stop_reason is StopReason.CALLBACK
    assert_same(archeng.resume(tmp_path / "run.db", bowl), reference(NAME))


# -- what may not change ---------------------------------------------------------------------


def other_line(**changes: Any) -> Model:
    """The model `line` with something changed."""
    c = {"lower": -5, "factor": 1, "limit": 1, "name": "line", "shape": 2, "unit": "", **changes}
    model = Model(c.get("title", "line"))
    x = model.variable("x", shape=c["shape"], lower=c["lower"], upper=5, unit=c["unit"])
    if c["name"]:
        model.subject_to(c["factor"] * x[0] + x[1] >= c["limit"], name=c["name"])
    if c.get("more"):
        model.subject_to(x[0] <= 4, name="more")
    if c.get("variable"):
        model.variable("z", lower=0, upper=1)
    return model


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"lower": -4}, ["variable 'x'", "lower", "-5.0", "-4.0"]),
        ({"unit": "mm"}, ["variable 'x'", "unit", "mm"]),
        ({"shape": 3}, ["variable 'x'", "shape"]),
        ({"factor": 1.5}, ["constraint 'line'", "formula"]),
        ({"limit": 2}, ["constraint 'line'", "limits", "1.0", "2.0"]),
        ({"name": None}, ["constraint 'line' is gone"]),
        ({"more": True}, ["constraint 'more' is new"]),
        ({"variable": True}, ["variable 'z' is new"]),
        ({"title": "lines"}, ["name", "'line' became 'lines'"]),
    ],
)
def test_a_changed_model_is_refused_by_name(
    changes: dict[str, Any], words: list[str], tmp_path: Path
) -> None:
    journal = tmp_path / "run.db"
    solve_case(NAME, journal=journal, max_evaluations=10)
    before = journal.read_bytes()
    with pytest.raises(JournalError) as caught:
        archeng.resume(journal, bowl, model=other_line(**changes), max_evaluations=20)
    for word in words:
        assert word in str(caught.value)
    assert journal.read_bytes() == before
    whole = reference(NAME)
    assert_same(archeng.resume(journal, bowl, model=other_line(), max_evaluations=33), whole)


def test_a_changed_tolerance_is_refused(tmp_path: Path) -> None:
    archeng.solve(can(), bowl, journal=tmp_path / "run.db", max_evaluations=8, seed=1)
    with pytest.raises(JournalError, match=r"'volume', tolerance: 0\.01 became 0\.001"):
        archeng.resume(tmp_path / "run.db", bowl, model=can(tolerance=0.001))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"tol_x": 1e-9}, "tol_x: 1e-12 became 1e-09"),
        ({"square_root": "symmetric"}, "square_root: 'covariant' became 'symmetric'"),
        ({"reuse_designs": False}, "reuse_designs: True became False"),
        ({"surrogate": "auto"}, "surrogate: 'none' became 'auto'"),
    ],
)
def test_changed_settings_are_refused_by_name(
    change: dict[str, Any], words: str, tmp_path: Path
) -> None:
    solve_case(NAME, journal=tmp_path / "run.db", max_evaluations=10)
    with pytest.raises(JournalError) as caught:
        archeng.resume(tmp_path / "run.db", bowl, settings=replace(PLAIN, **change))
    assert str(caught.value).endswith(words)
    archeng.resume(tmp_path / "run.db", bowl, settings=PLAIN)


@pytest.mark.parametrize("option", ["seed", "start", "sigma", "restarts", "population_size"])
def test_what_belongs_to_the_journal_cannot_be_given(option: str, tmp_path: Path) -> None:
    solve_case(NAME, journal=tmp_path / "run.db", max_evaluations=10)
    with pytest.raises(SettingsError, match=option):
        archeng.Run.resume(tmp_path / "run.db", bowl, **{option: 1})
    archeng.resume(tmp_path / "run.db", bowl)  # and the lock is free


# -- which objective -------------------------------------------------------------------------


def with_objective() -> Model:
    model = line()
    x = model.symbols
    model.set_objective((x[0] - 1) ** 2 + x[1] ** 2)
    return model


def test_a_run_on_the_models_own_objective_needs_no_simulator(tmp_path: Path) -> None:
    options: dict[str, Any] = {"seed": 4, "max_evaluations": 40}
    whole = archeng.solve(with_objective(), **options)
    archeng.solve(with_objective(), journal=tmp_path / "run.db", seed=4, max_evaluations=9)
    assert_same(archeng.resume(tmp_path / "run.db", max_evaluations=40), whole)


@pytest.mark.parametrize("make", [line, with_objective])
def test_a_run_with_a_simulator_needs_it_again(make: Callable[[], Model], tmp_path: Path) -> None:
    """Never the model's own objective instead: that would be another run."""
    archeng.solve(make(), bowl, journal=tmp_path / "run.db", seed=4, max_evaluations=9)
    with pytest.raises(SettingsError, match="simulator"):
        archeng.resume(tmp_path / "run.db", max_evaluations=40)
    result = archeng.resume(tmp_path / "run.db", bowl, max_evaluations=40)
    assert_same(result, archeng.solve(make(), bowl, seed=4, max_evaluations=40))


# -- failed calls ----------------------------------------------------------------------------


def test_retry_failed(tmp_path: Path) -> None:
    log = tmp_path / "log"
    with pytest.raises(SimulatorError):
        solve_case("failures", journal=tmp_path / "run.db", on_failure="raise")
    with pytest.raises(SimulatorError):  # it failed, and that is what it did
        archeng.resume(tmp_path / "run.db", bowl, on_failure="raise")
    done = finished(tmp_path / "run.db")
    mended = archeng.resume(tmp_path / "run.db", Logged("bowl", log), retry_failed=True)
    assert {e.status for e in mended.evaluations} == {"ok"}
    assert_same(mended, solve_case("failures", simulator=bowl))
    assert begun(log)[0] == done[-1]  # the failed call again, the good ones before it not
    assert not set(begun(log)) & set(done[:-1])


def test_failed_calls_of_finished_generations_stay_failed(tmp_path: Path) -> None:
    first = solve_case("failures", journal=tmp_path / "run.db", max_evaluations=30)
    again = archeng.resume(tmp_path / "run.db", fragile, retry_failed=True, max_evaluations=60)
    assert_same(again, reference("failures"))
    assert any(not e.good for e in first.evaluations)


# -- models that cannot be stored ------------------------------------------------------------


def test_a_model_that_cannot_be_stored_is_given_again(tmp_path: Path) -> None:
    options: dict[str, Any] = {"seed": 2, "max_evaluations": 40}
    whole = archeng.solve(table_model(), bowl, **options)
    archeng.solve(table_model(), bowl, journal=tmp_path / "a.db", seed=2, max_evaluations=9)
    with pytest.raises(JournalError, match="model="):
        archeng.resume(tmp_path / "a.db", bowl, max_evaluations=40)
    result = archeng.resume(tmp_path / "a.db", bowl, model=table_model(), max_evaluations=40)
    assert_same(result, whole)
    for e in result.evaluations:
        assert np.interp(e.x[0], [0, 1, 2], [0, 1, 4]) <= e.x[1] + 1e-12


def test_a_changed_table_is_refused(tmp_path: Path) -> None:
    archeng.solve(table_model(), bowl, journal=tmp_path / "a.db", seed=2, max_evaluations=9)
    with pytest.raises(JournalError, match="not the one of the journal"):
        archeng.resume(tmp_path / "a.db", bowl, model=table_model((0.0, 1.0, 5.0)))


def test_a_script_with_other_line_numbers_is_the_same_model(tmp_path: Path) -> None:
    first, second = table_model(source="study.py:10"), table_model(source="study.py:11")
    archeng.solve(first, bowl, journal=tmp_path / "a.db", seed=2, max_evaluations=9)
    archeng.resume(tmp_path / "a.db", bowl, model=second, max_evaluations=12)


def test_a_gap_among_finished_calls_keeps_the_order(tmp_path: Path) -> None:
    """With several workers a later call may be in the journal and an earlier one not."""
    path, whole = tmp_path / "run.db", reference(NAME)
    solve_case(NAME, journal=path)
    connection = sqlite3.connect(path)
    (generation,) = connection.execute("SELECT MAX(generation) FROM calls").fetchone()
    connection.execute("DELETE FROM calls WHERE generation = ? AND position = 0", (generation,))
    connection.commit()
    connection.close()
    assert_same(archeng.resume(path, bowl), whole)
