"""Simulated constraints and outputs on disk: journals, resumed runs, reuse, the older version."""

from __future__ import annotations

import csv
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from simulated_helpers import (
    AUTO,
    DISC,
    NONE,
    as_version_2,
    assert_same,
    disc,
    gap,
    plane,
    version_of,
)

import archeng
from archeng import Design, Evaluation, Model, Result, Run, Settings, Status
from archeng.cli import main
from archeng.errors import JournalError
from archeng.journal import Journal

BOTH = pytest.mark.parametrize("settings", [AUTO, NONE], ids=["auto", "none"])
CALLS = {"auto": 16, "none": 36}
HERE = Path(__file__).resolve().parent


def never(design: Design) -> float:
    raise AssertionError("nothing is left to simulate")


def after(generations: int) -> Callable[[Run], None]:
    def stop(run: Run) -> None:
        if len(run.history) == generations:
            raise StopIteration

    return stop


def solve(settings: Settings, **options: Any) -> Result:
    calls = CALLS[settings.surrogate]
    return archeng.solve(
        plane(), disc, settings=settings,
        **{"simulated": DISC, "max_evaluations": calls, "seed": 6, **options},
    )  # fmt: skip


def stored(path: Path) -> list[Any]:
    opened = Journal.read(path)
    try:
        return [stored.call for stored in opened.calls()]
    finally:
        opened.close()


# -- writing, reading, resuming -----------------------------------------------------------------


def test_a_journal_holds_everything(tmp_path: Path) -> None:
    result = solve(AUTO, journal=tmp_path / "run.db")
    assert_same(result, solve(AUTO))
    kept = stored(tmp_path / "run.db")
    assert len(kept) == result.nfev
    for a, b in zip(kept, result.evaluations, strict=True):
        for name in ("constraints", "violated", "outputs", "repair_rows", "repair_multipliers"):
            assert getattr(a, name) == getattr(b, name), name
    assert version_of(tmp_path / "run.db") == 5


@BOTH
@pytest.mark.parametrize("generations", [1, 4])
def test_a_stopped_run_goes_on_exactly(
    settings: Settings, generations: int, tmp_path: Path
) -> None:
    path = tmp_path / "run.db"
    first = solve(settings, journal=path, callback=after(generations))
    assert len(first.history) == generations
    assert_same(archeng.resume(path, disc), solve(settings))
    assert_same(archeng.resume(path, never), solve(settings))


def test_an_interrupted_generation_goes_on_exactly(tmp_path: Path) -> None:
    """The calls of the unfinished generation come from the file, constraints included."""
    path, calls = tmp_path / "run.db", []

    def interrupted(design: Design) -> Evaluation:
        if len(calls) == 9:
            raise KeyboardInterrupt
        calls.append(design.x.tobytes())
        return disc(design)

    archeng.solve(
        plane(), interrupted, simulated=DISC, settings=NONE, max_evaluations=36, seed=6,
        journal=path,
    )  # fmt: skip
    made: list[bytes] = []

    def counted(design: Design) -> Evaluation:
        made.append(design.x.tobytes())
        return disc(design)

    assert_same(archeng.resume(path, counted), solve(NONE))
    assert not set(made) & set(calls)


KILLED = """
import os, sys
import archeng
from simulated_helpers import AUTO, DISC, disc, plane

calls = []

def simulator(design):
    calls.append(design)
    if len(calls) == 10:
        os._exit(9)
    return disc(design)

archeng.solve(plane(), simulator, simulated=DISC, settings=AUTO, max_evaluations=16, seed=6,
              journal=sys.argv[1])
"""


def test_a_killed_run_goes_on_exactly(tmp_path: Path) -> None:
    path = tmp_path / "run.db"
    done = subprocess.run(
        [sys.executable, "-c", KILLED, str(path)], cwd=HERE, check=False, timeout=200
    )
    assert done.returncode == 9
    assert len(stored(path)) == 9
    assert_same(archeng.resume(path, disc), solve(AUTO))


