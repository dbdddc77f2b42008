"""Python functions as rows of a model: CasADi callbacks with numerical derivatives.

A formula has exact derivatives; a Python function has those that its author provides, or finite
differences. The values are always those of the function itself, so a design that passes was
checked by the very function that the user wrote. What a function is asked for:

- values at any point, also outside the bounds and at designs that violate constraints. An
  exception, NaN or an infinity means: undefined there, so no design is accepted there;
- first derivatives: ``jac`` if given, else central differences (one-sided where one of the two
  points is undefined), or a complex step;
- second derivatives: ``hess`` if given, else differences, at the nearest point of a grid. They only
  guide the solvers, and change little from one repair to the next: most are computed once.

Functions like these cannot be stored in a journal or sent to another process.

Steps of the differences: [NW06 ch. 8] Nocedal and Wright 2006, doi:10.1007/978-0-387-40065-5.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any, NoReturn

import casadi as ca
import numpy as np

from archeng.errors import ModelError
from archeng.model.variable import Floats

logger = logging.getLogger("archeng")

VectorFunction = Callable[[Floats], Any]
Evaluate = Callable[[Floats], Floats]

_EPSILON = float(np.finfo(float).eps)  # relative rounding error of a number
_FIRST = _EPSILON ** (1 / 3)  # steps relative to the size of a variable: central differences,
_SECOND = _EPSILON ** (1 / 4)  # differences of differences,
_COMPLEX = 1e-30  # and a complex step, which has no cancellation
_SMALL = 1e-2  # a variable near zero counts as this share of its typical size
_GRID = 32  # points per size of a variable at which second derivatives are computed
_MOST_CELLS = 2000  # of the grid that are remembered
BRIDGE = "archeng_"
"""What the names of bridges begin with."""
_ORDINARY = (ArithmeticError, ValueError)  # what a formula raises outside its domain


class PythonFunction:
    """A Python function of a vector (n,) that returns a number or a vector (m,), with derivatives.

    Parameters
    ----------
    at : ndarray, shape (n,)
        Where it is called first, to learn m.
    size : ndarray, shape (n,)
        Typical size of the variables, for the steps of the differences.
    jac : callable or "cs", optional
        Jacobian (m, n), or complex steps. By default central differences.
    hess : callable, optional
        ``hess(x, v)`` is the Hessian (n, n) of ``v @ function(x)``.
    rel_step : float or ndarray, optional
        Steps of the first differences relative to the variables.
    """

    def __init__(
        self,
        name: str,
        function: VectorFunction,
        at: Floats,
        size: Floats,
        *,
        jac: Callable[[Floats], Any] | str | None = None,
        hess: Callable[[Floats, Floats], Any] | None = None,
        rel_step: Any = None,
    ) -> None:
        self.name, self.n = name, len(at)
        self._function, self._size = function, size
        self._jac, self._hess = jac, hess
        self._rel_step = _FIRST if rel_step is None else np.abs(np.asarray(rel_step, dtype=float))
        self._warned = False
        values = self._first("function", function, at)
        if values.ndim > 1 or values.size == 0:
            raise ModelError(
                f"Constraint {name}: its function must return a number or a vector, got shape "
                f"{values.shape}."
            )
        self.m = values.size
        if callable(jac):
            shape = self._first("jac", jac, at).shape
            if shape not in ((self.m, self.n), (self.n,) if self.m == 1 else None):
                raise ModelError(
                    f"Constraint {name}: jac must return shape {(self.m, self.n)}, got {shape}."
                )
        self._spacing = size / _GRID
        self._second_in_cell = lru_cache(_MOST_CELLS)(self._second_at)
        self._bridges: list[Any] = []

    def __call__(self, symbols: Any) -> Any:
        """Return the function of CasADi symbols (n, 1), as an expression (m, 1)."""
        bridges = bridged(self.n, self.m, self._values, self._jacobian, self._second)
        self._bridges += bridges  # CasADi does not keep them alive
        return bridges[0](symbols)

    def _first(self, what: str, function: VectorFunction, at: Floats) -> Floats:
        """Call a function for the first time; that it fails there is a mistake."""
        try:
            with np.errstate(all="ignore"):
                return np.asarray(_full(function(at.copy())), dtype=float)
        except Exception as error:
            raise ModelError(
                f"Constraint {self.name}: its {what} raised {type(error).__name__}: {error} at "
                f"the start {at}. It is called there first; give a start at which it is defined."
            ) from error

    # -- values and derivatives ---------------------------------------------------------------

    def _values(self, x: Floats) -> Floats:
        """Values (m,); NaN where the function is undefined."""
        return np.asarray(self._guarded(self._function, x, (self.m,)), dtype=float)

    def _guarded(self, function: Any, x: Any, shape: tuple[int, ...], *more: Any) -> Any:
        try:
            with np.errstate(all="ignore"):
                value = _full(function(x.copy(), *more))
            if value.size != math.prod(shape):
                raise TypeError(f"expected shape {shape}, got {value.shape}")
            return value.reshape(shape)
        except Exception as error:
            if not isinstance(error, _ORDINARY) and not self._warned:
                self._warned = True
                logger.warning(
                    "constraint %s: its function raised %s: %s (at %s); it counts as undefined "
                    "there", self.name, type(error).__name__, error, x,
                )  # fmt: skip
            return np.full(shape, np.nan)

    def _jacobian(self, x: Floats) -> Floats:
        """Jacobian (m, n)."""
        if callable(self._jac):
            return np.asarray(self._guarded(self._jac, x, (self.m, self.n)), dtype=float)
        if self._jac == "cs":
            return self._complex_steps(x)
        return _differences(self._values, x, self._rel_step * self._sizes(x))

    def _complex_steps(self, x: Floats) -> Floats:
        columns = []
        for i in range(self.n):
            z = x.astype(complex)
            z[i] += 1j * _COMPLEX
            columns.append(np.imag(self._guarded(self._function, z, (self.m,))) / _COMPLEX)
        return np.stack(columns, axis=1)

    def _second(self, x: Floats) -> Floats:
        """Return derivatives (m n, n) of the Jacobian, stored column by column."""
        n, m = self.n, self.m
        if self._hess is not None:
            slices = [self._guarded(self._hess, x, (n, n), unit) for unit in np.eye(m)]
            return np.asarray(np.stack(slices), dtype=float).reshape(m * n, n, order="F")
        return self._second_in_cell(np.round(x / self._spacing).tobytes())

    def _second_at(self, cell: bytes) -> Floats:
        """Return differences at the middle of a cell of the grid, 0 where they are undefined."""
        x = np.frombuffer(cell) * self._spacing
        sizes = self._sizes(x)
        if self._jac is None:
            second = _second_differences(self._values, x, _SECOND * sizes)
        else:
            second = _differences(
                lambda at: self._jacobian(at).reshape(-1, order="F"), x, _FIRST * sizes
            )
        return np.where(np.isfinite(second), second, 0.0)

    def _sizes(self, x: Floats) -> Floats:
        return np.maximum(np.abs(x), _SMALL * self._size)

    def __reduce__(self) -> NoReturn:
        raise TypeError(f"constraint {self.name} is a Python function and stays in its process")


class Bridge(ca.Callback):
    """A function of the first input as CasADi calls it, and its derivative.

    Further inputs and outputs are empty: CasADi passes what it knows, and asks for derivatives
    with respect to it.
    """

    def __init__(
        self,
        name: str,
        inputs: list[tuple[int, int]],
        outputs: list[tuple[int, int]],
        evaluate: Evaluate,
        derivative: Any = None,
    ) -> None:
        ca.Callback.__init__(self)
        self._ins, self._outs = (
            [ca.Sparsity.dense(*size) if i == 0 else ca.Sparsity(*size) for i, size in enumerate(s)]
            for s in (inputs, outputs)
        )
        self._evaluate, self._derivative = evaluate, derivative
        self.construct(name, {})

    def get_n_in(self) -> int:
        """Return the number of inputs."""
        return len(self._ins)

    def get_n_out(self) -> int:
        """Return the number of outputs."""
        return len(self._outs)

    def get_sparsity_in(self, i: int) -> Any:
        """Only the first input is used."""
        return self._ins[i]

    def get_sparsity_out(self, i: int) -> Any:
        """Only the first output is given."""
        return self._outs[i]

    def has_jacobian(self) -> bool:
        """Whether there is a derivative."""
        return self._derivative is not None

    def get_jacobian(self, name: str, inputs: Any, outputs: Any, options: Any) -> Any:
        """Return the derivative."""
        return self._derivative

    def has_eval_buffer(self) -> bool:
        """Evaluate without copies."""
        return True

    def eval_buffer(self, inputs: Any, outputs: Any) -> int:
        """Evaluate the function of the first input."""
        values = self._evaluate(np.array(np.frombuffer(inputs[0])))
        np.frombuffer(outputs[0])[:] = values.reshape(-1, order="F")
        return 0


def bridged(n: int, m: int, values: Evaluate, first: Evaluate, second: Evaluate) -> list[Bridge]:
    """Return a function (m,) of (n,), its Jacobian, and the derivatives (m n, n) of that."""
    inputs = [(n, 1), (m, 1), (m, n)]
    bends = Bridge(f"{BRIDGE}second", inputs, [(m * n, n), (m * n, m)], remembering(second))
    slopes = Bridge(f"{BRIDGE}first", inputs[:2], [(m, n)], remembering(first), bends)
    own = Bridge(f"{BRIDGE}values", inputs[:1], [(m, 1)], remembering(values), slopes)
    return [own, slopes, bends]


def remembering(call: Evaluate) -> Evaluate:
    """Return a function that computes nothing twice in a row at the same point."""
    last = lru_cache(1)(lambda point: np.asarray(call(np.frombuffer(point))))
    return lambda x: last(x.tobytes())


def _differences(function: Evaluate, x: Floats, steps: Floats) -> Floats:
    """Central differences (k, n) of a vector function; one-sided next to undefined points."""
    columns = []
    middle: Floats | None = None
    for i, step in enumerate(steps):
        up, down = x.copy(), x.copy()
        up[i] += step
        down[i] -= step
        above, below = function(up), function(down)
        column = (above - below) / (up[i] - down[i])
        if not np.all(np.isfinite(column)):
            middle = function(x) if middle is None else middle
            forward = (above - middle) / (up[i] - x[i])
            backward = (middle - below) / (x[i] - down[i])
            one_sided = np.where(np.isfinite(forward), forward, backward)
            column = np.where(np.isfinite(column), column, one_sided)
        columns.append(column)
    return np.stack(columns, axis=1)


def _second_differences(function: Evaluate, x: Floats, steps: Floats) -> Floats:
    """Return derivatives (m n, n) of the Jacobian of a vector function (m,), by n^2 + n calls."""
    n, middle = len(x), function(x)
    shifts = np.diag(steps)
    ups = [function(x + shift) for shift in shifts]
    downs = [function(x - shift) for shift in shifts]
    bends = [up - 2 * middle + down for up, down in zip(ups, downs, strict=True)]
    second = np.empty((len(middle), n, n))
    for i in range(n):
        second[:, i, i] = bends[i] / steps[i] ** 2
        for j in range(i):
            both = shifts[i] + shifts[j]
            twice = function(x + both) - 2 * middle + function(x - both) - bends[i] - bends[j]
            second[:, i, j] = second[:, j, i] = twice / (2 * steps[i] * steps[j])
    return second.reshape(-1, n, order="F")


def _full(matrix: Any) -> Any:
    """Return a matrix as an array, also a sparse one or a SciPy operator."""
    if hasattr(matrix, "toarray"):
        return np.asarray(matrix.toarray())
    if hasattr(matrix, "matmat"):
        return np.asarray(matrix @ np.eye(matrix.shape[1]))
    return np.asarray(matrix)
