"""Calls to target on CEC 2006 in the setting of [SA22 ssec:vs-active-set], table tab:vs-active.

The initial mean is uniform in the box and repaired, sigma0 = 0.2 min(ub - lb), C0 = I, at most
1200 iterations, no other stopping test and no restart. A run succeeds if a feasible design
with f < f* + eps |f*| was simulated. Medians are over the successful runs.

Calls are counted up to and including the one that reaches the target; the paper counts whole
generations, so that its figures are larger by half a generation on average. The iterations are
counted alike. Presets: ``paper`` is ``Settings.paper()``, ``default`` is ``Settings()`` without
surrogate, and ``active-set-es`` is archeng's own version of the method that the paper compares
with. The handlers with active constraint handling refuse the problems with equalities; they have
no figures in the paper and stand beside those of its ARCH, and ``one-plus-one-ach``, with one call
per iteration, has five times as many iterations. ``surrogate`` is ``Settings()``; its runs are an
experiment of their own (:mod:`case_studies.surrogate`).
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

import archeng
from case_studies.benchmarks.record import markdown_table
from case_studies.cec2006 import problem
from case_studies.paper.results import Row, Task

NAME = "active-set"
HELP = "calls to target on CEC 2006 g01-g11 and g16, beside the paper's (tab:vs-active)"
RUNS, QUICK_RUNS = 100, 3

ACCURACIES = {"1e-4": 1e-4, "1e-8": 1e-8}
MAX_ITERATIONS = 1200
PROBLEMS = (*(f"g{i:02d}" for i in range(1, 12)), "g16")
QUICK_PROBLEMS = ("g03", "g04", "g06", "g07", "g11")
ACH = ("one-plus-one-ach", "xcma-es-ach", "mu-lambda-ach")
EQUALITIES = ("g03", "g05", "g11")
LONGER = 5
"""Times as many iterations for ``one-plus-one-ach``."""
PRESETS = ("paper", "default", "active-set-es", *ACH)
FEWER_RUNS = 25
"""Runs of the handlers other than ARCH."""
PAPER = json.loads(Path(__file__).with_name("paper_tables.json").read_text(encoding="utf-8"))[
    "vs_active_set_es"
]["rows"]
WORSE = 0.1
"""A row is marked if it is worse than the paper's by more than this fraction."""


def tasks(runs: int, quick: bool) -> list[Task]:
    found: list[Task] = [
        {"problem": name, "preset": preset, "seed": seed}
        for seed in range(runs)
        for preset in PRESETS
        for name in (QUICK_PROBLEMS if quick else PROBLEMS)
        if preset in ("paper", "default") or seed < FEWER_RUNS
        if preset not in ACH or (name not in EQUALITIES and (seed == 0 or not quick))
    ]
    return sorted(found, key=lambda task: task["problem"] == "g02")  # the longest runs come last


def run_task(task: Task) -> list[Row]:
    """One problem, one seed; a model without a feasible start gives a row with its error."""
    name, seed = str(task["problem"]), int(task["seed"])
    p = problem(name)
    start = np.random.default_rng([seed, int(name[1:])]).uniform(p.lower, p.upper)

    most = MAX_ITERATIONS * (LONGER if task["preset"] == "one-plus-one-ach" else 1)

    def limit(run: archeng.Run) -> None:
        if len(run.history) >= most:
            raise StopIteration

    try:
        run = archeng.Run(
            p.model,
            p.objective,
            target=float(np.nextafter(p.f_opt + 1e-8 * abs(p.f_opt), -np.inf)),
            seed=seed,
            start=start,
            sigma=0.2 * float(np.min(p.upper - p.lower)),
            callback=limit,
            settings=preset_settings(str(task["preset"])),
        )
    except archeng.errors.InfeasibleModelError as error:
        return [{**task, **_outcome((), p.f_opt), "error": str(error)}]
    result = run.run()
    row: Row = {**task, **_outcome(result.evaluations, p.f_opt), "error": ""}
    row["infeasible_calls"] = result.n_infeasible_calls
    row["seconds"] = round(sum(g.repair_seconds + g.strategy_seconds for g in result.history), 4)
    return [row]


def preset_settings(preset: str) -> archeng.Settings:
    """Return the settings of a preset, without stopping tests."""
    if preset == "active-set-es" or preset in ACH:
        return archeng.Settings(
            handler=preset,  # type: ignore[arg-type]
            surrogate="none",
            stop_tests=False,
            simulator_defined_everywhere=True,
        )
    if preset == "paper":
        return replace(archeng.Settings.paper(), stop_tests=False)
    return archeng.Settings(surrogate="none" if preset == "default" else "auto", stop_tests=False)


