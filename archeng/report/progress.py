"""A progress line for terminals, as a callback of ``solve``."""

from __future__ import annotations

import shutil
import sys
import time
from typing import Any, Protocol, TextIO


class _Observable(Protocol):
    """What a progress line needs to know of a run."""

    n_evaluations: int
    max_evaluations: int | None
    stopped: bool
    history: Any


class ProgressLine:
    """Callback that shows calls, best objective, step size and repairs while a run goes on.

    On a terminal one line is rewritten; elsewhere a line is printed every few seconds.

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

    def __call__(self, run: _Observable) -> None:
        """Update the line; the last update is always shown."""
        now = time.monotonic()
        if not run.history or (now - self._last < self._every and not run.stopped):
            return
        self._last = now
        g = run.history[-1]
        budget = f"/{run.max_evaluations}" if run.max_evaluations else ""
        repaired = sum(v for k, v in g.repairs.items() if k != "feasible")
        failed = f"  {g.repairs['failed']} not repairable" if g.repairs.get("failed") else ""
        text = (
            f"{run.n_evaluations}{budget} calls  best {g.best:.8g}  step {g.sigma:.1e}  "
            f"active {g.n_active}  repaired {repaired}/{g.population_size}{failed}  "
            f"{now - self._begin:.1f} s"
        )
        if self._terminal:
            width = max(shutil.get_terminal_size().columns - 1, 20)
            self._stream.write("\r" + text[:width].ljust(width) + ("\n" if run.stopped else ""))
        else:
            self._stream.write(text + "\n")
        self._stream.flush()
