"""Options of a run, checked before anything is computed."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from archeng.blas import one_thread
from archeng.checks import (
    choice,
    file_path,
    flag,
    floats,
    integer,
    is_real,
    real,
    seconds,
    shown,
    takes_one,
)
from archeng.distribution import (
    Distribution,
    Floats,
    distribution_from_covariance,
    initial_distribution,
)
from archeng.errors import ModelError, SettingsError
from archeng.known import Limits
from archeng.model import IMPORT_HINTS, FeasibleSet, Model, Sense, is_pyomo
from archeng.progress import ProgressLine
from archeng.sampling import deviations
from archeng.settings import Settings
from archeng.simulator import FailurePolicy, make_policy

SimulatorTakes = Literal["design", "model"]

_LARGEST_SEED = 2**128 - 1  # that of NumPy's own entropy, which results show as their seed
_TABLES = (".csv", ".tsv", ".txt", ".json", ".xlsx", ".parquet")  # what people have instead
_POLICY = ("timeout", "retries", "max_failures", "on_failure")


@dataclass(frozen=True, kw_only=True)
class Options:
    """What the user asked of ``solve`` or ``Run``; see :func:`archeng.solve`."""

    max_evaluations: int | None = None
    max_time: float | None = None
    target: float | None = None
    sense: Sense = "minimize"
    restarts: int = 0
    population_size: int | None = None
    callback: Callable[[Any], None] | None = None
    simulated: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._set("max_evaluations", _optional(integer, "max_evaluations", self, 1))
        self._set("population_size", _optional(integer, "population_size", self, 4))
        self._set("restarts", integer("restarts", self.restarts, 0))
        self._set("max_time", _optional(seconds, "max_time", self))
        self._set("target", _optional(real, "target", self))
        self._set("callback", _optional(takes_one, "callback", self))
        choice("sense", self.sense, get_args(Sense))
        self._set("simulated", _checked_limits(self.simulated))

    def _set(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)

    @property
    def limits(self) -> Limits:
        """Limits of the simulated constraints."""
        lower = [-math.inf if low is None else low for low, _ in self.simulated.values()]
        upper = [math.inf if high is None else high for _, high in self.simulated.values()]
        return Limits(tuple(self.simulated), np.array(lower, float), np.array(upper, float))

    @property
    def sign(self) -> float:
        """Factor that turns the user's objective into one to minimise."""
        return -1.0 if self.sense == "maximize" else 1.0

    def calls_left(self, made: int) -> int | None:
        """Return how many calls the budget still allows; None without a budget."""
        return None if self.max_evaluations is None else max(self.max_evaluations - made, 0)

    def out_of_time(self, seconds: float) -> bool:
        """Whether no further call may begin after so many seconds."""
        return self.max_time is not None and seconds >= self.max_time

    def reached(self, objective: float) -> bool:
        """Whether an objective (as the user sees it) reaches the target."""
        return self.target is not None and self.sign * objective <= self.sign * self.target


@dataclass(frozen=True, kw_only=True)
class Runtime:
    """How the calls are made and kept; see :func:`archeng.solve`."""

    workers: Any = None
    policy: FailurePolicy = field(default_factory=FailurePolicy)
    journal: str | Path | None = None
    reuse: tuple[str | Path, ...] = ()
    progress: ProgressLine | None = None
    simulator_takes: SimulatorTakes = "design"


_RUNTIME = ("workers", *_POLICY, "reuse", "verbose", "simulator_takes")
OPTION_NAMES = (
    *(f.name for f in fields(Options)),
    *("seed", "start", "sigma", "settings", "journal"),
    *_RUNTIME,
)
"""Options of :func:`archeng.solve` and `Run`."""

_CALLS = "archeng counts simulator calls: use max_evaluations=."
FOREIGN_NAMES = {
    **dict.fromkeys(("max_iter", "max_iterations", "maxiter", "maxfev", "max_evals"), _CALLS),
    "n_jobs": "Use workers=.",
    "discrete": IMPORT_HINTS["discrete"],
    "bounds": "Bounds belong to the model: model.variable(name, lower=..., upper=...).",
    "constraints": "Formulas belong to the model: model.subject_to(...); limits of what the "
    "simulator returns into simulated=.",
    "tol": "Use target= or max_evaluations=, or Settings(tol_x=..., tol_objective=...).",
}
"""What other packages call it, and what to write here."""

RESUME_NAMES = (
    *("max_evaluations", "max_time", "target", "callback", "model", "settings", "retry_failed"),
    *_RUNTIME,
)
"""Options of :func:`archeng.resume`."""


