"""Calls to target of all methods of the paper's table that have no figures in it: [SA22 tab:class].

The handlers that `al_mcr` and `median` do not have, and ARCH beside them, on the same problems with
the same rules: CEC 2006 as in `al_mcr` (f - f* <= 1e-4, at most four restarts of BIPOP), and the
quadratics of `median` in BOX with n = 20 (criterion of the mean below 1e-8, no restarts). All of
them run with ``Settings.paper()`` but for the handler; budgets are smaller than the paper's, see
`BUDGETS`. Three of the four methods with active constraint handling reject samples without a call,
for many generations if it must be, which CMA-ES's stopping tests take for stagnation: they run
without tests and restarts. The (mu, lambda)-CMA-ES simulates every candidate and runs like others.

A problem with constraints that a handler refuses is left out: equalities, for the methods with
active constraint handling, and rows that are not linear, for lcCMSA-ES. g20 has no feasible point.
"""

from __future__ import annotations

import time
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np

import archeng
from case_studies.benchmarks.record import markdown_table
from case_studies.cec2006 import names
from case_studies.paper import al_mcr
from case_studies.paper.follow import TARGET, follow
from case_studies.paper.quadratics import FUNCTIONS, quadratic
from case_studies.paper.results import Row, Task
from case_studies.paper.statistics import Comparison, Sample, compare_all, geometric_mean

NAME = "methods"
HELP = "calls to target of the other methods of the table on CEC 2006 and the quadratics"
RUNS, QUICK_RUNS = 10, 1

ARCH = "arch"
METHODS = {
    ARCH: "ARCH",
    "one-plus-one-ach": "(1+1) with ACH",
    "mu-lambda-ach": "(mu, lambda) with ACH",
    "xcma-es-ach": "xCMA-ES with ACH",
    "ma-es-ach": "MA-ES with ACH",
    "lccmsa-es": "lcCMSA-ES",
    "lexicographic": "lexicographic",
    "epsilon-lexicographic": "eps-lexicographic",
}
"""Handlers, and their names in the table."""
EQUALITIES = ("g03", "g05", "g11", "g13", "g14", "g15", "g17", "g20", "g21", "g22", "g23")
LINEAR = ("g01", "g14", *FUNCTIONS)
"""Problems without nonlinear rows."""
INEQUALITIES_ONLY = ("one-plus-one-ach", "mu-lambda-ach", "xcma-es-ach", "ma-es-ach")
"""They refuse equalities."""
REJECTING = ("one-plus-one-ach", "xcma-es-ach", "ma-es-ach")
"""They reject samples without a call, and run without stopping tests and restarts."""
INFEASIBLE = "g20"
N = 20  # variables of the quadratics
BUDGETS = {"CEC 2006": 20_000, "quadratics": 30_000}
"""Most calls of a run; ARCH needs at most 6,000 and 20,000 (medians of `al_mcr` and `median`)."""
NEVER_SOLVED, SHORT = "g02", 1_000
"""No method of the paper reaches the target there: a few calls, to see that they are feasible."""
RESTARTS = 4
"""Methods that reject samples without a call would otherwise draw millions of them, in the growing
populations of BIPOP, where they find nothing feasible."""
MOST_GENERATIONS = 20_000
"""Of methods that reject samples without a call."""
SMALLEST = 1e-30
"""Largest deviation at which such a run has ended: all samples are the mean, in rounding."""
QUICK_BUDGETS = {"CEC 2006": 1_500, "quadratics": 400}
QUICK_PROBLEMS = ("g06", "g24", "sphere")


def tasks(runs: int, quick: bool) -> list[Task]:
    budgets = QUICK_BUDGETS if quick else BUDGETS
    problems = (*(n for n in names() if n != INFEASIBLE), *FUNCTIONS)
    return [
        {
            "problem": name,
            "method": method,
            "budget": SHORT if name == NEVER_SOLVED else budgets[suite(name)],
            "seed": seed,
        }
        for seed, name, method in product(range(runs), problems, METHODS)
        if takes(method, name) and (not quick or name in QUICK_PROBLEMS)
    ]


def suite(name: str) -> str:
    """Return the suite of a problem."""
    return "quadratics" if name in FUNCTIONS else "CEC 2006"


def takes(method: str, name: str) -> bool:
    """Whether a handler takes the constraints of a problem."""
    if method == "lccmsa-es":
        return name in LINEAR
    return not (method in INEQUALITIES_ONLY and name in EQUALITIES)


def run_task(task: Task) -> list[Row]:
    """One problem, one method, one seed."""
    if task["problem"] in FUNCTIONS:
        return _on_a_quadratic(task)
    if task["method"] not in REJECTING:
        return al_mcr.run_task(task, restarts=RESTARTS)

    def limit(run: archeng.Run) -> None:
        deviations = run.distribution.deviations
        if len(run.history) >= MOST_GENERATIONS or deviations.max() < SMALLEST:
            raise StopIteration

    settings = replace(al_mcr.method_settings(str(task["method"])), stop_tests=False)
    return al_mcr.run_task(task, restarts=0, settings=settings, callback=limit)


