"""`Diagnosis`: what can be said about a model before its first simulation, and its text."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, is_dataclass
from typing import Any

from archeng.diagnose.conflict_text import MOST, conflict_text, listed
from archeng.diagnose.structure import Block, Structure
from archeng.diagnose.structure_text import structure_text

_TITLES = {  # findings of a diagnosis in the order of its text
    "unlimited": "variables that nothing limits",
    "dependent": "equalities that depend on others",
    "always_active": "always at their limit",
    "redundant": "redundant",
    "undefined": "undefined in part of the box",
    "badly_scaled": "badly scaled",
    "unusable": "values that no design can take",
}
_WHOLE = 40  # variables of a design up to which all are shown, not the independent ones only
_OF_DISCRETE = ("discrete_variables", "unusable")  # fields that models of real variables lack


@dataclass(frozen=True)
class Change:
    """A limit moved to ``limit``; ``by`` is the distance.

    ``whole`` says whether the whole model is then consistent, not only the conflict.
    """

    limit: float
    by: float
    whole: bool


@dataclass(frozen=True)
class Member:
    """A row, bound or discrete variable that takes part in a conflict.

    Attributes
    ----------
    name : str
        Of the row, or of the variable for a bound.
    demand : str
        What it asks for, such as ``<= 250``, ``== 3 +- 1e-06`` or ``a whole number from 0 to 9``.
    kind : {"row", "bound", "discrete"}
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
        More about it: that the row is undefined where the others hold, or to check its units; of
        a discrete variable, which other values would do.
    """

    name: str
    demand: str
    kind: str
    source: str
    change: Change | None
    alone: Change | None
    witness: Mapping[str, Any] | None
    note: str = ""

    @property
    def label(self) -> str:
        """How it is spoken of, such as ``volume`` or ``x >= 2 (bound)``."""
        if self.kind == "bound":
            return f"{self.name} {self.demand} (bound)"
        return self.name if self.kind == "row" else f"{self.name} (discrete)"


@dataclass(frozen=True)
class Conflict:
    """Constraints that cannot hold together although they could if any of them were dropped.

    Attributes
    ----------
    members : tuple of Member
    assumed : tuple of str
        Signs and fixed values of variables that were taken for granted.
    proof : str
        "linear program", "interval arithmetic", "trying all combinations" or "branch and bound" if
        it is certain; empty if a search from many starts found no point at which the members hold
        together.
    minimal : bool
        Whether each member has a witness.
    note : str
        What the structure of its equations says: that one is too many, or that they are a loop.
    loop : Block or None
        That loop.
    """

    members: tuple[Member, ...]
    assumed: tuple[str, ...]
    proof: str
    minimal: bool
    note: str = ""
    loop: Block | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """Labels of the members."""
        return tuple(m.label for m in self.members)

    @property
    def rows(self) -> tuple[str, ...]:
        """Names of the member rows, without bounds."""
        return tuple(m.name for m in self.members if m.kind == "row")

    @property
    def discrete(self) -> tuple[str, ...]:
        """Names of the discrete variables without which there would be no conflict."""
        return tuple(m.name for m in self.members if m.kind == "discrete")


@dataclass(frozen=True)
class Finding:
    """Something worth knowing about a row or a variable; ``proved`` or only sampled.

    ``others`` names further rows that it is about.
    """

    name: str
    text: str
    source: str = ""
    proved: bool = True
    others: tuple[str, ...] = ()


@dataclass(frozen=True)
class Share:
    """Estimated share of the box that is feasible.

    Attributes
    ----------
    value, low, high : float
        Estimate and a rough 95 % range.
    samples : int
        Points that were looked at.
    inequalities_only : bool
        Whether there are equalities, which have no volume and were left out.
    """

    value: float
    low: float
    high: float
    samples: int
    inequalities_only: bool


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
    discrete_variables : int
        How many of the free variables are discrete. Degrees of freedom and findings about rows are
        those of the model with all variables real.
    unusable : tuple of Finding
        Values of discrete variables that no design can take, by proof.
    structure : Structure or None
        What the equations determine; None without equations.
    left_out : tuple of str
        What was not looked for because the model is large.
    """

    name: str
    feasible: bool
    design: Mapping[str, Any] | None
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
    discrete_variables: int = 0
    unusable: tuple[Finding, ...] = ()
    structure: Structure | None = None
    left_out: tuple[str, ...] = ()

    @property
    def conflict(self) -> Conflict | None:
        """The first conflict, or None."""
        return self.conflicts[0] if self.conflicts else None

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON; numbers that are not finite become None."""
        skipped = () if self.discrete_variables else _OF_DISCRETE
        return {name: _plain(value) for name, value in vars(self).items() if name not in skipped}

    def __str__(self) -> str:
        parts = [structure_text(self.structure, _freedom(self) if self.feasible else "")]
        parts.append(_verdict(self))
        total = len(self.conflicts)
        parts += [conflict_text(c, i, total) for i, c in enumerate(self.conflicts, start=1)]
        parts.append("\n".join((*_share(self), *_regions(self))))
        parts += [_findings(title, getattr(self, name)) for name, title in _TITLES.items()]
        if self.left_out:
            parts.append(f"not looked for in a model of this size: {', '.join(self.left_out)}")
        return "\n\n".join(part for part in parts if part)


def _plain(value: Any) -> Any:
    if is_dataclass(value):
        more = {"label": value.label} if isinstance(value, Member) else {}
        return _plain(vars(value) | more)
    if isinstance(value, Mapping):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(v) for v in value]
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    return value


def _verdict(d: Diagnosis) -> str:
    if d.design is not None:
        s = d.structure
        chosen = () if s is None else (*s.named, *s.chosen)
        shown = [name for name in d.design if name in chosen] if len(d.design) > _WHOLE else []
        shown = shown or list(d.design)
        lines = [f"  {name} = {_value(d.design[name])}" for name in shown]
        rest = len(d.design) - len(shown)
        lines += [f"  and {rest} variables that follow from these"] if rest else []
        return "\n".join(["feasible design: found", *lines])
    if d.proof:
        even = ""
        if d.discrete_variables and not any(c.discrete for c in d.conflicts):
            even = ", even if all variables could be real numbers"
        return f"feasible design: NONE FOUND, and there is none{even} (proved by {d.proof})"
    return (
        f"feasible design: NONE FOUND in {d.attempts} searches from different starts "
        "(which is no proof that there is none)"
    )


def _value(value: Any) -> str:
    return str(value) if isinstance(value, str) else f"{value:.10g}"


def _freedom(d: Diagnosis) -> str:
    dependent = d.equalities - d.independent_equalities
    more = f" ({dependent} of them depend on the others)" if dependent else ""
    return (
        f"degrees of freedom: {d.degrees_of_freedom} = {d.free_variables} free variables - "
        f"{d.independent_equalities} of {d.equalities} equalities{more}"
        + (f"; {d.discrete_variables} of the variables are discrete" * bool(d.discrete_variables))
    )


def _share(d: Diagnosis) -> list[str]:
    s = d.share
    if s is None:
        return []
    which = "is feasible"
    if s.inequalities_only:
        which = "satisfies the inequalities (equalities have no volume)"
    value, low, high = (f"{100 * share:.3g} %" for share in (s.value, s.low, s.high))
    size = f"about {value} ({low} to {high}, {s.samples} samples)"
    if s.value == 0.0:
        size = "too small to be seen by sampling"
    return [f"share of the box that {which}: {size}"]


def _regions(d: Diagnosis) -> list[str]:
    if len(d.regions) <= 1:
        return ["disconnected regions: none found by sampling"] if d.regions else []
    least = "" if d.all_regions_tried else "at least "
    lines = [
        f"disconnected regions: {least}{len(d.regions)} found by sampling (no feasible path "
        "between them was found)"
    ]
    return lines + _first([_region(region, d.regions) for region in d.regions])


def _region(region: Region, regions: Sequence[Region]) -> str:
    """One line: how many designs, and where, in the variables that tell the regions apart."""

    def overlap(name: str) -> float:
        a, b = region.ranges[name]
        shared = [
            max(0.0, min(b, r.ranges[name][1]) - max(a, r.ranges[name][0]))
            for r in regions
            if r is not region
        ]
        return max(shared) / (b - a) if b > a else float(max(shared) > 0)

    names = sorted(region.ranges, key=overlap)[:3]
    where = ", ".join(f"{n} {region.ranges[n][0]:.4g} to {region.ranges[n][1]:.4g}" for n in names)
    return f"  {region.points} designs with {where}"


def _findings(title: str, findings: Sequence[Finding]) -> str:
    """Return the findings of one kind; those with the same text share a line."""
    if not findings:
        return ""
    groups: dict[str, list[str]] = {}
    for f in findings:
        where = f" ({f.source})" if f.source else ""
        doubt = "" if f.proved else " (by sampling)"
        groups.setdefault(f.text + doubt, []).append(f"{f.name}{where}")
    lines = [f"  {listed(names)}: {text}" for text, names in groups.items()]
    return "\n".join([f"{title}:", *_first(lines)])


def _first(lines: list[str]) -> list[str]:
    rest = [f"  ... and {len(lines) - MOST} more"] if len(lines) > MOST else []
    return lines[:MOST] + rest
