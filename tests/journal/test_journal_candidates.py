"""The candidates of the open generation are in the journal: resumed elsewhere, no call is lost."""

from __future__ import annotations

import sqlite3
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from runtime_helpers import (
    ASSISTED,
    PLAIN,
    Logged,
    assert_same,
    begun,
    bowl,
    environment,
    fragile,
    line,
    reading,
    run_script,
    solve_case,
    trace,
)

import archeng
from archeng import Design, Run, Settings
from archeng.errors import JournalError
from archeng.runner.restarting import RestartingSearch

NAME = "budget within a generation"
BATCH = Settings(proposals=4)


def simulated_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """From now on other candidates are made: as on a machine that rounds differently."""
    made = RestartingSearch.ask

    def other(self: RestartingSearch, state: Any, known: Any) -> Any:
        state.rng.random()
        return made(self, state, known)

    monkeypatch.setattr(RestartingSearch, "ask", other)


@pytest.mark.parametrize(
    "settings",
    [
        PLAIN,
        ASSISTED,
        BATCH,
        *(
            Settings(handler=handler, surrogate="none", simulator_defined_everywhere=True)
            for handler in (
                "al",
                "mcr",
                "stochastic-ranking",
                "resampling",
                "active-set-es",
                "lccmsa-es",
                "ma-es-ach",
                "epsilon-lexicographic",
                "one-plus-one-ach",
                "xcma-es-ach",
                "mu-lambda-ach",
            )
        ),
    ],
    ids=lambda s: f"{s.handler} {s.surrogate} {s.proposals}",
)
@pytest.mark.parametrize("first", [9, 16])
def test_the_open_generation_is_not_made_again(
    settings: Settings, first: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options: dict[str, Any] = {"seed": 5, "settings": settings}
    whole = archeng.solve(line(), bowl, max_evaluations=40, **options)
    path, log = tmp_path / "run.db", tmp_path / "log"
    archeng.solve(line(), Logged("bowl"), max_evaluations=first, journal=path, **options)
    simulated_elsewhere(monkeypatch)
    again = archeng.resume(path, Logged("bowl", log), max_evaluations=40)
    assert len(begun(log)) == again.nfev - first
    opened = whole.evaluations[first - 1].generation
    expected = [call for call in trace(whole)["calls"] if call[1] <= opened]
    assert trace(again)["calls"][: len(expected)] == expected
    if settings is PLAIN:
        assert trace(again)["calls"] != trace(whole)["calls"][: len(again.evaluations)]


SCRIPT = """
import sys
from runtime_helpers import Logged, archeng
archeng.resume(sys.argv[1], Logged("bowl", sys.argv[2]), max_evaluations=60)
"""


def wide_model() -> archeng.Model:
    """Large enough for products of matrices to be rounded differently by other kernels."""
    model = archeng.Model("wide")
    x = model.variable("x", lower=-2, upper=2, shape=50)
    for row in np.random.default_rng(3).normal(size=(20, 50)):
        model.subject_to(sum(a * x[i] for i, a in enumerate(row)) <= 4)
    return model


@pytest.mark.skipif(sys.platform != "linux", reason="kernels of OpenBLAS by name")
def test_another_processor(tmp_path: Path) -> None:
    path, log = tmp_path / "run.db", tmp_path / "log"
    first = archeng.solve(wide_model(), bowl, seed=1, max_evaluations=38, settings=PLAIN,
                          journal=path)  # fmt: skip
    script = tmp_path / "resume.py"
    script.write_text(SCRIPT)
    env = environment() | {"OPENBLAS_CORETYPE": "Prescott"}
    ended = run_script(script, path, log, env=env)
    assert ended.returncode == 0, ended.stderr
    assert len(begun(log)) == 60 - 38
    with reading(path) as journal:
        assert [move["calls"] for move in journal.moves()] in ([30], [])  # if it is another one
    kept = archeng.read_journal(path).evaluations[:38]
    assert [e.x.tobytes() for e in kept] == [e.x.tobytes() for e in first.evaluations]


def test_candidates_are_stored_before_their_first_call(tmp_path: Path) -> None:
    path = tmp_path / "run.db"
    seen: list[bool] = []

    def simulator(design: Design) -> float:
        with reading(path) as journal:
            opened = journal.candidates()
            assert opened["generation"] == len(journal.generations())
            points = [np.asarray(r["x"]) for r in opened["population"]["repairs"]]
        seen.append(any(np.array_equal(design.x, p) for p in points))
        return bowl(design)

    archeng.solve(line(), simulator, journal=path, max_evaluations=20, seed=1)
    assert all(seen)
    assert len(seen) > 10


def test_ask_after_a_resume_gives_the_candidates_that_were_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = Run(line(), seed=3, settings=PLAIN, journal=tmp_path / "run.db")
    asked = [c.design.x.tobytes() for c in run.ask() if c.design]
    run.close()
    simulated_elsewhere(monkeypatch)
    again = Run.resume(tmp_path / "run.db")
    assert [c.design.x.tobytes() for c in again.ask() if c.design] == asked
    again.close()


# -- calls are never overwritten -------------------------------------------------------------


def moved_call(path: Path) -> None:
    """Give the last call another design, and take the candidates away."""
    connection = sqlite3.connect(path)
    (generation,) = connection.execute("SELECT MAX(generation) FROM calls").fetchone()
    connection.execute(
        "UPDATE calls SET x = ?, checksum = NULL WHERE generation = ? AND position = 0",
        (np.array([1.0, 2.0]).tobytes(), generation),
    )
    connection.execute("DELETE FROM candidates")
    connection.commit()
    connection.close()


def test_a_call_of_another_design_is_an_error(tmp_path: Path) -> None:
    path, log = tmp_path / "run.db", tmp_path / "log"
    solve_case(NAME, journal=path)
    moved_call(path)
    with reading(path) as journal:
        before = [c.call.x.tobytes() for c in journal.calls()]
    with pytest.raises(JournalError, match="another design"):
        archeng.resume(path, Logged("bowl", log), max_evaluations=40)
    assert begun(log) == []
    with reading(path) as journal:
        assert [c.call.x.tobytes() for c in journal.calls()] == before


def test_only_a_failed_call_of_the_same_design_is_replaced(tmp_path: Path) -> None:
    result = solve_case("failures", journal=tmp_path / "run.db")
    good = next(e for e in result.evaluations if e.good)
    bad = next(e for e in result.evaluations if not e.good)
    run = Run.resume(tmp_path / "run.db", fragile, max_evaluations=100)
    journal = run.ledger.journal
    assert journal is not None
    position = {c.call.x.tobytes(): c.position for c in journal.calls()}  # no design comes twice
    with pytest.raises(JournalError, match="not overwritten"):
        journal.add_call(position[good.x.tobytes()], good)
    other = replace(bad, x=bad.x + 1.0)
    with pytest.raises(JournalError, match="not overwritten"):
        journal.add_call(position[bad.x.tobytes()], other)
    mended = replace(bad, status="ok", objective=1.5, message="")
    journal.add_call(position[bad.x.tobytes()], mended)
    stored = {c.call.x.tobytes(): c.call for c in journal.calls()}
    assert stored[bad.x.tobytes()].objective == 1.5
    run.close()


def test_the_same_run_whether_or_not_the_candidates_are_there(tmp_path: Path) -> None:
    """On the same machine they are made again as they were."""
    solve_case(NAME, journal=tmp_path / "run.db")
    connection = sqlite3.connect(tmp_path / "run.db")
    assert connection.execute("DELETE FROM candidates").rowcount == 1
    connection.commit()
    connection.close()
    again = archeng.resume(tmp_path / "run.db", bowl, max_evaluations=50)
    assert_same(again, solve_case(NAME, max_evaluations=50))


def test_calls_have_their_numbers_where_an_earlier_one_is_missing(tmp_path: Path) -> None:
    """Workers may have finished a later call of the generation before the run was cut off."""
    solve_case(NAME, journal=tmp_path / "run.db")
    connection = sqlite3.connect(tmp_path / "run.db")
    last = "(SELECT MAX(generation) FROM calls)"
    deleted = connection.execute(f"DELETE FROM calls WHERE position = 0 AND generation = {last}")
    assert deleted.rowcount == 1
    connection.commit()
    connection.close()
    again = archeng.resume(tmp_path / "run.db", bowl, max_evaluations=50)
    assert_same(again, solve_case(NAME, max_evaluations=50))
