"""``archeng.minimize``: archeng for those who know `scipy.optimize.minimize`."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from archeng.checks import function, shown, takes_one, unknown_options
from archeng.errors import SettingsError
from archeng.model import from_scipy
from archeng.options import OPTION_NAMES
from archeng.result import Result, Status
from archeng.runner import Run, solve
from archeng.simulator import Design
from archeng.strategy import StopReason

_SCIPY_NAMES = {"maxfev": "max_evaluations", "disp": "verbose"}
_NO_USE = {
    "jac": "Archeng takes no derivatives of the objective; leave jac out.",
    "hess": "Archeng takes no derivatives of the objective; leave hess out.",
    "hessp": "Archeng takes no derivatives of the objective; leave hessp out.",
    "method": "There is one method; see archeng.Settings(handler=...) for others.",
    "tol": "Set Settings(tol_x=..., tol_objective=...), target= or max_evaluations=.",
    "maxiter": "Archeng counts calls: use max_evaluations=.",
    "start": "x0 is the start.",
    "simulator_takes": "The objective takes a vector.",
}


def minimize(
    fun: Callable[..., Any],
    x0: ArrayLike,
    args: Any = (),
    *,
    bounds: Any = None,
    constraints: Any = (),
    callback: Callable[..., Any] | None = None,
    options: Mapping[str, Any] | None = None,
    integrality: ArrayLike | None = None,
    names: Sequence[str] | None = None,
    tolerance: float | None = None,
    **keywords: Any,
) -> Any:
    """Minimise an expensive function of a vector, called only where all constraints hold.

    Parameters
    ----------
    fun, args : callable, tuple
        ``fun(x, *args)`` returns the objective; an exception or NaN is a failed call.
    x0 : array_like, shape (n,)
        Where to begin; it is repaired if it violates constraints, which must be defined there.
    bounds, constraints, integrality, names, tolerance
        As in :func:`archeng.from_scipy`. They hold at every call of ``fun``; constraint functions
        are called far more often, also where they are violated. Derivatives that are not given are
        **finite differences**.
    callback : callable, optional
        ``callback(xk)`` or ``callback(intermediate_result)``, after each generation.
    options : mapping, optional
        The same keywords as a dictionary; ``maxfev`` and ``disp`` are known too.
    **keywords
        Of :func:`archeng.solve`: ``max_evaluations``, ``seed``, ``sigma``, ``settings``, ...

    Returns
    -------
    scipy.optimize.OptimizeResult
        With ``status`` (0 success, 1 the budget of calls is used up, 2 the time is, 3 stopped for
        another reason, 4 no design satisfies the simulated constraints, 5 no call ended well, 99
        the callback stopped), ``n_infeasible_calls`` (0), and ``archeng``, the whole `Result`.

    Raises
    ------
    ArchengError
        A problem that makes no sense or has no feasible design, before the first call.

    Examples
    --------
    >>> half = {"type": "ineq", "fun": lambda x: 1 - x[0] - x[1]}
    >>> minimize(lambda x: (x - 1) @ (x - 1), [0, 0], constraints=half, seed=1).x.round(4).tolist()
    [0.5, 0.5]
    """
    wanted = _keywords(options, keywords)
    function("fun", fun)
    title = getattr(fun, "__name__", type(fun).__name__)
    limits = {"bounds": bounds, "constraints": constraints, "integrality": integrality}
    model = from_scipy(x0, **limits, names=names, tolerance=tolerance, name=title)
    if callback is not None:
        wanted["callback"] = _on_runs(callback)
    objective = partial(_objective, fun, args if isinstance(args, tuple) else (args,))
    return optimize_result(solve(model, objective, **wanted))


def optimize_result(result: Result) -> Any:
    """Return a result as the `scipy.optimize.OptimizeResult` that :func:`minimize` gives.

    ``nit`` counts generations; ``maxcv`` is the largest violation at ``x``, which is 0.
    """
    from scipy.optimize import OptimizeResult

    best = [e for e in result.evaluations if np.array_equal(e.x, result.x)]
    return OptimizeResult(
        x=result.x,
        fun=result.fun,
        nfev=result.nfev,
        nit=len(result.history),
        success=result.success,
        status=_status(result),
        message=f"{result.status.value}; {result.message}",
        maxcv=best[0].max_violation if best else float("nan"),
        n_infeasible_calls=result.n_infeasible_calls,
        archeng=result,
    )


def _status(result: Result) -> int:
    designs = {Status.TARGET: 0, Status.CONVERGED: 0, Status.VIOLATING: 4, Status.NONE: 5}
    ends = {StopReason.MAX_EVALUATIONS: 1, StopReason.MAX_TIME: 2, StopReason.CALLBACK: 99}
    return designs.get(result.status, ends.get(result.stop_reason, 3))


def _keywords(options: Mapping[str, Any] | None, keywords: Mapping[str, Any]) -> dict[str, Any]:
    """Keywords and options as one dictionary of keywords of ``solve``."""
    if options is not None and not isinstance(options, Mapping):
        raise SettingsError(f"options must be a dictionary, got {shown(options)}.")
    wanted: dict[str, Any] = {}
    names = [name for name in OPTION_NAMES if name != "callback" and name not in _NO_USE]
    for given, value in [*dict(options or {}).items(), *keywords.items()]:
        name = _SCIPY_NAMES.get(given, given)
        if name not in names:
            raise SettingsError(unknown_options("minimize()", [given], names, _NO_USE))
        wanted[name] = bool(value) if given == "disp" else value
    return wanted


def _objective(fun: Callable[..., Any], args: tuple[Any, ...], design: Design) -> Any:
    """Call the user's function as a simulator."""
    return fun(np.array(design.x), *args)


def _on_runs(callback: Callable[..., Any]) -> Callable[[Run], None]:
    """Return SciPy's callback as one of a run."""
    from scipy.optimize import OptimizeResult

    function("callback", callback)
    try:
        wants_result = set(inspect.signature(callback).parameters) == {"intermediate_result"}
    except (TypeError, ValueError):  # built-in functions have no signature
        wants_result = False
    if not wants_result:
        takes_one("callback", callback)

    def after_generation(run: Run) -> None:
        best = run.best
        if best is None:
            return
        x, counts = np.array(best.x), {"nfev": run.n_evaluations, "nit": len(run.history)}
        if wants_result:
            callback(intermediate_result=OptimizeResult(x=x, fun=best.objective, **counts))
        else:
            callback(x)

    return after_generation
