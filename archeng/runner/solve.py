"""`solve`, `resume` and `sample_feasible`: the functions most users call."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from archeng.checks import documented, integer, named_options
from archeng.errors import SettingsError
from archeng.model import Sense, as_model, check_import_options, compile_model, refuse_wide
from archeng.options import OPTION_NAMES, OPTIONS, RESUME_NAMES, SimulatorTakes, parameters
from archeng.repair import make_repairer
from archeng.result import Result
from archeng.runner.run import Run
from archeng.runner.setup import FIXED_BY_THE_JOURNAL
from archeng.sampling import Designs, space_filling_points
from archeng.settings import Settings
from archeng.simulator import Design, OnFailure


@documented(parameters(OPTION_NAMES))
def solve(
    model: Any,
    simulator: Callable[[Design], Any] | Sequence[Callable[[Design], Any]] | None = None,
    *,
    simulated: Mapping[str, tuple[float | None, float | None]] | None = None,
    max_evaluations: int | None = None,
    cost: Sequence[float] | None = None,
    max_cost: float | None = None,
    max_time: float | None = None,
    target: float | None = None,
    seed: int | None = None,
    start: Mapping[str, ArrayLike] | ArrayLike | None = None,
    sigma: Mapping[str, ArrayLike] | ArrayLike | None = None,
    parameters: Mapping[str, ArrayLike] | None = None,
    sense: Sense | None = None,
    noise: float | str | Mapping[str, float | str] | None = None,
    confidence: float = 0.95,
    restarts: int = 0,
    population_size: int | Literal["auto"] = "auto",
    parallel: int | None = None,
    asynchronous: bool = False,
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
    data: Any = (),
    data_columns: Mapping[str, str] | None = None,
    verbose: bool = False,
    **import_arguments: Any,
) -> Result:
    """Find the best design: minimise a black-box simulator over the explicit constraints.

    It is only ever called at designs that satisfy every constraint of the model.

    Parameters
    ----------
    model : Model, casadi.Opti, nlp dictionary, Pyomo model or path of an .nl file
    simulator : callable or list of callables, optional
        Takes a :class:`Design`, returns the objective, an :class:`Evaluation`, or a dictionary of
        outputs; of several the cheapest first. Without one, objective or black boxes of the model.
    {options}
    **import_arguments
        For the importer of ``model``: ``scale``, ``tolerance``; ``lbx, ubx, lbg, ubg, p, x0,
        discrete`` of an nlp dictionary; ``black_boxes, parameter_names, gradients`` of models.

    Returns
    -------
    Result

    Raises
    ------
    ArchengError
        No feasible design, or options that make no sense; a mistake in the simulator, or all fail.
    """
    arguments = dict(locals())
    return _finish(Run(**arguments.pop("import_arguments"), **arguments))


@documented(parameters(RESUME_NAMES))
@named_options(hints=FIXED_BY_THE_JOURNAL)
def resume(
    journal: str | Path,
    simulator: Callable[[Any], Any] | Sequence[Callable[[Any], Any]] | None = None,
    *,
    model: Any = None,
    settings: Settings | None = None,
    max_evaluations: int | None = None,
    max_cost: float | None = None,
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
    journal. ``max_evaluations``, ``max_cost``, ``max_time`` and ``target`` replace its limits, to
    go on for longer; the other options hold for this process and need not be the same as before.

    Parameters
    ----------
    journal : path
        The file that ``solve(..., journal=...)`` wrote.
    simulator : callable, optional
        The same simulator; not needed if the run optimised the model's own objective. If it called
        the black boxes of a Pyomo model, that model is needed as ``model`` instead.
    {options}

    Returns
    -------
    Result
        Of the whole run, the calls before the interruption included.

    Raises
    ------
    JournalError
        The file is damaged, foreign, or in use; or model or settings differ (it says how).
    """
    return _finish(Run.resume(**locals()), _BOXES_AGAIN)


_BOXES_AGAIN = (
    " If they are those of black boxes in a Pyomo model, which a journal cannot hold, pass that "
    "model again: resume(journal, model=...)."
)


def _finish(run: Run, more: str = "") -> Result:
    if run.simulator is None:
        run.close()
        outputs = [output.name for output in run.model.outputs]
        if outputs:
            raise SettingsError(
                f"There is no simulator, and the model has the outputs {outputs}. Pass a function "
                f"that takes a Design and returns a dictionary of them.{more}"
            )
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

    With discrete variables all their possible values occur, each about as often (of long lists, all
    parts); the real variables are uniform for the discrete values that they come with. If there
    are only discrete variables with few combinations, all of them are tried, and none comes twice.

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
    OPTIONS["seed"].checked(seed)
    check_import_options("sample_feasible()", import_arguments, ("seed", "settings"))
    fs = compile_model(as_model(model, objective=False, **import_arguments))
    refuse_wide(fs)
    repairer = make_repairer(fs, OPTIONS["settings"].checked(settings))
    points = space_filling_points(repairer, n, np.random.default_rng(seed))
    return Designs(Design(fs.variables, fs.expand(x), fs.parameters) for x in points)
