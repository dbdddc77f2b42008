"""Options of a run, checked before anything is computed."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from archeng.blas import one_thread
from archeng.checks import floats, shown
from archeng.distribution import (
    Distribution,
    Floats,
    distribution_from_covariance,
    initial_distribution,
)
from archeng.errors import ModelError, SettingsError
from archeng.model import FeasibleSet, FormulaTexts, Model, Sense
from archeng.noise import Noise
from archeng.options import OPTIONS, SimulatorTakes
from archeng.outcomes import Limits
from archeng.progress import ProgressLine
from archeng.records import CallRecord
from archeng.sampling import deviations
from archeng.simulator import FailurePolicy
from archeng.strategy import StopReason


@dataclass(frozen=True, kw_only=True)
class Options:
    """What the user asked of ``solve`` or ``Run``; see :func:`archeng.solve`."""

    max_evaluations: int | None = None
    cost: tuple[float, ...] | None = None
    max_cost: float | None = None
    max_time: float | None = None
    target: float | None = None
    sense: Sense = "minimize"
    restarts: int = 0
    population_size: int | None = None  # None: as it suits n and the width
    parallel: int = 1  # the declared width: calls that are made at a time
    asynchronous: bool = False  # whether each finished call is used at once
    callback: Callable[[Any], None] | None = None
    simulated: Mapping[str, Any] = field(default_factory=dict)
    noise: Mapping[str, Noise] | None = None
    confidence: float = 0.95

    def __post_init__(self) -> None:
        for f in fields(self):
            object.__setattr__(self, f.name, OPTIONS[f.name].checked(getattr(self, f.name)))
        if self.asynchronous and self.cost is not None:
            raise SettingsError(
                "asynchronous=True is for one simulator, and cost= says that there are "
                f"{len(self.cost)}. Leave one of the two out."
            )

    def limits(self, formulas: FormulaTexts | None) -> Limits:
        """Limits of all simulated constraints: formulas of the model first, then ``simulated=``."""
        lower = [-math.inf if low is None else low for low, _ in self.simulated.values()]
        upper = [math.inf if high is None else high for _, high in self.simulated.values()]
        limits = Limits(tuple(self.simulated), np.array(lower, float), np.array(upper, float))
        rows = () if formulas is None else formulas.rows
        self.check_names([row.name for row in rows])
        low, high = np.array([(row.lower, row.upper) for row in rows]).reshape(-1, 2).T
        return limits.after(tuple(row.name for row in rows), low, high)

    def check_names(self, rows: Sequence[str]) -> None:
        """Raise if ``simulated=`` has the name of a row of the model."""
        twice = [name for name in rows if name in self.simulated]
        if twice:
            raise SettingsError(
                f"simulated: {twice} are constraints of the model already, as formulas. Leave them "
                "out, or choose other names."
            )

    @property
    def costs(self) -> tuple[float, ...]:
        """What a call of each simulator costs, the cheapest first."""
        return (1.0,) if self.cost is None else self.cost

    @property
    def sign(self) -> float:
        """Factor that turns the user's objective into one to minimise."""
        return -1.0 if self.sense == "maximize" else 1.0

    def reached(self, objective: float) -> bool:
        """Whether an objective (as the user sees it) reaches the target."""
        return self.target is not None and self.sign * objective <= self.sign * self.target

    def reached_by(self, call: CallRecord, search: Any) -> bool:
        """Whether a call reaches the target: not if the simulator is known to be noisy."""
        if not self.reached(call.objective):
            return False
        given = self.noise is not None and any(noise.size > 0 for noise in self.noise.values())
        return not given and getattr(search, "noisy", None) is None

    def expected(self, search: Any) -> StopReason | None:
        """Return that the target is reached under noise: by the estimate, with confidence."""
        noisy = None if self.target is None else getattr(search, "noisy", None)
        if noisy is None or not noisy.deviation > 0:
            return None
        far = NormalDist().inv_cdf(self.confidence) * noisy.deviation
        return StopReason.TARGET if self.reached(self.sign * (noisy.objective + far)) else None


@dataclass(frozen=True, kw_only=True)
class Runtime:
    """How the calls are made and kept; see :func:`archeng.solve`."""

    policy: FailurePolicy
    progress: ProgressLine | None
    workers: Any = None
    journal: Path | None = None
    reuse: tuple[Path, ...] = ()
    data: tuple[Any, ...] = ()
    data_columns: Mapping[str, str] = field(default_factory=dict)
    simulator_takes: SimulatorTakes = "design"


def split_options(keywords: Mapping[str, Any]) -> tuple[dict[str, Any], Runtime, dict[str, Any]]:
    """Sort keywords into those of `Options`, a checked `Runtime`, and those of an importer."""
    rest = dict(keywords)
    chosen = {f.name: rest.pop(f.name) for f in fields(Options) if f.name in rest}
    policy = {f.name: _checked(f.name, rest) for f in fields(FailurePolicy) if f.name in rest}
    how = {
        f.name: _checked(f.name, rest)
        for f in fields(Runtime)
        if f.name in OPTIONS and f.name in rest
    }
    progress = ProgressLine() if "verbose" in rest and _checked("verbose", rest) else None
    return chosen, Runtime(policy=FailurePolicy(**policy), progress=progress, **how), rest


