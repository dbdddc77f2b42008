r"""Inequalities that together are equalities: rows that can only hold at their limit.

Two kinds are looked for. Linear rows and bounds, by linear programs: with x = c + S z and rows
scaled to unit gradients,

.. math:: \max_{z, t} t \quad\text{s.t.}\quad G z + t \le h, \; E z = e, \; t \le 1 ;

if the largest t is 0, each row without slack at that point is asked for its largest slack. And
pairs of nonlinear rows ``r <= c`` and ``r >= c`` with one and the same expression r.

Most models have a point inside, which is found without a linear program, by relaxation [A54].

[A54] S. Agmon, The relaxation method for linear inequalities, Canadian Journal of Mathematics 6,
382-392, 1954, doi:10.4153/CJM-1954-037-2.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from archeng.model.tolerance import Neighbourhood, called
from archeng.model.variable import Floats

_NONE = 1e-9  # largest common slack, in deviations, of rows that have none
_SLACK = 2e-8  # largest slack of a row that is an equality; well below the default tolerance
_ROUNDING = 1e-13  # relative size of a conflict that rounding makes
_ZERO = 1e-10  # length of a scaled gradient, or singular value, that counts as zero
_LP_TOLERANCE = 1e-10  # of HiGHS, its least
_AIM = 1e-2  # slack that the search for a point inside tries to give to each row
_TRIES = 300  # of that search
_DEPTH = 12  # to which expressions are compared
_MOST = 500  # variables up to which equalities are taken out before the search


@dataclass(frozen=True, eq=False)
class LinearRows:
    """Linear rows ``lower <= A x + offset <= upper``; where ``equality``, the middle is meant."""

    A: Floats
    offset: Floats
    lower: Floats
    upper: Floats
    equality: NDArray[np.bool_]


def linear_program(cost: Floats, a: Floats, b: Floats, bounds: Any, presolve: bool = True) -> Any:
    """Minimise the cost over ``a x <= b`` and the bounds (HiGHS); returns what SciPy returns."""
    from scipy.optimize import linprog  # here, because it takes longer to import than archeng

    options = {
        "primal_feasibility_tolerance": _LP_TOLERANCE,
        "dual_feasibility_tolerance": _LP_TOLERANCE,
        "presolve": presolve,
    }
    rows = {"A_ub": a, "b_ub": b} if len(b) else {}
    return linprog(cost, **rows, bounds=bounds, method="highs", options=options)


@np.errstate(over="ignore", invalid="ignore")
def always_active(rows: LinearRows, near: Neighbourhood) -> dict[int, float]:
    """Return rows, and bounds as m + i, that can only hold at a limit, with that limit."""
    if np.all(rows.equality) or np.any(near.scale <= 0) or not np.all(np.isfinite(near.scale)):
        return {}
    G, h, E, e, owner, value = _one_sided(rows, near)
    if not all(np.isfinite(part).all() for part in (G, h, E, e)) or _has_inside(G, h, E, e):
        return {}
    n, k = G.shape[1], len(h)
    a, b = np.vstack((G, E, -E)), np.concatenate((h, e, -e))
    with_slack = np.column_stack((a, np.repeat((1.0, 0.0), (k, 2 * len(e)))))
    free = [(None, None)] * n
    answer = linear_program(np.append(np.zeros(n), -1.0), with_slack, b, [*free, (None, 1.0)])
    if answer.status != 0 or answer.x[n] > _NONE:
        return {}
    binding = h - G @ answer.x[:n] <= _SLACK
    rounding = _ROUNDING * (1.0 + float(np.abs(h[binding]).max(initial=0.0)))
    if answer.x[n] < -rounding:  # a conflict, and not one of rounding
        return {}
    b[:k] += 2 * rounding
    open_ones = set(np.flatnonzero(binding).tolist())
    active = {}
    while open_ones:
        j = min(open_ones)
        answer = linear_program(G[j], a, b, free)
        if answer.status == 0 and h[j] - answer.fun <= _SLACK:
            active[int(owner[j])] = float(value[j])
        elif answer.status == 0:
            open_ones -= set(np.flatnonzero(h - G @ answer.x > _SLACK).tolist())
        open_ones.discard(j)
    return active


def _one_sided(rows: LinearRows, near: Neighbourhood) -> tuple[Floats, ...]:
    """Limits G z <= h of the inequality rows and bounds, equalities E z = e, and whose they are.

    The last two are the row of each limit, or m + i for variable i, and the limit itself.
    """
    A = np.vstack((rows.A, np.eye(rows.A.shape[1])))
    at_center = np.concatenate((rows.A @ near.center + rows.offset, near.center))
    lower, upper = np.append(rows.lower, near.low), np.append(rows.upper, near.high)
    equal = np.append(rows.equality, np.zeros(len(near.low), dtype=bool))
    size = np.linalg.norm(A * near.scale, axis=1)
    scaled = A * near.scale / size[:, None]
    above = np.flatnonzero(np.isfinite(upper) & ~equal)
    below = np.flatnonzero(np.isfinite(lower) & ~equal)
    middle = (lower[equal] + upper[equal]) / 2
    return (
        np.vstack((scaled[above], -scaled[below])),
        np.append(((upper - at_center) / size)[above], ((at_center - lower) / size)[below]),
        scaled[equal],
        (middle - at_center[equal]) / size[equal],
        np.append(above, below),
        np.append(upper[above], lower[below]),
    )


def _has_inside(G: Floats, h: Floats, E: Floats, e: Floats) -> bool:
    """Whether relaxation (projection to the worst row, again and again) finds a point inside."""
    if len(e):
        if G.shape[1] > _MOST:
            return False
        _, values, basis = np.linalg.svd(E)
        z, *_ = np.linalg.lstsq(E, e, rcond=None)
        if np.abs(E @ z - e).max() > _NONE:
            return False
        G, h = G @ basis[int(np.sum(values > _ZERO)) :].T, h - G @ z
    norms = np.linalg.norm(G, axis=1)
    if G.shape[1] == 0 or np.any(h[norms <= _ZERO] <= _SLACK):
        return False
    moves = norms > _ZERO
    G, h = G[moves] / norms[moves, None], h[moves] / norms[moves]
    z = np.zeros(G.shape[1])
    for _ in range(_TRIES):
        slack = h - G @ z
        worst = int(np.argmin(slack)) if len(slack) else -1
        if worst < 0 or slack[worst] > _SLACK:
            return True
        z -= (_AIM - slack[worst]) * G[worst]
    return False


@np.errstate(over="ignore", invalid="ignore")
def opposite_pairs(rows: Sequence[Any], x: Any, near: Neighbourhood) -> dict[int, float]:
    """Return rows (expression, lower, upper) of which two ask for r <= c and r >= c, with c.

    Candidates have the same values, up to the sign, at a few points; then expressions are compared.
    """
    if len(rows) < 2:
        return {}
    function = ca.Function("rows", [x], [ca.vertcat(*(row.expression for row in rows))])
    values = np.array([called(function, p)[0] for p in near.points()]).T
    groups: dict[bytes, list[tuple[int, float]]] = {}
    for j, at in enumerate(values):
        usable = at[np.isfinite(at) & (at != 0)]
        if len(usable):
            sign = float(np.sign(usable[0]))
            groups.setdefault((sign * at + 0.0).tobytes(), []).append((j, sign))
    pairs: dict[int, float] = {}
    for group in groups.values():
        first, its_sign = group[0]
        r = rows[first].expression
        same = [
            (j, s) for j, s in group if j == first or _same(r, rows[j].expression, s == its_sign)
        ]
        limits = [sorted((s * rows[j].lower, s * rows[j].upper)) for j, s in same]
        low, high = max(a for a, _ in limits), min(b for _, b in limits)
        if low == high:
            pairs |= {j: s * low for (j, s), ends in zip(same, limits, strict=True) if low in ends}
    return pairs


def _same(a: Any, b: Any, same_sign: bool) -> bool:
    """Whether two expressions are written alike, or as each other's negative."""
    if same_sign:
        return bool(ca.is_equal(a, b, _DEPTH))
    if a.is_op(ca.OP_SUB) and b.is_op(ca.OP_SUB):
        left, right = (a.dep(0), a.dep(1)), (b.dep(1), b.dep(0))
        return all(ca.is_equal(u, v, _DEPTH) for u, v in zip(left, right, strict=True))
    return any(u.is_op(ca.OP_NEG) and ca.is_equal(u.dep(0), v, _DEPTH) for u, v in ((a, b), (b, a)))
