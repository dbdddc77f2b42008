"""Problems of the collection that come from engineering and planning."""

from __future__ import annotations

from collections.abc import Callable

import pyomo.environ as pyo


def hs073() -> pyo.ConcreteModel:
    """Build cattle feed with a chance constraint: square root, a fixed variable as a constant."""
    m = pyo.ConcreteModel(name="HS 73")
    feed = ["barley", "oats", "sesame", "groundnut"]
    table = {
        "price": [24.55, 26.75, 39.00, 40.50],
        "fat": [2.3, 5.6, 11.1, 1.3],
        "protein": [12, 11.9, 41.8, 52.1],
        "variance": [0.28, 0.19, 20.5, 0.62],
    }
    m.F = pyo.Set(initialize=feed)
    m.data = pyo.Param(
        list(table),
        m.F,
        initialize={(k, f): table[k][i] for k in table for i, f in enumerate(feed)},
    )
    m.x = pyo.Var(m.F, initialize=1, domain=pyo.NonNegativeReals)
    m.quantile = pyo.Var(initialize=1.645)
    m.quantile.fix()
    m.deviation = pyo.Expression(
        expr=pyo.sqrt(sum(m.data["variance", f] * m.x[f] ** 2 for f in m.F))
    )
    m.fat = pyo.Constraint(expr=sum(m.data["fat", f] * m.x[f] for f in m.F) >= 5)
    m.protein = pyo.Constraint(
        expr=sum(m.data["protein", f] * m.x[f] for f in m.F) - m.quantile * m.deviation >= 21
    )
    m.whole = pyo.Constraint(expr=pyo.summation(m.x) == 1)
    m.obj = pyo.Objective(expr=sum(m.data["price", f] * m.x[f] for f in m.F))
    return m


def _power_flow(name: str, angle: float) -> pyo.ConcreteModel:
    """Build problems 74 and 75, told as three nodes of a network, for a limit of the angles."""
    m = pyo.ConcreteModel(name=name)
    m.limit = pyo.Param(initialize=angle, mutable=True)
    m.power = pyo.Var([1, 2], initialize=0, bounds=(0, 1200))
    m.angle = pyo.Var([1, 2], initialize=0, bounds=lambda m, _: (-m.limit, m.limit))
    a, b = m.angle[1], m.angle[2]
    m.between = pyo.Constraint(expr=(-m.limit, b - a, m.limit))

    @m.Expression([(0, 1), (0, 2), (1, 0), (1, 2), (2, 0), (2, 1)])
    def flow(m: pyo.ConcreteModel, i: int, j: int) -> object:
        difference = (m.angle[i] if i else 0) - (m.angle[j] if j else 0)
        return 1000 * pyo.sin(difference - 0.25)

    m.node1 = pyo.Constraint(expr=m.flow[0, 1] + m.flow[0, 2] + 894.8 == m.power[1])
    m.node2 = pyo.Constraint(expr=m.flow[1, 0] + m.flow[1, 2] + 894.8 == m.power[2])
    m.node3 = pyo.Constraint(expr=m.flow[2, 0] + m.flow[2, 1] + 1294.8 == 0)
    p, q = m.power[1], m.power[2]
    m.obj = pyo.Objective(expr=3 * p + 1e-6 * p**3 + 2 * q + 2e-6 / 3 * q**3)
    return m


def hs074() -> pyo.ConcreteModel:
    """Build a power flow (g05 of CEC 2006): trigonometric balances, a row with two sides."""
    return _power_flow("HS 74", 0.55)


def hs075() -> pyo.ConcreteModel:
    """Build a power flow with a narrower limit: a mutable parameter changed afterwards."""
    m = _power_flow("HS 75", 0.55)
    m.limit.set_value(0.48)
    return m


def hs083() -> pyo.ConcreteModel:
    """Build Colville's third problem (g04 of CEC 2006): three rows with two sides."""
    m = pyo.ConcreteModel(name="HS 83")
    low = {1: 78, 2: 33, 3: 27, 4: 27, 5: 27}
    high = {1: 102, 2: 45, 3: 45, 4: 45, 5: 45}
    m.x = pyo.Var(list(low), initialize=low, bounds=lambda _, i: (low[i], high[i]))
    a = [None, 85.334407, 0.0056858, 0.0006262, 0.0022053, 80.51249, 0.0071317, 0.0029955,
         0.0021813, 9.300961, 0.0047026, 0.0012547, 0.0019085]  # fmt: skip
    m.a = pyo.Param(pyo.RangeSet(12), initialize=lambda _, k: a[k])
    x = m.x
    body = {
        1: m.a[1] + m.a[2] * x[2] * x[5] + m.a[3] * x[1] * x[4] - m.a[4] * x[3] * x[5],
        2: m.a[5] + m.a[6] * x[2] * x[5] + m.a[7] * x[1] * x[2] + m.a[8] * x[3] ** 2 - 90,
        3: m.a[9] + m.a[10] * x[3] * x[5] + m.a[11] * x[1] * x[3] + m.a[12] * x[3] * x[4] - 20,
    }
    m.width = pyo.Param([1, 2, 3], initialize={1: 92, 2: 20, 3: 5}, mutable=True)
    m.range = pyo.Constraint([1, 2, 3], rule=lambda m, j: (0, body[j], m.width[j]))
    m.obj = pyo.Objective(
        expr=5.3578547 * x[3] ** 2 + 0.8356891 * x[1] * x[5] + 37.293239 * x[1] - 40792.141
    )
    return m


