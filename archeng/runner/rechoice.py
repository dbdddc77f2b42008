"""Other independent variables, where the equations have become nearly singular for the old ones.

The search goes on with the same distribution in new coordinates, to first order: with slopes P of
the new independents by the old ones, N(m, S) becomes N(m', P S P^T) around the best design. Where
slopes are steep that reaches too far: no deviation becomes larger than at the beginning of a run.
"""

from __future__ import annotations

import logging
from dataclasses import replace

import numpy as np

from archeng.distribution import distribution_from_covariance
from archeng.model import FeasibleSet, compile_model, rechosen
from archeng.runner.assemble import make_search
from archeng.runner.flow import Flow
from archeng.runner.options import start_distribution
from archeng.runner.restarting import RestartingSearch
from archeng.runner.setup import Setup
from archeng.runner.state import RunState
from archeng.runner.team import RepairTeam

logger = logging.getLogger("archeng")


def changed_search(
    setup: Setup, state: RunState
) -> tuple[Setup, FeasibleSet, RunState, RestartingSearch, RepairTeam] | None:
    """Return set-up, set, state, search and team in other independents, if they ask for it."""
    changed = None if state.stop_reason is not None else _changed_setup(setup)
    if changed is None:
        return None
    return changed, changed.feasible_set, *_carried(state, setup.feasible_set, changed)


def _changed_setup(setup: Setup) -> Setup | None:
    """Return the set-up with other independents, if the present ones serve badly; else None."""
    fs = setup.feasible_set
    if fs.dependents is None or fs.whole is None:
        return None
    choice = rechosen(fs.whole, fs.dependents)
    if choice is None:
        return None
    new = compile_model(setup.model, choice=choice)
    if new.dependents is None or new.dependents.start is None:
        return None
    gone = [name for name in fs.free_names if name not in new.free_names]
    come = [name for name in new.free_names if name not in fs.free_names]
    logger.info(
        "the equations are nearly singular for %s as independent; now it is %s",
        ", ".join(gone),
        ", ".join(come),
    )
    wide = start_distribution(setup.model, new, None)
    return replace(setup, feasible_set=new, wide=wide)


def _carried(
    state: RunState, old: FeasibleSet, setup: Setup
) -> tuple[RunState, RestartingSearch, RepairTeam]:
    """Return state, search and team in the independents of a changed set-up."""
    new = setup.feasible_set
    search, team = make_search(setup)
    assert old.dependents is not None
    assert old.dependents.start is not None
    assert new.dependents is not None
    before = old.dependents.start
    P = before.slopes[new.dependents.split.independent]
    factor = P @ state.search.distribution.scaled_factor
    most, found = (np.sqrt(np.sum(f**2, axis=1)) for f in (setup.wide.scaled_factor, factor))
    factor *= np.minimum(1.0, most / found)[:, None]
    point = before.x[new.dependents.split.independent]
    restarts, size = state.restarts, state.restarts.regime.population_size
    full = [old.expand(p) for p in restarts.points]
    points = tuple(new.reduce(x) for x in full if np.all(np.isfinite(x)))
    opened = search.opened(distribution_from_covariance(point, factor @ factor.T), point, size)
    levels = state.levels
    if levels is not None:
        levels = replace(levels, start=new.reduce(old.expand(levels.start)))
    state = replace(
        state,
        search=opened,
        restarts=replace(restarts, points=points),
        choice=new.choice,
        anchor=None,
        levels=levels,
        flow=None if state.flow is None else Flow(made=state.flow.made),
    )
    return state, search, team
