"""The 54 functions of bbob-constrained from their definitions [1]_, and CasADi models of them.

All is built around z = 0, the optimum: the objective of z has its gradient there, one linear row
its negative, further active rows random gradients, and half as many again are moved away. Then
space is bent, z = T(x - x_opt), for the objective and for the rows alike; ill-conditioned and
multimodal objectives have T, the others have z = x - x_opt. An instance has random numbers by
documented generators (`generators`), so nothing is read off COCO's program.

==============  =========  =================================================================
code            symbol     meaning
==============  =========  =================================================================
``x``           x (n,)     design
``z``           z (n,)     bent design, 0 at the optimum
``optimum``     x_opt      design of the constrained optimum
``centre``      z_c        optimum of the objective without constraints
``R``, ``y``    R (n, n)   rotation of the objective, y = R (z - z_c); Rastrigin y = R z - z_c
``A``, ``b``    a_j, b_j   rows a_j z <= b_j; b_j = 0 if active
``p``           p (n,)     feasible direction, the gradient of the objective at z = 0
``_oscillated`` T_osz      z exp(0.049 (sin c1 l + sin c2 l)), l = 10 log |z|
``_stretched``  T_asy      z^(1 + beta i / (n - 1) sqrt z) where z > 0
==============  =========  =================================================================

References
----------
.. [1] P. Dufossé, N. Hansen, D. Brockhoff, A. Auger, et al. Building scalable test problems for
   benchmarking constrained optimizers (COCO documentation, suite bbob-constrained), 2022,
   https://numbbo.github.io/coco-doc/bbob-constrained/.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import casadi as ca
import numpy as np

from archeng.model import Model
from case_studies.bbob_constrained.generators import (
    Floats,
    fibonacci,
    normal,
    polar,
    rotation,
    uniform,
)

FUNCTIONS = range(1, 55)
DIMENSIONS = (2, 3, 5, 10, 20, 40)
INSTANCES = range(1, 16)
KINDS = (
    "sphere",
    "ellipsoid",
    "linear slope",
    "rotated ellipsoid",
    "discus",
    "bent cigar",
    "different powers",
    "Rastrigin",
    "rotated Rastrigin",
)
MULTIMODAL = ("Rastrigin", "rotated Rastrigin")
SEPARABLE = ("sphere", "ellipsoid", "Rastrigin")
OBJECTIVES_ROWS = 6
"""Numbers of rows for each kind."""

SCALES = (10.0, 1e-4, 10.0, 1e-4, 1e-4, 1e-4, 1e2, 10.0, 10.0)
"""The objective times this, by kind."""

OSCILLATES = (1, 3, 4, 7, 8)
"""Kinds (from 0) bent by T_osz."""

BENDS = (5, 7, 8)
"""Kinds bent by T_asy."""

BETA = 0.2
ALPHA, HEIGHT = 0.1, 0.49
FREQUENCIES = ((1.0, 0.55), (0.79, 0.31))
"""c1 and c2 of T_osz, for positive and for negative z."""

WAVE = 10.0
"""Height of Rastrigin's waves."""

CONDITION = 1e6
SLOPE = 10.0
"""The steepest slope of the linear function over the least."""

LIMIT = 5.0
"""Half the width of the box."""

NEAR = 1e-2
"""Distance of the centre of `different powers` from 0."""

SHRINK, SHRINK_SEED = 0.75, 412
"""The feasible direction ends between this share of the way to the box and the box itself."""

ROW_SCALE, INSTANCE_STEP, ROW_STEP, CENTRE_STEP = 100.0, 10000, 50000, 20000
ROTATION_SEED = 1000000
NEAREST, SPREAD = 0.01, 2.0
"""Inactive rows are moved away by between NEAREST and NEAREST + SPREAD."""

REACH, ROUNDING = 20.0, 1e-14
"""Of the bisection for the start: its first half width, and its last width."""

LEAST = 1e-300
"""The logarithm of T_osz is of this where |z| is smaller: T_osz(0) = 0 without 0 times infinity."""


