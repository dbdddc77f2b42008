"""What earlier runs have learned about the outputs of a simulator, for a run with ``data=``.

Results and journals of the same simulator, with other values of the parameters maybe. Their
objectives are of no use then, but their outputs are: models of the outputs get the parameters that
the simulator looked at as further coordinates.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from archeng.distribution import Floats
from archeng.errors import ModelError, SettingsError
from archeng.model import FeasibleSet, Formulas, Parameter, Translation, translation
from archeng.outcomes import Lessons
from archeng.result import Result
from archeng.runner.reading import read_journal
from archeng.simulator import output_vector

Source = Result | Path


def lessons_of(data: Sequence[Source], feasible_set: FeasibleSet) -> Lessons | None:
    """Return the lessons of earlier runs; None if there are none.

    Raises
    ------
    SettingsError
        If the model has no outputs, or a run has other variables, outputs or parameters.
    """
    if not data:
        return None
    fs, formulas = feasible_set, feasible_set.formulas
    if formulas is None:
        raise SettingsError(
            "data= teaches models of outputs, and the model declares none: model.output(). To use "
            "finished calls of the same problem again there is reuse=."
        )
    points, outputs, values, read = [], [], [], set[str]()
    for source in data:
        label = str(source) if isinstance(source, Path) else f"result {source.name!r}"
        result = read_journal(source) if isinstance(source, Path) else source
        _check(label, result, fs, formulas)
        translated = _translation(label, result, fs)
        then = _flat(result.parameters, [p.name for p in fs.parameters])
        for call in result.evaluations:
            x = translated(call.x) if call.good else None
            if x is not None and fs.has_fixed(x):
                points.append(fs.reduce(x))
                outputs.append(output_vector(formulas, call.outputs))
                values.append(then)
                read |= set(call.parameters_read)
    if not points:
        return None
    apart = np.array(values) - _flat(fs.parameters, [p.name for p in fs.parameters])
    solved = fs.dependents is not None  # parameters in equations change the dependent variables
    looked_at = [solved or p.name in read for p in fs.parameters for _ in range(p.size)]
    apart = apart[:, np.array(looked_at, dtype=bool) & np.any(apart != 0, axis=0)]
    size = np.abs(apart).max(axis=0, initial=0.0)
    return Lessons(np.array(points), np.array(outputs), apart / size)


def _check(label: str, result: Result, fs: FeasibleSet, formulas: Formulas) -> None:
    """Raise if a run was about something else."""
    for what, then, now in (
        ("variables", result.variables, fs.variables),
        ("outputs", result.declared_outputs, formulas.outputs),
        ("parameters", result.parameters, fs.parameters),
    ):
        before = {q.name: tuple(q.shape) for q in then}
        differ = [q.name for q in now if before.get(q.name) != tuple(q.shape)]
        same = list(before) == [q.name for q in now]
        if differ or (what == "variables" and not same):
            raise SettingsError(
                f"data: {label} has the {what} {list(before)}, and the model has "
                f"{[q.name for q in now]}: they must be the same."
            )


def _translation(label: str, result: Result, fs: FeasibleSet) -> Translation:
    """Return how designs of a run are read now; rows of tables are found by their names."""
    try:
        return translation(result.variables, fs.variables)
    except ModelError as error:
        raise SettingsError(f"data: {label}: {error}.") from error


def _flat(parameters: Iterable[Parameter], names: Sequence[str]) -> Floats:
    """Values of parameters as one vector, in the order of names."""
    by_name = {p.name: p.values for p in parameters}
    return np.concatenate([np.zeros(0), *(by_name[name] for name in names)])
