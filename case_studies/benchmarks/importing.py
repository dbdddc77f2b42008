"""How import time grows with the model: rows, variables, nested shared expressions.

``python -m case_studies.benchmarks.importing [--record]`` builds Pyomo models with a chain of
named expressions nested 50 deep, used by every tenth row, writes them as .nl files too, and
prints the time of ``from_pyomo``, ``from_nl`` and of compiling the imported model.
"""

from __future__ import annotations

import argparse
import logging
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyomo.environ as pyo

import archeng
from archeng.model import compile_model
from case_studies.benchmarks.record import command_line, markdown_table, write
from case_studies.benchmarks.threads import compared

DEPTH = 50
TERMS = 5
SIZES = ((250, 62), (500, 125), (1000, 250), (2000, 500), (4000, 1000))


def make_model(rows: int, variables: int) -> pyo.ConcreteModel:
    """Rows of five terms each; every tenth uses a named expression nested 50 deep."""
    m = pyo.ConcreteModel(f"rows_{rows}")
    m.x = pyo.Var(range(variables), bounds=(0.1, 10.0), initialize=1.0)
    m.e = pyo.Expression(range(DEPTH))
    m.e[0] = pyo.exp(-m.x[0]) + m.x[1 % variables]
    for k in range(1, DEPTH):
        m.e[k] = 0.5 * m.e[k - 1] + 0.1 * m.e[k - 1] * m.x[k % variables]

    def rule(_: Any, i: int) -> Any:
        left = sum((k + 1) * m.x[(7 * i + 13 * k) % variables] for k in range(TERMS - 1))
        last = m.e[DEPTH - 1] if i % 10 == 0 else m.x[i % variables] ** 2
        return left + last <= 200.0

    m.c = pyo.Constraint(range(rows), rule=rule)
    m.o = pyo.Objective(expr=sum(m.x[i] for i in range(variables)))
    return m


def seconds(function: Callable[[], Any]) -> tuple[float, Any]:
    """Return the time of one call, and what it returned."""
    begin = time.perf_counter()
    value = function()
    return time.perf_counter() - begin, value


def measure(rows: int, variables: int, compiled: bool) -> dict[str, Any]:
    """Return the times for one size."""
    source = make_model(rows, variables)
    pyomo_time, model = seconds(lambda: archeng.from_pyomo(source))
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "model.nl"
        source.write(str(file), format="nl", io_options={"symbolic_solver_labels": True})
        nl_time, _ = seconds(lambda: archeng.from_nl(file))
    record: dict[str, Any] = {
        "rows": rows,
        "variables": variables,
        "terms": rows * TERMS,
        "from_pyomo_s": round(pyomo_time, 3),
        "from_pyomo_us_per_term": round(1e6 * pyomo_time / (rows * TERMS), 1),
        "from_nl_s": round(nl_time, 3),
    }
    if compiled:
        record["compile_s"] = round(seconds(lambda: compile_model(model))[0], 3)
    return record


def workload() -> None:
    """Import and compilation of 1000 rows."""
    logging.disable(logging.WARNING)
    measure(1000, 250, compiled=True)


def main() -> None:
    """Measure every size and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--record", action="store_true", help="write docs/benchmarks/import.*")
    parser.add_argument("--most-rows", type=int, default=SIZES[-1][0])
    options = parser.parse_args()
    logging.disable(logging.WARNING)
    records = [measure(r, v, compiled=r <= 2000) for r, v in SIZES if r <= options.most_rows]
    header = list(records[0])
    table = markdown_table(header, [[r.get(key, "-") for key in header] for r in records])
    table += f"\n\n{compared(workload)}"
    print(table)
    if options.record:
        text = (
            "Rows of five terms; every tenth uses named expressions nested 50 deep. Compiling "
            "includes the derivatives of every row.\n\n" + table
        )
        command = command_line("case_studies.benchmarks.importing")
        write("import", "Import of Pyomo models and .nl files", text, records, command)


if __name__ == "__main__":
    main()
