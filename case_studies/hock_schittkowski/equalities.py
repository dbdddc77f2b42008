"""Problems of the collection with nonlinear equalities (some with inequalities as well)."""

from __future__ import annotations

import math
from collections.abc import Callable

import pyomo.environ as pyo


def hs006() -> pyo.ConcreteModel:
    """Build Rosenbrock's valley as an equality."""
    m = pyo.ConcreteModel(name="HS 6")
    m.x = pyo.Var([1, 2], initialize={1: -1.2, 2: 1})
    m.valley = pyo.Constraint(expr=10 * (m.x[2] - m.x[1] ** 2) == 0)
    m.obj = pyo.Objective(expr=(1 - m.x[1]) ** 2)
    return m


def hs007() -> pyo.ConcreteModel:
    """Build a logarithm on a closed curve."""
    m = pyo.ConcreteModel(name="HS 7")
    m.x1, m.x2 = pyo.Var(initialize=2), pyo.Var(initialize=2)
    m.bulge = pyo.Expression(expr=1 + m.x1**2)
    m.curve = pyo.Constraint(expr=m.bulge**2 + m.x2**2 == 4)
    m.obj = pyo.Objective(expr=pyo.log(m.bulge) - m.x2)
    return m


def hs014() -> pyo.ConcreteModel:
    """Build a line that crosses an ellipse."""
    m = pyo.ConcreteModel(name="HS 14")
    m.x = pyo.Var([1, 2], initialize=2)
    m.ellipse = pyo.Constraint(expr=-0.25 * m.x[1] ** 2 - m.x[2] ** 2 + 1 >= 0)
    m.line = pyo.Constraint(expr=m.x[1] - 2 * m.x[2] + 1 == 0)
    m.obj = pyo.Objective(expr=(m.x[1] - 2) ** 2 + (m.x[2] - 1) ** 2)
    return m


def hs026() -> pyo.ConcreteModel:
    """Build a fourth power on a curved surface; a second, switched-off objective."""
    m = pyo.ConcreteModel(name="HS 26")
    m.x = pyo.Var([1, 2, 3], initialize={1: -2.6, 2: 2, 3: 2})
    m.surface = pyo.Constraint(expr=(1 + m.x[2] ** 2) * m.x[1] + m.x[3] ** 4 == 3)
    m.obj = pyo.Objective(expr=(m.x[1] - m.x[2]) ** 2 + (m.x[2] - m.x[3]) ** 4)
    m.other = pyo.Objective(expr=m.x[1])
    m.other.deactivate()
    return m


def hs027() -> pyo.ConcreteModel:
    """Build a valley on a parabolic cylinder."""
    m = pyo.ConcreteModel(name="HS 27")
    m.x = pyo.Var([1, 2, 3], initialize=2)
    m.cylinder = pyo.Constraint(expr=m.x[1] + m.x[3] ** 2 == -1)
    m.obj = pyo.Objective(expr=0.01 * (m.x[1] - 1) ** 2 + (m.x[2] - m.x[1] ** 2) ** 2)
    return m


def hs032() -> pyo.ConcreteModel:
    """Build a cubic row on a simplex: equality as a tuple."""
    m = pyo.ConcreteModel(name="HS 32")
    start = {1: 0.1, 2: 0.7, 3: 0.2}
    m.x = pyo.Var([1, 2, 3], initialize=start, domain=pyo.NonNegativeReals)
    m.cubic = pyo.Constraint(expr=6 * m.x[2] + 4 * m.x[3] - m.x[1] ** 3 - 3 >= 0)
    m.simplex = pyo.Constraint(expr=(pyo.quicksum(m.x[:]), 1))
    m.obj = pyo.Objective(expr=(m.x[1] + 3 * m.x[2] + m.x[3]) ** 2 + 4 * (m.x[1] - m.x[2]) ** 2)
    return m


def hs039() -> pyo.ConcreteModel:
    """Build two surfaces with squared slacks, linear objective: ConstraintList of equalities."""
    m = pyo.ConcreteModel(name="HS 39")
    m.x = pyo.Var(pyo.RangeSet(4), initialize=2)
    m.c = pyo.ConstraintList()
    m.c.add(m.x[2] - m.x[1] ** 3 - m.x[3] ** 2 == 0)
    m.c.add(m.x[1] ** 2 - m.x[2] - m.x[4] ** 2 == 0)
    m.obj = pyo.Objective(expr=-m.x[1])
    return m


