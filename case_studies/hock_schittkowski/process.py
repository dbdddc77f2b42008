"""Problems of the collection from chemical engineering."""

from __future__ import annotations

from collections.abc import Callable

import pyomo.environ as pyo

_FREE_ENERGY = [-6.089, -17.164, -34.054, -5.914, -24.721, -14.986, -24.100, -10.708, -26.662,
                -22.179]  # fmt: skip
_ATOMS = {
    "H": ({1: 1, 2: 2, 3: 2, 6: 1, 10: 1}, 2),
    "N": ({4: 1, 5: 2, 6: 1, 7: 1}, 1),
    "O": ({3: 1, 7: 1, 8: 1, 9: 2, 10: 1}, 1),
}
"""Atoms of each kind in one molecule of each substance, and their total."""


def hs106() -> pyo.ConcreteModel:
    """Build three heat exchangers (g10 of CEC 2006): one block each, linked by top-level rows."""
    m = pyo.ConcreteModel(name="HS 106")
    m.K = pyo.RangeSet(3)
    m.unit = pyo.Block(m.K)
    for k, least, warm in ((1, 100, 150), (2, 1000, 225), (3, 1000, 425)):
        m.unit[k].area = pyo.Var(bounds=(least, 10000), initialize=5000)
        m.unit[k].hot = pyo.Var(bounds=(10, 1000), initialize=warm)
    m.cold = pyo.Var([1, 2], bounds=(10, 1000), initialize={1: 200, 2: 350})
    u, t = m.unit, m.cold
    m.balance = pyo.ConstraintList()
    m.balance.add(0.0025 * (t[1] + u[1].hot) <= 1)
    m.balance.add(0.0025 * (t[2] + u[2].hot - t[1]) <= 1)
    m.balance.add(0.01 * (u[3].hot - t[2]) <= 1)
    a = {k: u[k].area for k in m.K}
    u[1].transfer = pyo.Constraint(
        expr=a[1] * u[1].hot - 833.33252 * t[1] - 100 * a[1] + 83333.333 >= 0
    )
    u[2].transfer = pyo.Constraint(
        expr=a[2] * u[2].hot - 1250 * t[2] - a[2] * t[1] + 1250 * t[1] >= 0
    )
    u[3].transfer = pyo.Constraint(expr=a[3] * u[3].hot - 1250000 - a[3] * t[2] + 2500 * t[2] >= 0)
    m.area = pyo.Reference(m.unit[:].area)
    m.obj = pyo.Objective(expr=pyo.summation(m.area))
    return m


def hs111() -> pyo.ConcreteModel:
    """Build a chemical equilibrium in the logarithms of the amounts: exponentials everywhere."""
    m = pyo.ConcreteModel(name="HS 111")
    m.I = pyo.RangeSet(10)
    m.x = pyo.Var(m.I, initialize=-2.3, bounds=(-100, 100))
    m.c = pyo.Param(m.I, initialize=lambda _, i: _FREE_ENERGY[i - 1])
    m.amount = pyo.Expression(m.I, rule=lambda m, i: pyo.exp(m.x[i]))
    m.total = pyo.Expression(expr=pyo.quicksum(m.amount[:]))
    m.atoms = pyo.Constraint(list(_ATOMS), rule=_atom_balance)
    m.obj = pyo.Objective(
        expr=pyo.quicksum(m.amount[i] * (m.c[i] + m.x[i] - pyo.log(m.total)) for i in m.I)
    )
    return m


def hs112() -> pyo.ConcreteModel:
    """Build a chemical equilibrium in the amounts: logarithms, linear balances."""
    m = pyo.ConcreteModel(name="HS 112")
    m.I = pyo.RangeSet(10)
    m.amount = pyo.Var(m.I, initialize=0.1, bounds=(1e-6, None))
    m.c = pyo.Param(m.I, initialize=lambda _, i: _FREE_ENERGY[i - 1], mutable=True)
    m.total = pyo.Expression(expr=pyo.quicksum(m.amount[i] for i in m.I))
    m.atoms = pyo.Constraint(list(_ATOMS), rule=_atom_balance)
    m.obj = pyo.Objective(
        expr=pyo.quicksum(m.amount[i] * (m.c[i] + pyo.log(m.amount[i] / m.total)) for i in m.I)
    )
    return m


