"""archeng as an OpenMDAO driver.

::

    import openmdao.api as om
    from archeng.adapters.openmdao import ArchengDriver

    prob.driver = ArchengDriver(max_evaluations=200, seed=1)
    prob.driver.add_explicit("slender", lambda v: v["height"] - 10 * v["width"], upper=0.0)
    prob.setup()
    prob.run_driver()
    print(prob.driver.archeng_result)

Design variables are those of OpenMDAO. *Explicit* constraints are formulas of them, given to the
driver: the model is never run at a design that violates one, nor outside the bounds. The
constraints of OpenMDAO come out of running the model, so they are archeng's *simulated* ones:
they may be violated on the way, and the result says whether they hold.

Of constraints and objectives that are formulas of what OpenMDAO computes, only the latter has to be
learned. They are written as a model, whose outputs are variables of OpenMDAO::

    model = archeng.Model("beam")
    b, h = model.variable("b"), model.variable("h")
    stress = model.output("fem.stress", unit="MPa")
    model.subject_to(1.5 * stress <= 240, name="strength")
    model.minimize(7.85e-6 * b * h)
    prob.driver = ArchengDriver(model=model)
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from archeng.adapters.openmdao_formulas import (
    Declared,
    check_outputs,
    gradients_now,
    outputs_now,
    with_bounds,
)
from archeng.checks import needed, unknown_options
from archeng.errors import ModelError, SettingsError
from archeng.model import INTEGER, REAL, Model, rounded
from archeng.options import OPTION_NAMES, OPTIONS, RESUME_NAMES
from archeng.result import Result, Status
from archeng.runner import resume, solve
from archeng.simulator import Design, EndOfRunError, Evaluation

om: Any = needed("openmdao.api", "openmdao")
_driver: Any = needed("openmdao.core.driver", "openmdao")

logger = logging.getLogger("archeng")

Formula = Callable[[Mapping[str, Any]], Any]

_INFINITE = 1e30  # OpenMDAO's own infinity
_DEVIATION = 0.2  # initial deviation of a variable without both bounds, per max(ref, |start|)
_SUPPORTED = (
    "optimization", "inequality_constraints", "equality_constraints", "two_sided_constraints",
    "integer_design_vars",
)  # fmt: skip
_DECLARED = ("max_evaluations", "max_time", "target", "seed", "restarts", "settings", "journal")
_OF_OPENMDAO = {"simulated", "start", "sense", "simulator_takes", "workers", "timeout"}
_OPTIONS = sorted(set(OPTION_NAMES) - _OF_OPENMDAO)


class ArchengDriver(_driver.Driver):  # type: ignore[misc]
    """Few runs of an expensive model, none of them at a design that violates a formula.

    Parameters
    ----------
    **kwargs
        Options: ``max_evaluations``, ``max_time``, ``target``, ``seed``, ``restarts``,
        ``settings``, ``journal``, ``resume`` (go on with the journal), ``disp``,
        ``equality_tolerance``, the half-width that ``equals=`` of a constraint gets, because a
        simulation hits a single value only by chance; and ``model``, an :class:`archeng.Model` of
        formulas. Its variables are the design variables, with the bounds of both; its outputs are
        variables of OpenMDAO by their names, in the units that the model gives them. Its objective
        takes the place of OpenMDAO's; constraints of OpenMDAO are simulated ones besides its own.
        ``gradients=True``: OpenMDAO computes the derivatives of these outputs at every design.

    Attributes
    ----------
    opt_settings : dict
        Further keywords of :func:`archeng.solve`, such as ``{"population_size": 12}``.
    archeng_result : archeng.Result or None
        Everything about the last run. Values are unscaled, in the units of the declarations.

    Notes
    -----
    An ``AnalysisError`` is a failed call: the design ranks last. Other exceptions end the run.
    After the run the model is run once more and stands at the best design. An objective with a
    negative ``scaler`` or ``ref`` is maximised. Scaling of the variables does not change the
    search, except that ``ref`` is the typical size of a variable without bounds. Constraints
    declared ``linear=True`` are simulated like the others: write them as explicit ones instead.
    Discrete variables of OpenMDAO are integers, and need both bounds.
    The model runs in this process only, one design at a time. Designs are certified in the units
    of ``add_design_var``; OpenMDAO then converts them to the units of the model, which rounds.
    """

    def __init__(self, **kwargs: Any) -> None:
        self._explicit: dict[str, tuple[Formula, dict[str, Any]]] = {}
        self.opt_settings: dict[str, Any] = {}
        self.archeng_result: Result | None = None
        super().__init__(**kwargs)
        for feature in self.supports:
            self.supports[feature] = feature in _SUPPORTED
        self.supports._read_only = True
        self.cite = _CITE

    def _declare_options(self) -> None:
        """Declare what the constructor takes."""
        declare = self.options.declare
        declare("name", "openmdao", types=str, desc="Of the problem, for tables and journals.")
        for option in (OPTIONS[name] for name in _DECLARED):
            about = {"desc": option.help, "check_valid": option.check}
            declare(option.name, option.default, allow_none=True, **about)
        what = "Formulas whose outputs are variables of OpenMDAO."
        declare("model", None, types=Model, allow_none=True, recordable=False, desc=what)
        what = "Ask OpenMDAO for total derivatives of the outputs of the model, too."
        declare("gradients", False, types=bool, desc=what)
        declare("resume", False, types=bool, desc="Go on with the run of the journal.")
        declare("disp", False, types=bool, desc="Show progress on standard error.")
        declare("equality_tolerance", 1e-4, lower=0.0, desc="Half-width of equality constraints.")

    def add_explicit(
        self,
        name: str,
        formula: Formula,
        *,
        lower: Any = None,
        upper: Any = None,
        equals: Any = None,
        tolerance: float | None = None,
    ) -> None:
        """Add an explicit constraint: a formula of the design variables.

        Parameters
        ----------
        name : str
        formula : callable
            Takes a mapping from the names of the design variables to CasADi symbols, unscaled
            and in the units of ``add_design_var``, and returns a CasADi expression; or a
            relation (``a <= b``) if no limits are given.
        lower, upper, equals : float or array, optional
        tolerance : float, optional
            Half-width of an equality; by default relative to its row.
        """
        if not callable(formula):
            raise ModelError(f"Explicit constraint {name!r}: the formula must be callable.")
        if equals is not None:
            if lower is not None or upper is not None:
                raise ModelError(f"Explicit constraint {name!r}: equals excludes lower and upper.")
            lower = upper = equals
        limits = {"lower": lower, "upper": upper, "tolerance": tolerance}
        self._explicit[name] = formula, limits

    def run(self) -> bool:
        """Optimise; True if it did not converge (or not reach the target)."""
        self.result.reset()
        self.iter_count = 0
        given = self.options["model"]
        if given is None or not given.has_objective:
            self._check_for_missing_objective()
        self._check_for_invalid_desvar_values()
        model = self._archeng_model() if given is None else self._with_formulas(given)
        keywords = self._keywords()
        try:
            if self.options["resume"]:
                more = {k: v for k, v in keywords.items() if k in RESUME_NAMES and v is not None}
                self.archeng_result = resume(
                    keywords["journal"], self._simulate, model=model, **more
                )
            else:
                self.archeng_result = solve(
                    model,
                    self._simulate,
                    simulated={name: limits for name, *_, limits in self._limits()},
                    sense="maximize" if self._maximised() else "minimize",
                    start=self._start(model),
                    **keywords,
                )
        except _UnexpectedError as carrier:
            raise carrier.error from None
        result = self.archeng_result
        if result.status is Status.NONE:
            return True
        self._run_at(result.design)
        return not result.success

    # -- the problem ------------------------------------------------------------------------

    def _archeng_model(self) -> Model:
        """Design variables and explicit constraints as a model."""
        if not self._designvars:
            raise ModelError("The problem has no design variables.")
        start = self.get_design_var_values(driver_scaling=False)
        model = Model(self.options["name"])
        symbols = {}
        for name, meta in self._designvars.items():
            x = np.asarray(start[name], dtype=float).reshape(-1)
            size = x.size
            low, high = _bounds(meta, size)
            unit = 1 / np.abs(_scaler(meta))
            width = np.where(
                np.isfinite(high - low), (high - low) / 5, _DEVIATION * np.maximum(unit, np.abs(x))
            )
            width = np.where(width > 0, width, unit)  # fixed: not used
            values = {"lower": low, "upper": high, "start": x, "scale": width}
            options = {k: v[0] if size == 1 else v for k, v in values.items()}
            whole = INTEGER if name in self._designvars_discrete else REAL
            symbols[name], _ = model.declare(
                name,
                shape=() if size == 1 else size,
                unit=meta["units"] or "",
                **rounded(whole, **options),
            )
        for name, (formula, limits) in self._explicit.items():
            code = getattr(formula, "__code__", None)
            source = type(formula).__name__
            if code is not None:
                source = f"{Path(code.co_filename).name}:{code.co_firstlineno}"
            try:
                expression = formula(symbols)
            except KeyError as error:
                raise ModelError(
                    f"Explicit constraint {name!r} ({source}): {error} is not a design variable; "
                    f"there are {', '.join(symbols)}."
                ) from error
            model.subject_to(expression, name=name, source=source, **limits)
        return model

    def _with_formulas(self, given: Model) -> Model:
        """Return the user's model with the bounds of OpenMDAO, after checks."""
        if self._explicit:
            raise ModelError(
                f"Explicit constraints {list(self._explicit)}: with model=, write them into the "
                "model by subject_to()."
            )
        if self.options["gradients"] and self._problem().model._owns_approx_jac:
            raise ModelError(
                "gradients=True: OpenMDAO approximates the total derivatives of this model by "
                "differences, which would run it at designs that violate constraints. Leave it out."
            )
        model = with_bounds(given, self._declared())
        check_outputs(model, self._problem())
        if given.has_objective and self._objs:
            logger.info("the objective %s of OpenMDAO is ignored: model= has one", *self._objs)
        return model

    def _declared(self) -> dict[str, Declared]:
        """Return the design variables of OpenMDAO."""
        found = {}
        for name, meta in self._designvars.items():
            size, factor = self._size(name, meta), meta.get("unit_scaler")
            low, high = _bounds(meta, size)
            found[name] = Declared(size, meta["units"], low, high, factor or 1.0)
        return found

    def _size(self, name: str, meta: Mapping[str, Any]) -> int:
        """Return the number of entries; OpenMDAO does not count those of discrete variables."""
        discrete = name in self._designvars_discrete
        return int(np.size(self._problem().get_val(name))) if discrete else int(meta["size"])

    def _start(self, model: Model) -> dict[str, Any]:
        """Return the values of the design variables, in the shapes of the model."""
        values = self.get_design_var_values(driver_scaling=False)
        return {v.name: np.reshape(values[v.name], v.shape) for v in model.variables}

    def _limits(self) -> Iterator[tuple[str, str, int, tuple[float | None, float | None]]]:
        """Every scalar constraint of OpenMDAO: its own name, variable, position and limits."""
        for name, meta in self._cons.items():
            size, limits = int(meta["size"]), meta
            if meta["equals"] is not None:
                equal, half = np.asarray(meta["equals"]), self.options["equality_tolerance"]
                limits = {"lower": equal - half, "upper": equal + half}
            for i, pair in enumerate(zip(*_bounds(limits, size), strict=True)):
                low, high = (float(v) if math.isfinite(v) else None for v in pair)
                if (low, high) != (None, None):
                    yield name if size == 1 else f"{name}[{i}]", name, i, (low, high)

    def _maximised(self) -> bool:
        given = self.options["model"]
        if given is not None and given.has_objective:
            return bool(given.objective_sense == "maximize")
        if len(self._objs) != 1 or int(next(iter(self._objs.values()))["size"]) != 1:
            raise ModelError(
                f"There must be one scalar objective; there are {', '.join(self._objs)}. Use "
                "add_objective(..., index=...) or combine them in the model."
            )
        return bool(_scaler(next(iter(self._objs.values())))[0] < 0)

    def _keywords(self) -> dict[str, Any]:
        """Keywords of ``solve`` from the options."""
        options = self.options
        unknown = sorted(set(self.opt_settings) - set(_OPTIONS))
        if unknown:
            raise SettingsError(unknown_options("opt_settings", unknown, _OPTIONS))
        if options["resume"] and options["journal"] is None:
            raise SettingsError("resume=True needs the journal of the run: set journal=.")
        declared = {name: options[name] for name in _DECLARED}
        return {**declared, "verbose": options["disp"], **self.opt_settings}

    # -- running the model ------------------------------------------------------------------

    def _simulate(self, design: Design) -> Evaluation:
        """Run the model; an AnalysisError is a failed call, other errors end the run."""
        given, gradients = self.options["model"], {}
        try:
            self._run_at(design)
            if given is not None and self.options["gradients"]:
                gradients = gradients_now(given, self._problem(), self._declared())
        except om.AnalysisError:
            self._problem().model._clear_iprint()
            raise
        except Exception as error:
            raise _UnexpectedError(error) from None
        values = self.get_constraint_values(driver_scaling=False)
        return Evaluation(
            self._objective(design),
            constraints={
                own: float(np.asarray(values[name]).reshape(-1)[i])
                for own, name, i, _ in self._limits()
            },
            outputs={} if given is None else outputs_now(given, self._problem()),
            gradients=gradients,
        )

    def _objective(self, design: Design) -> float | None:
        """Objective of OpenMDAO, or of the model; None if it is a formula of outputs."""
        given = self.options["model"]
        if given is not None and given.has_objective:
            return None if given.outputs else given.objective_function()(design)
        (objective,) = self.get_objective_values(driver_scaling=False).values()
        return float(np.asarray(objective).reshape(-1)[0])

    def _run_at(self, design: Design) -> None:
        """Set the design variables and run the model, recorded as one iteration."""
        for name in self._designvars:
            self._set_design_var(name, np.ravel(design[name]))
        with _driver.RecordingDebugging(self._get_name(), self.iter_count, self) as record:
            self.iter_count += 1
            self._run_solve_nonlinear()
            record.abs = record.rel = 0.0

    def _get_name(self) -> str:
        """Name of the driver in recorded cases."""
        return "archeng"


