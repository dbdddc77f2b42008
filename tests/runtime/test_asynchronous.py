"""Asynchronous runs: given the order in which calls end, they are the same, bit for bit."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from runtime_helpers import CASES, Logged, assert_same, begun, bowl, line, solve_case

import archeng
from archeng import Result, Settings, StopReason
from archeng.errors import SettingsError, SimulatorError

WIDTH = 4
SOME = (
    "failures",
    "duplicates",
    "restarts",
    "proposals to the end",
    "outputs, proposals",
    "discrete outputs, proposals",
)
"""One of each kind: failed calls, the same design again, restarts, models, simulated constraints,
discrete variables."""


class InOrder:
    """An executor whose calls end in a given order of designs."""

    def __init__(self, order: Sequence[np.ndarray[Any, Any]]) -> None:
        self._order = [x.tobytes() for x in order]
        self._waiting: dict[bytes, tuple[_Listened, Callable[[], Any]]] = {}

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Future[Any]:
        future = _Listened(self._go_on)
        *_, design = arguments
        self._waiting[design.x.tobytes()] = future, lambda: function(*arguments)
        return future

    def _go_on(self) -> None:
        while self._order and self._order[0] in self._waiting:
            future, compute = self._waiting.pop(self._order.pop(0))
            future.set_result(compute())


class _Listened(Future[Any]):
    """A future that says when somebody listens to its end."""

    def __init__(self, heard: Callable[[], None]) -> None:
        super().__init__()
        self._heard = heard

    def add_done_callback(self, function: Callable[[Future[Any]], object]) -> None:
        super().add_done_callback(function)
        self._heard()


def solved(name: str, **options: Any) -> Result:
    return solve_case(name, **{"asynchronous": True, "parallel": WIDTH, **options})


@pytest.mark.parametrize("name", SOME)
def test_the_order_of_ending_says_all(name: str, tmp_path: Path) -> None:
    first = solved(name, workers=f"threads:{WIDTH}", delay=0.02, journal=tmp_path / "run.db")
    order = [e.x for e in first.evaluations]
    assert [e.sent for e in first.evaluations] != sorted(e.sent for e in first.evaluations)
    assert_same(solved(name, workers=InOrder(order)), first)
    assert_same(archeng.read_journal(tmp_path / "run.db"), first)


class _Cut(BaseException):
    """Ends the process, as far as the run can tell."""


class _CutOff:
    """Breaks down in the middle of a call."""

    def __init__(self, objective: str, calls: int) -> None:
        self._simulator, self._calls = Logged(objective), calls

    def __call__(self, design: Any) -> Any:
        self._calls -= 1
        if self._calls < 0:
            raise KeyboardInterrupt
        return self._simulator(design)


@pytest.mark.parametrize("calls", [1, 7, 16])
@pytest.mark.parametrize("name", SOME)
def test_a_run_that_was_cut_off_goes_on_exactly(name: str, calls: int, tmp_path: Path) -> None:
    whole = solved(name)
    objective = CASES[name].get("objective", "bowl")
    journal, log = tmp_path / "run.db", tmp_path / "log"
    solved(name, journal=journal, simulator=_CutOff(objective, calls))
    done = archeng.read_journal(journal).evaluations
    assert len(done) == calls
    result = archeng.resume(journal, Logged(objective, log))
    assert_same(result, whole)
    assert not {e.x.tobytes().hex() for e in done} & set(begun(log))
