"""Assembling the problems: the definitions, the known answers and a fresh archeng model."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from archeng.model import Model
from case_studies.engineering import beams, machine_elements, process, shells, trusses
from case_studies.engineering.definition import Definition, Floats
from case_studies.vectors import evaluate, frozen

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


@dataclass(frozen=True, eq=False)
class Problem:
    """One problem of the collection.

    Attributes
    ----------
    name, title : str
        Short name, and what is designed.
    model : archeng.model.Model
        Named variables with units and named rows. A new one at every call of :func:`problem`.
    objective : callable
        The black box to minimise: takes a flat vector, or whatever ``numpy.asarray`` turns
        into one, and returns a float; NaN where the formula is undefined. It can be pickled.
    lower, upper : ndarray, shape (n,)
        The box.
    f_opt, x_opt : float, ndarray of shape (n,)
        Our reference optimum; rows hold to rounding.
    published : tuple of Published
        Figures from the literature, the closest variant first.
    relaxed : tuple of str
        Variables that are discrete in the literature and continuous here.
    source : str
        Where the problem comes from.
    method : str
        How `f_opt` was computed.
    """

    name: str
    title: str
    model: Model
    objective: Callable[[ArrayLike], float]
    lower: Floats
    upper: Floats
    f_opt: float
    x_opt: Floats
    published: tuple[Published, ...]
    relaxed: tuple[str, ...]
    source: str
    method: str


def names() -> list[str]:
    """Names of the problems."""
    return list(_DEFINITIONS)


def definition(name: str) -> Definition:
    """Look up the definition of a problem.

    Raises
    ------
    KeyError
        There is no problem of that name.
    """
    if name not in _DEFINITIONS:
        raise KeyError(f"No engineering problem is named {name!r}; names: {', '.join(names())}.")
    return _DEFINITIONS[name]


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
    known = _known_optima()[name]
    model = source.build()
    lower = np.concatenate([v.lower for v in model.variables])
    upper = np.concatenate([v.upper for v in model.variables])
    return Problem(
        name=name,
        title=source.title,
        model=model,
        objective=partial(evaluate, source.objective, len(lower)),
        lower=frozen(lower),
        upper=frozen(upper),
        f_opt=known["f_opt"],
        x_opt=frozen(known["x_opt"]),
        published=tuple(_published(entry) for entry in known["published"]),
        relaxed=source.relaxed,
        source=known["source"],
        method=known["method"],
    )


def _published(entry: dict[str, Any]) -> Published:
    x = None if entry["x"] is None else frozen(entry["x"])
    return Published(entry["f"], x, entry["variant"], entry["source"])


@cache
def _known_optima() -> dict[str, Any]:
    path = Path(__file__).with_name("known_optima.json")
    return json.loads(path.read_text(encoding="utf-8"))["problems"]
