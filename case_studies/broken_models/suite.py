"""The twenty models, twenty of broken structure, and what counts as named."""

from __future__ import annotations

from dataclasses import dataclass

from archeng.diagnose import Diagnosis
from case_studies.broken_models import (
    cycles,
    domains,
    equations,
    pairs,
    structure_loops,
    structure_missing,
    structure_surplus,
    units,
)
from case_studies.broken_models.definition import Broken
from case_studies.broken_models.structure import Structural

MODELS: dict[str, Broken] = {
    **pairs.MODELS,
    **cycles.MODELS,
    **equations.MODELS,
    **units.MODELS,
    **domains.MODELS,
}


STRUCTURAL: dict[str, Structural] = {
    **structure_missing.MODELS,
    **structure_surplus.MODELS,
    **structure_loops.MODELS,
}


@dataclass(frozen=True)
class Verdict:
    """How a diagnosis compares with what was planted.

    Attributes
    ----------
    missing : tuple of str
        Planted and not named.
    innocent : tuple of str
        Named although it has no part in the conflict.
    """

    missing: tuple[str, ...]
    innocent: tuple[str, ...]


def judge(broken: Broken, diagnosis: Diagnosis) -> Verdict:
    """Compare what a diagnosis names with what was planted."""
    named = [label for conflict in diagnosis.conflicts for label in conflict.names]
    allowed = broken.planted | broken.partners
    return Verdict(
        missing=tuple(sorted(broken.planted - set(named))),
        innocent=tuple(label for label in named if label not in allowed),
    )
