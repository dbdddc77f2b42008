"""``pyomo.environ.SolverFactory("archeng")``: archeng as a Pyomo solver.

Registered by ``import archeng``. Pyomo's usual arguments work (``tee``, ``timelimit``,
``load_solutions``, ``options``); the options are the keywords of :func:`archeng.solve`.
"""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Callable, Mapping
from typing import Any

from pyomo.common.collections import Bunch
from pyomo.core.base.symbol_map import SymbolMap
from pyomo.opt import (
    ProblemSense,
    Solution,
    SolutionStatus,
    SolverFactory,
    SolverResults,
    SolverStatus,
    TerminationCondition,
)

from archeng._version import __version__
from archeng.checks import flag, mapping, takes_one, unknown_options
from archeng.errors import InfeasibleModelError, SettingsError, SimulatorError
from archeng.model import variables_by_name
from archeng.options import OPTIONS
from archeng.progress import ProgressLine
from archeng.result import Result, Status, pyomo_values
from archeng.runner import solve
from archeng.strategy import StopReason

logger = logging.getLogger("archeng")

_ENDS = {
    StopReason.TARGET: (SolverStatus.ok, TerminationCondition.minFunctionValue),
    StopReason.MAX_EVALUATIONS: (SolverStatus.warning, TerminationCondition.maxEvaluations),
    StopReason.MAX_TIME: (SolverStatus.warning, TerminationCondition.maxTimeLimit),
    StopReason.INTERRUPTED: (SolverStatus.aborted, TerminationCondition.userInterrupt),
    StopReason.CALLBACK: (SolverStatus.aborted, TerminationCondition.userInterrupt),
}
_SOLUTIONS = {
    Status.TARGET: SolutionStatus.feasible,
    Status.CONVERGED: SolutionStatus.locallyOptimal,
    Status.STOPPED: SolutionStatus.stoppedByLimit,
    Status.VIOLATING: SolutionStatus.infeasible,
    Status.NONE: SolutionStatus.unknown,
}
_MEANINGLESS = {
    "keepfiles", "logfile", "report_timing", "solnfile", "suffixes", "symbolic_solver_labels",
    "warmstart",
}  # fmt: skip
_OWN = ("simulator", "simulator_takes", "tee", "timelimit", "load_solutions", "options", "callback")
_OPTIONS = sorted(
    {o.name for o in OPTIONS.values() if o.pyomo}
    | {"scale", "tolerance", "gradients", "independent"}
)


class ArchengSolver:
    """The solver that ``SolverFactory("archeng")`` returns.

    Attributes
    ----------
    options : Bunch
        Keywords of :func:`archeng.solve` that hold for every call of :meth:`solve`.
    """

    name = "archeng"

    def __init__(self, **options: Any) -> None:
        options.pop("type", None)  # SolverFactory passes its own name
        self.options = Bunch(**{**options.pop("options", {}), **options})

    def available(self, exception_flag: bool = True) -> bool:
        """Return True: archeng needs no program besides itself."""
        return True

    def license_is_valid(self) -> bool:
        """Return True: archeng needs no licence key."""
        return True

    def version(self) -> tuple[int, ...]:
        """Return the version of archeng as numbers."""
        return tuple(int(part) for part in __version__.split(".") if part.isdigit())

    def warm_start_capable(self) -> bool:
        """Return True: the initial values of the variables are the start."""
        return True

    def __enter__(self) -> ArchengSolver:
        return self

    def __exit__(self, *exception: object) -> None:
        return None

    def solve(
        self,
        model: Any,
        *,
        simulator: Callable[[Any], float] | None = None,
        simulator_takes: Any = "design",
        tee: bool = False,
        timelimit: float | None = None,
        load_solutions: bool = True,
        options: Mapping[str, Any] | None = None,
        callback: Callable[[Any], None] | None = None,
        **usual: Any,
    ) -> SolverResults:
        """Solve a Pyomo model.

        Parameters
        ----------
        model : ConcreteModel or block
        simulator : callable, optional
            The black box. Without one, the model's own active objective is optimised.
        simulator_takes, callback
            As in :func:`archeng.solve`.
        tee : bool
            Show progress on standard output.
        timelimit : float, optional
            Seconds; the same as the option ``max_time``.
        load_solutions : bool
            Write the best design into the model. Else ``model.solutions.load_from(results)``.
        options : mapping, optional
            Keywords of :func:`archeng.solve`, for this call.
        **usual
            ``keepfiles``, ``warmstart`` and the like, which mean nothing here.

        Returns
        -------
        pyomo.opt.SolverResults
            ``results.archeng`` is the :class:`archeng.Result` (None without a design). A model
            without a feasible design and a simulator that cannot be used are results, too.

        Raises
        ------
        ArchengError
            A model or an option that makes no sense.
        """
        flag("tee", tee)
        flag("load_solutions", load_solutions)
        keywords = self._keywords(options, usual)
        if timelimit is not None:
            keywords["max_time"] = timelimit
        keywords["callback"] = _callbacks(callback, ProgressLine(sys.stdout) if tee else None)
        begin = time.monotonic()
        results = _solved(model, simulator, simulator_takes=simulator_takes, **keywords)
        result = results.archeng
        if load_solutions and result is not None and result.status is not Status.NONE:
            result.load_into(model)
        if tee and result is not None:
            sys.stdout.write(f"{result}\n")
        results.solver.time = results.solver.wallclock_time = time.monotonic() - begin
        return results

    def _keywords(self, options: Any, usual: Mapping[str, Any]) -> dict[str, Any]:
        """Return keywords of :func:`archeng.solve`: those of the solver, and of this call."""
        strange = sorted(set(usual) - _MEANINGLESS)
        if strange:
            hints = dict.fromkeys(_OPTIONS, "It goes into options={...}.")
            raise SettingsError(unknown_options("solve()", strange, _OWN, hints))
        keywords = {**self.options, **mapping("options", options)}
        unknown = sorted(set(keywords) - set(_OPTIONS))
        if unknown:
            raise SettingsError(unknown_options('SolverFactory("archeng")', unknown, _OPTIONS))
        return keywords


