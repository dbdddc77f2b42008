"""A new kind of model, through the door: one class, one entry in the table of kinds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pytest
from surrogate_helpers import data_of, designs, normalised

import archeng
from archeng.codec import decode, dumps, loads
from archeng.distribution import Floats
from archeng.surrogate import AssistedSearch, choice
from archeng.surrogate.choice import ModelKind, choose
from archeng.surrogate.fit import Kernels


def bends(v: Floats) -> Floats:
    """Straight far away, bent at the centre."""
    return np.sqrt(1 + v**2)


@dataclass(frozen=True, eq=False)
class Hyperbolas:
    """c + g v + sum_i b_i sqrt(1 + v_i^2), with coefficients (1 + 2 n,)."""

    coefficients: Floats
    is_quadratic = False

    def value(self, v: Floats) -> float:
        return float(self.coefficients @ np.concatenate(([1.0], v, bends(v))))

    def derivatives(self, v: Floats) -> tuple[Floats, Floats]:
        g, b = np.split(self.coefficients[1:], 2)
        return g + b * v / bends(v), np.diag(b / bends(v) ** 3)


@dataclass(frozen=True, eq=False)
class HyperbolaFit:
    """By least squares."""

    model: Hyperbolas
    errors: Floats
    noise: float = 0.0
    variances: Floats | None = None

    def random(self, rng: np.random.Generator) -> Hyperbolas:
        spread, coefficients = float(np.std(self.errors)), self.model.coefficients
        return Hyperbolas(coefficients + spread * rng.standard_normal(len(coefficients)))


class HyperbolaKind(ModelKind):
    name = "hyperbola"

    def fit(self, kernels: Kernels, Y: Floats) -> Sequence[HyperbolaFit]:
        basis = np.column_stack((np.ones(len(kernels.A)), kernels.A, bends(kernels.A)))
        inverse = np.linalg.pinv(basis)
        left_out = np.maximum(1 - np.sum(basis * inverse.T, axis=1), 1e-9)
        return [
            HyperbolaFit(Hyperbolas(inverse @ y), (y - basis @ (inverse @ y)) / left_out)
            for y in Y.T
        ]


def test_it_is_chosen_where_it_fits_best(monkeypatch: pytest.MonkeyPatch) -> None:
    A = designs(np.random.default_rng(1), 24, 3)
    curved, y = A[:, 0] * A[:, 1], normalised(bends(A).sum(axis=1))
    monkeypatch.setattr(choice, "KINDS", (*choice.KINDS, HyperbolaKind()))
    best, other = choose(data_of(A, y)), choose(data_of(A, normalised(curved)))
    assert best is not None
    assert other is not None
    assert best.kind.name == "hyperbola" != other.kind.name


def test_a_run_uses_it_and_remembers_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choice, "KINDS", (HyperbolaKind(),))
    model = archeng.Model("toy")
    model.variable("x", shape=2, lower=-1, upper=2)

    def objective(design: archeng.Design) -> float:
        return float(np.sum(bends(2 * (design.x - 0.5))))

    run = archeng.Run(model, objective, seed=1, max_evaluations=40)
    kinds = set()
    while not run.stopped:
        run.step()
        search = run.state.search
        assert isinstance(search, AssistedSearch)
        if search.selection is not None:
            kinds.add(search.selection.kind)
    assert kinds == {"hyperbola"}
    best = run.result()
    assert best.fun == pytest.approx(2.0, rel=1e-3)
    stored = decode(AssistedSearch, loads(dumps(search)))
    assert dumps(stored) == dumps(search)
