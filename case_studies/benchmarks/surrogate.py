"""Overhead per simulator call with the surrogate on, and where it goes: ``make bench-surrogate``.

The simulator is Rosenbrock's function in n variables, which no model fits exactly, under n / 2
linear rows, without and with a ball (one nonlinear row). Each row of the table is one seeded run
with default settings; times are wall-clock per simulator call, the compilation of the first
generation left out. ``fit``: choosing and fitting models; ``minimise``: their minima over the
feasible set; ``repair``: repairs of ARCH; ``other``: the rest; ``processor``: processor time of the
whole, which is less than the wall-clock if other programs use the machine. Each run is made in a
process of its own, with ``OPENBLAS_NUM_THREADS`` unset, as users have it, and set to 1, by turns:
``set`` is the processor time with the variable set, ``ratio`` what it costs not to set it.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any
from unittest.mock import patch

import casadi as ca
import numpy as np

import archeng
from archeng.handlers.arch import Arch
from archeng.surrogate import proposer
from case_studies.benchmarks.record import command_line, markdown_table, write
from case_studies.benchmarks.threads import beside, verdict

SIZES = (5, 10, 20, 40)
LIMIT_MS = 5.0
"""Wanted at n = 20."""


def planes(n: int, ball: bool) -> archeng.Model:
    """Box and n / 2 planes, with a ball or without."""
    model = archeng.Model("planes")
    x = model.variable("x", shape=n, lower=-2, upper=2)
    for row in np.random.default_rng(0).standard_normal((n // 2, n)):
        model.subject_to(ca.dot(ca.DM(row), x) <= 1)
    if ball:
        model.subject_to(ca.sumsqr(x) <= n / 2)
    return model


def rosenbrock(design: archeng.Design) -> float:
    x = design.x
    return float(np.sum((x[1:] - x[:-1] ** 2) ** 2) + np.sum((1 - x) ** 2))


def measure(n: int, ball: bool, calls: int, seed: int) -> dict[str, Any]:
    """One run; time per call by part."""
    run = archeng.Run(planes(n, ball), rosenbrock, max_evaluations=calls, seed=seed)
    for _ in range(2):  # compiles the solvers
        run.step()
    first, spent = run.n_evaluations, Counter[str]()
    with ExitStack() as stack:
        for owner, name, part in (
            (proposer, "select", "fit"),
            (proposer, "taught_or_chosen", "fit"),
            (proposer, "lowest", "minimise"),
            (Arch, "ask", "repair"),
        ):
            timed = _timed(getattr(owner, name), spent, part)
            stack.enter_context(patch.object(owner, name, timed))
        begin, begin_cpu = time.perf_counter(), time.process_time()
        while not run.stopped:
            run.step()
        wall, cpu = time.perf_counter() - begin, time.process_time() - begin_cpu
    n_calls = max(run.n_evaluations - first, 1)
    simulated = sum(g.simulator_seconds for g in run.history[2:])
    parts = {f"{k}_ms": 1e3 * spent[k] / n_calls for k in ("fit", "minimise", "repair")}
    total = 1e3 * (wall - simulated) / n_calls
    return {
        "n": n,
        "rows": "planes and ball" if ball else "planes",
        "calls": n_calls,
        "total_ms": total,
        **parts,
        "other_ms": total - sum(parts.values()),
        "processor_ms": 1e3 * cpu / n_calls,
        "infeasible_calls": run.result().n_infeasible_calls,
    }


def growth(rows: list[dict[str, Any]]) -> float:
    """Exponent of n by which the overhead grows, by least squares in logarithms."""
    n = np.log([r["n"] for r in rows])
    return float(np.polyfit(n, np.log([r["total_ms"] for r in rows]), 1)[0])


def table(rows: list[dict[str, Any]]) -> str:
    """Rows of :func:`beside` in Markdown, and the growth."""
    names = ("fit", "minimise", "repair", "other", "processor", "set")
    header = ["rows", "n", "calls", "overhead ms/call", *names, "ratio"]
    keys = [f"{name}_ms" for name in names]
    lines = [
        [r["rows"], r["n"], r["calls"], f"**{r['total_ms']:.1f}**"]
        + [f"{r[k]:.1f}" for k in keys]
        + [f"{r['ratio']:.2f}"]
        for r in rows
    ]
    text = markdown_table(header, lines)
    for kind in dict.fromkeys(r["rows"] for r in rows):
        these = [r for r in rows if r["rows"] == kind]
        if len(these) > 1:
            text += f"\n\n{kind}: the overhead grows like n^{growth(these):.1f}."
    return text


def _timed(function: Callable[..., Any], spent: Counter[str], part: str) -> Callable[..., Any]:
    def timed(*arguments: Any, **options: Any) -> Any:
        begin = time.perf_counter()
        try:
            return function(*arguments, **options)
        finally:
            spent[part] += time.perf_counter() - begin  # type: ignore[assignment]

    return timed


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m case_studies.benchmarks.surrogate")
    parser.add_argument("--calls", type=int, default=300, help="simulator calls per case")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--repeats", type=int, default=1, help="runs per case, for medians")
    parser.add_argument("--sizes", type=int, nargs="+", default=list(SIZES), metavar="N")
    parser.add_argument("--record", metavar="NAME", help="write docs/benchmarks/NAME.md and .json")
    options = parser.parse_args(arguments)
    results = [
        beside(measure, n, ball, options.calls, options.seed, repeats=options.repeats)
        for ball in (False, True)
        for n in options.sizes
    ]
    text = f"{table(results)}\n\nWanted: at most {LIMIT_MS:g} ms at n = 20, growth at most n^3.\n"
    text += f"\n{verdict(results)}"
    print(text, flush=True)
    if options.record:
        write(
            options.record,
            "Overhead per simulator call with the surrogate",
            f"{__doc__}\n{text}",
            results,
            command_line("case_studies.benchmarks.surrogate"),
        )


if __name__ == "__main__":
    main()
