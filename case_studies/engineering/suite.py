"""Assembling the problems: the definitions, the known answers and a fresh archeng model."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from case_studies.engineering import beams, machine_elements, process, shells, trusses
from case_studies.engineering.definition import Definition, Floats, fields_of
from case_studies.shared.suites import BoxProblem, frozen, known_optima, look_up

_OPTIMA = Path(__file__).with_name("known_optima.json")
_DEFINITIONS: dict[str, Definition] = {
    **beams.DEFINITIONS,
    **trusses.DEFINITIONS,
    **machine_elements.DEFINITIONS,
    **shells.DEFINITIONS,
    **process.DEFINITIONS,
}


@dataclass(frozen=True, eq=False)
class Published:
    """A figure from the literature.

    Attributes
    ----------
    f : float
        Objective as printed.
    x : ndarray of shape (n,) or None
        Design as printed, in the order of the model; None if it is not known here.
    variant : str
        How that problem differs from ours; empty if it does not.
    source : str
        Where it is printed.
    """

    f: float
    x: Floats | None
    variant: str
    source: str


@dataclass(frozen=True, eq=False, kw_only=True)
class Problem(BoxProblem):
    """One problem of the collection.

    Variables and rows are named, with units. `f_opt` and `x_opt` are our reference optimum, where
    rows hold to rounding; `source` says where the problem comes from.

    Attributes
    ----------
    title : str
        What is designed.
    published : tuple of Published
        Figures from the literature, the closest variant first.
    relaxed : tuple of str
        Variables that are discrete in the literature and continuous here.
    method : str
        How `f_opt` was computed.
    """

    title: str
    published: tuple[Published, ...]
    relaxed: tuple[str, ...]
    method: str


def names() -> list[str]:
    """Names of the problems."""
    return list(_DEFINITIONS)


def definition(name: str) -> Definition:
    """Look up the definition of a problem (``KeyError`` if there is none)."""
    return look_up(_DEFINITIONS, name, "engineering")


def problem(name: str) -> Problem:
    """Build a problem with a fresh model.

    Parameters
    ----------
    name : str
        One of :func:`names`.

    Raises
    ------
    KeyError
        There is no problem of that name.

    Examples
    --------
    >>> spring = problem("spring")
    >>> round(spring.objective(spring.x_opt), 7)
    0.0126652
    """
    source = definition(name)
    known = known_optima(_OPTIMA)[name]
    return Problem(
        **fields_of(name, source, known),
        published=tuple(_published(entry) for entry in known["published"]),
        relaxed=source.relaxed,
    )


def _published(entry: dict[str, Any]) -> Published:
    x = None if entry["x"] is None else frozen(entry["x"])
    return Published(entry["f"], x, entry["variant"], entry["source"])