def _solved(model: Any, simulator: Any, **keywords: Any) -> Any:
    """Return Pyomo's record of a run, also of one without a design."""
    try:
        return _with_result(model, solve(model, simulator, **keywords))
    except InfeasibleModelError as error:
        logger.warning("%s", error)
        return _results(model, SolverStatus.warning, TerminationCondition.infeasible, str(error))
    except SimulatorError as error:
        logger.error("%s", error, exc_info=error)
        return _results(model, SolverStatus.error, TerminationCondition.error, str(error))


def _callbacks(*callbacks: Any) -> Callable[[Any], None] | None:
    wanted = [takes_one("callback", c) for c in callbacks if c is not None]

    def every(run: Any) -> None:
        for callback in wanted:
            callback(run)

    return every if wanted else None


def _results(model: Any, status: SolverStatus, end: TerminationCondition, why: str) -> Any:
    """Return Pyomo's record of a run without a design."""
    results = SolverResults()
    results.archeng = None
    results.problem.name = model.name
    results.solver.name = f"archeng {__version__}"
    results.solver.status = status
    results.solver.termination_condition = end
    results.solver.message = why
    return results


def _with_result(model: Any, result: Result) -> Any:
    """Pyomo's record of a finished run."""
    status, end = _ENDS.get(
        result.stop_reason, (SolverStatus.ok, TerminationCondition.locallyOptimal)
    )
    if result.status is Status.NONE and result.stop_reason not in _ENDS:
        status, end = SolverStatus.error, TerminationCondition.noSolution
    elif result.status is Status.VIOLATING:
        status = SolverStatus.warning
        end = end if result.stop_reason in _ENDS else TerminationCondition.noSolution
    elif end is TerminationCondition.locallyOptimal and result.status is Status.STOPPED:
        status, end = SolverStatus.warning, TerminationCondition.minStepLength
    results = _results(model, status, end, f"{result.status.value}; {result.message}")
    results.archeng = result
    results.problem.sense = ProblemSense.maximize if result.maximize else ProblemSense.minimize
    results.problem.number_of_variables = len(result.variables)
    results.problem.number_of_constraints = len(result.rows)
    if result.maximize:
        results.problem.lower_bound = result.fun
    else:
        results.problem.upper_bound = result.fun
    results.solver.statistics.black_box.number_of_function_evaluations = result.nfev
    if result.status is not Status.NONE:
        results.solution.insert(_solution(model, result, results))
    return results


def _solution(model: Any, result: Result, results: Any) -> Solution:
    solution = Solution()
    solution.status = _SOLUTIONS[result.status]
    solution.message = result.message
    solution.objective["objective"] = {"Value": result.fun}
    symbols = SymbolMap()
    variables = variables_by_name(model)
    for name, value in pyomo_values(result, model).items():
        symbols.addSymbol(variables[name], name)
        solution.variable[name] = {"Value": value}
    results._smap = symbols
    return solution


def register() -> None:
    """Make ``SolverFactory("archeng")`` known to Pyomo."""
    SolverFactory.register("archeng", doc="Black-box design with explicit constraints (ARCH)")(
        ArchengSolver
    )
