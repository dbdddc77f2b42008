"""How many turbines, and where: one seed, what is kept of it, and the tables."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import archeng
from case_studies.benchmarks.record import markdown_table
from case_studies.shared.seeds import SeedRecord, improvements
from case_studies.wind_farm.number_model import FarmEnergy, build_number_model

RESTARTS = 50  # as many as the calls allow: there are very many local optima
GAPS = (0.02, 0.01, 0.005)
"""Calls are counted until the cost of energy is within these of the reference."""


@dataclass(frozen=True, kw_only=True)
class NumberRecord(SeedRecord):
    """What came of one seed.

    Attributes
    ----------
    cost : float
        Of a MWh, in dollars, of the best farm.
    turbines : int
        That it has.
    energy : float
        MWh a year.
    calls, infeasible_calls : int
        As the simulator counted and judged them.
    simulated : dict of str to int
        Calls by the number of turbines.
    restarts : int
    seconds, simulator_seconds : float
    stopped : str
    x_m, y_m : list of float
        The places that are built on.
    """

    cost: float
    turbines: int
    energy: float
    calls: int
    infeasible_calls: int
    simulated: dict[str, int]
    restarts: int
    seconds: float
    simulator_seconds: float
    stopped: str
    x_m: list[float]
    y_m: list[float]


@cache
def number_reference() -> dict[str, Any]:
    """Return the best known farms by their numbers of turbines, and which number is the best."""
    path = Path(__file__).with_name("number.json")
    data: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return data


def best_cost() -> float:
    """Return the best known cost of a MWh."""
    known = number_reference()
    return float(known["numbers"][str(known["best"])]["cost"])


def run_number_seed(
    seed: int,
    calls: int,
    *,
    plain: bool = False,
    callback: Callable[[archeng.Run], None] | None = None,
) -> NumberRecord:
    """Search with one seed; ``plain`` is ARCH alone, without models of the simulator.

    Raises
    ------
    KeyboardInterrupt
        The run was interrupted; what it had found is no record.
    """
    begin = time.perf_counter()
    simulator = FarmEnergy()
    result = archeng.solve(
        build_number_model(),
        simulator,
        max_evaluations=calls,
        restarts=RESTARTS,
        seed=seed,
        callback=callback,
        settings=archeng.Settings(surrogate="none" if plain else "auto"),
    )
    if result.stop_reason is archeng.StopReason.INTERRUPTED:
        raise KeyboardInterrupt
    most = simulator.site.most
    numbers = [int(e.x[:most].sum()) for e in result.evaluations]  # "built" comes first
    turbines = int(np.sum(result.design["built"]))
    return NumberRecord(
        seed=seed,
        cost=result.fun,
        turbines=turbines,
        energy=float(result.outputs["annual energy"]),
        calls=simulator.n_calls,
        infeasible_calls=simulator.n_illegal,
        simulated={str(n): numbers.count(n) for n in sorted(set(numbers))},
        restarts=result.history[-1].restart,
        seconds=time.perf_counter() - begin,
        simulator_seconds=sum(e.seconds for e in result.evaluations),
        stopped=result.message,
        x_m=np.asarray(result.design["x"], dtype=float)[:turbines].tolist(),
        y_m=np.asarray(result.design["y"], dtype=float)[:turbines].tolist(),
        curve=improvements((e.objective, e.acceptable) for e in result.evaluations),
    )


def number_seeds_table(records: Sequence[NumberRecord]) -> str:
    """Return one line for each seed."""
    best = best_cost()
    header = ["seed", "cost of energy ($/MWh)", "above the best known", "turbines",
              "energy (MWh)", "calls", "infeasible calls",
              *(f"calls to {100 * g:g} %" for g in GAPS), "restarts", "s",
              "in py_wake"]  # fmt: skip
    lines = [
        [
            r.seed,
            f"{r.cost:.4f}",
            f"{100 * (r.cost / best - 1):+.2f} %",
            r.turbines,
            f"{r.energy:,.0f}",
            r.calls,
            r.infeasible_calls,
            *(r.calls_to(best * (1 + g)) or "never" for g in GAPS),
            r.restarts,
            f"{r.seconds:.0f}",
            f"{r.simulator_seconds:.0f}",
        ]
        for r in records
    ]
    return markdown_table(header, lines)


def number_reference_table() -> str:
    """Return the best known farm of each number of turbines."""
    header = ["turbines", "cost of energy ($/MWh)", "energy (MWh)", "a turbine (MWh)"]
    lines = [
        [n, f"{farm['cost']:.4f}", f"{farm['energy']:,.0f}", f"{farm['energy'] / int(n):,.0f}"]
        for n, farm in number_reference()["numbers"].items()
    ]
    return markdown_table(header, lines)


def number_verdict(records: Sequence[NumberRecord]) -> str:
    """Return the figures in sentences."""
    best, number = best_cost(), number_reference()["best"]
    calls, infeasible = (sum(getattr(r, k) for r in records) for k in ("calls", "infeasible_calls"))
    costs = np.array([r.cost for r in records])
    right = sum(r.turbines == number for r in records)
    return "\n".join(
        [
            f"- infeasible calls: {infeasible} of {calls}, judged in numpy at every call",
            f"- the best number of turbines, {number}: {right} of {len(records)} seeds",
            f"- best {costs.min():.4f}, median {np.median(costs):.4f}, worst {costs.max():.4f} "
            f"$/MWh; best known {best:.4f}",
        ]
    )
