"""Problems of the collection with nonlinear inequalities only, up to four variables."""

from __future__ import annotations

from collections.abc import Callable

import pyomo.environ as pyo

from case_studies.hock_schittkowski.start import start_at


def hs010() -> pyo.ConcreteModel:
    """Build a line over an ellipse: the constant on the left of the relation."""
    m = pyo.ConcreteModel(name="HS 10")
    m.x1 = pyo.Var(initialize=-10)
    m.x2 = pyo.Var(initialize=10)
    m.ellipse = pyo.Constraint(expr=1 >= 3 * m.x1**2 - 2 * m.x1 * m.x2 + m.x2**2)  # noqa: SIM300
    m.obj = pyo.Objective(expr=m.x1 - m.x2)
    return m


def hs011() -> pyo.ConcreteModel:
    """Build a circle over a parabola: variables on both sides of the relation."""
    m = pyo.ConcreteModel(name="HS 11")
    m.x1 = pyo.Var(initialize=4.9)
    m.x2 = pyo.Var(initialize=0.1)
    m.parabola = pyo.Constraint(expr=m.x1**2 <= m.x2)
    m.obj = pyo.Objective(expr=(m.x1 - 5) ** 2 + m.x2**2 - 25)
    return m


def hs012() -> pyo.ConcreteModel:
    """Build a bowl over an ellipse: maximised with the sign changed."""
    m = pyo.ConcreteModel(name="HS 12")
    m.x = pyo.Var([1, 2], initialize=0)
    m.c = pyo.Constraint(expr=25 - 4 * m.x[1] ** 2 - m.x[2] ** 2 >= 0)

    @m.Objective(sense=pyo.maximize)
    def obj(m: pyo.ConcreteModel) -> object:
        a, b = m.x[1], m.x[2]
        return -(0.5 * a**2 + b**2 - a * b - 7 * a - 7 * b)

    return m


def hs013() -> pyo.ConcreteModel:
    """Build a cusp at which no constraint qualification holds; the start violates the bounds."""
    m = pyo.ConcreteModel(name="HS 13")
    m.x = pyo.Var([1, 2], bounds=(0, None))
    start_at(m.x, -2)
    m.cusp = pyo.Constraint(expr=(1 - m.x[1]) ** 3 - m.x[2] >= 0)
    m.obj = pyo.Objective(expr=(m.x[1] - 2) ** 2 + m.x[2] ** 2)
    return m


def hs018() -> pyo.ConcreteModel:
    """Build the set outside a circle, above a hyperbola."""
    m = pyo.ConcreteModel(name="HS 18")
    m.x = pyo.Var([1, 2], initialize=2, bounds={1: (2, 50), 2: (0, 50)})
    m.out = pyo.ConstraintList(rule=lambda m: [m.x[1] * m.x[2] >= 25, _norm(m) >= 25])
    m.obj = pyo.Objective(expr=0.01 * m.x[1] ** 2 + m.x[2] ** 2)
    return m


def _norm(m: pyo.ConcreteModel) -> object:
    return pyo.sum_product(m.x, m.x)


def hs019() -> pyo.ConcreteModel:
    """Build a thin sickle between two circles (g06 of CEC 2006)."""
    m = pyo.ConcreteModel(name="HS 19")
    m.x = pyo.Var([1, 2], initialize={1: 20.1, 2: 5.84}, bounds={1: (13, 100), 2: (0, 100)})
    m.outer = pyo.Constraint(expr=(m.x[1] - 5) ** 2 + (m.x[2] - 5) ** 2 >= 100)
    m.inner = pyo.Constraint(expr=(m.x[2] - 5) ** 2 + (m.x[1] - 6) ** 2 <= 82.81)
    m.obj = pyo.Objective(expr=(m.x[1] - 10) ** 3 + (m.x[2] - 20) ** 3)
    return m


def hs022() -> pyo.ConcreteModel:
    """Build a parabola and a line: constraints by decorator."""
    m = pyo.ConcreteModel(name="HS 22")
    m.x = pyo.Var(pyo.RangeSet(0, 1), initialize=2)

    @m.Constraint()
    def line(m: pyo.ConcreteModel) -> object:
        return -m.x[0] - m.x[1] + 2 >= 0

    @m.Constraint()
    def parabola(m: pyo.ConcreteModel) -> object:
        return -(m.x[0] ** 2) + m.x[1] >= 0

    m.obj = pyo.Objective(expr=(m.x[0] - 2) ** 2 + (m.x[1] - 1) ** 2)
    return m


