"""A progress bar on standard error: done of all, time so far, time left."""

from __future__ import annotations

import sys
import time
from datetime import timedelta
from typing import TextIO

WIDTH = 30
EVERY = 30.0
"""Seconds between two lines where standard error is not a terminal."""


class Progress:
    """Count finished tasks.

    Parameters
    ----------
    name : str
        Shown in front.
    total, done : int
        Tasks in all, and those that an earlier start has finished.
    stream : text stream, optional
        Standard error by default. If it is not a terminal, a line is written at the beginning,
        at the end, and in between at most every 30 seconds.
    """

    def __init__(self, name: str, total: int, done: int, stream: TextIO | None = None) -> None:
        self._name, self._total, self._done, self._before = name, total, done, done
        self._stream = stream or sys.stderr
        self._terminal = self._stream.isatty()
        self._begin = self._shown = time.monotonic()
        self._show()

    def step(self) -> None:
        """Note that one more task has finished."""
        self._done += 1
        if self._terminal or time.monotonic() - self._shown >= EVERY:
            self._show()

    def say(self, text: str) -> None:
        """Write a message above the bar."""
        self._stream.write(f"\r{text}\n" if self._terminal else f"{text}\n")

    def close(self) -> None:
        """Show where it ended."""
        if self._done > self._before:
            self._show()
        if self._terminal:
            self._stream.write("\n")

    def _show(self) -> None:
        self._shown = time.monotonic()
        seconds, made = self._shown - self._begin, self._done - self._before
        filled = WIDTH * self._done // max(self._total, 1)
        text = f"{self._name} [{'#' * filled:.<{WIDTH}}] {self._done}/{self._total}"
        text += f"  {_duration(seconds)} elapsed"
        if made and self._done < self._total:
            text += f", {_duration(seconds / made * (self._total - self._done))} left"
        self._stream.write(f"\r{text:<90}" if self._terminal else f"{text}\n")
        self._stream.flush()


def _duration(seconds: float) -> str:
    return str(timedelta(seconds=round(seconds)))
