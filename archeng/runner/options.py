"""Options of a run, checked before anything is computed."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from archeng.distribution import (
    Distribution,
    Floats,
    distribution_from_covariance,
    initial_distribution,
)
from archeng.errors import ModelError, SettingsError
from archeng.known import Limits
from archeng.model import FeasibleSet, Model, Sense, is_pyomo
from archeng.report import ProgressLine
from archeng.sampling import deviations
from archeng.settings import Settings
from archeng.simulator import FailurePolicy, make_policy

SimulatorTakes = Literal["design", "model"]

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
        _count("max_evaluations", self.max_evaluations, 1)
        _count("population_size", self.population_size, 4)
        _count("restarts", self.restarts, 0, optional=False)
        if self.max_time is not None and not _real(self.max_time, least=0.0):
            raise SettingsError(f"max_time must be positive seconds, got {self.max_time!r}.")
        if self.target is not None and not _real(self.target):
            raise SettingsError(f"target must be a finite number, got {self.target!r}.")
        if self.sense not in ("minimize", "maximize"):
            raise SettingsError(f'sense must be "minimize" or "maximize", got {self.sense!r}.')
        if self.callback is not None and not callable(self.callback):
            raise SettingsError(f"callback must be callable, got {self.callback!r}.")
        object.__setattr__(self, "simulated", _checked_limits(self.simulated))

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
    progress: Callable[[Any], None] | None = None
    simulator_takes: SimulatorTakes = "design"


def split_options(keywords: Mapping[str, Any]) -> tuple[dict[str, Any], Runtime, dict[str, Any]]:
    """Sort keywords into those of `Options`, a checked `Runtime`, and those of an importer."""
    rest = dict(keywords)
    policy = make_policy(**{k: rest.pop(k) for k in _POLICY if k in rest})
    verbose = rest.pop("verbose", False)
    if not isinstance(verbose, bool):
        raise SettingsError(f"verbose must be True or False, got {verbose!r}.")
    reuse = rest.pop("reuse", ())
    if isinstance(reuse, str | Path):
        reuse = (reuse,)
    if not isinstance(reuse, list | tuple) or not all(isinstance(p, str | Path) for p in reuse):
        raise SettingsError(f"reuse must be a list of paths of journals, got {reuse!r}.")
    journal = rest.pop("journal", None)
    if journal is not None and not isinstance(journal, str | Path):
        raise SettingsError(f"journal must be the path of a file, got {journal!r}.")
    runtime = Runtime(
        workers=rest.pop("workers", None),
        policy=policy,
        journal=journal,
        reuse=tuple(reuse),
        progress=ProgressLine() if verbose else None,
        simulator_takes=rest.pop("simulator_takes", "design"),
    )
    names = [f.name for f in fields(Options)]
    return {k: rest.pop(k) for k in names if k in rest}, runtime, rest


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
            raise SettingsError(f"start must be finite, got {start!r}.")
        return x
    if np.all(np.isnan(fs.start)):
        return None
    low, high = fs.box()
    with np.errstate(invalid="ignore"):
        middle = (low + high) / 2
    return np.where(np.isnan(fs.start), middle, fs.start)


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
        array = np.asarray(named, dtype=float)
    except (TypeError, ValueError) as error:
        raise SettingsError(f"sigma must be numbers, got {sigma!r}: {error}") from error
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
        raise SettingsError(f"sigma must be positive and finite, got {sigma!r}.")
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
            value = np.broadcast_to(np.asarray(sigma[v.name], dtype=float), v.shape)
        parts.append(np.where(v.lower == v.upper, 1.0, value.reshape(-1, order="F")))
    return np.concatenate(parts)


def takes_model(simulator_takes: Any, model: Any, simulator: Any) -> bool:
    """Whether the simulator wants the Pyomo model itself; raise if that cannot be."""
    if simulator_takes not in get_args(SimulatorTakes):
        raise SettingsError(
            f'simulator_takes must be "design" or "model", got {simulator_takes!r}.'
        )
    if simulator_takes == "design":
        return False
    if simulator is None or not is_pyomo(model):
        raise SettingsError(
            'simulator_takes="model" needs a Pyomo model and a simulator that takes it; got '
            f"{type(model).__name__} and {type(simulator).__name__}."
        )
    return True


def check_seed(seed: Any) -> None:
    """Raise unless the seed is None or a non-negative integer."""
    _count("seed", seed, 0)


def check_settings(settings: Any) -> Settings:
    """Return the settings, the defaults for None."""
    if settings is None:
        return Settings()
    if not isinstance(settings, Settings):
        raise SettingsError(f"settings must be an archeng.Settings, got {settings!r}.")
    return settings


def _checked_limits(simulated: Any) -> dict[str, tuple[float | None, float | None]]:
    """Return the limits by name, infinite ones as None."""
    if simulated is None:
        return {}
    if not isinstance(simulated, Mapping):
        raise SettingsError(
            "simulated must map names of constraints to (lower, upper), such as "
            f'{{"stress": (None, 250e6)}}; got {simulated!r}.'
        )
    found: dict[str, tuple[float | None, float | None]] = {}
    for name, limits in simulated.items():
        if not isinstance(name, str) or not name:
            raise SettingsError(f"simulated: names must be texts, got {name!r}.")
        if not isinstance(limits, list | tuple) or len(limits) != 2:
            raise SettingsError(
                f"simulated[{name!r}] must be (lower, upper), None where there is no limit; got "
                f"{limits!r}."
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
    if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
        raise SettingsError(f"simulated[{name!r}]: {value!r} is not a number.")
    if math.isnan(value):
        raise SettingsError(f"simulated[{name!r}]: a limit is NaN.")
    return float(value) if math.isfinite(value) else None


def _count(name: str, value: Any, least: int, optional: bool = True) -> None:
    if value is None and optional:
        return
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise SettingsError(f"{name} must be an integer of at least {least}, got {value!r}.")


def _real(value: Any, least: float = -math.inf) -> bool:
    number = isinstance(value, int | float | np.integer | np.floating)
    return number and not isinstance(value, bool) and math.isfinite(value) and bool(value > least)
