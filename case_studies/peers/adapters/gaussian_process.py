"""Bayesian optimisation on the exact feasible set: a Gaussian process of f, no call outside.

What an experienced user of scikit-learn would write. The constraints are known formulas, so only f
is modelled, and the acquisition is maximised over the exact feasible set.

Set-up. Begins with 2 (n + 1) feasible designs, at most ``FIRST``, from
:func:`archeng.sample_feasible`. The model is scikit-learn's `GaussianProcessRegressor` with a
Matern 5/2 kernel, one length for each variable, and a noise term, on the unit cube. A failed call
counts as the worst value so far. Hyperparameters are fitted again whenever the number of calls has
grown by a fifth, in between only the data change. The next design minimises the lower confidence
bound mu - kappa s [SKKS12 eq. 4], where kappa is 2 and 0 by turns, so that every other call
exploits. The minimiser is SLSQP with exact derivatives of bound and rows, its end repaired, from
the best of many feasible designs, and the best one simulated. Beyond ``MOST`` calls only the best
half and the latest ones are in the model.

[SKKS12] N. Srinivas, A. Krause, S. Kakade, M. Seeger, IEEE Transactions on Information Theory 58
(2012) 3250-3265, doi:10.1109/TIT.2011.2182033.

=============  ==================================================
theta          variance, lengths l (n,) and noise of the kernel
r              distance in units of the lengths
mu, s          mean and standard deviation of the prediction
L, alpha       Cholesky factor of the kernel matrix, its weights
=============  ==================================================
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.linalg import solve_triangular
from scipy.optimize import minimize
from scipy.spatial.distance import cdist
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import ConstantKernel, Matern, WhiteKernel

import archeng
from archeng.blas import one_thread
from archeng.repair import Repairer
from case_studies.peers.adapters.exact_constraints import (
    feasible_starts,
    nearest_feasible,
    unit_scipy_rows,
)
from case_studies.peers.case import Case
from case_studies.peers.recorder import Floats

FIRST = 60
"""Most designs of the beginning."""
POOL = 200
"""Feasible designs among which the minimisations of the bound begin."""
STARTS = 3
"""Minimisations of the bound for each call, one of them at the best design."""
KAPPAS = (2.0, 0.0)
MOST = 300
"""Designs in the model."""
GROWTH = 1.2
"""The hyperparameters are fitted again when the number of calls has grown by this factor."""
NEAR = 1e-7
"""A proposal closer than this to a design of the model is replaced by one of the pool."""


@dataclass
class _Model:
    """A fitted process on the unit cube, with the derivatives that scikit-learn does not give."""

    u: Floats
    variance: float
    lengths: Floats
    factor: Floats
    alpha: Floats

    def bounds(self, points: Floats, kappa: float) -> Floats:
        """Lower confidence bounds (k,) at points (k, n)."""
        r = math.sqrt(5.0) * cdist(points / self.lengths, self.u / self.lengths)
        k = self.variance * np.exp(-r) * (1 + r + r**2 / 3)
        v = solve_triangular(self.factor, k.T, lower=True)
        s = np.sqrt(np.maximum(self.variance - (v**2).sum(axis=0), 1e-14))
        return np.asarray(k @ self.alpha - kappa * s)

    def bound(self, u: Floats, kappa: float) -> tuple[float, Floats]:
        """Lower confidence bound at a point (n,) and its gradient (n,), in units of the data."""
        difference = (u - self.u) / self.lengths
        r = math.sqrt(5.0) * np.linalg.norm(difference, axis=1)
        decay = self.variance * np.exp(-r)
        k = decay * (1 + r + r**2 / 3)
        slopes = -(5.0 / 3.0) * (decay * (1 + r))[:, None] * difference / self.lengths
        v = solve_triangular(self.factor, k, lower=True)
        s = math.sqrt(max(self.variance - float(v @ v), 1e-14))
        back = solve_triangular(self.factor.T, v, lower=False)
        gradient = slopes.T @ self.alpha + kappa * (slopes.T @ back) / s
        return float(k @ self.alpha) - kappa * s, gradient


class _Search:
    """The data, the kernel, and what is called next."""

    def __init__(self, case: Case) -> None:
        self._case, self._rows = case, unit_scipy_rows(case)
        self._repairer = Repairer(case.feasible_set)
        self._u: list[Floats] = []
        self._f: list[float] = []
        self._fitted = 0
        lengths = Matern(np.full(case.n, 0.5), (1e-2, 1e2), nu=2.5)
        self._kernel = ConstantKernel(1.0, (1e-3, 1e4)) * lengths + WhiteKernel(1e-6, (1e-10, 1e-1))
        designs = archeng.sample_feasible(case.model, POOL, seed=case.new_seed()).x
        free = np.array([case.feasible_set.reduce(x) for x in designs])
        self._pool = np.clip((free - case.lower) / case.width, 0.0, 1.0)

    def call(self, u: Floats) -> None:
        """Simulate a point of the unit cube."""
        self._f.append(self._case.objective.finite(self._case.from_unit(u)))
        self._u.append(u)

    def begin(self) -> None:
        """Simulate the first designs."""
        for u in self._pool[: min(2 * (self._case.n + 1), FIRST)]:
            self.call(u)

    def step(self, kappa: float) -> None:
        """Simulate the design with the least bound."""
        model = self._model()
        incumbent = self._u[int(np.argmin(self._f))]
        shrunk = incumbent + self._case.rng.uniform() * (self._pool - incumbent)
        pool = np.concatenate((self._pool, shrunk[[self._feasible(u) for u in shrunk]]))
        order = np.argsort(model.bounds(pool, kappa))
        starts = [incumbent, *pool[order[: STARTS - 1]]]
        ends = [end for end in (self._minimise(model, u, kappa) for u in starts) if end is not None]
        ends = [u for u in ends if np.abs(model.u - u).max(axis=1).min() > NEAR]
        best = min(ends, key=lambda u: model.bound(u, kappa)[0], default=pool[order[0]])
        if np.abs(model.u - best).max(axis=1).min() <= NEAR:
            best = pool[self._case.rng.integers(len(pool))]
        self.call(best)

    def _minimise(self, model: _Model, u: Floats, kappa: float) -> Floats | None:
        end = minimize(
            model.bound,
            u,
            args=(kappa,),
            jac=True,
            method="SLSQP",
            bounds=[(0.0, 1.0)] * self._case.n,
            constraints=self._rows,
            options={"maxiter": 50, "ftol": 1e-10},
        )
        x = nearest_feasible(self._case, self._repairer, self._case.from_unit(np.clip(end.x, 0, 1)))
        return None if x is None else np.clip(self._case.to_unit(x), 0.0, 1.0)

    def _feasible(self, u: Floats) -> bool:
        return self._case.objective.allows(self._case.from_unit(u))

    def _model(self) -> _Model:
        u, f = np.array(self._u), np.array(self._f)
        if len(f) > MOST:
            kept = np.union1d(np.argsort(f)[: MOST // 2], np.arange(len(f))[-MOST // 2 :])
            u, f = u[kept], f[kept]
        z = (f - f.mean()) / (f.std() or 1.0)
        again = len(self._f) >= GROWTH * self._fitted
        process = GaussianProcessRegressor(
            self._kernel, alpha=1e-10, optimizer="fmin_l_bfgs_b" if again else None
        ).fit(u, z)
        if again:
            self._kernel, self._fitted = process.kernel_, len(self._f)
        product = process.kernel_.k1
        return _Model(
            u=u,
            variance=float(product.k1.constant_value),
            lengths=np.broadcast_to(product.k2.length_scale, (self._case.n,)),
            factor=process.L_,
            alpha=process.alpha_.ravel(),
        )


def solve(case: Case) -> None:
    """Run until the recorder stops it; without feasible designs from points of the box."""
    try:
        search = _Search(case)
    except archeng.ArchengError:
        for x in feasible_starts(case):
            case.objective(x)
    with one_thread:  # its matrices are small
        search.begin()
        while True:
            for kappa in KAPPAS:
                search.step(kappa)