def hs040() -> pyo.ConcreteModel:
    """Build three surfaces in four dimensions: variables on both sides."""
    m = pyo.ConcreteModel(name="HS 40")
    m.x = pyo.Var(pyo.RangeSet(4), initialize=0.8)
    m.c1 = pyo.Constraint(expr=m.x[1] ** 3 + m.x[2] ** 2 == 1)
    m.c2 = pyo.Constraint(expr=m.x[1] ** 2 * m.x[4] == m.x[3])
    m.c3 = pyo.Constraint(expr=m.x[4] ** 2 == m.x[2])
    m.obj = pyo.Objective(expr=pyo.prod(m.x[:]), sense=pyo.maximize)
    return m


def hs042() -> pyo.ConcreteModel:
    """Build the nearest point on a circle: an equality in one variable."""
    m = pyo.ConcreteModel(name="HS 42")
    m.x = pyo.Var(pyo.RangeSet(4), initialize=1)
    m.fixed = pyo.Constraint(expr=m.x[1] == 2)
    m.circle = pyo.Constraint(expr=m.x[3] ** 2 + m.x[4] ** 2 == 2)
    m.obj = pyo.Objective(expr=sum((m.x[i] - i) ** 2 for i in m.x))
    return m


def hs046() -> pyo.ConcreteModel:
    """Build sines and powers; start values by rule."""
    m = pyo.ConcreteModel(name="HS 46")
    start = [0.5 * math.sqrt(2), 1.75, 0.5, 2, 2]
    m.x = pyo.Var(pyo.RangeSet(5), initialize=lambda _, i: start[i - 1])
    _sine_surfaces(m, 1, 2)
    x = m.x
    m.obj = pyo.Objective(
        expr=(x[1] - x[2]) ** 2 + (x[3] - 1) ** 2 + (x[4] - 1) ** 4 + (x[5] - 1) ** 6
    )
    return m


def _sine_surfaces(m: pyo.ConcreteModel, first: float, second: float) -> None:
    """Add the rows of problems 46 and 77."""
    x = m.x
    m.sine = pyo.Constraint(expr=x[1] ** 2 * x[4] + pyo.sin(x[4] - x[5]) == first)
    m.power = pyo.Constraint(expr=x[2] + x[3] ** 4 * x[4] ** 2 == second)


def hs056() -> pyo.ConcreteModel:
    """Build a product whose limits are written with squared sines: nested blocks."""
    m = pyo.ConcreteModel(name="HS 56")
    small, large = math.asin(math.sqrt(1 / 4.2)), math.asin(math.sqrt(5 / 7.2))

    @m.Block([1, 2, 3])
    def side(b: pyo.Block, _: int) -> None:
        b.length = pyo.Var(initialize=1)
        b.switch = pyo.Block()
        b.switch.angle = pyo.Var(initialize=small)
        b.switch.curve = pyo.Constraint(expr=b.length == 4.2 * pyo.sin(b.switch.angle) ** 2)

    m.angle = pyo.Var(initialize=large)
    m.total = pyo.Constraint(
        expr=m.side[1].length + 2 * m.side[2].length + 2 * m.side[3].length
        == 7.2 * pyo.sin(m.angle) ** 2
    )
    m.obj = pyo.Objective(expr=-pyo.prod(m.side[:].length))
    return m


def hs060() -> pyo.ConcreteModel:
    """Build the same as problem 26 in a box, other data."""
    m = pyo.ConcreteModel(name="HS 60")
    m.x = pyo.Var([1, 2, 3], initialize=2, bounds=(-10, 10))
    m.c = pyo.Constraint(expr=m.x[1] * (1 + m.x[2] ** 2) + m.x[3] ** 4 - 4 - 3 * math.sqrt(2) == 0)
    m.obj = pyo.Objective(expr=(m.x[1] - 1) ** 2 + (m.x[1] - m.x[2]) ** 2 + (m.x[2] - m.x[3]) ** 4)
    return m


def hs061() -> pyo.ConcreteModel:
    """Build two parabolic cylinders: scalar equalities."""
    m = pyo.ConcreteModel(name="HS 61")
    m.x1, m.x2, m.x3 = (pyo.Var(initialize=0) for _ in "123")
    m.c = pyo.Constraint(expr=3 * m.x1 - 2 * m.x2**2 == 7)
    m.d = pyo.Constraint(expr=4 * m.x1 - m.x3**2 == 11)
    m.obj = pyo.Objective(
        expr=4 * m.x1**2 + 2 * m.x2**2 + 2 * m.x3**2 - 33 * m.x1 + 16 * m.x2 - 24 * m.x3
    )
    return m


def hs063() -> pyo.ConcreteModel:
    """Build a plane and a sphere."""
    m = pyo.ConcreteModel(name="HS 63")
    m.x = pyo.Var([1, 2, 3], initialize=2, domain=pyo.NonNegativeReals)
    x1, x2, x3 = m.x[1], m.x[2], m.x[3]
    m.plane = pyo.Constraint(expr=8 * x1 + 14 * x2 + 7 * x3 == 56)
    m.sphere = pyo.Constraint(expr=x1 * x1 + x2 * x2 + x3 * x3 == 25)
    m.obj = pyo.Objective(expr=1000 - x1**2 - 2 * x2**2 - x3**2 - x1 * x2 - x1 * x3)
    return m


