"""A finite-element program for stepped cantilevers: python beam.py beam.inp writes beam.out.

It stands for the external program of a study. It knows nothing of archeng and needs only Python.
"""

import sys
from pathlib import Path

ELEMENTS = 12  # in each segment
GRAVITY = 9.81  # m/s2


def main(path):
    """Read the input file, solve, write the output file beside it."""
    deck = read(Path(path))
    deflection, moments, mass = solve(deck)
    stress = max(
        abs(m) * 6 / (w * h**2) for m, (h, w) in zip(moments, deck["segment"], strict=True)
    )
    Path(path).with_name("beam.out").write_text(
        f"BEAM  {len(deck['segment'])} segments, {ELEMENTS} elements each\n"
        f"tip deflection = {deflection!r} mm\n"
        f"largest stress = {stress!r} MPa\n"
        f"mass           = {mass!r} kg\n",
        encoding="utf-8",
    )


def read(path):
    """Return the numbers of an input file by their key words."""
    deck = {"segment": []}
    for line in path.read_text(encoding="utf-8").splitlines():
        words = line.split("#")[0].split()
        if words and words[0] == "segment":
            deck["segment"].append((float(words[1]), float(words[2])))
        elif words:
            deck[words[0]] = float(words[1])
    return deck


def solve(deck):
    """Return the deflection of the end, the bending moment at each segment's root, and the mass."""
    step = deck["length"] / ELEMENTS
    beams = [section for section in deck["segment"] for _ in range(ELEMENTS)]
    size = 2 * len(beams)  # deflection and slope of every node but the clamped one
    matrix = [[0.0] * 4 for _ in range(size)]  # upper band: matrix[i][j - i]
    force = [0.0] * size
    for k, (height, width) in enumerate(beams):
        stiffness = deck["modulus"] * width * height**3 / 12 / step**3
        weight = deck["density"] * GRAVITY * height * width  # N/mm
        local = [
            [12, 6 * step, -12, 6 * step],
            [6 * step, 4 * step**2, -6 * step, 2 * step**2],
            [-12, -6 * step, 12, -6 * step],
            [6 * step, 2 * step**2, -6 * step, 4 * step**2],
        ]
        half, moment = weight * step / 2, weight * step**2 / 12
        loads = [half, moment, half, -moment]
        for a in range(4):
            i = 2 * (k - 1) + a
            if i < 0:
                continue  # clamped
            force[i] += loads[a]
            for b in range(a, 4):
                matrix[i][b - a] += stiffness * local[a][b]
    force[-2] += deck["load"]
    return banded(matrix, force)[-2], root_moments(deck), total_mass(deck)


def banded(matrix, force):
    """Solve a symmetric system with three diagonals beside the main one."""
    size = len(force)
    for i in range(size):
        for j in range(i + 1, min(i + 4, size)):
            factor = matrix[i][j - i] / matrix[i][0]
            for k in range(j, min(i + 4, size)):
                matrix[j][k - j] -= factor * matrix[i][k - i]
            force[j] -= factor * force[i]
    for i in reversed(range(size)):
        for j in range(i + 1, min(i + 4, size)):
            force[i] -= matrix[i][j - i] * force[j]
        force[i] /= matrix[i][0]
    return force


def root_moments(deck):
    """Return the bending moment at the root of each segment in N mm."""
    moments, shear, moment = [], deck["load"], 0.0
    for height, width in reversed(deck["segment"]):
        weight = deck["density"] * GRAVITY * height * width * deck["length"]
        moment += shear * deck["length"] + weight * deck["length"] / 2
        shear += weight
        moments.append(moment)
    return moments[::-1]


def total_mass(deck):
    """Return the mass in kg."""
    return deck["density"] * deck["length"] * sum(h * w for h, w in deck["segment"])


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: beam.py beam.inp")
    main(sys.argv[1])