def hs086() -> pyo.ConcreteModel:
    """Build Colville's first problem: an AbstractModel filled with data."""
    a = pyo.AbstractModel(name="HS 86")
    a.J, a.K = pyo.RangeSet(5), pyo.RangeSet(10)
    a.e, a.d = pyo.Param(a.J), pyo.Param(a.J)
    a.c = pyo.Param(a.J, a.J)
    a.a, a.b = pyo.Param(a.K, a.J, default=0), pyo.Param(a.K)
    a.x = pyo.Var(a.J, domain=pyo.NonNegativeReals, initialize=lambda _, j: float(j == 5))
    a.row = pyo.Constraint(a.K, rule=lambda m, k: sum(m.a[k, j] * m.x[j] for j in m.J) >= m.b[k])
    a.obj = pyo.Objective(
        rule=lambda m: (
            sum(m.e[j] * m.x[j] + m.d[j] * m.x[j] ** 3 for j in m.J)
            + sum(m.c[i, j] * m.x[i] * m.x[j] for i in m.J for j in m.J)
        )
    )
    c = [[30, -20, -10, 32, -10], [-20, 39, -6, -31, 32], [-10, -6, 10, -6, -10],
         [32, -31, -6, 39, -20], [-10, 32, -10, -20, 30]]  # fmt: skip
    rows = [[-16, 2, 0, 1, 0], [0, -2, 0, 0.4, 2], [-3.5, 0, 2, 0, 0], [0, -2, 0, -4, -1],
            [0, -9, -2, 1, -2.8], [2, 0, -4, 0, 0], [-1, -1, -1, -1, -1], [-1, -2, -3, -2, -1],
            [1, 2, 3, 4, 5], [1, 1, 1, 1, 1]]  # fmt: skip
    data = {
        "e": _from_one([-15, -27, -36, -18, -12]),
        "d": _from_one([4, 8, 10, 6, 2]),
        "c": _pairs(c),
        "a": {key: value for key, value in _pairs(rows).items() if value},
        "b": _from_one([-40, -2, -0.25, -4, -4, -1, -40, -60, 5, 1]),
    }
    return a.create_instance({None: data})


def _from_one(values: list[float]) -> dict[int, float]:
    return dict(enumerate(values, 1))


def _pairs(matrix: list[list[float]]) -> dict[tuple[int, int], float]:
    return {(i, j): v for i, row in enumerate(matrix, 1) for j, v in enumerate(row, 1)}


def hs093() -> pyo.ConcreteModel:
    """Build a transformer: polynomials of degree six; shared named Expressions."""
    m = pyo.ConcreteModel(name="HS 93")
    start = _from_one([5.54, 4.4, 12.02, 11.82, 0.702, 0.852])
    m.x = pyo.Var(pyo.RangeSet(6), initialize=start, domain=pyo.NonNegativeReals)
    x = m.x
    m.core = pyo.Expression(expr=x[1] * x[4] * (x[1] + x[2] + x[3]))
    m.winding = pyo.Expression(expr=x[2] * x[3] * (x[1] + 1.57 * x[2] + x[4]))
    m.rating = pyo.Constraint(expr=0.001 * pyo.prod(x[:]) >= 2.07)
    m.losses = pyo.Constraint(
        expr=0.00062 * m.core * x[5] ** 2 + 0.00058 * m.winding * x[6] ** 2 <= 1
    )
    m.obj = pyo.Objective(
        expr=0.0204 * m.core
        + 0.0187 * m.winding
        + 0.0607 * m.core * x[5] ** 2
        + 0.0437 * m.winding * x[6] ** 2
    )
    return m


def hs095() -> pyo.ConcreteModel:
    """Build bilinear rows with coefficients from 1 to 26000: sparse data in dictionaries."""
    m = pyo.ConcreteModel(name="HS 95")
    upper = _from_one([0.31, 0.046, 0.068, 0.042, 0.028, 0.0134])
    m.x = pyo.Var(list(upper), initialize=0, bounds=lambda _, i: (0, upper[i]))
    linear = {
        1: [17.1, 38.2, 204.2, 212.3, 623.4, 1495.5],
        2: [17.9, 36.8, 113.9, 169.7, 337.8, 1385.2],
        3: [0, -273, 0, -70, -819, 0],
        4: [159.9, -311, 0, 587, 391, 2198],
    }
    bilinear = {
        1: {(1, 3): -169, (3, 5): -3580, (4, 5): -3810, (4, 6): -18500, (5, 6): -24300},
        2: {(1, 3): -139, (4, 5): -2450, (4, 6): -16600, (5, 6): -17200},
        3: {(4, 5): 26000},
        4: {(1, 6): -14000},
    }
    m.need = pyo.Param([1, 2, 3, 4], initialize={1: 4.97, 2: -1.88, 3: -29.08, 4: -78.02})

    @m.Constraint([1, 2, 3, 4])
    def row(m: pyo.ConcreteModel, k: int) -> object:
        first = pyo.quicksum(a * m.x[i] for i, a in enumerate(linear[k], 1) if a)
        return first + sum(b * m.x[i] * m.x[j] for (i, j), b in bilinear[k].items()) >= m.need[k]

    cost = [4.3, 31.8, 63.3, 15.8, 68.5, 4.7]
    m.obj = pyo.Objective(expr=pyo.quicksum(a * m.x[i] for i, a in enumerate(cost, 1)))
    return m


BUILDERS: dict[str, Callable[[], pyo.ConcreteModel]] = {
    f.__name__: f for f in (hs073, hs074, hs075, hs083, hs086, hs093, hs095)
}