@dataclass(frozen=True, eq=False)
class Definition:
    """One instance.

    Attributes
    ----------
    function, n, instance : int
    kind : str
        Of the objective.
    optimum : ndarray, shape (n,)
    f_opt : float
        The objective there.
    A : ndarray, shape (m, n)
    b : ndarray, shape (m,)
        Rows A z <= b.
    start : ndarray, shape (n,)
        COCO's feasible design to start from.
    x, f, g : casadi.SX
        The design (n,), the objective and the rows (m,) as formulas of it: g <= 0 is feasible.
    of_z : casadi.Function
        The objective before space is bent: of z (n,), of the design itself for the linear slope.
    bend : casadi.Function
        z (n,) of a design.
    """

    function: int
    n: int
    instance: int
    kind: str
    optimum: Floats
    f_opt: float
    A: Floats
    b: Floats
    start: Floats
    x: ca.SX
    f: ca.SX
    g: ca.SX
    of_z: ca.Function
    bend: ca.Function

    @property
    def name(self) -> str:
        """Return COCO's name of it."""
        return f"f{self.function:03d}_i{self.instance:02d}_d{self.n:02d}"

    @cached_property
    def objective(self) -> Callable[[Any], float]:
        """Return the objective as a function of a design (n,)."""
        compiled = ca.Function("f", [self.x], [self.f])
        return lambda x: float(compiled(x))

    @cached_property
    def rows(self) -> Callable[[Any], Floats]:
        """Return the rows (m,) as a function of a design (n,)."""
        compiled = ca.Function("g", [self.x], [self.g])
        return lambda x: compiled(x).full().ravel()

    def model(self) -> Model:
        """Return variables, box and rows; the objective is left to the simulator."""
        model = Model(self.name)
        x = model.variable("x", lower=-LIMIT, upper=LIMIT, shape=self.n)
        model.subject_to(ca.substitute(self.g, self.x, x), upper=0.0, name="row")
        return model


@lru_cache(maxsize=8)
def definition(function: int, n: int, instance: int) -> Definition:
    """Return an instance of a function."""
    index = (function - 1) // OBJECTIVES_ROWS
    optimum = _optimum(n, function + INSTANCE_STEP * instance)
    seed = function + CENTRE_STEP * instance
    x = ca.SX.sym("x", n)
    z = _bent(index, x - optimum)
    raw, gradient = _objective(KINDS[index], x, seed)
    of_z = ca.Function("f", [x], [SCALES[index] * (raw + _offset(function, instance))])
    f = of_z(x if KINDS[index] == "linear slope" else z)
    p = _feasible_direction(gradient, optimum, seed)
    A, b = _rows(function, instance, p)
    bend = ca.Function("z", [x], [z])
    start = _start(bend, p, optimum)
    g = ca.mtimes(ca.DM(A), z) - b
    f_opt = float(ca.Function("f", [x], [f])(optimum))
    kind = KINDS[index]
    return Definition(function, n, instance, kind, optimum, f_opt, A, b, start, x, f, g, of_z, bend)


