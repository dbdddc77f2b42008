r"""lcCMSA-ES: covariance matrix self-adaptation under linear constraints [SBH18].

[SBH18] P. Spettel, H.-G. Beyer, M. Hellwig, A Covariance Matrix Self-Adaptation Evolution Strategy
for Optimization under Linear Constraints, IEEE Transactions on Evolutionary Computation 23(3),
2019, doi:10.1109/TEVC.2018.2871944, arXiv:1806.05845.
[BS08] H.-G. Beyer, B. Sendhoff, Covariance Matrix Adaptation Revisited, PPSN 2008,
doi:10.1007/978-3-540-87700-4_13 (CMSA-ES).

Steps are made in the null space of the equalities, so that these always hold; a candidate that
violates an inequality is projected, and its step and s are those of the projected point. Each
candidate has a step size of its own; the mu best are averaged, their step sizes, too.

==============  ======================================================  ==================
symbol          meaning                                                 name here
==============  ======================================================  ==================
B               basis (n, k) of the null space of the equalities, in    ``basis``
                the coordinates in which the initial C is the identity
sigma_l         step size of a candidate, sigma exp(tau N(0, 1))        ``step_sizes``
s               step / sigma_l in the coordinates B (k,)                ``s``
C, S            mean of s s^T (k, k), and its root that is sampled      ``spread``, ``root``
tau, tau_c      rates of sigma_l and of C                               same
==============  ======================================================  ==================

What is certain, from the abstract and from the program that the authors publish beside it: the
update of mean, sigma and C, tau = 1/sqrt(2 k), tau_c = 1 + k (k - 1)/(2 mu) ([BS08] has k + 1),
lambda = 4 n, mu = lambda/4, S renewed every min(tau_c, k/2) generations, with determinant 1 and a
condition of C of at most 1e12. What is ours: [SBH18] turns inequalities into equalities with
nonnegative slacks and mutates and projects those along (l1, l2, or towards random reference
points, as the authors' scripts do); here are no slacks, B is a basis for the design variables, and
the projection is the nearest point in the plain Euclidean metric of the variables. Factors on rows
so change nothing; units of the variables do. C begins as that of the run, S is the symmetric root.
lambda is 4 n where CMA-ES has its default, and grows with it in restarts and with the number of
parallel calls; a ``population_size`` that is given is taken as it is. The mean is not simulated.
The program caps sigma (``sigmaMax``); here the tests of the step size end such a restart. If all
calls of a generation fail, nothing is learned from it: mean, sigma and C would walk at random. The
stopping tests are those of all handlers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from archeng.distribution import Distribution, Floats, symmetric_root
from archeng.errors import SettingsError
from archeng.handlers.base import (
    Handler,
    HandlerParts,
    Population,
    Search,
    last_if_undefined,
)
from archeng.outcomes import Outcomes, PastCalls
from archeng.repair import Repair
from archeng.strategy import default_population_size, with_factor

LAMBDA_PER_N, PARENTS = 4, 0.25  # lambda = 4 n, mu = lambda / 4
_CONDITION = 1e12  # largest one of C
_INDEPENDENT = 1e-10  # part of a row that no earlier row has, relative to its length


@dataclass(frozen=True, eq=False)
class LinearSearch(Search):
    """The search with what self-adaptation remembers."""

    basis: Floats  # (n, k)
    spread: Floats  # C (k, k)
    step_sizes: Floats  # of the candidates that are being simulated


class LinearSelfAdaptation(Handler[LinearSearch]):
    """The lcCMSA-ES as a handler, for models with linear rows only."""

    state_type = LinearSearch

    def __init__(self, parts: HandlerParts) -> None:
        super().__init__(parts)
        fs, self._size_is_given = self._set, parts.population_size is not None
        if not fs.is_linear:
            row = fs.rows[fs.m - fs.n_nonlinear]
            raise SettingsError(
                f"handler={self._settings.handler!r} handles linear constraints only, but the "
                f'model has the nonlinear constraint {row}; use "arch".'
            )

    def init(self, distribution: Distribution, anchor: Floats, size: int | None) -> LinearSearch:
        """Start a restart at a feasible point, with lambda = 4 n where CMA-ES has its default.

        A population size of the user is kept, and so are those of restarts that follow from it.
        """
        n, usual = distribution.n, default_population_size(distribution.n)
        if not self._size_is_given or size is None:
            size = round(LAMBDA_PER_N * n * (usual if size is None else size) / usual)
        return super().init(distribution, anchor, size)

    def _memory(self, distribution: Distribution) -> dict[str, Any]:
        rows = self._set.constant_jacobian[self._set.equality[: len(self._set.constant_jacobian)]]
        basis = null_space(rows @ distribution.factor)
        return {"basis": basis, "spread": np.eye(basis.shape[1]), "step_sizes": np.zeros(0)}

    def ask(
        self, search: LinearSearch, rng: np.random.Generator, past: PastCalls
    ) -> tuple[LinearSearch, Population]:
        """Sample in the null space, each with a step size of its own, and project."""
        d, k = search.distribution, search.basis.shape[1]
        z = rng.standard_normal((search.population_size, k + 1))
        step_sizes = d.sigma * np.exp(z[:, 0] / math.sqrt(2 * max(k, 1)))
        x = d.mean + step_sizes[:, None] * d.steps(z[:, 1:] @ search.basis.T)
        plain = Distribution(d.mean, d.sigma, np.eye(d.n), np.eye(d.n))
        none = np.zeros(0, dtype=np.intp)
        repairs = tuple(
            self._repairer.project(point, plain, none, np.zeros(0), search.anchor) for point in x
        )
        return replace(search, step_sizes=step_sizes), Population(x, repairs)

    def tell(
        self,
        search: LinearSearch,
        population: Population,
        outcomes: Outcomes,
        past: PastCalls,
        rng: np.random.Generator,
    ) -> LinearSearch:
        """Average the mu best: points as projected, step sizes, and s s^T.

        DEVIATION: sigma has no cap, and all calls may fail (see docs, deviations).
        """
        d, B = search.distribution, search.basis
        mu = max(int(PARENTS * search.population_size), 1)
        f = last_if_undefined(outcomes.objectives)
        if not np.any(np.isfinite(f)):
            state = replace(search.state, generation=search.state.generation + 1)
            return replace(search, state=state)
        best = np.argsort(f, kind="stable")[:mu]
        sizes, repairs = search.step_sizes[best], [population.repairs[i] for i in best]
        steps = np.array([r.x for r in repairs]) - d.mean
        s = (steps / sizes[:, None]) @ search.state.reference.T @ B
        spread = updated_spread(search.spread, s)
        factor = d.factor
        if search.state.generation % renewal(B.shape[1], mu) == 0:
            root = normalised_root(spread)
            spread = root @ root.T
            factor = np.linalg.inv(search.state.reference) @ (
                np.eye(d.n) + B @ (root - np.eye(B.shape[1])) @ B.T
            )
        state = replace(
            search.state,
            distribution=replace(d, mean=d.mean + steps.mean(axis=0), sigma=float(sizes.mean())),
            generation=search.state.generation + 1,
        )
        anchor = _feasible(repairs, search.anchor)
        return replace(search, state=with_factor(state, factor), spread=spread, anchor=anchor)


def _feasible(repairs: list[Repair], otherwise: Floats) -> Floats:
    """Return the first point that is feasible."""
    return next((r.x for r in repairs if r.feasible), otherwise)


def null_space(rows: Floats) -> Floats:
    """Return an orthonormal basis (n, k) of what rows (p, n) map to zero.

    It changes little if the rows do, and not if they get other factors: the same seed then makes
    the same steps.
    """
    n = rows.shape[1]
    independent = np.zeros((0, n))
    for row in rows:
        rest = row.copy()
        for _ in range(2):  # once more, for rounding
            rest -= independent.T @ (independent @ rest)
        if np.linalg.norm(rest) > _INDEPENDENT * np.linalg.norm(row):
            independent = np.vstack((independent, rest / np.linalg.norm(rest)))
    q, _ = np.linalg.qr(independent.T, mode="complete")
    return np.asarray(q[:, len(independent) :], dtype=float)


def tau_c(k: int, mu: int) -> float:
    """Return the number of generations over which C is averaged."""
    return 1 + k * (k - 1) / (2 * mu)


def renewal(k: int, mu: int) -> int:
    """Return after how many generations the root of C is renewed."""
    return max(min(int(tau_c(k, mu)), k // 2), 1)


def updated_spread(spread: Floats, s: Floats) -> Floats:
    """Return C (k, k) after the steps s (mu, k) of the best."""
    rate = 1 / tau_c(s.shape[1], len(s))
    return np.asarray((1 - rate) * spread + rate * s.T @ s / len(s), dtype=float)


def normalised_root(spread: Floats) -> Floats:
    """Return the symmetric root of C (k, k), of determinant 1 and bounded condition."""
    k = len(spread)
    if k == 0:
        return spread
    largest = float(np.linalg.eigvalsh(spread)[-1])
    if not largest > 0:
        return np.eye(k)
    _, _, eigenvalues = symmetric_root(spread / largest)
    lifted = spread / largest + max(1 / _CONDITION - eigenvalues[0], 0.0) * np.eye(k)
    root, _, eigenvalues = symmetric_root(lifted)
    return root * float(np.exp(-np.mean(np.log(eigenvalues)) / 2))
