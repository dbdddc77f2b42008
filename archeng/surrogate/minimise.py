r"""Minimising a model over the feasible set, within a distance of the centre.

One step minimises the model's quadratic approximation over the *exact* feasible set. It is a
projection, so the repair does it, with its certificates; formula and symbols are in
:mod:`archeng.surrogate.curvature`. :math:`\lambda`, the multiplier of the trust region
:math:`|y| \le r` (``pull``), is raised until y is inside; :math:`\mu` (``damping``) until the step
lowers the model.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from archeng.distribution import Floats
from archeng.repair import NearbyPoint, Repairer
from archeng.surrogate import constants as c
from archeng.surrogate.choice import SmoothModel
from archeng.surrogate.curvature import Approximation, Curvature
from archeng.surrogate.data import Frame


class Minimum(NamedTuple):
    """A feasible design (n,), and the model's value there."""

    x: Floats
    value: float


class _Trial(NamedTuple):
    """A design x (n,) at coordinates y (n,) of some length, the model's value and the pull.

    ``exact`` says whether it is the minimum that was looked for, or just a feasible design.
    """

    x: Floats
    exact: bool
    y: Floats
    value: float
    length: float
    pull: float


def lowest(
    model: SmoothModel,
    frame: Frame,
    scale: float,
    repairer: Repairer,
    starts: Iterable[Floats],
    radius: float,
    brief: bool = False,
) -> Minimum | None:
    """Return the lowest minimum that is found from some feasible designs; None if none is lower.

    The coordinates of the model are v = u / scale, u those of the frame. ``radius`` is the largest
    distance from its centre. If infinite, the best starts go on after each stage. Else there are no
    other starts once the model has no other minimum there: if all rows are linear, if each takes
    the solution of equations, or if ``brief``.
    """
    curvature = Curvature(frame, scale, repairer)
    fs = repairer.feasible_set
    sure = fs.is_linear or fs.dependents is not None
    if np.isinf(radius):
        descents = [_Descent(model, curvature, start, radius) for start in starts]
        for steps, best in c.DESCENT_STAGES:
            for descent in descents:
                descent.go(steps)
            descents = sorted(descents, key=lambda d: d.value)[:best]
    else:
        descents, value, pull = [], np.inf, 0.0
        for start in starts:
            descent = _Descent(model, curvature, start, radius, pull)
            descent.go(c.DESCENT_FEW)
            if descent.value <= value:
                descent.go(c.DESCENT_STEPS - c.DESCENT_FEW)
                value, pull = descent.value, descent.pull
            descents.append(descent)
            if descent.certain and (brief or sure):
                break
    minima = [d.best for d in descents if d.best is not None]
    return min(minima, key=lambda m: m.value, default=None)


class _Descent:
    """A search that goes on step by step."""

    def __init__(
        self,
        model: SmoothModel,
        curvature: Curvature,
        start: Floats,
        radius: float,
        pull: float = 0.0,
    ) -> None:
        self._model, self._curvature = model, curvature
        self._radius = radius / curvature.scale
        self._x, self._v = start, curvature.coordinates(start)
        self._many = len(start) >= c.WIDE_FROM
        self.value = model.value(self._v)
        self.best: Minimum | None = None
        self._begin, self._first = self._v, self.value
        self.pull, self._damping = pull, 0.0
        self._ended = False
        self.certain = False

    def go(self, steps: int) -> None:
        """Take so many steps, fewer if the search ends."""
        for _ in range(steps):
            if self._ended:
                return
            self._ended = not self._step()

    def _step(self) -> bool:
        """Take a step; False if the search ends with it."""
        gradient, hessian = self._model.derivatives(self._v)
        near = self._curvature.at(self._x, self._v, gradient, hessian)
        if near is None:
            return False
        step = self._trials(near)
        if step is None:
            return False
        gain = self.value - step.value
        self._x, self._v, self.value = step.x, step.y, step.value
        self.best = Minimum(step.x, step.value)
        edge = step.pull > 0 and step.length > c.DESCENT_EDGE * self._radius
        exact = False
        if step.exact and self._model.is_quadratic and (edge or step.pull == 0):
            exact = near.exact(step.pull, self._damping)
            self.certain = exact or (edge and near.convex(step.pull))
        self.pull = step.pull if edge else step.pull / c.DESCENT_RELAX
        damped = self._damping > c.DESCENT_UNDAMPED * near.top
        self._damping = self._damping / c.DESCENT_RELAX if damped else 0.0
        enough = c.DESCENT_ENOUGH_AT_EDGE if edge else c.DESCENT_ENOUGH
        return not exact and gain > enough * (self._first - self.value)

    def _trials(self, near: Approximation) -> _Trial | None:
        """Change pull and damping until the step is short enough and lowers the model."""
        radius = self._radius
        inside: _Trial | None = None
        outside: list[tuple[float, float]] = []
        if self._many and self.pull == 0:
            length = near.length(self._damping)
            if length > c.DESCENT_FAR * radius:
                if len(self._x) <= c.WIDE_INTERACTING:  # beyond, a step inside is good enough
                    outside.append((0.0, length))
                self.pull = near.first_pull(radius, self._damping)
        for attempt in range(c.DESCENT_TRIALS if self.best is None else c.DESCENT_FEWER_TRIALS):
            last = self.best is None and inside is None and attempt == c.DESCENT_TRIALS - 1
            trial = self._tried(near.minimum(self.pull, self._damping, thorough=last))
            lowest = self.value - c.DESCENT_ROUNDING * abs(self.value)
            lower = trial is not None and trial.value < lowest
            if inside is not None and not (trial is not None and (trial.length > radius or lower)):
                return inside
            if trial is None and self.pull == 0 and np.isfinite(radius):
                self.pull = near.first_pull(radius, self._damping)
                continue
            if trial is not None and trial.length > radius:
                outside.append((self.pull, trial.length))
            elif trial is not None and lower:
                inside = trial if inside is None or trial.value < inside.value else inside
                if not outside or trial.length > c.DESCENT_NEARLY * radius:
                    return inside
            else:
                if trial is not None and self._short(trial):
                    return None
                self._damping = near.more(self.pull, self._damping)
                continue
            if inside is not None and attempt >= c.DESCENT_ENOUGH_TRIALS:
                return inside
            within = None if inside is None else (inside.pull, inside.length)
            self.pull = near.pull(outside, within, radius, self._damping)
        return inside

    def _tried(self, near: NearbyPoint | None) -> _Trial | None:
        """Return what there is to know about a design, if there is one."""
        if near is None:
            return None
        y = self._curvature.coordinates(near.x)
        length = float(np.sqrt(y @ y))
        value = self._model.value(y) if length <= self._radius else np.inf
        return _Trial(near.x, near.nearest, y, value, length, self.pull)

    def _short(self, trial: _Trial) -> bool:
        """Whether a step is next to nothing of the way so far."""
        step, way = trial.y - self._v, self._v - self._begin
        return float(step @ step) <= c.DESCENT_ENOUGH**2 * float(way @ way)
