"""The simulator: the ring model, which judges every design before it computes it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from archeng import Evaluation
from case_studies.flange.ring import Ring
from case_studies.flange.rules import Parts, broken_rules


class RingModel:
    """The ring model of a design. It judges every design by itself, in NumPy, and counts.

    Attributes
    ----------
    n_calls, n_illegal : int
        Calls so far, and how many of them were at designs with a part that is on no list or that
        break an explicit rule. In worker processes each worker has its own count.
    """

    def __init__(self) -> None:
        self.n_calls = 0
        self.n_illegal = 0

    def __call__(self, design: Mapping[str, Any]) -> Evaluation:
        """Simulate a design."""
        self.n_calls += 1
        parts = Parts.of(design)
        self.n_illegal += bool(broken_rules(parts))
        state = Ring(parts.joint()).solve()
        return Evaluation(
            outputs={
                "least pressure": state.least_pressure,
                "most pressure": state.most_pressure,
                "rotation": state.rotation,
                "plate stress": state.plate_stress,
                "bolt force": state.bolt_force,
            }
        )
