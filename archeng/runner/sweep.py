"""`sweep`: an optimum for each of several values of parameters; the runs learn from each other."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from archeng.checks import file_path, flag, needed, shown
from archeng.errors import JournalError, SettingsError
from archeng.model import as_model, number, plain_values, text_table
from archeng.options import OPTIONS
from archeng.result import Result
from archeng.runner.reading import read_journal
from archeng.runner.solve import resume, solve
from archeng.simulator import Design

Point = dict[str, Any]


@dataclass(frozen=True, eq=False)
class Sweep:
    """Results of a sweep, in the order of the parameters' values. Prints as a table.

    Attributes
    ----------
    points : tuple of dict
        Values of the parameters, by name, of each run.
    results : tuple of Result
    """

    points: tuple[Point, ...]
    results: tuple[Result, ...]

    @property
    def nfev(self) -> int:
        """Simulator calls of all runs."""
        return sum(result.nfev for result in self.results)

    def __len__(self) -> int:
        return len(self.results)

    def __iter__(self) -> Iterator[Result]:
        return iter(self.results)

    def __getitem__(self, index: int) -> Result:
        return self.results[index]

    def to_pandas(self) -> Any:
        """Return a DataFrame: parameters, objective, status, calls and the best design."""
        pandas = needed("pandas", "pandas")
        names = [n for v in self.results[0].variables for n in v.element_names()]
        rows = [
            {
                **point,
                "objective": result.fun,
                "status": result.status.name.lower(),
                "calls": result.nfev,
                **dict(zip(names, plain_values(result.variables, result.x), strict=True)),
            }
            for point, result in zip(self.points, self.results, strict=True)
        ]
        return pandas.DataFrame(rows)

    def __str__(self) -> str:
        names = list(self.points[0])
        header = (*names, "objective", "calls", "status")
        rows = [
            (*(_shown(point[n]) for n in names), number(r.fun), str(r.nfev), r.status.name.lower())
            for point, r in zip(self.points, self.results, strict=True)
        ]
        return f"{text_table(header, rows)}\n{self.nfev} simulator calls in all"


def sweep(
    model: Any,
    simulator: Callable[[Design], Any] | None = None,
    *,
    parameters: Mapping[str, Sequence[Any]] | Sequence[Mapping[str, Any]],
    learn: bool = True,
    journal: str | Path | None = None,
    **options: Any,
) -> Sweep:
    """Find the best design for each of several values of parameters.

    Each run begins at the best design of the nearest values before, and its models learn from all
    calls before, whatever the values of the parameters were: those of outputs from the outputs
    themselves, others from what a simulator with other parameters said.

    With discrete variables, ``result.sensitivities`` of a run say what happens while these are
    held; where another value becomes better, the best objective bends, and only the runs show it.

    Parameters
    ----------
    model : Model, casadi.Opti, nlp dictionary or Pyomo model
    simulator : callable, optional
        As in :func:`solve`. It finds the values in ``design.parameters``.
    parameters : mapping or list of mappings
        ``{"load": [10e3, 12e3]}``, lists of the same length if there are several names; or one
        mapping for each run.
    learn : bool
        False: the runs know nothing of each other.
    journal : path, optional
        A folder with one journal for each run. Finished runs are not made again, one that was cut
        off goes on.
    **options
        Of :func:`solve`, for each run; ``start`` is that of the first one, unless ``learn=False``.

    Returns
    -------
    Sweep

    Raises
    ------
    SettingsError
        If there are no values, or lists of different lengths; what :func:`solve` raises besides.
    """
    points = _points(parameters)
    flag("learn", learn)
    folder = None if journal is None else file_path("journal", journal)
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
    first = as_model(model, objective=simulator is None, parameters=tuple(points[0]))
    for point in points:
        first.with_parameters(point)  # all of them are checked before the first call
    results: list[Result] = []
    for k, point in enumerate(points):
        given = dict(options)
        if learn and results:
            given["start"] = _nearest(points, results, k).x
            given["data"] = [*_sources(options.get("data", ())), *results]
        path = None if folder is None else folder / f"{k + 1:03d}.db"
        results.append(_run(model, simulator, point, path, given))
    return Sweep(tuple(points), tuple(results))


def _run(
    model: Any, simulator: Any, point: Point, path: Path | None, options: dict[str, Any]
) -> Result:
    """Make one run, or go on with that of a journal."""
    if path is None or not path.exists():
        return solve(model, simulator, parameters=point, journal=path, **options)
    known = read_journal(path)
    then = {p.name: p.value for p in known.parameters}
    if any(name not in then or not np.array_equal(then[name], point[name]) for name in point):
        raise JournalError(
            f"{path} has the parameters {then}, and the sweep has {point}. Choose another folder."
        )
    return known if known.ended else resume(path, simulator, model=model)


def _sources(data: Any) -> tuple[Any, ...]:
    """Return earlier data as a sequence of sources."""
    return tuple(OPTIONS["data"].checked(data))


def _nearest(points: Sequence[Point], results: Sequence[Result], k: int) -> Result:
    """Return the result whose values are nearest to those of run k, each over its range."""
    values = np.array([np.concatenate([np.ravel(v) for v in point.values()]) for point in points])
    width = np.ptp(values, axis=0)
    gaps = (values[: len(results)] - values[k]) / np.where(width > 0, width, 1.0)
    usable = [j for j, result in enumerate(results) if np.all(np.isfinite(result.x))]
    best = min(usable, key=lambda j: float(np.sum(gaps[j] ** 2)), default=len(results) - 1)
    return results[best]


def _points(parameters: Any) -> list[Point]:
    """Return the values of each run by name."""
    if isinstance(parameters, Mapping):
        columns = {
            str(name): list(values) for name, values in parameters.items() if _listed(values)
        }
        lengths = {len(values) for values in columns.values()}
        if len(columns) == len(parameters) and len(lengths) == 1 and lengths != {0}:
            rows = zip(*columns.values(), strict=True)
            return [dict(zip(columns, row, strict=True)) for row in rows]
    elif isinstance(parameters, list | tuple) and parameters:
        named = all(isinstance(point, Mapping) and point for point in parameters)
        if named and all(set(point) == set(parameters[0]) for point in parameters):
            return [dict(point) for point in parameters]
    raise SettingsError(
        'parameters must be lists of the same length by name, such as {"load": [10e3, 12e3]}, or a '
        f"list with one mapping of the same names for each run; got {shown(parameters)}."
    )


def _listed(values: Any) -> bool:
    return isinstance(values, list | tuple | range | np.ndarray)


def _shown(value: Any) -> str:
    return number(float(value)) if np.ndim(value) == 0 else str(np.asarray(value).tolist())
