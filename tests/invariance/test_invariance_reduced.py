"""Searches in independent variables move with affine maps of them, and not with those of rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import casadi as ca
import numpy as np
import pytest
from invariance_helpers import compare, play
from structure_models import CASES, Case, Vector

import archeng
from archeng import Model, Settings
from archeng.distribution import Distribution
from archeng.model import FeasibleSet, compile_model

Rewritten = Callable[[Any, float, float], tuple[Any, float, float]]


def as_written(value: Any, low: float, high: float) -> tuple[Any, float, float]:
    return value, low, high


def exponential(value: Any, low: float, high: float) -> tuple[Any, float, float]:
    """Return the row under v -> exp(v / size), an increasing map."""
    size = max(abs(x) for x in (low, high) if np.isfinite(x))
    return ca.exp(value / size), float(np.exp(low / size)), float(np.exp(high / size))


def cubic(value: Any, low: float, high: float) -> tuple[Any, float, float]:
    """Return the row under v -> 7 v^3 + v, an increasing map."""
    return 7 * value**3 + value, 7 * low**3 + low, 7 * high**3 + high


class Moved:
    """A case whose independents are y = A u + t, one vector."""

    def __init__(
        self, name: str, A: Vector | None = None, t: Vector | None = None,
        rewritten: Rewritten = as_written,
    ) -> None:  # fmt: skip
        self.case: Case = CASES[name]
        own, spread = self.case.independent, self.case.quantities
        n = len(own)
        self.A = np.eye(n) if A is None else A
        self.t = np.zeros(n) if t is None else t
        self.inverse = np.linalg.inv(self.A)
        self.first = np.array([spread[k].start for k in own], dtype=float)
        self.model = Model(name)
        y = self.model.variable(
            "y", shape=n, start=self.A @ self.first + self.t, scale=np.abs(self.A).max(axis=1)
        )
        back = ca.DM(self.inverse) @ (y - ca.DM(self.t))
        v: dict[str, Any] = {k: back[i] for i, k in enumerate(own)}
        for key, q in spread.items():
            if key not in own:
                v[key] = self.model.variable(
                    key, shape=q.size or (), lower=q.lower, upper=q.upper, start=q.start,
                    scale=q.scale,
                )  # fmt: skip
        for i, k in enumerate(own):
            self.model.subject_to(
                back[i], lower=spread[k].lower, upper=spread[k].upper, name=f"range of {k}"
            )
        written = self.case.formulas(v, ca)
        for key, residual in written.equations.items():
            self.model.subject_to(residual == 0, name=key)
        for key, (value, low, high) in written.limits.items():
            expression, least, most = rewritten(value, low, high)
            self.model.subject_to(expression, lower=least, upper=most, name=key)
        self.model.independent(y)

    def compiled(self) -> FeasibleSet:
        fs = compile_model(self.model)
        assert fs.dependents is not None
        assert fs.free_names == tuple(f"y[{i}]" for i in range(fs.n))
        return fs

    def cost(self, full: Vector) -> float:
        """Cost of a full vector of the moved model."""
        n, own = len(self.t), self.case.independent
        v: Mapping[str, Any] = dict(zip(own, self.inverse @ (full[:n] - self.t), strict=True))
        rest, first = {}, n
        for key, q in self.case.quantities.items():
            if key not in own:
                rest[key] = full[first : first + q.size] if q.size else full[first]
                first += q.size or 1
        return float(self.case.formulas({**v, **rest}, np).cost)

    def played(self, seed: int, generations: int = 8) -> list[Any]:
        fs = self.compiled()
        rng = np.random.default_rng(30)
        width = np.array([self.scale_of(k) for k in self.case.independent])
        F = np.diag(width) @ (np.eye(fs.n) + 0.3 * rng.standard_normal((fs.n, fs.n)))
        d = Distribution(
            self.A @ self.first + self.t, 0.15, self.A @ F, np.linalg.inv(F) @ self.inverse
        )
        return play(
            fs, lambda y: self.cost(fs.expand(np.asarray(y))), d, np.random.default_rng(seed),
            generations,
        )  # fmt: skip

    def scale_of(self, name: str) -> float:
        q = self.case.quantities[name]
        return q.upper - q.lower


def random_map(n: int, seed: int, condition: float) -> Vector:
    rng = np.random.default_rng(seed)
    u, _ = np.linalg.qr(rng.standard_normal((n, n)))
    v, _ = np.linalg.qr(rng.standard_normal((n, n)))
    return np.asarray((u * condition ** np.linspace(0, 1, n)) @ v)


@pytest.mark.parametrize("name", ["tanks", "grid"])
@pytest.mark.parametrize("seed", [0, 1])
def test_a_search_moves_with_affine_maps_of_the_independents(name: str, seed: int) -> None:
    n = len(CASES[name].independent)
    A, t = random_map(n, seed, 30.0), np.random.default_rng(seed).standard_normal(n)
    one = Moved(name).played(seed)
    compare(one, Moved(name, A, t).played(seed), A, t)
    kinds = {k for p in one for k in p.kinds}
    assert kinds & {"nearest", "intersection"}  # there was something to repair
    assert "failed" not in kinds


@pytest.mark.parametrize("name", ["tanks", "grid"])
def test_a_search_moves_with_units_of_the_independents(name: str) -> None:
    n = len(CASES[name].independent)
    A = np.diag(10.0 ** np.linspace(-3, 4, n))
    compare(Moved(name).played(3), Moved(name, A).played(3), A)


@pytest.mark.parametrize("name", ["tanks", "grid"])
@pytest.mark.parametrize("rewritten", [exponential, cubic])
def test_increasing_maps_of_inequalities_do_not_change_a_search(
    name: str, rewritten: Rewritten
) -> None:
    one = Moved(name).played(4)
    compare(one, Moved(name, rewritten=rewritten).played(4))
    assert any(p.n_active for p in one)


# ----- through the public interface ----------------------------------------------------------


def scaled(name: str, units: Vector, shift: Vector) -> Model:
    """The case with named independents a u + b, with bounds, starts and equations to match."""
    case, model = CASES[name], Model(name)
    own = list(case.independent)
    v: dict[str, Any] = {}
    for key, q in case.quantities.items():
        a, b = (units[own.index(key)], shift[own.index(key)]) if key in own else (1.0, 0.0)
        symbol = model.variable(
            key, shape=q.size or (), lower=a * q.lower + b, upper=a * q.upper + b,
            start=None if q.start is None else a * q.start + b, scale=q.scale,
        )  # fmt: skip
        v[key] = (symbol - b) / a if key in own else symbol
    written = case.formulas(v, ca)
    for key, residual in written.equations.items():
        model.subject_to(residual == 0, name=key)
    for key, (value, low, high) in written.limits.items():
        model.subject_to(value, lower=low, upper=high, name=key)
    model.independent(*own)
    return model


@pytest.mark.parametrize("surrogate", ["none", "auto"])
@pytest.mark.parametrize("name", ["tanks", "grid"])
def test_units_of_independents_do_not_change_a_run(name: str, surrogate: Any) -> None:
    case = CASES[name]
    n = len(case.independent)
    units, shift = 10.0 ** np.linspace(-2, 3, n), np.linspace(-1, 2, n)
    places = [case.names.index(k) for k in case.independent]
    calls = 24
    a, b = np.ones(len(case.names)), np.zeros(len(case.names))
    a[places], b[places] = units, shift
    options: dict[str, Any] = {
        "seed": 1, "max_evaluations": calls,
        "settings": Settings(surrogate=surrogate, stop_tests=False),
    }  # fmt: skip
    one = archeng.solve(
        scaled(name, np.ones(n), np.zeros(n)), lambda d: case.cost(np.array(d.x)), **options
    )
    two = archeng.solve(
        scaled(name, units, shift), lambda d: case.cost((np.array(d.x) - b) / a), **options
    )
    deviation = np.std([e.x for e in one.evaluations], axis=0)
    assert np.all(deviation[places] > 0)
    assert len(one.evaluations) == len(two.evaluations) == calls
    for e, f in zip(one.evaluations, two.evaluations, strict=True):
        assert e.repair_kind == f.repair_kind
        assert np.all(np.abs((f.x - b) / a - e.x) <= 1e-5 * deviation + 1e-12)