def active_rows(function: int, n: int) -> int:
    """Return how many rows are active at the optimum; half as many again are not."""
    return (1, 2, 6, 6 + n // 2, 6 + n, 6 + 3 * n)[(function - 1) % OBJECTIVES_ROWS]


def _bent(index: int, z: ca.SX) -> ca.SX:
    n = z.shape[0]
    entries = ca.vertsplit(z)
    if index in OSCILLATES:
        entries = [_oscillated(v) for v in entries]
    if index in BENDS:
        entries = [_stretched(v, BETA * i / (n - 1)) for i, v in enumerate(entries)]
    return ca.vertcat(*entries)


def _oscillated(v: ca.SX) -> ca.SX:
    log = ca.log(ca.fmax(ca.fabs(v), LEAST)) / ALPHA
    c1, c2 = (ca.if_else(v > 0, *pair) for pair in FREQUENCIES)
    return v * ca.exp(ALPHA * HEIGHT * (ca.sin(c1 * log) + ca.sin(c2 * log)))


def _stretched(v: ca.SX, beta: float) -> ca.SX:
    inside = ca.fmax(v, LEAST)
    return ca.if_else(v > 0, inside ** (1 + beta * ca.sqrt(inside)), v)


def _optimum(n: int, seed: int) -> Floats:
    x = 8 * np.floor(1e4 * uniform(n, seed)) / 1e4 - 4
    return np.where(x == 0, -1e-5, x)


def _offset(function: int, instance: int) -> float:
    """Value added to the objective, to two digits."""
    seed = {4: 3, 18: 17}.get(function, function) + INSTANCE_STEP * instance
    ratio = float(normal(1, seed)[0] / normal(1, seed + 1)[0])
    return float(np.clip(np.floor(100 * 100 * ratio + 0.5) / 100, -1000, 1000))


def _objective(kind: str, z: ca.SX, seed: int) -> tuple[ca.SX, Floats]:
    """Return the raw objective of z and the direction (n,) of its gradient at z = 0."""
    n = z.shape[0]
    steps = np.arange(n) / (n - 1)
    if kind == "linear slope":
        slope = np.where(_optimum(n, seed) > 0, 1, -1) * SLOPE**steps
        return LIMIT * np.abs(slope).sum() - ca.dot(ca.DM(slope), z), -slope
    R = np.eye(n) if kind in SEPARABLE else rotation(n, seed + ROTATION_SEED)
    if kind in MULTIMODAL:
        centre = np.trunc(2 * LIMIT * uniform(n, seed) - LIMIT)
        centre = centre if centre.any() else np.arange(n) % 9 - 4.0
        y = ca.mtimes(ca.DM(R), z) - centre
        waves = WAVE * (n - ca.sum1(ca.cos(2 * np.pi * y)))
        gradient = 2 * (WAVE * np.pi * np.sin(-2 * np.pi * centre) - centre)
        return waves + ca.sumsqr(y), R.T @ gradient
    centre = _optimum(n, seed + (ROTATION_SEED if kind == "bent cigar" else 0))
    if kind == "different powers":
        centre *= NEAR / np.linalg.norm(centre)
    y, y0 = ca.mtimes(ca.DM(R), z - centre), -R @ centre
    if kind == "different powers":
        powers = 2 + 4 * steps
        gradient = powers * np.abs(y0) ** (powers - 1) * np.sign(y0)
        return ca.sqrt(ca.sum1(ca.fabs(y) ** ca.DM(powers))), R.T @ gradient
    weights = {
        "sphere": np.ones(n),
        "discus": np.where(steps == 0, CONDITION, 1.0),
        "bent cigar": np.where(steps == 0, 1.0, CONDITION),
    }.get(kind, CONDITION**steps)
    return ca.dot(ca.DM(weights), y**2), R.T @ (2 * weights * y0)


def _feasible_direction(gradient: Floats, optimum: Floats, seed: int) -> Floats:
    """Return p: the gradient, as long as the box around the optimum allows or somewhat shorter."""
    ratio = np.maximum(gradient / (LIMIT - optimum), gradient / (-LIMIT - optimum)).max()
    share = SHRINK + float(uniform(1, seed + SHRINK_SEED)[0]) * (1 - SHRINK)
    return gradient * share / ratio


def _start(bent: ca.Function, p: Floats, optimum: Floats) -> Floats:
    """Return the design (n,) at z = p; p is halved until that is in the box."""
    while True:
        low, high = np.full_like(p, -REACH), np.full_like(p, REACH)
        while np.any(high - low > ROUNDING):  # T is increasing, entry by entry
            middle = (low + high) / 2
            above = bent(optimum + middle).full().ravel() > p
            low, high = np.where(above, low, middle), np.where(above, middle, high)
        x = optimum + low
        if np.all(np.abs(x) < LIMIT):
            return x
        p = p / 2


def _rows(function: int, instance: int, p: Floats) -> tuple[Floats, Floats]:
    """Return A (m, n) and b (m,), the row that stands against the gradient disguised."""
    n = len(p)
    active = active_rows(function, n)
    inactive = active // 2
    total = active + inactive
    stream, weights = fibonacci(seed := function + INSTANCE_STEP * instance), fibonacci(seed)
    size = ROW_SCALE * 10.0 ** next(stream)
    A, b = np.empty((total, n)), np.zeros(total)
    combination, number, special = np.zeros(n), 1, -1
    for j in range(total):
        shift = 0.0
        if j > 0:
            if number < active and next(stream) > inactive / total:
                number += 1
            else:
                inactive -= 1
                shift = NEAREST + SPREAD * next(stream)
        own = shift == 0 and (number - 1 + instance) % active == 0
        A[j] = _row(seed + ROW_STEP * number, size, n, -p if own else None)
        norm = float(np.linalg.norm(A[j]))
        if A[j] @ p - shift * norm > 0:
            A[j] *= -1
        b[j] = shift * norm
        if own:
            special = j
        elif shift == 0:
            combination += next(weights) * A[j]
    if active > 1:
        A[special] = _disguised(A[special], combination, next(weights))
    return A, b


def _row(seed: int, size: float, n: int, direction: Floats | None) -> Floats:
    """Return a random row (n,), or one in a given direction, with a random length."""
    stream = fibonacci(seed)
    length = size * 100.0 ** next(stream)
    if direction is not None:
        return direction * length / np.linalg.norm(direction)
    return np.array([length * polar(stream) for _ in range(n)]) / np.sqrt(n)


def _disguised(row: Floats, combination: Floats, u: float) -> Floats:
    """Return the row minus a part of the other active rows, as long as before.

    The gradient is still a combination with positive weights, so the optimum stays.
    """
    n, norm = len(row), float(np.linalg.norm(row))
    along = float(combination @ row)
    part = n if along <= 0 else min(n, norm**2 / along)
    new = row - part * (1 + u) / (2 + 1 / n) * combination
    return new * norm / np.linalg.norm(new)
