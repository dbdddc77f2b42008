r"""A finite-element model of the joint: an elastic ring on a gasket that can only be pressed.

Half a pitch of one plate, from a bolt to the middle between two, is a curved beam of rectangular
section: it moves along the axis by :math:`w(s)` and turns about its tangent by
:math:`\theta(s)`, both by cubic finite elements. Its section stays plane, as in EN 1591-1. The
symmetry plane is the middle of the gasket. With the mean radius R its curvature and twist are

.. math:: \kappa = -w'' + \theta / R , \qquad \tau = \theta' + w' / R .

The gasket is a bed of springs across its width that carries no tension, the pipe turns with the
ring as a long cylindrical shell does, the bolts are springs with a preload. In operation the
pressure pulls at the pipe and pushes at the ring between bore and gasket.

============  =================================================================
symbol        meaning
============  =================================================================
w, theta      towards the other plate positive; positive turns the outside there
s             arc length at the mean radius R, zero at a bolt
============  =================================================================
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from case_studies.flange import data

Floats = NDArray[np.float64]

ELEMENTS = 8  # along half a pitch
ITERATIONS = 60  # of the contact
SHEAR = data.YOUNG / (2 * (1 + data.POISSON))
GRIP_OF_HEADS = 0.8  # bolt diameters that stretch in head and nut (VDI 2230)
ACROSS = np.polynomial.legendre.leggauss(4)  # points and weights across the gasket
ALONG = np.polynomial.legendre.leggauss(3)  # points and weights along an element


@dataclass(frozen=True)
class Joint:
    """A joint in numbers: what its parts say, in mm, N and MPa."""

    bolts: int
    bolt_diameter: float
    stress_area: float
    hole: float
    bolt_circle: float
    preload: float  # N, of one bolt
    thickness: float
    gasket_width: float
    gasket_modulus: float
    gasket_thickness: float


@dataclass(frozen=True)
class State:
    """What the ring model finds; pressures and stresses in MPa.

    Attributes
    ----------
    least_pressure : float
        Of the gasket in operation, the mean across its width where that is least.
    most_pressure : float
        Of the gasket when it is assembled, at the worst point.
    rotation : float
        Largest, of the plate, in degrees.
    plate_stress : float
        Largest, by von Mises.
    bolt_force : float
        Largest, of a bolt in operation, in kN.
    """

    least_pressure: float
    most_pressure: float
    rotation: float
    plate_stress: float
    bolt_force: float


@dataclass(frozen=True, eq=False)
class Shapes:
    """Values of the cubic shape functions at all points along the ring, for elements of length 1.

    Degrees of freedom are (w, w', theta, theta') of every node, shape (points, dofs) each; the
    derivatives are with respect to s in lengths of an element.
    """

    w: Floats
    w1: Floats
    w2: Floats
    turn: Floats
    turn1: Floats
    weights: Floats
    free: NDArray[np.int64]


@cache
def shapes() -> Shapes:
    """Return the shape functions: Hermite's cubics for the motion and for the rotation."""
    points = (ALONG[0] + 1) / 2
    n, per = ELEMENTS, len(points)
    values = np.zeros((3, n * per, 4 * (n + 1)))
    cubics = np.array([[1, 0, -3, 2], [0, 1, -2, 1], [0, 0, 3, -2], [0, 0, -1, 1]], dtype=float)
    for order in range(3):
        for row, c in enumerate(cubics):
            curve = (
                np.polynomial.Polynomial(c).deriv(order) if order else np.polynomial.Polynomial(c)
            )
            for e in range(n):
                dof = 4 * (e + row // 2) + row % 2
                values[order, e * per : (e + 1) * per, dof] = curve(points)
    turned = np.roll(values, 2, axis=2)  # theta uses the two degrees of freedom behind those of w
    slopes = [1, 3, 4 * n + 1, 4 * n + 3]  # zero at both ends, which are planes of symmetry
    return Shapes(
        w=values[0],
        w1=values[1],
        w2=values[2],
        turn=turned[0],
        turn1=turned[1],
        weights=np.tile(ALONG[1] / 2, n),
        free=np.setdiff1d(np.arange(4 * (n + 1)), slopes),
    )


class Ring:
    """The finite elements of a joint."""

    def __init__(self, joint: Joint) -> None:
        self.joint, f = joint, shapes()
        self._free = f.free
        outer = joint.bolt_circle + 2 * data.EDGE * joint.hole
        self.radius = (outer + data.BORE) / 4
        pitch = np.pi * joint.bolt_circle / joint.bolts
        weakened = joint.hole * np.sqrt(joint.hole / pitch)  # by the holes, EN 1591-1
        width = (outer - data.BORE) / 2 - weakened
        self._h = np.pi * self.radius / joint.bolts / ELEMENTS
        self._curvature = -f.w2 / self._h**2 + f.turn / self.radius
        self._twist = f.turn1 / self._h + f.w1 / self._h / self.radius
        t = joint.thickness
        self._lengths = f.weights * self._h
        bending = data.YOUNG * width * t**3 / 12
        thin, wide = min(t, width), max(t, width)
        torsion = SHEAR * wide * thin**3 / 3 * (1 - 0.63 * thin / wide)
        self._thin = thin
        self._stiffness = (
            bending * _weighted(self._curvature, self._lengths)
            + torsion * _weighted(self._twist, self._lengths)
            + _pipe() * _weighted(f.turn, self._lengths)
        )
        inner = data.BORE / 2 + data.GASKET_CLEARANCE
        self._places = inner + joint.gasket_width * (ACROSS[0] + 1) / 2
        self._gasket_inner = inner
        levers = self._places - self.radius
        self._pressed = f.w[:, None, :] + f.turn[:, None, :] * levers[:, None]
        self._areas = (
            self._lengths[:, None]
            * (joint.gasket_width * ACROSS[1] / 2)
            * (self._places / self.radius)
        )
        self._spring = 2 * joint.gasket_modulus / joint.gasket_thickness  # half of the thickness
        self._at_bolt = self._point(joint.bolt_circle / 2)

    def states(self) -> tuple[Floats, Floats, float]:
        """Assemble the joint, then put it under pressure.

        Returns the degrees of freedom of both states, and the force of a bolt in the second, N.
        """
        joint = self.joint
        pull = joint.preload / 2 * self._at_bolt  # half of the bolt belongs to this half pitch
        assembled = self._balanced(self._stiffness, pull)
        heads = GRIP_OF_HEADS * joint.bolt_diameter
        grip = joint.thickness + (joint.gasket_thickness + heads) / 2
        spring = data.YOUNG * joint.stress_area / grip
        bolt = spring / 2 * np.outer(self._at_bolt, self._at_bolt)
        moved = self._at_bolt @ assembled
        loads = pull + spring / 2 * moved * self._at_bolt - self._pressure()
        operating = self._balanced(self._stiffness + bolt, loads)
        force = joint.preload - spring * (self._at_bolt @ operating - moved)
        return assembled, operating, float(force)

    def solve(self) -> State:
        """Return what is limited.

        Raises
        ------
        RuntimeError
            The contact of the gasket was not found.
        """
        assembled, operating, force = self.states()
        turn = shapes().turn
        both = (assembled, operating)
        return State(
            least_pressure=float((self._pressures(operating) @ (ACROSS[1] / 2)).min()),
            most_pressure=float(self._pressures(assembled).max()),
            rotation=float(np.degrees(max(np.abs(turn @ u).max() for u in both))),
            plate_stress=max(self._stress(u) for u in both),
            bolt_force=max(force, self.joint.preload) / 1e3,
        )

    def gasket_force(self, u: Floats) -> float:
        """Return the force of the gasket on half a pitch, N."""
        return float((self._pressures(u) * self._areas).sum())

    def _balanced(self, stiffness: Floats, loads: Floats) -> Floats:
        """Return the degrees of freedom for which plate, gasket and loads are in balance.

        Newton's method: a point of the gasket is in contact or not, so it ends after a few steps.
        """
        free = self._free
        touching = np.ones(self._areas.shape, dtype=bool)
        u = np.zeros(len(loads))
        for _ in range(ITERATIONS):
            weights = np.where(touching, self._spring * self._areas, 0.0)
            flat = self._pressed.reshape(-1, len(loads))
            matrix = stiffness + (flat.T * weights.ravel()) @ flat
            u[free] = np.linalg.solve(matrix[np.ix_(free, free)], loads[free])
            now = self._pressed @ u > 0
            if (now == touching).all():
                return u
            touching = now
        raise RuntimeError("the contact of the gasket was not found: it opens too far")

    def _pressures(self, u: Floats) -> Floats:
        """Return the pressures of the gasket, (points along, points across)."""
        return np.asarray(self._spring * np.maximum(self._pressed @ u, 0.0))

    def _stress(self, u: Floats) -> float:
        bending = data.YOUNG * self.joint.thickness / 2 * (self._curvature @ u)
        shear = SHEAR * self._thin * (self._twist @ u)
        return float(np.sqrt(bending**2 + 3 * shear**2).max())

    def _point(self, radius: float) -> Floats:
        """Return the motion of a point of the first node at a radius, as a row."""
        row = np.zeros(4 * (ELEMENTS + 1))
        row[0], row[2] = 1.0, radius - self.radius
        return row

    def _pressure(self) -> Floats:
        """Return the loads of the pressure on half a pitch: they push the plates apart."""
        f, sector = shapes(), np.pi / self.joint.bolts
        bore = data.BORE / 2
        end = data.PRESSURE * bore**2 / 2 * sector  # on the end of the pipe, carried by its wall
        ring = data.PRESSURE * (self._gasket_inner**2 - bore**2) / 2 * sector
        total = np.zeros(f.w.shape[1])
        share = self._lengths / self._lengths.sum()
        for force, place in (
            (end, bore + data.WALL / 2),
            (ring, (bore + self._gasket_inner) / 2),
        ):
            total += force * share @ (f.w + (place - self.radius) * f.turn)
        return total


def _weighted(rows: Floats, weights: Floats) -> Floats:
    return (rows.T * weights) @ rows


def _pipe() -> float:
    """Return the moment per length and angle by which a long pipe resists when its end turns."""
    radius = (data.BORE + data.WALL) / 2
    plate = data.YOUNG * data.WALL**3 / (12 * (1 - data.POISSON**2))
    decay = (3 * (1 - data.POISSON**2)) ** 0.25 / np.sqrt(radius * data.WALL)
    return float(2 * decay * plate)
