"""The simulator: a grid of beams and strips of the plate, by finite elements. Replace it by yours.

`design["section"]` is the name of a row, with its attributes: `design["section"]["inertia"]`.
"""

import numpy as np

from model import DENSITY, LENGTH, LIVE_LOAD, GRAVITY, MODULUS, WIDTH

PARTS = (1, 6, 1)  # elements of a beam: over an overhang, between the supports, over the other
QUASI_PERMANENT = 0.3  # share of the live load that swings with the platform
POISSON = 0.3
DIGITS = 9  # behind the comma of the frequency


def simulator(design):
    """Return the lowest natural frequency in Hz."""
    overhang = max(design["overhang"], 1e-3)
    section, thickness = design["section"], design["plate"] / 1000
    along = points(overhang)
    across = np.linspace(0.0, WIDTH, design["beams"])
    share, spacing = tributary(along), tributary(across)
    beam = MODULUS * section["inertia"] * 1e-8  # bending stiffness in N m2
    strip = MODULUS * thickness**3 / (12 * (1 - POISSON**2)) * share  # of each strip
    stiffness = grid(along, across, beam, strip)

    # supports: the deflection is zero at two points of each beam
    rows, columns = len(along), len(across)
    deflections = np.arange(rows * columns).reshape(rows, columns) * 3
    held = deflections[[PARTS[0], PARTS[0] + PARTS[1]]].ravel()
    free = np.setdiff1d(np.arange(3 * rows * columns), held)
    moving = np.flatnonzero(np.isin(free, deflections))
    area = DENSITY * thickness + QUASI_PERMANENT * LIVE_LOAD / GRAVITY  # kg/m2
    mass = np.outer(share, area * spacing + section["mass"]).ravel()[free[moving] // 3]

    flexibility = np.linalg.inv(stiffness[np.ix_(free, free)])[np.ix_(moving, moving)]
    root = np.sqrt(mass)
    slowest = np.linalg.eigvalsh(root[:, None] * flexibility * root)[-1]
    # the last digits depend on the number of threads that NumPy uses: the same run needs the same
    return {"frequency": round(float(1 / (2 * np.pi * np.sqrt(slowest))), DIGITS)}


def points(overhang):
    """Return the ends of the elements of a beam, from 0 to its length."""
    ends = (0.0, overhang, LENGTH - overhang, LENGTH)
    parts = zip(ends[:-1], ends[1:], PARTS, strict=True)
    return np.concatenate(([0.0], *(np.linspace(a, b, n + 1)[1:] for a, b, n in parts)))


def tributary(places):
    """Return the length that belongs to each of several points on a line."""
    middles = (places[1:] + places[:-1]) / 2
    return np.diff(np.concatenate((places[:1], middles, places[-1:])))


def grid(along, across, beam, strip):
    """Return the stiffness matrix; each point has a deflection and two slopes."""
    rows, columns = len(along), len(across)
    stiffness = np.zeros((3 * rows * columns,) * 2)

    def add(first, second, slope, element):
        places = [3 * first, 3 * first + slope, 3 * second, 3 * second + slope]
        stiffness[np.ix_(places, places)] += element

    for j in range(columns):
        for i in range(rows - 1):
            element = bent(beam, along[i + 1] - along[i])
            add(i * columns + j, (i + 1) * columns + j, 1, element)
    for i in range(rows):
        for j in range(columns - 1):
            element = bent(strip[i], across[j + 1] - across[j])
            add(i * columns + j, i * columns + j + 1, 2, element)
    return stiffness


def bent(rigidity, length):
    """Return the stiffness matrix of a beam element: deflection and slope at both ends."""
    a, b = 6 * length, length**2
    shape = [[12, a, -12, a], [a, 4 * b, -a, 2 * b], [-12, -a, 12, -a], [a, 2 * b, -a, 4 * b]]
    return rigidity / length**3 * np.array(shape)
