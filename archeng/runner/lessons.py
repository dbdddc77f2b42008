"""What earlier data teach a run with ``data=``: its models, and where it begins.

Tables, results and journals of the same or of a similar simulator, with other constraints or other
values of the parameters maybe. Of a black box, each set of values of the parameters is a `Teacher`.
If the model declares outputs, these are known to be the same function of design and parameters,
whatever the formulas are: they become `Lessons`, with the parameters that the simulator looked at
as further coordinates.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from archeng.codec import encode
from archeng.distribution import Distribution, Floats
from archeng.errors import DataError, ModelError
from archeng.journal import opened_journal
from archeng.model import FeasibleSet, Formulas, Translation, translation
from archeng.outcomes import Lessons, Limits, Teacher
from archeng.ranking import violation_order
from archeng.result import Result
from archeng.runner.data_columns import DataRows, Wanted, flat_parameters, table_rows
from archeng.runner.data_tables import TABLE_ENDINGS, csv_table, frame_table, pairs_table
from archeng.runner.reading import read_journal
from archeng.simulator import output_vector
from archeng.surrogate.belief import knows_itself
from archeng.surrogate.data import frame_at

logger = logging.getLogger("archeng")

_MOST_TEACHERS = 6  # sets of values of the parameters that are used: the nearest ones


@dataclass(frozen=True, eq=False)
class EarlierData:
    """What earlier data teach.

    Attributes
    ----------
    lessons : Lessons or None
        About outputs that the model declares.
    teachers : tuple of Teacher
        About objective and simulated constraints, those with the nearest parameters first.
    start : ndarray or None
        The free vector of the best design in them, not repaired.
    """

    lessons: Lessons | None = None
    teachers: tuple[Teacher, ...] = ()
    start: Floats | None = None

    def start_in(self, wide: Distribution, other: Floats | None) -> Floats | None:
        """Return where to begin: the best design, unless the data contradict themselves.

        ``other`` is where the run begins without; ``wide`` says how lengths are measured.
        """
        if self.start is None:
            return other
        sure = [knows_itself(frame_at(wide, self.start), t) for t in self.teachers[:1]]
        if False in sure:
            logger.info("data: they contradict themselves, and do not say where to begin")
            return other
        return self.start

    def stored(self) -> dict[str, Any]:
        """Return what the header of a journal has of it; the start is part of the state."""
        return {
            "lessons": encode(self.lessons),
            "teachers": [encode(teacher) for teacher in self.teachers],
        }


def learn(
    sources: Sequence[Any],
    columns: Mapping[str, str],
    feasible_set: FeasibleSet,
    limits: Limits,
    sign: float,
    objective_name: str = "",
) -> EarlierData:
    """Return what earlier data teach about a model.

    ``sign`` turns objectives into those to minimise.

    Raises
    ------
    DataError
        If a source cannot be read, or is about something else.
    """
    wanted = Wanted(feasible_set, limits.names, objective_name)
    every = [rows for source in sources if len(rows := _rows(source, wanted, columns))]
    if not every:
        return EarlierData()
    every = [by_formulas(rows, feasible_set) for rows in every]
    lessons = _lessons(every, feasible_set)
    teachers, start = _teachers(every, feasible_set, limits, sign, taught=lessons is not None)
    logger.info(
        "data: %d earlier designs of %s", sum(map(len, every)), ", ".join(r.label for r in every)
    )
    return EarlierData(lessons, teachers, start)


def is_replay(path: Path, seed: int) -> bool:
    """Whether a run may repeat that of a journal: it has the same seed.

    Then designs come up again as long as models agree, and must not be changed by what they teach.
    """
    with opened_journal(path) as journal:
        return bool(journal.header().get("seed") == seed)


# -- sources ---------------------------------------------------------------------------------------


def _rows(source: Any, wanted: Wanted, columns: Mapping[str, str]) -> DataRows:
    """Return the designs of a source in terms of the model."""
    if isinstance(source, Result):
        return _of_result(f"result {source.name!r}", source, wanted)
    if isinstance(source, Path):
        if source.suffix.lower() not in TABLE_ENDINGS:
            return _of_result(str(source), read_journal(source), wanted)
        return table_rows(csv_table(source), wanted, columns)
    if hasattr(source, "columns"):
        return table_rows(frame_table(source), wanted, columns)
    return table_rows(pairs_table(source, wanted.feasible_set.variables, "data"), wanted, columns)


def _of_result(label: str, result: Result, wanted: Wanted) -> DataRows:
    """Return the calls of a run that ended well."""
    fs, formulas = wanted.feasible_set, wanted.feasible_set.formulas
    _check(label, result, fs, formulas)
    translated = _translation(label, result, fs)
    then = {p.name: p.values for p in result.parameters}
    values = np.concatenate([np.zeros(0), *(then[p.name] for p in fs.parameters)])
    full, objectives, simulated, outputs, read = [], [], [], [], set[str]()
    for call in result.evaluations:
        x = translated(call.x) if call.good else None
        if x is None or not fs.has_fixed(x):
            continue
        full.append(x)
        objectives.append(call.objective)
        simulated.append([call.constraints.get(name, np.nan) for name in wanted.constraints])
        if formulas is not None:
            outputs.append(output_vector(formulas, call.outputs))
        read |= set(call.parameters_read)
    k, solved = len(full), fs.dependents is not None  # parameters in equations change dependents
    looked_at = [solved or p.name in read for p in fs.parameters for _ in range(p.size)]
    return DataRows(
        label,
        np.array(full).reshape(k, len(fs.template)),
        np.array(objectives, dtype=float),
        np.array(simulated, dtype=float).reshape(k, len(wanted.constraints)),
        np.array(outputs, dtype=float).reshape(k, 0 if formulas is None else formulas.q),
        np.array([values] * k).reshape(k, len(values)),
        np.array(looked_at, dtype=bool),
    )


def _check(label: str, result: Result, fs: FeasibleSet, formulas: Formulas | None) -> None:
    """Raise if a run was about something else."""
    outputs = () if formulas is None else formulas.outputs
    for what, then, now in (
        ("variables", result.variables, fs.variables),
        ("outputs", result.declared_outputs, outputs),
        ("parameters", result.parameters, fs.parameters),
    ):
        before = {q.name: tuple(q.shape) for q in then}
        differ = [q.name for q in now if before.get(q.name) != tuple(q.shape)]
        same = list(before) == [q.name for q in now]
        if differ or (what == "variables" and not same):
            raise DataError(
                f"data: {label} has the {what} {list(before)}, and the model has "
                f"{[q.name for q in now]}: they must be the same. Of another model: "
                "`archeng export` it as a table, whose columns data_columns= can name."
            )


def _translation(label: str, result: Result, fs: FeasibleSet) -> Translation:
    """Return how designs of a run are read now; rows of tables are found by their names."""
    try:
        return translation(result.variables, fs.variables)
    except ModelError as error:
        raise DataError(f"data: {label}: {error}.") from error


def by_formulas(rows: DataRows, fs: FeasibleSet) -> DataRows:
    """Return rows whose objective and constraints are those of the formulas where there are any."""
    formulas = fs.formulas
    if formulas is None or not len(rows):
        return rows
    objectives, simulated = rows.objectives.copy(), rows.simulated.copy()
    if formulas.objective:
        objectives[:] = np.nan
    for k in np.flatnonzero(np.isfinite(rows.outputs).all(axis=1)):
        with np.errstate(all="ignore"):
            objective, values = fs.formulas_at(rows.x[k], rows.outputs[k])
        if formulas.objective:
            objectives[k] = objective
        simulated[k, : len(formulas.rows)] = values
    return replace(rows, objectives=objectives, simulated=simulated)


# -- lessons and teachers --------------------------------------------------------------------------


def _lessons(every: Sequence[DataRows], fs: FeasibleSet) -> Lessons | None:
    """Return what is known of the outputs; None if nothing is."""
    if fs.formulas is None:
        return None
    known = [np.isfinite(rows.outputs).all(axis=1) for rows in every]
    if not any(k.any() for k in known):
        return None
    both = list(zip(every, known, strict=True))
    points = np.concatenate([[fs.reduce(x) for x in rows.x[k]] for rows, k in both if k.any()])
    outputs = np.concatenate([rows.outputs[k] for rows, k in both])
    apart = np.concatenate([rows.parameters[k] for rows, k in both])
    apart = apart - flat_parameters(fs.parameters)
    looked_at = np.any([rows.looked_at for rows, k in both if k.any()], axis=0)
    apart = apart[:, looked_at & np.any(apart != 0, axis=0)]
    size = np.abs(apart).max(axis=0, initial=0.0)
    return Lessons(points, outputs, apart / size)


def _teachers(
    every: Sequence[DataRows], fs: FeasibleSet, limits: Limits, sign: float, taught: bool
) -> tuple[tuple[Teacher, ...], Floats | None]:
    """Return teachers, one for each set of values of the parameters, and the best design.

    ``taught``: lessons about outputs tell more about what formulas have of them.
    """
    now = flat_parameters(fs.parameters)
    groups: dict[bytes, list[tuple[Teacher, Floats]]] = {}
    apart: dict[bytes, Floats] = {}
    for rows in every:
        differs = np.where(rows.looked_at, rows.parameters - now, 0.0)
        for key in dict.fromkeys(row.tobytes() for row in differs):
            same = np.array([row.tobytes() == key for row in differs], dtype=bool)
            apart[key] = differs[int(np.argmax(same))]
            groups.setdefault(key, []).append((_teacher(rows, same, fs, sign), rows.x[same]))
    size = np.max(np.abs(list(apart.values())), axis=0, initial=0.0)
    size = np.where(size > 0, size, 1.0)
    order = sorted(groups, key=lambda key: float(np.sum((apart[key] / size) ** 2)))
    found = [_joined([teacher for teacher, _ in groups[key]]) for key in order]
    start = _best(found[0], limits, fs)
    if taught:
        found = [_without_formulas(teacher, fs) for teacher in found]
    found = [t.taken(_told(t)) for t in found if _told(t).any()]
    return tuple(found[:_MOST_TEACHERS]), start


def _teacher(rows: DataRows, same: NDArray[np.bool_], fs: FeasibleSet, sign: float) -> Teacher:
    points = np.array([fs.reduce(x) for x in rows.x[same]])
    return Teacher(rows.label, points, sign * rows.objectives[same], rows.simulated[same])


def _joined(teachers: Sequence[Teacher]) -> Teacher:
    if len(teachers) == 1:
        return teachers[0]
    return Teacher(
        ", ".join(t.name for t in teachers),
        np.concatenate([t.points for t in teachers]),
        np.concatenate([t.objectives for t in teachers]),
        np.concatenate([t.simulated for t in teachers]),
    )


def _without_formulas(teacher: Teacher, fs: FeasibleSet) -> Teacher:
    """Return a teacher without what follows from outputs."""
    formulas = fs.formulas
    assert formulas is not None
    objectives, simulated = teacher.objectives.copy(), teacher.simulated.copy()
    if formulas.objective:
        objectives[:] = np.nan
    simulated[:, : len(formulas.rows)] = np.nan
    return replace(teacher, objectives=objectives, simulated=simulated)


def _told(teacher: Teacher) -> NDArray[np.bool_]:
    """Which rows say something."""
    return np.asarray(np.isfinite(teacher.objectives) | np.isfinite(teacher.simulated).any(axis=1))


def _best(teacher: Teacher, limits: Limits, fs: FeasibleSet) -> Floats | None:
    """Return the best design: all constraints hold, else the least violation; None without one.

    Designs that violate explicit constraints come last: they have to be repaired, and what the
    simulator says then is not known.
    """
    usable = np.flatnonzero(np.isfinite(teacher.objectives))
    if not len(usable):
        return None
    inside = np.array([x for x in usable if fs.is_feasible(teacher.points[x])], dtype=np.intp)
    usable = inside if len(inside) else usable
    violations = limits.violations(teacher.simulated[usable])
    violations = np.where(np.isnan(teacher.simulated[usable]), 0.0, violations)
    first = violation_order(teacher.objectives[usable], violations)[0]
    return np.asarray(teacher.points[usable[first]], dtype=float)