def _atom_balance(m: pyo.ConcreteModel, atom: str) -> object:
    count, total = _ATOMS[atom]
    return pyo.quicksum(n * m.amount[i] for i, n in count.items()) == total


def hs114() -> pyo.ConcreteModel:
    """Build an alkylation process: named scalar variables, quotients, mutable parameters."""
    m = pyo.ConcreteModel(name="HS 114")
    variables = {  # start, lower, upper
        "olefin_feed": (1745, 1e-5, 2000),
        "isobutane_recycle": (12000, 1e-5, 16000),
        "acid_addition": (110, 1e-5, 120),
        "alkylate_yield": (3048, 1e-5, 5000),
        "isobutane_makeup": (1974, 1e-5, 2000),
        "acid_strength": (89.2, 85, 93),
        "octane_number": (92.8, 90, 95),
        "isobutane_ratio": (8, 3, 12),
        "dilution": (3.6, 1.2, 4),
        "performance": (145, 145, 162),
    }
    for name, (start, low, high) in variables.items():
        m.add_component(name, pyo.Var(initialize=start, bounds=(low, high)))
    x1, x2, x3, x4, x5, x6, x7, x8, x9, x10 = (m.component(name) for name in variables)
    m.a = pyo.Param(initialize=0.99, mutable=True)
    m.b = pyo.Param(initialize=0.9, mutable=True)
    m.regression = pyo.Block()
    r = m.regression
    r.dilution = pyo.Expression(expr=35.82 - 0.222 * x10)
    r.performance = pyo.Expression(expr=-133 + 3 * x7)
    r.alkylate = pyo.Expression(expr=1.12 * x1 + 0.13167 * x1 * x8 - 0.00667 * x1 * x8**2)
    r.octane = pyo.Expression(expr=57.425 + 1.098 * x8 - 0.038 * x8**2 + 0.325 * x6)
    band = {
        "dilution": (r.dilution, x9, m.b),
        "performance": (r.performance, x10, m.a),
        "alkylate": (r.alkylate, x4, m.a),
        "octane": (r.octane, x7, m.a),
    }
    r.above = pyo.Constraint(list(band), rule=lambda _, k: band[k][0] >= band[k][2] * band[k][1])
    r.below = pyo.Constraint(list(band), rule=lambda _, k: band[k][1] / band[k][2] >= band[k][0])
    m.volume = pyo.Constraint(expr=1.22 * x4 - x1 - x5 == 0)
    m.acid = pyo.Constraint(expr=98000 * x3 / (x4 * x9 + 1000 * x3) - x6 == 0)
    m.ratio = pyo.Constraint(expr=(x2 + x5) / x1 - x8 == 0)
    m.obj = pyo.Objective(expr=5.04 * x1 + 0.035 * x2 + 10 * x3 + 3.36 * x5 - 0.063 * x4 * x7)
    return m


def hs104() -> pyo.ConcreteModel:
    """Build a reactor design: powers that are no integers, limits on the objective as a row."""
    m = pyo.ConcreteModel(name="HS 104")
    start = dict(enumerate([6, 3, 0.4, 0.2, 6, 6, 1, 0.5], 1))
    m.x = pyo.Var(list(start), initialize=start, bounds=(0.1, 10))
    x = m.x
    m.cost = pyo.Expression(
        expr=0.4 * x[1] ** 0.67 * x[7] ** -0.67
        + 0.4 * x[2] ** 0.67 * x[8] ** -0.67
        + 10
        - x[1]
        - x[2]
    )
    m.c1 = pyo.Constraint(expr=1 - 0.0588 * x[5] * x[7] - 0.1 * x[1] >= 0)
    m.c2 = pyo.Constraint(expr=1 - 0.0588 * x[6] * x[8] - 0.1 * x[1] - 0.1 * x[2] >= 0)

    @m.Constraint([3, 4])
    def reactor(m: pyo.ConcreteModel, i: int) -> object:
        x = m.x
        return (
            1
            - 4 * x[i] / x[i + 2]
            - 2 * x[i] ** -0.71 / x[i + 2]
            - 0.0588 * x[i] ** -1.3 * x[i + 4]
            >= 0
        )

    m.limits = pyo.Constraint(expr=pyo.inequality(1, m.cost, 4.2))
    m.obj = pyo.Objective(expr=m.cost)
    return m


BUILDERS: dict[str, Callable[[], pyo.ConcreteModel]] = {
    f.__name__: f for f in (hs104, hs106, hs111, hs112, hs114)
}
