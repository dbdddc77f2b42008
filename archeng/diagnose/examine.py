"""`diagnose`: bring the parts of a diagnosis together."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from archeng.blas import one_thread
from archeng.checks import integer
from archeng.diagnose.build import system_of
from archeng.diagnose.conflict import Core, find_core, find_cores
from archeng.diagnose.contract import inner_box
from archeng.diagnose.designs import LAST_SEARCHES, Search, find_designs, last_resort
from archeng.diagnose.diagnosis import Conflict, Diagnosis, Finding, Region
from archeng.diagnose.naming import finding, finding_at, named_conflict
from archeng.diagnose.oracle import Oracle
from archeng.diagnose.redundancy import always_active, redundant
from archeng.diagnose.regions import feasible_share, pieces
from archeng.diagnose.scaling import badly_scaled, undefined
from archeng.diagnose.structure import freedom, unlimited
from archeng.diagnose.system import Kind, System
from archeng.errors import ModelError
from archeng.model import FeasibleSet, Model, as_model, check_import_options, compile_model
from archeng.model.variable import Floats

_DESIGNS = 24
_CONFLICTS = 4
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
    rng = np.random.default_rng(seed)
    system = system_of(model, rng)
    box = inner_box(system)
    if box is not None:
        system = system.focused(*box, rng)
    sampled = system.sample(samples, rng)
    edges = system.sample_edges(samples // 4, rng)
    known = np.vstack((system.sample_inside(samples // 2, rng), sampled, edges))
    oracle = Oracle(system, known, rng)
    compiled = _compiled(model)
    search = None if compiled is None else Search.of(system, compiled)
    designs = _single(oracle) if search is None else find_designs(oracle, search, _DESIGNS, rng)
    cores: list[Core] = []
    if len(designs) == 0:
        cores = find_cores(oracle, _CONFLICTS)
        if search is not None and not any(core.certain for core in cores):
            oracle.attempts += LAST_SEARCHES
            designs = last_resort(search, _DESIGNS, rng)
    about_rows = {
        "attempts": oracle.attempts,
        "badly_scaled": _scaled(system, sampled),
        "undefined": _gaps(system, sampled, edges),
        "unlimited": _unlimited(oracle, designs),
        "notes": () if compiled is None else compiled.notes,
    }
    if len(designs) == 0:
        return _infeasible(oracle, cores, about_rows)
    return _feasible(oracle, search, designs, about_rows, samples, rng)


def _compiled(model: Model) -> FeasibleSet | None:
    """Compile; None if that finds a contradiction, or nothing that is free."""
    try:
        return compile_model(model)
    except ModelError:
        return None


def _single(oracle: Oracle) -> Floats:
    """Return the only point of a model in which nothing is free (1, n), or none (0, n)."""
    point = oracle.ask(oracle.everything, 1).point
    if point is None or np.any(oracle.system.excess(point[None, :]) > 0):
        return np.zeros((0, oracle.system.n))
    return point[None, :]


def _infeasible(oracle: Oracle, cores: list[Core], about_rows: dict[str, Any]) -> Diagnosis:
    system = oracle.system
    conflicts = [named_conflict(oracle, core) for core in cores] or [_no_room(oracle)]
    counted = freedom(system, oracle.least_excess(oracle.everything)[0], range(system.n))
    return Diagnosis(
        name=system.name,
        feasible=False,
        design=None,
        proof=next((core.certain for core in cores if core.certain), ""),
        conflicts=tuple(conflicts),
        free_variables=system.n,
        equalities=counted.equalities,
        independent_equalities=counted.independent,
        degrees_of_freedom=None,
        **about_rows,
    )


def _no_room(oracle: Oracle) -> Conflict:
    """Constraints that hold together only to within rounding errors.

    With all limits a little tighter they are in conflict, or an equality is the culprit whose
    tolerance is below the rounding errors.
    """
    system = oracle.system
    step = [
        0.0 if limit.kind is Kind.SIGN or system.quantities[limit.quantity].equality else _HAIR
        for limit in system.limits
    ]
    tighter = tuple(
        dataclasses.replace(k, value=k.value - k.side * by * float(system.size[k.quantity]))
        for k, by in zip(system.limits, step, strict=True)
    )
    other = Oracle(
        dataclasses.replace(system, limits=tighter), oracle.first_points, np.random.default_rng(0)
    )
    core = find_core(other, other.everything)
    if not isinstance(core, Core):
        excess = oracle.least_excess(oracle.everything)[1]
        core = Core(tuple(int(k) for k in np.flatnonzero(excess > 0)), (), {}, "")
    conflict = named_conflict(oracle, dataclasses.replace(core, proof="", certain=""))
    note = "leaves no room: it holds with the others only to within rounding errors"
    members = tuple(dataclasses.replace(m, note=note) for m in conflict.members)
    return dataclasses.replace(conflict, members=members)


def _feasible(
    oracle: Oracle,
    search: Search | None,
    designs: Floats,
    about_rows: dict[str, Any],
    samples: int,
    rng: np.random.Generator,
) -> Diagnosis:
    system = oracle.system
    counted = freedom(system, designs[0], [] if search is None else search.places)
    regions, all_tried = _regions(search, designs)
    idle = [] if search is None else redundant(oracle, designs)
    active = [] if search is None else always_active(oracle, designs)
    return Diagnosis(
        name=system.name,
        feasible=True,
        design=_by_name(system, designs[0]),
        proof="",
        conflicts=(),
        free_variables=counted.variables,
        equalities=counted.equalities,
        independent_equalities=counted.independent,
        degrees_of_freedom=counted.degrees,
        dependent=tuple(
            finding(system, j, "follows from the other equalities, or contradicts them")
            for j in counted.dependent
        ),
        redundant=tuple(finding_at(system, k, why, proved) for k, why, proved in idle),
        always_active=_at_their_limit(system, search, active),
        share=feasible_share(system, samples, rng),
        regions=regions,
        all_regions_tried=all_tried,
        **about_rows,
    )


def _at_their_limit(
    system: System, search: Search | None, active: list[tuple[int, bool]]
) -> tuple[Finding, ...]:
    """Limits that every design reaches, and those that a run takes for equalities."""
    rows = () if search is None else search.repairer.feasible_set.rows
    implied = {row.name for row in rows if row.implied}
    proved = dict(active)
    found = []
    for k, limit in enumerate(system.limits):
        equal = limit.quantity < system.m and system.quantities[limit.quantity].name in implied
        text = "every design is at this limit: in effect an equality"
        if equal:
            text += ", and a run takes it for one, with a tolerance"
        if equal or k in proved:
            found.append(finding_at(system, k, text, equal or proved[k]))
    return tuple(found)


def _by_name(system: System, point: Floats) -> dict[str, float]:
    return {name: float(v) for name, v in zip(system.names, point, strict=True)}


def _regions(search: Search | None, designs: Floats) -> tuple[tuple[Region, ...], bool]:
    if search is None:
        return (), True
    system = search.system
    groups, all_tried = pieces(search.repairer, search.wide, designs[:, search.places])
    found = []
    for group in groups:
        low, high = designs[group].min(axis=0), designs[group].max(axis=0)
        ranges = {n: (float(a), float(b)) for n, a, b in zip(system.names, low, high, strict=True)}
        found.append(Region(len(group), _by_name(system, designs[group[0]]), ranges))
    return tuple(found), all_tried


def _scaled(system: System, sampled: Floats) -> tuple[Finding, ...]:
    return tuple(finding(system, j, text) for j, text in badly_scaled(system, sampled[:64]))


def _gaps(system: System, sampled: Floats, edges: Floats) -> tuple[Finding, ...]:
    found = []
    for gap in undefined(system, sampled, edges):
        where = ", ".join(
            f"{system.names[i]} = {gap.point[i]:.4g}"
            for i in system.quantities[gap.row].variables[:4]
        )
        share = f"in {100 * gap.share:.3g} % of the box, " if gap.share else "in places, "
        found.append(finding(system, gap.row, f"{gap.why}, {share}for instance near {where}"))
    return tuple(found)


def _unlimited(oracle: Oracle, designs: Floats) -> tuple[Finding, ...]:
    system = oracle.system
    found: dict[int, list[str]] = {}
    for i, side, occurs in unlimited(oracle, designs):
        way = "above" if side > 0 else "below"
        how = "the rows in which it occurs let it run away" if occurs else "it occurs in no row"
        found.setdefault(i, []).append(f"no limit {way} ({how})")
    return tuple(
        finding(system, system.m + i, "; ".join(texts), proved="run away" not in texts[0])
        for i, texts in found.items()
    )
