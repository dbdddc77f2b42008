"""The simulator: areas, browning and cost of the evaporators. Replace it by yours.

It follows the juice down the tubes in small steps, because it becomes thicker on its way: there is
no formula for the area, nor for what heat does to the sugar.
"""

import math

from model import EFFECTS, FEED, FEED_SUGAR
from pyomo.environ import value

STEPS = 40
HOURS = 3000  # a year
FILM = 1.5  # kg of juice per m2 of tubes
PRICE = 25.0  # kEUR for one m2; ten times the area costs 4.5 times as much
SHARE = 0.15  # of the price, each year


def simulator(model):
    """Return the cost in kEUR a year: evaporators, steam, and sugar that turns brown.

    ``model`` is the Pyomo model at a design.
    """
    juice, sugar, total, brown = FEED, FEED_SUGAR, 0.0, 0.0
    for e in EFFECTS:
        after = value(model.sugar[e])
        boiling = value(model.boiling[e])
        needed = area(value(model.duty[e]), value(model.difference[e]), sugar, after, boiling)
        juice, sugar = value(model.juice[e]), after
        total += SHARE * PRICE * needed**0.65
        brown += browning(sugar, boiling, FILM * needed / juice)
    temperature = value(model.steam_temperature)
    steam = value(model.steam) * 3.6 * HOURS * (18 + 0.15 * (temperature - 105)) / 1000
    return total + steam + 600 * brown


def area(duty, difference, before, after, boiling):
    """Return the area in m2 of an effect in which the juice thickens from step to step."""
    found = 0.0
    for k in range(STEPS):
        sugar = before + (after - before) * (k + 0.5) / STEPS
        found += 1000 * duty / STEPS / (overall(sugar, boiling) * difference)
    return found


def overall(sugar, boiling):
    """Return the overall coefficient in W/(m2 K): thick and cold juice takes up heat badly."""
    viscosity = math.exp(8 * sugar**1.5 - 0.02 * (boiling - 60))  # relative to water
    return 1 / (1 / (5200 * viscosity**-0.35) + 1.2e-4)


def browning(sugar, boiling, seconds):
    """Return the share of the sugar that is spoiled in an effect."""
    return 4e-5 * sugar * seconds * math.exp(0.09 * (boiling - 100))
