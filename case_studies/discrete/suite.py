"""The problems by name, with their known optima.

A problem that is *held out* is run only when asked for (``--held-out``): nothing is tuned on it.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

from case_studies.discrete import car, machines, minlplib, process, reliability, structures
from case_studies.discrete.definition import Definition, Problem
from case_studies.shared.suites import frozen, known_optima, look_up

HELD_OUT = ("clutch_brake", "car_side_impact", "bridge_system", "synthes1", "nvs13", "nvs21")
"""One or two of each family, chosen before anything was run."""

OPTIMA = Path(__file__).with_name("known_optima.json")

DEFINITIONS: dict[str, Definition] = {
    **machines.DEFINITIONS,
    **structures.DEFINITIONS,
    **car.DEFINITIONS,
    **reliability.DEFINITIONS,
    **process.DEFINITIONS,
    **minlplib.DEFINITIONS,
}
"""All problems as they are written down."""


def names(held_out: bool | None = None) -> list[str]:
    """Names of the problems: all (None), those kept aside (True) or the others (False)."""
    return [name for name in DEFINITIONS if held_out is None or (name in HELD_OUT) == held_out]


@cache
def problem(name: str) -> Problem:
    """Return a problem.

    Raises
    ------
    KeyError
        There is no problem of that name.

    Examples
    --------
    >>> vessel = problem("pressure_vessel")
    >>> vessel.n, vessel.discrete, round(vessel.optimum, 3)
    (4, 2, 6059.714)
    """
    source, known = look_up(DEFINITIONS, name, "discrete"), known_optima(OPTIMA)[name]
    return Problem(
        name=name,
        source=source,
        optimum=float(known["f_opt"]),
        x_opt=frozen(known["x_opt"]),
        published=known["source"],
        held_out=name in HELD_OUT,
    )
