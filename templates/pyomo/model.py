"""The Pyomo model: energy balances of four heat exchangers in a row."""

import pyomo.environ as pyo

HOT = {
    "kerosene": (190.0, 6.0),
    "gas_oil": (260.0, 6.0),
    "residue": (320.0, 7.0),
    "pumparound": (350.0, 8.0),
}  # inlet in degrees Celsius, capacity rate in kW/K, in the order of the row
COLD_IN, COLD_OUT, COLD_RATE = 30.0, 250.0, 12.0
LEAST_DIFFERENCE = 12.0  # K


def make_model():
    """Return the model; `archeng` calls this function."""
    m = pyo.ConcreteModel("heat_recovery")
    m.exchangers = pyo.Set(initialize=list(HOT), ordered=True)
    m.duty = pyo.Var(m.exchangers, bounds=(0, 1500))  # kW
    m.cold = pyo.Var(m.exchangers, bounds=(COLD_IN, COLD_OUT))  # after each exchanger
    m.hot = pyo.Var(m.exchangers, bounds=(COLD_IN, 350))  # hot outlets

    def before(m, e):
        return COLD_IN if e == m.exchangers.first() else m.cold[m.exchangers.prev(e)]

    @m.Constraint(m.exchangers)
    def cold_balance(m, e):
        return m.duty[e] == COLD_RATE * (m.cold[e] - before(m, e))

    @m.Constraint(m.exchangers)
    def hot_balance(m, e):
        inlet, rate = HOT[e]
        return m.duty[e] == rate * (inlet - m.hot[e])

    @m.Constraint(m.exchangers)
    def difference_at_the_hot_end(m, e):
        return HOT[e][0] - m.cold[e] >= LEAST_DIFFERENCE

    @m.Constraint(m.exchangers)
    def difference_at_the_cold_end(m, e):
        return m.hot[e] - before(m, e) >= LEAST_DIFFERENCE

    m.cold[m.exchangers.last()].fix(COLD_OUT)
    return m
