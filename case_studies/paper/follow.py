"""One run on a quadratic, watched after every iteration."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

import archeng
from case_studies.paper.quadratics import Quadratic

TARGET = 1e-8
"""Criterion at which a run counts as successful."""
END = 1e-9
"""Criterion below which a run ends. In coordinates other than those of the box, the rounding of
P y times the slope of the ellipsoids limits what can be reached to 1e-9 and more."""
STALLED = 1e-6, 50
"""A run also ends if its criterion is below the first number and has not become 10 % smaller for
the second number times n iterations: rounding does not let it go on."""

Watch = Callable[[int, float, archeng.Run], None]


def follow(
    problem: Quadratic, handler: str, seed: int, max_iterations: int, watch: Watch
) -> int | None:
    """Run until the criterion is below `END`, or stalls, or for so many iterations.

    Parameters
    ----------
    problem : Quadratic
    handler : str
        Constraint handler, as in :class:`archeng.Settings`; otherwise the settings are the
        paper's, without stopping tests.
    seed : int
        The initial mean depends on it and on n only: it is the same point of the box for all
        functions, coordinate systems and handlers.
    max_iterations : int
    watch : callable
        Gets the iteration, the criterion and the run: at iteration 0, before the first
        generation, and after each generation.

    Returns
    -------
    int or None
        First iteration with a criterion below `TARGET`.
    """
    reached: int | None = None
    best, since = np.inf, 0

    def observe(run: archeng.Run) -> None:
        nonlocal reached, best, since
        iteration, criterion = len(run.history), problem.criterion(run.distribution.mean)
        watch(iteration, criterion, run)
        if reached is None and criterion < TARGET:
            reached = iteration
        if criterion < 0.9 * best:
            best, since = criterion, iteration
        stalled = best < STALLED[0] and iteration - since >= STALLED[1] * problem.n
        if criterion < END or stalled or iteration >= max_iterations:
            raise StopIteration

    run = archeng.Run(
        problem.model,
        problem.excess,
        seed=seed,
        start=problem.start(np.random.default_rng([seed, problem.n])),
        sigma=problem.covariance,
        callback=observe,
        settings=replace(
            archeng.Settings.paper(),
            stop_tests=False,
            handler=handler,
            simulator_defined_everywhere=True,  # only handlers that want it call outside
        ),
    )
    watch(0, problem.criterion(run.distribution.mean), run)
    run.run()
    return reached
