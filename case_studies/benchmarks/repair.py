"""Repair: success and time of the ladder against IPOPT alone: ``make bench-repair``.

For each of ten CEC 2006 problems, points are drawn from the search distribution at the start
of a run and near its end (when the run has come within 1e-6 of the optimum, or after 300
generations). The same points are repaired by the ladder (``auto``) and by IPOPT alone, in
alternating blocks of 20 points (a generation or two, as in a run), so that both see the same
machine. "Missed" counts points that IPOPT repairs and
the ladder does not. For linear models (a rotated box) the QP rung is timed.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np

import archeng
from archeng.distribution import Distribution, initial_distribution
from archeng.model import FeasibleSet, compile_model
from archeng.repair import Repairer
from case_studies.benchmarks.models import rotated_box
from case_studies.benchmarks.record import command_line, markdown_table, write
from case_studies.benchmarks.threads import compared
from case_studies.cec2006 import problem

PROBLEMS = ("g01", "g04", "g05", "g07", "g10", "g16", "g18", "g19", "g21", "g23")
BLOCK = 20
LINEAR = {20: 0.2, 50: 0.5}


@dataclass(frozen=True)
class Timing:
    """Times in seconds and outcomes of one solver on the same points."""

    seconds: np.ndarray[Any, np.dtype[np.float64]]
    feasible: np.ndarray[Any, np.dtype[np.bool_]]
    kinds: dict[str, int]
    solvers: dict[str, int]


def stages(name: str, seed: int) -> list[tuple[str, Distribution, Any]]:
    """Search distributions of a run at its start and near its end, with a feasible point."""
    p = problem(name)
    run = archeng.Run(
        p.model, p.objective, seed=seed, target=p.f_opt + 1e-6 * abs(p.f_opt), restarts=0
    )
    first = run.distribution
    for _ in range(300):
        run.step()
        if run.stopped:
            break
    best = run.best
    assert best is not None
    anchor = run.feasible_set.reduce(best.x)
    return [("start", first, first.mean), ("end", run.distribution, anchor)]


def compare(
    fs: FeasibleSet, distribution: Distribution, anchor: Any, points: int, seed: int
) -> tuple[Timing, Timing]:
    """Repair the same points by the ladder and by IPOPT alone, in alternation."""
    rng = np.random.default_rng(seed)
    sample = distribution.mean + distribution.sigma * distribution.steps(
        rng.standard_normal((points, fs.n))
    )
    repairers = [Repairer(fs, archeng.Settings(repair_solver=s)) for s in ("auto", "ipopt")]
    for repairer in repairers:
        repairer.repair(sample[0], distribution, anchor)
    seconds = np.zeros((2, points))
    feasible = np.zeros((2, points), dtype=bool)
    kinds: list[Counter[str]] = [Counter(), Counter()]
    solvers: list[Counter[str]] = [Counter(), Counter()]
    for block in np.array_split(np.arange(points), -(-points // BLOCK)):
        for k, repairer in enumerate(repairers):
            for i in block:
                begin = time.perf_counter()
                repair = repairer.repair(sample[i], distribution, anchor)
                seconds[k, i] = time.perf_counter() - begin
                feasible[k, i] = repair.feasible and fs.is_feasible(repair.x)
                kinds[k][repair.kind.value] += 1
                solvers[k][repair.solver] += 1
    return tuple(
        Timing(seconds[k], feasible[k], dict(kinds[k]), dict(solvers[k])) for k in range(2)
    )  # type: ignore[return-value]


def measure(points: int, names: tuple[str, ...], seed: int) -> list[dict[str, Any]]:
    """All nonlinear problems; one row per problem and stage."""
    rows = []
    for name in names:
        fs = compile_model(problem(name).model)
        for stage, distribution, anchor in stages(name, seed):
            ladder, ipopt = compare(fs, distribution, anchor, points, seed)
            rows.append(
                {
                    "problem": name,
                    "stage": stage,
                    "sigma": distribution.sigma,
                    "ladder_ms": 1e3 * float(np.median(ladder.seconds)),
                    "ladder_mean_ms": 1e3 * float(np.mean(ladder.seconds)),
                    "ipopt_ms": 1e3 * float(np.median(ipopt.seconds)),
                    "ladder_success": float(ladder.feasible.mean()),
                    "ipopt_success": float(ipopt.feasible.mean()),
                    "missed": int(np.sum(ipopt.feasible & ~ladder.feasible)),
                    "ladder_kinds": ladder.kinds,
                    "ipopt_kinds": ipopt.kinds,
                    "ladder_solvers": ladder.solvers,
                    "_ladder": ladder.seconds,
                    "_ipopt": ipopt.seconds,
                }
            )
            print(f"{name} {stage} done", flush=True)
    return rows


def measure_linear(points: int, seed: int) -> list[dict[str, Any]]:
    """Time of the QP rung on rotated boxes."""
    rows = []
    for n, limit in LINEAR.items():
        fs = compile_model(rotated_box(n))
        distribution = initial_distribution(np.full(n, 1.5), np.full(n, 1.25))
        rng = np.random.default_rng(seed)
        repairer = Repairer(fs)
        seconds = []
        for _ in range(points):
            x = distribution.mean + distribution.sigma * rng.standard_normal(n)
            begin = time.perf_counter()
            repair = repairer.repair(x, distribution)
            seconds.append(time.perf_counter() - begin)
            assert repair.feasible
        rows.append({"n": n, "ms": 1e3 * float(np.median(seconds[1:])), "target_ms": limit})
    return rows


def workload() -> None:
    """Repairs of g07 and g19."""
    measure(50, ("g07", "g19"), seed=1)


def ratios(rows: list[dict[str, Any]]) -> dict[str, float]:
    """IPOPT's median time over the ladder's, per problem, both stages together."""
    result = {}
    for name in dict.fromkeys(r["problem"] for r in rows):
        ladder = np.concatenate([r["_ladder"] for r in rows if r["problem"] == name])
        ipopt = np.concatenate([r["_ipopt"] for r in rows if r["problem"] == name])
        result[name] = float(np.median(ipopt) / np.median(ladder))
    return result


def report(rows: list[dict[str, Any]], linear: list[dict[str, Any]]) -> str:
    """Return the figures in Markdown."""
    per_problem = ratios(rows)
    mean = float(np.exp(np.mean(np.log(list(per_problem.values())))))
    header = ["problem", "stage", "ladder ms (mean)", "IPOPT ms", "ladder ok", "IPOPT ok",
              "missed", "ladder kinds", "ladder solvers"]  # fmt: skip
    lines = [
        [
            r["problem"],
            r["stage"],
            f"{r['ladder_ms']:.2f} ({r['ladder_mean_ms']:.2f})",
            f"{r['ipopt_ms']:.2f}",
            f"{100 * r['ladder_success']:.1f} %",
            f"{100 * r['ipopt_success']:.1f} %",
            r["missed"],
            _counts(r["ladder_kinds"]),
            _counts(r["ladder_solvers"]),
        ]
        for r in rows
    ]
    text = markdown_table(header, lines)
    text += "\n\nMedian time of IPOPT alone over that of the ladder, both stages together: "
    text += ", ".join(f"{name} {ratio:.1f}" for name, ratio in per_problem.items())
    text += f". Geometric mean: **{mean:.1f}**.\n\n"
    text += markdown_table(
        ["linear model", "median ms", "target ms"],
        [[f"rotated box, n = {r['n']}", f"{r['ms']:.3f}", r["target_ms"]] for r in linear],
    )
    return text


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m case_studies.benchmarks.repair")
    parser.add_argument("--points", type=int, default=200, help="points per problem and stage")
    parser.add_argument("--problems", default=",".join(PROBLEMS))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--record", metavar="NAME", help="write docs/benchmarks/NAME.md and .json")
    options = parser.parse_args(arguments)
    rows = measure(options.points, tuple(options.problems.split(",")), options.seed)
    linear = measure_linear(options.points, options.seed)
    text = f"{report(rows, linear)}\n\n{compared(workload)}"
    print(text)
    if options.record:
        data = [{k: v for k, v in r.items() if not k.startswith("_")} for r in rows]
        write(
            options.record,
            "Repair: the ladder against IPOPT alone",
            f"{__doc__}\n{text}",
            {"nonlinear": data, "linear": linear, "ratios": ratios(rows)},
            command_line("case_studies.benchmarks.repair"),
        )


def _counts(counts: dict[str, int]) -> str:
    return ", ".join(f"{k} {v}" for k, v in sorted(counts.items(), key=lambda kv: -kv[1]))


if __name__ == "__main__":
    main()
