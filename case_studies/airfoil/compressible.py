"""The correction of low-speed flow for the Mach number, as CasADi formulas.

AeroSandbox 4.2 corrects what NeuralFoil says by formulas (README.md). Here they are once more, in
steps that the model of the grey form uses; the tests compare them with AeroSandbox.
"""

from __future__ import annotations

from typing import Any

import casadi as ca

SURFACE_POINTS = 32
"""Stations of each surface at which the network gives the velocity."""
PRESSURE_SOFTNESS = 0.01  # of the least of all pressures
STAGNANT_SOFTNESS = 0.001  # of the least pressure and zero
GLAUERT_SOFTNESS = 0.5  # where 1 - M^2 changes its sign
DIVERGENCE = (0.1 / 320) ** (1 / 3)
"""How far beyond the critical Mach number the slope of Lock's law is 0.1, the drag divergence."""
BUFFET_MARGIN, BUFFET_SLOPE = 0.04, 50.0  # beyond the divergence; of the step, per Mach
TUCK_MARGIN, TUCK_WIDTH = 0.06, 0.06  # the same for the moment
SONIC_WIDTH = 0.1  # Mach numbers around 1 in which flow gets supersonic
LOCK = 80.0  # wave drag is LOCK (M - Mcrit)^4
PATCH_END = 1.1  # Mach number up to which the wave drag is a patch


def critical_mach(upper: Any, lower: Any) -> Any:
    """Mach number at which the flow gets sonic, of velocities on both surfaces at low speed."""
    pressures = 1 - ca.vertcat(upper, lower) ** 2
    least = _softmin(pressures, PRESSURE_SOFTNESS)
    least = _softmin(ca.vertcat(least, 0), STAGNANT_SOFTNESS)
    return (1.011571026701678 - least + 0.6582431351007195 * (-least) ** 0.6724789439840343) ** (
        -0.5504677038358711
    )


def glauert(mach: Any) -> Any:
    """Root of 1 - M^2, softened near Mach 1: lift and moment grow by its inverse."""
    squared = 1 - mach**2
    return ca.sqrt(-_softmin(ca.vertcat(-squared, squared), GLAUERT_SOFTNESS))


def flight_lift(lift: Any, critical: Any, mach: Any) -> Any:
    """Lift at a Mach number, of the lift at low speed; it breaks down at the buffet."""
    sonic = (mach - 1) / SONIC_WIDTH
    beyond = mach - (critical + DIVERGENCE + BUFFET_MARGIN)
    buffet = _blend(BUFFET_SLOPE * beyond, _blend(sonic, 1.0, 0.5), 1.0)
    return lift / glauert(mach) * buffet * _blend(sonic, 2 / ca.pi, 1.0)


def wave_drag(critical: Any, most_thickness: Any, mach: Any) -> Any:
    """Wave drag: none, Lock's law up to the divergence, and a patch up to `PATCH_END`.

    Mach numbers beyond that are not meant.
    """
    divergence = critical + DIVERGENCE
    lock = LOCK * (mach - critical) ** 4
    begin = 0.1 * (mach - divergence) + LOCK * DIVERGENCE**4
    end = 0.8 * most_thickness * (1 - 8 * (mach - PATCH_END))
    weight = (1 + ca.cos(ca.pi * (mach - divergence) / (PATCH_END - divergence))) / 2
    patch = weight * begin + (1 - weight) * end
    return ca.if_else(mach < critical, 0, ca.if_else(mach < divergence, lock, patch))


def flight_moment(moment: Any, lift: Any, drag: Any, angle: Any, critical: Any, mach: Any) -> Any:
    """Moment at a Mach number, of the moment at low speed and of lift and drag in flight.

    Beyond the buffet the centre of lift moves back to half the chord. ``angle`` is in degrees.
    """
    radians = angle * ca.pi / 180
    moved = -0.25 * (ca.cos(radians) * lift + ca.sin(radians) * drag)
    beyond = (mach - (critical + DIVERGENCE + TUCK_MARGIN)) / TUCK_WIDTH
    return moment / glauert(mach) + _blend(beyond, moved, 0.0)


def _softmin(values: Any, softness: float) -> Any:
    return -softness * ca.logsumexp(-values / softness)


def _blend(switch: Any, high: Any, low: Any) -> Any:
    """Return ``low`` where the switch is low, ``high`` where it is high."""
    weight = (1 + ca.tanh(switch)) / 2
    return weight * high + (1 - weight) * low
