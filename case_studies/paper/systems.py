"""The same run in three coordinate systems: when the curves of `median` are one curve.

The quadratics of `median` in rotBox and illrotBox beside BOX, with the same seed, the initial
distribution mapped with its factor, and the root of C that moves with the coordinates
(``Settings()`` without surrogate and stopping tests). In exact arithmetic the two runs are the
same call by call. What is left is rounding: the largest difference of the designs of a generation,
in standard deviations of the search in BOX, and the first generations in which it is above 1e-12,
1e-9, 1e-6 and 1e-3. Standard deviations shrink with the search while the rounding errors of the
designs do not, so that the difference has to grow.

The criterion is (m - x*)^T H (m - x*) as in `median`. That has ``Settings.paper()``, whose
symmetric root of C turns the samples of a seed in each system: its runs are the same in
distribution only.
"""

from __future__ import annotations

from itertools import product
from pathlib import Path

import numpy as np

import archeng
from archeng.distribution import Distribution, distribution_from_covariance
from case_studies.benchmarks.record import markdown_table
from case_studies.paper.curves import largest_ratio
from case_studies.paper.follow import TARGET
from case_studies.paper.invariance import opened
from case_studies.paper.quadratics import FUNCTIONS, SYSTEMS, Quadratic, quadratic
from case_studies.paper.results import Row, Task
from case_studies.paper.transformations import Play

NAME = "systems"
HELP = "ARCH's runs in three coordinate systems with shared seeds: where rounding takes over"
RUNS, QUICK_RUNS = 3, 1

DIMENSION, CAP, QUICK_CAP, EVERY = 20, 3000, 80, 5
FIRST = 5
LEVELS = (1e-12, 1e-9, 1e-6, 1e-3)


def tasks(runs: int, quick: bool) -> list[Task]:
    return [
        {"function": function, "system": system, "cap": QUICK_CAP if quick else CAP, "seed": seed}
        for seed in range(runs)
        for function, system in product(FUNCTIONS[:1] if quick else FUNCTIONS, SYSTEMS[1:])
    ]


def mapped(problem: Quadratic, start: Distribution) -> Play:
    """Return a problem that begins with the distribution given in the coordinates of the box."""
    distribution = Distribution(
        problem.P_inverse @ start.mean,
        start.sigma,
        problem.P_inverse @ start.factor,
        start.inverse_factor @ problem.P,
    )
    return Play(problem.model, problem.excess, distribution, lambda y: y @ problem.P.T)


def run_task(task: Task) -> list[Row]:
    """Both runs, a generation of each at a time, until both reach the target."""
    seed, function = int(task["seed"]), str(task["function"])
    problems = [quadratic(function, s, DIMENSION) for s in ("BOX", str(task["system"]))]
    box = problems[0]
    rng = np.random.default_rng([seed, box.n])
    start = distribution_from_covariance(box.start(rng), box.covariance)
    plays = [mapped(problem, start) for problem in problems]
    settings = archeng.Settings(surrogate="none", stop_tests=False)
    runs = [opened(play, settings, seed) for play in plays]
    criteria: list[list[float]] = [[p.criterion(r.distribution.mean)] for p, r in zip(
        problems, runs, strict=True)]  # fmt: skip
    gaps: list[float] = []
    while len(gaps) < int(task["cap"]) and max(c[-1] for c in criteria) > TARGET:
        designs, d = [], runs[0].distribution
        for problem, play, run, curve in zip(problems, plays, runs, criteria, strict=True):
            made = len(run.evaluations)
            run.step()
            found = np.array([e.x for e in run.evaluations[made:]]).reshape(-1, box.n)
            designs.append(play.back(found))
            curve.append(problem.criterion(run.distribution.mean))
        same = designs[0].shape == designs[1].shape
        gaps.append(
            float(np.abs(d.whiten(designs[0] - designs[1])).max(initial=0.0)) if same else np.inf
        )
    for run in runs:
        run.close()
    return [{**task, **measured(gaps, criteria)}]


def measured(gaps: list[float], criteria: list[list[float]]) -> Row:
    """Return the row of two runs: differences per generation and criteria of both."""
    ratios = np.exp(np.abs(np.log(criteria[0]) - np.log(criteria[1])))
    row: Row = {"iterations": len(gaps), "first": max(gaps[:FIRST]), "largest": max(gaps)}
    for level in LEVELS:
        above = next((k for k, gap in enumerate(gaps) if gap > level), None)
        row[f"above_{level:.0e}"] = above
        end = None if above is None else above + 1
        row[f"ratio_below_{level:.0e}"] = float(ratios[:end].max())
        row[f"criterion_{level:.0e}"] = None if above is None else criteria[0][above]
    for name, curve in zip(("box", "system"), criteria, strict=True):
        row[f"reached_{name}"] = next((i for i, c in enumerate(curve) if c < TARGET), None)
        kept = [*curve[::EVERY], curve[-1]]
        row["curve_" + name] = " ".join(f"{c:.6g}" for c in kept)
    row["largest_ratio"] = float(ratios.max())
    return row


def summary(rows: list[Row]) -> str:
    """Return when the runs part, and how far their curves are apart until then and in the end."""
    lines, overlap = [], []
    for function in [f for f in FUNCTIONS if any(r["function"] == f for r in rows)]:
        mine = [r for r in rows if r["function"] == function]
        for row in sorted(mine, key=lambda r: (str(r["system"]), int(r["seed"]))):
            at = ["-" if row[f"above_{v:.0e}"] is None else
                  f"{row[f'above_{v:.0e}']} ({float(row[f'criterion_{v:.0e}']):.0e})"
                  for v in LEVELS]  # fmt: skip
            lines.append([
                function, row["system"], row["seed"], f"{float(row['first']):.0e}", *at,
                f"{float(row['ratio_below_1e-06']) - 1:.0e}", f"{float(row['largest_ratio']):.3g}",
                f"{_count(row['reached_box'])} / {_count(row['reached_system'])}",
            ])  # fmt: skip
        groups = [[_curve(r, "box") for r in mine if r["system"] == mine[0]["system"]]]
        groups += [[_curve(r, "system") for r in mine if r["system"] == s] for s in SYSTEMS[1:]]
        if all(groups):
            ratio, iteration = largest_ratio(groups)
            overlap.append([function, len(groups[0]), f"{ratio:.3g}", iteration])
    header = ["function", "system", "seed", "first 5 generations",
              *(f"above {v:.0e} from" for v in LEVELS), "ratio - 1 up to 1e-06",
              "largest ratio", "iterations to 1e-8, BOX / system"]  # fmt: skip
    text = (
        "Largest difference of designs in the first five generations, in standard deviations; the "
        "generation in which it first exceeds each level, with the criterion there; the largest "
        "ratio of the criteria of the two runs at equal iterations, less one, until the difference "
        "exceeds 1e-6; and the largest ratio in whole runs."
    )
    parts = [text, markdown_table(header, lines)]
    if overlap:
        parts.append(
            "Medians over the seeds, as in `median`: the largest ratio of two of the three median "
            "curves at equal iterations, while all are above 1e-8."
        )
        parts.append(
            markdown_table(["function", "seeds", "largest ratio", "at iteration"], overlap)
        )
    return "\n\n".join(parts)


def _count(value: object) -> str:
    return "-" if value is None else str(value)


def _curve(row: Row, which: str) -> Row:
    return {"curve": row[f"curve_{which}"], "every": EVERY}


def figures(rows: list[Row], out: Path) -> list[Path]:
    """Draw nothing: the curves of a seed lie on each other."""
    return []