def hs023() -> pyo.ConcreteModel:
    """Build five rows: symmetric pairs written with an indexed rule."""
    m = pyo.ConcreteModel(name="HS 23")
    m.x = pyo.Var([1, 2], initialize={1: 3, 2: 1}, bounds=(-50, 50))
    m.line = pyo.Constraint(expr=m.x[1] + m.x[2] >= 1)
    m.circle = pyo.Constraint(expr=_norm(m) >= 1)
    m.ellipse = pyo.Constraint(expr=9 * m.x[1] ** 2 + m.x[2] ** 2 >= 9)
    m.parabola = pyo.Constraint([1, 2], rule=lambda m, i: m.x[i] ** 2 - m.x[3 - i] >= 0)
    m.obj = pyo.Objective(expr=_norm(m))
    return m


def hs029() -> pyo.ConcreteModel:
    """Build the largest box in an ellipsoid: four solutions of the same value."""
    m = pyo.ConcreteModel(name="HS 29")
    m.x = pyo.Var([1, 2, 3], initialize=1)
    weight = {1: 1, 2: 2, 3: 4}
    m.c = pyo.Constraint(expr=sum(weight[i] * m.x[i] ** 2 for i in m.x) <= 48)
    m.obj = pyo.Objective(expr=-pyo.prod(m.x[i] for i in m.x))
    return m


def hs030() -> pyo.ConcreteModel:
    """Build the set outside a cylinder."""
    m = pyo.ConcreteModel(name="HS 30")
    m.x = pyo.Var([1, 2, 3], initialize=1, bounds=(-10, 10))
    m.x[1].setlb(1)
    m.cylinder = pyo.Constraint(expr=m.x[1] ** 2 + m.x[2] ** 2 - 1 >= 0)
    m.obj = pyo.Objective(expr=_norm(m))
    return m


def hs031() -> pyo.ConcreteModel:
    """Build a hyperbola: bounds by rule."""
    m = pyo.ConcreteModel(name="HS 31")
    box = {1: (-10, 10), 2: (1, 10), 3: (-10, 1)}
    m.x = pyo.Var([1, 2, 3], initialize=1, bounds=lambda _, i: box[i])
    m.c = pyo.Constraint(expr=m.x[1] * m.x[2] >= 1)
    m.obj = pyo.Objective(expr=9 * m.x[1] ** 2 + m.x[2] ** 2 + 9 * m.x[3] ** 2)
    return m


def hs033() -> pyo.ConcreteModel:
    """Build a cone outside a ball: concave rows and a cubic."""
    m = pyo.ConcreteModel(name="HS 33")
    m.x = pyo.Var([1, 2, 3], initialize={1: 0, 2: 0, 3: 3}, domain=pyo.NonNegativeReals)
    m.x[3].setub(5)
    m.cone = pyo.Constraint(expr=m.x[3] ** 2 - m.x[2] ** 2 - m.x[1] ** 2 >= 0)
    m.ball = pyo.Constraint(expr=_norm(m) >= 4)
    m.obj = pyo.Objective(expr=(m.x[1] - 1) * (m.x[1] - 2) * (m.x[1] - 3) + m.x[3])
    return m


def _towers(name: str) -> pyo.ConcreteModel:
    """Exponential of an exponential, the rows of problems 34 and 66."""
    m = pyo.ConcreteModel(name=name)
    upper = {1: 100, 2: 100, 3: 10}
    start = {1: 0, 2: 1.05, 3: 2.9}
    m.x = pyo.Var([1, 2, 3], initialize=start, bounds=lambda _, i: (0, upper[i]))
    m.c = pyo.Constraint([1, 2], rule=lambda m, i: m.x[i + 1] - pyo.exp(m.x[i]) >= 0)
    return m


def hs034() -> pyo.ConcreteModel:
    """Build the exponential of an exponential, linear objective, maximised."""
    m = _towers("HS 34")
    m.obj = pyo.Objective(expr=m.x[1], sense=pyo.maximize)
    return m


def hs066() -> pyo.ConcreteModel:
    """Build the same as problem 34 with another linear objective."""
    m = _towers("HS 66")
    m.obj = pyo.Objective(expr=0.2 * m.x[3] - 0.8 * m.x[1])
    return m


