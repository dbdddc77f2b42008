"""`Result`: what ``solve`` returns. Plain data, saved as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from enum import StrEnum
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from archeng.checks import needed
from archeng.errors import ModelError, SettingsError
from archeng.model import ModelValues, Output, Parameter, Variable, all_values, is_pyomo
from archeng.records import (
    Activity,
    CallRecord,
    Estimate,
    Floats,
    Generation,
    NeighbourAtBest,
    OutputAtBest,
    ParameterSensitivity,
    RowAtBest,
    SimulatedAtBest,
    VariableAtBest,
    call_table,
    entries_of,
)
from archeng.result_file import read_result, write_result
from archeng.simulator import Design
from archeng.strategy import StopReason
from archeng.surrogate import Optimality


class Status(StrEnum):
    """What the best design is."""

    TARGET = "a feasible design that reaches the target"
    WITHIN_NOISE = "the best design by its estimate: the noise hides any further gain"
    CONVERGED = "a feasible design to which the search has converged"
    STOPPED = "the best feasible design when the run was stopped"
    SO_FAR = "the best feasible design so far"
    VIOLATING = "the least violating design: none satisfies all simulated constraints"
    NONE = "no design: no simulation of a feasible design ended well"


@dataclass(frozen=True, eq=False, repr=False)
class Result:
    """Outcome of a run.

    Attributes
    ----------
    x : ndarray
        Best design as a flat vector, fixed variables included; rows of tables by their numbers
        (``design`` has them by their names).
    fun : float
        Its objective.
    status : Status
        What the design is.
    stop_reason : StopReason
        Why the run ended; ``message`` says it in words.
    evaluations : tuple of CallRecord
        Every simulator call.
    history : tuple of Generation
        Every generation.
    rows : tuple of RowAtBest
        Every explicit constraint at the best design.
    simulated : tuple of SimulatedAtBest
        Every simulated constraint there.
    outputs : dict
        What the simulator returned there by name: declared outputs of the model, and others.
    activity : tuple of Activity
        What blocked the design: for every constraint how often and how far designs were repaired
        onto it, and the estimated gain in the objective per unit of relaxation.
    optimality : Optimality or None
        What speaks for the best design being a local optimum: what could still be gained around it
        to first order, from how many designs; None as long as the run goes on, and without models.
    provenance : dict
        Versions, seed and settings.
    parameters : tuple of Parameter
        Parameters of the model, with the values of this run.
    declared_outputs : tuple of Output
        Outputs that the model declares, with their units.
    sensitivities : tuple of ParameterSensitivity
        How the best objective changes with each parameter, to first order; with discrete variables
        while these are held.
    neighbours : tuple of NeighbourAtBest
        The next values of discrete variables, and which explicit constraints they would violate.
    independents : tuple of str
        The variables that were searched, if equations were solved for the others; else empty. The
        equations are not among the rows.
    estimate : Estimate or None
        If the simulator is noisy: the objective of the best design, which is the one with the best
        estimate, with its interval, and the noise. ``fun`` is the estimate, then.
    objective_name, objective_formula : str
        Of the model; empty if the simulator returns the objective itself.
    cheaper : tuple of CallRecord
        Calls of cheaper simulators, if there were several; ``evaluations`` are those of the last
        one, which everything else is about.
    costs : tuple of float
        What a call of each simulator costs, the cheapest first.
    """

    name: str
    x: Floats
    fun: float
    variables: tuple[Variable, ...]
    status: Status
    stop_reason: StopReason
    maximize: bool
    evaluations: tuple[CallRecord, ...]
    history: tuple[Generation, ...]
    rows: tuple[RowAtBest, ...]
    provenance: Mapping[str, Any]
    simulated: tuple[SimulatedAtBest, ...] = ()
    outputs: Mapping[str, Any] = field(default_factory=dict)
    activity: tuple[Activity, ...] = ()
    optimality: Optimality | None = None
    parameters: tuple[Parameter, ...] = ()
    declared_outputs: tuple[Output, ...] = ()
    objective_name: str = ""
    objective_formula: str = ""
    sensitivities: tuple[ParameterSensitivity, ...] = ()
    neighbours: tuple[NeighbourAtBest, ...] = ()
    independents: tuple[str, ...] = ()
    estimate: Estimate | None = None
    cheaper: tuple[CallRecord, ...] = ()
    costs: tuple[float, ...] = (1.0,)

    @property
    def design(self) -> Design:
        """The best design by name, as in ``result.design["thickness"]``."""
        return Design(self.variables, self.x, self.parameters)

    @property
    def nfev(self) -> int:
        """Number of simulator calls."""
        return sum(e.status != "reused" for e in self.evaluations)

    @property
    def cost(self) -> float:
        """What all calls cost; with one simulator their number."""
        return float(sum(n * cost for n, cost in zip(self.calls_by_level, self.costs, strict=True)))

    @property
    def calls_by_level(self) -> tuple[int, ...]:
        """Calls of each simulator, the cheapest first; the last number is ``nfev``."""
        made = [e.level for e in self.cheaper if e.status != "reused"]
        return (*(made.count(level) for level in range(len(self.costs) - 1)), self.nfev)

    @property
    def all_calls(self) -> list[CallRecord]:
        """Calls of all simulators, in the order of the run."""
        return sorted((*self.evaluations, *self.cheaper), key=lambda call: call.index)

    @property
    def success(self) -> bool:
        """Whether the target was reached or, if none was given, the search converged.

        Under noise: whether any further gain is less than the noise lets one see.
        """
        return self.status in (Status.TARGET, Status.CONVERGED, Status.WITHIN_NOISE)

    @property
    def message(self) -> str:
        """Why the run ended, in words."""
        return str(self.stop_reason.value)

    @property
    def ended(self) -> bool:
        """Whether the run has ended; a result read from a journal may be of one that has not."""
        return self.state == "ended"

    @property
    def n_infeasible_calls(self) -> int:
        """Simulator calls at designs that violate an explicit constraint, 0 unless allowed."""
        return sum(not e.feasible and e.status != "reused" for e in self.all_calls)

    @property
    def active(self) -> list[str]:
        """Names of the explicit constraints that are active at the best design."""
        return [r.name for r in self.rows if r.active]

    @property
    def state(self) -> str:
        """Whether the run has ``ended``, is ``running``, or was ``cut off``."""
        unfinished = {StopReason.RUNNING: "running", StopReason.CUT_OFF: "cut off"}
        return unfinished.get(self.stop_reason, "ended")

    @cached_property
    def variables_at_best(self) -> list[VariableAtBest]:
        """Every scalar variable with its bounds; values are NaN if there is no design."""
        values = iter(self.x)
        return [
            VariableAtBest(name, float(next(values)), float(lower), float(upper), v.unit, v.domain)
            for v in self.variables
            for name, lower, upper in zip(v.element_names(), v.lower, v.upper, strict=True)
        ]

    @cached_property
    def outputs_at_best(self) -> list[OutputAtBest]:
        """Every scalar entry of the outputs that the model declares; empty without a design."""
        return [
            OutputAtBest(label, value, output.unit)
            for output in self.declared_outputs
            if output.name in self.outputs
            for label, value in entries_of(output, self.outputs[output.name]).items()
        ]

    @property
    def other_outputs(self) -> dict[str, Any]:
        """Outputs at the best design that the model does not declare."""
        declared = {output.name for output in self.declared_outputs}
        return {name: value for name, value in self.outputs.items() if name not in declared}

    @cached_property
    def best_so_far(self) -> Floats:
        """Best objective (k,) of the acceptable calls up to each; NaN before the first."""
        values = np.array([e.objective if e.acceptable else np.nan for e in self.evaluations])
        return np.asarray((np.fmax if self.maximize else np.fmin).accumulate(values), dtype=float)

    @cached_property
    def best_calls(self) -> list[CallRecord]:
        """Acceptable calls, best first, each design once."""
        sign = -1.0 if self.maximize else 1.0
        acceptable = [e for e in self.evaluations if e.acceptable]
        unique: dict[bytes, CallRecord] = {}
        for e in sorted(acceptable, key=lambda e: sign * e.objective):
            unique.setdefault(e.x.tobytes(), e)
        return list(unique.values())

    @property
    def failures(self) -> list[CallRecord]:
        """Calls that did not end well."""
        return [e for e in self.evaluations if not e.good]

    def plot(self, kind: str = "convergence") -> Any:
        """Return a matplotlib figure; needs ``archeng[plot]``.

        Parameters
        ----------
        kind : str
            ``convergence``: objective over the calls. ``time``: the same over time.
            ``variables``: each variable over the calls. ``parallel``: the best designs in
            parallel coordinates. ``activity``: what blocked the design. ``simulated``: the
            simulated constraints over the calls. ``repairs``: how designs came to be feasible.
            ``search``: the search inside. ``failures``: how calls ended.

        Raises
        ------
        SettingsError
            If there is no such kind, or nothing of that kind to show.
        """
        from archeng.report.figures import plot  # reports are made of results: a layer above

        return plot(kind, self)

    def report(self, path: str | Path) -> None:
        """Write a report: one HTML file that needs nothing else, or a PDF.

        Parameters
        ----------
        path : path
            ``*.pdf`` for a PDF, anything else for HTML; overwritten if it exists.

        Raises
        ------
        MissingPackageError
            Without matplotlib (``pip install 'archeng[plot]'``); for a PDF without Chromium, Chrome
            or Edge, which prints it.
        SettingsError
            If the file cannot be written.
        """
        from archeng.report import write_report

        write_report(self, path)

    def to_pandas(self) -> Any:
        """Return every call as a `pandas.DataFrame`: one row per call, one column per variable.

        Simulated constraints and outputs are columns ``constraints.NAME`` and ``outputs.NAME``;
        declared vectors have one for each entry, such as ``outputs.stress[0]``. Values of
        discrete variables are as they were written, rows of tables by their names.
        """
        needed("pandas", "pandas", SettingsError)
        import pandas

        columns = [f.name for f in fields(CallRecord) if f.type in ("int", "float", "str")]
        if not self.cheaper:
            columns.remove("level")
        header, rows = call_table(self.all_calls, columns, self.variables, self.declared_outputs)
        return pandas.DataFrame(rows, columns=header)

    def load_into(self, model: Any) -> None:
        """Write the best design into the variables of a Pyomo model, by their names.

        Outputs of black boxes of the model, and variables that equalities define by them, get
        their values, too.

        Raises
        ------
        ModelError
            If the model lacks one of the variables, or the result has no design.
        """
        if not is_pyomo(model):
            raise ModelError(f"load_into() takes a Pyomo model, got {type(model).__name__}.")
        if self.status is Status.NONE:
            raise ModelError(f"There is nothing to load: {self.status.value}.")
        values = pyomo_values(self, model)
        ModelValues(model, values).set(values)

    def __str__(self) -> str:
        from archeng.report.text import result_text

        return result_text(self)

    def __repr__(self) -> str:
        return (
            f"<archeng.Result {self.name!r}: fun={self.fun:.8g}, nfev={self.nfev}, "
            f"success={self.success}, {self.message}>"
        )

    def save(self, path: str | Path) -> None:
        """Write the result as JSON (no code in it, exact floats).

        Raises
        ------
        ResultFileError
            If the file cannot be written.
        """
        write_result(self, path)

    @classmethod
    def load(cls, path: str | Path) -> Result:
        """Read a result that :meth:`save` wrote.

        Raises
        ------
        ResultFileError
            If the file is not such a result, or is damaged.
        """
        return read_result(cls, path)


def pyomo_values(result: Result, model: Any) -> dict[str, float]:
    """Return the best design as values of Pyomo's variables by name, with all that follows."""
    outputs = {output.name: result.outputs[output.name] for output in result.declared_outputs}
    parameters = {parameter.name: parameter.value for parameter in result.parameters}
    return all_values(model, result.design, outputs, parameters)
