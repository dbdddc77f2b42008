"""`OnPyomoModel`: a simulator that reads its design from a Pyomo model."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from archeng.model import ModelValues, copy_of
from archeng.simulator.design import Design


class OnPyomoModel:
    """Call a simulator with a copy of the Pyomo model that holds the design's values.

    Each thread and each worker process has a copy of its own; the user's model never changes.
    """

    def __init__(self, simulator: Callable[[Any], Any], model: Any) -> None:
        self._simulator = simulator
        self._root, self._model = copy_of(model)
        self._local = threading.local()

    def __call__(self, design: Design) -> Any:
        """Load the design into this thread's copy and simulate it."""
        if not hasattr(self._local, "copy"):
            self._local.root, self._local.copy = copy_of(self._model)
            self._local.values = ModelValues(self._local.copy, design)
        self._local.values.set(design)
        return self._simulator(self._local.copy)

    def __getstate__(self) -> dict[str, Any]:
        return {"_simulator": self._simulator, "_root": self._root, "_model": self._model}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._local = threading.local()
