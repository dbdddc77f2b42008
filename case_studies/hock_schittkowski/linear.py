"""Problems of the collection whose constraints are all linear."""

from __future__ import annotations

import math
from collections.abc import Callable

import pyomo.environ as pyo
from pyomo.core.expr import LinearExpression

from case_studies.hock_schittkowski.start import start_at


def hs009() -> pyo.ConcreteModel:
    """Build a sine times cosine on a line through the origin: infinitely many solutions."""
    m = pyo.ConcreteModel(name="HS 9")
    m.x = pyo.Var([1, 2], initialize=0)
    m.line = pyo.Constraint(expr=4 * m.x[1] == 3 * m.x[2])
    m.obj = pyo.Objective(
        expr=pyo.sin(math.pi * m.x[1] / 12) * pyo.cos(math.pi * m.x[2] / 16), sense=pyo.minimize
    )
    return m


def hs021() -> pyo.ConcreteModel:
    """Build a bowl, one row; the published start violates a bound."""
    m = pyo.ConcreteModel(name="HS 21")
    m.x = pyo.Var([1, 2], bounds={1: (2, 50), 2: (-50, 50)})
    start_at(m.x, -1)
    m.c = pyo.Constraint(expr=10 * m.x[1] - m.x[2] >= 10)
    m.obj = pyo.Objective(expr=0.01 * m.x[1] ** 2 + m.x[2] ** 2 - 100)
    return m


def hs024() -> pyo.ConcreteModel:
    """Build a triangle: rows in a ConstraintList, bounds from the domain."""
    m = pyo.ConcreteModel(name="HS 24")
    m.x = pyo.Var(pyo.RangeSet(2), initialize={1: 1, 2: 0.5}, domain=pyo.NonNegativeReals)
    root = math.sqrt(3)
    m.triangle = pyo.ConstraintList()
    m.triangle.add(m.x[1] / root - m.x[2] >= 0)
    m.triangle.add(m.x[1] + root * m.x[2] >= 0)
    m.triangle.add(m.x[1] + root * m.x[2] <= 6)
    m.obj = pyo.Objective(expr=((m.x[1] - 3) ** 2 - 9) * m.x[2] ** 3 / (27 * root))
    return m


def hs028() -> pyo.ConcreteModel:
    """Build two squares on a plane: a start for each variable, `sum_product`."""
    m = pyo.ConcreteModel(name="HS 28")
    m.I = pyo.RangeSet(3)
    m.a = pyo.Param(m.I, initialize=lambda m, i: i)
    m.x = pyo.Var(m.I, initialize={1: -4, 2: 1, 3: 1})
    m.plane = pyo.Constraint(expr=pyo.sum_product(m.a, m.x) == 1)
    m.obj = pyo.Objective(expr=(m.x[1] + m.x[2]) ** 2 + (m.x[2] + m.x[3]) ** 2)
    return m


def hs035() -> pyo.ConcreteModel:
    """Build Beale's quadratic programme: mutable data in a matrix of parameters."""
    m = pyo.ConcreteModel(name="HS 35")
    m.I = pyo.Set(initialize=[1, 2, 3])
    q = {(1, 1): 2, (2, 2): 2, (3, 3): 1, (1, 2): 2, (1, 3): 2}
    m.q = pyo.Param(m.I, m.I, initialize=q, default=0, mutable=True)
    m.c = pyo.Param(m.I, initialize={1: -8, 2: -6, 3: -4}, mutable=True)
    m.x = pyo.Var(m.I, initialize=0.5, domain=pyo.NonNegativeReals)
    m.row = pyo.Constraint(expr=m.x[1] + m.x[2] + 2 * m.x[3] <= 3)
    m.obj = pyo.Objective(
        expr=9
        + pyo.sum_product(m.c, m.x)
        + sum(m.q[i, j] * m.x[i] * m.x[j] for i in m.I for j in m.I)
    )
    return m


def hs036() -> pyo.ConcreteModel:
    """Build the largest parcel that the post accepts: units, maximised."""
    m = pyo.ConcreteModel(name="HS 36")
    u = pyo.units
    m.length = pyo.Var(initialize=10, bounds=(0, 20), units=u.inch)
    m.width = pyo.Var(initialize=10, bounds=(0, 11), units=u.inch)
    m.height = pyo.Var(initialize=10, bounds=(0, 42), units=u.inch)
    m.limit = pyo.Param(initialize=72, units=u.inch, mutable=True)
    m.girth = pyo.Expression(expr=2 * m.width + 2 * m.height)
    m.post = pyo.Constraint(expr=m.length + m.girth <= m.limit)
    m.obj = pyo.Objective(expr=m.length * m.width * m.height, sense=pyo.maximize)
    return m


