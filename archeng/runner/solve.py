"""`solve` and `sample_feasible`: the two functions most users call."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from archeng.checks import integer, named_options
from archeng.errors import SettingsError
from archeng.model import Sense, as_model, check_import_options, compile_model, refuse_wide
from archeng.repair import Repairer
from archeng.result import Result
from archeng.runner.options import SimulatorTakes, check_seed, check_settings
from archeng.runner.run import Run
from archeng.runner.setup import FIXED_BY_THE_JOURNAL
from archeng.sampling import Designs, space_filling_points
from archeng.settings import Settings
from archeng.simulator import Design, OnFailure


def solve(
    model: Any,
    simulator: Callable[[Design], Any] | None = None,
    *,
    simulated: Mapping[str, tuple[float | None, float | None]] | None = None,
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
    workers: Any = None,
    timeout: float | None = None,
    retries: int | Mapping[str, int] | None = None,
    max_failures: int | None = None,
    on_failure: OnFailure = "rank_last",
    journal: str | Path | None = None,
    reuse: Sequence[str | Path] = (),
    verbose: bool = False,
    **import_arguments: Any,
) -> Result:
    """Find the best design: minimise a black-box simulator over the explicit constraints.

    The simulator is only ever called at designs that satisfy every constraint of the model.

    Parameters
    ----------
    model : Model, casadi.Opti, nlp dictionary, Pyomo model or path of an .nl file
        Variables and explicit constraints.
    simulator : callable, optional
        Takes a :class:`Design` and returns the objective, or an :class:`Evaluation` (or an equal
        dictionary) with values of simulated constraints and further outputs. Without one, the
        objective of the model itself is optimised.
    simulated : mapping, optional
        Limits of the constraints that only the simulator knows, by name:
        ``{"stress": (None, 250e6), "first_mode": (40.0, None)}``. They may be violated during
        the search; the result says whether they hold.
    max_evaluations : int, optional
        Hard limit on simulator calls.
    max_time : float, optional
        Seconds after which no further call is made; the search for a first feasible design
        counts, and without this option ends after two minutes if it has found none.
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
        Candidates per generation; default 4 + floor(3 ln n). Four times as many or more make a
        global search, in which the surrogate is asked only once the candidates have gathered.
    callback : callable, optional
        Called with the :class:`Run` after each generation; raise ``StopIteration`` to stop.
    settings : Settings, optional
        How the method works inside.
    simulator_takes : {"design", "model"}
        ``"model"`` (Pyomo only): the simulator gets a copy of the Pyomo model with the values
        of the design loaded, one copy per worker, instead of the :class:`Design`.
    workers : optional
        Where calls run, several at a time: a number of processes (-1: one per core),
        ``"threads:4"``, any executor with ``submit``, a Dask client or the address of its
        scheduler. By default in this process, one at a time. The result does not depend on it.
    timeout : float, optional
        Seconds that one call may take; then its process is killed. Needs worker processes
        (one is used if ``workers`` is not given).
    retries : int or mapping, optional
        How often a failed call is repeated: one number for ``failed``, ``timed_out`` and
        ``lost``, or one for each. By default a lost call (its worker died) is repeated once.
    max_failures : int, optional
        Stop when more calls than this have failed for good.
    on_failure : {"rank_last", "raise"}
        Failed candidates rank last, or the first failure raises a
        :class:`~archeng.errors.SimulatorError`.
    journal : path, optional
        An SQLite file that keeps every call; a run that dies goes on with :func:`resume`.
    reuse : sequence of paths
        Journals of earlier runs: designs that they have finished are not simulated again.
    verbose : bool
        Show progress on standard error.
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
        design. After the first call: a mistake in the simulator. After the first generation: a
        simulator whose calls all failed.
    """
    run = Run(
        model,
        simulator,
        simulated=simulated,
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
        workers=workers,
        timeout=timeout,
        retries=retries,
        max_failures=max_failures,
        on_failure=on_failure,
        journal=journal,
        reuse=reuse,
        verbose=verbose,
        **import_arguments,
    )
    return _finish(run)


@named_options(hints=FIXED_BY_THE_JOURNAL)
def resume(
    journal: str | Path,
    simulator: Callable[[Any], Any] | None = None,
    *,
    model: Any = None,
    settings: Settings | None = None,
    max_evaluations: int | None = None,
    max_time: float | None = None,
    target: float | None = None,
    callback: Callable[[Run], None] | None = None,
    simulator_takes: SimulatorTakes = "design",
    workers: Any = None,
    timeout: float | None = None,
    retries: int | Mapping[str, int] | None = None,
    max_failures: int | None = None,
    on_failure: OnFailure = "rank_last",
    reuse: Sequence[str | Path] = (),
    verbose: bool = False,
    retry_failed: bool = False,
) -> Result:
    """Go on with the run of a journal, exactly: call for call what it would have done.

    Nothing that had finished is simulated again. Model, seed and settings are those of the
    journal.

    Parameters
    ----------
    journal : path
        The file that ``solve(..., journal=...)`` wrote.
    simulator : callable, optional
        The same simulator; not needed if the run optimised the model's own objective.
    model, settings : optional
        If given, they must be those of the journal. A model with CasADi MX functions, and
        ``simulator_takes="model"``, need it.
    max_evaluations, max_time, target : optional
        Replace those of the journal, to go on for longer. Time counts from the first beginning.
    callback, simulator_takes, workers, timeout, retries, max_failures, on_failure, reuse, verbose
        As in :func:`solve`; they need not be the same as before.
    retry_failed : bool
        Simulate the failed calls of the unfinished generation again, because the simulator has
        been mended. The run is then no longer the one that would have been.

    Returns
    -------
    Result
        Of the whole run, the calls before the interruption included.

    Raises
    ------
    JournalError
        The file is damaged, foreign, or in use; or model or settings differ (it says how).
    """
    run = Run.resume(
        journal,
        simulator,
        model=model,
        settings=settings,
        max_evaluations=max_evaluations,
        max_time=max_time,
        target=target,
        callback=callback,
        simulator_takes=simulator_takes,
        workers=workers,
        timeout=timeout,
        retries=retries,
        max_failures=max_failures,
        on_failure=on_failure,
        reuse=reuse,
        verbose=verbose,
        retry_failed=retry_failed,
    )
    return _finish(run)


def _finish(run: Run) -> Result:
    if run.simulator is None:
        run.close()
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
) -> Designs:
    """Return n different designs that satisfy every explicit constraint, equalities included.

    More than five designs cover the feasible set evenly, whether it is a box with cuts, thin,
    in several pieces or a manifold of nonlinear equalities: they are chosen from a larger number
    of points that are uniform on it (by volume, or by surface under equalities, in units of the
    initial deviations). A variable without both bounds is sampled around its start, unless the
    constraints determine its range.

    Parameters
    ----------
    model : Model, casadi.Opti, nlp dictionary, Pyomo model or path of an .nl file
    n : int
        How many. Fewer come back only if the feasible set has fewer distinct points.
    seed : int, optional
        The same seed gives the same designs, bit for bit.
    settings : Settings, optional
    **import_arguments
        For the importer of ``model``, as in :func:`solve`.

    Returns
    -------
    Designs
        A list of :class:`Design` that is also a table: ``designs.x`` is the matrix,
        ``designs.to_pandas()`` and ``designs.to_csv(path)`` the same with names.

    Raises
    ------
    SettingsError
        If an option is not valid.
    InfeasibleModelError
        If no feasible design is found; the error names the constraints in conflict.
    """
    n = integer("n", n, 1)
    check_seed(seed)
    check_import_options("sample_feasible()", import_arguments, ("seed", "settings"))
    fs = compile_model(as_model(model, objective=False, **import_arguments))
    refuse_wide(fs)
    repairer = Repairer(fs, check_settings(settings))
    points = space_filling_points(repairer, n, np.random.default_rng(seed))
    return Designs(Design(fs.variables, fs.expand(x)) for x in points)
