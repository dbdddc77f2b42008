r"""CMA-ES: steps 0 to 5 of [SA22 subsec:cmaes, 2.1], one small function per equation.

It knows nothing of constraints: it samples, and it is told an order. Of discrete coordinates it
knows that :mod:`archeng.strategy.discrete` makes them out of its samples, and corrects its mean.

==================  ===============================================  ==================
symbol              meaning                                          name here
==================  ===============================================  ==================
m, sigma, C         search distribution                              ``distribution``
p_sigma, p_c        evolution paths, shape (n,)                      same
gamma_sigma, _c     correction factors of the paths                  same
y_{i:lambda}        steps (x - m) / sigma, best first                ``steps``
<y>_w               weighted mean of the mu best steps               ``mean_step``
h_sigma             stalls p_c while p_sigma is long                 ``h_sigma``
==================  ===============================================  ==================

[SA22] Sakamoto and Akimoto 2022, doi:10.1162/evco_a_00310, arXiv:1811.00764.
[RH08] R. Ros, N. Hansen, A Simple Modification in CMA-ES Achieving Linear Time and Space
Complexity, PPSN X, LNCS 5199, 296-305, 2008, doi:10.1007/978-3-540-87700-4_30.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from archeng.distribution import Distribution, Floats, Integers, symmetric_root
from archeng.model.lattice import Lattice
from archeng.settings import SquareRoot
from archeng.strategy import discrete as mixed
from archeng.strategy.discrete import Discrete
from archeng.strategy.parameters import Parameters

_LEAST_AXIS = 1e-12  # relative to the longest one, where a method narrows C by itself
_MOST_LEARNT = 0.5  # share of a diagonal C that one generation may replace
_MOST_GROWTH = 50.0  # of ln(sigma) in a generation; more than that is a singular C in rounding


@dataclass(frozen=True, eq=False)
class State:
    """What changes each generation.

    ``eigenvalues`` (ascending) and ``axes`` (n, n; rows are unit vectors v, the axis in the
    design space is F v) are those of C relative to the initial C: units of the variables do
    not count as ill-conditioning. ``reference`` is the inverse of the initial factor.

    If the metric is diagonal, ``reference`` is a diagonal (n,), too, ``axes`` has no rows, and the
    eigenvalues are those of the coordinates, ascending.

    If there are discrete coordinates (``discrete``), ``distribution`` is that of the numeric
    ones, and eigenvalues and axes are those of the real ones. ``sampled`` has all coordinates.
    """

    distribution: Distribution
    p_sigma: Floats
    p_c: Floats
    gamma_sigma: float
    gamma_c: float
    eigenvalues: Floats
    axes: Floats
    reference: Floats
    generation: int
    discrete: Discrete | None = None

    @cached_property
    def sampled(self) -> Distribution:
        """The distribution that is sampled, over all coordinates; repairs are measured in it."""
        if self.discrete is None:
            return self.distribution
        return mixed.metric(self.distribution, self.discrete)


def initial_state(distribution: Distribution, lattice: Lattice | None = None) -> State:
    """Step 0: paths and correction factors start at zero; ``lattice`` says what is discrete."""
    discrete, n_real = None, distribution.n
    if lattice is not None:
        distribution, discrete = mixed.initial(distribution, lattice)
        n_real = len(discrete.real)
    d, zero = distribution, np.zeros(distribution.n)
    axes = np.zeros((0, d.n)) if d.factor.ndim == 1 else np.eye(d.n)[:n_real]
    return State(d, zero, zero, 0.0, 0.0, np.ones(n_real), axes, d.inverse_factor, 0, discrete)


def sample(state: State, parameters: Parameters, rng: np.random.Generator) -> Floats:
    """Step 1: candidates (lambda, n) from N(m, sigma^2 C)."""
    d = state.distribution
    z = rng.standard_normal((parameters.population_size, d.n))
    if state.discrete is not None:
        return mixed.joined(d, state.discrete, d.steps(z), rng)
    return d.mean + d.sigma * d.steps(z)


def update(state: State, parameters: Parameters, ordered: Floats, square_root: SquareRoot) -> State:
    """Return the next state (steps 3 to 5) from the candidates (lambda, n), best first."""
    d, discrete, weights = state.distribution, state.discrete, parameters.weights
    best = ordered[: len(weights)]
    if discrete is None:
        return _updated(state, parameters, (best - d.mean) / d.sigma, square_root)
    if d.n:
        state = _updated(state, parameters, mixed.split(d, discrete, best), square_root)
    else:
        state = replace(state, generation=state.generation + 1)
    distribution, discrete = mixed.learned(state.distribution, discrete, best, weights, d.mean)
    return replace(state, distribution=distribution, discrete=discrete)


def _updated(state: State, parameters: Parameters, steps: Floats, square_root: SquareRoot) -> State:
    """Return the next state by the steps (mu, n_num), before corrections of discrete coordinates.

    DEVIATION: the mean moves by sigma A <y>_w, and not by sigma <y>_w (see docs, deviations).
    """
    d, p = state.distribution, parameters
    mean_step = p.weights @ steps
    whitened = d.inverse_factor * mean_step if d.factor.ndim == 1 else d.inverse_factor @ mean_step
    p_sigma = _sigma_path(state.p_sigma, whitened, p)
    gamma_sigma = (1 - p.c_sigma) ** 2 * state.gamma_sigma + p.c_sigma * (2 - p.c_sigma)
    h_sigma = _stall(p_sigma, gamma_sigma, p)
    p_c = (1 - p.c_c) * state.p_c + h_sigma * math.sqrt(p.c_c * (2 - p.c_c) * p.mu_eff) * mean_step
    gamma_c = (1 - p.c_c) ** 2 * state.gamma_c + h_sigma * p.c_c * (2 - p.c_c)
    sigma = d.sigma * _step_size_change(p_sigma, gamma_sigma, p)
    if d.factor.ndim == 1:
        factor = _diagonal_factor(d, steps, p_c, gamma_c, p)
    else:
        factor = _factor(d, steps, p_c, gamma_c, p, square_root)
    move = mean_step if state.discrete is None else state.discrete.spread * mean_step
    moved = replace(
        state,
        distribution=replace(d, mean=d.mean + d.sigma * move, sigma=sigma),
        p_sigma=p_sigma,
        p_c=p_c,
        gamma_sigma=gamma_sigma,
        gamma_c=gamma_c,
        generation=state.generation + 1,
    )
    return with_factor(moved, factor)


def with_factor(state: State, factor: Floats) -> State:
    """Return the state with another factor of C, (n, n) or a diagonal, and what follows from it."""
    if factor.ndim == 1:
        eigenvalues = np.sort((state.reference * factor) ** 2)
        distribution = replace(state.distribution, factor=factor, inverse_factor=1 / factor)
        return replace(state, distribution=distribution, eigenvalues=eigenvalues)
    relative = state.reference @ factor
    real = None if state.discrete is None else state.discrete.real
    eigenvalues, axes = _principal_axes(relative, state.reference, real)
    inverse = _inverse(relative, real) @ state.reference
    distribution = replace(state.distribution, factor=factor, inverse_factor=inverse)
    return replace(state, distribution=distribution, eigenvalues=eigenvalues, axes=axes)


def with_narrowed_factor(state: State, factor: Floats) -> State:
    """Return the state with another factor (n, n), none of whose axes is lost in rounding.

    For methods that take variance out of C: axes relative to the initial C stay above 1e-12 of the
    longest one, far beyond the condition number that ends a restart.
    """
    left, singular, right = np.linalg.svd(state.reference @ factor)
    floor = _LEAST_AXIS * singular[0]
    if singular[-1] < floor:
        kept = (left * np.maximum(singular, floor)) @ right
        factor = np.linalg.solve(state.reference, kept)
    return with_factor(state, factor)


def _sigma_path(p_sigma: Floats, whitened_step: Floats, p: Parameters) -> Floats:
    """Step 4: p_sigma, fed with C^{-1/2} <y>_w."""
    gain = math.sqrt(p.c_sigma * (2 - p.c_sigma) * p.mu_eff)
    return (1 - p.c_sigma) * p_sigma + gain * whitened_step


def _stall(p_sigma: Floats, gamma_sigma: float, p: Parameters) -> float:
    """Step 4: h_sigma, 1 unless p_sigma is unusually long."""
    limit = (1.4 + 2 / (p.n + 1)) * math.sqrt(gamma_sigma) * p.chi_n
    return 1.0 if float(np.linalg.norm(p_sigma)) < limit else 0.0


def _step_size_change(p_sigma: Floats, gamma_sigma: float, p: Parameters) -> float:
    """Step 5: factor on sigma."""
    length = float(np.linalg.norm(p_sigma)) / p.chi_n
    growth = p.c_sigma / p.d_sigma * (length - math.sqrt(gamma_sigma))
    return math.exp(min(growth, _MOST_GROWTH))


def _weighted_update(
    old: Floats, p_c: Floats, steps: Floats, gamma_c: float, p: Parameters
) -> Floats:
    """Step 5: C + c_1 (p_c p_c^T - gamma_c C) + c_mu sum_i w_i (y_i y_i^T - C)."""
    rank_mu = (steps.T * p.weights) @ steps
    return (1 - p.c_1 * gamma_c - p.c_mu) * old + p.c_1 * np.outer(p_c, p_c) + p.c_mu * rank_mu


def _factor(
    d: Distribution,
    steps: Floats,
    p_c: Floats,
    gamma_c: float,
    p: Parameters,
    square_root: SquareRoot,
) -> Floats:
    """Return the factor of the updated C.

    ``symmetric`` takes the root of C itself [SA22]. ``covariant`` takes it of the same update
    written in whitened coordinates, F' = F (I + dC_whitened)^{1/2}: F' F'^T is the same C, but
    F' = A F if the design space is mapped by A, so a whole run moves with the map.
    """
    if square_root == "symmetric":
        covariance = _weighted_update(d.covariance, p_c, steps, gamma_c, p)
        return symmetric_root((covariance + covariance.T) / 2)[0]
    whitened = _weighted_update(
        np.eye(d.n), d.inverse_factor @ p_c, steps @ d.inverse_factor.T, gamma_c, p
    )
    return d.factor @ symmetric_root(whitened)[0]


def _diagonal_factor(
    d: Distribution, steps: Floats, p_c: Floats, gamma_c: float, p: Parameters
) -> Floats:
    """Return the diagonal (n,) of the factor: the same update of the diagonal of C only [RH08].

    It has n instead of n (n + 1) / 2 entries to learn, so it learns (n + 2) / 3 times as fast.
    """
    faster = (p.n + 2) / 3
    c_1 = min(faster * p.c_1, _MOST_LEARNT)
    c_mu = min(faster * p.c_mu, _MOST_LEARNT - c_1)
    of_steps = p.weights @ steps**2
    variances = (1 - c_1 * gamma_c - c_mu) * d.factor**2 + c_1 * p_c**2 + c_mu * of_steps
    return np.sqrt(variances)


def _inverse(matrix: Floats, real: Integers | None) -> Floats:
    """Return the inverse; with discrete coordinates, whose scales drift apart, of scaled rows."""
    if real is None:
        return np.asarray(np.linalg.inv(matrix), dtype=float)
    sizes = np.linalg.norm(matrix, axis=1)
    return np.asarray(np.linalg.inv(matrix / sizes[:, None]) / sizes, dtype=float)


def _principal_axes(
    relative: Floats, reference: Floats, real: Integers | None
) -> tuple[Floats, Floats]:
    """Eigenvalues (ascending) of A A^T for A = ``relative``, its right singular vectors as rows.

    With discrete coordinates, A has the real ones only: margins, and not C, say how far the
    others are sampled, so their variances in C mean little.
    """
    if real is None:
        _, singular, axes = np.linalg.svd(relative)
    elif len(real) == 0:
        return np.zeros(0), np.zeros((0, len(relative)))
    else:
        initial = np.linalg.inv(reference)[real]
        root = np.linalg.cholesky(initial @ initial.T)
        restricted = np.linalg.solve(root, initial @ relative)
        _, singular, axes = np.linalg.svd(restricted, full_matrices=False)
    return np.asarray(singular[::-1] ** 2, dtype=float), np.asarray(axes[::-1], dtype=float)
