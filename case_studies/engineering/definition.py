"""What one problem of the collection consists of: a model, a black box and a few words."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from archeng.model import Model
from case_studies.shared.suites import evaluate, frozen

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Definition:
    """One problem as the literature defines it.

    Attributes
    ----------
    title : str
        What is designed, and for which goal.
    build : callable
        Returns a new `Model`: variables with bounds and units, and the explicit constraints.
    objective : callable
        Value at a flat vector (n,) in the order of the model's variables; minimised. It is
        written with arithmetic only (``** 0.5`` for a root), so that it also takes an array of
        CasADi symbols, which :mod:`case_studies.engineering.optimum` uses.
    relaxed : tuple of str
        Variables that the literature takes from a discrete set; here they are continuous.
    """

    title: str
    build: Callable[[], Model]
    objective: Callable[[Floats], float]
    relaxed: tuple[str, ...] = ()


def fields_of(name: str, source: Definition, known: Mapping[str, Any]) -> dict[str, Any]:
    """Return what any problem made of a definition has, with a new model, and its known optimum."""
    model = source.build()
    lower = frozen(np.concatenate([v.lower for v in model.variables]))
    upper = frozen(np.concatenate([v.upper for v in model.variables]))
    return {
        "name": name,
        "title": source.title,
        "model": model,
        "objective": partial(evaluate, source.objective, len(lower)),
        "lower": lower,
        "upper": upper,
        "f_opt": known["f_opt"],
        "x_opt": frozen(known["x_opt"]),
        "source": known["source"],
        "method": known["method"],
    }
