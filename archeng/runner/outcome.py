"""Making a `Result` out of a run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from archeng.blas import one_thread
from archeng.distribution import Distribution, Floats
from archeng.handlers import ArchSearch, Search
from archeng.ledger import Ledger
from archeng.model import FeasibleSet, FormulaTexts, Parameter, Variable
from archeng.records import (
    Activity,
    CallRecord,
    Generation,
    NeighbourAtBest,
    ParameterSensitivity,
    SimulatedAtBest,
)
from archeng.result import Result, Status
from archeng.runner.activity import activity_of, rows_at
from archeng.runner.estimating import Estimated, estimated
from archeng.runner.generation import OpenGeneration
from archeng.runner.moved import versions
from archeng.runner.neighbours import neighbours_at
from archeng.runner.options import Options
from archeng.runner.prices import parameter_sensitivities, prices_at
from archeng.settings import Settings
from archeng.strategy import StopReason
from archeng.surrogate import NoisyState, Optimality, best_evidence, frame_at, mixed_evidence
from archeng.surrogate.constants import EVIDENCE_MOST_VARIABLES

_OPEN = (StopReason.RUNNING, StopReason.CUT_OFF)  # the run has not ended
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


@dataclass(frozen=True)
class VariablesOnly:
    """In the place of a feasible set whose rows the journal cannot hold: all variables are free."""

    name: str
    variables: tuple[Variable, ...]
    parameters: tuple[Parameter, ...] = ()

    @property
    def n(self) -> int:
        """Number of free entries."""
        return sum(variable.size for variable in self.variables)

    def reduce(self, full: Floats) -> Floats:
        """Return the vector itself."""
        return full

    def reduce_gradient(self, full: Floats, gradient: Floats) -> Floats:
        """Return the gradient itself."""
        return gradient

    @property
    def hidden(self) -> None:
        """Nothing follows from others."""


@dataclass(frozen=True, eq=False)
class Account:
    """A run as it stands: what a result is made of, from a run or from the journal of one."""

    feasible_set: FeasibleSet | VariablesOnly
    texts: FormulaTexts | None  # of objective and rows that are formulas
    ledger: Ledger
    options: Options
    settings: Settings
    seed: int
    stop_reason: StopReason
    wide: Distribution  # the initial one of the search
    n_restarts: int  # begun after the first search
    ended: Sequence[StopReason]  # of the restarts that have ended
    noisy: NoisyState | None = None  # the search under noise, if there is one

    @classmethod
    def of(cls, run: Any) -> Account:
        """Return it of a `Run`."""
        return cls(
            feasible_set=run.feasible_set,
            texts=run._texts,
            ledger=run.ledger,
            options=run.options,
            settings=run.settings,
            seed=run.seed,
            stop_reason=run.stop_reason or StopReason.INTERRUPTED,
            wide=run.search.wide,
            n_restarts=run.state.restarts.number,
            ended=run.state.restarts.ended,
            noisy=getattr(run.state.search, "noisy", None),
        )


@one_thread
def make_result(run: Account) -> Result:
    """Collect what a run has found so far."""
    fs, best = run.feasible_set, run.ledger.best
    known = _estimated(run)
    if known is not None:
        best = known.call
    size = sum(variable.size for variable in fs.variables)
    x = best.x if best is not None else np.full(size, np.nan)
    optimality = _optimality(run, best) if known is None else None
    texts = run.texts
    rows = rows_at(fs, x) if isinstance(fs, FeasibleSet) else ()
    activity: tuple[Activity, ...] = ()
    sensitivities: tuple[ParameterSensitivity, ...] = ()
    neighbours: tuple[NeighbourAtBest, ...] = ()
    if isinstance(fs, FeasibleSet) and best is not None:
        models = None if known is None else known.models
        prices = prices_at(fs, run.ledger, best, run.wide, rows, models)
        activity = activity_of(fs, run.ledger, prices, rows)
        sensitivities = parameter_sensitivities(
            fs, run.ledger, best, prices, rows, run.options.sign
        )
        neighbours = neighbours_at(fs, x)
    return Result(
        name=fs.name,
        x=x,
        fun=_objective(best, known),
        variables=fs.variables,
        status=_status(run, best, optimality, known),
        stop_reason=run.stop_reason,
        maximize=run.options.sense == "maximize",
        evaluations=tuple(run.ledger.calls),
        history=tuple(run.ledger.generations),
        rows=rows,
        simulated=simulated_at(run, best, known),
        outputs={} if best is None else dict(best.outputs),
        activity=activity,
        optimality=optimality,
        provenance=_provenance(run),
        parameters=fs.parameters,
        declared_outputs=() if texts is None else texts.outputs,
        objective_name="" if texts is None else texts.objective_name,
        objective_formula="" if texts is None else texts.objective,
        sensitivities=sensitivities,
        neighbours=neighbours,
        independents=_independents(fs),
        estimate=None if known is None else known.estimate,
        cheaper=tuple(c for c in run.ledger.all_calls if c.level < run.ledger.finest),
        costs=run.ledger.costs,
    )


def _estimated(run: Account) -> Estimated | None:
    """Return the best design by its estimate; None if the simulator is not noisy."""
    fs, noisy = run.feasible_set, run.noisy
    if isinstance(fs, VariablesOnly):
        return None
    centre = None if noisy is None else noisy.centre
    return estimated(fs, run.ledger, run.options, run.wide, centre)


def _objective(best: CallRecord | None, known: Estimated | None) -> float:
    if known is not None:
        return known.estimate.value
    return float("nan") if best is None else best.objective


def _independents(fs: FeasibleSet | VariablesOnly) -> tuple[str, ...]:
    """Return the variables that were searched, if equations were solved for others."""
    solved = isinstance(fs, FeasibleSet) and fs.dependents is not None
    return fs.free_names if solved and isinstance(fs, FeasibleSet) else ()


def simulated_at(
    run: Account, best: CallRecord | None, known: Estimated | None
) -> tuple[SimulatedAtBest, ...]:
    """Return every simulated constraint at the best design: under noise what is expected there."""
    values, limits = {} if best is None else best.constraints, run.ledger.limits
    deviations = dict.fromkeys(limits.names, 0.0)
    if known is not None:
        values = dict(zip(limits.names, known.rows.tolist(), strict=True))
        deviations = dict(zip(limits.names, known.deviations.tolist(), strict=True))
    about = {} if run.texts is None else {r.name: (r.text, r.source) for r in run.texts.rows}
    return tuple(
        SimulatedAtBest(
            name,
            values.get(name, float("nan")),
            float(low),
            float(high),
            *about.get(name, ("", "")),
            deviations[name],
        )
        for name, low, high in zip(limits.names, limits.lower, limits.upper, strict=True)
    )


def _optimality(run: Account, best: CallRecord | None) -> Optimality | None:
    """Return what speaks for the best design being a local optimum, once the run has ended.

    With many variables nothing is said: to ask for each direction would take longer than the run.
    """
    fs = run.feasible_set
    ended = run.stop_reason not in _OPEN
    if isinstance(fs, VariablesOnly) or best is None or not best.acceptable or not ended:
        return None
    if fs.n > EVIDENCE_MOST_VARIABLES:
        return None
    x, past, limits = fs.reduce(best.x), run.ledger.arrays(), run.ledger.limits
    if fs.lattice is not None:
        return mixed_evidence(fs, run.settings, limits, run.wide, past, x)
    frame = frame_at(run.wide, x)
    return best_evidence(frame, past, limits, fs)


def _status(
    run: Account,
    best: CallRecord | None,
    optimality: Optimality | None,
    known: Estimated | None,
) -> Status:
    if best is None:
        return Status.NONE
    if not (best.acceptable if known is None else known.holds):
        return Status.VIOLATING
    if run.options.reached(best.objective if known is None else known.worst(run.options.sign)):
        return Status.TARGET
    if run.stop_reason in _OPEN:
        return Status.SO_FAR
    if known is not None:
        seen = StopReason.NOISE in (run.stop_reason, *run.ended)
        return Status.WITHIN_NOISE if seen else Status.STOPPED
    shown = optimality is not None and optimality.claim
    if run.options.target is None and shown and _CONVERGED & {run.stop_reason, *run.ended}:
        return Status.CONVERGED
    return Status.STOPPED


def make_generation(
    generation: OpenGeneration,
    search: Search,
    ledger: Ledger,
    sign: float,
    objectives: Floats,
    calls: Mapping[int, CallRecord],
    strategy_seconds: float,
) -> Generation:
    """Make the record of a generation: the search as it sampled, and what came of it.

    ``objectives`` (k,) are those of its population, to be minimised (``sign`` times the user's).
    """
    eigenvalues, best = search.state.eigenvalues, ledger.best_acceptable
    lowest = float("nan") if best is None else best.objective
    noisy = getattr(search, "noisy", None)
    if noisy is not None and noisy.deviation > 0:
        lowest = sign * noisy.objective
    finite = objectives[np.isfinite(objectives)]
    arch = search if isinstance(search, ArchSearch) else None
    return Generation(
        generation=generation.number,
        restart=generation.restart,
        population_size=search.population_size,
        evaluations=ledger.n_calls,
        best=lowest,
        best_in_generation=sign * float(finite.min()) if len(finite) else np.nan,
        sigma=search.distribution.sigma,
        alpha=np.nan if arch is None else arch.alpha,
        d_m=np.nan if arch is None else arch.d_m,
        condition=_condition(eigenvalues),
        n_active=search.n_active,
        repairs=dict(Counter(r.kind.value for r in generation.population.repairs)),
        repair_seconds=generation.repair_seconds,
        simulator_seconds=sum(call.seconds for call in calls.values())
        if generation.call_seconds is None
        else generation.call_seconds,
        strategy_seconds=strategy_seconds,
        eigenvalues=() if generation.population.proposed else tuple(eigenvalues.tolist()),
        deviation=0.0 if noisy is None else noisy.deviation,
        level=generation.level,
    )


def _condition(eigenvalues: Floats) -> float:
    """Return the ratio of the longest and the shortest axis, squared; 1 without real variables."""
    if not len(eigenvalues):
        return 1.0
    return float(eigenvalues[-1] / max(eigenvalues[0], np.finfo(float).tiny))


def _provenance(run: Account) -> dict[str, Any]:
    options = {k: v for k, v in vars(run.options).items() if k != "callback"}
    return {
        **versions(),
        "seed": run.seed,
        "restarts_used": run.n_restarts,
        "options": options,
        "settings": asdict(run.settings),
    }
