"""`import_table`: a table of earlier designs as a journal, which all commands read."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from archeng.checks import file_path
from archeng.errors import DataError
from archeng.model import FeasibleSet
from archeng.outcomes import Limits
from archeng.records import CallRecord
from archeng.repair import RepairKind
from archeng.result import Result
from archeng.runner.data_columns import DataRows, Wanted, flat_parameters, table_rows
from archeng.runner.data_tables import csv_table
from archeng.runner.lessons import by_formulas
from archeng.runner.reading import read_journal
from archeng.runner.run import Run
from archeng.simulator import CallStatus
from archeng.strategy import StopReason


def import_table(
    table: str | Path,
    journal: str | Path,
    model: Any,
    simulator: Any = None,
    data_columns: Mapping[str, str] | None = None,
    **options: Any,
) -> Result:
    """Write a journal with the designs of a table, as calls that were made elsewhere.

    Nothing is simulated. ``options`` are those of :func:`archeng.solve` that say what the problem
    is. Rows of other values of the model's parameters are another problem, and left out.

    Raises
    ------
    DataError
        If the table cannot be read, or no row is left.
    JournalError
        If the journal exists.
    """
    path, file = file_path("table", table), file_path("journal", journal)
    options.setdefault("seed", 0)
    source = csv_table(path)
    with contextlib.closing(Run(model, simulator, **options)) as run:
        fs, limits = run.feasible_set, run.ledger.limits
        wanted = Wanted(fs, limits.names, run.model.objective_name)
        rows = by_formulas(table_rows(source, wanted, data_columns or {}), fs)
        same = np.all(rows.parameters == flat_parameters(fs.parameters), axis=1)
    if not same.any():
        raise DataError(
            f"{path}: no row has the variables and the parameters of the model. A journal has one "
            "set of values of the parameters: give those of the table."
        )
    calls = [_call(k, row, rows, limits, fs) for k, row in enumerate(np.flatnonzero(same).tolist())]
    with contextlib.closing(Run(model, simulator, **options, journal=file)) as run:
        assert run.ledger.journal is not None
        for position, call in enumerate(calls):
            run.ledger.journal.add_call(position, call)
        run.stop_reason = StopReason.IMPORTED
    return read_journal(file)


def _call(index: int, row: int, rows: DataRows, limits: Limits, fs: FeasibleSet) -> CallRecord:
    """Return a row as the record of a call."""
    x = rows.x[row]
    values = rows.simulated[row]
    known = math.isfinite(rows.objectives[row]) and bool(np.all(np.isfinite(rows.outputs[row])))
    known = known and bool(np.all(np.isfinite(values)))
    violations = fs.violations(fs.reduce(x))
    outside = float(violations.max(initial=0.0))
    violated = [n for n, v in zip(limits.names, limits.violations(values), strict=True) if v > 0]
    outputs: dict[str, Any] = {}
    first = 0
    for output in () if fs.formulas is None else fs.formulas.outputs:
        flat = rows.outputs[row, first : first + output.size]
        outputs[output.name] = flat.reshape(output.shape, order="F").tolist()
        first += output.size
    return CallRecord(
        index=index,
        generation=0,
        restart=0,
        x=x,
        objective=float(rows.objectives[row]) if known else math.nan,
        status=CallStatus.REUSED if known else CallStatus.FAILED,
        max_violation=outside,
        sampled=x,
        repair_kind=RepairKind.UNREPAIRED if outside else RepairKind.FEASIBLE,
        repair_solver="",
        repair_iterations=0,
        repair_distance_squared=0.0,
        kkt_residual=0.0,
        seconds=0.0,
        message="" if known else f"{rows.label}: not all values are known",
        constraints=dict(zip(limits.names, values.tolist(), strict=True)) if known else {},
        violated=tuple(violated) if known else (),
        outputs=outputs if known else {},
    )
