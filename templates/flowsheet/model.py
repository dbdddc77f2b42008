"""The Pyomo model: balances of four evaporators in a row, each heated by the vapour before it."""

import pyomo.environ as pyo

EFFECTS = [1, 2, 3, 4]
FEED, FEED_SUGAR, FEED_TEMPERATURE = 10.0, 0.15, 85.0  # kg/s, mass fraction, degrees Celsius
PRODUCT_SUGAR = 0.65  # at least
LEAST_DIFFERENCE = 4.0  # K, between condensing vapour and boiling juice


def make_model():
    """Return the model; `archeng` calls this function."""
    m = pyo.ConcreteModel("evaporators")
    m.effects = pyo.Set(initialize=EFFECTS, ordered=True)
    m.steam = pyo.Var(bounds=(0.5, 6), initialize=2.2)  # kg/s
    m.steam_temperature = pyo.Var(bounds=(105, 150), initialize=125)
    m.steam_latent = pyo.Var(bounds=(2000, 2500), initialize=2190)  # kJ/kg

    m.juice = pyo.Var(m.effects, bounds=(1, 10), initialize=lambda m, e: 10 - 1.9 * e)  # kg/s
    m.sugar = pyo.Var(m.effects, bounds=(0.15, 0.8), initialize=lambda m, e: 1.5 / (10 - 1.9 * e))
    m.vapour = pyo.Var(m.effects, bounds=(0, 6), initialize=1.9)  # kg/s
    m.boiling = pyo.Var(m.effects, bounds=(50, 130), initialize=lambda m, e: 130 - 17 * e)
    m.rise = pyo.Var(m.effects, bounds=(0, 10), initialize=1)  # K, of the boiling point by sugar
    m.saturation = pyo.Var(m.effects, bounds=(50, 130), initialize=lambda m, e: 129 - 17 * e)
    m.juice_enthalpy = pyo.Var(m.effects, bounds=(0, 600), initialize=350)  # kJ/kg
    m.vapour_enthalpy = pyo.Var(m.effects, bounds=(2500, 2800), initialize=2650)
    m.latent = pyo.Var(m.effects, bounds=(2100, 2450), initialize=2270)
    m.duty = pyo.Var(m.effects, bounds=(0, 15000), initialize=4500)  # kW
    m.difference = pyo.Var(m.effects, bounds=(LEAST_DIFFERENCE, 60), initialize=15)  # K

    def entering(m, e, variable, feed):
        return feed if e == m.effects.first() else variable[m.effects.prev(e)]

    @m.Constraint()
    def steam_latent_heat(m):
        return m.steam_latent == latent_heat(m.steam_temperature)

    @m.Constraint(m.effects)
    def mass(m, e):
        return entering(m, e, m.juice, FEED) == m.juice[e] + m.vapour[e]

    @m.Constraint(m.effects)
    def sugar_balance(m, e):
        before = entering(m, e, m.juice, FEED) * entering(m, e, m.sugar, FEED_SUGAR)
        return before == m.juice[e] * m.sugar[e]

    @m.Constraint(m.effects)
    def boiling_point_rise(m, e):
        return m.rise[e] == 1.78 * m.sugar[e] + 6.22 * m.sugar[e] ** 2

    @m.Constraint(m.effects)
    def equilibrium(m, e):
        return m.boiling[e] == m.saturation[e] + m.rise[e]

    @m.Constraint(m.effects)
    def enthalpy_of_juice(m, e):
        return m.juice_enthalpy[e] == juice_heat(m.sugar[e], m.boiling[e])

    @m.Constraint(m.effects)
    def enthalpy_of_vapour(m, e):
        return m.vapour_enthalpy[e] == latent_heat(m.saturation[e]) + 4.19 * m.saturation[e]

    @m.Constraint(m.effects)
    def latent_heats(m, e):
        return m.latent[e] == latent_heat(m.saturation[e])

    @m.Constraint(m.effects)
    def heating(m, e):
        first = m.steam * m.steam_latent
        if e == m.effects.first():
            return m.duty[e] == first
        before = m.effects.prev(e)
        return m.duty[e] == m.vapour[before] * m.latent[before]

    @m.Constraint(m.effects)
    def energy(m, e):
        enthalpy = entering(m, e, m.juice_enthalpy, juice_heat(FEED_SUGAR, FEED_TEMPERATURE))
        gain = m.duty[e] + entering(m, e, m.juice, FEED) * enthalpy
        return gain == m.juice[e] * m.juice_enthalpy[e] + m.vapour[e] * m.vapour_enthalpy[e]

    @m.Constraint(m.effects)
    def driving(m, e):
        hot = entering(m, e, m.saturation, m.steam_temperature)
        return m.difference[e] == hot - m.boiling[e]

    m.product = pyo.Constraint(expr=m.sugar[m.effects.last()] >= PRODUCT_SUGAR)
    return m


def latent_heat(temperature):
    """Return the heat of evaporation of water in kJ/kg, at a temperature in degrees Celsius."""
    return 2501 - 2.20 * temperature - 0.0018 * temperature**2


def juice_heat(sugar, temperature):
    """Return the enthalpy of juice in kJ/kg."""
    return 4.19 * (1 - 0.6 * sugar) * temperature
