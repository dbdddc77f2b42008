"""One seed of the case study, and what is kept of it."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import archeng
from case_studies.shared.forms import Form
from case_studies.shared.seeds import SeedRecord, improvements
from case_studies.water_network.model import build_model
from case_studies.water_network.networks import Aim, Sizes, simulated_limits
from case_studies.water_network.simulator import PipeNetwork

RESTARTS = 50
"""As many as the calls allow: there are several optima."""


@dataclass(frozen=True)
class Setup:
    """How a network is searched.

    Attributes
    ----------
    network : str
    aim : {"resilience", "cost"}
    calls : int
    plain : bool
        ARCH alone, without models of the simulator.
    form : {"grey", "direct", "black"}
        What the simulator returns.
    sizes : {"any", "catalogue"}
        Of the pipes.
    """

    network: str
    aim: Aim
    calls: int
    plain: bool
    form: Form = "grey"
    sizes: Sizes = "any"

    @property
    def sign(self) -> float:
        """Of the objective when it is minimised."""
        return -1.0 if self.aim == "resilience" else 1.0

    @property
    def optimum(self) -> dict[str, Any]:
        """The best known objective and design."""
        known: dict[str, Any] = optima(self.sizes)[self.network][self.aim]
        return known


@dataclass(frozen=True, kw_only=True)
class Record(SeedRecord):
    """What came of one seed.

    Attributes
    ----------
    objective : float
        Of the best design that satisfies everything; NaN if there is none.
    cost, resilience, lowest_pressure : float
        Of that design (else of the least violating one).
    calls, infeasible_calls : int
        As the simulator counted and judged them.
    violating_calls : int
        Calls that violated a simulated constraint.
    active : list of str
        Explicit constraints that are active at the best design.
    restarts : int
    seconds, simulator_seconds : float
    stopped : str
    design : list of float
        Diameters in inches.
    """

    objective: float
    cost: float
    resilience: float
    lowest_pressure: float
    calls: int
    infeasible_calls: int
    violating_calls: int
    active: list[str]
    restarts: int
    seconds: float
    simulator_seconds: float
    stopped: str
    design: list[float]


@cache
def optima(sizes: Sizes = "any") -> dict[str, Any]:
    """Return the best known designs by network and aim: by gradients, or of the price list."""
    kind = {"any": "reference.json", "catalogue": "catalogue.json"}[sizes]
    path = Path(__file__).with_name(kind)
    data: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))["optima"]
    return data


def run_seed(
    setup: Setup, seed: int, callback: Callable[[archeng.Run], None] | None = None
) -> Record:
    """Search with one seed."""
    simulator = PipeNetwork(setup.network, setup.aim, setup.form)
    sense = "maximize" if setup.aim == "resilience" else "minimize"
    limits = {"simulated": simulated_limits(simulator.net), "sense": sense}
    begin = time.perf_counter()
    result = archeng.solve(
        build_model(setup.network, aim=setup.aim, form=setup.form, sizes=setup.sizes),
        simulator,
        **(limits if setup.form == "black" else {}),
        max_evaluations=setup.calls,
        restarts=RESTARTS,
        seed=seed,
        callback=callback,
        settings=archeng.Settings(surrogate="none" if setup.plain else "auto"),
    )
    found = result.status is not archeng.Status.VIOLATING
    record = Record(
        seed=seed,
        objective=result.fun if found else np.nan,
        cost=result.outputs["cost"],
        resilience=result.outputs["resilience"],
        lowest_pressure=min(s.value for s in result.simulated),
        calls=simulator.n_calls,
        infeasible_calls=simulator.n_infeasible,
        violating_calls=sum(bool(e.violated) for e in result.evaluations),
        active=result.active,
        restarts=result.history[-1].restart,
        seconds=time.perf_counter() - begin,
        simulator_seconds=sum(e.seconds for e in result.evaluations),
        stopped=result.message,
        design=simulator.net.diameters(result.design).tolist(),
        curve=improvements(((e.objective, e.acceptable) for e in result.evaluations), setup.sign),
    )
    simulator.close()
    return record
