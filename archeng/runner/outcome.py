"""Making a `Result` out of a run."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np

from archeng.distribution import Floats
from archeng.model import FeasibleSet
from archeng.records import RowAtBest
from archeng.result import Result, Status
from archeng.runner.stored import versions
from archeng.strategy import StopReason

if TYPE_CHECKING:
    from archeng.runner.run import Run

_CONVERGED = {
    StopReason.TOL_OBJECTIVE,
    StopReason.EQUAL_OBJECTIVES,
    StopReason.TOL_X,
    StopReason.STAGNATION,
    StopReason.NO_EFFECT_AXIS,
    StopReason.NO_EFFECT_COORDINATE,
}


def make_result(run: Run) -> Result:
    """Collect what a run has found so far."""
    fs = run.feasible_set
    reason = run.stop_reason or StopReason.INTERRUPTED
    x = run.best.x if run.best is not None else np.full(len(fs.template), np.nan)
    return Result(
        name=run.model.name,
        x=x,
        fun=run.best.objective if run.best is not None else float("nan"),
        variables=fs.variables,
        status=_status(run, reason),
        stop_reason=reason,
        maximize=run.options.sense == "maximize",
        evaluations=tuple(run.evaluations),
        history=tuple(run.history),
        rows=rows_at(fs, x) if run.best is not None else (),
        provenance=_provenance(run),
    )


def rows_at(feasible_set: FeasibleSet, x: Floats) -> tuple[RowAtBest, ...]:
    """Every row at a full vector; active if within 1e-6 of the scale of its variables' steps."""
    fs = feasible_set
    free = fs.reduce(x)
    values, jacobian = fs.values_and_jacobian(free)
    scale = np.where(np.isnan(fs.scale), np.maximum(np.abs(free), 1.0), fs.scale)
    with np.errstate(invalid="ignore", over="ignore"):
        size = np.linalg.norm(jacobian * scale, axis=1)
    near = 1e-6 * np.where(np.isfinite(size), size, 0.0)
    active = fs.equality | (values <= fs.lower + near) | (values >= fs.upper - near)
    return tuple(
        RowAtBest(
            name=info.name,
            kind="equality" if info.equality else info.kind.value,
            value=float(values[j]),
            lower=float(fs.lower[j]),
            upper=float(fs.upper[j]),
            active=bool(active[j]),
            source=info.source,
        )
        for j, info in enumerate(fs.rows)
    )


def _status(run: Run, reason: StopReason) -> Status:
    if run.best is None:
        return Status.NONE
    if run.options.reached(run.best.objective):
        return Status.TARGET
    if run.options.target is None and _CONVERGED & {reason, *run.ended}:
        return Status.CONVERGED
    return Status.STOPPED


def _provenance(run: Run) -> dict[str, Any]:
    options = {k: v for k, v in vars(run.options).items() if k != "callback"}
    return {
        **versions(),
        "seed": run.seed,
        "restarts_used": run.n_restarts,
        "options": options,
        "settings": asdict(run.settings),
    }
