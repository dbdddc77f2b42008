"""The simulator: areas and cost of the exchangers. Replace it by yours.

It walks along each exchanger in small steps of heat, because the film coefficient of the crude
changes with its temperature: there is no formula for the area.
"""

from model import COLD_IN, COLD_RATE, HOT
from pyomo.environ import value

STEPS = 60
WORTH = {"kerosene": 0.0, "gas_oil": 25.0, "residue": 50.0, "pumparound": 60.0}  # EUR/kW elsewhere
HOT_FILM = {"kerosene": 900.0, "gas_oil": 750.0, "residue": 380.0, "pumparound": 650.0}  # W/(m2 K)


def simulator(model):
    """Return the cost in EUR: exchangers, and what the heat would have been worth elsewhere.

    ``model`` is the Pyomo model at a design.
    """
    total, cold = 0.0, COLD_IN
    for name in HOT:
        duty = value(model.duty[name])
        total += cost(area(name, cold, duty)) + WORTH[name] * duty
        cold += duty / COLD_RATE
    return total


def area(name, cold, duty):
    """Return the area in m2 of a counter-current exchanger that heats the crude from ``cold``."""
    inlet, rate = HOT[name]
    hot = inlet - duty / rate  # both at the cold end
    step = duty / STEPS
    found = 0.0
    for k in range(STEPS):
        done = (k + 0.5) * step
        crude = cold + done / COLD_RATE
        difference = hot + done / rate - crude
        found += 1000 * step / (overall(name, crude) * difference)
    return found


def overall(name, crude):
    """Return the overall coefficient in W/(m2 K): the crude gets thinner as it gets hotter."""
    film = 180 * (1 + (crude - 30) / 90) ** 0.8
    fouling = 7e-4
    return 1 / (1 / film + 1 / HOT_FILM[name] + fouling)


def cost(area):
    """Return the price of an exchanger in EUR; one that is not needed costs nothing."""
    return 1500 * area**0.9