def _outcome(evaluations: tuple[Any, ...], f_opt: float) -> Row:
    """Return calls and iterations to each accuracy, None where it was not reached."""
    row: Row = {}
    for key, accuracy in ACCURACIES.items():
        first = next(
            (
                (i, e.generation)
                for i, e in enumerate(evaluations, start=1)
                if e.max_violation <= 0 and e.objective < f_opt + accuracy * abs(f_opt)
            ),
            None,
        )
        row[f"calls_{key}"] = None if first is None else first[0]
        row[f"iterations_{key}"] = None if first is None else first[1] + 1
    return {**row, "evaluations": len(evaluations), "infeasible_calls": 0, "seconds": 0.0}


def figures(rows: list[Row], out: Path) -> list[Path]:
    """There is no figure in the paper, and none here."""
    return []


def summary(rows: list[Row]) -> str:
    """One table per preset: our medians, the paper's, and their ratio."""
    parts = []
    for preset in PRESETS:
        lines = [
            _line(name, key, [r for r in rows if r["preset"] == preset and r["problem"] == name])
            for name in PROBLEMS
            for key in ACCURACIES
            if any(r["preset"] == preset and r["problem"] == name for r in rows)
        ]
        if lines:
            parts.append(f"### Preset `{preset}`\n\n{markdown_table(_header(preset), lines)}")
            parts.append(_totals([r for r in rows if r["preset"] == preset], lines))
    return "\n\n".join(parts)


def medians(runs: list[Row], key: str) -> dict[str, float | None]:
    """Median calls and iterations of the runs that reach an accuracy, and their share."""
    reached = [r for r in runs if r[f"calls_{key}"] is not None]
    return {
        "calls": _median([r[f"calls_{key}"] for r in reached]),
        "iterations": _median([r[f"iterations_{key}"] for r in reached]),
        "success": len(reached) / len(runs),
    }


def _line(name: str, key: str, runs: list[Row]) -> list[object]:
    ours = medians(runs, key)
    published = PAPER.get(name, {}).get(key, {})
    arch, active = published.get("arch", {}), published.get("active_set_es", {})
    # The active-set ES makes one call per iteration, so that its calls are its iterations.
    if runs[0]["preset"] == "active-set-es":
        theirs = {"calls": active.get("nfes"), "iterations": active.get("nfes")}
        theirs["success"] = active.get("sr")
    else:
        theirs = {"calls": arch.get("nfes"), "iterations": arch.get("iterations")}
        theirs["success"] = arch.get("sr")
    ratios = [_ratio(ours[c], theirs[c]) for c in ("calls", "iterations")]
    return [
        name,
        key,
        len(runs),
        *(_show(ours[c]) for c in ("calls", "iterations")),
        _percent(ours["success"]),
        *(_show(arch.get(c)) for c in ("nfes", "iterations")),
        _percent(arch.get("sr")),
        _show(active.get("nfes")),
        _percent(active.get("sr")),
        *("-" if r is None else f"{r:.2f}" for r in ratios),
        ", ".join(f"**{c}**" for c in worse(ours, theirs)),
    ]


def worse(ours: dict[str, float | None], theirs: dict[str, float | None]) -> list[str]:
    """Return in what we are worse than the paper by more than 10 %."""
    found = []
    for c in ("calls", "iterations"):
        ratio = _ratio(ours[c], theirs[c])
        if ratio is not None and ratio > 1 + WORSE:
            found.append(c)
    if theirs["success"] is not None and (ours["success"] or 0) < (1 - WORSE) * theirs["success"]:
        found.append("success")
    return found


def _header(preset: str) -> list[str]:
    against = "active-set ES" if preset == "active-set-es" else "ARCH"
    return ["problem", "eps", "runs", "calls", "iterations", "success",
            "paper ARCH: calls", "iterations", "success", "paper active-set ES: calls", "success",
            f"calls / paper {against}", f"iterations / paper {against}",
            "worse by > 10 %"]  # fmt: skip


def _totals(rows: list[Row], lines: list[list[object]]) -> str:
    calls = sum(r["evaluations"] for r in rows)
    seconds = sum(r["seconds"] for r in rows)
    errors = sum(bool(r["error"]) for r in rows)
    return (
        f"{len(rows)} runs, {calls} calls, {sum(r['infeasible_calls'] for r in rows)} of them "
        f"infeasible; {1e3 * seconds / max(calls, 1):.2f} ms overhead per call; {errors} runs "
        f"without a feasible start. {sum(bool(line[-1]) for line in lines)} of {len(lines)} rows "
        "are worse than the paper's by more than 10 %."
    )


def _median(values: list[Any]) -> float | None:
    return float(np.median(values)) if values else None


def _ratio(ours: float | None, theirs: float | None) -> float | None:
    return None if ours is None or theirs is None else ours / theirs


def _show(value: float | None) -> str:
    return "-" if value is None else f"{value:g}"


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.0f} %"
