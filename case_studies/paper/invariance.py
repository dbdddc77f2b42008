"""What affine maps and increasing transformations change in a run: [SA22 tab:class].

A search of 60 generations (200 of the active-set ES, which makes one call in each) is repeated
with the same seed in the transformed problem, see `transformations`; the initial distribution is
mapped with its factor. The designs of the calls are mapped back and compared one by one, in
standard deviations of the search distribution of the original run at that time. Two runs *part*
in the first generation in which a design differs by more than 1e-6 or the number of calls does.

Rounding is not the same in the two problems. A difference of 1e-6 is far above it unless the map
has a large condition, and small enough that the runs have ranked the same candidates alike.

==============  =================================================================
method          settings
==============  =================================================================
arch            ``Settings()`` without surrogate: the root of C moves with the coordinates
arch-paper      ``Settings.paper()``: the symmetric root, which does not
arch-nearest    ``Settings()`` without repairs to intersections
others          ``Settings()`` with that handler
==============  =================================================================

Theory: *exact* means that exact arithmetic and exact repairs give the same run. The theorems of
the paper assume a convex feasible set (the quadratics, g09); elsewhere a repair has several local
solutions. *In distribution*: the symmetric root turns the samples of one seed, so that the runs
differ; in [SA22] the whole algorithm is invariant in statistics, not call by call.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

import archeng
from archeng.distribution import Distribution
from archeng.errors import SettingsError
from case_studies.paper import invariance_report
from case_studies.paper.quadratics import FUNCTIONS
from case_studies.paper.results import Row, Task
from case_studies.paper.transformations import TRANSFORMATIONS, Play, original, transformed

Floats = NDArray[np.float64]

NAME = "invariance"
HELP = "largest change of a run by affine maps and increasing transformations (tab:class)"
RUNS, QUICK_RUNS = 5, 1

PROBLEMS = invariance_report.PROBLEMS
QUICK_PROBLEMS = ("sphere", "rotated ellipsoid", "g06", "g11")
GENERATIONS = 60
ACTIVE_SET_GENERATIONS = 200
QUICK_GENERATIONS = 25
PARTED = 1e-6

summary = invariance_report.summary
figures = invariance_report.figures


def tasks(runs: int, quick: bool) -> list[Task]:
    return [
        {
            "problem": name,
            "method": method,
            "generations": _generations(method, quick),
            "seed": seed,
        }
        for seed in range(runs)
        for method, name in product(
            invariance_report.METHODS, QUICK_PROBLEMS if quick else PROBLEMS
        )
        if applicable(method, name)
    ]


def _generations(method: str, quick: bool) -> int:
    if method == "active-set-es":
        return ACTIVE_SET_GENERATIONS
    return QUICK_GENERATIONS if quick else GENERATIONS


def applicable(method: str, name: str) -> bool:
    """AP-BCH takes bounds only; resampling waits for ever where there are equalities."""
    if method == "ap-bch":
        return name in FUNCTIONS
    return method != "resampling" or name not in ("g05", "g11")


def method_settings(method: str) -> archeng.Settings:
    """Return the settings of a method, without stopping tests."""
    if method == "arch-paper":
        return replace(archeng.Settings.paper(), stop_tests=False)
    return archeng.Settings(
        handler=method,
        surrogate="none",
        simulator_defined_everywhere=method in ("al", "mcr"),
        stop_tests=False,
    )


def run_task(task: Task) -> list[Row]:
    """One problem, one method, one seed: a row for each transformation."""
    seed, settings = int(task["seed"]), method_settings(str(task["method"]))
    play = original(str(task["problem"]), seed)
    first = played(play, settings, seed, int(task["generations"]))
    rows: list[Row] = []
    for kind in TRANSFORMATIONS:
        row: Row = {**task, "transformation": kind, "calls": sum(len(g.designs) for g in first)}
        try:
            second = played(transformed(play, kind, seed), settings, seed, int(task["generations"]))
        except SettingsError as error:  # the transformed box is no box
            rows.append({**row, "largest": None, "parted": None, "same_calls": None,
                         "error": str(error)})  # fmt: skip
            continue
        gaps = differences(first, second)
        rows.append(
            {
                **row,
                "largest": float(max(gaps)),
                "parted": next((k for k, gap in enumerate(gaps) if gap > PARTED), None),
                "same_calls": bool(np.all(np.isfinite(gaps))),
                "error": "",
            }
        )
    return rows


@dataclass(frozen=True, eq=False)
class Generation:
    """The designs (k, n) of the calls of one generation, in the original coordinates."""

    distribution: Distribution
    designs: Floats


def opened(play: Play, settings: archeng.Settings, seed: int) -> archeng.Run:
    """Return a run that begins with the distribution of the play, factor included."""
    d = play.start
    covariance = d.sigma**2 * d.covariance
    run = archeng.Run(
        play.model,
        play.objective,
        seed=seed,
        start=d.mean,
        sigma=(covariance + covariance.T) / 2,
        settings=settings,
    )
    # A covariance matrix does not determine its factor: here is the one that belongs to it.
    run.search = replace(run.search, starts=replace(run.search.starts, wide=d))
    run.state = run.search.init(d.mean, run.state.rng)
    return run


def played(play: Play, settings: archeng.Settings, seed: int, generations: int) -> list[Generation]:
    """Run a search generation by generation."""
    run, result = opened(play, settings, seed), []
    for _ in range(generations):
        before, made = run.distribution, len(run.evaluations)
        run.step()
        designs = np.array([e.x for e in run.evaluations[made:]]).reshape(-1, play.start.n)
        result.append(Generation(before, play.back(designs)))
    run.close()
    return result


def differences(first: Sequence[Generation], second: Sequence[Any]) -> list[float]:
    """Return the largest whitened difference in each generation, infinite if calls are missing."""
    gaps = []
    for a, b in zip(first, second, strict=True):
        if a.designs.shape != b.designs.shape:
            gaps.append(np.inf)
            continue
        gaps.append(float(np.abs(a.distribution.whiten(a.designs - b.designs)).max(initial=0.0)))
    return gaps