def hs037() -> pyo.ConcreteModel:
    """Build the parcel in a cube: one row with two sides."""
    m = pyo.ConcreteModel(name="HS 37")
    m.x = pyo.Var([1, 2, 3], initialize=10, bounds=(0, 42))
    m.row = pyo.Constraint(expr=pyo.inequality(0, m.x[1] + 2 * m.x[2] + 2 * m.x[3], 72))
    m.obj = pyo.Objective(expr=-m.x[1] * m.x[2] * m.x[3])
    return m


def hs041() -> pyo.ConcreteModel:
    """Build a product on a plane in a box: `UnitInterval` domain; the start violates bounds."""
    m = pyo.ConcreteModel(name="HS 41")
    m.part = pyo.Var([1, 2, 3], domain=pyo.UnitInterval)
    start_at(m.part, 2)
    m.total = pyo.Var(initialize=2, bounds=(0, 2))
    m.balance = pyo.Constraint(expr=m.part[1] + 2 * m.part[2] + 2 * m.part[3] == m.total)
    m.obj = pyo.Objective(expr=2 - pyo.prod(m.part.values()))
    return m


def hs044() -> pyo.ConcreteModel:
    """Build Konno's bilinear problem: rows as `LinearExpression`, indexed by pairs."""
    m = pyo.ConcreteModel(name="HS 44")
    m.x = pyo.Var(pyo.RangeSet(4), domain=pyo.NonNegativeReals, initialize=0)
    x1, x2, x3, x4 = m.x.values()
    rows = {
        ("p", 1): ([1, 2], [x1, x2], 8),
        ("p", 2): ([4, 1], [x1, x2], 12),
        ("p", 3): ([3, 4], [x1, x2], 12),
        ("q", 1): ([2, 1], [x3, x4], 8),
        ("q", 2): ([1, 2], [x3, x4], 8),
        ("q", 3): ([1, 1], [x3, x4], 5),
    }

    @m.Constraint(["p", "q"], [1, 2, 3])
    def side(m: pyo.ConcreteModel, player: str, k: int) -> object:
        a, v, b = rows[player, k]
        return LinearExpression(constant=0, linear_coefs=a, linear_vars=v) <= b

    m.obj = pyo.Objective(expr=x1 - x2 - x3 - x1 * x3 + x1 * x4 + x2 * x3 - x2 * x4)
    return m


def hs048() -> pyo.ConcreteModel:
    """Build three squares, two planes: equalities indexed by name."""
    m = pyo.ConcreteModel(name="HS 48")
    m.x = pyo.Var(pyo.RangeSet(5), initialize=dict(enumerate([3, 5, -3, 2, -2], 1)))
    rows = {"sum": pyo.quicksum(m.x[:]) - 5, "other": m.x[3] - 2 * (m.x[4] + m.x[5]) + 3}
    m.plane = pyo.Constraint(list(rows), rule=lambda _, key: rows[key] == 0)
    m.obj = pyo.Objective(expr=(m.x[1] - 1) ** 2 + (m.x[2] - m.x[3]) ** 2 + (m.x[4] - m.x[5]) ** 2)
    return m


def hs049() -> pyo.ConcreteModel:
    """Build powers two, four and six on two planes; a switched-off row does not count."""
    m = pyo.ConcreteModel(name="HS 49")
    m.x = pyo.Var(pyo.RangeSet(5), initialize=dict(enumerate([10, 7, 2, -3, 0.8], 1)))
    m.first = pyo.Constraint(expr=m.x[1] + m.x[2] + m.x[3] + 4 * m.x[4] - 7 == 0)
    m.second = pyo.Constraint(expr=m.x[3] + 5 * m.x[5] - 6 == 0)
    m.unused = pyo.Constraint(expr=m.x[1] >= 20)
    m.unused.deactivate()
    m.obj = pyo.Objective(
        expr=(m.x[1] - m.x[2]) ** 2 + (m.x[3] - 1) ** 2 + (m.x[4] - 1) ** 4 + (m.x[5] - 1) ** 6
    )
    return m


def hs050() -> pyo.ConcreteModel:
    """Build four differences on three planes: a rule that skips, an indexed rule over shifts."""
    m = pyo.ConcreteModel(name="HS 50")
    m.I = pyo.RangeSet(5)
    m.x = pyo.Var(m.I, initialize=dict(enumerate([35, -31, 11, 5, -5], 1)))

    @m.Constraint(m.I)
    def plane(m: pyo.ConcreteModel, i: int) -> object:
        if i > 3:
            return pyo.Constraint.Skip
        return sum(k * m.x[i + k - 1] for k in (1, 2, 3)) == 6

    power = {1: 2, 2: 2, 3: 4, 4: 2}
    m.obj = pyo.Objective(expr=sum((m.x[i] - m.x[i + 1]) ** p for i, p in power.items()))
    return m


