r"""`Formulas`: objective and constraints as functions of the design and of the simulator's outputs.

With the free variables x (n,) and the outputs z (q,) that the simulator returns at x, the objective
is :math:`f(x, z)` and the simulated constraints are :math:`l_j \le c_j(x, z) \le u_j`. Only z has
to be learned. Models use smooth *pieces* (:mod:`archeng.model.pieces`): f is the largest of its
pieces, a constraint with an upper limit holds if all of its pieces are below it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from archeng.model.conditional import in_one
from archeng.model.functions import FastFunction
from archeng.model.pieces import has_kinks, smooth_pieces
from archeng.model.quantities import Output
from archeng.model.variable import Floats

if TYPE_CHECKING:
    from archeng.model.declarations import Declarations


@dataclass(frozen=True)
class FormulaRow:
    """A simulated constraint that is a formula of outputs; equalities have their tolerance."""

    name: str
    lower: float
    upper: float
    text: str
    source: str


@dataclass(frozen=True, eq=False)
class Pieces:
    """Smooth functions g (k,) of x and z, whose largest are the objective and the constraints.

    Attributes
    ----------
    owner : ndarray of int, shape (k,)
        Which constraint a piece belongs to; -1 for the objective.
    lower, upper : ndarray, shape (k,)
        Limits; infinite for the objective.
    values_and_jacobian : FastFunction
        (x, z) to g (k,) and its derivatives by x and z (k, n + q).
    hessian : FastFunction
        (x, z, w) to the Hessian (n + q, n + q) of the sum of w_i g_i.
    smooth : bool
        Whether no piece has a kink left.
    """

    owner: NDArray[np.intp]
    lower: Floats
    upper: Floats
    values_and_jacobian: FastFunction
    hessian: FastFunction
    smooth: bool


@dataclass(frozen=True)
class FormulaTexts:
    """Formulas of a model with outputs, as they are shown. A journal can hold those of any model.

    Attributes
    ----------
    outputs : tuple of Output
    rows : tuple of FormulaRow, length m
    objective, objective_name : str
        The formula's text, empty if the simulator returns the objective itself; and its name.
    """

    outputs: tuple[Output, ...]
    rows: tuple[FormulaRow, ...]
    objective: str
    objective_name: str


@dataclass(frozen=True, eq=False)
class Formulas(FormulaTexts):
    """Compiled formulas of a model with outputs. Made by :func:`compile_formulas`.

    Attributes
    ----------
    values : FastFunction
        (x, z) to the objective, to be minimised (0 if there is no formula), and the rows: (1 + m,).
    uses : ndarray of bool, shape (1 + m, q)
        Which outputs are in the objective and in the rows.
    pieces : Pieces
    whole : FastFunction or None
        The same as ``values`` with dependent variables among x, if there are any.
    """

    values: FastFunction
    uses: NDArray[np.bool_]
    pieces: Pieces
    whole: FastFunction | None = None

    @cached_property
    def texts(self) -> FormulaTexts:
        """Only what is shown."""
        return FormulaTexts(**{f.name: getattr(self, f.name) for f in fields(FormulaTexts)})

    @cached_property
    def q(self) -> int:
        """Number of scalar outputs."""
        return sum(output.size for output in self.outputs)

    @cached_property
    def row_names(self) -> tuple[str, ...]:
        """Names of the rows."""
        return tuple(row.name for row in self.rows)

    @cached_property
    def smooth_objective(self) -> bool:
        """Whether the objective has no kinks: it is one smooth piece."""
        return self.pieces.smooth and int(np.sum(self.pieces.owner < 0)) == 1

    def at(self, x: Floats, z: Floats) -> tuple[float, Floats]:
        """Return objective, to be minimised, and rows (m,) at x (n,) with outputs z (q,)."""
        (values,) = self.values(x, z)
        return float(values[0]), values[1:]

    def at_all(self, X: Floats, Z: Floats) -> Floats:
        """Return objectives and rows (p, 1 + m) at designs X (p, n) with outputs Z (p, q)."""
        values = [self.values(x, z)[0] for x, z in zip(X, Z, strict=True)]
        return np.array(values).reshape(len(X), 1 + len(self.rows))


class FormulaFunctions(NamedTuple):
    """The compiled functions of `Formulas` and of its `Pieces`."""

    values: FastFunction
    pieces: FastFunction
    hessian: FastFunction
    whole: FastFunction | None = None


def dense_functions(formulas: Any, pieces: Any, x: Any, z: Any) -> FormulaFunctions:
    """Compile formulas and pieces, columns of expressions of x and z, with dense derivatives."""
    weights = type(x).sym("w", pieces.numel())
    slope = ca.jacobian(ca.dot(weights, pieces), x), ca.jacobian(ca.dot(weights, pieces), z)
    bends = ca.vertcat(*(ca.horzcat(ca.jacobian(s, x), ca.jacobian(s, z)) for s in slope))
    slopes = ca.horzcat(ca.jacobian(pieces, x), ca.jacobian(pieces, z))
    return FormulaFunctions(
        FastFunction.of("formulas", [x, z], [formulas]),
        FastFunction.of("pieces", [x, z], [pieces, slopes], (1,)),
        FastFunction.of("bends", [x, z, weights], [bends], (0,)),
    )


def compile_formulas(
    model: Declarations,
    free: Any,
    template: Floats,
    compiled: Callable[[Any, Any, Any, Any], FormulaFunctions] = dense_functions,
) -> Formulas | None:
    """Compile the formulas of a model; None if it has no outputs.

    ``free`` are the positions (n,) of the free variables, ``template`` (n_full,) has the values of
    the others; ``compiled`` makes functions of formulas and pieces.
    """
    if not model.outputs:
        return None
    expressions = [
        in_one(row.expression, row.when, float(low), float(high))
        for c in model.simulated
        for row, low, high in zip(c.rows, *c.limits(), strict=True)
    ]
    sign = -1.0 if model.objective_sense == "maximize" else 1.0
    first = sign * model.objective if model.has_objective else type(model.symbols)(0.0)
    x, z, scalars = _of_free(model, [first, *expressions], free, template)
    objective, rows = formulas_of(model)
    together = ca.vertcat(*scalars)
    uses = ca.DM(ca.jacobian_sparsity(together, z), 1).full() > 0
    owner, pieces, low, high = zip(*_split(scalars, rows, x, z), strict=True)
    functions = compiled(together, ca.vertcat(*pieces), x, z)
    both = ca.vertcat(x, z)
    smooth = isinstance(both, ca.SX) and not any(has_kinks(e, both) for e in pieces)
    return Formulas(
        outputs=model.outputs,
        rows=tuple(rows),
        objective=objective,
        values=functions.values,
        uses=uses.reshape(len(scalars), z.numel()),
        pieces=Pieces(
            owner=np.array(owner, dtype=np.intp),
            lower=np.array(low),
            upper=np.array(high),
            values_and_jacobian=functions.pieces,
            hessian=functions.hessian,
            smooth=smooth,
        ),
        objective_name=model.objective_name,
        whole=functions.whole,
    )


def formulas_of(model: Declarations) -> tuple[str, list[FormulaRow]]:
    """Return the objective, empty if there is none, and the rows with outputs, as texts."""
    texts, conditions = iter(model.formula_texts()), model.condition_texts()
    objective = next(texts) if model.has_objective else ""
    when = {label: f" when {text}" for label, text in conditions.items()}
    rows = [
        FormulaRow(label, float(low), float(high), next(texts) + when.get(label, ""), c.source)
        for c in model.simulated
        for label, low, high in zip(c.row_names(), *c.limits(), strict=True)
    ]
    return objective, rows


def _of_free(
    model: Declarations, expressions: list[Any], free: Any, template: Floats
) -> tuple[Any, Any, list[Any]]:
    """Return symbols x (n,) and z (q,), and scalar expressions of them; SX where CasADi can."""
    function = ca.Function("formulas", [model.symbols, model.output_symbols], expressions)
    kind: Any = type(model.symbols)
    if kind is ca.MX:
        with contextlib.suppress(RuntimeError):
            function, kind = function.expand(), ca.SX
    x, z = kind.sym("x", len(free)), kind.sym("z", model.output_symbols.numel())
    position = {int(full): k for k, full in enumerate(free)}
    entries = [x[position[i]] if i in position else template[i] for i in range(len(template))]
    scalars = function.call([ca.vertcat(*entries), z], True, False)
    return x, z, [kind(ca.densify(scalar)) for scalar in scalars]


def _split(
    scalars: list[Any], rows: list[FormulaRow], x: Any, z: Any
) -> list[tuple[int, Any, float, float]]:
    """Split the objective, and rows at their limits, into smooth pieces with owner and limits."""
    found: list[tuple[int, Any, float, float]] = []
    symbolic = isinstance(x, ca.SX)
    for j, e in enumerate(scalars):
        row = rows[j - 1] if j else None
        if row is None:
            pieces = smooth_pieces(e, True) if symbolic else [e]
            found += [(-1, piece, -np.inf, np.inf) for piece in pieces]
            continue
        upper = smooth_pieces(e, True) if symbolic and np.isfinite(row.upper) else [e]
        lower = smooth_pieces(e, False) if symbolic and np.isfinite(row.lower) else [e]
        if len(upper) == len(lower) == 1:
            found.append((j - 1, e, row.lower, row.upper))
            continue
        if np.isfinite(row.upper):
            found += [(j - 1, piece, -np.inf, row.upper) for piece in upper]
        if np.isfinite(row.lower):
            found += [(j - 1, piece, row.lower, np.inf) for piece in lower]
    return found
