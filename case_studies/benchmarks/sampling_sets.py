"""Feasible sets for measuring how evenly they are sampled, each with an exact uniform sampler.

Where a sampler is not given, uniform points of the box (or of a smaller box that contains the
set) are rejected if they are infeasible.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from archeng import Model
from archeng.model import compile_model
from archeng.sampling.manifold import RowEvaluator
from case_studies import cec2006, engineering

Floats = NDArray[np.float64]
Generator = np.random.Generator
Sampler = Callable[[int, Generator], Floats]


@dataclass(frozen=True, eq=False)
class Case:
    """A model and how to draw uniform points on its feasible set."""

    name: str
    model: Model
    uniform: Sampler


def rejection(model: Model, low: Floats | None = None, high: Floats | None = None) -> Sampler:
    """Return uniform points of the box that are feasible."""
    fs = compile_model(model)
    rows = RowEvaluator(fs)
    box = fs.box()
    lower, upper = box[0] if low is None else low, box[1] if high is None else high

    def sampler(k: int, rng: Generator) -> Floats:
        found: list[Floats] = []
        while sum(map(len, found)) < k:
            x = lower + rng.random((50_000, fs.n)) * (np.asarray(upper) - lower)
            found.append(x[rows.hold(x)])
        return np.concatenate(found)[:k]

    return sampler


def coverage_cases() -> list[Case]:
    """All sets with a uniform sampler."""
    models = [box(2), box(10), cut_box(10), annulus(0.8), two_discs(1.0, 0.5), two_discs(0.2, 0.1)]
    models += [cec2006.problem(name).model for name in ("g08", "g09", "g12", "g24")]
    models += [
        engineering.problem(name).model
        for name in ("spring", "welded_beam", "ten_bar_truss", "cantilever_stepped")
    ]
    crescent = cec2006.problem("g06").model  # (x1 - 6)^2 + (x2 - 5)^2 <= 82.81 bounds it
    return [
        *(Case(m.name, m, rejection(m)) for m in models),
        Case("g06", crescent, rejection(crescent, [13.0, 0.0], [15.1, 10.9])),
        Case("small ball, n = 6", small_ball(6), lambda k, rng: 0.3 * solid_ball(k, 6, rng)),
        Case("small ball, n = 20", small_ball(20), lambda k, rng: 0.3 * solid_ball(k, 20, rng)),
        Case("simplex, n = 30", simplex(30), lambda k, rng: rng.dirichlet(np.ones(31), k)[:, :30]),
        Case("thin ring", annulus(0.99999), lambda k, rng: sphere(k, 2, rng)),
        Case("circle in 3-D", circle(), _circle),
        Case("sphere", spheres(3), lambda k, rng: sphere(k, 3, rng)),
        Case("torus", torus(), _torus),
        Case("mixture, n = 20", mixture(20), lambda k, rng: rng.dirichlet(np.ones(20), k)),
        Case(
            "g03 (sphere, n = 10, x >= 0)",
            cec2006.problem("g03").model,
            lambda k, rng: np.abs(sphere(k, 10, rng)),
        ),
        Case(
            "three spheres, n = 10",
            spheres(4, 3, 3),
            lambda k, rng: np.hstack([sphere(k, m, rng) for m in (4, 3, 3)]),
        ),
    ]


def box(n: int) -> Model:
    """Bounds only."""
    model = Model(f"box, n = {n}")
    model.variable("x", shape=n, lower=0, upper=1)
    return model


def cut_box(n: int) -> Model:
    """Return a box with two linear cuts."""
    model = Model(f"box with cuts, n = {n}")
    x = model.variable("x", shape=n, lower=0, upper=1)
    model.subject_to(ca.sum1(x) <= 0.4 * n)
    model.subject_to(x[0] <= x[1])
    return model


def annulus(inner: float) -> Model:
    """Between two circles."""
    model = Model("annulus")
    x = model.variable("x", shape=2, lower=-1, upper=1)
    model.subject_to(ca.sumsqr(x), lower=inner**2, upper=1)
    return model


def two_discs(a: float, b: float) -> Model:
    """Two discs that do not touch."""
    model = Model(f"two discs, radii {a:g} and {b:g}")
    x = model.variable("x", shape=2, lower=-10, upper=10)
    inside = (ca.sumsqr(x - 5) - a**2, ca.sumsqr(x + 5) - b**2)
    model.subject_to(ca.fmin(*inside) <= 0)
    return model


def small_ball(n: int) -> Model:
    """Return a ball in a box so wide that rejection finds nothing."""
    model = Model(f"small ball, n = {n}")
    x = model.variable("x", shape=n, lower=-1.0, upper=1.5)
    model.subject_to(ca.sumsqr(x) <= 0.09)
    return model


def simplex(n: int) -> Model:
    """Positive variables with a sum of at most one."""
    model = Model(f"simplex, n = {n}")
    x = model.variable("x", shape=n, lower=0, upper=1)
    model.subject_to(ca.sum1(x) <= 1)
    return model


def mixture(n: int) -> Model:
    """Fractions of a mixture."""
    model = Model(f"mixture, n = {n}")
    x = model.variable("x", shape=n, lower=0, upper=1)
    model.subject_to(ca.sum1(x) == 1)
    return model


def circle() -> Model:
    """Return a sphere cut by a plane."""
    model = Model("circle in 3-D")
    x = model.variable("x", shape=3, lower=-3, upper=3)
    model.subject_to(ca.sumsqr(x) == 4)
    model.subject_to(ca.sum1(x) == 1)
    return model


def spheres(*dimensions: int) -> Model:
    """Return unit spheres in consecutive variables."""
    model = Model("spheres")
    x = model.variable("x", shape=sum(dimensions), lower=-1.5, upper=1.5)
    for part in ca.vertsplit(x, [0, *np.cumsum(dimensions).tolist()]):
        model.subject_to(ca.sumsqr(part) == 1)
    return model


def torus(large: float = 1.0, small: float = 0.4) -> Model:
    """One equality of degree four."""
    model = Model("torus")
    x = model.variable("x", shape=3, lower=-1.5, upper=1.5)
    across = x[0] ** 2 + x[1] ** 2
    model.subject_to((across + x[2] ** 2 + large**2 - small**2) ** 2 == 4 * large**2 * across)
    return model


def coupled() -> Model:
    """Ten variables under three coupled nonlinear equalities."""
    model = Model("three coupled equalities, n = 10")
    x = model.variable("x", shape=10, lower=-2, upper=2)
    model.subject_to(ca.sumsqr(x[:5]) == 4, name="sphere")
    model.subject_to(x[5] * x[6] - 5 * x[7] * x[8] * x[0] == 0.5, name="product")
    model.subject_to(x[0] ** 3 + x[9] ** 3 + ca.sin(x[4]) == 1, name="cubic")
    return model


def polytope(n: int, m: int) -> Model:
    """Return a box with m random half-spaces and a fixed sum."""
    rng = np.random.default_rng(0)
    model = Model(f"polytope, n = {n}")
    x = model.variable("x", shape=n, lower=0, upper=1)
    model.subject_to(ca.DM(rng.standard_normal((m, n))) @ x <= 1)
    model.subject_to(ca.sum1(x) == n / 5)
    return model


def sphere(k: int, n: int, rng: Generator) -> Floats:
    """Uniform points on the unit sphere."""
    z = rng.standard_normal((k, n))
    return z / np.linalg.norm(z, axis=1, keepdims=True)


def solid_ball(k: int, n: int, rng: Generator) -> Floats:
    """Uniform points in the unit ball."""
    return sphere(k, n, rng) * rng.random((k, 1)) ** (1 / n)


def _circle(k: int, rng: Generator) -> Floats:
    t = rng.uniform(0, 2 * np.pi, k)[:, None]
    u, v = np.array([1, -1, 0]) / np.sqrt(2), np.array([1, 1, -2]) / np.sqrt(6)
    return 1 / 3 + np.sqrt(4 - 1 / 3) * (np.cos(t) * u + np.sin(t) * v)


def _torus(k: int, rng: Generator, large: float = 1.0, small: float = 0.4) -> Floats:
    t = rng.uniform(0, 2 * np.pi, 4 * k)
    kept = rng.random(4 * k) < (large + small * np.cos(t)) / (large + small)
    t, s = t[kept][:k], rng.uniform(0, 2 * np.pi, k)
    ring = large + small * np.cos(t)
    return np.c_[ring * np.cos(s), ring * np.sin(s), small * np.sin(t)]
