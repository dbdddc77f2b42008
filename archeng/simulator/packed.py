"""`Packed`: a simulator that is pickled once, and unpickled once in each thread that calls it.

Executors that send the function with every task would pickle it as often. A thread has a copy of
its own, as if it had been sent to it: simulators need not be safe to share.
"""

from __future__ import annotations

import hashlib
import threading
from typing import Any

import cloudpickle

from archeng.errors import SettingsError
from archeng.simulator.call import Call, Simulator, call
from archeng.simulator.design import Design

_KEPT = 4  # simulators that a thread keeps

_local = threading.local()


class Packed:
    """A function that calls the simulator with a design, small to send again."""

    def __init__(self, simulator: Simulator) -> None:
        try:
            self._data = bytes(cloudpickle.dumps(simulator))
        except Exception as error:
            raise SettingsError(
                f"workers: the simulator cannot be sent to workers ({type(error).__name__}: "
                f"{error}). Open files, connections and the like inside the function."
            ) from error
        self._digest = hashlib.sha256(self._data).digest()

    def __call__(self, design: Design) -> Call:
        """Call the simulator in this thread."""
        return call(self._unpacked(), design)

    def _unpacked(self) -> Any:
        kept: dict[bytes, Any] = _local.__dict__.setdefault("kept", {})
        if self._digest not in kept:
            if len(kept) >= _KEPT:
                kept.pop(next(iter(kept)))
            kept[self._digest] = cloudpickle.loads(self._data)
        return kept[self._digest]
