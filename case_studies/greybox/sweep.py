"""One model, ten loads: the calls that ten optima cost.

The welded beam with the load as a parameter. A strategy gets the model, the simulator and the
loads, and asks for one optimum after the other; each run ends by itself, and every design is judged
in plain NumPy. ``separate`` runs each load on its own, ``learning`` lets each learn from those
before.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

import archeng
from archeng import Model
from case_studies.benchmarks.record import markdown_table
from case_studies.greybox.definition import Definition, Floats, Outputs, Plain, Problem
from case_studies.greybox.machines import beam_outputs
from case_studies.greybox.referee import optimum_of
from case_studies.greybox.suite import definition
from case_studies.greybox.trial import SIMULATED_SLACK, SLACK, feasible
from case_studies.peers.constraints import same_variables
from case_studies.shared.comparison import make, save
from case_studies.shared.referee import exceeded

LOADS = tuple(float(load) for load in np.linspace(3000.0, 7500.0, 10))
"""lb"""

BUDGET = 500
"""Most calls of one load."""

SEEDS = 3
"""Without ``--seeds``."""


@dataclass(frozen=True)
class Swept:
    """What a strategy did with one load.

    Attributes
    ----------
    load, optimum : float
    calls : int
        All calls for this load.
    calls_to_target : int or None
    illegal : int
    """

    load: float
    optimum: float
    calls: int
    calls_to_target: int | None
    illegal: int


def beam(load: float) -> Definition:
    """Return the welded beam under a load, as a value of the model's parameter."""
    source = definition("welded_beam")

    def build() -> Model:
        return loaded_model().with_parameters(load=load)

    def plain(x: Floats, z: Outputs) -> Plain:
        whole = source.plain(x, z)
        rows = whole.simulated | {
            "limit of buckling load": (float(z["buckling load"]) / load, 1.0, np.inf)
        }
        return Plain(whole.objective, whole.explicit, rows)

    return Definition(
        title=f"welded beam under {load:g} lb",
        family=source.family,
        build=build,
        outputs=partial(beam_outputs, load=load),
        plain=plain,
    )


def loaded_model() -> Model:
    """Return the welded beam with the parameter ``load``; the simulator uses it, too."""
    whole = definition("welded_beam").build()
    model = same_variables(whole)
    load = model.parameter("load", 6000.0, unit="lb")
    model.add_constraints(whole.constraints)
    limits = {"shear stress": 13600.0, "bending stress": 30000.0, "deflection": 0.25}
    for name, limit in limits.items():
        model.subject_to(model.output(name), upper=limit, name=f"limit of {name}")
    buckling = model.output("buckling load", unit="lb")
    model.subject_to(buckling / load, lower=1.0, name="limit of buckling load")
    model.minimize(whole.objective)
    return model


def simulate(design: archeng.Design) -> Outputs:
    """Simulate a design under the load of its parameters."""
    load = float(design.parameters["load"])
    return {k: float(v) for k, v in beam_outputs(design.x, np, load=load).items()}


@cache
def problem(load: float) -> Problem:
    """Return the problem of one load, with the optimum of the referee."""
    source = beam(load)
    best = optimum_of(source, starts=6, seed=1)
    return Problem(
        name=f"welded beam, {load:g} lb",
        title=source.title,
        family=source.family,
        model=source.build(),
        simulate=simulate,
        plain=source.plain,
        optimum=best.f,
        x_opt=best.x,
        source="referee",
    )


def separate(loads: Sequence[float], seed: int) -> list[Swept]:
    """Run each load on its own."""
    return _swept(loads, seed, learn=False)


def learning(loads: Sequence[float], seed: int) -> list[Swept]:
    """Let each load learn from those before."""
    return _swept(loads, seed, learn=True)


def _swept(loads: Sequence[float], seed: int, learn: bool) -> list[Swept]:
    """Sweep from a feasible design; each run ends by itself."""
    sweep = archeng.sweep(
        loaded_model(),
        simulate,
        parameters={"load": list(loads)},
        learn=learn,
        seed=seed,
        max_evaluations=BUDGET,
        start=feasible(problem(loads[0]), seed),
    )
    return [_judged(load, result) for load, result in zip(loads, sweep, strict=True)]


def _judged(load: float, result: archeng.Result) -> Swept:
    """Judge all designs of a run in plain NumPy."""
    p = problem(load)
    illegal, reached = 0, None
    for k, call in enumerate(result.evaluations):
        z = {name: float(v) for name, v in beam_outputs(call.x, np, load=load).items()}
        plain = p.plain(call.x, z)
        explicit = p.box(call.x) | plain.explicit
        illegal += bool(exceeded(explicit))
        holds = not exceeded(explicit, SLACK) and not exceeded(plain.simulated, SIMULATED_SLACK)
        if reached is None and holds and plain.objective <= p.target:
            reached = k + 1
    return Swept(load, p.optimum, result.nfev, reached, illegal)


STRATEGIES: Mapping[str, Callable[[Sequence[float], int], list[Swept]]] = {
    "separate": separate,
    "learning": learning,
}
"""By name; a function of the loads and the seed."""


def main(seeds: int, out: Path, command: str) -> int:
    """Run all strategies, print the table and save the record."""
    rows: list[dict[str, Any]] = []
    for name, strategy in STRATEGIES.items():
        for seed in range(1, seeds + 1):
            for s in strategy(LOADS, seed):
                rows.append({"strategy": name, "seed": seed, **s.__dict__})
            print(f"{name}: seed {seed} done", file=sys.stderr)
    print(table(rows))
    path = out / "sweep.json"
    save(make(command, BUDGET, 1e-4, rows), path)
    print(f"\nruns saved to {path}")
    return 0


def table(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return the total calls of each strategy, by seed and as a median."""
    lines = []
    for name in dict.fromkeys(r["strategy"] for r in rows):
        group = [r for r in rows if r["strategy"] == name]
        totals = [
            sum(r["calls"] for r in group if r["seed"] == seed)
            for seed in dict.fromkeys(r["seed"] for r in group)
        ]
        lines.append(
            [
                name,
                f"{np.median(totals):g}",
                f"{np.median([r['calls_to_target'] or np.inf for r in group]):g}",
                f"{sum(r['calls_to_target'] is not None for r in group)}/{len(group)}",
                sum(r["illegal"] for r in group),
            ]
        )
    header = [
        *("strategy", f"calls for {len(LOADS)} loads (median)", "calls to target of one (median)"),
        *("targets", "illegal calls"),
    ]
    return markdown_table(header, lines)
