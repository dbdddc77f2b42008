"""A progress line for terminals, as a callback of ``solve`` (``verbose=True``)."""

from __future__ import annotations

import contextlib
import logging
import shutil
import sys
import time
from typing import Any, Protocol, TextIO

from archeng.checks import real, shown
from archeng.errors import SettingsError
from archeng.simulator import Call

logger = logging.getLogger("archeng")

_SHOWN_FAILURES = 10  # further ones are only counted
_FEW = 5  # generations before it is said that workers are idle
_KEPT_BUSY = 0.5  # share of the time in which calls are under way, else the calls are too short


class _Observable(Protocol):
    """What a progress line needs to know of a run."""

    n_workers: int | None
    history: Any
    settings: Any
    ledger: Any
    options: Any

    @property
    def n_evaluations(self) -> int: ...
    @property
    def n_failures(self) -> int: ...
    @property
    def max_evaluations(self) -> int | None: ...
    @property
    def stopped(self) -> bool: ...


class ProgressLine:
    """Callback that shows how a run gets on.

    Calls of the budget, best objective and its change since the last update, step size, active
    constraints, repairs by kind, failures, idle workers, time per call and time left. On a terminal
    one line is rewritten; elsewhere a line is written every few seconds. If the stream can no
    longer be written to, the run goes on without it.

    Parameters
    ----------
    stream : text stream
        Standard error by default.
    every : float
        Least number of seconds between two updates (plain streams: ten times that).
    """

    def __init__(self, stream: TextIO | None = None, every: float = 0.2) -> None:
        if stream is not None and not hasattr(stream, "write"):
            raise SettingsError(f"stream must be a text stream, got {shown(stream)}.")
        every = real("every", every)
        self._stream: TextIO | None = stream or sys.stderr  # None under pythonw
        self._terminal = False
        with contextlib.suppress(AttributeError, ValueError):  # no stream, or a closed one
            self._terminal = self._stream.isatty()
        self._every = every if self._terminal else 10 * every
        self._begin = time.monotonic()
        self._last = -float("inf")
        self._first: tuple[float, int] | None = None  # time and number of the first generation
        self._best = float("nan")
        self._failures = 0
        self._advised = False

    def __call__(self, run: _Observable) -> None:
        """Update the line; the last update is always shown."""
        now = time.monotonic()
        if self._first is None and run.history:  # a resumed run has generations from before
            self._first = now, len(run.history)
        if not run.history or (now - self._last < self._every and not run.stopped):
            return
        self._last = now
        text = self._text(run, now)
        if self._terminal:
            self._write("\r" + _fitted(text) + ("\n" if run.stopped else ""))
        else:
            self._write(text + "\n")

    def failed(self, call: Call) -> None:
        """Show a call that did not end well, as it happens."""
        self._failures += 1
        if self._failures <= _SHOWN_FAILURES:
            after = f"after {duration(call.seconds)}"
            self._write_line(f"call {call.status.replace('_', ' ')} {after}: {call.summary}")
        if self._failures == _SHOWN_FAILURES:
            self._write_line("further failed calls are only counted")

    def _write_line(self, text: str) -> None:
        """Write a line that stays."""
        self._write(f"\r{_fitted('')}\r{text}\n" if self._terminal else f"{text}\n")

    def _write(self, text: str) -> None:
        """Write as much as the stream's encoding can; never raise."""
        if self._stream is None:
            return
        try:
            encoding = getattr(self._stream, "encoding", None) or "utf-8"
            self._stream.write(text.encode(encoding, "backslashreplace").decode(encoding))
            self._stream.flush()
        except (OSError, ValueError) as error:  # gone, full, or closed
            self._stream = None
            with contextlib.suppress(Exception):  # the log may go the same way
                logger.warning("the progress is no longer shown (%s); the run goes on", error)

    def _text(self, run: _Observable, now: float) -> str:
        g = run.history[-1]
        change = g.best - self._best
        self._best = g.best
        budget = f"/{run.max_evaluations}" if run.max_evaluations else ""
        calls = f"{run.n_evaluations}{budget} calls"
        if len(run.ledger.costs) > 1:
            cheaper = " + ".join(map(str, run.ledger.made[:-1]))
            calls = f"{cheaper} + {calls}, cost {run.ledger.cost:.4g}"
        parts = [
            calls,
            f"best {g.best:.8g}"
            + (f" +- {g.deviation:.1e}" if g.deviation else "")
            + (f" ({change:+.1e})" if abs(change) > 0 else ""),
            f"step {g.sigma:.1e}",
            f"active {g.n_active}",
            _repairs(g.repairs),
        ]
        if g.repairs.get("failed"):
            parts.append(f"{g.repairs['failed']} not repairable")
        if run.n_failures:
            parts.append(f"{run.n_failures} calls failed")
        parts += [*self._idle(run, now), self._times(run, now - self._begin)]
        return "  ".join(parts)

    def _idle(self, run: _Observable, now: float) -> list[str]:
        """Say how many workers were busy since the first generation, if fewer than half of them.

        What would use more of them is written once; not if it is the calls that are short.
        """
        assert self._first is not None
        begin, count = self._first  # the first call is alone: its generation does not count
        later, workers = run.history[count:], run.n_workers or 1
        busy = sum(g.simulator_seconds for g in later) / max(now - begin, 1e-9)
        if workers == 1 or len(later) < _FEW or busy >= workers / 2:
            return []
        text = f"{busy:.1f} of {workers} workers busy"
        proposed = bool(later[-1].repairs.get("proposed"))
        width = run.options.parallel
        at_once = run.settings.proposals_at(width) if proposed else later[-1].population_size
        if at_once < workers and busy >= _KEPT_BUSY and not self._advised:
            self._advised = True
            self._write_line(f"{text}: parallel={workers} would use more")
        return [text]

    def _times(self, run: _Observable, seconds: float) -> str:
        assert self._first is not None
        earlier = self._first[1] - 1
        made = run.n_evaluations - (run.history[earlier - 1].evaluations if earlier else 0)
        if made <= 0:
            return duration(seconds)
        each = seconds / made
        text = f"{duration(seconds)}, {each:.2g} s/call"
        if run.max_evaluations and not run.stopped:
            text += f", at most {duration(each * (run.max_evaluations - run.n_evaluations))} left"
        return text


def _fitted(text: str) -> str:
    """Cut or fill a text to the width of the terminal."""
    width = max(shutil.get_terminal_size().columns - 1, 20)
    return text[:width].ljust(width)


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


def duration(seconds: float) -> str:
    """Return a time as people say it."""
    if 0 < seconds < 0.1:
        return f"{seconds:.2g} s"
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d} min"