class _UnexpectedError(EndOfRunError):
    """Carries an error of the model through archeng, which would count it as a failed call."""

    def __init__(self, error: Exception) -> None:
        super().__init__(str(error))
        self.error = error


def _bounds(meta: Mapping[str, Any], size: int) -> tuple[Any, Any]:
    """Lower and upper limits (size,) of a declaration; infinite where there is none."""
    limits = []
    for side, endless in (("lower", -np.inf), ("upper", np.inf)):
        value = endless if meta[side] is None else meta[side]
        full = np.broadcast_to(np.asarray(value, dtype=float), (size,))
        limits.append(np.where(np.abs(full) >= _INFINITE, np.copysign(np.inf, full), full))
    return limits[0], limits[1]


def _scaler(meta: Mapping[str, Any]) -> Any:
    scaler = meta["total_scaler"]
    return np.ones(1) if scaler is None else np.atleast_1d(np.asarray(scaler, dtype=float))


_CITE = """
@article{SakamotoAkimoto2022,
    author = {Naoki Sakamoto and Youhei Akimoto},
    title = {Adaptive Ranking-based Constraint Handling for Explicitly Constrained Black-Box
             Optimization},
    journal = {Evolutionary Computation},
    volume = {30},
    number = {4},
    year = {2022},
}
"""
