"""The problems: CEC 2006 and engineering, and those of other comparisons; budgets and targets."""

from __future__ import annotations

import importlib
import importlib.util
from typing import Any

import numpy as np

from case_studies.shared.suites import BoxProblem

SUITES = {"cec2006": "case_studies.cec2006", "engineering": "case_studies.engineering"}
OTHERS = {"hard": "case_studies.hard", "real": "case_studies.peers.real"}
"""Suites that are not part of the comparison of calls to target, but run by the same methods."""
LEFT_OUT = {("cec2006", "g20")}
"""g20 has no feasible point, see case_studies/cec2006/README.md."""

BUDGET = 5_000
SMALL_BUDGETS = {("cec2006", "g02"): 1_000}
"""Repairs of the product of 20 variables are slow, and no method comes near the target."""


def suites() -> list[str]:
    """Return the suites that are there."""
    return [name for name, module in SUITES.items() if importlib.util.find_spec(module)]


def names(suite: str) -> list[str]:
    """Return the problems of a suite that are compared."""
    found: list[str] = _module(suite).names()
    return [name for name in found if (suite, name) not in LEFT_OUT]


def problem(suite: str, name: str) -> BoxProblem:
    """Build a problem with a fresh model."""
    made: BoxProblem = _module(suite).problem(name)
    return made


def _module(suite: str) -> Any:
    return importlib.import_module({**SUITES, **OTHERS}[suite])


def budget(suite: str, name: str, most: int = BUDGET) -> int:
    """Return the most calls of a run."""
    return min(most, SMALL_BUDGETS.get((suite, name), most))


def best_known(p: BoxProblem, strict: bool) -> float:
    """Return f*, to which targets are relative.

    ``strict`` is for methods that meet equalities exactly: the best value with exact equalities
    if it is known. The others get the larger of that and the published value, whichever is
    easier to reach.
    """
    exact: Any = getattr(p, "f_strict", None)
    if exact is None:
        return p.f_opt
    return float(exact) if strict else max(p.f_opt, float(exact))


def target(f_best: float, accuracy: float) -> float:
    """Return the value to reach: relative accuracy, absolute if the best known value is 0."""
    return f_best + accuracy * (abs(f_best) if f_best != 0 else 1.0)


def start_generator(suite: str, name: str, seed: int) -> np.random.Generator:
    """Return the generator of the starts of a run: the same for all methods and variants."""
    text = [ord(c) for c in f"{suite}/{name}"]
    return np.random.default_rng([seed, *text])
