"""The simulator: how hot a chip gets under a heat sink behind a fan. Replace it by yours.

Developing laminar flow between plates (friction: Muzychka and Yovanovich; heat transfer: Teertstra,
Yovanovich and Culham), fins with constant cross-section, heat that spreads in the base (Lee, Song,
Au and Moran), a fan with a parabolic characteristic.
"""

import math

from model import DEPTH, WIDTH
from scipy.optimize import brentq

DENSITY, VISCOSITY, CONDUCTIVITY, PRANDTL = 1.16, 1.85e-5, 0.026, 0.71  # air, SI units
ALUMINIUM = 190.0  # W/(m K)
CHIP_AREA = 0.03 * 0.03  # m2
FAN_PRESSURE, FAN_FLOW = 60.0, 0.015  # Pa without flow, m3/s without resistance


def simulator(design):
    """Return the outputs of the model: temperature of the chip and pressure drop."""
    power, air = design.parameters["power"], design.parameters["air"]
    resistance, pressure = resistance_and_pressure(design)
    return {"chip": air + power * resistance, "pressure_drop": pressure}


def resistance_and_pressure(design):
    """Return the thermal resistance in K/W and the pressure drop in Pa."""
    height, thickness = design["fin_height"] * 1e-3, design["fin_thickness"] * 1e-3
    gap, base = design["fin_gap"] * 1e-3, design["base_thickness"] * 1e-3
    width, depth = WIDTH * 1e-3, DEPTH * 1e-3
    fins = width / (thickness + gap)
    flow = operating_point(height, gap, fins, depth)
    velocity = flow / (fins * gap * height)
    film = heat_transfer(velocity, gap, depth)
    m = math.sqrt(2 * film / (ALUMINIUM * thickness))
    efficiency = math.tanh(m * height) / (m * height)
    surface = fins * depth * (gap + 2 * efficiency * height)
    fins_to_air = 1 / (film * surface)
    resistance = fins_to_air + spreading(base, width * depth, fins_to_air)
    return resistance, pressure_drop(velocity, height, gap, depth)


def spreading(base, area, fins_to_air):
    """Return the resistance of the base, into which the heat spreads from the chip, in K/W."""
    chip, plate = math.sqrt(CHIP_AREA / math.pi), math.sqrt(area / math.pi)
    ratio, depth = chip / plate, base / plate
    biot = plate / (ALUMINIUM * area * fins_to_air)
    decay = math.pi + 1 / (math.sqrt(math.pi) * ratio)
    bent = math.tanh(decay * depth)
    share = (bent + decay / biot) / (1 + decay / biot * bent)
    constriction = (1 - ratio) * share / math.sqrt(math.pi)
    return (ratio * depth / math.sqrt(math.pi) + constriction) / (
        ALUMINIUM * chip * math.sqrt(math.pi)
    )


def operating_point(height, gap, fins, depth):
    """Return the flow in m3/s at which the fan gives the pressure that the channels need."""

    def excess(flow):
        velocity = flow / (fins * gap * height)
        return pressure_drop(velocity, height, gap, depth) - fan_pressure(flow)

    return brentq(excess, 1e-9, FAN_FLOW)


def fan_pressure(flow):
    """Return the pressure of the fan in Pa."""
    return FAN_PRESSURE * (1 - (flow / FAN_FLOW) ** 2)


def pressure_drop(velocity, height, gap, depth):
    """Return the pressure drop along the channels in Pa."""
    diameter = 2 * gap * height / (gap + height)
    reynolds = DENSITY * velocity * diameter / VISCOSITY
    ratio = gap / height
    developed = 24 - 32.53 * ratio + 46.72 * ratio**2 - 40.83 * ratio**3 + 22.95 * ratio**4
    friction = math.hypot(3.44 * math.sqrt(diameter * reynolds / depth), developed) / reynolds
    inlet_and_outlet = 1.2
    return (4 * friction * depth / diameter + inlet_and_outlet) * DENSITY * velocity**2 / 2


def heat_transfer(velocity, gap, depth):
    """Return the film coefficient in the channels in W/(m2 K)."""
    reynolds = DENSITY * velocity * gap / VISCOSITY * gap / depth
    developed = reynolds * PRANDTL / 2
    plate = 0.664 * math.sqrt(reynolds) * PRANDTL ** (1 / 3)
    developing = plate * math.sqrt(1 + 3.65 / math.sqrt(reynolds))
    nusselt = (developed**-3 + developing**-3) ** (-1 / 3)
    return nusselt * CONDUCTIVITY / gap
