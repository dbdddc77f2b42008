"""`diagnose`: bring the parts of a diagnosis together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import numpy as np

from archeng.blas import one_thread
from archeng.checks import integer
from archeng.diagnose import findings
from archeng.diagnose.conflict import Core, find_core, find_cores
from archeng.diagnose.designs import LAST_SEARCHES, DesignSearch, feasible_share
from archeng.diagnose.diagnosis import Conflict, Diagnosis
from archeng.diagnose.discrete import at_levels, list_texts
from archeng.diagnose.equations import Equations, compiled_form, equations_of
from archeng.diagnose.explain import explained
from archeng.diagnose.intervals import inner_box
from archeng.diagnose.large import examine_large, is_large
from archeng.diagnose.limits import LimitKind, LimitSystem, system_of
from archeng.diagnose.loops import with_structure
from archeng.diagnose.oracle import Oracle
from archeng.diagnose.structure import structure_of
from archeng.errors import ModelError
from archeng.model import Model, as_model, check_import_options
from archeng.model.variable import Floats

_DESIGNS = 24  # feasible designs that are looked for
_CONFLICTS = 4  # independent conflicts that are named
_SCALING_POINTS = 64  # points at which slopes are looked at
_HAIR = 1e-6  # how much tighter limits are made to see which leave no room, in their size


def diagnose(
    model: Any, *, seed: int = 0, samples: int = 2000, **import_arguments: Any
) -> Diagnosis:
    """Examine the explicit constraints of a model without a single simulation.

    Parameters
    ----------
    model : Model, casadi.Opti, nlp dictionary, Pyomo model or path of an .nl file
    seed : int
        Same seed, same diagnosis.
    samples : int
        Points of the box that are looked at.
    **import_arguments
        For the importer of ``model``, as in :func:`archeng.solve`.

    Returns
    -------
    Diagnosis
        A feasible design, or a minimal set of conflicting constraints with the smallest changes
        that would remove the conflict; degrees of freedom; rows that are redundant, always at
        their limit, undefined or badly scaled; variables that nothing limits; how large the
        feasible set is and in how many pieces.

    Raises
    ------
    ModelError
        The model has no variables, or cannot be imported.

    Examples
    --------
    >>> import archeng
    >>> model = archeng.Model("shelf")
    >>> width = model.variable("width", lower=0.2, upper=1)
    >>> model.subject_to(3 * width >= 4, name="books")
    >>> archeng.diagnose(model).conflict.names
    ('books', 'width <= 1 (bound)')
    """
    seed, samples = integer("seed", seed, 0), integer("samples", samples, 100)
    check_import_options("diagnose()", import_arguments, ("seed", "samples"))
    return _examine(as_model(model, objective=False, **import_arguments), seed, samples)


@np.errstate(over="ignore", invalid="ignore")  # bounds of 1e308
@one_thread
def _examine(model: Model, seed: int, samples: int) -> Diagnosis:
    if not model.variables:
        raise ModelError(f"Model {model.name!r} has no variables; add some with model.variable().")
    equations = equations_of(model)
    if not any(variable.domain.is_discrete for variable in model.variables):
        if is_large(model):
            return _examine_large(model, equations, seed, samples)
        return _examine_real(model, equations, seed, samples)[0]
    real = _examine_real(model.relaxed(), equations, seed, samples, list_texts(model))
    diagnosis = at_levels(model, *real, np.random.default_rng(seed))
    return replace(
        diagnosis, structure=structure_of(equations, model.independents, compiled_form(model))
    )


def _examine_large(model: Model, equations: Equations, seed: int, samples: int) -> Diagnosis:
    def part(rows: Model) -> Diagnosis:
        own = equations_of(rows)
        return _examine_real(rows, own, seed, samples)[0]

    return examine_large(model, equations, seed, part)


def _examine_real(
    model: Model,
    equations: Equations,
    seed: int,
    samples: int,
    lists: Mapping[int, str] = MappingProxyType({}),
) -> tuple[Diagnosis, Oracle]:
    """Examine a model of real variables; the bounds of some are ends of lists."""
    rng = np.random.default_rng(seed)
    system = system_of(model, rng, lists)
    box = inner_box(system)
    if box is not None:
        system = system.focused(*box, rng)
    sampled = system.sample(samples, rng)
    edges = system.sample_edges(samples // 4, rng)
    points = np.vstack((system.sample_inside(samples // 2, rng), sampled, edges))
    oracle = Oracle(system, points, rng)
    compiled = compiled_form(model)
    search = None if compiled is None else DesignSearch(system, compiled)
    designs = _only_point(oracle) if search is None else search.designs(oracle, _DESIGNS, rng)
    cores: list[Core] = []
    if len(designs) == 0:
        cores = find_cores(oracle, _CONFLICTS)
        if search is not None and not any(core.certain for core in cores):
            oracle.attempts += LAST_SEARCHES
            designs = search.last_resort(_DESIGNS, rng)
    followed = set[int]() if search is None else search.followed
    common: dict[str, Any] = {
        "name": system.name,
        "equalities": sum(quantity.equality for quantity in system.quantities),
        "attempts": oracle.attempts,
        "badly_scaled": tuple(findings.badly_scaled(system, sampled[:_SCALING_POINTS])),
        "undefined": tuple(findings.undefined(system, sampled, edges)),
        "unlimited": tuple(findings.unlimited(oracle, designs, followed)),
        "notes": () if compiled is None else compiled.notes,
        "structure": structure_of(equations, model.independents, compiled),
    }
    if len(designs) == 0:
        found = _infeasible(oracle, cores, common)
        given = equations.given(model.independents)
        conflicts = (with_structure(c, given, system) for c in found.conflicts)
        return replace(found, conflicts=tuple(conflicts)), oracle
    common["share"] = feasible_share(system, samples, rng)
    return _feasible(oracle, search, designs, common), oracle


def _only_point(oracle: Oracle) -> Floats:
    """Return the only point of a model in which nothing is free (1, n), or none (0, n)."""
    system = oracle.system
    point = oracle.ask(system.everything, 1).point
    if point is None or np.any(system.excess(point[None, :]) > 0):
        return np.zeros((0, system.n))
    return point[None, :]


def _infeasible(oracle: Oracle, cores: list[Core], common: dict[str, Any]) -> Diagnosis:
    system = oracle.system
    conflicts = [explained(oracle, core) for core in cores] or [_no_room(oracle)]
    least = oracle.least_excess()[0][None, :]
    dependent = list(findings.dependent(system, least, range(system.n)))
    return Diagnosis(
        feasible=False,
        design=None,
        proof=next((core.certain for core in cores if core.certain), ""),
        conflicts=tuple(conflicts),
        free_variables=system.n,
        independent_equalities=common["equalities"] - len(dependent),
        degrees_of_freedom=None,
        **common,
    )


def _no_room(oracle: Oracle) -> Conflict:
    """Constraints that hold together only to within rounding errors.

    With all limits a little tighter they are in conflict, or an equality is the culprit whose
    tolerance is below the rounding errors.
    """
    other = Oracle(_tighter(oracle.system), oracle.first_points, np.random.default_rng(0))
    core = find_core(other, other.system.everything)
    if core is None:
        excess = oracle.least_excess()[1]
        core = Core(tuple(np.flatnonzero(excess > 0).tolist()), (), {}, "")
    conflict = explained(oracle, replace(core, proof="", certain=""))
    note = "leaves no room: it holds with the others only to within rounding errors"
    return replace(conflict, members=tuple(replace(m, note=note) for m in conflict.members))


def _tighter(system: LimitSystem) -> LimitSystem:
    """Return the system with the limits of inequalities and bounds a hair tighter."""
    stays = system.equality | system.of_kind(LimitKind.SIGN)
    steps = system.side * np.where(stays, 0.0, _HAIR) * system.size[system.quantity]
    limits = (
        replace(limit, value=limit.value - step)
        for limit, step in zip(system.limits, steps.tolist(), strict=True)
    )
    return replace(system, limits=tuple(limits))


def _feasible(
    oracle: Oracle, search: DesignSearch | None, designs: Floats, common: dict[str, Any]
) -> Diagnosis:
    free = [] if search is None else search.places
    system = oracle.system
    fixed_too = list(findings.dependent(system, designs, free))
    dependent = tuple(findings.dependent(system, designs, range(system.n)))
    independent = common["equalities"] - len(fixed_too)
    if search is not None:
        common["regions"], common["all_regions_tried"] = search.regions(designs)
        common["redundant"] = tuple(findings.redundant(oracle, designs))
        common["always_active"] = tuple(findings.always_active(oracle, designs, search.implied))
    return Diagnosis(
        feasible=True,
        design=system.by_name(designs[0]),
        proof="",
        conflicts=(),
        free_variables=len(free),
        independent_equalities=independent,
        degrees_of_freedom=len(free) - independent,
        dependent=dependent,
        **common,
    )
