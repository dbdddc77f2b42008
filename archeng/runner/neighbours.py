"""What the next values of discrete variables would violate at the best design."""

from __future__ import annotations

import numpy as np

from archeng.distribution import Floats
from archeng.model import FeasibleSet
from archeng.records import NeighbourAtBest
from archeng.surrogate.mixed.moves import neighbours as lattice_neighbours

_MOST = 200  # neighbours that are looked at


def neighbours_at(feasible_set: FeasibleSet, x: Floats) -> tuple[NeighbourAtBest, ...]:
    """Return the neighbours of a full vector on the lattice; none without discrete variables.

    One variable is one level up or down, or another category; all others stay as they are.
    """
    fs = feasible_set
    if fs.lattice is None:
        return ()
    here = fs.reduce(x)
    domains = [variable.domain for variable in fs.variables for _ in range(variable.size)]
    found = []
    near = lattice_neighbours(fs.lattice, here)
    for y in near[np.count_nonzero(near != here, axis=1) == 1][:_MOST]:
        [i] = np.flatnonzero(y != here)
        violations = fs.violations(y)
        found.append(
            NeighbourAtBest(
                variable=fs.free_names[i],
                value=domains[fs.free[i]].shown(float(y[i])),
                violated={
                    fs.rows[j].name: float(violations[j]) for j in np.flatnonzero(violations > 0)
                },
            )
        )
    return tuple(found)
