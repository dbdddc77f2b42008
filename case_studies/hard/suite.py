"""Assembling the problems: the definitions, the known answers and a fresh archeng model."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from case_studies.engineering.definition import Definition, fields_of
from case_studies.hard import electric, mechanics, process, quadratics
from case_studies.shared.suites import BoxProblem, known_optima, look_up

OPTIMA = Path(__file__).with_name("known_optima.json")
DEFINITIONS: dict[str, Definition] = {
    **quadratics.DEFINITIONS,
    **mechanics.DEFINITIONS,
    **process.DEFINITIONS,
    **electric.DEFINITIONS,
}


@dataclass(frozen=True, eq=False, kw_only=True)
class Problem(BoxProblem):
    """One problem of the table.

    `f_opt` and `x_opt` are the best that is known to us, with rows that hold to rounding; `source`
    says where the problem comes from.

    Attributes
    ----------
    title : str
        What is designed.
    published : float or None
        Best value in the literature, in the tolerances used there; None: there is none.
    published_source : str
        Where that is printed.
    method : str
        How `f_opt` was computed, and how it compares.
    """

    title: str
    published: float | None
    published_source: str
    method: str


def names() -> list[str]:
    """Names of the problems."""
    return list(DEFINITIONS)


def definition(name: str) -> Definition:
    """Look up the definition of a problem (``KeyError`` if there is none)."""
    return look_up(DEFINITIONS, name, "hard")


def problem(name: str) -> Problem:
    """Build a problem with a fresh model (``KeyError`` if there is none of that name).

    Examples
    --------
    >>> rocket = problem("hs099")
    >>> round(rocket.objective(rocket.x_opt) / rocket.published, 6)
    1.0
    """
    source = definition(name)
    known = known_optima(OPTIMA)[name]
    return Problem(
        **fields_of(name, source, known),
        published=known["published"],
        published_source=known["published_source"],
    )
