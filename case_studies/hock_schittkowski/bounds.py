"""Problems of the collection with bounds only."""

from __future__ import annotations

from collections.abc import Callable

import pyomo.environ as pyo

from case_studies.hock_schittkowski.start import start_at


def hs001() -> pyo.ConcreteModel:
    """Build Rosenbrock's valley, one bound: scalar variables."""
    m = pyo.ConcreteModel(name="HS 1")
    m.x1 = pyo.Var(initialize=-2)
    m.x2 = pyo.Var(initialize=1, bounds=(-1.5, None))
    m.obj = pyo.Objective(expr=100 * (m.x2 - m.x1**2) ** 2 + (1 - m.x1) ** 2)
    return m


def hs003() -> pyo.ConcreteModel:
    """Build a nearly linear objective, one bound: starts as a dictionary, bound set afterwards."""
    m = pyo.ConcreteModel(name="HS 3")
    m.x = pyo.Var([1, 2], initialize={1: 10, 2: 1})
    m.x[2].setlb(0)
    m.slope = pyo.Param(initialize=1e-5, mutable=True)
    m.obj = pyo.Objective(expr=m.x[2] + m.slope * (m.x[2] - m.x[1]) ** 2)
    return m


def hs004() -> pyo.ConcreteModel:
    """Build two lower bounds, one of them from the domain: string index."""
    m = pyo.ConcreteModel(name="HS 4")
    m.x = pyo.Var(["a", "b"], initialize={"a": 1.125, "b": 0.125}, domain=pyo.NonNegativeReals)
    m.x["a"].setlb(1)
    m.obj = pyo.Objective(expr=(m.x["a"] + 1) ** 3 / 3 + m.x["b"])
    return m


def hs005() -> pyo.ConcreteModel:
    """Build McCormick's sine: bounds from parameters."""
    m = pyo.ConcreteModel(name="HS 5")
    m.I = pyo.RangeSet(2)
    m.low = pyo.Param(m.I, initialize={1: -1.5, 2: -3})
    m.high = pyo.Param(m.I, initialize={1: 4, 2: 3}, mutable=True)
    m.x = pyo.Var(m.I, initialize=0, bounds=lambda m, i: (m.low[i], m.high[i]))
    x1, x2 = m.x[1], m.x[2]
    m.obj = pyo.Objective(expr=pyo.sin(x1 + x2) + (x1 - x2) ** 2 - 1.5 * x1 + 2.5 * x2 + 1)
    return m


def hs038() -> pyo.ConcreteModel:
    """Build Colville's fourth problem, two coupled valleys: indexed blocks and a Reference."""
    m = pyo.ConcreteModel(name="HS 38")
    weight = {1: 100, 2: 90}

    @m.Block([1, 2])
    def valley(b: pyo.Block, i: int) -> None:
        b.along = pyo.Var(initialize=-3, bounds=(-10, 10))
        b.across = pyo.Var(initialize=-1, bounds=(-10, 10))
        b.height = pyo.Expression(
            expr=weight[i] * (b.across - b.along**2) ** 2 + (1 - b.along) ** 2
        )

    m.across = pyo.Reference(m.valley[:].across)
    a, b = m.across[1] - 1, m.across[2] - 1
    m.obj = pyo.Objective(
        expr=sum(m.valley[i].height for i in (1, 2)) + 10.1 * (a**2 + b**2) + 19.8 * a * b
    )
    return m


def hs045() -> pyo.ConcreteModel:
    """Build a product in a box: bounds by rule, `pyo.prod`, maximised with the sign changed."""
    m = pyo.ConcreteModel(name="HS 45")
    m.I = pyo.RangeSet(1, 5)
    m.x = pyo.Var(m.I, bounds=lambda m, i: (0, i))
    start_at(m.x, 2)
    m.obj = pyo.Objective(expr=pyo.prod(m.x[i] for i in m.I) / 120 - 2, sense=pyo.maximize)
    return m


def hs110() -> pyo.ConcreteModel:
    """Build squared logarithms minus the fifth root of the product: indexed Expression."""
    m = pyo.ConcreteModel(name="HS 110")
    m.I = pyo.RangeSet(10)
    m.x = pyo.Var(m.I, initialize=9, bounds=(2.001, 9.999))

    @m.Expression(m.I)
    def logs(m: pyo.ConcreteModel, i: int) -> object:
        return pyo.log(m.x[i] - 2) ** 2 + pyo.log(10 - m.x[i]) ** 2

    m.obj = pyo.Objective(expr=pyo.quicksum(m.logs[:]) - pyo.prod(m.x[:]) ** 0.2)
    return m


BUILDERS: dict[str, Callable[[], pyo.ConcreteModel]] = {
    f.__name__: f for f in (hs001, hs003, hs004, hs005, hs038, hs045, hs110)
}
