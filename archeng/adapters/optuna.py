"""Runs as Optuna studies, so that Optuna's dashboard and plots open them.

Every simulator call becomes a trial::

    from archeng.adapters.optuna import to_study

    study = to_study(result, storage="sqlite:///run_optuna.db")

and ``archeng export run.db --optuna sqlite:///run_optuna.db`` does it from a journal.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timedelta
from operator import attrgetter
from typing import Any

import numpy as np

from archeng.checks import needed
from archeng.errors import SettingsError
from archeng.model import Domain
from archeng.records import CallRecord, extras_of, parameters_of
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
    about = _about(result)
    if study.trials and study.user_attrs.get(f"{_PREFIX}run") != about["run"]:
        raise SettingsError(f"The study {name!r} is of another run: choose another name.")
    for attribute, value in about.items():
        study.set_user_attr(f"{_PREFIX}{attribute}", value)
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


def _about(result: Result) -> dict[str, Any]:
    """Attributes of the study; ``run`` is the same for the same run, whether it has ended or not.

    ``constraints`` says what the entries of ``trial.constraints`` are, in their order.
    """
    names, origin = [v.name for v in result.variables_at_best], result.provenance
    return {
        "run": f"{result.name} seed {origin.get('seed')} variables {names}",
        "version": str(origin.get("archeng", "")),
        "seed": str(origin.get("seed", "")),
        "status": result.status.value,
        "message": result.message,
        "units": {v.name: v.unit for v in result.variables if v.unit},
        "constraints": [text for text, _ in _constraints(result)],
        **({"parameters": parameters_of(result.parameters)} if result.parameters else {}),
    }


def _trials(result: Result) -> Iterator[Any]:
    ranges, constraints, begin = _ranges(result), _constraints(result), _begin(result)
    domains = _domains(result)
    for call in result.evaluations:
        values = [value(call) for _, value in constraints] if call.good else []
        trial = optuna.trial.create_trial(
            state=optuna.trial.TrialState.COMPLETE if call.good else optuna.trial.TrialState.FAIL,
            value=call.objective if call.good else None,
            params={
                name: _value(domain, float(number))
                for name, domain, number in zip(ranges, domains, call.x, strict=True)
            },
            distributions=ranges,
            user_attrs=_attributes(call, result),
            system_attrs={"constraints": values} if values else None,
        )
        end = begin + timedelta(seconds=_or_zero(call.elapsed))
        trial.datetime_start = end - timedelta(seconds=_or_zero(call.seconds))
        trial.datetime_complete = end
        yield trial


def _ranges(result: Result) -> dict[str, Any]:
    """Distributions of the variables: their bounds, else the range of the simulated designs."""
    ranges = {}
    domains = _domains(result)
    for i, v in enumerate(result.variables_at_best):
        seen = [float(call.x[i]) for call in result.evaluations]
        ends = [end for end in (v.lower, v.upper) if math.isfinite(end)]
        if domains[i].is_discrete:
            ranges[v.name] = _discrete(domains[i], [*ends, *seen])
            continue
        within = [*ends, *seen] or [0.0]  # handlers may simulate outside
        ranges[v.name] = optuna.distributions.FloatDistribution(min(within), max(within))
    return ranges


def _domains(result: Result) -> list[Domain]:
    """Domain of each scalar variable."""
    return [v.domain for v in result.variables for _ in range(v.size)]


def _value(domain: Domain, number: float) -> Any:
    """Return a value as Optuna has it: numbers, and names of rows."""
    value = domain.value(number)
    return str(value) if isinstance(value, str) else value


def _discrete(domain: Domain, ends: Sequence[float]) -> Any:
    """Distribution of a discrete variable between its ends: numbers in equal steps, or a list."""
    levels = domain.levels_between(min(ends), max(ends))
    assert levels is not None
    values = [_value(domain, number) for number in levels.tolist()]
    steps = set(np.diff(levels).tolist())
    if domain.table is not None or len(steps) > 1:
        return optuna.distributions.CategoricalDistribution(values)
    step = steps.pop() if steps else 1
    if all(isinstance(v, int) for v in values):
        return optuna.distributions.IntDistribution(values[0], values[-1], step=int(step))
    return optuna.distributions.FloatDistribution(values[0], values[-1], step=step)


def _constraints(result: Result) -> list[tuple[str, Callable[[CallRecord], float]]]:
    """Texts of the constraints, and what is at most zero where they hold, as Optuna reads it."""

    def beyond(name: str, sign: float, limit: float) -> Callable[[CallRecord], float]:
        return lambda call: sign * (call.constraints.get(name, math.nan) - limit)

    sides: list[tuple[str, Callable[[CallRecord], float]]] = []
    if not all(call.feasible for call in result.evaluations):
        sides.append((EXPLICIT, attrgetter("max_violation")))
    for s in result.simulated:
        if math.isfinite(s.lower):
            sides.append((f"{s.name} >= {s.lower:g}", beyond(s.name, -1.0, s.lower)))
        if math.isfinite(s.upper):
            sides.append((f"{s.name} <= {s.upper:g}", beyond(s.name, 1.0, s.upper)))
    return sides


def _attributes(call: CallRecord, result: Result) -> dict[str, Any]:
    values = {f"{_PREFIX}{name}": getattr(call, name) for name in _ATTRIBUTES}
    values[f"{_PREFIX}message"] = call.message[-_LONGEST:]
    values |= extras_of(call, result.declared_outputs)
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