def hs043() -> pyo.ConcreteModel:
    """Build the problem of Rosen and Suzuki: rows with data in mutable parameters."""
    m = pyo.ConcreteModel(name="HS 43")
    m.I, m.J = pyo.RangeSet(4), pyo.RangeSet(3)
    square = [[1, 1, 1, 1], [1, 2, 1, 2], [2, 1, 1, 0]]
    linear = [[1, -1, 1, -1], [-1, 0, 0, -1], [2, -1, 0, -1]]
    m.a = pyo.Param(m.J, m.I, initialize=lambda _, j, i: square[j - 1][i - 1], mutable=True)
    m.b = pyo.Param(m.J, m.I, initialize=lambda _, j, i: linear[j - 1][i - 1], mutable=True)
    m.limit = pyo.Param(m.J, initialize={1: 8, 2: 10, 3: 5}, mutable=True)
    m.x = pyo.Var(m.I, initialize=0)

    @m.Constraint(m.J)
    def c(m: pyo.ConcreteModel, j: int) -> object:
        return sum(m.a[j, i] * m.x[i] ** 2 + m.b[j, i] * m.x[i] for i in m.I) <= m.limit[j]

    x1, x2, x3, x4 = m.x[:]
    m.obj = pyo.Objective(
        expr=x1**2 + x2**2 + 2 * x3**2 + x4**2 - 5 * x1 - 5 * x2 - 21 * x3 + 7 * x4
    )
    return m


def hs064() -> pyo.ConcreteModel:
    """Build linear and reciprocal costs, told as batch sizes: one block per product."""
    m = pyo.ConcreteModel(name="HS 64")
    data = {"A": (5, 50000, 4), "B": (20, 72000, 32), "C": (10, 144000, 120)}

    @m.Block(list(data))
    def product(b: pyo.Block, key: str) -> None:
        holding, setup, time = data[key]
        b.batch = pyo.Var(initialize=1, bounds=(1e-5, None))
        b.cost = pyo.Expression(expr=holding * b.batch + setup / b.batch)
        b.load = pyo.Expression(expr=time / b.batch)

    m.capacity = pyo.Constraint(expr=sum(m.product[k].load for k in data) <= 1)
    m.obj = pyo.Objective(expr=sum(b.cost for b in m.product.values()))
    return m


def hs065() -> pyo.ConcreteModel:
    """Build a sum of squares in a ball: tuple (low, body, high) with an expression as the limit."""
    m = pyo.ConcreteModel(name="HS 65")
    m.half = pyo.Param([1, 2, 3], initialize={1: 4.5, 2: 4.5, 3: 5})
    m.x = pyo.Var([1, 2, 3], bounds=lambda m, i: (-m.half[i], m.half[i]))
    start_at(m.x, {1: -5, 2: 5, 3: 0})
    m.square = pyo.Param(initialize=16, mutable=True)
    m.ball = pyo.Constraint(expr=(None, _norm(m), 3 * m.square))
    m.obj = pyo.Objective(
        expr=(m.x[1] - m.x[2]) ** 2 + (m.x[1] + m.x[2] - 10) ** 2 / 9 + (m.x[3] - 5) ** 2
    )
    return m


def hs072() -> pyo.ConcreteModel:
    """Build an optimal sample size: quotients, upper bounds of 1e5 and more."""
    m = pyo.ConcreteModel(name="HS 72")
    m.I = pyo.RangeSet(4)
    variance = {
        "first": (4, 2.25, 1, 0.25, 0.0401),
        "second": (0.16, 0.36, 0.64, 0.64, 0.010085),
    }
    m.x = pyo.Var(m.I, initialize=1, bounds=lambda _, i: (0.001, (5 - i) * 1e5))

    @m.Constraint(list(variance))
    def precision(m: pyo.ConcreteModel, key: str) -> object:
        *a, limit = variance[key]
        return sum(a[i - 1] / m.x[i] for i in m.I) <= limit

    m.obj = pyo.Objective(expr=1 + pyo.quicksum(m.x[i] for i in m.I))
    return m


BUILDERS: dict[str, Callable[[], pyo.ConcreteModel]] = {
    f.__name__: f
    for f in (
        hs010, hs011, hs012, hs013, hs018, hs019, hs022, hs023, hs029, hs030, hs031, hs033,
        hs034, hs043, hs064, hs065, hs066, hs072,
    )
}  # fmt: skip
