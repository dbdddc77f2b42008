"""The problems by name, with their known optima; other modules may register more.

A problem that is *held out* is run only when asked for (``--held-out``): nothing is tuned on it.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import archeng
from case_studies import cec2006, engineering
from case_studies.greybox import cec, fits, machines, maxima, ratios
from case_studies.greybox.definition import Definition, Outputs, Problem
from case_studies.shared.suites import frozen, known_optima, look_up

HELD_OUT = ("g18", "speed_reducer", "osborne_1", "mad1", "pump", "risk")
"""One or two of each family, chosen before anything was run."""

OTHERS: tuple[str, ...] = ()
"""Modules that register problems when they are imported, such as real case studies."""

_OPTIMA = Path(__file__).with_name("known_optima.json")
_DEFINITIONS: dict[str, Definition] = {
    **cec.DEFINITIONS,
    **machines.DEFINITIONS,
    **fits.DEFINITIONS,
    **maxima.DEFINITIONS,
    **ratios.DEFINITIONS,
}
_REGISTERED: dict[str, Callable[[], Problem]] = {}


def register(name: str, make: Callable[[], Problem]) -> None:
    """Add a problem from another module, which must be in `OTHERS` for workers to find it.

    Parameters
    ----------
    name : str
        That of the record.
    make : callable
        Returns the record, with a fresh model.
    """
    if name in _DEFINITIONS:
        raise ValueError(f"{name!r} is a problem already; choose another name.")
    _REGISTERED[name] = make


def names(held_out: bool | None = None) -> list[str]:
    """Names of the problems: all (None), those kept aside (True) or the others (False).

    Registered ones count as not kept aside unless they are in `HELD_OUT`.
    """
    _import_others()
    every = [*_DEFINITIONS, *_REGISTERED]
    return [name for name in every if held_out is None or (name in HELD_OUT) == held_out]


def definitions() -> dict[str, Definition]:
    """Return the problems of this package that have formulas for the referee."""
    return dict(_DEFINITIONS)


def definition(name: str) -> Definition:
    """Look up the definition of a problem (``KeyError`` if there is none)."""
    return look_up(_DEFINITIONS, name, "composite")


def problem(name: str) -> Problem:
    """Return a problem with a fresh model.

    Raises
    ------
    KeyError
        There is no problem of that name.

    Examples
    --------
    >>> beam = problem("welded_beam")
    >>> beam.n, beam.q, round(beam.optimum, 6)
    (4, 4, 1.724852)
    """
    _import_others()
    if name in _REGISTERED:
        return _REGISTERED[name]()
    source, known = definition(name), _known(name)
    return Problem(
        name=name,
        title=source.title,
        family=source.family,
        model=source.build(),
        simulate=partial(_simulate, source.outputs),
        plain=source.plain,
        optimum=float(known["f_opt"]),
        x_opt=frozen(known["x_opt"]),
        source=known["source"],
        residuals=source.residuals,
        held_out=name in HELD_OUT,
    )


def _simulate(outputs: Callable[[Any, Any], Outputs], design: archeng.Design) -> Outputs:
    with np.errstate(all="ignore"):
        return {
            name: np.asarray(value, dtype=float) if np.ndim(value) else float(value)
            for name, value in outputs(np.asarray(design.x), np).items()
        }


def _known(name: str) -> dict[str, Any]:
    if name in cec.DEFINITIONS:
        p: Any = cec2006.problem(name)
        return {"f_opt": p.objective(p.x_opt), "x_opt": p.x_opt, "source": p.source}
    if name in machines.DEFINITIONS:
        p = engineering.problem(name)
        return {"f_opt": p.f_opt, "x_opt": p.x_opt, "source": p.source}
    return dict(known_optima(_OPTIMA)[name])


def _import_others() -> None:
    for module in OTHERS:
        importlib.import_module(module)
