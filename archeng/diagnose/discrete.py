"""The diagnosis of a model with discrete variables, from that of the model with real ones."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from archeng.diagnose.diagnosis import Diagnosis
from archeng.diagnose.integrality import (
    FIRST,
    design_by_name,
    discrete_conflict,
    find_discrete_core,
    unusable_levels,
)
from archeng.diagnose.level_tree import LevelTree, TreeAnswer
from archeng.diagnose.limits import LimitSystem
from archeng.diagnose.oracle import Oracle
from archeng.distribution import initial_distribution
from archeng.errors import InfeasibleModelError, ModelError
from archeng.model import FeasibleSet, Model, compile_model
from archeng.model.domain import Domain
from archeng.model.variable import Floats
from archeng.repair import make_repairer
from archeng.sampling import feasible_points
from archeng.settings import Settings


def at_levels(
    model: Model, relaxed: Diagnosis, oracle: Oracle, rng: np.random.Generator
) -> Diagnosis:
    """Return the diagnosis of a model, given that of its relaxation, in which all are real.

    If there is a design of the relaxation, one at levels is looked for. If none is found, it says
    which rows and discrete variables are in conflict.
    """
    system = oracle.system
    domains = _domains(model, system)
    count = len(domains)
    if not relaxed.feasible:
        return replace(relaxed, discrete_variables=count)
    levels = {
        i: each
        for i, domain in domains.items()
        if (each := domain.levels_between(system.lower[i], system.upper[i])) is not None
    }
    tree = LevelTree(oracle, levels)
    answer = tree.ask(system.everything, sorted(levels), FIRST)
    design, compiled = _design(model, system, answer, rng)
    common: dict[str, Any] = {
        "share": None,  # those of the relaxation say nothing about levels
        "regions": (),
        "discrete_variables": count,
        "notes": relaxed.notes if compiled is None else compiled.notes,
    }
    if design is not None:
        return replace(
            relaxed,
            design=design_by_name(system, design, domains),
            unusable=tuple(unusable_levels(system, levels, domains)),
            **common,
        )
    if answer.point is not None:
        answer = TreeAnswer(None)  # it holds there only to within rounding errors
    core = find_discrete_core(tree, answer)
    return replace(
        relaxed,
        feasible=False,
        design=None,
        proof=answer.proof or core.proof,
        conflicts=(discrete_conflict(tree, core, domains),),
        degrees_of_freedom=None,
        redundant=(),
        always_active=(),
        **common,
    )


def _domains(model: Model, system: LimitSystem) -> dict[int, Domain]:
    """Return the domains of the discrete variables of a system by their positions in it."""
    every = [variable.domain for variable in model.variables for _ in range(variable.size)]
    return {k: every[i] for k, i in enumerate(system.free) if every[i].is_discrete}


def _design(
    model: Model, system: LimitSystem, answer: TreeAnswer, rng: np.random.Generator
) -> tuple[Floats | None, FeasibleSet | None]:
    """Return a design (n,) that is certified like those of a run, or None; and the feasible set."""
    try:
        fs = compile_model(model)
    except InfeasibleModelError:
        return None, None
    except ModelError:  # nothing is free
        return answer.point, None
    places = [system.free.index(int(i)) for i in fs.free]
    scale = np.where(np.isnan(fs.scale), system.scale[places], fs.scale)
    start = np.where(np.isnan(fs.start), np.clip(system.center[places], *fs.box()), fs.start)
    fs = replace(fs, start=start, scale=scale)
    repairer, wide = make_repairer(fs, Settings()), initial_distribution(np.zeros(fs.n), scale)
    found: Floats | None = None
    if answer.point is not None:
        repair = repairer.repair(answer.point[places], wide)
        found = repair.x if repair.feasible else None
    if found is None and not answer.proof:
        try:
            found = feasible_points(repairer, 1, rng)[0]
        except InfeasibleModelError:
            return None, fs
    if found is None:
        return None, fs
    return fs.expand(found)[list(system.free)], fs
