"""The diagnosis of a model with discrete variables, from that of the model with real ones."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from archeng.diagnose.diagnosis import Diagnosis
from archeng.diagnose.equations import compiled_model
from archeng.diagnose.integrality import (
    FIRST,
    design_by_name,
    discrete_conflict,
    find_discrete_core,
    unusable_levels,
    values_text,
)
from archeng.diagnose.level_tree import LevelTree, TreeAnswer
from archeng.diagnose.limits import LimitSystem
from archeng.diagnose.oracle import Oracle
from archeng.distribution import initial_distribution
from archeng.errors import InfeasibleModelError, ModelError
from archeng.model import FeasibleSet, Model
from archeng.model.domain import Domain, Kind
from archeng.model.variable import Floats
from archeng.repair import Repairer, make_repairer
from archeng.sampling import feasible_points
from archeng.settings import Settings

_TRIED = 5  # samples that are repaired before combinations are looked at in order


def at_levels(
    model: Model, relaxed: Diagnosis, oracle: Oracle, rng: np.random.Generator
) -> Diagnosis:
    """Return the diagnosis of a model, given that of its relaxation, in which all are real.

    If there may be a design of the relaxation, one at levels is looked for. If none is found, it
    says which rows and discrete variables are in conflict.
    """
    system = oracle.system
    domains = _domains(model, system)
    relaxed = replace(relaxed, discrete_variables=len(domains))
    if relaxed.design is None and relaxed.proof:
        return relaxed
    levels = {
        i: each
        for i, domain in domains.items()
        if (each := domain.levels_between(system.lower[i], system.upper[i])) is not None
    }
    tree, search = LevelTree(oracle, levels), _search_of(model, system)
    near, answer = list(oracle.first_points[:_TRIED]), TreeAnswer(None)
    if relaxed.design is not None:
        near.insert(0, np.array([relaxed.design[name] for name in system.names]))
    design = search.repaired(near)
    if design is None and relaxed.design is None:
        return relaxed
    if design is None:
        answer = tree.ask(system.everything, sorted(levels), FIRST)
        design = search.by(answer, rng)
    common: dict[str, Any] = {
        "share": None,  # those of the relaxation say nothing about levels
        "regions": (),
        "notes": relaxed.notes if search.fs is None else search.fs.notes,
    }
    if design is not None:
        return replace(
            relaxed,
            feasible=True,
            design=design_by_name(system, design, domains),
            conflicts=(),
            degrees_of_freedom=relaxed.free_variables - relaxed.independent_equalities,
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


def list_texts(model: Model) -> dict[int, str]:
    """Say what is in the lists of scalar variables, by their positions among all of the model."""
    every = [variable.domain for variable in model.variables for _ in range(variable.size)]
    return {
        i: values_text(domain, levels)
        for i, domain in enumerate(every)
        if domain.kind is not Kind.INTEGER
        and (levels := domain.levels_between(*domain.natural_bounds)) is not None
    }


def _domains(model: Model, system: LimitSystem) -> dict[int, Domain]:
    """Return the domains of the discrete variables of a system by their positions in it."""
    every = [variable.domain for variable in model.variables for _ in range(variable.size)]
    return {k: every[i] for k, i in enumerate(system.free) if every[i].is_discrete}


@dataclass(frozen=True, eq=False)
class _Search:
    """Designs that are certified like those of a run; ``fs`` is None if nothing is free."""

    system: LimitSystem
    fs: FeasibleSet | None
    only_point: bool = False  # nothing is free, and that is no contradiction

    @cached_property
    def _repairer(self) -> Repairer:
        assert self.fs is not None
        return make_repairer(self.fs, Settings())

    def repaired(self, points: Iterable[Floats]) -> Floats | None:
        """Return a design (n,) near one of some points (n,) of the system, or None."""
        if self.fs is None:
            return None
        wide = initial_distribution(np.zeros(self.fs.n), self.fs.scale)
        places = [self.system.free.index(int(i)) for i in self.fs.free]
        for point in points:
            repair = self._repairer.repair(point[places], wide)
            if repair.feasible:
                return self._full(repair.x)
        return None

    def by(self, answer: TreeAnswer, rng: np.random.Generator) -> Floats | None:
        """Return a design near the answer of the tree; one of a long search if it is not sure."""
        if answer.point is not None:
            return answer.point if self.only_point else self.repaired([answer.point])
        if answer.proof or self.fs is None:
            return None
        try:
            return self._full(feasible_points(self._repairer, 1, rng)[0])
        except InfeasibleModelError:
            return None

    def _full(self, x: Floats) -> Floats:
        assert self.fs is not None
        return np.asarray(self.fs.expand(x)[list(self.system.free)])


def _search_of(model: Model, system: LimitSystem) -> _Search:
    try:
        fs, _ = compiled_model(model)
    except InfeasibleModelError:
        return _Search(system, None)
    except ModelError:
        return _Search(system, None, only_point=True)
    places = [system.free.index(int(i)) for i in fs.free]
    scale = np.where(np.isnan(fs.scale), system.scale[places], fs.scale)
    start = np.where(np.isnan(fs.start), np.clip(system.center[places], *fs.box()), fs.start)
    return _Search(system, replace(fs, start=start, scale=scale))
