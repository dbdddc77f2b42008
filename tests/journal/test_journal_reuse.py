"""Designs that an earlier run has simulated, and journals of runs that are asked and told."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from runtime_helpers import (
    FAST,
    PLAIN,
    Logged,
    assert_same,
    begun,
    bowl,
    can,
    corner,
    down,
    finished,
    line,
    reference,
    solve_case,
    trace,
)

import archeng
from archeng import Design, Model, Run, Settings, StopReason
from archeng.errors import JournalError, SettingsError

NAME = "budget within a generation"


def never(design: Design) -> float:
    raise AssertionError("called")


def same_designs(result: Any, other: Any) -> None:
    assert [(e.x.tobytes(), e.objective) for e in result.evaluations] == [
        (e.x.tobytes(), e.objective) for e in other.evaluations
    ]
    assert [g.sigma for g in result.history] == [g.sigma for g in other.history]


# -- reuse -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("target within a generation", {}),
        (NAME, {"settings": FAST, "max_evaluations": 300}),
        ("equality, maximize", {"settings": FAST, "max_evaluations": 300}),
        ("restarts", {"restarts": 1, "max_evaluations": 900}),
        ("proposals", {"max_evaluations": 900}),
    ],
)
@pytest.mark.parametrize("workers", [None, "threads:2"])
def test_the_same_run_again_makes_no_call(
    name: str, options: dict[str, Any], workers: Any, tmp_path: Path
) -> None:
    first = solve_case(name, journal=tmp_path / "old.db", **options)
    assert first.stop_reason is not StopReason.MAX_EVALUATIONS
    again = solve_case(
        name, simulator=never, reuse=[tmp_path / "old.db"], workers=workers, on_failure="raise",
        **options,
    )  # fmt: skip
    assert again.nfev == 0
    assert {e.status for e in again.evaluations} == {"reused"}
    same_designs(again, first)
    assert again.x.tobytes() == first.x.tobytes()
    assert again.fun == first.fun
    assert (again.stop_reason, again.status) == (first.stop_reason, first.status)


def test_reused_designs_do_not_count_for_the_budget(tmp_path: Path) -> None:
    log = tmp_path / "log"
    first = solve_case(NAME, journal=tmp_path / "old.db")
    longer = solve_case(NAME, reuse=[tmp_path / "old.db"], log=log, max_evaluations=20)
    assert longer.nfev == 20 == len(begun(log))
    assert longer.stop_reason is StopReason.MAX_EVALUATIONS
    assert len(longer.evaluations) == first.nfev + 20
    same_designs(longer, solve_case(NAME, max_evaluations=first.nfev + 20))
    assert [e.status for e in longer.evaluations] == ["reused"] * first.nfev + ["ok"] * 20
    assert not set(begun(log)) & set(finished(tmp_path / "old.db"))


def test_failed_calls_are_simulated_again(tmp_path: Path) -> None:
    first = solve_case("failures", journal=tmp_path / "old.db", max_evaluations=24)
    log = tmp_path / "log"
    again = solve_case("failures", reuse=tmp_path / "old.db", log=log, max_evaluations=60)
    bad = [e.x.tobytes().hex() for e in first.evaluations if not e.good]
    assert begun(log)[: len(bad)] == bad
    statuses = [e.status for e in again.evaluations[:24]]
    assert statuses == [e.status if not e.good else "reused" for e in first.evaluations]


def test_several_journals_and_a_chain_of_them(tmp_path: Path) -> None:
    a, b, c = (tmp_path / f"{name}.db" for name in "abc")
    solve_case(NAME, journal=a, max_evaluations=12)
    solve_case(NAME, journal=b, max_evaluations=9, reuse=[a])  # 12 reused and 9 new
    log = tmp_path / "log"
    result = solve_case(NAME, journal=c, max_evaluations=10, reuse=[b, a], log=log)
    assert result.nfev == 10 == len(begun(log))
    same_designs(result, solve_case(NAME, max_evaluations=31))
    again = archeng.resume(c, never, on_failure="raise")
    assert trace(again) == trace(result)


@pytest.mark.parametrize("make", [can, lambda: renamed("y"), lambda: renamed("x", 3)])
def test_other_variables_are_refused(make: Any, tmp_path: Path) -> None:
    archeng.solve(make(), lambda d: 1.0 + d.x[0], journal=tmp_path / "a.db", max_evaluations=3)
    with pytest.raises(JournalError, match="variables"):
        archeng.solve(line(), never, reuse=[tmp_path / "a.db"])


def renamed(name: str, size: int = 2) -> Model:
    model = Model("line")
    model.variable(name, shape=size, lower=-5, upper=5)
    return model


def test_a_resumed_run_may_reuse_too(tmp_path: Path) -> None:
    solve_case(NAME, journal=tmp_path / "old.db")
    solve_case(NAME, journal=tmp_path / "run.db", max_evaluations=8)
    log = tmp_path / "log"
    result = archeng.resume(
        tmp_path / "run.db", Logged("bowl", log), reuse=[tmp_path / "old.db"], max_evaluations=14
    )
    assert result.nfev == 14
    assert len(begun(log)) == 6
    same_designs(result, solve_case(NAME, max_evaluations=len(result.evaluations)))


def test_duplicate_designs_are_simulated_once(tmp_path: Path) -> None:
    log = tmp_path / "log"
    solve_case("duplicates", log=log, workers="threads:2")
    assert len(set(begun(log))) == len(begun(log))


def test_a_target_met_by_a_reused_design(tmp_path: Path) -> None:
    first = solve_case(NAME, journal=tmp_path / "old.db")
    again = solve_case(
        NAME, reuse=[tmp_path / "old.db"], simulator=never, target=first.fun, on_failure="raise"
    )
    assert again.stop_reason is StopReason.TARGET
    assert again.success
    assert again.nfev == 0


@pytest.mark.parametrize("reuse", [3, [3]])
def test_bad_reuse(reuse: Any) -> None:
    with pytest.raises((SettingsError, JournalError)):
        archeng.solve(line(), bowl, reuse=reuse, max_evaluations=3)


# -- ask and tell ----------------------------------------------------------------------------


def ask_and_tell(run: Run, generations: int | None = None) -> list[bytes]:
    """Tell the objectives of everything that is not known; return what was simulated."""
    simulated = []
    while not run.stopped and (generations is None or generations > 0):
        values: list[float | None] = []
        for candidate in run.ask():
            if candidate.design is None or candidate.known is not None:
                values.append(candidate.known)
            else:
                simulated.append(candidate.design.x.tobytes())
                values.append(bowl(candidate.design))
        run.tell(values)
        generations = None if generations is None else generations - 1
    return simulated


OPTIONS: dict[str, Any] = {"seed": 5, "max_evaluations": 33, "settings": PLAIN}


@pytest.mark.parametrize("generations", [0, 1, 4, None])
def test_a_run_that_is_asked_and_told_goes_on(generations: int | None, tmp_path: Path) -> None:
    run = Run(line(), journal=tmp_path / "run.db", **OPTIONS)
    first = ask_and_tell(run, generations)
    run.close()
    again = Run.resume(tmp_path / "run.db")
    assert again.n_evaluations == len(first) or generations is None
    rest = ask_and_tell(again)
    again.close()
    assert_same(again.result(), reference(NAME))
    assert len(first) + len(rest) == 33
    assert len(set(first + rest)) == 33


def test_an_open_run_keeps_its_journal(tmp_path: Path) -> None:
    run = Run(line(), journal=tmp_path / "run.db", **OPTIONS)
    with pytest.raises(JournalError, match="another process"):
        Run.resume(tmp_path / "run.db")
    run.close()
    Run.resume(tmp_path / "run.db").close()


def test_told_calls_are_on_disk(tmp_path: Path) -> None:
    run = Run(line(), journal=tmp_path / "run.db", **OPTIONS)
    made = ask_and_tell(run, 2)
    assert [bytes.fromhex(x) for x in finished(tmp_path / "run.db")] == made
    run.close()


def test_calls_of_an_open_generation_are_known_to_those_who_ask(tmp_path: Path) -> None:
    """A run with a simulator died within a generation; who asks need not simulate it again."""
    solve_case(NAME, journal=tmp_path / "run.db", max_evaluations=10)
    run = Run.resume(tmp_path / "run.db", max_evaluations=33)
    rest = ask_and_tell(run)
    run.close()
    assert not {x.hex() for x in rest} & set(finished(tmp_path / "run.db")[:10])
    assert len(rest) == 23
    same_designs(run.result(), reference(NAME))


def test_reuse_with_ask_and_tell(tmp_path: Path) -> None:
    """Designs of earlier runs are known, cost nothing, and the budget stays a hard limit."""
    solve_case(NAME, journal=tmp_path / "old.db", max_evaluations=12)
    run = Run(line(), reuse=[tmp_path / "old.db"], **OPTIONS)
    simulated = ask_and_tell(run)
    assert run.n_evaluations == len(simulated) == 33
    assert [e.status for e in run.evaluations] == ["reused"] * 12 + ["ok"] * 33


def test_paper_settings_simulate_duplicates_and_keep_them_apart(tmp_path: Path) -> None:
    options: dict[str, Any] = {"seed": 5, "max_evaluations": 60, "settings": Settings.paper()}
    result = archeng.solve(corner(), down, journal=tmp_path / "run.db", **options)
    stored = finished(tmp_path / "run.db")
    assert stored == [e.x.tobytes().hex() for e in result.evaluations]
    assert len(set(stored)) < len(stored)
    assert_same(archeng.resume(tmp_path / "run.db", never, on_failure="raise"), result)