def split_options(keywords: Mapping[str, Any]) -> tuple[dict[str, Any], Runtime, dict[str, Any]]:
    """Sort keywords into those of `Options`, a checked `Runtime`, and those of an importer."""
    rest = dict(keywords)
    policy = make_policy(**{k: rest.pop(k) for k in _POLICY if k in rest})
    verbose = flag("verbose", rest.pop("verbose", False))
    journal = rest.pop("journal", None)
    runtime = Runtime(
        workers=rest.pop("workers", None),
        policy=policy,
        journal=None if journal is None else file_path("journal", journal),
        reuse=_journals(rest.pop("reuse", ())),
        progress=ProgressLine() if verbose else None,
        simulator_takes=rest.pop("simulator_takes", "design"),
    )
    names = [f.name for f in fields(Options)]
    return {k: rest.pop(k) for k in names if k in rest}, runtime, rest


def _journals(reuse: Any) -> tuple[Path, ...]:
    """Return the paths of ``reuse=``."""
    if isinstance(reuse, str | os.PathLike):
        reuse = (reuse,)
    if not isinstance(reuse, list | tuple):
        raise SettingsError(f"reuse must be a list of paths of journals, got {shown(reuse)}.")
    paths = tuple(file_path("reuse", path) for path in reuse)
    for path in paths:
        if path.suffix.lower() in _TABLES:
            raise SettingsError(
                f"reuse: {path} is a table, not a journal. reuse= takes the SQLite file that "
                "`solve(..., journal=...)` or `archeng run` wrote; if `archeng export` made this "
                "table, give the journal that it was made from."
            )
    return paths


def start_point(
    model: Model, feasible_set: FeasibleSet, start: Mapping[str, ArrayLike] | ArrayLike | None
) -> Floats | None:
    """Free vector to start from: the option, else the declared starts, else None.

    Variables without a declared start are put midway between their bounds if others have one.
    """
    fs = feasible_set
    if start is not None:
        try:
            x = fs.reduce(model.flat(start))
        except (ModelError, TypeError, ValueError) as error:
            raise SettingsError(f"start: {error}") from error
        if not np.all(np.isfinite(x)):
            raise SettingsError(f"start must be finite, got {shown(start)}.")
        return x
    if np.all(np.isnan(fs.start)):
        return None
    low, high = fs.box()
    with np.errstate(invalid="ignore"):
        middle = (low + high) / 2
    return np.where(np.isnan(fs.start), middle, fs.start)


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


def takes_model(simulator_takes: Any, model: Any, simulator: Any) -> bool:
    """Whether the simulator wants the Pyomo model itself; raise if that cannot be."""
    if choice("simulator_takes", simulator_takes, get_args(SimulatorTakes)) == "design":
        return False
    if simulator is None or not is_pyomo(model):
        raise SettingsError(
            'simulator_takes="model" needs a Pyomo model and a simulator that takes it; got '
            f"{type(model).__name__} and {type(simulator).__name__}."
        )
    return True


def check_seed(seed: Any) -> None:
    """Raise unless the seed is None or a non-negative integer."""
    if seed is not None:
        integer("seed", seed, 0, _LARGEST_SEED)


def check_settings(settings: Any) -> Settings:
    """Return the settings, the defaults for None."""
    if settings is None:
        return Settings()
    if not isinstance(settings, Settings):
        raise SettingsError(f"settings must be an archeng.Settings, got {shown(settings)}.")
    return settings


def _checked_limits(simulated: Any) -> dict[str, tuple[float | None, float | None]]:
    """Return the limits by name, infinite ones as None."""
    if simulated is None:
        return {}
    if not isinstance(simulated, Mapping):
        raise SettingsError(
            "simulated must map names of constraints to (lower, upper), such as "
            f'{{"stress": (None, 250e6)}}; got {shown(simulated)}.'
        )
    found: dict[str, tuple[float | None, float | None]] = {}
    for name, limits in simulated.items():
        if not isinstance(name, str) or not name:
            raise SettingsError(f"simulated: names must be texts, got {shown(name)}.")
        if not isinstance(limits, list | tuple) or len(limits) != 2:
            raise SettingsError(
                f"simulated[{name!r}] must be (lower, upper), None where there is no limit; got "
                f"{shown(limits)}."
            )
        low, high = (_limit(name, value) for value in limits)
        if low is None and high is None:
            raise SettingsError(
                f"simulated[{name!r}] has no limit. What is only to be recorded belongs into the "
                "outputs of archeng.Evaluation."
            )
        if low is not None and high is not None and not low < high:
            raise SettingsError(
                f"simulated[{name!r}]: the lower limit {low!r} must be below the upper {high!r}. "
                "A simulation hits a single value only by chance: give a band around it."
            )
        found[name] = (low, high)
    return found


def _limit(name: str, value: Any) -> float | None:
    """Return a limit; None if it is none or infinite."""
    if value is None:
        return None
    if isinstance(value, float) and math.isinf(value):
        return None
    if not is_real(value):
        raise SettingsError(f"simulated[{name!r}]: {shown(value)} is not a number.")
    return float(value)


def _optional(check: Callable[..., Any], name: str, options: Options, *least: int) -> Any:
    """Return a checked option, or None if it is not given."""
    value = getattr(options, name)
    return None if value is None else check(name, value, *least)
