"""`Result`: what ``solve`` returns. Plain data, saved as JSON."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from enum import StrEnum
from pathlib import Path
from typing import Any

import numpy as np

from archeng.checks import file_path
from archeng.errors import ModelError, ResultFileError, SettingsError
from archeng.model import ModelValues, Variable, is_pyomo
from archeng.records import (
    Activity,
    CallRecord,
    Floats,
    Generation,
    RowAtBest,
    SimulatedAtBest,
    column_names,
    extra_columns,
    extras_of,
)
from archeng.report.figures import plot
from archeng.report.files import write_report
from archeng.report.shown import Shown, variables_at
from archeng.report.tables import result_table
from archeng.simulator import Design
from archeng.strategy import StopReason
from archeng.surrogate import Optimality

_FORMAT = "archeng-result"
_FORMAT_VERSION = 2
_READABLE = (1, _FORMAT_VERSION)
_NOT_COLUMNS = (
    "x", "sampled", "constraints", "violated", "outputs", "repair_rows", "repair_multipliers",
)  # fmt: skip


class Status(StrEnum):
    """What the best design is."""

    TARGET = "a feasible design that reaches the target"
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
        Best design as a flat vector, fixed variables included.
    fun : float
        Its objective.
    design : Design
        The same by name: ``result.design["thickness"]``.
    nfev : int
        Number of simulator calls.
    success : bool
        The target was reached or, if none was given, the search converged.
    status : Status
        What the design is.
    stop_reason : StopReason
        Why the run ended; ``message`` says it in words.
    n_infeasible_calls : int
        Simulator calls at designs that violate an explicit constraint: 0.
    evaluations : tuple of CallRecord
        Every simulator call.
    history : tuple of Generation
        Every generation.
    rows : tuple of RowAtBest
        Every explicit constraint at the best design.
    simulated : tuple of SimulatedAtBest
        Every simulated constraint there.
    outputs : dict
        What else the simulator returned there.
    activity : tuple of Activity
        What blocked the design: for every constraint how often and how far designs were repaired
        onto it, and the estimated gain in the objective per unit of relaxation.
    optimality : Optimality or None
        What speaks for the best design being a local optimum: what could still be gained around it
        to first order, from how many designs; None as long as the run goes on, and without models.
    provenance : dict
        Versions, seed and settings.
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

    @property
    def design(self) -> Design:
        """The best design by name."""
        return Design(self.variables, self.x)

    @property
    def nfev(self) -> int:
        """Number of simulator calls."""
        return sum(e.status != "reused" for e in self.evaluations)

    @property
    def success(self) -> bool:
        """Whether the target was reached or, if none was given, the search converged."""
        return self.status in (Status.TARGET, Status.CONVERGED)

    @property
    def message(self) -> str:
        """Why the run ended, in words."""
        return str(self.stop_reason.value)

    @property
    def ended(self) -> bool:
        """Whether the run has ended; a result read from a journal may be of one that has not."""
        return self.stop_reason not in (StopReason.RUNNING, StopReason.CUT_OFF)

    @property
    def n_infeasible_calls(self) -> int:
        """Simulator calls at designs that violate an explicit constraint."""
        return sum(not e.feasible and e.status != "reused" for e in self.evaluations)

    @property
    def active(self) -> list[str]:
        """Names of the explicit constraints that are active at the best design."""
        return [r.name for r in self.rows if r.active]

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
        return plot(kind, self.shown)

    def report(self, path: str | Path) -> None:
        """Write a report: one HTML file that needs nothing else, or a PDF.

        Parameters
        ----------
        path : path
            ``*.pdf`` for a PDF, anything else for HTML; overwritten if it exists.

        Raises
        ------
        MissingPackageError
            Without matplotlib (and pypdf for a PDF): ``pip install 'archeng[plot]'``.
        SettingsError
            If the file cannot be written.
        """
        write_report(self.shown, path)

    @property
    def shown(self) -> Shown:
        """What figures and reports show of this result."""
        states = {StopReason.RUNNING: "running", StopReason.CUT_OFF: "cut off"}
        return Shown(
            name=self.name,
            status=self.status.value,
            message=self.message,
            state=states.get(self.stop_reason, "ended"),
            x=self.x,
            fun=self.fun,
            maximize=self.maximize,
            variables=self.variables,
            evaluations=self.evaluations,
            history=self.history,
            rows=self.rows,
            simulated=self.simulated,
            outputs=self.outputs,
            activity=self.activity,
            optimality=self.optimality,
            provenance=self.provenance,
        )

    def to_pandas(self) -> Any:
        """Return every call as a `pandas.DataFrame`: one row per call, one column per variable.

        Simulated constraints and outputs are columns ``constraints.NAME`` and ``outputs.NAME``.
        """
        try:
            import pandas
        except ImportError as error:
            raise SettingsError(
                "to_pandas() needs pandas: pip install 'archeng[pandas]'."
            ) from error
        columns = [f.name for f in fields(CallRecord) if f.name not in _NOT_COLUMNS]
        extra = extra_columns(self.evaluations)
        names = column_names(
            [*columns, *extra], [n for v in self.variables for n in v.element_names()]
        )
        table = pandas.DataFrame(
            [{**{k: getattr(e, k) for k in columns}, **extras_of(e)} for e in self.evaluations],
            columns=[*columns, *extra],
        )
        designs = np.array([e.x for e in self.evaluations]).reshape(len(table), len(names))
        return table.join(pandas.DataFrame(designs, columns=names))

    def load_into(self, model: Any) -> None:
        """Write the best design into the variables of a Pyomo model, by their names.

        Raises
        ------
        ModelError
            If the model lacks one of the variables, or the result has no design.
        """
        if not is_pyomo(model):
            raise ModelError(f"load_into() takes a Pyomo model, got {type(model).__name__}.")
        if self.status is Status.NONE:
            raise ModelError(f"There is nothing to load: {self.status.value}.")
        ModelValues(model, self.design).set(self.design)

    def __str__(self) -> str:
        return result_table(
            self.name,
            self.status.value,
            f"stopped because {self.message}" if self.ended else self.message,
            self.fun,
            variables_at(self.variables, self.x),
            self.rows,
            self.evaluations,
            self.n_infeasible_calls,
            self.simulated,
            self.outputs,
            self.activity,
            self.optimality,
        )

    def __repr__(self) -> str:
        return (
            f"<archeng.Result {self.name!r}: fun={self.fun:.8g}, nfev={self.nfev}, "
            f"success={self.success}, {self.message}>"
        )

    # -- files ----------------------------------------------------------------------------

    def save(self, path: str | Path) -> None:
        """Write the result as JSON (no code in it, exact floats)."""
        data = {
            "format": _FORMAT,
            "version": _FORMAT_VERSION,
            "name": self.name,
            "x": self.x,
            "fun": self.fun,
            "variables": [asdict(v) for v in self.variables],
            "status": self.status.name,
            "stop_reason": self.stop_reason.name,
            "maximize": self.maximize,
            "evaluations": [asdict(e) for e in self.evaluations],
            "history": [asdict(g) for g in self.history],
            "rows": [asdict(r) for r in self.rows],
            "simulated": [asdict(s) for s in self.simulated],
            "outputs": dict(self.outputs),
            "activity": [asdict(a) for a in self.activity],
            "optimality": None if self.optimality is None else asdict(self.optimality),
            "provenance": dict(self.provenance),
        }
        text = json.dumps(_plain(data), allow_nan=False)
        try:
            file_path("path", path, ResultFileError).write_text(text, encoding="utf-8")
        except OSError as error:
            raise ResultFileError(f"{path}: cannot be written ({error.strerror}).") from error

    @classmethod
    def load(cls, path: str | Path) -> Result:
        """Read a result that :meth:`save` wrote.

        Raises
        ------
        ResultFileError
            If the file is not such a result, or is damaged.
        """
        file = file_path("path", path, ResultFileError)
        try:
            data = _restored(json.loads(file.read_text(encoding="utf-8")))
        except (OSError, ValueError, RecursionError) as error:
            raise ResultFileError(f"{path}: cannot be read as a result: {error}") from error
        if not isinstance(data, dict) or data.get("format") != _FORMAT:
            raise ResultFileError(f"{path}: not an archeng result file.")
        if data.get("version") not in _READABLE:
            raise ResultFileError(
                f"{path}: file version {data.get('version')}, this archeng reads {_FORMAT_VERSION}."
            )
        try:
            result = cls(
                name=str(data["name"]),
                x=_array(data["x"]),
                fun=_float(data["fun"]),
                variables=tuple(_record(Variable, v) for v in data["variables"]),
                status=Status[data["status"]],
                stop_reason=StopReason[data["stop_reason"]],
                maximize=bool(data["maximize"]),
                evaluations=tuple(_record(CallRecord, e) for e in data["evaluations"]),
                history=tuple(_record(Generation, g) for g in data["history"]),
                rows=tuple(_record(RowAtBest, r) for r in data["rows"]),
                provenance=data["provenance"],
                simulated=tuple(_record(SimulatedAtBest, s) for s in data.get("simulated", ())),
                outputs=dict(data.get("outputs", {})),
                activity=tuple(_record(Activity, a) for a in data.get("activity", ())),
                optimality=_record(Optimality, o) if (o := data.get("optimality")) else None,
            )
            if not result.variables or sum(v.size for v in result.variables) != len(result.x):
                raise ValueError("variables and x do not belong together")
            return result
        except (KeyError, TypeError, ValueError) as error:
            raise ResultFileError(f"{path}: damaged result file ({error!r}).") from error


def _plain(value: Any) -> Any:
    """Return the value as JSON can hold it; infinities and NaN become ``{"float": "inf"}``."""
    if isinstance(value, np.ndarray):
        return [_plain(v) for v in value.tolist()]
    if isinstance(value, Mapping):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(v) for v in value]
    if isinstance(value, np.generic):
        return _plain(value.item())
    if isinstance(value, float) and not math.isfinite(value):
        return {"float": repr(value)}
    return value


def _restored(value: Any) -> Any:
    """Undo :func:`_plain` for special floats, at any depth."""
    if isinstance(value, dict):
        if set(value) == {"float"} and isinstance(value["float"], str):
            return float(value["float"])
        return {k: _restored(v) for k, v in value.items()}
    if isinstance(value, list):
        return [_restored(v) for v in value]
    return value


def _float(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"{value!r} is not a number")
    return float(value)


def _array(values: Any) -> Floats:
    if not isinstance(values, list):
        raise TypeError(f"{values!r} is not a list of numbers")
    return np.array([_float(v) for v in values], dtype=float)


def _record(kind: Any, data: Any) -> Any:
    """Rebuild a dataclass from its dictionary, arrays and special floats restored."""
    annotations = {f.name: str(f.type) for f in fields(kind)}
    unknown = set(data) - set(annotations)
    if unknown:
        raise ValueError(f"unknown fields {sorted(unknown)} in {kind.__name__}")
    values: dict[str, Any] = {}
    for key, value in data.items():
        if annotations[key] == "Floats":
            values[key] = _array(value)
        elif annotations[key] == "float":
            values[key] = _float(value)
        elif annotations[key].startswith("tuple"):
            values[key] = tuple(value)
        else:
            values[key] = value
    return kind(**values)