def test_special_outputs_survive(tmp_path: Path) -> None:
    outputs = {"nan": np.nan, "inf": [np.inf, 1.0], "text": "ü \n \udc80", "flag": True, "none": []}

    def simulator(design: Design) -> Evaluation:
        return Evaluation(gap(design.x), {"c": -1e120 * abs(design.x[0])}, outputs)

    path = tmp_path / "run.db"
    archeng.solve(
        plane(), simulator, simulated={"c": (None, 0)}, max_evaluations=6, seed=1, journal=path
    )
    for e in stored(path):
        assert np.isnan(e.outputs.pop("nan"))
        assert e.outputs == {k: v for k, v in outputs.items() if k != "nan"}
        assert e.constraints == {"c": -1e120 * abs(e.x[0])}


def test_a_violating_run_goes_on(tmp_path: Path) -> None:
    path, never_held = tmp_path / "run.db", {"size": (None, -1.0)}
    whole = solve(NONE, simulated=never_held)
    solve(NONE, simulated=never_held, journal=path, callback=after(2))
    again = archeng.resume(path, disc)
    assert_same(again, whole)
    assert again.status is Status.VIOLATING


# -- reuse --------------------------------------------------------------------------------------


def counting(calls: list[bytes]) -> Callable[[Design], Evaluation]:
    def simulator(design: Design) -> Evaluation:
        calls.append(design.x.tobytes())
        return disc(design)

    return simulator


@BOTH
def test_known_constraints_are_not_simulated_again(settings: Settings, tmp_path: Path) -> None:
    path = tmp_path / "run.db"
    first = solve(settings, journal=path)
    calls: list[bytes] = []
    limit = len(first.evaluations)
    again = archeng.solve(
        plane(), counting(calls), simulated=DISC, settings=settings, seed=6, reuse=path,
        max_evaluations=2, callback=after(len(first.history)),
    )  # fmt: skip
    assert calls == []
    assert {e.status for e in again.evaluations} == {"reused"}
    for a, b in zip(again.evaluations, first.evaluations[:limit], strict=True):
        assert a.x.tobytes() == b.x.tobytes()
        assert (a.objective, a.constraints, a.outputs) == (b.objective, b.constraints, b.outputs)
        assert a.violated == b.violated
    assert (again.nfev, again.fun, again.simulated) == (0, first.fun, first.simulated)


def test_other_limits_are_judged_anew(tmp_path: Path) -> None:
    """The values are reused, not the verdict."""
    path = tmp_path / "run.db"
    first = solve(NONE, journal=path)
    wider = solve(NONE, simulated={"size": (None, 9.0)}, reuse=path, max_evaluations=6)
    reused = [e for e in wider.evaluations if e.status == "reused"]
    assert len(reused) >= 6
    for e in reused:
        assert e.violated == (("size",) if e.constraints["size"] > 9 else ())
    assert [e.violated for e in reused] != [e.violated for e in first.evaluations[: len(reused)]]


def test_designs_without_the_constraint_are_simulated_again(tmp_path: Path) -> None:
    path = tmp_path / "plain.db"
    archeng.solve(
        plane(), lambda d: gap(d.x), settings=NONE, max_evaluations=12, seed=6, journal=path
    )
    calls: list[bytes] = []
    result = archeng.solve(
        plane(), counting(calls), simulated=DISC, settings=NONE, seed=6, reuse=path,
        max_evaluations=12,
    )  # fmt: skip
    assert result.evaluations[0].x.tobytes() == stored(path)[0].x.tobytes()
    assert len(calls) == result.nfev == 12
    assert {e.status for e in result.evaluations} == {"ok"}


