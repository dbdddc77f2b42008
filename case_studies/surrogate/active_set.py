"""Calls to target in the setting of [SA22 ssec:vs-active-set], with the surrogate.

Start, initial deviation, accuracies and stopping are those of
:mod:`case_studies.paper.active_set`: one restart, no stopping test. The settings are the defaults.
Beside them are the medians of the paper (ARCH, active-set ES), and figures of SACOBRA, which
learns the constraints and calls at infeasible designs (``published.json``).
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from case_studies.benchmarks.record import markdown_table
from case_studies.paper import active_set as paper
from case_studies.paper.results import Row, Task

NAME = "active-set"
HELP = "calls to target on CEC 2006, beside the paper's ARCH and active-set ES, and SACOBRA"
RUNS, QUICK_RUNS = 25, 2

PROBLEMS = (
    "g01", "g03", "g04", "g05", "g06", "g07", "g08", "g09", "g10", "g11",
    "g12", "g15", "g16", "g18", "g23", "g24",
)  # fmt: skip
QUICK_PROBLEMS = ("g04", "g06", "g07", "g11", "g24")
SACOBRA: dict[str, int] = json.loads(
    Path(__file__).with_name("published.json").read_text(encoding="utf-8")
)["sacobra"]["calls"]


def tasks(runs: int, quick: bool) -> list[Task]:
    return [
        {"problem": name, "preset": "surrogate", "seed": seed}
        for seed in range(runs)
        for name in (QUICK_PROBLEMS if quick else PROBLEMS)
    ]


def run_task(task: Task) -> list[Row]:
    """One problem, one seed."""
    return paper.run_task(task)


def figures(rows: list[Row], out: Path) -> list[Path]:
    """Draw the calls as bars beside the published ones."""
    from matplotlib.figure import Figure

    names = [n for n in PROBLEMS if any(r["problem"] == n for r in rows)]
    figure = Figure(figsize=(9, 3.6), layout="constrained")
    axes = figure.subplots()
    series = {
        "archeng": [_median(rows, n, "1e-4") for n in names],
        "ARCH [SA22]": [_published(n, "1e-4", "arch") for n in names],
        "active-set ES [SA22]": [_published(n, "1e-4", "active_set_es") for n in names],
        "SACOBRA": [SACOBRA.get(n) for n in names],
    }
    for k, (label, values) in enumerate(series.items()):
        heights = [np.nan if v is None else v for v in values]
        axes.bar(np.arange(len(names)) + 0.2 * (k - 1.5), heights, 0.2, label=label)
    axes.set_yscale("log")
    axes.set_xticks(range(len(names)), names)
    axes.set_ylabel("median calls to 1e-4")
    axes.legend(ncols=4, fontsize="small")
    path = out / f"{NAME}.png"
    figure.savefig(path, dpi=110)
    return [path]


def summary(rows: list[Row]) -> str:
    """One line per problem, then the counts that matter."""
    lines = [_line(rows, name) for name in PROBLEMS if any(r["problem"] == name for r in rows)]
    header = [
        "problem", "runs", "success", "calls to 1e-4", "calls to 1e-8", "ARCH [SA22]",
        "active-set ES [SA22] (success)", "SACOBRA", "ms per call",
    ]  # fmt: skip
    infeasible = sum(int(r["infeasible_calls"]) for r in rows)
    counts = "\n".join(f"- {text}" for text in _counts(rows))
    return (
        f"{markdown_table(header, lines)}\n\nMedians over successful runs; two figures are those "
        f"for 1e-4 and 1e-8.\n\n{counts}\n- calls at infeasible designs: {infeasible}"
    )


def _line(rows: list[Row], name: str) -> list[object]:
    runs = [r for r in rows if r["problem"] == name]
    reached = [r for r in runs if r["calls_1e-4"] is not None]
    calls = sum(int(r["evaluations"]) for r in runs)
    rate = paper.PAPER.get(name, {}).get("1e-4", {}).get("active_set_es", {}).get("sr")
    both = [_pair(name, method) for method in ("arch", "active_set_es")]
    return [
        name,
        len(runs),
        f"{len(reached) / len(runs):.0%}",
        _text(_median(rows, name, "1e-4")),
        _text(_median(rows, name, "1e-8")),
        both[0],
        both[1] if rate is None else f"{both[1]} ({rate:.0%})",
        _text(SACOBRA.get(name)),
        f"{1e3 * sum(float(r['seconds']) for r in runs) / max(calls, 1):.1f}",
    ]


def _counts(rows: list[Row]) -> list[str]:
    """Say on how many problems the calls are below the published ones."""
    texts = []
    for key in paper.ACCURACIES:
        names = [n for n in paper.PROBLEMS if _published(n, key, "arch") and _median(rows, n, key)]
        best = {
            n: min(filter(None, (_published(n, key, m) for m in ("arch", "active_set_es"))))
            for n in names
        }
        ours = {n: _median(rows, n, key) or np.inf for n in names}
        below = [n for n in names if ours[n] < best[n]]
        worst = max(names, key=lambda n: ours[n] / best[n], default=None)
        ratio = np.exp(
            np.mean([np.log((_published(n, key, "arch") or 1) / ours[n]) for n in names])
        )
        if worst is not None:
            texts.append(
                f"{key}: below ARCH and active-set ES of the paper on {len(below)} of {len(names)} "
                f"problems; largest ratio to the better of them {ours[worst] / best[worst]:.2f} "
                f"({worst}); geometric mean {ratio:.1f} times below ARCH"
            )
    with_figure = [n for n in SACOBRA if _median(rows, n, "1e-4")]
    fewer = [n for n in with_figure if (_median(rows, n, "1e-4") or np.inf) < SACOBRA[n]]
    texts.append(f"below SACOBRA on {len(fewer)} of {len(with_figure)} problems")
    return texts


def _median(rows: list[Row], name: str, key: str) -> float | None:
    calls = [r[f"calls_{key}"] for r in rows if r["problem"] == name]
    reached = [c for c in calls if c is not None]
    return float(np.median(reached)) if reached else None


def _published(name: str, key: str, method: str) -> float | None:
    found = paper.PAPER.get(name, {}).get(key, {}).get(method, {}).get("nfes")
    return None if found is None else float(found)


def _pair(name: str, method: str) -> str:
    values = [_published(name, key, method) for key in paper.ACCURACIES]
    return "" if values[0] is None else " / ".join(_text(v) for v in values)


def _text(value: float | None) -> str:
    return "" if value is None else f"{value:g}"
