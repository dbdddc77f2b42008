"""One seed of the case study: relocation of turbines, or ARCH alone.

Relocation is one search: turbines are declared to be alike, and one at a time is moved to where a
model of pairs expects most (:mod:`archeng.surrogate.relocation`).

ARCH alone is several short searches, of which the best goes on. The landscape has very many local
optima of different worth, and after some 2000 calls (16 turbines) one can tell which of them a
search will end in. So a seed begins with several searches from different feasible layouts, and
spends the rest of its calls on the best of them. More variables need more calls: with 36 turbines
it takes some 4000 to tell, and with 64 one search some 14,000 to converge.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

import archeng
from archeng.distribution import Floats
from archeng.model import compile_model
from archeng.repair import Repairer
from archeng.sampling import feasible_points
from case_studies.shared.seeds import SeedRecord
from case_studies.wind_farm.model import build_model
from case_studies.wind_farm.published import scenario
from case_studies.wind_farm.simulator import MinusAnnualEnergy

CALLS = 20_000
"""Simulator calls of one seed."""
POPULATION_SIZE = {16: 14, 36: 16, 64: 18}
"""Candidates of a generation, archeng's default for so many variables."""
RELOCATED = 8
"""Layouts of a generation of relocation."""
RESTARTS = 1000
"""That relocation may use: it ends with its calls."""
METHODS = ("relocation", "arch")
SEARCHES = {16: (8, 10), 36: (4, 5), 64: (1, 1)}
"""Searches at the beginning; each gets the calls of a seed divided by the second number."""


@dataclass(frozen=True)
class Setup:
    """What all seeds share.

    Attributes
    ----------
    turbines, calls : int
    method : {"relocation", "arch"}
    searches : int
        Searches at the beginning, and the calls of each of them, ``first_calls``.
    population_size : int
    sigma_m : float
        Initial standard deviation.
    """

    turbines: int
    calls: int
    method: str
    searches: int
    first_calls: int
    population_size: int
    sigma_m: float


def setup_for(turbines: int, calls: int = CALLS, method: str = METHODS[0]) -> Setup:
    """Return the set-up for a size of the farm."""
    relocates = method == METHODS[0]
    searches, share = (1, 1) if relocates else SEARCHES[turbines]
    return Setup(
        turbines=turbines,
        calls=calls,
        method=method,
        searches=searches,
        first_calls=calls // share,
        population_size=RELOCATED if relocates else POPULATION_SIZE[turbines],
        sigma_m=scenario(turbines).radius_m / 13,
    )


@dataclass(frozen=True, kw_only=True)
class Record(SeedRecord):
    """What came of one seed; its curve counts the calls of all searches.

    Attributes
    ----------
    aep_mwh : float
        Annual energy of the best layout.
    searches_mwh : list of float
        Best of each search when the one to go on was chosen.
    calls, infeasible_calls : int
        As the simulator counted and judged them.
    seconds, simulator_seconds : float
    x_m, y_m : list of float
        The best layout.
    """

    aep_mwh: float
    searches_mwh: list[float]
    calls: int
    infeasible_calls: int
    seconds: float
    simulator_seconds: float
    x_m: list[float]
    y_m: list[float]


def run_seed(
    setup: Setup, seed: int, watch: Callable[[int, float], None] = lambda calls, best: None
) -> Record:
    """Search with one seed; ``watch`` gets the calls and the best MWh after each generation."""
    begin = time.perf_counter()
    model, simulator = build_model(setup.turbines), MinusAnnualEnergy(setup.turbines)

    def watched(run: archeng.Run) -> None:
        watch(simulator.n_calls, simulator.best_mwh)

    alike = {"handler_options": {"alike": "x, y"}}
    relocates = setup.method == METHODS[0]
    settings = archeng.Settings(**alike) if relocates else archeng.Settings(surrogate="none")
    runs = [
        archeng.Run(
            model,
            simulator,
            seed=1000 * seed + k,
            start=start,
            sigma=setup.sigma_m,
            population_size=setup.population_size,
            callback=watched,
            restarts=RESTARTS if relocates else 0,
            settings=settings,
        )
        for k, start in enumerate(starts(model, setup.searches, seed))
    ]
    for run in runs:
        advance(run, setup.first_calls, setup)
    searches = [_best(run) for run in runs]
    chosen = runs[int(np.argmax(searches))]
    others = simulator.n_calls - chosen.n_evaluations
    advance(chosen, setup.calls - others, setup)
    result = chosen.result()
    marks = [s.aep_mwh for s in scenario(setup.turbines).submissions]
    return Record(
        seed=seed,
        aep_mwh=_best(chosen),
        searches_mwh=searches,
        calls=simulator.n_calls,
        infeasible_calls=simulator.n_infeasible,
        seconds=time.perf_counter() - begin,
        simulator_seconds=sum(e.seconds for run in runs for e in run.evaluations),
        x_m=result.design["x"].tolist(),
        y_m=result.design["y"].tolist(),
        curve=improvements(simulator.energies_mwh, marks),
    )


def starts(model: archeng.Model, n: int, seed: int) -> Floats:
    """Return feasible layouts to begin at, one in each row.

    They are found as those that a run begins at: repaired samples of the box, the most different
    ones. Many turbines are then on the boundary, where good layouts have them. The designs of
    `archeng.sample_feasible` cover the inside as well and begin at less energy.
    """
    repairer = Repairer(compile_model(model))
    return feasible_points(repairer, n, np.random.default_rng(seed))


def advance(run: archeng.Run, calls: int, setup: Setup) -> None:
    """Run whole generations until the next one could exceed so many calls."""
    while not run.stopped and run.n_evaluations + setup.population_size <= calls:
        run.step()


def _best(run: archeng.Run) -> float:
    return -np.inf if run.best is None else -run.best.objective


def improvements(energies: Sequence[float], marks: Sequence[float]) -> list[tuple[int, float]]:
    """Return the steps (calls, best so far) of a run, without those below 1 in 20,000.

    The last step is kept, and those that cross one of the energies ``marks``.
    """
    steps: list[tuple[int, float]] = []
    best = shown = -np.inf
    last = 0
    for call, energy in enumerate(energies, start=1):
        if energy > best:
            crossed = any(best <= mark < energy for mark in marks)
            best, last = energy, call
            if crossed or best > shown + 5e-5 * abs(best):
                steps.append((call, best))
                shown = best
    if best > shown:
        steps.append((last, best))
    return steps