def hs071() -> pyo.ConcreteModel:
    """Build Bartholomew-Biggs' problem: a product and a sphere, one of each kind."""
    m = pyo.ConcreteModel(name="HS 71")
    m.x = pyo.Var(pyo.RangeSet(4), bounds=(1, 5), initialize={1: 1, 2: 5, 3: 5, 4: 1})
    m.product = pyo.Constraint(expr=pyo.prod(m.x[:]) >= 25)
    m.sphere = pyo.Constraint(expr=pyo.sum_product(m.x, m.x) == 40)
    m.obj = pyo.Objective(expr=m.x[1] * m.x[4] * (m.x[1] + m.x[2] + m.x[3]) + m.x[3])
    return m


def hs077() -> pyo.ConcreteModel:
    """Build the same as problem 46 with other data."""
    m = pyo.ConcreteModel(name="HS 77")
    m.x = pyo.Var(pyo.RangeSet(5), initialize=2)
    _sine_surfaces(m, 2 * math.sqrt(2), 8 + math.sqrt(2))
    x = m.x
    m.obj = pyo.Objective(
        expr=(x[1] - 1) ** 2
        + (x[1] - x[2]) ** 2
        + (x[3] - 1) ** 2
        + (x[4] - 1) ** 4
        + (x[5] - 1) ** 6
    )
    return m


def _three_surfaces(name: str, start: list[float]) -> pyo.ConcreteModel:
    """Build variables and rows of problems 78, 80 and 81."""
    m = pyo.ConcreteModel(name=name)
    m.x = pyo.Var(pyo.RangeSet(5), initialize=dict(enumerate(start, 1)))
    m.product = pyo.Expression(expr=pyo.prod(m.x[:]))
    m.cubes = pyo.Expression(expr=m.x[1] ** 3 + m.x[2] ** 3 + 1)
    m.c1 = pyo.Constraint(expr=pyo.quicksum(v**2 for v in m.x.values()) == 10)
    m.c2 = pyo.Constraint(expr=m.x[2] * m.x[3] - 5 * m.x[4] * m.x[5] == 0)
    m.c3 = pyo.Constraint(expr=m.cubes == 0)
    return m


def hs078() -> pyo.ConcreteModel:
    """Build a product on three surfaces: named Expressions used in rows and objective."""
    m = _three_surfaces("HS 78", [-2, 1.5, 2, -1, -1])
    m.obj = pyo.Objective(expr=m.product)
    return m


def _in_box(m: pyo.ConcreteModel) -> None:
    for i, v in m.x.items():
        v.bounds = (-2.3, 2.3) if i <= 2 else (-3.2, 3.2)


def hs079() -> pyo.ConcreteModel:
    """Build fourth powers of differences on three surfaces."""
    m = pyo.ConcreteModel(name="HS 79")
    m.x = pyo.Var(pyo.RangeSet(5), initialize=2)
    x, root = m.x, math.sqrt(2)
    m.c1 = pyo.Constraint(expr=x[1] + x[2] ** 2 + x[3] ** 3 == 2 + 3 * root)
    m.c2 = pyo.Constraint(expr=x[2] - x[3] ** 2 + x[4] == -2 + 2 * root)
    m.c3 = pyo.Constraint(expr=x[1] * x[5] == 2)
    power = {1: 2, 2: 2, 3: 4, 4: 4}
    m.obj = pyo.Objective(
        expr=(x[1] - 1) ** 2 + sum((x[i] - x[i + 1]) ** p for i, p in power.items())
    )
    return m


def hs080() -> pyo.ConcreteModel:
    """Build the exponential of the product, with a box."""
    m = _three_surfaces("HS 80", [-2, 2, 2, -1, -1])
    _in_box(m)
    m.obj = pyo.Objective(expr=pyo.exp(m.product))
    return m


def hs081() -> pyo.ConcreteModel:
    """Build the same as problem 80, minus a term that vanishes on the third surface."""
    m = _three_surfaces("HS 81", [-2, 2, 2, -1, -1])
    _in_box(m)
    m.obj = pyo.Objective(expr=pyo.exp(m.product) - 0.5 * m.cubes**2)
    return m


BUILDERS: dict[str, Callable[[], pyo.ConcreteModel]] = {
    f.__name__: f
    for f in (
        hs006, hs007, hs014, hs026, hs027, hs032, hs039, hs040, hs042, hs046, hs056, hs060,
        hs061, hs063, hs071, hs077, hs078, hs079, hs080, hs081,
    )
}  # fmt: skip
