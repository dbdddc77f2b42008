"""Dense convex quadratic programs by DAQP, through CasADi's buffer interface.

DAQP (Arnstrom, Bemporad, Axehill, IEEE TAC 2022) is a dual active-set method for small dense
problems. Its status is not trusted: the answer is checked.
"""

from __future__ import annotations

import casadi as ca
import numpy as np

from archeng.distribution import Floats

_INFINITE = 1e30  # DAQP's own infinity
_FEASIBLE = 1e-9  # rows are scaled to unit gradients


class QuadraticProgram:
    """min 1/2 d^T H d + g^T d subject to lower <= A d <= upper, with fixed sizes n and m."""

    def __init__(self, n: int, m: int, primal_tolerance: float = 2e-12) -> None:
        shapes = {"h": ca.Sparsity.dense(n, n), "a": ca.Sparsity.dense(m, n)}
        options = {
            "error_on_fail": False,
            "print_time": False,
            "daqp": {"primal_tol": primal_tolerance, "dual_tol": 1e-12},
        }
        self._solver = ca.conic("qp", "daqp", shapes, options)
        self._buffer, self._evaluate = self._solver.buffer()
        self._h = np.zeros((n, n), order="F")
        self._g = np.zeros(n)
        self._a = np.zeros((m, n), order="F")
        self._low, self._high = np.zeros(m), np.zeros(m)
        self._free = np.full(n, np.inf)
        self._bound = -self._free
        self._d, self._multipliers = np.zeros(n), np.zeros(m)
        arguments = {
            "h": self._h.T,
            "g": self._g,
            "a": self._a.T,
            "lba": self._low,
            "uba": self._high,
            "lbx": self._bound,
            "ubx": self._free,
        }
        for name, array in arguments.items():
            self._buffer.set_arg(self._solver.index_in(name), memoryview(array))
        self._buffer.set_res(self._solver.index_out("x"), memoryview(self._d))
        self._buffer.set_res(self._solver.index_out("lam_a"), memoryview(self._multipliers))

    def solve(
        self, H: Floats, g: Floats, A: Floats, lower: Floats, upper: Floats
    ) -> tuple[Floats, Floats] | None:
        """Return (d, multipliers) or None if infeasible or unsolved.

        Multipliers (m,) are positive at an upper limit: H d + g + A^T multipliers = 0.
        """
        self._h[:], self._g[:], self._a[:] = H, g, A
        np.clip(lower, -_INFINITE, _INFINITE, out=self._low)
        np.clip(upper, -_INFINITE, _INFINITE, out=self._high)
        self._d[:] = np.nan
        self._evaluate()
        d = self._d.copy()
        if not np.all(np.isfinite(d)):
            return None
        product = A @ d
        tolerance = _FEASIBLE * (1.0 + float(np.max(np.abs(d))))
        if np.any(product < lower - tolerance) or np.any(product > upper + tolerance):
            return None
        return d, self._multipliers.copy()
