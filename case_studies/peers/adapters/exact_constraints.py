"""A trick of experienced users: exact derivatives of the constraints, finite differences of f.

Set-up. Variables are scaled to the unit cube. f is differentiated by one further call for each
variable (``STEP``, forward, backward at the upper bound), so that no call leaves the box; that is
n + 1 calls for a gradient. f is divided by its first value, which SLSQP needs. The rows have their
exact derivatives from CasADi, equalities as such. Starts are feasible designs from
:func:`archeng.sample_feasible`, spread over the feasible set, one after the other until the budget
is used up; if it finds none, points of the box. A failed call gives the worst value seen so far.
Calls at infeasible designs happen (differences, line searches) and are counted. The end of each
search is often outside by a little: f is called at the feasible design nearest to it as well.

``slsqp``: SciPy's SLSQP, ``ftol=1e-10``. ``ipopt``: IPOPT of CasADi's wheel, Hessian by L-BFGS
(bounds not relaxed); when the run is over f is NaN for it, and it ends.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import casadi as ca
import numpy as np
from scipy.optimize import minimize

import archeng
from archeng.distribution import initial_distribution
from archeng.repair import Repairer
from case_studies.peers.case import Case
from case_studies.peers.recorder import Finished, Floats

STEP = 1e-6
"""Of a finite difference, in widths of the box: far above rounding, small beside curvature."""

BATCH = 10
"""So many starts are sampled at a time."""

ITERATIONS = 500
"""Most iterations from one start."""


def feasible_starts(case: Case) -> Iterator[Floats]:
    """Yield feasible designs until the run is over; points of the box if none can be found."""
    reduce = case.feasible_set.reduce
    while True:
        try:
            designs = archeng.sample_feasible(case.model, BATCH, seed=case.new_seed())
        except archeng.ArchengError:
            yield from case.starts()
        for x in designs.x:
            yield np.clip(reduce(x), case.lower, case.upper)
            case.objective.tick()


def nearest_feasible(case: Case, repairer: Repairer, x: Floats) -> Floats | None:
    """Return the feasible design nearest to a point, in widths of the box, or None."""
    around = initial_distribution(x, case.width)
    repaired = repairer.repair(np.clip(x, case.lower, case.upper), around).x
    return repaired if case.objective.allows(repaired) else None


def call_end(case: Case, repairer: Repairer, x: Floats) -> None:
    """Call f at the feasible design nearest to the end of a search, which is often just outside."""
    near = nearest_feasible(case, repairer, x)
    if near is not None:
        case.objective(near)


def differences(case: Case, u: Floats, f: float) -> Floats:
    """Gradient (n,) of f at a point of the unit cube, by n calls inside of it."""
    slopes = np.empty(case.n)
    for k in range(case.n):
        near = u.copy()
        near[k] += STEP if u[k] + STEP <= 1.0 else -STEP
        slopes[k] = (case.objective.finite(case.from_unit(near)) - f) / (near[k] - u[k])
    return slopes


class _Remembered:
    """f and its gradient: the value at the point of a gradient is not asked for again.

    Both are divided by the size of the first value.
    """

    def __init__(self, case: Case) -> None:
        self._case, self._u, self._f = case, np.full(case.n, np.nan), np.nan
        self._size = 0.0

    def value(self, u: Floats) -> float:
        """Call f, unless the last call was here."""
        if not np.array_equal(u, self._u):
            self._f = self._case.objective.finite(self._case.from_unit(u))
            self._u = np.array(u)
            self._size = self._size or abs(self._f) or 1.0
        return self._f / self._size

    def gradient(self, u: Floats) -> Floats:
        """Return the differences at ``u``."""
        self.value(u)
        return differences(self._case, np.array(u), self._f) / self._size


def unit_scipy_rows(case: Case) -> list[dict[str, Any]]:
    """Explicit rows of points of the unit cube as SLSQP wants them, with exact derivatives."""
    rows, width = case.constraints, case.width
    if not rows.m:
        return []
    equal = rows.exact_lower == rows.exact_upper
    above = np.isfinite(rows.exact_upper) & ~equal
    below = np.isfinite(rows.exact_lower) & ~equal

    def slack(u: Floats) -> Floats:
        values = rows.values(case.from_unit(u))
        return np.concatenate(
            ((rows.exact_upper - values)[above], (values - rows.exact_lower)[below])
        )

    def slack_slopes(u: Floats) -> Floats:
        jacobian = rows.jacobian(case.from_unit(u)) * width
        return np.concatenate((-jacobian[above], jacobian[below]))

    found: list[dict[str, Any]] = []
    if above.any() or below.any():
        found.append({"type": "ineq", "fun": slack, "jac": slack_slopes})
    if equal.any():
        found.append(
            {
                "type": "eq",
                "fun": lambda u: (rows.values(case.from_unit(u)) - rows.exact_lower)[equal],
                "jac": lambda u: (rows.jacobian(case.from_unit(u)) * width)[equal],
            }
        )
    return found


def slsqp(case: Case) -> None:
    """Run SLSQP from one feasible design after the other."""
    constraints, repairer = unit_scipy_rows(case), Repairer(case.feasible_set)
    for x0 in feasible_starts(case):
        f = _Remembered(case)
        end = minimize(
            f.value,
            np.clip(case.to_unit(x0), 0.0, 1.0),
            jac=f.gradient,
            method="SLSQP",
            bounds=[(0.0, 1.0)] * case.n,
            constraints=constraints,
            options={"ftol": 1e-10, "maxiter": ITERATIONS},
        )
        call_end(case, repairer, case.from_unit(np.clip(end.x, 0.0, 1.0)))


class _Slopes(ca.Callback):  # type: ignore[misc]
    """The gradient of f, as CasADi asks for it: at a point, with the value there."""

    def __init__(self, box: _BlackBox) -> None:
        ca.Callback.__init__(self)
        self._box = box
        self.construct("slopes", {})

    def get_n_in(self) -> int:
        return 2

    def get_sparsity_in(self, i: int) -> Any:
        return ca.Sparsity.dense(self._box.n if i == 0 else 1, 1)

    def get_sparsity_out(self, i: int) -> Any:
        return ca.Sparsity.dense(1, self._box.n)

    def eval(self, arguments: Any) -> Any:
        u = arguments[0].full().reshape(-1)
        return [ca.DM(self._box.guarded(self._box.memory.gradient, u, self._box.n)).T]


class _BlackBox(ca.Callback):  # type: ignore[misc]
    """f as a CasADi function of the unit cube; NaN after the end of the run."""

    def __init__(self, case: Case) -> None:
        ca.Callback.__init__(self)
        self.n, self.memory = case.n, _Remembered(case)
        self.finished: Finished | None = None
        self._slopes = _Slopes(self)
        self.construct("black_box", {})

    def get_sparsity_in(self, i: int) -> Any:
        return ca.Sparsity.dense(self.n, 1)

    def eval(self, arguments: Any) -> Any:
        return [ca.DM(self.guarded(self.memory.value, arguments[0].full().reshape(-1), 1))]

    def has_jacobian(self) -> bool:
        return True

    def get_jacobian(self, *_: Any) -> Any:
        return self._slopes

    def guarded(self, function: Any, u: Floats, size: int) -> Any:
        """Call a function, and keep what ends the run: it must not pass through IPOPT."""
        if self.finished is None:
            try:
                return function(u)
            except Finished as end:
                self.finished = end
        return np.full(size, np.nan)


class _Watch(ca.Callback):  # type: ignore[misc]
    """Asked after each iteration of IPOPT: 1 ends it."""

    def __init__(self, box: _BlackBox, m: int) -> None:
        ca.Callback.__init__(self)
        self._box, self._m = box, m
        self.construct("watch", {})

    def get_n_in(self) -> int:
        return int(ca.nlpsol_n_out())

    def get_sparsity_in(self, i: int) -> Any:
        rows = {"f": 1, "x": self._box.n, "lam_x": self._box.n, "g": self._m, "lam_g": self._m}
        return ca.Sparsity.dense(rows.get(ca.nlpsol_out(i), 0), 1)

    def eval(self, arguments: Any) -> Any:
        return [float(self._box.finished is not None)]


def ipopt(case: Case) -> None:
    """Run IPOPT from one feasible design after the other."""
    fs = case.feasible_set
    width, low = case.width, case.lower
    u = ca.MX.sym("u", case.n)
    full = ca.MX(ca.DM(fs.template))
    full[list(map(int, fs.free))] = ca.DM(low) + ca.DM(width) * u
    rows = [row for constraint in case.model.constraints for row in constraint.rows]
    formulas = ca.Function(
        "rows", [case.model.symbols], [ca.vertcat(ca.SX(0, 1), *(r.expression for r in rows))]
    )
    box = _BlackBox(case)
    watch = _Watch(box, len(rows))
    solver = ca.nlpsol(
        "method",
        "ipopt",
        {"x": u, "f": box(u), "g": formulas(full)},
        {
            "print_time": False,
            "error_on_fail": False,
            "show_eval_warnings": False,
            "iteration_callback": watch,
            "ipopt": {
                "print_level": 0,
                "sb": "yes",
                "hessian_approximation": "limited-memory",
                "bound_relax_factor": 0.0,
                "max_iter": ITERATIONS,
            },
        },
    )
    repairer = Repairer(fs)
    for x0 in feasible_starts(case):
        end = solver(
            x0=np.clip(case.to_unit(x0), 0.0, 1.0),
            lbx=0.0,
            ubx=1.0,
            lbg=[row.lower for row in rows],
            ubg=[row.upper for row in rows],
        )
        if box.finished is not None:
            raise box.finished
        u_end = np.clip(end["x"].full().ravel(), 0.0, 1.0)
        if np.isfinite(u_end).all():
            call_end(case, repairer, case.from_unit(u_end))
