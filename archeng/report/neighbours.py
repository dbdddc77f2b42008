"""Neighbours of the best design in its discrete variables, as a table."""

from __future__ import annotations

from collections.abc import Sequence

from archeng.model.tables import text_table
from archeng.records import NeighbourAtBest
from archeng.result import Result

NEIGHBOUR_HEADER = ("next value", "constraints that it violates, all else as it is")
_HELD = "gains and changes with parameters: of the real variables, while discrete ones are held"
_MOST = 12  # neighbours that are listed
_NAMED = 3  # constraints of each that are named


def neighbour_cells(neighbours: Sequence[NeighbourAtBest]) -> list[tuple[str, str]]:
    """Return one row for each neighbour, with what it violates; many are cut off."""
    rows = [(f"{n.variable} = {n.value}", _violated(n)) for n in neighbours[:_MOST]]
    if len(neighbours) > _MOST:
        rows.append((f"and {len(neighbours) - _MOST} more", ""))
    return rows


def held_text(result: Result) -> str:
    """Say that gains are those of the real variables; empty if there are none."""
    return "" if all(v.domain.is_discrete for v in result.variables) else _HELD


def neighbours_text(result: Result) -> str:
    """Return the table as text, and what gains are about."""
    table, held = (
        text_table(NEIGHBOUR_HEADER, neighbour_cells(result.neighbours)),
        held_text(result),
    )
    return f"{table}\n{held}" if held else table


def _violated(neighbour: NeighbourAtBest) -> str:
    worst = sorted(neighbour.violated.items(), key=lambda item: -item[1])
    named = [f"{name} by {by:.3g}" for name, by in worst[:_NAMED]]
    more = [f"{len(worst) - _NAMED} more"] if len(worst) > _NAMED else []
    return ", ".join([*named, *more]) or "none of the explicit ones"
