"""`from_nl`: a `Model` from an ``.nl`` file and the names beside it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np

from archeng.checks import file_path, flag, mapping, named_options
from archeng.errors import ModelError, UnsupportedModelError
from archeng.model.advice import IMPORT_HINTS
from archeng.model.constraint import Constraint, Row, half_width
from archeng.model.declarations import Sense
from archeng.model.domain import REAL, whole_number
from archeng.model.model import Model, imported
from archeng.model.nl.reader import NlFile, read
from archeng.model.structure.named import named_items
from archeng.model.variable import Variable, imported_scalar


@named_options(ModelError, IMPORT_HINTS)
def from_nl(
    path: str | Path,
    *,
    scale: Mapping[str, float] | None = None,
    tolerance: float | None = None,
    objective: bool = False,
    independent: Sequence[str] | None = None,
    name: str | None = None,
) -> Model:
    """Import an AMPL ``.nl`` file, as AMPL, GAMS, JuMP and Pyomo write them.

    Parameters
    ----------
    path : str or Path
        A text ``.nl`` file. Names come from the ``.col`` and ``.row`` files beside it; without
        them variables are ``x0``, ``x1``, ... and rows ``c0``, ``c1``, ... Suffixes are ignored.
    scale : mapping, optional
        Initial standard deviation by variable name, for variables without both bounds. By
        default a fifth of the variable's initial value, at least 0.2.
    tolerance : float, optional
        Half-width of equality constraints; by default relative to each row.
    objective : bool
        Keep the objective (the first one), so that ``archeng.solve(model)`` needs no simulator.
    independent : list of str, optional
        Names of variables, as :meth:`Model.independent` takes them.
    name : str, optional
        By default the file's name.

    Returns
    -------
    Model

    Raises
    ------
    UnsupportedModelError
        Lists everything in the file that cannot be imported.
    ModelError
        The file cannot be read, is in the binary format, or is damaged.
    """
    file = file_path("path", path, ModelError)
    scale = mapping("scale", scale, ModelError)
    flag("objective", objective, ModelError)
    contents = _contents(file)
    names = _names(file.with_suffix(".col"), "x", contents.variables)
    others = contents.objectives + contents.logical
    rows = _names(file.with_suffix(".row"), "c", contents.rows, others)
    if problems := _problems(contents, rows, objective):
        raise UnsupportedModelError(f"{file}", problems)
    if unknown := sorted(scale.keys() - set(names)):
        raise ModelError(f"scale: {unknown} are not variables of {file}.")
    if objective and 0 not in contents.goals:
        raise ModelError(f"There is no simulator, and {file} has no objective.")
    return imported(
        file.stem if name is None else name,
        zip(contents.symbols, _variables(contents, names, scale), strict=True),
        _constraints(contents, rows, half_width(tolerance, str(file)), file.name),
        _objective(contents) if objective else None,
        named_items(independent),
    )


def _variables(contents: NlFile, names: list[str], scale: Mapping[str, float]) -> list[Variable]:
    variables = []
    for i, (label, bounds) in enumerate(zip(names, contents.bounds, strict=True)):
        domain = whole_number(*bounds) if i in contents.integers else REAL
        start, width = contents.start.get(i), scale.get(label)
        variables.append(imported_scalar(label, bounds, start, width, domain=domain))
    return variables


def _contents(file: Path) -> NlFile:
    try:
        raw = file.read_bytes()
    except OSError as error:
        raise ModelError(f"{file}: cannot be read ({error.strerror or error}).") from error
    if raw[:1] == b"b":
        raise ModelError(
            f"{file}: is a binary .nl file. Write it as text (AMPL: `write gmodel;`, Pyomo and "
            "JuMP do so by default)."
        )
    if raw[:1] != b"g":
        raise ModelError(f"{file}: is not an .nl file; the first character must be `g`.")
    try:
        return read(raw.decode("utf-8", errors="replace"))
    except ValueError as error:
        raise ModelError(f"{file}: the .nl file is damaged: {error}") from error


def _names(file: Path, prefix: str, size: int, others: int = 0) -> list[str]:
    """Names of variables (``.col``) or rows (``.row``, which may end with the objectives)."""
    if not file.exists():
        return [f"{prefix}{i}" for i in range(size)]
    try:
        names = file.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise ModelError(f"{file}: cannot be read as text ({error}).") from error
    if not size <= len(names) <= size + others or "" in names[:size]:
        raise ModelError(
            f"{file}: has {len(names)} names (or an empty one) but the .nl file needs {size}; it "
            "belongs to another model. Remove it or write it again."
        )
    return names[:size]


def _problems(contents: NlFile, rows: list[str], objective: bool) -> dict[str, list[str]]:
    """Return what cannot be imported, by the names of its owners; objectives only if wanted."""
    kinds = {"C": "constraint", "O": "objective", "V": "common expression"}
    problems = {}
    for segment, why in contents.problems.items():
        kind, number = segment[0], segment[1:]
        owner = segment
        if kind in kinds and number.isdigit():
            owner = f"{kinds[kind]} {rows[int(number)] if kind == 'C' else number}"
        if objective or kind != "O":
            problems[owner] = why
    return problems


def _constraints(
    contents: NlFile, rows: list[str], width: float | None, source: str
) -> list[Constraint]:
    constraints = []
    for i, (low, high) in enumerate(contents.row_limits):
        if (low, high) != (-np.inf, np.inf):
            body = ca.SX(contents.with_linear("J", i, contents.bodies[i]))
            constraints.append(Constraint(rows[i], (Row(body, low, high),), width, source))
    return constraints


def _objective(contents: NlFile) -> tuple[Any, Sense]:
    body, maximize = contents.goals[0]
    expression = ca.SX(contents.with_linear("G", 0, body))
    return expression, "maximize" if maximize else "minimize"
