"""What is simulated beside the next design of a local search, and what all of it says.

Where several calls are made at a time, the next step is not alone. Its companions are the best
steps within other radii, so that the radius need not be found one call after the other; designs in
directions that the models do not know; and designs around the end of the step, where the next
models have to be right. At the end of a search, only the designs that the evidence lacks.
Of all results the best one is judged as if it had been the step.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from archeng.distribution import Floats
from archeng.outcomes import Outcomes, PastCalls
from archeng.surrogate import constants as c
from archeng.surrogate.local import FINE, LocalSearch, LocalState, LocalView, Trial, TrialKind


def with_companions(
    search: LocalSearch, local: LocalState, past: PastCalls, count: int
) -> LocalState:
    """Return the state with at most so many further trials beside the next one."""
    if local.trial is None or count < 1:
        return replace(local, others=())
    view = search.view(local, past)
    made: list[Trial] = [local.trial]
    closing = local.trial.kind is TrialKind.GEOMETRY and local.resolution < FINE
    for factor in () if closing else c.COMPANION_RADII:
        if len(made) <= count:
            _add(made, search.step_within(local, _with(view, made), factor * local.radius))
    while len(made) <= count:
        scale = local.resolution if closing else local.radius
        design = search.missing(view, scale, [trial.design for trial in made])
        if design is None:
            break
        made.append(Trial(TrialKind.GEOMETRY, design))
    rng = np.random.default_rng((c.CLAIM_SEED, len(past)))
    for _ in range(c.COMPANION_TRIES * count):
        if len(made) > count or closing:
            break
        _add(made, _around(search, local, _with(view, made), rng))
    return replace(local, others=tuple(made[1:]))


def judged_together(search: LocalSearch, local: LocalState, outcomes: Outcomes) -> LocalState:
    """Return the state after trial and companions were simulated; NaN where that failed.

    The best one counts; if none is better, the shortest step.
    """
    trials = (local.trial, *local.others)[: len(outcomes.objectives)]
    gains = [
        search.gain(local, float(outcomes.objectives[k]), outcomes.simulated[k])
        for k in range(len(trials))
    ]
    k = int(np.argmax(gains))
    steps = [j for j, t in enumerate(trials) if t is not None and t.kind is TrialKind.STEP]
    if not gains[k] > 0:
        k = min(steps, key=lambda j: _radius(local, trials[j])) if steps else 0
    trial = trials[k]
    radius = local.radius
    if trial is not None and trial.kind is TrialKind.STEP:
        radius = _radius(local, trial)
    return search.judged(
        replace(local, trial=trial, others=(), radius=radius),
        float(outcomes.objectives[k]),
        outcomes.simulated[k],
    )


def _radius(local: LocalState, trial: Trial | None) -> float:
    """Return the radius of a step; that of the search if it is the first one."""
    return local.radius if trial is None or trial.radius == 0 else trial.radius


def _with(view: LocalView, made: list[Trial]) -> LocalView:
    """Return the view with the last of the designs that are on their way."""
    past = view.past
    for trial in made:
        past = past.and_pending(trial.design)
    return view._replace(past=past)


def _add(made: list[Trial], trial: Trial | None) -> None:
    if trial is not None:
        made.append(trial)


def _around(
    search: LocalSearch, local: LocalState, view: LocalView, rng: np.random.Generator
) -> Trial | None:
    """Return a design around the end of the step, or around the centre if there is no step."""
    trial = local.trial
    assert trial is not None
    n = len(local.centre)
    end: Floats = view.frame.coordinates(trial.design)
    length = float(np.linalg.norm(end)) if trial.kind is TrialKind.STEP else local.radius
    if trial.kind is not TrialKind.STEP:
        end = np.zeros(n)
    u = rng.standard_normal(n)
    u *= c.COMPANION_SPREAD * length / np.linalg.norm(u)
    x = search.repaired(view.frame, view.frame.design(end + u))
    if x is None or not search.is_new(view, x):
        return None
    return Trial(TrialKind.GEOMETRY, x)
