"""`Diagnosis`: what is known about a model before its first simulation."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from archeng.diagnose.regions import Share
from archeng.diagnose.relaxation import Change
from archeng.diagnose.text import report

__all__ = ["Change", "Conflict", "Diagnosis", "Finding", "Member", "Region", "Share"]


@dataclass(frozen=True)
class Member:
    """A row or bound that takes part in a conflict.

    Attributes
    ----------
    name : str
        Of the row, or of the variable for a bound.
    demand : str
        What it asks for, such as ``<= 250`` or ``== 3 +- 1e-06``.
    kind : {"row", "bound"}
    source : str
        Where the row was written.
    change : Change or None
        Its part in the smallest change of all members together; None if it may stay.
    alone : Change or None
        The change that is enough if all others stay; None if none was found.
    witness : dict or None
        A point at which all other members hold (to 1e-8 of what a row changes over the box):
        without this one there is no conflict. What is no member need not hold there.
    note : str
        More about it: that the row is undefined where the others hold, or to check its units.
    """

    name: str
    demand: str
    kind: str
    source: str
    change: Change | None
    alone: Change | None
    witness: Mapping[str, float] | None
    note: str = ""

    @property
    def label(self) -> str:
        """How it is spoken of, such as ``volume`` or ``x >= 2 (bound)``."""
        return self.name if self.kind == "row" else f"{self.name} {self.demand} (bound)"


@dataclass(frozen=True)
class Conflict:
    """Constraints that cannot hold together although they could if any of them were dropped.

    Attributes
    ----------
    members : tuple of Member
    assumed : tuple of str
        Signs and fixed values of variables that were taken for granted.
    proof : str
        "linear program" or "interval arithmetic" if it is certain; empty if a search from many
        starts found no point at which the members hold together.
    minimal : bool
        Whether each member has a witness.
    """

    members: tuple[Member, ...]
    assumed: tuple[str, ...]
    proof: str
    minimal: bool

    @property
    def names(self) -> tuple[str, ...]:
        """Labels of the members."""
        return tuple(m.label for m in self.members)

    @property
    def rows(self) -> tuple[str, ...]:
        """Names of the member rows, without bounds."""
        return tuple(m.name for m in self.members if m.kind == "row")


@dataclass(frozen=True)
class Finding:
    """Something worth knowing about a row or a variable; ``proved`` or only sampled."""

    name: str
    text: str
    source: str = ""
    proved: bool = True


@dataclass(frozen=True)
class Region:
    """A piece of the feasible set that sampling found.

    Attributes
    ----------
    points : int
        Feasible designs found in it.
    design : dict
        One of them.
    ranges : dict
        Smallest and largest value that was found of each variable.
    """

    points: int
    design: Mapping[str, float]
    ranges: Mapping[str, tuple[float, float]]


@dataclass(frozen=True)
class Diagnosis:
    """What is known about a model. ``print`` it, or use the fields.

    Attributes
    ----------
    name : str
    feasible : bool
        Whether a feasible design was found.
    design : dict or None
        A feasible design, by name.
    proof : str
        If no design exists for certain: what proves it. Empty otherwise.
    attempts : int
        Searches from different starts.
    conflicts : tuple of Conflict
        Minimal conflicts that share no member; empty if feasible.
    free_variables, equalities, independent_equalities : int
    degrees_of_freedom : int or None
        Free variables less independent equalities; None if no design was found.
    dependent : tuple of Finding
        Equalities that depend on others.
    redundant, always_active, badly_scaled, undefined, unlimited : tuple of Finding
    share : Share or None
        Estimated share of the box that is feasible; None without a finite box, or if infeasible.
    regions : tuple of Region
        Pieces of the feasible set, the one with most designs first; one if it is connected.
    all_regions_tried : bool
        False if there were too many pieces to tell them all apart.
    notes : tuple of str
        What compiling changed.
    """

    name: str
    feasible: bool
    design: Mapping[str, float] | None
    proof: str
    attempts: int
    conflicts: tuple[Conflict, ...]
    free_variables: int
    equalities: int
    independent_equalities: int
    degrees_of_freedom: int | None
    dependent: tuple[Finding, ...] = ()
    redundant: tuple[Finding, ...] = ()
    always_active: tuple[Finding, ...] = ()
    badly_scaled: tuple[Finding, ...] = ()
    undefined: tuple[Finding, ...] = ()
    unlimited: tuple[Finding, ...] = ()
    share: Share | None = None
    regions: tuple[Region, ...] = ()
    all_regions_tried: bool = True
    notes: tuple[str, ...] = ()

    @property
    def conflict(self) -> Conflict | None:
        """The first conflict, or None."""
        return self.conflicts[0] if self.conflicts else None

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON; numbers that are not finite become None."""
        plain = _plain(asdict(self))
        assert isinstance(plain, dict)
        for conflict, mine in zip(plain["conflicts"], self.conflicts, strict=True):
            for member, own in zip(conflict["members"], mine.members, strict=True):
                member["label"] = own.label
        return plain

    def __str__(self) -> str:
        return report(self)


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(v) for v in value]
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    return value
