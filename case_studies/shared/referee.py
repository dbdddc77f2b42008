"""A referee beside the simulator, who knows nothing of archeng: which calls were legal."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

Design = Mapping[str, float]
Range = tuple[float, float, float]
"""Value, lower and upper limit of a constraint."""

ROUNDING = 1e-9  # relative; a limit that is met exactly must not fail by the last digit


def exceeded(limits: Mapping[str, Range], slack: float = ROUNDING) -> list[str]:
    """Return the names of the limits that are violated; ``slack`` is relative to the limit."""
    violated = []
    for name, (value, lower, upper) in limits.items():
        size = max(abs(v) for v in (lower, upper, 1.0) if math.isfinite(v))
        if not lower - slack * size <= value <= upper + slack * size:
            violated.append(name)
    return violated


class Watched:
    """A simulator with a referee beside it, who knows nothing of archeng.

    Parameters
    ----------
    simulator : callable
        A design to a number, or to outputs.
    exceeded : callable
        A design to the names of the limits that it exceeds.
    objective : callable, optional
        A design and what the simulator returned to a number; needed if that is none itself.

    Attributes
    ----------
    n_calls, n_illegal : int
        All calls, and those at designs that exceed a limit.
    failures : Counter
        Calls that raised, by the exception.
    best : list of float
        After each call, the least value at a legal design so far (infinite before the first).
    best_design : dict
        Where the last of these was.
    """

    def __init__(
        self,
        simulator: Callable[[Any], Any],
        exceeded: Callable[[Design], list[str]],
        objective: Callable[[Design, Any], float] | None = None,
    ) -> None:
        self._simulator, self._exceeded, self._objective = simulator, exceeded, objective
        self.n_calls = self.n_illegal = 0
        self.failures: Counter[str] = Counter()
        self.best: list[float] = []
        self.best_design: dict[str, float] = {}

    def __call__(self, design: Design) -> Any:
        """Call the simulator, and let its exceptions through."""
        self.n_calls += 1
        legal = not self._exceeded(design)
        self.n_illegal += not legal
        self.best.append(self.best[-1] if self.best else math.inf)
        try:
            answer = self._simulator(design)
            value = float(answer if self._objective is None else self._objective(design, answer))
        except Exception as error:
            self.failures[f"{type(error).__name__}: {_first_words(error)}"] += 1
            raise
        if legal and value < self.best[-1]:
            self.best[-1] = value
            self.best_design = {name: float(design[name]) for name in design}
        return value if self._objective is None else answer


def _first_words(error: Exception) -> str:
    """Beginning of a message, without the numbers of the case."""
    words = []
    for word in str(error).replace(";", " ").split():
        if any(c.isdigit() for c in word) or len(" ".join(words)) > 40:
            break
        words.append(word)
    return " ".join(words) or "(no message)"
