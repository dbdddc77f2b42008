"""The simulator: heat conduction through the wall. Replace it by yours.

Each layer conducts better the hotter it is; the shell gives off its heat by convection and by
radiation. The heat flux at which everything fits is searched for.
"""

import archeng
from model import LAYERS
from scipy.optimize import brentq

AIR = 25.0  # degrees Celsius
CONDUCTIVITY = {
    "dense_brick": (1.10, 2.0e-4),
    "insulating_brick": (0.20, 1.2e-4),
    "calcium_silicate": (0.060, 1.0e-4),
    "mineral_wool": (0.033, 1.6e-4),
}  # W/(m K) at 0 degrees, and its slope


def simulator(design):
    """Return the outputs of the model, and what is worth recording. Cost and limits follow."""
    furnace = design.parameters["furnace"]

    def gap(flux):
        return shell_loss(temperatures(design, furnace, flux)[-1]) - flux

    flux, search = brentq(gap, 1.0, 1e5, full_output=True)
    *hot_side, shell = temperatures(design, furnace, flux)
    return archeng.Evaluation(
        outputs={
            "hot_side": hot_side,
            "shell": shell,
            "heat_flux": flux,
            "function_calls": search.function_calls,  # not in the model: only recorded
        }
    )


def temperatures(thickness, furnace, flux):
    """Return the temperature on the hot side of each layer, and of the shell."""
    found = [furnace]
    for name in LAYERS:
        k, slope = CONDUCTIVITY[name]
        hot = found[-1]
        # the integral of the conductivity from cold to hot is flux times thickness
        integral = k * hot + slope * hot**2 / 2 - flux * thickness[name]
        found.append((-k + max(k**2 + 2 * slope * integral, 0.0) ** 0.5) / slope)
    return found


def shell_loss(shell):
    """Return what the shell gives off, in W/m2."""
    radiation = 0.9 * 5.67e-8 * ((shell + 273.15) ** 4 - (AIR + 273.15) ** 4)
    return radiation + 1.8 * max(shell - AIR, 0.0) ** 1.3333
