"""Old designs of a problem: half of them feasible, and what the simulator said of them.

The feasible ones fill the feasible set (:func:`archeng.sample_feasible`), as those of a campaign
that was looked after do; the others are uniform in the box, and violate something.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, Literal, get_args

import numpy as np

import archeng
from archeng.model import Model
from case_studies import cec2006, engineering
from case_studies.claims.cases import case
from case_studies.claims.definition import Case, Floats

Kind = Literal["same", "load case", "useless"]
KINDS: tuple[Kind, ...] = get_args(Kind)
"""Of the same simulator, of one with another load, and values that belong to other designs."""

DESIGNS = 40
SHIFT = 0.02  # by which another load case moves what the simulator sees, in widths of the box
FACTOR = 1.25  # and by which its values are larger

Pair = tuple[Floats, archeng.Evaluation]


def whole_model(suite: str, name: str) -> Model:
    """Return the model with all constraints as formulas."""
    return engineering.problem(name).model if suite == "textbook" else cec2006.problem(name).model


def old_designs(suite: str, name: str, kind: Kind, seed: int) -> list[Pair]:
    """Return pairs of a design and what was known of it."""
    this = case(suite, name)
    X = _designs(suite, name, seed)
    rng = np.random.default_rng((seed, len(X)))
    simulator: Callable[[Any], archeng.Evaluation] = lambda x: _told(this, x)  # noqa: E731
    if kind == "load case":
        lower, upper = this.formulas.box
        step = SHIFT * (upper - lower) * rng.choice((-1.0, 1.0), len(lower))
        simulator = lambda x: _larger(_told(this, np.clip(x + step, lower, upper)))  # noqa: E731
    values = [simulator(x) for x in X]
    if kind == "useless":
        values = [values[k] for k in rng.permutation(len(values))]
    return list(zip(X, values, strict=True))


@lru_cache(maxsize=64)
def _designs(suite: str, name: str, seed: int) -> Floats:
    whole = whole_model(suite, name)
    feasible = archeng.sample_feasible(whole, DESIGNS // 2, seed=seed).x
    lower, upper = case(suite, name).formulas.box
    rng = np.random.default_rng(seed)
    every = lower + (upper - lower) * rng.random((DESIGNS - len(feasible), len(lower)))
    X = np.concatenate((feasible, every))
    return np.asarray(X[rng.permutation(len(X))], dtype=float)


def _told(this: Case, x: Floats) -> archeng.Evaluation:
    """Return what the simulator says, NaN where it fails."""
    design = archeng.Design(this.model.variables, x, this.model.parameters)
    try:
        said = this.simulator(design)
    except (ArithmeticError, ValueError):
        said = np.nan
    return said if isinstance(said, archeng.Evaluation) else archeng.Evaluation(float(said))


def _larger(said: archeng.Evaluation) -> archeng.Evaluation:
    constraints = {name: FACTOR * value for name, value in said.constraints.items()}
    return archeng.Evaluation(FACTOR * said.objective, constraints=constraints)
