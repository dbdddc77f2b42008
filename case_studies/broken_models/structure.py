"""Twenty models whose equations do not match their variables, or have no solution as a loop."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from archeng.diagnose import Diagnosis
from archeng.model import Model

MISSING, SURPLUS, LOOP = "missing", "too many", "loop"


@dataclass(frozen=True, eq=False)
class Structural:
    """A model of a plant with a mistake in the structure of its equations.

    Attributes
    ----------
    kind : str
        ``missing`` (an equation), ``too many`` (of them), or ``loop`` (without a solution).
    mistake : str
        What was done to the healthy model.
    pyomo : bool
        Whether it is written in Pyomo.
    build : callable
        ``build(True)`` returns the broken model, ``build(False)`` the healthy one.
    planted : frozenset of str
        What must be named: the variable whose equation is missing, the equations of which one is
        too many, or those of the loop.
    partners : frozenset of str
        Further equations, variables and bounds that may be named, because structure cannot tell
        them from those, or because there would be no conflict without them.
    """

    kind: str
    mistake: str
    pyomo: bool
    build: Callable[[bool], Model]
    planted: frozenset[str]
    partners: frozenset[str] = frozenset()


class StructuralVerdict(NamedTuple):
    """How a diagnosis compares with what was planted.

    ``missing`` are planted names that it lacks, ``innocent`` ones that it should not have;
    ``names`` is how many it has in all. ``right`` also says that it calls the mistake what it is.
    """

    missing: tuple[str, ...]
    innocent: tuple[str, ...]
    names: int
    right: bool


def judge_structure(model: Structural, diagnosis: Diagnosis) -> StructuralVerdict:
    """Compare what a diagnosis names with what was planted."""
    named = _named(model.kind, diagnosis)
    missing = tuple(sorted(model.planted - named))
    innocent = tuple(sorted(named - model.planted - model.partners))
    called = _called(diagnosis)
    right = not missing and not innocent and called == {model.kind}
    return StructuralVerdict(missing, innocent, len(named), right)


def _named(kind: str, diagnosis: Diagnosis) -> set[str]:
    """Return every name that the diagnosis says something about the structure of."""
    structure = diagnosis.structure
    names: set[str] = set()
    for mismatch in () if structure is None else structure.mismatches:
        names.update(mismatch.equations)
        if kind == MISSING:
            names.update(mismatch.variables)
    for finding in diagnosis.dependent:
        names.update((finding.name, *finding.others))
    for conflict in diagnosis.conflicts:
        names.update(conflict.names)
        names.update(() if conflict.loop is None else conflict.loop.equations)
    return names


def _called(diagnosis: Diagnosis) -> set[str]:
    """Return the kinds of mistakes that the diagnosis speaks of."""
    structure = diagnosis.structure
    kinds = set() if structure is None else {m.kind for m in structure.mismatches}
    called = {MISSING} if "not determined" in kinds else set()
    if "too many equations" in kinds or diagnosis.dependent:
        called.add(SURPLUS)
    for conflict in diagnosis.conflicts:
        if "too many" in conflict.note:
            called.add(SURPLUS)
        elif conflict.loop is not None:
            called.add(LOOP)
        else:
            called.add("conflict")
    return called
