"""Readable tables of a model and of its violations. Text only, no third-party package."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from archeng.model.domain import REAL, Domain
from archeng.model.formulas import formulas_of
from archeng.model.variable import Floats, Variable

if TYPE_CHECKING:
    from archeng.model.constraint import Constraint
    from archeng.model.declarations import Declarations
    from archeng.model.quantities import Output, Parameter


def text_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Align columns: the first to the left, the others to the right."""
    widths = [max(len(r[i]) for r in [header, *rows]) for i in range(len(header))]

    def line(cells: Sequence[str]) -> str:
        first = cells[0].ljust(widths[0])
        return "  ".join([first, *(c.rjust(w) for c, w in zip(cells[1:], widths[1:], strict=True))])

    rule = "-" * (sum(widths) + 2 * (len(widths) - 1))
    return "\n".join([line(header), rule, *(line(r) for r in rows)])


BOUND = "bounds of "
"""In the names of rows that are bounds, before the variable."""

number = REAL.shown  # rows, and what is computed, are real numbers
_violation = REAL.violation


def model_variables(variables: Sequence[Variable]) -> str:
    """Return a table of the declared variables."""
    discrete = has_discrete(variables)
    rows = [
        (
            label,
            *([v.domain.summary] if discrete else []),
            *map(v.domain.bound_shown, bounds),
            v.domain.shown(start),
            v.unit or "-",
        )
        for v in variables
        for label, start, *bounds in zip(v.element_names(), v.start, v.lower, v.upper, strict=True)
    ]
    kind = ("kind",) if discrete else ()
    return text_table(("variable", *kind, "lower", "upper", "start", "unit"), rows)


def bound_domains(variables: Sequence[Variable]) -> dict[str, Domain]:
    """Return the domains of discrete variables by the names of the rows that are their bounds."""
    return {
        f"{BOUND}{label}": v.domain
        for v in variables
        if v.domain.is_discrete
        for label in v.element_names()
    }


def has_discrete(variables: Sequence[Variable]) -> bool:
    """Whether tables of these variables need a column for their kinds."""
    return any(v.domain.is_discrete for v in variables)


def model_quantities(parameters: Sequence[Parameter], outputs: Sequence[Output]) -> str:
    """Return tables of the parameters and outputs, each after an empty line; empty without any."""
    values = [
        (label, number(value), p.unit or "-")
        for p in parameters
        for label, value in zip(p.element_names(), p.values.tolist(), strict=True)
    ]
    text = "\n\n" + text_table(("parameter", "value", "unit"), values) if values else ""
    names = [(label, o.unit or "-") for o in outputs for label in o.element_names()]
    return text + ("\n\n" + text_table(("output", "unit"), names) if names else "")


def model_formulas(model: Declarations, with_objective: bool = True) -> str:
    """Return a table of the rows with outputs, and the objective; empty without either."""
    objective, rows = formulas_of(model)
    cells = [(r.name, number(r.lower), number(r.upper), r.text, r.source) for r in rows]
    header = ("simulated row", "lower", "upper", "formula", "source")
    text = "\n\n" + text_table(header, cells) if cells else ""
    if objective and with_objective:
        name = f" {model.objective_name} =" if model.objective_name else ""
        text += f"\n\n{model.objective_sense}{name} {objective}"
    return text


def model_table(model: Declarations) -> str:
    """Return the text of ``print(model)``."""
    constraints = model.constraints
    rows = sum(len(c.rows) for c in (*constraints, *model.simulated))
    text = f"model {model.name}: {model.n_variables} variables, {rows} rows\n\n"
    text += model_variables(model.variables)
    text += model_quantities(model.parameters, model.outputs)
    second, conditions = [], model.condition_texts()
    for c in constraints:
        for label, row, half in zip(c.row_names(), c.rows, c.widths(), strict=True):
            equal = row.is_equality
            limit = f"{number(row.lower)} +- {half:.3g}" if equal else number(row.lower)
            kind = "equality" if equal else "inequality"
            kind += f" when {conditions[label]}" if label in conditions else ""
            second.append((label, limit, number(row.upper), kind, c.source))
    if second:
        text += "\n\n" + text_table(("constraint", "lower", "upper", "kind", "source"), second)
    return text + model_formulas(model)


@dataclass(frozen=True)
class Violation:
    """One bound or row at a design; ``violation`` is 0 if satisfied, inf if undefined."""

    name: str
    value: float
    lower: float
    upper: float
    violation: float
    source: str
    domain: Domain = REAL


@dataclass(frozen=True)
class ViolationTable:
    """All bounds and rows at one design. Iterable, indexable, and prints as a table."""

    entries: tuple[Violation, ...]

    @property
    def maximum(self) -> float:
        """Largest violation, 0 for a feasible design."""
        return max((e.violation for e in self.entries), default=0.0)

    def violated(self) -> list[Violation]:
        """Only the violated entries, worst first."""
        return sorted((e for e in self.entries if e.violation > 0), key=lambda e: -e.violation)

    def with_limits(self, limits: Mapping[str, tuple[float, float]]) -> ViolationTable:
        """Return the table with other limits for the entries of these names."""
        entries = []
        for e in self.entries:
            if e.name in limits:
                low, high = limits[e.name]
                violation = e.domain.violation(e.value, low, high)
                e = replace(e, lower=low, upper=high, violation=violation)
            entries.append(e)
        return ViolationTable(tuple(entries))

    def __iter__(self) -> Iterator[Violation]:
        return iter(self.entries)

    def __len__(self) -> int:
        return len(self.entries)

    def __getitem__(self, name: str) -> Violation:
        for entry in self.entries:
            if entry.name == name:
                return entry
        raise KeyError(name)

    def __str__(self) -> str:
        rows = [
            (
                e.name,
                e.domain.value_shown(e.value) if np.isfinite(e.value) else "undefined",
                e.domain.bound_shown(e.lower),
                e.domain.bound_shown(e.upper),
                _how_far(e),
            )
            for e in self.entries
        ]
        return text_table(("constraint", "value", "lower", "upper", "violation"), rows)


def _how_far(e: Violation) -> str:
    if e.violation > 0 and e.domain.is_discrete and not e.domain.contains(e.value):
        return "not a value of this variable"
    return f"{e.violation:.3g}" if e.violation > 0 else "ok"


def violation_table(
    variables: Sequence[Variable],
    constraints: Sequence[Constraint],
    x: Floats,
    values: Floats,
    conditions: Floats,
) -> ViolationTable:
    """Bounds first, then the rows in declaration order; a row with the condition 0 holds."""
    entries = []
    flat = iter(x)
    for v in variables:
        for label, a, b in zip(v.element_names(), v.lower, v.upper, strict=True):
            value = next(flat)
            if np.isfinite(a) or np.isfinite(b):
                bound = v.domain.violation(value, a, b)
                entries.append(Violation(f"{BOUND}{label}", value, a, b, bound, "", v.domain))
    left = iter(zip(values.tolist(), conditions.tolist(), strict=True))
    for c in constraints:
        for label, a, b in zip(c.row_names(), *c.limits(), strict=True):
            value, when = next(left)
            violation = 0.0 if when == 0.0 else _violation(value, a, b)
            entries.append(Violation(label, value, a, b, violation, c.source))
    return ViolationTable(tuple(entries))
