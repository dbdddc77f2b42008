"""Runs as Optuna studies, so that Optuna's dashboard and plots open them.

Every simulator call becomes a trial::

    from archeng.adapters.optuna import to_study

    study = to_study(result, storage="sqlite:///run_optuna.db")

and ``archeng export run.db --optuna sqlite:///run_optuna.db`` does it from a journal.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

from archeng.adapters import needed
from archeng.errors import SettingsError
from archeng.records import CallRecord, column_names
from archeng.result import Result

optuna: Any = needed("optuna", "optuna")

EXPLICIT = "explicit constraints"
"""Name of the first constraint of a trial, if the run simulated designs that violate some."""

_PREFIX = "archeng."  # of the names of our user attributes
_ATTRIBUTES = (
    "index", "generation", "restart", "status", "seconds", "attempts", "repair_kind",
    "repair_solver", "repair_distance_squared", "max_violation", "message",
)  # fmt: skip
_LONGEST = 2000  # characters of a message; some databases take no more


def to_study(
    result: Result,
    storage: Any = None,
    study_name: str | None = None,
    *,
    update: bool = False,
) -> Any:
    """Write every call of a run into an Optuna study.

    Designs are the parameters, objectives the values. Failed calls are trials in the state FAIL,
    with their message as a user attribute. Simulated constraints are Optuna constraints, at most
    zero where they hold: ``value - upper`` and ``lower - value``, in the order of the study's user
    attribute ``archeng.constraints``. Repairs, outputs and times are user attributes named
    ``archeng.*`` and ``outputs.*``.

    Parameters
    ----------
    result : Result
        Of a run, or of a journal (:func:`archeng.read_journal`).
    storage : str or optuna storage, optional
        Such as ``"sqlite:///study.db"``; by default in memory.
    study_name : str, optional
        By default the name of the model.
    update : bool
        Add only the calls that an existing study of this run lacks.

    Returns
    -------
    optuna.Study
        ``study.best_trial`` is the best design. Trials begin and end when the calls did, as far
        as the result knows: a journal knows when the run began; otherwise the last call is
        taken to have ended now.

    Raises
    ------
    SettingsError
        A study of that name exists already and ``update`` is False, or it is of another run.
    """
    name = result.name if study_name is None else study_name
    study = _study(result, storage, name, update)
    identity = _identity(result)
    if study.trials and study.user_attrs.get(f"{_PREFIX}run") != identity:
        raise SettingsError(f"The study {name!r} is of another run: choose another name.")
    for attribute, value in _about(result, identity).items():
        study.set_user_attr(attribute, value)
    there = Counter(map(_key, study.trials))
    missing = []
    for trial in _trials(result):
        there[_key(trial)] -= 1
        if there[_key(trial)] < 0:
            missing.append(trial)
    study.add_trials(missing)
    return study


def _study(result: Result, storage: Any, name: str, update: bool) -> Any:
    """Make the study, or open the one to be updated."""
    direction = "maximize" if result.maximize else "minimize"
    try:
        return optuna.create_study(
            storage=storage, study_name=name, direction=direction, load_if_exists=update
        )
    except optuna.exceptions.DuplicatedStudyError as error:
        raise SettingsError(
            f"The storage has a study {name!r} already. Choose another name, or update it "
            "(update=True, --update) if it is of this run."
        ) from error
    except Exception as error:  # whatever a database has to say
        raise SettingsError(f"The storage {storage!r} cannot be used: {error}") from error


def _key(trial: Any) -> tuple[Any, ...]:
    """Return what tells the trials of one run apart; equal ones are counted."""
    return (trial.user_attrs.get(f"{_PREFIX}generation"), *sorted(trial.params.items()))


def _identity(result: Result) -> str:
    """Text that is the same for the same run, whether it has ended or not."""
    about = result.provenance
    return f"{result.name} seed {about.get('seed')} variables {_names(result)}"


def _about(result: Result, identity: str) -> dict[str, Any]:
    """Attributes of the study."""
    units = {v.name: v.unit for v in result.variables if v.unit}
    return {
        f"{_PREFIX}run": identity,
        f"{_PREFIX}version": str(result.provenance.get("archeng", "")),
        f"{_PREFIX}seed": str(result.provenance.get("seed", "")),
        f"{_PREFIX}status": result.status.value,
        f"{_PREFIX}message": result.message,
        f"{_PREFIX}units": units,
        f"{_PREFIX}constraints": _constraint_names(result),
    }


def _constraint_names(result: Result) -> list[str]:
    """Say what the entries of ``trial.constraints`` are, in their order."""
    explicit = [EXPLICIT] if any(not call.feasible for call in result.evaluations) else []
    return explicit + [text for text, *_ in _limits(result)]


def _names(result: Result) -> list[str]:
    return column_names((), [n for v in result.variables for n in v.element_names()])


def _trials(result: Result) -> Iterator[Any]:
    names, ranges = _names(result), _ranges(result)
    outside = any(not call.feasible for call in result.evaluations)
    begin = _begin(result)
    for call in result.evaluations:
        trial = optuna.trial.create_trial(
            state=optuna.trial.TrialState.COMPLETE if call.good else optuna.trial.TrialState.FAIL,
            value=call.objective if call.good else None,
            params=dict(zip(names, (float(v) for v in call.x), strict=True)),
            distributions=dict(zip(names, ranges, strict=True)),
            user_attrs=_attributes(call),
            system_attrs=_constraints(result, call, outside) if call.good else None,
        )
        end = begin + timedelta(seconds=_or_zero(call.elapsed))
        trial.datetime_start = end - timedelta(seconds=_or_zero(call.seconds))
        trial.datetime_complete = end
        yield trial


def _ranges(result: Result) -> list[Any]:
    """Distributions of the variables: their bounds, else the range of the simulated designs."""
    lower = [float(a) for v in result.variables for a in v.lower]
    upper = [float(b) for v in result.variables for b in v.upper]
    ranges = []
    for i, (low, high) in enumerate(zip(lower, upper, strict=True)):
        seen = [float(call.x[i]) for call in result.evaluations]
        if not math.isfinite(low):
            low = min(seen, default=0.0)
        if not math.isfinite(high):
            high = max(seen, default=low)
        low, high = min([low, *seen]), max([high, *seen])  # handlers may simulate outside
        ranges.append(optuna.distributions.FloatDistribution(low, high))
    return ranges


def _limits(result: Result) -> list[tuple[str, str, float, float]]:
    """One-sided simulated constraints: a text, the name, and sign and offset of ``<= 0``."""
    sides = []
    for limit in result.simulated:
        if math.isfinite(limit.lower):
            sides.append((f"{limit.name} >= {limit.lower:g}", limit.name, -1.0, limit.lower))
        if math.isfinite(limit.upper):
            sides.append((f"{limit.name} <= {limit.upper:g}", limit.name, 1.0, limit.upper))
    return sides


def _constraints(result: Result, call: CallRecord, outside: bool) -> dict[str, list[float]] | None:
    """Constraints in the form that Optuna and its dashboard read: a list of values <= 0."""
    values = [call.max_violation] if outside else []
    for _, name, sign, limit in _limits(result):
        values.append(sign * (call.constraints.get(name, math.nan) - limit))
    return {"constraints": values} if values else None


def _attributes(call: CallRecord) -> dict[str, Any]:
    values = {f"{_PREFIX}{name}": getattr(call, name) for name in _ATTRIBUTES}
    values[f"{_PREFIX}message"] = call.message[-_LONGEST:]
    values |= {f"constraints.{name}": value for name, value in call.constraints.items()}
    values |= {f"outputs.{name}": value for name, value in call.outputs.items()}
    return {k: v for k, v in values.items() if not (isinstance(v, float) and not math.isfinite(v))}


def _begin(result: Result) -> datetime:
    """When the run began, in local time as Optuna has it."""
    created = result.provenance.get("created")
    if created is not None:
        return datetime.fromisoformat(str(created)).astimezone().replace(tzinfo=None)
    last = max((_or_zero(call.elapsed) for call in result.evaluations), default=0.0)
    return datetime.now() - timedelta(seconds=last)


def _or_zero(value: float) -> float:
    return value if math.isfinite(value) else 0.0