def _checked(name: str, options: dict[str, Any]) -> Any:
    """Take an option out of a dictionary, and return its checked value."""
    return OPTIONS[name].checked(options.pop(name))


def start_point(
    model: Model, feasible_set: FeasibleSet, start: Mapping[str, ArrayLike] | ArrayLike | None
) -> Floats | None:
    """Free vector to start from: the option, else the declared starts, else None.

    Variables without a declared start are put midway between their bounds if others have one.
    Discrete ones are then put at the level there.
    """
    x = _start_vector(model, feasible_set, start)
    lattice = feasible_set.lattice
    return x if x is None or lattice is None else lattice.decode(x)


def _start_vector(
    model: Model, feasible_set: FeasibleSet, start: Mapping[str, ArrayLike] | ArrayLike | None
) -> Floats | None:
    """Free vector to start from, as it was given."""
    fs = feasible_set
    if start is not None:
        x = fs.reduce(full_start(model, start))
        if not np.all(np.isfinite(x)):
            raise SettingsError(f"start must be finite, got {shown(start)}.")
        _check_rows_of_tables(fs, x)
        return x
    if np.all(np.isnan(fs.start)):
        return None
    low, high = fs.box()
    with np.errstate(invalid="ignore"):
        middle = (low + high) / 2
    return np.where(np.isnan(fs.start), middle, fs.start)


def full_start(model: Model, start: Mapping[str, ArrayLike] | ArrayLike) -> Floats:
    """Return the full vector of the option; in a mapping, what is written must be a value."""
    try:
        full = model.flat(start)
        if isinstance(start, Mapping):
            numbers = iter(full.tolist())
            for v in model.variables:
                for name in v.element_names():
                    v.domain.check_value(name, next(numbers))
    except (ModelError, TypeError, ValueError) as error:
        raise SettingsError(f"start: {error}") from error
    return full


def _check_rows_of_tables(fs: FeasibleSet, x: Floats) -> None:
    """Raise if a start (n,) has a number of a row that a table does not have."""
    full = iter(fs.expand(x).tolist())
    for variable in fs.variables:
        for name, value in zip(variable.element_names(), full, strict=False):
            table = variable.domain.table
            if table is not None and variable.domain.violation(value, 0.0, len(table.names) - 1):
                raise SettingsError(
                    f"start: {name} must be the name of a row, or its number from 0 to "
                    f"{len(table.names) - 1}, got {value:g}; there are {table.some_names()}."
                )


@one_thread
def start_distribution(
    model: Model, feasible_set: FeasibleSet, sigma: Mapping[str, ArrayLike] | ArrayLike | None
) -> Distribution:
    """Distribution around the origin with the initial step sizes.

    ``sigma``: None (a fifth of the bounds' width, or the declared scale), one number for all
    variables, one per variable (vector or mapping), or a covariance matrix.
    """
    fs = feasible_set
    origin = np.zeros(fs.n)
    if sigma is None:
        return initial_distribution(origin, deviations(fs))
    try:
        named = _by_name(model, sigma) if isinstance(sigma, Mapping) else sigma
        array = floats(named)
    except (TypeError, ValueError) as error:
        raise SettingsError(f"sigma must be numbers, got {shown(sigma)}: {error}") from error
    full = model.n_variables
    if array.ndim == 2 and array.shape == (full, full):
        matrix = array[np.ix_(fs.free, fs.free)]
        if not np.all(np.isfinite(matrix)) or not np.allclose(matrix, matrix.T, rtol=1e-10, atol=0):
            raise SettingsError("sigma: a covariance matrix must be finite and symmetric.")
        try:
            return distribution_from_covariance(origin, matrix)
        except np.linalg.LinAlgError as error:
            raise SettingsError("sigma: the covariance matrix is not positive definite.") from error
    if array.shape not in ((), (full,)):
        raise SettingsError(
            f"sigma must be one number, {full} numbers, or a {full} x {full} covariance matrix; "
            f"got shape {array.shape}."
        )
    vector = fs.reduce(np.array(np.broadcast_to(array, (full,))))
    if not (np.all(np.isfinite(vector)) and np.all(vector > 0)):
        raise SettingsError(f"sigma must be positive and finite, got {shown(sigma)}.")
    return initial_distribution(origin, vector)


def _by_name(model: Model, sigma: Mapping[str, ArrayLike]) -> Floats:
    """Flat deviations of a mapping; variables that are not named keep their default."""
    names = [v.name for v in model.variables]
    unknown = sorted(set(sigma) - set(names))
    if unknown:
        raise SettingsError(f"sigma: unknown variables {unknown}; the model has {names}.")
    parts = []
    for v in model.variables:
        default = np.where(np.isnan(v.scale), (v.upper - v.lower) / 5.0, v.scale)
        value = default.reshape(v.shape, order="F")
        if v.name in sigma:
            value = np.broadcast_to(floats(sigma[v.name]), v.shape)
        parts.append(np.where(v.lower == v.upper, 1.0, value.reshape(-1, order="F")))
    return np.concatenate(parts)
