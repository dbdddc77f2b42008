"""`Structure`: what the equations of a model determine, by their variables alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from archeng.diagnose.equations import Equations, chosen_independents
from archeng.model import FeasibleSet
from archeng.model.structure.incidence import Part

TOO_MANY: Literal["too many equations"] = "too many equations"
NOT_DETERMINED: Literal["not determined"] = "not determined"


@dataclass(frozen=True)
class Block:
    """Equations that are solved together for as many variables; more than one: a loop."""

    equations: tuple[str, ...]
    variables: tuple[str, ...]


@dataclass(frozen=True)
class Mismatch:
    """Equations and unknowns that are not as many as each other.

    Attributes
    ----------
    kind : {"too many equations", "not determined"}
    equations : tuple of str
        If there are too many: none can be left out of the list, and one is too many. If unknowns
        are not determined: all equations that hold them.
    sources : tuple of str
        Where the equations were written.
    variables : tuple of str
        The unknowns in them; what is not determined, those in the fewest equations first.
    named : bool
        Whether that is so because of the independent variables that were named.
    text : str
        What to do.
    """

    kind: Literal["too many equations", "not determined"]
    equations: tuple[str, ...]
    sources: tuple[str, ...]
    variables: tuple[str, ...]
    named: bool
    text: str


@dataclass(frozen=True)
class Structure:
    """What the equations of a model determine, whatever the numbers in them.

    Attributes
    ----------
    variables : int
        Free variables.
    equations : int
        Equalities without outputs and conditions.
    degrees_of_freedom : int
        Free variables less equations that can have a variable of their own.
    named : tuple of str
        Independent variables that the engineer named.
    chosen : tuple of str
        Those that archeng chose, besides; empty if it chooses none because there are few equations.
    blocks : int
        Blocks in which the dependent variables are computed, one after the other.
    loops : int
        How many of them have more than one equation.
    largest : Block or None
        The largest one.
    mismatches : tuple of Mismatch
    """

    variables: int
    equations: int
    degrees_of_freedom: int
    named: tuple[str, ...] = ()
    chosen: tuple[str, ...] = ()
    blocks: int = 0
    loops: int = 0
    largest: Block | None = None
    mismatches: tuple[Mismatch, ...] = ()


def structure_of(
    equations: Equations, named: Sequence[int], compiled: FeasibleSet | None
) -> Structure | None:
    """Return the structure of a model; None without equations.

    ``named`` are positions of the independent variables that the engineer names. Those that archeng
    chooses are found in the compiled model.
    """
    if not equations.names:
        return None
    given = equations.given(named)
    label = dict(zip(equations.free.tolist(), equations.variables, strict=True))
    chosen = [i for i in chosen_independents(compiled) if i not in named]
    blocks = _blocks(given, compiled) if named or chosen else []
    matched = int((equations.parts.matched >= 0).sum())
    return Structure(
        variables=len(equations.variables),
        equations=len(equations.names),
        degrees_of_freedom=len(equations.variables) - matched,
        named=tuple(label[i] for i in named),
        chosen=tuple(label[i] for i in chosen),
        blocks=len(blocks),
        loops=sum(len(block.equations) > 1 for block in blocks),
        largest=max(blocks, key=lambda block: len(block.equations), default=None),
        mismatches=tuple(_mismatches(equations, given, bool(named))),
    )


def _blocks(given: Equations, compiled: FeasibleSet | None) -> list[Block]:
    """Blocks as a run solves them; else those that the named variables leave."""
    if compiled is not None and compiled.dependents is not None and compiled.whole is not None:
        split, whole = compiled.dependents.split, compiled.whole
        return [
            Block(
                tuple(whole.rows[j].name for j in split.equations[part.rows].tolist()),
                tuple(whole.names[i] for i in split.dependent[part.columns].tolist()),
            )
            for part in compiled.dependents.blocks
        ]
    return [block_of(given, part) for part in given.blocks]


def block_of(equations: Equations, part: Part) -> Block:
    """Return equations and variables by their names."""
    return Block(
        tuple(equations.names[j] for j in part.rows.tolist()),
        tuple(equations.variables[i] for i in part.columns.tolist()),
    )


def _mismatches(equations: Equations, given: Equations, named: bool) -> list[Mismatch]:
    always = equations.surplus()
    found = [_mismatch(equations, TOO_MANY, part, False, _too_many_text()) for part in always]
    if not named:
        return found
    known = {part.rows.tobytes() for part in always}
    held = [equations.variables[i] for i in (given.known & ~equations.known).nonzero()[0]]
    for part in given.surplus():
        if part.rows.tobytes() not in known:
            inside = given.pattern[part.rows].tocoo().col
            own = [v for v in held if equations.variables.index(v) in inside]
            text = _too_many_named_text(own)
            found.append(_mismatch(equations, TOO_MANY, part, True, text))
    closed = given.closed()
    for part in closed.lacking():
        found.append(_mismatch(closed, NOT_DETERMINED, part, True, _lacking_text(part)))
    return found


def _mismatch(
    equations: Equations,
    kind: Literal["too many equations", "not determined"],
    part: Part,
    named: bool,
    text: str,
) -> Mismatch:
    block = block_of(equations, part)
    sources = tuple(equations.sources[j] for j in part.rows.tolist())
    return Mismatch(kind, block.equations, sources, block.variables, named, text)


def _too_many_text() -> str:
    return "leave one of these equations out, or release a variable in them that is fixed"


def _too_many_named_text(named: Sequence[str]) -> str:
    which = f"all of {', '.join(named)}" if len(named) > 1 else ", ".join(named)
    return f"do not name {which} as independent, or leave one of these equations out"


def _lacking_text(part: Part) -> str:
    n = len(part.columns) - len(part.rows)
    one = "an equation is missing" if n == 1 else f"{n} equations are missing"
    also = "one of these variables" if n == 1 else f"{n} of these variables"
    also = "this variable" if len(part.columns) == 1 else also
    return f"{one}, or name {also} as independent, too"
