"""What each handler takes, and what changes its runs: [SA22 tab:class], every cell from runs.

**What it takes** (``takes``). One small problem for each kind of constraint, all with the optimum
2 at (1, 1, 0): bounds, linear and nonlinear inequalities, linear and nonlinear equalities, a
nonlinear constraint that only the simulator knows (*simulated*), and one that nobody declares,
where the simulator fails (*hidden*). A kind is taken if the runs of all seeds come within 0.1 of
the optimum in at most 1500 calls; it is refused by a `SettingsError` before the first call. Calls
at designs that violate a declared constraint are counted. The epsilon-lexicographic order runs with
``epsilon_generations=60`` there: with its default infeasible designs would count as feasible until
the budget is used up.

**What changes its runs** (the other checks, each a problem). The same seed in a transformed
problem, with the initial distribution mapped by its factor, as in `invariance`: see
`transformations`. Differences are between the designs of the calls, mapped back, in standard
deviations of the search distribution: the largest one in the first five generations, and in the
whole run. Runs *part* in the first generation with a difference above 1e-6, or another number of
calls. A difference that begins at 1e-14 and grows is rounding; one that is large at once is the
method. Transformations of g are compared with the same rows, bounds written as rows, without a
transformation. ``g sign`` keeps only the signs of the constraints: what it does not change uses
nothing else of them.

All handlers run with ``Settings()`` but for the handler, without surrogate and stopping tests;
``arch-paper`` is ``Settings.paper()``. Methods with one candidate per generation get five times as
many generations.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, get_args

import numpy as np

import archeng
from archeng.errors import SettingsError
from archeng.settings import HandlerName
from case_studies.paper import taxonomy_report
from case_studies.paper.invariance import PARTED, differences, played
from case_studies.paper.results import Row, Task
from case_studies.paper.transformations import (
    OF_G,
    PLAIN,
    SIGN,
    TRANSFORMATIONS,
    original,
    transformed,
)

NAME = "taxonomy"
HELP = "what each handler takes, and what changes its runs, beside the paper's table (tab:class)"
RUNS, QUICK_RUNS = 3, 1

HANDLERS = ("arch", "arch-paper", *(h for h in get_args(HandlerName) if h != "arch"))
TAKES = "takes"
PROBLEMS = ("rotated ellipsoid", "g09")
GENERATIONS, QUICK_GENERATIONS = 40, 10
LONGER = 5  # times as many generations of one candidate
FIRST = 5  # generations that are the first ones
CALLS, OPTIMUM, NEAR = 1500, 2.0, 1e-2
EPSILON_GENERATIONS = 60  # of the epsilon-lexicographic order in `takes`; 1000 outlast the budget

summary = taxonomy_report.summary
figures = taxonomy_report.figures


def tasks(runs: int, quick: bool) -> list[Task]:
    sizes = {TAKES: CALLS}
    for name in PROBLEMS:
        sizes[name] = QUICK_GENERATIONS if quick else GENERATIONS
    return [
        {"handler": handler, "check": check, "size": size, "seed": seed}
        for seed in range(runs)
        for handler, (check, size) in product(HANDLERS, sizes.items())
    ]


def run_task(task: Task) -> list[Row]:
    """One handler: what it takes, or one problem in all transformations."""
    handler, check, size, seed = (task[k] for k in ("handler", "check", "size", "seed"))
    settings = settings_of(str(handler))
    if check == TAKES:
        found = [taken(settings, kind, int(size), int(seed)) for kind in KINDS]
    else:
        found = compared(settings, str(check), int(size), int(seed))
    return [{**task, **EMPTY, **row} for row in found]


EMPTY: Mapping[str, Any] = dict.fromkeys(
    ("change", "calls", "outside", "gap", "first", "largest", "parted", "note")
)
"""The columns of a row beside those of its task."""


def settings_of(handler: str) -> archeng.Settings:
    """Return the settings of a handler, which may call everywhere if it wants to."""
    if handler == "arch-paper":
        return archeng.Settings.paper()
    return archeng.Settings(
        handler=handler,  # type: ignore[arg-type]
        surrogate="none",
        simulator_defined_everywhere=True,
    )


# ----- what it takes ---------------------------------------------------------------------------


@dataclass(frozen=True)
class Kind:
    """A kind of constraint: how a model gets it, and what the simulator does about it."""

    declare: Callable[[archeng.Model, Any], None] = lambda model, x: None
    low: float = -5.0  # of the first two variables
    simulated: bool = False
    hidden: bool = False


def _wedge(model: archeng.Model, x: Any) -> None:
    model.subject_to(2 * x[0] + x[1] >= 3, name="steep")
    model.subject_to(x[0] + 2 * x[1] >= 3, name="flat")


KINDS: Mapping[str, Kind] = {
    "bounds": Kind(low=1.0),
    "linear": Kind(_wedge),
    "nonlinear": Kind(lambda m, x: m.subject_to(x[0] * x[1] >= 1, name="product"), low=0.1),
    "linear equality": Kind(lambda m, x: m.subject_to(x[0] + x[1] == 2, name="sum")),
    "nonlinear equality": Kind(
        lambda m, x: m.subject_to(x[0] * x[1] == 1, name="product"), low=0.1
    ),
    "simulated": Kind(low=0.1, simulated=True),
    "hidden": Kind(low=0.1, hidden=True),
}


def taken(settings: archeng.Settings, name: str, calls: int, seed: int) -> Row:
    """Return what a run with one kind of constraint came to, or its refusal."""
    settings, kind = replace(settings, stop_tests=False), KINDS[name]
    model = archeng.Model(name)
    x = model.variable(
        "x", shape=3, lower=[kind.low, kind.low, -5], upper=5, start=[2.0, 2.0, 1.0], scale=0.5
    )
    kind.declare(model, x)

    def simulator(design: archeng.Design) -> Any:
        f, made = float(design.x @ design.x), float(design.x[0] * design.x[1])
        if kind.hidden:
            return f if made >= 1 else float("nan")
        return archeng.Evaluation(f, constraints={"product": made}) if kind.simulated else f

    if settings.handler == "epsilon-lexicographic":
        options = {"epsilon_generations": EPSILON_GENERATIONS}
        settings = replace(settings, handler_options=options)
    limits = {"simulated": {"product": (1.0, None)}} if kind.simulated else {}
    try:
        result = archeng.solve(
            model, simulator, max_evaluations=calls, target=OPTIMUM + NEAR, seed=seed,
            settings=settings, max_failures=None, **limits,
        )  # fmt: skip
    except SettingsError as error:
        return {"change": name, "note": refusal(error)}
    gap = float(result.fun - OPTIMUM)
    return {
        "change": name,
        "calls": result.nfev,
        "outside": result.n_infeasible_calls,
        "gap": gap if np.isfinite(gap) else None,
    }


def refusal(error: SettingsError) -> str:
    """Return the error and what it says, without the place of the row in this file."""
    return f"{type(error).__name__}: {re.sub(r' [(][^()]*[.]py[^()]*[)]', '', str(error))}"


# ----- what changes its runs --------------------------------------------------------------------


def compared(settings: archeng.Settings, problem: str, generations: int, seed: int) -> list[Row]:
    """Return a row for each transformation of a problem; one with the refusal if it is refused."""
    settings = replace(settings, stop_tests=False)
    play = original(problem, seed)
    try:
        first = played(play, settings, seed, generations)
        if sum(len(g.designs) for g in first) < 2 * generations:
            generations *= LONGER
            first = played(play, settings, seed, generations)
    except SettingsError as error:
        return [{"change": "none", "note": refusal(error)}]
    calls = sum(len(g.designs) for g in first)
    rows: list[Row] = [{"change": "none", "calls": calls}]
    for change in (*TRANSFORMATIONS, SIGN):
        try:
            if change == OF_G[0]:  # from here on compared with the rows as they are
                first = played(transformed(play, PLAIN, seed), settings, seed, generations)
            second = played(transformed(play, change, seed), settings, seed, generations)
        except SettingsError as error:
            rows.append({"change": change, "note": refusal(error)})
            continue
        gaps = differences(first, second)
        rows.append(
            {
                "change": change,
                "calls": calls,
                "first": float(max(gaps[:FIRST])),
                "largest": float(max(gaps)),
                "parted": next((k for k, gap in enumerate(gaps) if gap > PARTED), None),
            }
        )
    return rows
