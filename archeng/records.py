"""Plain records of what happened: one per simulator call, one per generation."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from archeng.codec import OMITTED
from archeng.model import REAL, Domain, Output, Parameter, Variable, plain_values

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False, slots=True)
class CallRecord:
    """One simulator call with the certificate of the repair that led to it.

    Attributes
    ----------
    index : int
        Number of the call, from 0.
    x : ndarray
        The full vector that was simulated.
    objective : float
        As the simulator returned it, or by the formula of the model; NaN if the call did not end
        well.
    status : str
        ``ok``, ``failed``, ``invalid``, ``timed_out``, ``lost``, or ``reused`` (not simulated: the
        objective comes from an earlier run).
    max_violation : float
        Largest violation of an explicit constraint at ``x``, evaluated by the gate: 0, unless
        the handler simulates infeasible designs and was allowed to.
    sampled : ndarray
        The candidate that CMA-ES drew, before the repair.
    repair_kind, repair_solver : str
    repair_iterations : int
    repair_distance_squared, kkt_residual : float
    seconds : float
        Time in the simulator.
    message : str
        Traceback or reason if the call did not end well.
    attempts : int
        How often the design was simulated, retries included.
    constraints : mapping of str to float
        Values of the simulated constraints.
    violated : tuple of str
        Names of those that do not hold.
    outputs : mapping
        Outputs by name: those that the model declares, and what else the simulator returned.
    repair_rows : tuple of int
        Explicit constraints that the repaired design reaches, as positions in ``result.rows``.
    repair_multipliers : tuple of float
        Of these rows in the projection: half the squared distance, in standard deviations, that a
        unit of relaxation would save.
    elapsed : float
        Seconds since the run began when the call had ended (a resumed run goes on counting where
        it stopped); NaN if that was not recorded.
    gradients : mapping
        Derivatives (size, n) of outputs that the simulator gave, by name.
    parameters_read : tuple of str
        Parameters of the model that the simulator looked at.
    repair_open : bool
        Whether a design with other levels of the discrete variables may be nearer to what was
        sampled: the branch and bound of the repair ended at its limit.
    level : int
        Which of several simulators was called, 0 for the cheapest; 0 if there is only one.
    sent : int
        Number of the candidate, in the order in which they were made, from 1, in an asynchronous
        run; 0 in others.
    """

    index: int
    generation: int
    restart: int
    x: Floats
    objective: float
    status: str
    max_violation: float
    sampled: Floats
    repair_kind: str
    repair_solver: str
    repair_iterations: int
    repair_distance_squared: float
    kkt_residual: float
    seconds: float
    message: str = ""
    attempts: int = 1
    constraints: Mapping[str, float] = field(default_factory=dict)
    violated: tuple[str, ...] = ()
    outputs: Mapping[str, Any] = field(default_factory=dict)
    repair_rows: tuple[int, ...] = ()
    repair_multipliers: tuple[float, ...] = ()
    elapsed: float = math.nan
    gradients: Mapping[str, Any] = field(default_factory=dict)
    parameters_read: tuple[str, ...] = ()
    repair_open: bool = False
    level: int = 0
    sent: int = 0

    @property
    def good(self) -> bool:
        """Whether there is an objective."""
        return self.status in ("ok", "reused")

    @property
    def feasible(self) -> bool:
        """Whether every explicit constraint holds."""
        return self.max_violation == 0

    @property
    def acceptable(self) -> bool:
        """Whether there is an objective, and all constraints hold, explicit and simulated."""
        return self.good and self.feasible and not self.violated


@dataclass(frozen=True, slots=True)
class Generation:
    """One generation. Times are seconds; ``best`` is the best objective so far.

    ``eigenvalues`` (ascending) are those of the covariance matrix relative to the initial one;
    empty where CMA-ES did not sample (the designs were proposed by a model). ``deviation`` is that
    of the best objective, if the simulator is noisy and it is an estimate. ``level`` says which of
    several simulators was called, 0 for the cheapest.
    """

    generation: int
    restart: int
    population_size: int
    evaluations: int
    best: float
    best_in_generation: float
    sigma: float
    alpha: float
    d_m: float
    condition: float
    n_active: int
    repairs: dict[str, int] = field(default_factory=dict)
    repair_seconds: float = 0.0
    simulator_seconds: float = 0.0
    strategy_seconds: float = 0.0
    eigenvalues: tuple[float, ...] = ()
    deviation: float = field(default=0.0, metadata=OMITTED)
    level: int = field(default=0, metadata=OMITTED)


@dataclass(frozen=True)
class RowAtBest:
    """An explicit constraint at the best design."""

    name: str
    kind: str
    value: float
    lower: float
    upper: float
    active: bool
    source: str = ""


@dataclass(frozen=True)
class SimulatedAtBest:
    """A simulated constraint at the best design."""

    name: str
    value: float
    lower: float
    upper: float
    formula: str = ""  # of the model; empty if the simulator returns the value itself
    source: str = ""
    deviation: float = 0.0  # of the value, which is an estimate if the simulator is noisy

    @property
    def holds(self) -> bool:
        """Whether the value is within its limits."""
        return self.lower <= self.value <= self.upper


@dataclass(frozen=True)
class Estimate:
    """What is known of the best design's objective if the simulator is noisy.

    Attributes
    ----------
    value : float
        Expected objective.
    deviation : float
        Standard deviation of that.
    lower, upper : float
        Interval that holds the true value with a probability of ``confidence``.
    noise : float
        Standard deviation of single calls there, relative to the value if ``relative``.
    calls : int
        How often that design was simulated; others nearby count, too, in the estimate.
    """

    value: float
    deviation: float
    lower: float
    upper: float
    confidence: float
    noise: float
    relative: bool
    calls: int

    @property
    def noise_text(self) -> str:
        """The noise, as people say it."""
        return f"{100 * self.noise:.2g} %" if self.relative else f"{self.noise:.2g}"


@dataclass(frozen=True)
class Activity:
    """How much a constraint blocked the design.

    Attributes
    ----------
    name, kind, source : str
        ``kind`` is ``simulated`` for a simulated constraint.
    repaired : int
        Simulated designs that were repaired onto this constraint; for a simulated one, designs
        that violated it.
    share : float
        The same as a share of all calls.
    distance : float
        Median distance of these repairs, in standard deviations of the search; NaN if none.
    multiplier : float
        Median multiplier in these projections: half the squared distance that a unit of
        relaxation would have saved; NaN if none.
    active : bool
        At the best design.
    gain : float
        Estimated gain in the objective per unit of relaxation, to first order; NaN if it cannot
        be estimated. 0 where the constraint is not active. With discrete variables it is the gain
        by real ones, while the discrete ones are held.
    gain_error : float
        Typical difference of that estimate from those of other models that fit the calls. 0 with
        a gain of NaN: no real variable is in the constraint.
    """

    name: str
    kind: str
    repaired: int
    share: float
    distance: float
    multiplier: float
    active: bool
    gain: float
    gain_error: float
    source: str = ""

    @property
    def certain(self) -> bool:
        """Whether the gain is at least twice its error."""
        return self.gain > 2 * self.gain_error


@dataclass(frozen=True)
class NeighbourAtBest:
    """The best design with one discrete variable at the next value of its list, or another row.

    Attributes
    ----------
    variable, value : str
    violated : dict
        By how much it violates explicit constraints, by their names, with all other variables as
        they are.
    """

    variable: str
    value: str
    violated: Mapping[str, float]


@dataclass(frozen=True)
class ParameterSensitivity:
    """How the best objective changes with a parameter of the model, to first order.

    Attributes
    ----------
    name, unit : str
    value : float
        In this run.
    slope : float
        Change of the best objective per unit of the parameter, the design being optimal again; NaN
        if it cannot be told.
    error : float
        Typical difference of that from those of other models that fit the calls; NaN if unknown.
    complete : bool
        Whether that is all: not if the simulator looks at the parameter, because nobody knows how
        the outputs change with it. Then the slope is that of the formulas alone.
    """

    name: str
    value: float
    unit: str
    slope: float
    error: float
    complete: bool


@dataclass(frozen=True)
class VariableAtBest:
    """A scalar variable at the best design; ``value`` is its flat number."""

    name: str
    value: float
    lower: float
    upper: float
    unit: str
    domain: Domain = REAL

    @property
    def written(self) -> Any:
        """The value as the engineer writes it: a number, or the name of a row."""
        return self.domain.plain(self.value)


@dataclass(frozen=True)
class OutputAtBest:
    """A scalar entry of a declared output at the best design."""

    name: str
    value: float
    unit: str


def extras_of(call: CallRecord, declared: Sequence[Output] = ()) -> dict[str, Any]:
    """Return simulated constraints and outputs of a call as columns of a table.

    Vectors and matrices that the model declares as outputs have a column for each entry.
    """
    columns: dict[str, Any] = {f"constraints.{k}": value for k, value in call.constraints.items()}
    of_model = {output.name: output for output in declared}
    for name, value in call.outputs.items():
        entries = entries_of(of_model[name], value) if name in of_model else {name: value}
        columns |= {f"outputs.{label}": entry for label, entry in entries.items()}
    return columns


def parameters_of(parameters: Sequence[Parameter]) -> dict[str, Any]:
    """Return parameters by name as numbers and lists."""
    return {p.name: np.asarray(p.value).tolist() for p in parameters}


def entries_of(output: Output, value: Any) -> dict[str, Any]:
    """Return an output by the names of its entries; whole if it has not the shape it should."""
    try:
        flat = output.flat(value)
    except ValueError:
        flat = None
    if flat is None:
        return {output.name: value}
    return dict(zip(output.element_names(), flat.tolist(), strict=True))


def call_table(
    calls: Sequence[CallRecord],
    columns: Sequence[str],
    variables: Sequence[Variable],
    outputs: Sequence[Output] = (),
) -> tuple[list[str], list[list[Any]]]:
    """Return header and rows of a table of calls: fields of the records, extras, designs.

    An extra that a call lacks is None. A variable that is named like another column gets
    ``design.`` in front; rows of tables are there by their names. ``outputs`` are those that the
    model declares.
    """
    all_extras = [extras_of(call, outputs) for call in calls]
    extra = list(dict.fromkeys(name for extras in all_extras for name in extras))
    taken = [*columns, *extra]
    rows = []
    for call, extras in zip(calls, all_extras, strict=True):
        fields = (getattr(call, name) for name in columns)
        rows.append([*fields, *map(extras.get, extra), *plain_values(variables, call.x)])
    names = (name for v in variables for name in v.element_names())
    return [*taken, *(f"design.{name}" if name in taken else name for name in names)], rows
