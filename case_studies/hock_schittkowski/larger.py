"""Further problems of the collection with seven to ten variables and nonlinear inequalities."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pyomo.environ as pyo


def hs100() -> pyo.ConcreteModel:
    """Build powers up to six (g09 of CEC 2006): no bounds at all."""
    m = pyo.ConcreteModel(name="HS 100")
    m.x = pyo.Var(pyo.RangeSet(7), initialize=dict(enumerate([1, 2, 0, 4, 0, 1, 1], 1)))
    x1, x2, x3, x4, x5, x6, x7 = m.x[:]
    m.c1 = pyo.Constraint(expr=2 * x1**2 + 3 * x2**4 + x3 + 4 * x4**2 + 5 * x5 <= 127)
    m.c2 = pyo.Constraint(expr=7 * x1 + 3 * x2 + 10 * x3**2 + x4 - x5 <= 282)
    m.c3 = pyo.Constraint(expr=23 * x1 + x2**2 + 6 * x6**2 - 8 * x7 <= 196)
    m.c4 = pyo.Constraint(expr=-4 * x1**2 - x2**2 + 3 * x1 * x2 - 2 * x3**2 - 5 * x6 + 11 * x7 >= 0)
    m.obj = pyo.Objective(
        expr=(x1 - 10) ** 2
        + 5 * (x2 - 12) ** 2
        + x3**4
        + 3 * (x4 - 11) ** 2
        + 10 * x5**6
        + 7 * x6**2
        + x7**4
        - 4 * x6 * x7
        - 10 * x6
        - 8 * x7
    )
    return m


_Monomial = tuple[float, Mapping[int, float]]

_COST: list[_Monomial] = [
    (10, {1: 1, 2: -1, 4: 2, 6: -3, 7: -0.25}),
    (15, {1: -1, 2: -2, 3: 1, 4: 1, 5: -1, 7: -0.5}),
    (20, {1: -2, 2: 1, 4: -1, 5: -2, 6: 1}),
    (25, {1: 2, 2: 2, 3: -1, 5: 0.5, 6: -2, 7: 1}),
]
_LIMITS: list[list[_Monomial]] = [
    [
        (0.5, {1: 0.5, 3: -1, 6: -2, 7: 1}),
        (0.7, {1: 3, 2: 1, 3: -2, 6: 1, 7: 0.5}),
        (0.2, {2: -1, 3: 1, 4: -0.5, 6: 2 / 3, 7: 0.25}),
    ],
    [
        (1.3, {1: -0.5, 2: 1, 3: -1, 5: -1, 6: 1}),
        (0.8, {3: 1, 4: -1, 5: -1, 6: 2}),
        (3.1, {1: -1, 2: 0.5, 4: -2, 5: -1, 6: 1 / 3}),
    ],
    [
        (2, {1: 1, 3: -1.5, 5: 1, 6: -1, 7: 1 / 3}),
        (0.1, {2: 1, 3: -0.5, 5: 1, 6: -1, 7: -0.5}),
        (1, {1: -1, 2: 1, 3: 0.5, 5: 1}),
        (0.65, {2: -2, 3: 1, 5: 1, 6: -1, 7: 1}),
    ],
    [
        (0.2, {1: -2, 2: 1, 4: -1, 5: 0.5, 7: 1 / 3}),
        (0.3, {1: 0.5, 2: 2, 3: 1, 4: 1 / 3, 5: -2 / 3, 7: 0.25}),
        (0.4, {1: -3, 2: -2, 3: 1, 5: 1, 7: 0.75}),
        (0.5, {3: -2, 4: 1, 7: 0.5}),
    ],
]


def hs101() -> pyo.ConcreteModel:
    """Build a geometric programme: posynomials built from tables, rows in nested blocks."""
    m = pyo.ConcreteModel(name="HS 101")
    m.x = pyo.Var(pyo.RangeSet(7), initialize=6, bounds=(0.1, 10))
    m.x[7].setlb(0.01)

    def posynomial(terms: list[_Monomial]) -> object:
        return sum(c * pyo.prod(m.x[i] ** p for i, p in powers.items()) for c, powers in terms)

    m.limits = pyo.Block()
    m.limits.row = pyo.Block(range(len(_LIMITS)))
    for k, terms in enumerate(_LIMITS):
        m.limits.row[k].most = pyo.Constraint(expr=posynomial(terms) <= 1)
    m.cost = pyo.Expression(expr=posynomial(_COST))
    m.window = pyo.Constraint(expr=(100, m.cost, 3000))
    m.obj = pyo.Objective(expr=m.cost)
    return m


def hs108() -> pyo.ConcreteModel:
    """Build the largest hexagon of diameter one (g18 of CEC 2006): rows over pairs of corners."""
    m = pyo.ConcreteModel(name="HS 108")
    m.x = pyo.Var(pyo.RangeSet(9), initialize=1)
    m.x[9].setlb(0)
    x = m.x

    def distance(a: object, b: object) -> object:
        return a**2 + b**2

    m.apart = pyo.ConstraintList()
    m.apart.add(distance(x[3], x[4]) <= 1)
    m.apart.add(x[9] ** 2 <= 1)
    m.apart.add(distance(x[5], x[6]) <= 1)
    m.apart.add(distance(x[1], x[2] - x[9]) <= 1)
    for i in (1, 3):
        for j in (5, 7):
            m.apart.add(distance(x[i] - x[j], x[i + 1] - x[j + 1]) <= 1)
    m.apart.add(distance(x[7], x[8] - x[9]) <= 1)
    m.turn = pyo.ConstraintList()
    m.turn.add(x[1] * x[4] - x[2] * x[3] >= 0)
    m.turn.add(x[3] * x[9] >= 0)
    m.turn.add(-x[5] * x[9] >= 0)
    m.turn.add(x[5] * x[8] - x[6] * x[7] >= 0)
    area = x[1] * x[4] - x[2] * x[3] + x[3] * x[9] - x[5] * x[9] + x[5] * x[8] - x[6] * x[7]
    m.obj = pyo.Objective(expr=0.5 * area, sense=pyo.maximize)
    return m


def hs113() -> pyo.ConcreteModel:
    """Build Wong's second problem (g07 of CEC 2006): ten variables without bounds, eight rows."""
    m = pyo.ConcreteModel(name="HS 113")
    m.x = pyo.Var(pyo.RangeSet(10), initialize=dict(enumerate([2, 3, 5, 5, 1, 2, 7, 3, 6, 10], 1)))
    x1, x2, x3, x4, x5, x6, x7, x8, x9, x10 = m.x.values()
    rows = [
        105 - 4 * x1 - 5 * x2 + 3 * x7 - 9 * x8,
        -10 * x1 + 8 * x2 + 17 * x7 - 2 * x8,
        8 * x1 - 2 * x2 - 5 * x9 + 2 * x10 + 12,
        -3 * (x1 - 2) ** 2 - 4 * (x2 - 3) ** 2 - 2 * x3**2 + 7 * x4 + 120,
        -5 * x1**2 - 8 * x2 - (x3 - 6) ** 2 + 2 * x4 + 40,
        -0.5 * (x1 - 8) ** 2 - 2 * (x2 - 4) ** 2 - 3 * x5**2 + x6 + 30,
        -(x1**2) - 2 * (x2 - 2) ** 2 + 2 * x1 * x2 - 14 * x5 + 6 * x6,
        3 * x1 - 6 * x2 - 12 * (x9 - 8) ** 2 + 7 * x10,
    ]
    m.c = pyo.Constraint(range(8), rule=lambda _, k: rows[k] >= 0)
    m.obj = pyo.Objective(
        expr=x1**2
        + x2**2
        + x1 * x2
        - 14 * x1
        - 16 * x2
        + (x3 - 10) ** 2
        + 4 * (x4 - 5) ** 2
        + (x5 - 3) ** 2
        + 2 * (x6 - 1) ** 2
        + 5 * x7**2
        + 7 * (x8 - 11) ** 2
        + 2 * (x9 - 10) ** 2
        + (x10 - 7) ** 2
        + 45
    )
    return m


BUILDERS: dict[str, Callable[[], pyo.ConcreteModel]] = {
    f.__name__: f for f in (hs100, hs101, hs108, hs113)
}
