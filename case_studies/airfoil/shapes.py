"""What the section must look like: the figures behind the explicit constraints."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Shape:
    """Limits of the geometry.

    Attributes
    ----------
    name : str
    thickness : mapping of float to float
        Least thickness by station, both in chords.
    trailing_angle : float
        Least angle between the surfaces at the trailing edge, degrees.
    wiggliness : float
        Most that the squared second differences of the weights may add up to.
    blunt : float
        Least first weight of both surfaces. It makes the nose: its radius is half the square of
        the weight, in chords, where both surfaces have the same.
    angles : tuple of float
        Least and greatest angle of attack, degrees.
    """

    name: str
    thickness: Mapping[float, float]
    trailing_angle: float
    wiggliness: float
    blunt: float
    angles: tuple[float, float]


LOW_SPEED = Shape(
    "low speed",
    thickness={
        0.02: 0.002, 0.05: 0.002, 0.10: 0.002, 0.20: 0.002, 0.33: 0.128, 0.45: 0.002,
        0.60: 0.002, 0.75: 0.002, 0.90: 0.014, 0.96: 0.002,
    },
    trailing_angle=6.03,
    wiggliness=0.0929675861,
    blunt=0.05,
    angles=(-5.0, 18.0),
)  # fmt: skip
"""Room for the spar at 0.33, material at 0.90, and surfaces that do not cross elsewhere; twice as
wiggly as NACA 0012."""

TRANSPORT = Shape(
    "transport",
    thickness={
        0.02: 0.002, 0.05: 0.002, 0.10: 0.002, 0.20: 0.095, 0.38: 0.12, 0.50: 0.002,
        0.65: 0.08, 0.75: 0.002, 0.90: 0.014, 0.96: 0.002,
    },
    trailing_angle=6.0,
    wiggliness=0.0929675861,
    blunt=0.1,
    angles=(-5.0, 8.0),
)  # fmt: skip
"""Room for a box with spars at 0.20 and 0.65 that is 12 % deep at 0.38, material at 0.90, surfaces
that do not cross elsewhere, and a nose with a radius of half a percent; twice as wiggly as NACA
0012."""
