"""The reference with standard sections: ``python -m case_studies.truss.section_search``.

A search that is not archeng's: from random designs always to the best of all neighbours, where a
neighbour has one or two bars up to a few sections thicker or thinner. Masses of designs beyond a
limit are raised by a penalty. The truss is computed for thousands of designs at a time, in numpy.
"""

from __future__ import annotations

import itertools

import numpy as np
from numpy.typing import ArrayLike, NDArray

from case_studies.truss.cases import (
    CASES,
    DENSITY,
    SIZING_DISPLACEMENT,
    SIZING_STRESS,
    YOUNG,
    Floats,
)

STARTS, SEED = 200, 2026
REACH = 4  # sections up or down in one step
PENALTY = 3.0  # of the mass, for a limit that is exceeded by all of itself
ROUNDING = 1e-9  # of a limit


class Batch:
    """The ten-bar truss for many designs at a time."""

    def __init__(self) -> None:
        case = CASES["sections"]
        spans = case.nodes[case.bars[:, 1]] - case.nodes[case.bars[:, 0]]
        self.lengths = np.hypot(spans[:, 0], spans[:, 1])
        strain = np.zeros((len(spans), *case.nodes.shape))  # elongation over displacements
        for b, (i, j) in enumerate(case.bars):
            strain[b, i], strain[b, j] = -spans[b] / self.lengths[b], spans[b] / self.lengths[b]
        free = [i for i in range(len(case.nodes)) if i not in case.supports]
        self._strain = strain[:, free].reshape(len(spans), -1)
        self._loads = case.loads[free].ravel()
        outer = np.einsum("bi,bj->bij", self._strain, self._strain)
        self._stiffness = outer * (YOUNG / self.lengths)[:, None, None]

    def excess(self, areas: ArrayLike) -> Floats:
        """Return (k,) by how much of its limit the worst value is beyond it, for areas (k, 10).

        All displacements are limited here, not only those of the tip.
        """
        stiffness = np.tensordot(np.asarray(areas, dtype=float), self._stiffness, 1)
        loads = np.broadcast_to(self._loads[:, None], (*stiffness.shape[:2], 1))
        moved = np.linalg.solve(stiffness, loads)[..., 0]
        stresses = YOUNG * (moved @ self._strain.T) / self.lengths
        worst = np.maximum(
            np.abs(stresses).max(axis=1) / SIZING_STRESS,
            np.abs(moved).max(axis=1) / SIZING_DISPLACEMENT,
        )
        return np.asarray(np.maximum(worst - 1, 0))

    def mass(self, areas: ArrayLike) -> Floats:
        """Return the masses (k,) in lb."""
        return np.asarray(DENSITY * np.asarray(areas, dtype=float) @ self.lengths)


def descent(start: NDArray[np.int64], batch: Batch) -> NDArray[np.int64]:
    """Return where the way to the best neighbour ends; designs are numbers of sections (10,)."""
    sections = np.array(CASES["sections"].sections)
    moves = _moves(len(start))

    def penalised(designs: NDArray[np.int64]) -> Floats:
        areas = sections[designs]
        return np.asarray(batch.mass(areas) * (1 + PENALTY * batch.excess(areas)))

    here, value = start, penalised(start[None])[0]
    while True:
        others = here + moves
        others = others[((others >= 0) & (others < len(sections))).all(axis=1)]
        values = penalised(others)
        if not values.min() < value:
            return here
        here, value = others[values.argmin()], values.min()


def ends(starts: int = STARTS, seed: int = SEED) -> list[tuple[float, list[float]]]:
    """Return (mass, areas) of every start that ends within the limits, best first."""
    rng, batch = np.random.default_rng(seed), Batch()
    sections = np.array(CASES["sections"].sections)
    found = []
    for start in rng.integers(len(sections), size=(starts, 10)):
        areas = sections[descent(start, batch)]
        if batch.excess(areas[None])[0] <= ROUNDING:
            found.append((float(batch.mass(areas)), areas.tolist()))
    return sorted(found)


def _moves(n: int) -> NDArray[np.int64]:
    """Return all steps (m, n) of one or two bars."""
    steps = [s for s in range(-REACH, REACH + 1) if s]
    found = []
    for i in range(n):
        for s in steps:
            found.append(np.eye(n, dtype=int)[i] * s)
    for i, j in itertools.combinations(range(n), 2):
        for s, t in itertools.product(steps, steps):
            found.append(np.eye(n, dtype=int)[i] * s + np.eye(n, dtype=int)[j] * t)
    return np.array(found)


def main() -> None:
    """Print what reference.json holds."""
    found = ends()
    mass, areas = found[0]
    agreeing = sum(f <= mass + 1e-6 for f, _ in found)
    print(f"{STARTS} starts (seed {SEED}), {len(found)} within the limits, {agreeing} at {mass!r}")
    print(areas)
    print("next:", sorted({round(f, 3) for f, _ in found})[1:4])


if __name__ == "__main__":
    main()
