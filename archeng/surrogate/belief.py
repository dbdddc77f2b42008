"""Whether a teacher is believed before anything is known of our own function.

It is if it knows itself: if its models predict rows of it that they were not fitted to.
"""

from __future__ import annotations

import numpy as np

from archeng.distribution import Floats
from archeng.outcomes import PastCalls, Teacher
from archeng.ranking import mid_ranks
from archeng.surrogate import constants as c
from archeng.surrogate.data import Frame
from archeng.surrogate.fit import Kernels
from archeng.surrogate.taught import KINDS


def promising(frame: Frame, past: PastCalls) -> bool:
    """Whether a teacher knows itself: its models predict rows of it that they were not fitted to.

    Only then it is believed before anything is known of our own function.
    """
    return any(knows_itself(frame, teacher) for teacher in past.teachers)


def _rank_correlation(a: Floats, b: Floats) -> float:
    """Correlation of the ranks of two vectors; 0 if one of them is constant."""
    first, second = mid_ranks(a), mid_ranks(b)
    sizes = float(np.std(first) * np.std(second))
    return float(np.mean((first - first.mean()) * (second - second.mean()))) / (sizes or np.inf)


def knows_itself(frame: Frame, teacher: Teacher) -> bool | None:
    """Whether the objective is predicted; the constraints if it is unknown; None: too few rows."""
    columns = np.column_stack((teacher.objectives, teacher.simulated))
    known = np.abs(columns) < c.DATA_HUGE
    enough = np.flatnonzero(known.sum(axis=0) >= len(frame.centre) + 3)
    for k in enough[:1] if len(enough) and enough[0] == 0 else enough:
        rows = teacher.taken(known[:, k])
        u = frame.coordinates(rows.points)
        near = np.argsort(np.linalg.norm(u, axis=1), kind="stable")[: c.TEACHER_ROWS]
        z = columns[known[:, k], k][near]
        z = z / (float(np.std(z)) or 1.0)
        kernels = Kernels(u[near] / (float(np.median(np.linalg.norm(u[near], axis=1))) or 1.0))
        fits = [prior.fit(kernels, z[:, None])[0] for prior in KINDS]
        alike = [_rank_correlation(z, z - one.errors) for one in fits if one is not None]
        if max(alike, default=0.0) < c.TEACHER_KNOWS:
            return False
    return True if len(enough) else None
