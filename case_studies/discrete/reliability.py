"""Redundancy allocation: how many components of which reliability, within volume, cost, weight.

The objective is the unreliability, 1 minus the reliability of the system: with the reliability
itself a relative accuracy of 1e-4 would be no task.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import casadi as ca
import numpy as np

from archeng import Model
from case_studies.discrete.definition import NONE, Definition, real, whole

HIGHEST = 1 - 1e-6
"""Of a component's reliability."""

Failing = Callable[[Any], Any]
"""The unreliability of a system, from those of its stages."""


@dataclass(frozen=True)
class System:
    """Data of a system of stages, with the symbols of the literature.

    Attributes
    ----------
    alpha, volumes, weights : tuple
        Of each stage: cost factor, volume times weight factor, weight.
    limits : tuple
        Most volume, cost and weight.
    failing : callable
    """

    alpha: tuple[float, ...]
    volumes: tuple[float, ...]
    weights: tuple[float, ...]
    limits: tuple[float, float, float]
    failing: Failing


def _build(name: str, system: System) -> Model:
    model = Model(name)
    k = len(system.alpha)
    n = model.integer("components", lower=1, upper=10, shape=k)
    r = model.variable("reliability", lower=0.5, upper=HIGHEST, shape=k)
    spread = n + ca.exp(n / 4)
    price = ca.DM(system.alpha) * (-1000 / ca.log(r)) ** 1.5
    volume, cost, weight = system.limits
    model.subject_to(ca.dot(ca.DM(system.volumes), n**2) <= volume, name="volume")
    model.subject_to(ca.dot(price, spread) <= cost, name="cost")
    model.subject_to(ca.dot(ca.DM(system.weights), n * ca.exp(n / 4)) <= weight, name="weight")
    return model


def _limits(system: System, x: Any, m: Any) -> list[Any]:
    k = len(system.alpha)
    n, r = x[:k], x[k:]
    volume = sum(system.volumes[i] * n[i] ** 2 for i in range(k))
    weight = sum(system.weights[i] * n[i] * m.exp(0.25 * n[i]) for i in range(k))
    cost = sum(
        system.alpha[i] * 1000**1.5 / (-m.log(r[i])) ** 1.5 * (n[i] + m.exp(0.25 * n[i]))
        for i in range(k)
    )
    values = (volume, cost, weight)
    return [(v, -NONE, limit) for v, limit in zip(values, system.limits, strict=True)]


def _unreliability(system: System, x: Any, m: Any) -> Any:
    k = len(system.alpha)
    return system.failing([m.exp(x[i] * m.log(1.0 - x[k + i])) for i in range(k)])


def _in_series(q: Any) -> Any:
    working = 1.0
    for stage in q:
        working = working * (1.0 - stage)
    return 1.0 - working


def _series_parallel(q: Any) -> Any:
    """Two stages in series beside a pair in parallel that is followed by the fifth."""
    upper = 1.0 - (1.0 - q[0]) * (1.0 - q[1])
    lower = 1.0 - (1.0 - q[2] * q[3]) * (1.0 - q[4])
    return upper * lower


def _bridge(q: Any) -> Any:
    """Paths 1-2 and 3-4 with the fifth stage as the bridge between them."""
    with_bridge = (1.0 - q[0] * q[2]) * (1.0 - q[1] * q[3])
    without = 1.0 - (1.0 - (1.0 - q[0]) * (1.0 - q[1])) * (1.0 - (1.0 - q[2]) * (1.0 - q[3]))
    return 1.0 - (1.0 - q[4]) * with_bridge - q[4] * without


_FIVE = {
    "alpha": tuple(1e-5 * np.array([2.33, 1.45, 0.541, 8.05, 1.95])),
    "volumes": (1.0, 2.0, 3.0, 4.0, 2.0),
    "weights": (7.0, 8.0, 8.0, 6.0, 9.0),
    "limits": (110.0, 175.0, 200.0),
}
SYSTEMS: dict[str, tuple[str, System]] = {
    "overspeed_protection": (
        "Overspeed protection of a gas turbine, four stages",
        System(
            alpha=(1.0e-5, 2.3e-5, 0.3e-5, 2.3e-5),
            volumes=(1.0, 2.0, 3.0, 2.0),
            weights=(6.0, 6.0, 8.0, 7.0),
            limits=(250.0, 400.0, 500.0),
            failing=_in_series,
        ),
    ),
    "series_system": ("Five stages in series", System(**_FIVE, failing=_in_series)),
    "series_parallel": (
        "Five stages, in series and in parallel",
        System(
            alpha=tuple(1e-5 * np.array([2.5, 1.45, 0.541, 0.541, 2.1])),
            volumes=(2.0, 4.0, 5.0, 8.0, 4.0),
            weights=(3.5, 4.0, 4.0, 3.5, 4.5),
            limits=(180.0, 175.0, 100.0),
            failing=_series_parallel,
        ),
    ),
    "bridge_system": ("Five stages as a bridge", System(**_FIVE, failing=_bridge)),
}
"""Titles and data by name."""

DEFINITIONS: dict[str, Definition] = {
    name: Definition(
        title=title,
        family="reliability",
        build=partial(_build, title, system),
        space=(
            *(whole(1, 10),) * len(system.alpha),
            *(real(0.5, HIGHEST),) * len(system.alpha),
        ),
        objective=partial(_unreliability, system),
        limits=partial(_limits, system),
    )
    for name, (title, system) in SYSTEMS.items()
}
"""Definition of each problem of this module."""
