"""The methods by name: archeng in two forms, and what users would take instead.

An adapter is a function of a `Trial` that runs until the recorder raises `Finished`, or returns
earlier; local methods begin again from ``trial.starts()``.
"""

from __future__ import annotations

import numpy as np

from case_studies.greybox.definition import Problem
from case_studies.peers.adapters import Method

GREY, BLACK = "archeng-grey", "archeng-black"

METHODS: dict[str, Method] = {
    name: Method(name, package, adapter, folder=__name__)
    for name, package, adapter in (
        (GREY, "archeng", "arch:grey"),
        (BLACK, "archeng", "arch:black"),
        ("cobyqa", "cobyqa", "quadratic_models:solve"),
        ("trust-constr", "scipy", "totals:trust_constr"),
        ("slsqp", "scipy", "totals:slsqp"),
        ("least_squares", "scipy", "residuals:least_squares"),
        ("dfo-ls", "DFO-LS", "gauss_newton:solve"),
    )
}

_ACTIVE = 1e-6
"""A row this near to its limit at the optimum is active; relative."""


def applies(method: str, problem: Problem) -> bool:
    """Whether a method can be asked for a problem.

    Least squares only, without simulated constraints. ``least_squares`` takes bounds only, so that
    it is asked if no other constraint is active at the optimum; ``dfo-ls`` takes linear rows.
    """
    if method not in ("least_squares", "dfo-ls"):
        return True
    if not problem.least_squares or problem.limits:
        return False
    if method == "dfo-ls":
        from archeng.model import compile_model

        fs = compile_model(problem.black)
        return len(fs.lower) - len(fs.bounded) == fs.n_linear
    return problem.x_opt is not None and not _active(problem)


def _active(problem: Problem) -> bool:
    assert problem.x_opt is not None
    _, plain = problem.at(problem.x_opt)
    return any(
        min(value - low, high - value) <= _ACTIVE * max(1.0, abs(value))
        for value, low, high in plain.explicit.values()
        if np.isfinite(value)
    )
