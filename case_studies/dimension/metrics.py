"""What a restricted metric of CMA-ES gives up, and what it gains within the calls of a simulator.

The ellipsoid of condition 1e4, along the axes and rotated, without models of the objective, in
[-5, 5]^n, where no constraint is active at the optimum. Full and diagonal are archeng's ARCH alone
(``Settings(metric=...)``); diagonal, rank one and low rank (its rank adapts) are pycma's samplers:
sep-CMA-ES, VD-CMA and VkD-CMA. All begin at the same designs with a deviation of 2. Kept are the
shares of the objective at the start that are left after 30 n calls, what the other pages allow, and
after 300 n. A method that is invariant to rotations does the same on both problems, but for
chance.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np

import archeng
from case_studies.benchmarks.record import markdown_table
from case_studies.dimension.methods import version
from case_studies.paper.results import Row, Task
from case_studies.peers.recorder import Floats

NAME = "metrics"
HELP = "full, diagonal and low-rank metrics on an ellipsoid along the axes and rotated"
RUNS, QUICK_RUNS = 3, 1
SIZES, QUICK_SIZES = (50, 200), (10,)
LATE = 300
"""Calls for each variable."""
MARKS = {"early": 30, "late": LATE}
"""Calls for each variable after which the best objective is kept, by column."""
PROBLEMS = ("along the axes", "rotated")
CONDITION = 1e4
HALF_WIDTH, DEVIATION = 5.0, 2.0
METHODS = {
    "full": "full (archeng)",
    "diagonal": "diagonal (archeng)",
    "sep": "diagonal (pycma)",
    "vd": "diagonal and rank one (pycma)",
    "vkd": "diagonal and low rank (pycma)",
}


def tasks(runs: int, quick: bool) -> list[Task]:
    """All problems, sizes and metrics."""
    return [
        {
            "problem": name,
            "n": n,
            "metric": metric,
            "version": version("archeng" if metric in ("full", "diagonal") else "pycma AL"),
            "seed": seed,
        }
        for seed in range(1, runs + 1)
        for n in (QUICK_SIZES if quick else SIZES)
        for name in PROBLEMS
        for metric in METHODS
    ]


def ellipsoid(name: str, n: int, seed: int) -> Callable[[Floats], float]:
    """Return the objective; the rotation follows from n and the seed."""
    weights = CONDITION ** np.linspace(0, 1, n)
    turn = np.eye(n)
    if name == "rotated":
        turn = np.linalg.qr(np.random.default_rng([seed, n]).normal(size=(n, n)))[0]
    return lambda x: float(weights @ (turn @ x) ** 2)


def run_task(task: Task) -> list[Row]:
    """Run one metric on one problem."""
    n, seed, metric = int(task["n"]), int(task["seed"]), str(task["metric"])
    f = ellipsoid(str(task["problem"]), n, seed)
    start = np.random.default_rng([n, seed]).uniform(-HALF_WIDTH, HALF_WIDTH, n)
    values: list[float] = []

    def objective(x: Floats) -> float:
        values.append(f(np.asarray(x, dtype=float)))
        return values[-1]

    run = _archeng if metric in ("full", "diagonal") else _pycma
    run(objective, start, metric, seed, LATE * n)
    shares = np.minimum.accumulate(values) / f(start)
    return [{**task, **{mark: float(shares[calls * n - 1]) for mark, calls in MARKS.items()}}]


def _archeng(
    objective: Callable[[Floats], float], start: Floats, metric: str, seed: int, budget: int
) -> None:
    model = archeng.Model("ellipsoid")
    model.variable("x", shape=len(start), lower=-HALF_WIDTH, upper=HALF_WIDTH)
    archeng.solve(
        model,
        lambda design: objective(design["x"]),
        start=start,
        sigma=DEVIATION,
        seed=seed,
        max_evaluations=budget,
        settings=archeng.Settings(surrogate="none", metric=metric, stop_tests=False),  # type: ignore[arg-type]
    )


def _pycma(
    objective: Callable[[Floats], float], start: Floats, metric: str, seed: int, budget: int
) -> None:
    import cma
    from cma.restricted_gaussian_sampler import GaussVDSampler, GaussVkDSampler

    options = {"seed": seed, "verbose": -9, "bounds": [-HALF_WIDTH, HALF_WIDTH]}
    options |= {
        "maxfevals": budget,
        "tolfun": 0,
        "tolfunhist": 0,
        "tolx": 0,
        "tolstagnation": 10**9,
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if metric == "sep":
            options["CMA_diagonal"] = True
        else:
            sampler = GaussVDSampler if metric == "vd" else GaussVkDSampler
            options = sampler.extend_cma_options(options)
        es = cma.CMAEvolutionStrategy(start, DEVIATION, options)
        made = 0
        while made < budget:
            designs = es.ask()
            es.tell(designs, [objective(x) for x in designs])
            made += len(designs)


def summary(rows: list[Row]) -> str:
    """Return a table of the shares that are left."""
    lines = []
    for n in sorted({int(r["n"]) for r in rows}):
        for metric, label in METHODS.items():
            cells: list[object] = []
            for name in PROBLEMS:
                runs = [r for r in rows if (r["n"], r["metric"], r["problem"]) == (n, metric, name)]
                for mark in MARKS:
                    left = [r[mark] for r in runs]
                    cells.append(f"{np.median(left):.1e}" if left else "")
            lines.append([n, label, *cells])
    header = ["n", "metric"]
    header += [f"{name}, {calls} n calls" for name in PROBLEMS for calls in MARKS.values()]
    count = max(int(r["seed"]) for r in rows)
    return (
        f"Share of the objective at the start that is left, median of {count} runs.\n\n"
        + markdown_table(header, lines)
    )


def figures(rows: list[Row], out: Path) -> list[Path]:
    """Draw nothing: the table says it."""
    return []