def _five(name: str, *, first: int, right: float, start: list[float]) -> pyo.ConcreteModel:
    """Build the common form of problems 51 to 53: four squares, three planes."""
    m = pyo.ConcreteModel(name=name)
    m.x = pyo.Var(pyo.RangeSet(5), initialize=dict(enumerate(start, 1)))
    m.right = pyo.Param(initialize=right, mutable=True)
    m.c1 = pyo.Constraint(expr=m.x[1] + 3 * m.x[2] == m.right)
    m.c2 = pyo.Constraint(expr=m.x[3] + m.x[4] == 2 * m.x[5])
    m.c3 = pyo.Constraint(expr=m.x[2] == m.x[5])
    m.obj = pyo.Objective(
        expr=(first * m.x[1] - m.x[2]) ** 2
        + (m.x[2] + m.x[3] - 2) ** 2
        + (m.x[4] - 1) ** 2
        + (m.x[5] - 1) ** 2
    )
    return m


def hs051() -> pyo.ConcreteModel:
    """Build four squares, three planes: a mutable right-hand side."""
    return _five("HS 51", first=1, right=4, start=[2.5, 0.5, 2, -1, 0.5])


def hs052() -> pyo.ConcreteModel:
    """Build the same as problem 51 with other data."""
    return _five("HS 52", first=4, right=0, start=[2, 2, 2, 2, 2])


def hs053() -> pyo.ConcreteModel:
    """Build the same as problem 51 with other data and a box."""
    m = _five("HS 53", first=1, right=0, start=[2, 2, 2, 2, 2])
    m.x.setlb(-10)
    m.x.setub(10)
    return m


def hs055() -> pyo.ConcreteModel:
    """Build six planes of which one is redundant, told as supply and demand."""
    m = pyo.ConcreteModel(name="HS 55")
    start = {1: 1, 2: 2, 3: 0, 4: 0, 5: 0, 6: 2}
    m.x = pyo.Var(start, initialize=start, domain=pyo.NonNegativeReals)
    m.x[1].setub(1)
    m.x[4].setub(1)
    m.blend = pyo.Constraint(expr=m.x[1] + 2 * m.x[2] + 5 * m.x[5] == 6)
    m.supply = pyo.Constraint(
        [0, 3], rule=lambda m, k: m.x[k + 1] + m.x[k + 2] + m.x[k + 3] == (3 if k == 0 else 2)
    )
    m.demand = pyo.Constraint(
        [1, 2, 3], rule=lambda m, j: m.x[j] + m.x[j + 3] == (1 if j == 1 else 2)
    )
    m.obj = pyo.Objective(expr=m.x[1] + 2 * m.x[2] + 4 * m.x[5] + pyo.exp(m.x[1] * m.x[4]))
    return m


def hs062() -> pyo.ConcreteModel:
    """Build logarithms of quotients on a simplex: nested named Expressions."""
    m = pyo.ConcreteModel(name="HS 62")
    m.x = pyo.Var(pyo.RangeSet(3), domain=pyo.PercentFraction, initialize={1: 0.7, 2: 0.2, 3: 0.1})
    m.simplex = pyo.Constraint(expr=pyo.quicksum(m.x[:]) == 1)
    share, gain = {1: 0.09, 2: 0.07, 3: 0.13}, {1: 255, 2: 280, 3: 290}
    m.rest = pyo.Expression([1, 2, 3, 4])
    m.rest[4] = 0.03
    for i in (3, 2, 1):
        m.rest[i] = m.x[i] + m.rest[i + 1]
    m.term = pyo.Expression(
        [1, 2, 3],
        rule=lambda m, i: gain[i] * pyo.log(m.rest[i] / (share[i] * m.x[i] + m.rest[i + 1])),
    )
    m.obj = pyo.Objective(expr=-32.174 * (m.term[1] + m.term[2] + m.term[3]))
    return m


def hs076() -> pyo.ConcreteModel:
    """Build a quadratic programme: rows from a dictionary of tuples (low, body, high)."""
    m = pyo.ConcreteModel(name="HS 76")
    m.x1, m.x2, m.x3, m.x4 = (pyo.Var(initialize=0.5, within=pyo.NonNegativeReals) for _ in "1234")
    rows = {
        1: (None, m.x1 + 2 * m.x2 + m.x3 + m.x4, 5),
        2: (None, 3 * m.x1 + m.x2 + 2 * m.x3 - m.x4, 4),
        3: (1.5, m.x2 + 4 * m.x3, None),
    }
    m.row = pyo.Constraint([1, 2, 3], rule=lambda _, i: rows[i])
    m.obj = pyo.Objective(
        expr=m.x1**2
        + 0.5 * m.x2**2
        + m.x3**2
        + 0.5 * m.x4**2
        - m.x1 * m.x3
        + m.x3 * m.x4
        - m.x1
        - 3 * m.x2
        + m.x3
        - m.x4
    )
    return m


BUILDERS: dict[str, Callable[[], pyo.ConcreteModel]] = {
    f.__name__: f
    for f in (
        hs009, hs021, hs024, hs028, hs035, hs036, hs037, hs041, hs044, hs048, hs049, hs050,
        hs051, hs052, hs053, hs055, hs062, hs076,
    )
}  # fmt: skip
