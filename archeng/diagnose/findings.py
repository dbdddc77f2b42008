"""What is worth knowing about single rows and variables.

- Structure: degrees of freedom, variables that nothing limits.
- Redundancy: rows that are implied by the others, written twice, or always at their limit.
  Linear rows are settled by linear programs; what interval arithmetic can show is proved as well.
  For the others a local search tries to reach the limit (or to leave it) from feasible designs.
- Numbers: rows that are undefined in part of the box, or badly scaled.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

import casadi as ca
import numpy as np

from archeng.diagnose.conflict_text import listed
from archeng.diagnose.diagnosis import Finding
from archeng.diagnose.explain import statement
from archeng.diagnose.graph import denominators
from archeng.diagnose.intervals import proves_conflict
from archeng.diagnose.limits import Bools, Limit, LimitKind, LimitSystem
from archeng.diagnose.oracle import Oracle
from archeng.diagnose.rank import MOST_RANKED, dependent_rows
from archeng.model.variable import Floats

_LOOKED_AT = 3  # designs at which gradients of equalities are looked at
_FAR = 1e4  # how many scales away a variable must get to count as unlimited
_AT_LIMIT = 1e-6  # a limit with less room than this is reached, in sizes of its quantity
_TRIED = 40  # limits that are tried by local search
_AFFORDABLE = 2000  # the same times the rows of the model
_STEP = 1e-3  # how far a row must get away from its limit, in its size
_SAME = 1e-9  # numbers this near to each other are the same, in the size of the row
_LARGEST = 1500  # operations of all rows up to which intervals are tried on all of them
_READABLE = 1e8  # rows that change by more than this, or less than one over it, are mentioned
_EPSILON = float(np.finfo(float).eps)  # rounding error of one operation
_CURVES = 1e9  # ratio of the steepest to the flattest gradient in the box that is worth a word


# -- structure ---------------------------------------------------------------------------------


def dependent(system: LimitSystem, points: Floats, free: Sequence[int]) -> Iterator[Finding]:
    """Equalities whose gradients in the free variables depend on those before, at some points.

    A few of the points (k, n) are looked at. At one alone, gradients may happen to depend.
    """
    rows = [j for j in range(system.m) if system.quantities[j].equality]
    if not 0 < len(rows) <= MOST_RANKED:
        return
    found: dict[int, tuple[int, ...]] | None = None
    for point in points[:_LOOKED_AT]:
        jacobian = np.asarray(system.jacobian(point).full(), dtype=float)
        here = dependent_rows((jacobian[rows] * system.scale)[:, list(free)])
        found = here if found is None else {j: found[j] for j in found if j in here}
        if not found:
            return
    for j, partners in (found or {}).items():
        names = tuple(system.quantities[rows[i]].name for i in partners)
        text = f"follows from {listed(names)}" if names else "no variable changes it"
        yield replace(_about(system, rows[j], text), others=names)


def unlimited(oracle: Oracle, designs: Floats, followed: Collection[int] = ()) -> Iterator[Finding]:
    """Variables that can go to infinity, judged from feasible designs (k, n), possibly none.

    Variables that follow from others, by their positions, are not tried.
    """
    system = oracle.system
    occurring = {i for j in range(system.m) for i in system.quantities[j].variables}
    for i in range(system.n):
        idle = i not in occurring
        how = "it occurs in no row" if idle else "the rows in which it occurs let it run away"
        texts = [
            f"no limit {way} ({how})"
            for side, bound, way in ((-1, system.lower[i], "below"), (1, system.upper[i], "above"))
            if not np.isfinite(bound)
            and (idle or (len(designs) and i not in followed))
            and (idle or _escapes(oracle, i, side, designs[0]))
        ]
        if texts:
            yield _about(system, system.m + i, "; ".join(texts), idle)


def _escapes(oracle: Oracle, i: int, side: int, point: Floats) -> bool:
    """Whether all limits hold at a point where the variable is very far out."""
    system = oracle.system
    quantity = system.m + i
    most = oracle.linear.extreme(system.everything, quantity, side)
    if np.isfinite(most):
        return False
    if oracle.linear.usable.all():
        return bool(np.isinf(most))
    goal = point[i] + side * _FAR * system.scale[i]
    far = Limit(quantity, -side, float(goal), LimitKind.BOUND)
    moved = point.copy()
    moved[i] = goal
    return oracle.reaches(replace(system, limits=(*system.limits, far)), (moved, point))


# -- redundancy --------------------------------------------------------------------------------


def redundant(oracle: Oracle, designs: Floats) -> Iterator[Finding]:
    """Inequalities whose limit no design reaches; the designs (k, n) are feasible."""
    system = oracle.system
    reached = np.any(system.excess(designs) >= -_AT_LIMIT, axis=0)
    rest, tried = system.everything, 0
    for k, row in _copies(system, designs):
        yield _about_limit(system, k, f"says the same as {system.quantities[row].name}", True)
        rest[k] = False
    for k in _inequalities(system):
        if not rest[k]:
            continue
        others = rest.copy()
        others[k] = False
        linear = system.quantities[system.limits[k].quantity].linear
        why = _implied(oracle, others, k) if linear or not reached[k] else ""
        if why:
            yield _about_limit(system, k, why, True)
            rest = others
        elif not reached[k] and tried < min(_TRIED, _AFFORDABLE // system.m):
            tried += 1
            beyond = system.with_limit(k, side=-system.limits[k].side)
            if not oracle.reaches(beyond, _by_room(system, k, designs)[::-1][:2]):
                yield _about_limit(system, k, "no design was found that reaches its limit", False)


def always_active(oracle: Oracle, designs: Floats, implied: Collection[str]) -> Iterator[Finding]:
    """Limits that every design (k, n) reaches, and those that a run takes for equalities.

    ``implied`` names the rows that compiling has found to be equalities.
    """
    system = oracle.system
    proved = dict(_held_at_limit(oracle, designs))
    for k, limit in enumerate(system.limits):
        equal = limit.quantity < system.m and system.quantities[limit.quantity].name in implied
        text = "every design is at this limit: in effect an equality"
        if equal:
            text += ", and a run takes it for one, with a tolerance"
        if equal or k in proved:
            yield _about_limit(system, k, text, equal or proved[k])


def _held_at_limit(oracle: Oracle, designs: Floats) -> Iterator[tuple[int, bool]]:
    """Inequalities that are at their limit at every design: (limit, proved)."""
    system = oracle.system
    reached = np.all(system.excess(designs) >= -_AT_LIMIT, axis=0)
    for k in _inequalities(system):
        if not reached[k]:
            continue
        limit, size = system.limits[k], float(system.size[system.limits[k].quantity])
        inside = limit.value - limit.side * _STEP * size
        if system.quantities[limit.quantity].linear:
            most = oracle.linear.extreme(system.everything, limit.quantity, -limit.side)
            if limit.side * (most - inside) > 0:
                yield k, True
                continue
        tighter = system.with_limit(k, value=inside)
        if proves_conflict(tighter, system.everything):
            yield k, True
        elif not oracle.reaches(tighter, _by_room(system, k, designs)[:2]):
            yield k, False


def _implied(oracle: Oracle, others: Bools, k: int) -> str:
    """Why the other limits imply this one; empty if that is not proved."""
    system = oracle.system
    limit = system.limits[k]
    beyond = limit.value + limit.side * _SAME * float(system.size[limit.quantity])
    if system.quantities[limit.quantity].linear:
        most = oracle.linear.extreme(others, limit.quantity, limit.side)
        if limit.side * (most - beyond) <= 0:
            return "implied by bounds and linear rows"
    flipped, this = system.with_limit(k, side=-limit.side, value=beyond), system.only([k])
    if proves_conflict(flipped, (others & ~system.of_kind(LimitKind.ROW)) | this):
        return "holds everywhere in the box"
    if sum(len(graph.nodes) for graph in system.graphs if graph is not None) > _LARGEST:
        return ""
    return "implied by the other rows" if proves_conflict(flipped, others | this) else ""


def _copies(system: LimitSystem, points: Floats) -> Iterator[tuple[int, int]]:
    """Limits whose room is a multiple of that of an earlier row at every point: (limit, row)."""
    everywhere = np.vstack((system.sample(40, np.random.default_rng(0)), points))
    excess = system.excess(everywhere)
    originals: list[int] = []
    for k in _inequalities(system):
        good = np.isfinite(excess[:, k])
        same = [
            j
            for j in originals
            if good.sum() > 3
            and np.array_equal(good, np.isfinite(excess[:, j]))
            and _proportional(excess[good, k], excess[good, j])
        ]
        if same:
            yield k, system.limits[same[0]].quantity
        else:
            originals.append(k)


def _proportional(a: Floats, b: Floats) -> bool:
    lengths = float(np.linalg.norm(a) * np.linalg.norm(b))
    if not (float(a @ b) > 0 and 0 < lengths < np.inf):
        return False
    gap = a / np.linalg.norm(a) - b / np.linalg.norm(b)
    return bool(np.abs(gap).max() < _SAME)


def _inequalities(system: LimitSystem) -> list[int]:
    return [int(k) for k in np.flatnonzero(system.of_kind(LimitKind.ROW) & ~system.equality)]


def _by_room(system: LimitSystem, k: int, points: Floats) -> Floats:
    """Return the points (k, n), those farthest from a limit first."""
    return points[np.argsort(system.excess(points)[:, k], kind="stable")]


# -- numbers -----------------------------------------------------------------------------------


def undefined(system: LimitSystem, inside: Floats, edges: Floats) -> Iterator[Finding]:
    """Rows that are not finite at some of the points, or have a pole between them.

    The points ``inside`` (k, n) are uniform in the box, ``edges`` (l, n) lie on its faces.
    """
    points = np.vstack((inside, edges))
    values = system.values(points)[:, : system.m]
    for j in range(system.m):
        bad = ~np.isfinite(values[:, j])
        if bad.any():
            why, point = _reason(system, j, points[bad]), points[int(np.argmax(bad))]
        elif (pole := _pole(system, j, points)) is not None:
            why, point = "division by a quantity that changes its sign", pole
        else:
            continue
        names, share = system.names, float(bad[: len(inside)].mean())
        where = [f"{names[i]} = {point[i]:.4g}" for i in system.quantities[j].variables[:4]]
        part = f"in {100 * share:.3g} % of the box" if share else "in places"
        yield _about(system, j, f"{why}, {part}, for instance near {', '.join(where)}")


def _reason(system: LimitSystem, row: int, points: Floats) -> str:
    """Name the operation that fails at these points."""
    with np.errstate(invalid="ignore"):
        values = system.safe(points.T).full()[len(system.quantities) :]
    reasons = []
    for value, (owner, guard) in zip(values, system.guards, strict=True):
        if owner == row and np.any((value <= guard.lower) | (value > guard.upper)):
            reasons.append(guard.what)
    return ", ".join(dict.fromkeys(reasons)) or "division by zero, or a number too large"


def _pole(system: LimitSystem, row: int, points: Floats) -> Floats | None:
    """Point at which a denominator of a row is nearest to zero, if it takes both signs."""
    graph, own = system.graphs[row], list(system.quantities[row].variables)
    if graph is None or not own:
        return None
    symbols, x = ca.SX.sym("x", len(own)), ca.SX.zeros(system.n)
    for k, i in enumerate(own):
        x[i] = symbols[k]
    for expression in denominators(graph, x):
        value = ca.Function("d", [symbols], [expression])(points[:, own].T).full().ravel()
        good = value[np.isfinite(value)]
        if len(good) and good.min() < 0 < good.max():
            return np.asarray(points[int(np.nanargmin(np.abs(value)))], dtype=float)
    return None


def badly_scaled(system: LimitSystem, points: Floats) -> Iterator[Finding]:
    """Rows whose numbers ask for trouble.

    Constant factors do not matter to archeng; what matters is a tolerance below the rounding
    errors, or one that is wider than what the row can change at all.
    """
    (lengths, terms), values = system.slopes(points), system.values(points)[:, : system.m]
    terms = terms[:, : system.m] + np.abs(values)
    terms = np.where(np.isfinite(terms), terms, 0.0)
    defined = np.any(np.isfinite(values), axis=0)
    for j in np.flatnonzero(defined).tolist():
        quantity, size = system.quantities[j], float(system.size[j])
        good = lengths[:, j][np.isfinite(lengths[:, j]) & (lengths[:, j] > 0)]
        noise = _EPSILON * float(np.median(terms[:, j]))
        tolerance = (quantity.upper - quantity.lower) / 2
        if quantity.equality and tolerance < 4 * noise:
            text = f"its tolerance {tolerance:.3g} is below the rounding errors of its terms "
            text += f"({noise:.2g}): give a tolerance above {10 * noise:.1g}, or other units"
            yield _about(system, j, text)
        elif quantity.equality and tolerance > size:
            text = f"its tolerance {tolerance:.3g} is wider than a typical change of the row"
            yield _about(system, j, f"{text} ({size:.3g}): hardly an equality")
        if not 1 / _READABLE < size < _READABLE:
            text = f"it changes by {size:.1e} over the scale of the variables"
            yield _about(system, j, f"{text}: other units would make it readable")
        if len(good) and good.max() > _CURVES * good.min():
            text = f"its slope differs by a factor of {good.max() / good.min():.0e} within the box"
            yield _about(system, j, f"{text}: tighten the bounds, or take logarithms")


def _about(system: LimitSystem, quantity: int, text: str, proved: bool = True) -> Finding:
    """Return a finding about a row or a variable."""
    q = system.quantities[quantity]
    return Finding(q.name, text, q.source, proved)


def _about_limit(system: LimitSystem, k: int, text: str, proved: bool) -> Finding:
    """Return a finding about one limit of a row."""
    source = system.quantities[system.limits[k].quantity].source
    return Finding(statement(system, k), text, source, proved)
