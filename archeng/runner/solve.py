"""`solve` and `sample_feasible`: the two functions most users call."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from archeng.errors import SettingsError
from archeng.model import Sense, as_model, compile_model
from archeng.repair import Repairer
from archeng.result import Result
from archeng.runner.options import SimulatorTakes, check_seed, check_settings
from archeng.runner.run import Run
from archeng.sampling import feasible_points
from archeng.settings import Settings
from archeng.simulator import Design


def solve(
    model: Any,
    simulator: Callable[[Design], float] | None = None,
    *,
    max_evaluations: int | None = None,
    max_time: float | None = None,
    target: float | None = None,
    seed: int | None = None,
    start: Mapping[str, ArrayLike] | ArrayLike | None = None,
    sigma: Mapping[str, ArrayLike] | ArrayLike | None = None,
    sense: Sense | None = None,
    restarts: int = 0,
    population_size: int | None = None,
    callback: Callable[[Run], None] | None = None,
    settings: Settings | None = None,
    simulator_takes: SimulatorTakes = "design",
    **import_arguments: Any,
) -> Result:
    """Find the best design: minimise a black-box simulator over the explicit constraints.

    The simulator is only ever called at designs that satisfy every constraint of the model.

    Parameters
    ----------
    model : Model, casadi.Opti, nlp dictionary, Pyomo model or path of an .nl file
        Variables and explicit constraints.
    simulator : callable, optional
        Takes a :class:`Design` and returns the objective. Without one, the objective of the
        model itself is optimised.
    max_evaluations : int, optional
        Hard limit on simulator calls.
    max_time : float, optional
        Seconds after which no further call is made.
    target : float, optional
        Stop as soon as a design is at least this good.
    seed : int, optional
        Same seed, same run, bit for bit.
    start : mapping or array, optional
        Where to begin; it is repaired if infeasible. By default the variables' ``start``, or a
        feasible design that archeng prepares.
    sigma : float, array, mapping or matrix, optional
        Initial standard deviation: one for all variables, one each, or a covariance matrix.
        By default the variables' ``scale``, or a fifth of the width between their bounds.
    sense : {"minimize", "maximize"}, optional
        By default "minimize"; without a simulator the sense of the model's own objective.
    restarts : int
        BIPOP restarts after convergence, for objectives with several optima. Default 0.
    population_size : int, optional
        Candidates per generation; default 4 + floor(3 ln n).
    callback : callable, optional
        Called with the :class:`Run` after each generation; raise ``StopIteration`` to stop.
    settings : Settings, optional
        How the method works inside.
    simulator_takes : {"design", "model"}
        ``"model"`` (Pyomo only): the simulator gets a copy of the Pyomo model with the values
        of the design loaded, one copy per worker, instead of the :class:`Design`.
    **import_arguments
        For the importer of ``model``: ``scale``, ``tolerance``; ``lbx, ubx, lbg, ubg, p, x0`` of
        an nlp dictionary.

    Returns
    -------
    Result

    Raises
    ------
    ArchengError
        Before any simulator call: a model or an option that makes no sense, or no feasible
        design. On the first call: a simulator that raises or returns no number.
    """
    run = Run(
        model,
        simulator,
        max_evaluations=max_evaluations,
        max_time=max_time,
        target=target,
        seed=seed,
        start=start,
        sigma=sigma,
        sense=sense,
        restarts=restarts,
        population_size=population_size,
        callback=callback,
        settings=settings,
        simulator_takes=simulator_takes,
        **import_arguments,
    )
    if run.simulator is None:
        raise SettingsError(
            "There is no simulator, and the model has no objective of its own. Pass a function "
            "that takes a Design and returns a number."
        )
    return run.run()


def sample_feasible(
    model: Any,
    n: int,
    *,
    seed: int | None = None,
    settings: Settings | None = None,
    **import_arguments: Any,
) -> list[Design]:
    """Return n different designs that satisfy every explicit constraint, equalities included.

    Parameters
    ----------
    model : Model, casadi.Opti, nlp dictionary, Pyomo model or path of an .nl file
    n : int
        How many. Fewer come back only if the feasible set has fewer distinct points.
    seed : int, optional
    settings : Settings, optional
    **import_arguments
        For the importer of ``model``, as in :func:`solve`.

    Returns
    -------
    list of Design
        ``np.array([d.x for d in designs])`` is the matrix.

    Raises
    ------
    InfeasibleModelError
        If no feasible design is found; the error names the constraints in conflict.
    """
    if isinstance(n, bool) or not isinstance(n, int | np.integer) or n < 1:
        raise SettingsError(f"n must be a positive integer, got {n!r}.")
    check_seed(seed)
    fs = compile_model(as_model(model, objective=False, **import_arguments))
    repairer = Repairer(fs, check_settings(settings))
    points = feasible_points(repairer, int(n), np.random.default_rng(seed))
    return [Design(fs.variables, fs.expand(x)) for x in points]
