"""One seed of the case study, and what is kept of it."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import archeng
from case_studies.shared.forms import Form
from case_studies.shared.seeds import SeedRecord, improvements
from case_studies.truss.cases import CASES
from case_studies.truss.model import build_model
from case_studies.truss.rules import broken_rules
from case_studies.truss.simulator import build_simulator

RESTARTS = 1000  # as many as the calls allow


@dataclass(frozen=True, kw_only=True)
class Record(SeedRecord):
    """What came of one seed; the objective is the least mass of a design within all limits.

    Attributes
    ----------
    mass : float
        Of the best design, in lb.
    holds : bool
        Whether all simulated constraints hold there.
    calls, failed, illegal : int
        Runs of the program, those that it could not answer, and those at designs that the referee
        of :mod:`case_studies.truss.rules` finds illegal.
    restarts : int
    seconds, program_seconds : float
    stopped : str
    x : list of float
        The best design.
    stresses : list of float
        In its bars, in ksi.
    outputs : dict
    """

    mass: float
    holds: bool
    calls: int
    failed: int
    illegal: int
    restarts: int
    seconds: float
    program_seconds: float
    stopped: str
    x: list[float]
    stresses: list[float]
    outputs: dict[str, float]


def run_seed(
    name: str,
    seed: int,
    calls: int,
    *,
    form: Form = "grey",
    workers: int = 1,
    callback: Callable[[archeng.Run], None] | None = None,
) -> Record:
    """Search with one seed. Several workers are threads: each call is a process anyway.

    Raises
    ------
    KeyboardInterrupt
        The run was interrupted; what it had found is no record.
    """
    begin = time.perf_counter()
    result = archeng.solve(
        build_model(name, form),
        build_simulator(name, form, keep="none"),
        simulated=CASES[name].limits if form == "black" else None,
        max_evaluations=calls,
        seed=seed,
        restarts=RESTARTS,
        workers=f"threads:{workers}" if workers > 1 else None,
        parallel=1,
        callback=callback,
    )
    if result.stop_reason is archeng.StopReason.INTERRUPTED:
        raise KeyboardInterrupt
    values = {s.name: s.value for s in result.simulated}
    bars = range(1, len(CASES[name].bars) + 1)
    return Record(
        seed=seed,
        mass=result.fun,
        holds=all(s.holds for s in result.simulated),
        calls=result.nfev,
        failed=sum(not e.good for e in result.evaluations),
        illegal=sum(bool(broken_rules(name, e.x)) for e in result.evaluations),
        restarts=result.history[-1].restart,
        seconds=time.perf_counter() - begin,
        program_seconds=sum(e.seconds for e in result.evaluations),
        stopped=result.message,
        x=result.x.tolist(),
        stresses=[values[f"stress in bar {b} (ksi)"] for b in bars],
        outputs={name: v for name, v in result.outputs.items() if isinstance(v, float)},
        curve=improvements((e.objective, e.acceptable) for e in result.evaluations),
    )