def test_constraints_that_are_not_asked_for_are_left_out(tmp_path: Path) -> None:
    path = tmp_path / "run.db"
    solve(NONE, journal=path)
    result = archeng.solve(
        plane(), lambda d: gap(d.x), settings=NONE, seed=6, reuse=path, max_evaluations=2
    )
    first = result.evaluations[0]
    assert (first.status, first.constraints) == ("reused", {})
    assert first.outputs["where"] in ("in", "out")


# -- version 2 ----------------------------------------------------------------------------------


def walled() -> Model:
    """An explicit constraint, so that there are repairs."""
    model = Model("walled")
    x = model.variable("x", shape=2, lower=-5, upper=5)
    model.subject_to(x[0] + x[1] <= 2, name="wall")
    return model


def plain(settings: Settings, **options: Any) -> Result:
    return archeng.solve(
        walled(), lambda d: gap(d.x), settings=settings,
        **{"seed": 6, "max_evaluations": CALLS[settings.surrogate], **options},
    )  # fmt: skip


@BOTH
def test_a_journal_of_version_2_is_read_and_reused(settings: Settings, tmp_path: Path) -> None:
    path = tmp_path / "old.db"
    plain(settings, journal=path, callback=after(4))
    calls = stored(path)
    as_version_2(path)
    assert version_of(path) == 2
    for a, b in zip(stored(path), calls, strict=True):
        assert (a.x.tobytes(), a.objective, a.status) == (b.x.tobytes(), b.objective, b.status)
        assert (a.constraints, a.outputs, a.repair_rows) == ({}, {}, ())
    assert version_of(path) == 2  # looking changes nothing
    with pytest.raises(JournalError, match=r"version 2.*seed=6 and reuse="):
        archeng.resume(path, lambda d: gap(d.x))
    assert version_of(path) == 2
    again, whole = plain(settings, reuse=path), plain(settings)
    designs = [e.x.tobytes() for e in whole.evaluations]
    assert [e.x.tobytes() for e in again.evaluations][: len(designs)] == designs
    assert [e.status for e in again.evaluations[: len(calls)]] == ["reused"] * len(calls)


def test_a_journal_of_version_2_is_reused(tmp_path: Path) -> None:
    path = tmp_path / "old.db"
    first = plain(NONE, journal=path)
    as_version_2(path)
    again = plain(NONE, reuse=path, max_evaluations=1, callback=after(3))
    assert len(again.evaluations) >= 15
    assert {e.status for e in again.evaluations} == {"reused"}
    assert again.fun == min(e.objective for e in first.evaluations[: len(again.evaluations)])
    assert version_of(path) == 2


def test_commands_read_version_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "old.db"
    plain(NONE, journal=path)
    copy = Path(shutil.copy(path, tmp_path / "copy.db"))
    as_version_2(copy)
    printed = []
    for file in (path, copy):
        assert main(["export", str(file), "--csv", str(file.with_suffix(".csv"))]) == 0
        printed.append(file.with_suffix(".csv").read_text())
        assert main(["status", str(file)]) == 0
    assert printed[0] == printed[1]
    assert "best objective" in capsys.readouterr().out


# -- commands -----------------------------------------------------------------------------------


def test_the_table_has_constraints_and_outputs(tmp_path: Path) -> None:
    path = tmp_path / "run.db"
    result = solve(NONE, journal=path, max_evaluations=6)
    assert main(["export", str(path), "--csv", str(tmp_path / "run.csv")]) == 0
    with (tmp_path / "run.csv").open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert [float(r["constraints.size"]) for r in rows] == [
        e.constraints["size"] for e in result.evaluations
    ]
    assert [r["outputs.where"] for r in rows] == [e.outputs["where"] for e in result.evaluations]


@pytest.mark.parametrize(("limit", "words"), [(4.0, "size = "), (-1.0, "no design satisfies all")])
def test_the_status_says_whether_a_design_satisfies_all(
    limit: float, words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "run.db"
    solve(NONE, journal=path, simulated={"size": (None, limit)}, max_evaluations=12)
    assert main(["status", str(path)]) == 0
    assert words in capsys.readouterr().out
