"""Making a `Result` out of a run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np

from archeng.blas import one_thread
from archeng.distribution import Floats
from archeng.handlers import ArchSearch, Population, Search
from archeng.known import Limits
from archeng.records import CallRecord, Generation, SimulatedAtBest
from archeng.result import Result, Status
from archeng.runner.account import Account
from archeng.runner.activity import activity_of, rows_at
from archeng.runner.moved import versions
from archeng.strategy import StopReason
from archeng.surrogate import Optimality, best_evidence, frame_at

if TYPE_CHECKING:
    from archeng.runner.run import Run

_CONVERGED = {
    StopReason.CONVERGED,
    StopReason.MODEL_EXHAUSTED,
    StopReason.TOL_OBJECTIVE,
    StopReason.EQUAL_OBJECTIVES,
    StopReason.TOL_X,
    StopReason.STAGNATION,
    StopReason.NO_EFFECT_AXIS,
    StopReason.NO_EFFECT_COORDINATE,
}


@one_thread
def make_result(run: Account) -> Result:
    """Collect what a run has found so far."""
    fs, best = run.feasible_set, run.archive.best
    reason = run.stop_reason
    x = best.x if best is not None else np.full(len(fs.template), np.nan)
    optimality = _optimality(run, best, reason)
    return Result(
        name=fs.name,
        x=x,
        fun=best.objective if best is not None else float("nan"),
        variables=fs.variables,
        status=_status(run, best, reason, optimality),
        stop_reason=reason,
        maximize=run.options.sense == "maximize",
        evaluations=tuple(run.archive.evaluations),
        history=tuple(run.history),
        rows=rows_at(fs, x),
        simulated=simulated_at(run.options.limits, best),
        outputs={} if best is None else dict(best.outputs),
        activity=activity_of(run),
        optimality=optimality,
        provenance=_provenance(run),
    )


def simulated_at(limits: Limits, best: CallRecord | None) -> tuple[SimulatedAtBest, ...]:
    """Return every simulated constraint at the best design."""
    values = {} if best is None else best.constraints
    return tuple(
        SimulatedAtBest(name, values.get(name, float("nan")), float(low), float(high))
        for name, low, high in zip(limits.names, limits.lower, limits.upper, strict=True)
    )


def _optimality(run: Account, best: CallRecord | None, reason: StopReason) -> Optimality | None:
    """Return what speaks for the best design being a local optimum, once the run has ended."""
    if best is None or not best.acceptable or reason in (StopReason.RUNNING, StopReason.CUT_OFF):
        return None
    frame = frame_at(run.wide, run.feasible_set.reduce(best.x))
    return best_evidence(frame, run.archive.known(), run.options.limits, run.feasible_set)


def _status(
    run: Account, best: CallRecord | None, reason: StopReason, optimality: Optimality | None
) -> Status:
    if best is None:
        return Status.NONE
    if not best.acceptable:
        return Status.VIOLATING
    if run.options.reached(best.objective):
        return Status.TARGET
    if reason in (StopReason.RUNNING, StopReason.CUT_OFF):
        return Status.SO_FAR
    shown = optimality is not None and optimality.claim
    if run.options.target is None and shown and _CONVERGED & {reason, *run.ended}:
        return Status.CONVERGED
    return Status.STOPPED


def make_generation(
    run: Run,
    search: Search,
    population: Population,
    objectives: Floats,
    calls: Iterable[CallRecord],
    times: tuple[float, float],
) -> Generation:
    """Make the record of a generation: the search as it sampled, and what came of it.

    ``times`` are the seconds spent on repairs and on the strategy.
    """
    eigenvalues = search.state.eigenvalues
    finite = objectives[np.isfinite(objectives)]
    return Generation(
        generation=len(run.history),
        restart=run.course.n_restarts,
        population_size=search.parameters.population_size,
        evaluations=run.n_evaluations,
        best=run.best.objective if run.best and run.best.acceptable else float("nan"),
        best_in_generation=run.options.sign * float(finite.min()) if len(finite) else np.nan,
        sigma=search.distribution.sigma,
        alpha=search.alpha if isinstance(search, ArchSearch) else np.nan,
        d_m=search.d_m if isinstance(search, ArchSearch) else np.nan,
        condition=float(eigenvalues[-1] / max(eigenvalues[0], np.finfo(float).tiny)),
        n_active=search.n_active,
        repairs=dict(Counter(r.kind.value for r in population.repairs)),
        repair_seconds=times[0],
        simulator_seconds=sum(e.seconds for e in calls),
        strategy_seconds=times[1],
        eigenvalues=() if population.proposed else tuple(eigenvalues.tolist()),
    )


def _provenance(run: Account) -> dict[str, Any]:
    options = {k: v for k, v in vars(run.options).items() if k != "callback"}
    return {
        **versions(),
        "seed": run.seed,
        "restarts_used": run.n_restarts,
        "options": options,
        "settings": asdict(run.settings),
    }
