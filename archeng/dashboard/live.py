"""`Live`: what the dashboard shows of a journal, kept up to date.

The journal is only read. It is looked at once a second, and read again only if it has changed,
and the more rarely the longer reading takes: a dashboard must not slow the run down.
"""

from __future__ import annotations

import contextlib
import logging
import os
import threading
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from archeng.errors import ArchengError, JournalError
from archeng.journal import is_written
from archeng.report import sections, subtitle
from archeng.report.figures import plot
from archeng.report.figures.style import to_svg
from archeng.result import Result
from archeng.runner import JournalReader

logger = logging.getLogger("archeng")

_LOOK = 1.0  # seconds between two looks at the file
_REST = 4.0  # after work it rests this many times as long


@dataclass(frozen=True, eq=False)
class View:
    """What is shown at a moment; ``version`` grows with every change."""

    version: int
    result: Result
    data: Mapping[str, Any]
    since: float
    figures: dict[str, bytes] = field(default_factory=dict)


class Live:
    """Follows a journal, with so many seconds between two looks at the file.

    Raises
    ------
    JournalError
        If the journal cannot be read at all.
    """

    def __init__(self, path: str | Path, look: float = _LOOK) -> None:
        self.path = Path(path)
        self._look = look
        self._reader = JournalReader(path)
        self._drawing = threading.Lock()
        self._end = threading.Event()
        self._error = ""
        self._work = 0.0
        self._stamp = self._now()
        self._view = self._made(1)
        self._thread = threading.Thread(target=self._follow, name="archeng-dashboard", daemon=True)

    def start(self) -> None:
        """Begin to follow."""
        self._thread.start()

    def close(self) -> None:
        """Stop following."""
        self._end.set()
        if self._thread.is_alive():
            self._thread.join(timeout=5)

    @property
    def name(self) -> str:
        """Name of the study."""
        return self._view.result.name

    def state(self, known: str) -> dict[str, Any]:
        """Return what the page shows; only what changes every second if it knows the version."""
        view = self._view
        about: dict[str, Any] = {
            "version": view.version,
            "age": round(time.time() - view.since, 1),
            "error": self._error,
        }
        return about if known == str(view.version) else {**about, **view.data}

    def figure(self, kind: str) -> bytes:
        """Return a figure as SVG, drawn when it is first asked for.

        Raises
        ------
        SettingsError
            If there is no such kind, or nothing of that kind to show.
        """
        with self._drawing:
            view = self._view
            if kind not in view.figures:
                begin = time.monotonic()
                view.figures[kind] = to_svg(plot(kind, view.result, titled=False))
                self._work += time.monotonic() - begin
            return view.figures[kind]

    # -- following ------------------------------------------------------------------------

    def _follow(self) -> None:
        while not self._end.wait(self._look + _REST * self._work):
            self._work = 0.0
            self.refresh()

    def refresh(self) -> None:
        """Read the journal again if it has changed."""
        stamp = self._now()
        if stamp == self._stamp and not self._error:
            return
        begin = time.monotonic()
        try:
            self._view = self._made(self._view.version + 1)
            self._stamp, self._error = stamp, ""
        except ArchengError as error:  # the last view stays
            self._error = str(error)
            logger.debug("the dashboard cannot read %s: %s", self.path, error)
        self._work += time.monotonic() - begin

    def _stats(self) -> list[os.stat_result]:
        """Return sizes and times of the journal's files, as far as they are there."""
        stats = []
        for suffix in ("", "-wal"):
            with contextlib.suppress(OSError):
                stats.append(self.path.with_name(self.path.name + suffix).stat())
        return stats

    def _now(self) -> tuple[Any, ...]:
        """Return what changes when the journal does: sizes, times, and whether it is written."""
        files = [(s.st_mtime_ns, s.st_size, s.st_ino) for s in self._stats()]
        return (is_written(self.path), *files)

    def _made(self, version: int) -> View:
        result = self._reader.result()
        stats = self._stats()
        if not stats:
            raise JournalError(f"{self.path}: there is no such journal.")
        data = {
            "name": result.name,
            "subtitle": subtitle(result),
            "state": result.state,
            "sections": [asdict(part) for part in sections(result)],
        }
        return View(version, result, data, max(s.st_mtime for s in stats))
