"""A progress line for terminals, as a callback of ``solve`` (``verbose=True``)."""

from __future__ import annotations

import shutil
import sys
import time
from typing import Any, Protocol, TextIO


class _Observable(Protocol):
    """What a progress line needs to know of a run."""

    n_evaluations: int
    n_failures: int
    max_evaluations: int | None
    stopped: bool
    history: Any


class ProgressLine:
    """Callback that shows how a run gets on.

    Calls of the budget, best objective and its change since the last update, step size, active
    constraints, repairs by kind, failures, time per call and time left. On a terminal one line
    is rewritten; elsewhere a line is written every few seconds.

    Parameters
    ----------
    stream : text stream
        Standard error by default.
    every : float
        Least number of seconds between two updates (plain streams: ten times that).
    """

    def __init__(self, stream: TextIO | None = None, every: float = 0.2) -> None:
        self._stream = stream or sys.stderr
        self._terminal = self._stream.isatty()
        self._every = every if self._terminal else 10 * every
        self._begin = time.monotonic()
        self._last = -float("inf")
        self._first_calls: int | None = None
        self._best = float("nan")

    def __call__(self, run: _Observable) -> None:
        """Update the line; the last update is always shown."""
        now = time.monotonic()
        if self._first_calls is None:  # a resumed run has calls from before
            self._first_calls = 0 if len(run.history) <= 1 else run.history[-2].evaluations
        if not run.history or (now - self._last < self._every and not run.stopped):
            return
        self._last = now
        text = self._text(run, now - self._begin)
        if self._terminal:
            width = max(shutil.get_terminal_size().columns - 1, 20)
            self._stream.write("\r" + text[:width].ljust(width) + ("\n" if run.stopped else ""))
        else:
            self._stream.write(text + "\n")
        self._stream.flush()

    def _text(self, run: _Observable, seconds: float) -> str:
        g = run.history[-1]
        change = g.best - self._best
        self._best = g.best
        budget = f"/{run.max_evaluations}" if run.max_evaluations else ""
        parts = [
            f"{run.n_evaluations}{budget} calls",
            f"best {g.best:.8g}" + (f" ({change:+.1e})" if abs(change) > 0 else ""),
            f"step {g.sigma:.1e}",
            f"active {g.n_active}",
            _repairs(g.repairs),
        ]
        if g.repairs.get("failed"):
            parts.append(f"{g.repairs['failed']} not repairable")
        if run.n_failures:
            parts.append(f"{run.n_failures} calls failed")
        parts.append(self._times(run, seconds))
        return "  ".join(parts)

    def _times(self, run: _Observable, seconds: float) -> str:
        made = run.n_evaluations - (self._first_calls or 0)
        if made <= 0:
            return _duration(seconds)
        each = seconds / made
        text = f"{_duration(seconds)}, {each:.2g} s/call"
        if run.max_evaluations and not run.stopped:
            text += f", at most {_duration(each * (run.max_evaluations - run.n_evaluations))} left"
        return text


def _repairs(kinds: dict[str, int]) -> str:
    """Return the repairs by kind: how many to the intersection, how many to the nearest point."""
    size = sum(kinds.values())
    if kinds.get("proposed"):
        return f"proposed {kinds['proposed']}"
    if kinds.get("unrepaired"):
        return f"infeasible {kinds['unrepaired']}/{size}"
    repaired = {kind: n for kind, n in sorted(kinds.items()) if kind not in ("feasible", "failed")}
    named = [f"{n} {kind}" for kind, n in repaired.items()]
    detail = f" ({', '.join(named)})" if named else ""
    return f"repaired {sum(repaired.values())}/{size}{detail}"


def _duration(seconds: float) -> str:
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d} min"
