"""The problem's constants and the published results, read from ``published.json``."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

TURBINES = (16, 36, 64)
"""Sizes of the case study."""


@dataclass(frozen=True)
class Submission:
    """What one participant published; the fields are explained in the JSON file."""

    participant: int
    method: str | None
    gradient: bool | None
    aep_mwh: float
    boundary_excess_m: float
    least_spacing_m: float
    strictly_feasible: bool
    inside_aep_mwh: float
    inside_feasible: bool
    x_m: tuple[float, ...] = ()
    y_m: tuple[float, ...] = ()

    @property
    def name(self) -> str:
        """The participant's number and method."""
        return f"{self.participant}, {self.method or 'method not given'}"

    @property
    def kind(self) -> str:
        """Whether the method uses gradients, in words."""
        return {True: "gradients", False: "gradient-free", None: ""}[self.gradient]


@dataclass(frozen=True)
class Scenario:
    """One size of the farm: its constraints and what was published for it, best first."""

    turbines: int
    radius_m: float
    spacing_m: float
    baseline_aep_mwh: float
    no_wakes_aep_mwh: float
    submissions: tuple[Submission, ...]

    def best(self, *, gradient: bool) -> Submission:
        """Return the best submission that uses gradients, or the best that uses none.

        Layouts that are infeasible by more than the move of 1e-6 m can mend do not count.
        """
        return next(s for s in self.submissions if s.gradient is gradient and s.inside_feasible)


@cache
def scenario(turbines: int) -> Scenario:
    """Return the scenario with 16, 36 or 64 turbines."""
    if turbines not in TURBINES:
        raise ValueError(f"turbines must be one of {TURBINES}, got {turbines!r}.")
    path = Path(__file__).with_name("published.json")
    data: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))["scenarios"][str(turbines)]
    results = data.pop("results")
    for result in results:
        for axis in ("x_m", "y_m"):
            result[axis] = tuple(result.get(axis, ()))
    submissions = tuple(Submission(**result) for result in results)
    return Scenario(turbines=turbines, submissions=submissions, **data)
