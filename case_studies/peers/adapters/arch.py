"""archeng itself, with BIPOP restarts until the budget is used."""

from __future__ import annotations

from typing import Any

import archeng
from case_studies.peers.case import Case

RESTARTS = 10**6
"""More than any budget allows."""


def default(case: Case) -> None:
    """Run with ``Settings()``: what a user gets who sets nothing."""
    _solve(case, archeng.Settings())


def paper(case: Case) -> None:
    """Run with ``Settings.paper()``: the algorithm of Sakamoto and Akimoto (2022) as published."""
    _solve(case, archeng.Settings.paper())


def _solve(case: Case, settings: archeng.Settings) -> None:
    fs = case.feasible_set

    def simulator(design: Any) -> float:
        return case.objective(fs.reduce(design.x))

    archeng.solve(
        case.model,
        simulator,
        start=fs.expand(case.start),
        seed=case.seed,
        restarts=RESTARTS,
        max_evaluations=case.objective.calls_left,
        callback=lambda run: case.objective.tick(),
        settings=settings,
    )