def _on_a_quadratic(task: Task) -> list[Row]:
    """Return the calls until the criterion is below its target, in the columns of `al_mcr`."""
    begin = time.perf_counter()
    problem = quadratic(str(task["problem"]), "BOX", N, matched=True)
    budget = int(task["budget"])
    seen: list[tuple[float, archeng.Run]] = []

    def watch(iteration: int, criterion: float, run: archeng.Run) -> None:
        seen[:] = [(criterion, run)]
        if criterion < TARGET or run.n_evaluations >= budget:
            raise StopIteration

    follow(problem, str(task["method"]), int(task["seed"]), budget, watch)
    [(criterion, run)] = seen
    success = criterion < TARGET
    row: Row = {**task, "calls": run.n_evaluations if success else None, "success": success}
    row |= {"restarts": 0, "evaluations": run.n_evaluations}
    row["infeasible_calls"] = run.result().n_infeasible_calls
    row["seconds"] = row["overhead_seconds"] = round(time.perf_counter() - begin, 3)
    return [{**row, "best_error": criterion, "stop": "TARGET" if success else "END", "error": ""}]


def summary(rows: list[Row]) -> str:
    """Return a table for each suite, tests against ARCH, and what the runs cost."""
    samples = {
        (name, method): Sample(tuple(r["calls"] for r in found), min(r["budget"] for r in found))
        for name, method in product(dict.fromkeys(str(r["problem"]) for r in rows), METHODS)
        if (found := [r for r in rows if (r["problem"], r["method"]) == (name, method)])
    }
    tests = compare_all(
        {
            (name, method): (samples[name, method], samples[name, ARCH])
            for name, method in samples
            if method != ARCH and (name, ARCH) in samples
        }
    )
    parts = []
    for title, budget in BUDGETS.items():
        lines = [
            [name, *(_cell(name, method, samples, tests) for method in METHODS)]
            for name in sorted({name for name, _ in samples if suite(name) == title})
        ]
        if lines:
            parts += [f"### {title}", markdown_table(["problem", *METHODS.values()], lines)]
            parts.append(_legend(len(tests), budget))
    return "\n\n".join([*parts, _totals(rows, samples)])


def _cell(
    name: str, method: str, samples: dict[tuple[str, str], Sample],
    tests: dict[tuple[str, str], Comparison],
) -> str:  # fmt: skip
    """Median calls of the runs that succeed, with a mark, and how many they are."""
    if not takes(method, name):
        return "refused"
    if (s := samples.get((name, method))) is None:
        return ""
    share = f"{len(s.reached)}/{len(s.calls)}"
    if s.median is None:
        return f"- {share}"
    test = tests.get((name, method))
    mark = {-1: " <", 1: " >"}.get(test.sign, "") if test and test.significant else ""
    return f"{s.median:.0f}{mark} {share}"


def _legend(m: int, budget: int) -> str:
    return (
        f"Median calls of the successful runs, successes / runs; at most {budget} calls, "
        f"{NEVER_SOLVED} {SHORT}. > and <: "
        "more or fewer calls than ARCH by the two-sided Mann-Whitney test at 5 % / m, "
        f"m = {m} (pairs in which both succeed at least once; runs without success count as worse "
        "than all others)."
    )


def _totals(rows: list[Row], samples: dict[tuple[str, str], Sample]) -> str:
    lines = []
    for method, label in METHODS.items():
        runs = [r for r in rows if r["method"] == method]
        if not runs:
            continue
        both = [
            s.median / other.median
            for (name, m), s in samples.items()
            if m == method and s.median and (other := samples.get((name, ARCH))) and other.median
        ]
        beside = ""
        if both and method != ARCH:
            beside = f"{geometric_mean(both):.2f} times the calls of ARCH (geometric mean over the "
            beside += f"{len(both)} problems that both solve in some run); "
        calls = sum(r["evaluations"] for r in runs)
        outside = sum(r["infeasible_calls"] for r in runs)
        lines.append(
            f"- {label}: {sum(r['success'] for r in runs)} of {len(runs)} runs succeed; "
            f"{outside} of {calls} calls infeasible; {beside}"
            f"{1e3 * sum(r['overhead_seconds'] for r in runs) / max(calls, 1):.2f} ms per call"
        )
    return "\n".join(lines)


def figures(rows: list[Row], out: Path) -> list[Path]:
    """Draw the medians: a line for each method over the problems."""
    from matplotlib.figure import Figure

    problems = sorted({str(r["problem"]) for r in rows})
    figure = Figure(figsize=(7.0, 1.5 + 0.3 * len(problems)), layout="constrained")
    axes = figure.subplots()
    for k, (method, label) in enumerate(METHODS.items()):
        medians = [_median(rows, name, method) for name in problems]
        heights = [i + 0.08 * (k - 3.5) for i in range(len(problems))]
        axes.plot(medians, heights, "o", ms=4, color=f"C{k}", label=label)
    axes.set_xscale("log")
    axes.set_yticks(range(len(problems)), problems)
    axes.set_ylim(len(problems) - 0.5, -0.5)
    axes.set_xlabel("median calls of the successful runs")
    axes.grid(axis="x", alpha=0.3)
    figure.legend(loc="outside upper center", ncols=4, fontsize="small")
    path = out / f"{NAME}.png"
    figure.savefig(path, dpi=150)
    return [path]


def _median(rows: list[Row], name: str, method: str) -> float:
    """Return the median calls of the runs that succeed, NaN without any."""
    runs = [r for r in rows if (r["problem"], r["method"]) == (name, method)]
    calls = [r["calls"] for r in runs if r["calls"] is not None]
    return float(np.median(calls)) if calls else float("nan")
