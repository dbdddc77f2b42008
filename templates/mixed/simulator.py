"""The simulator: heat conduction through the wall. Replace it by yours.

Each layer conducts better the hotter it is; the shell gives off its heat by convection and by
radiation. The heat flux at which everything fits is searched for.
"""

import archeng
from model import DENSITY, LAYERS
from scipy.optimize import brentq

FURNACE, AIR = 1150.0, 25.0  # degrees Celsius
CONDUCTIVITY = {
    "dense_brick": (1.10, 2.0e-4),
    "insulating_brick": (0.20, 1.2e-4),
    "calcium_silicate": (0.060, 1.0e-4),
    "mineral_wool": (0.033, 1.6e-4),
}  # W/(m K) at 0 degrees, and its slope
PRICE = {
    "dense_brick": 0.9,
    "insulating_brick": 1.6,
    "calcium_silicate": 6.0,
    "mineral_wool": 3.0,
}  # EUR/kg
YEARS, HOURS, HEAT = 8.0, 7000.0, 0.035  # of service; a year; EUR/kWh


def simulator(design):
    """Return the yearly cost of a square metre, its temperatures, and what is worth recording."""
    flux = brentq(lambda q: shell_loss(temperatures(design, q)[-1]) - q, 1.0, 1e5)
    inner = temperatures(design, flux)
    material = sum(PRICE[name] * DENSITY[name] * design[name] for name in LAYERS) / YEARS
    heat = flux / 1000 * HOURS * HEAT
    return archeng.Evaluation(
        objective=material + heat,
        constraints={
            "insulating_brick": inner[1],
            "calcium_silicate": inner[2],
            "mineral_wool": inner[3],
            "shell": inner[4],
        },
        outputs={"heat_flux": flux, "material_cost": material, "heat_cost": heat},
    )


def temperatures(design, flux):
    """Return the temperature on the hot side of each layer, and of the shell."""
    found = [FURNACE]
    for name in LAYERS:
        k, slope = CONDUCTIVITY[name]
        hot = found[-1]
        # the integral of the conductivity from cold to hot is flux times thickness
        integral = k * hot + slope * hot**2 / 2 - flux * design[name]
        found.append((-k + max(k**2 + 2 * slope * integral, 0.0) ** 0.5) / slope)
    return found


def shell_loss(shell):
    """Return what the shell gives off, in W/m2."""
    radiation = 0.9 * 5.67e-8 * ((shell + 273.15) ** 4 - (AIR + 273.15) ** 4)
    return radiation + 1.8 * max(shell - AIR, 0.0) ** 1.3333
