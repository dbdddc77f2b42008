"""The rows of a feasible set at many points at once."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from archeng.distribution import Floats, Integers
from archeng.model import FeasibleSet
from archeng.model.functions import FastFunction

_CHUNK = 32  # points evaluated at once

Booleans = NDArray[np.bool_]


class Rows:
    """Evaluates all rows of a feasible set at many points; the compiled functions are kept."""

    def __init__(self, feasible_set: FeasibleSet) -> None:
        self.feasible_set = feasible_set

    def values(self, x: Floats) -> Floats:
        """Values (k, m) of the rows at points (k, n), bit for bit those of the feasible set."""
        fs = self.feasible_set
        result = np.empty((len(x), fs.m))
        for part, inputs in _chunks(x):
            size = part.stop - part.start
            if size < _CHUNK // 4:
                result[part] = [fs.values(point) for point in x[part]]
            else:
                result[part] = self._values(inputs)[0].T[:size]
        return result

    def hold(self, x: Floats) -> Booleans:
        """Whether every row holds, exactly, at each of the points (k, n)."""
        fs = self.feasible_set
        values = self.values(x)
        return np.asarray(((values >= fs.least) & (values <= fs.most)).all(axis=1))

    def gradients(self, x: Floats, rows: Integers) -> tuple[Floats, Floats]:
        """Values (k, r) and gradients (k, r, n) of some rows at points (k, n)."""
        fs = self.feasible_set
        n_flat = fs.m - fs.n_nonlinear
        flat = rows < n_flat
        values = np.empty((len(x), len(rows)))
        jacobian = np.empty((len(x), len(rows), fs.n))
        constant = fs.constant_jacobian[rows[flat]]
        values[:, flat] = x @ constant.T + self.offsets[rows[flat]]
        jacobian[:, flat] = constant
        if not flat.all():
            curved = rows[~flat] - n_flat
            for part, inputs in _chunks(x):
                v, J = self._jacobian(inputs)
                size = part.stop - part.start
                J = J.reshape(fs.n_nonlinear, fs.n, -1, order="F").transpose(2, 0, 1)
                values[part, ~flat] = v.T[:size, curved]
                jacobian[part, ~flat] = J[:size, curved]
        return values, jacobian

    @cached_property
    def offsets(self) -> Floats:
        """Constant terms (m_b + m_l,) of the bound and linear rows."""
        fs = self.feasible_set
        return fs.values(np.zeros(fs.n))[: fs.m - fs.n_nonlinear]

    @property
    def terms(self) -> int:
        """Size of the rows: operations of one evaluation."""
        return max(int(self.feasible_set.all_rows.function.n_instructions()), 1)

    @cached_property
    def _values(self) -> FastFunction:
        return FastFunction(self.feasible_set.all_rows.function.map(_CHUNK), matrices=(0,))

    @cached_property
    def _jacobian(self) -> FastFunction:
        function = self.feasible_set.nonlinear_rows_and_jacobian.function
        return FastFunction(function.map(_CHUNK), matrices=(0, 1))


def _chunks(x: Floats) -> Any:
    """Slices of points with their transpose (n, _CHUNK), the last one filled up."""
    for first in range(0, len(x), _CHUNK):
        part = slice(first, min(first + _CHUNK, len(x)))
        block = x[part]
        if len(block) < _CHUNK:
            block = np.concatenate((block, np.repeat(block[:1], _CHUNK - len(block), axis=0)))
        yield part, block.T
