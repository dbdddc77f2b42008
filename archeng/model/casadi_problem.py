"""`Problem`: formulas of CasADi as they were read, and how they become those of a model."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from archeng.checks import flag, texts
from archeng.errors import ModelError
from archeng.model.black_boxes import EQUALITY_TOLERANCE, BlackBoxes, TakenOut, take_out
from archeng.model.constraint import Constraint, Row, elements_of, half_width, strict_limits
from archeng.model.model import Model
from archeng.model.undefined import may_fail
from archeng.model.variable import Floats, rounded, vector


@dataclass(frozen=True, eq=False)
class Problem:
    """Formulas of symbols that are not yet the model's.

    Attributes
    ----------
    x, p : casadi.SX or casadi.MX
        Columns of variables and parameters.
    values : ndarray
        Of p.
    parameters : tuple of (str, array)
        Names and values, if they stay parameters of the model: all of p, or none.
    g, f : casadi.SX or casadi.MX
        Column of the rows; the objective, None if it is not kept.
    lower, upper : array_like
        Limits of the rows, with these values of p.
    limits : tuple of expressions, optional
        The same as formulas of p.
    strict : sequence of bool
        Which rows exclude their limits; empty: none.
    row_names : sequence of str, optional
        By default ``g[0]``, ``g[1]``, ...
    """

    x: Any
    p: Any
    values: Floats
    parameters: tuple[tuple[str, Any], ...]
    g: Any
    f: Any
    lower: ArrayLike
    upper: ArrayLike
    limits: tuple[Any, Any] | None = None
    strict: Sequence[bool] = ()
    row_names: Sequence[str] | None = None


def build(
    name: str,
    variables: Sequence[tuple[str, Mapping[str, Any]]],
    problem: Problem,
    black_boxes: tuple[Any, bool],
    tolerance: float | None,
    source: Callable[[int], str],
) -> Model:
    """Return the model of a problem.

    Parameters
    ----------
    variables : sequence of (str, mapping)
        Names, and keywords of :meth:`Model.declare`, in the order of ``problem.x``.
    black_boxes : tuple
        Functions or names, None if there are none; and whether their derivatives are wanted.
    source : callable
        Says where a row was written.
    """
    boxes, gradients = black_boxes
    flag("gradients", gradients, ModelError)
    if boxes is None and gradients:
        raise ModelError("gradients=True is for black_boxes=[...]; there are none.")
    names = [label for label, _ in (*variables, *problem.parameters)]
    function, taken = _compiled(problem, boxes, names)
    model = Model(name, symbols="SX" if function.is_a("SXFunction") else "MX")
    for label, keywords in variables:
        model.declare(label, **rounded(**keywords))
    _fill(model, problem, function, taken, tolerance, source)
    if taken is not None:
        sizes = [(label, int(np.size(value))) for label, value in problem.parameters]
        model.black_box = BlackBoxes(taken, problem.x, problem.p, problem.values, sizes, gradients)
    return model


def _compiled(
    problem: Problem, black_boxes: Any, taken_names: Iterable[str]
) -> tuple[Any, TakenOut | None]:
    """Return the formulas as one function of x, p and outputs, and the black boxes.

    The function returns rows, limits that depend on parameters, and the objective, as far as there
    are any. Without black boxes in them, formulas can become SX, in which each row stands alone.
    """
    expressions = [problem.g] if problem.f is None else [problem.g, problem.f]
    taken, outputs = None, type(problem.x)(0, 1)
    if black_boxes is not None:
        where = "the constraints" if problem.f is None else "the constraints and the objective"
        taken = take_out(expressions, black_boxes, where, taken_names)
        expressions = taken.expressions
        outputs = ca.vertcat(*(ca.vec(s) for s in taken.symbols))
    rows, *objective = expressions
    results = [rows, *(problem.limits or ()), *objective]
    try:
        function = ca.Function(
            "nlp", [problem.x, problem.p, outputs], [ca.densify(r) for r in results]
        )
    except RuntimeError as error:
        raise ModelError(
            f"The constraints contain symbols that are neither in x nor in p: {last_lines(error)}"
        ) from error
    if taken is not None and not may_fail(function):
        with contextlib.suppress(RuntimeError):  # it has parts that only MX can do
            function = function.expand()
    return function, taken


def _fill(
    model: Model,
    problem: Problem,
    function: Any,
    taken: TakenOut | None,
    tolerance: float | None,
    source: Callable[[int], str],
) -> None:
    """Add parameters, outputs, rows and objective to a model that has its variables."""
    for name, value in problem.parameters:
        model.parameter(name, value)
    for output in taken.outputs if taken is not None else ():
        model.output(output.name, shape=output.shape)
    p = model.parameter_symbols if problem.parameters else problem.values
    results = function.call([model.symbols, p, model.output_symbols], True, False)
    m = results[0].numel()
    if m:
        own = [f"g[{i}]" for i in range(m)]
        given = problem.row_names
        labels = own if given is None else texts("row_names", given, m, ModelError)
        width = half_width(tolerance, "The imported rows")
        elements = _elements(results[0], function, model)
        held = {hash(s) for s in ca.symvar(model.output_symbols)}
        constraints = []
        for i, rows in enumerate(_rows(problem, function, elements, results[1:])):
            simulated = held and any(hash(s) in held for s in ca.symvar(elements[i]))
            default = EQUALITY_TOLERANCE if simulated and rows[0].is_equality else None
            constraints.append(
                Constraint(labels[i], rows, default if width is None else width, source(i))
            )
        model.add_constraints(constraints)
    if problem.f is not None:
        model.set_objective(results[-1])


def _elements(column: Any, function: Any, model: Model) -> list[Any]:
    """Return the rows one by one; those that do not depend on outputs do not hold their symbols.

    MX takes an element out of a whole vector, with all symbols that the vector holds.
    """
    elements = _apart(column)
    if isinstance(column, ca.SX) or not model.outputs:
        return elements
    symbols = ca.symvar(model.output_symbols)
    zeros = [ca.MX.zeros(*s.shape) for s in symbols]
    plain = _apart(ca.substitute([column], symbols, zeros)[0])
    depends = set(function.jac_sparsity(0, 2).get_triplet()[0])
    return [elements[i] if i in depends else plain[i] for i in range(len(elements))]


def _apart(column: Any) -> list[Any]:
    """Elements of a column; of one that was put together, the elements of its parts."""
    if isinstance(column, ca.MX) and column.is_op(ca.OP_VERTCAT):
        parts = (column.dep(i) for i in range(column.n_dep()))
        return [element for part in parts for element in _apart(part)]
    return elements_of(column)


def _rows(
    problem: Problem, function: Any, elements: list[Any], limits: list[Any]
) -> Iterator[tuple[Row, ...]]:
    """Yield each element with its limits; one whose limit has parameters in it as a difference."""
    m = len(elements)
    low, high = vector("lbg", problem.lower, m), vector("ubg", problem.upper, m)
    strict = list(problem.strict) or [False] * m
    moving: set[int] = set()
    if problem.limits is not None:
        lower, upper = (elements_of(limit) for limit in limits[:2])
        moving = {i for k in (1, 2) for i in function.jac_sparsity(k, 1).get_triplet()[0]}
    for i, (e, a, b) in enumerate(zip(elements, low.tolist(), high.tolist(), strict=True)):
        rows = [(e, a, b)]
        if i in moving and a == b:
            rows = [(e - lower[i], 0.0, 0.0)]
        elif i in moving:
            rows = [(e - lower[i], 0.0, np.inf)] if np.isfinite(a) else []
            rows += [(e - upper[i], -np.inf, 0.0)] if np.isfinite(b) else []
        limited = strict_limits if strict[i] else lambda *pair: pair
        yield tuple(Row(expression, *limited(*pair)) for expression, *pair in rows)


def last_lines(error: Exception) -> str:
    """Return the end of a message of CasADi, which says what is wrong."""
    return " ".join(str(error).strip().splitlines()[-2:])
