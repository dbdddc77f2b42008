"""Ctrl-C: the first one lets the calls under way finish, the second one stops at once."""

from __future__ import annotations

import contextlib
import logging
import signal
import threading
from collections.abc import Iterator
from types import FrameType

logger = logging.getLogger("archeng")


class Interruption:
    """Whether the user has asked to stop."""

    def __init__(self) -> None:
        self.requested = False

    @contextlib.contextmanager
    def listening(self) -> Iterator[None]:
        """Catch the first Ctrl-C while the block runs (main thread only)."""
        self.requested = False
        before = signal.getsignal(signal.SIGINT)
        elsewhere = threading.current_thread() is not threading.main_thread()
        if elsewhere or before is not signal.default_int_handler:  # the host program has its own
            yield
            return
        signal.signal(signal.SIGINT, self._first)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, before)

    def _first(self, number: int, frame: FrameType | None) -> None:
        if self.requested:
            raise KeyboardInterrupt
        self.requested = True
        logger.warning("stopping after the calls under way; Ctrl-C again stops at once")
