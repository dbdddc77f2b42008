"""Default parameters of CMA-ES [SA22 tab:defaultparameter, Table 1].

[SA22] Sakamoto and Akimoto 2022, doi:10.1162/evco_a_00310, arXiv:1811.00764.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from archeng.distribution import Floats

_LEAST = 4  # candidates that CMA-ES needs
_FEWEST = 0.75  # candidates, relative to the default, that are enough where the width asks for it
_MOST = 512  # candidates beyond which generations to a target become no fewer


def default_population_size(n: int) -> int:
    """Lambda = 4 + floor(3 ln n)."""
    return 4 + int(3 * math.log(n))


def suitable_population_size(n: int, width: int) -> int:
    """Return lambda if so many calls are made at a time.

    The default one, as a multiple of the width, so that no generation ends with idle workers; as
    many as the width where that is more. Generations to a target become fewer with more candidates,
    but hardly beyond 512.
    """
    usual = default_population_size(n)
    if width == 1:
        return usual
    rounds = max(round(usual / width), 1)
    if rounds * width < _FEWEST * usual:
        rounds += 1
    return max(min(rounds * width, max(_MOST, usual)), _LEAST)


@dataclass(frozen=True, eq=False)
class Parameters:
    """Constants of one run, derived from the dimension n and the population size lambda."""

    n: int
    population_size: int
    weights: Floats
    mu_eff: float
    c_sigma: float
    d_sigma: float
    c_c: float
    c_1: float
    c_mu: float
    chi_n: float


def default_parameters(n: int, population_size: int | None = None) -> Parameters:
    """Compute the table's values; ``population_size`` defaults to the table's lambda."""
    lam = default_population_size(n) if population_size is None else population_size
    mu = max(lam // 2, 1)
    raw = math.log((lam + 1) / 2) - np.log(np.arange(1, mu + 1)) if lam > 1 else np.ones(1)
    weights = raw / raw.sum()
    mu_eff = 1.0 / float(weights @ weights)
    c_sigma = (mu_eff + 2) / (n + mu_eff + 5)
    c_1 = 2 / ((n + 1.3) ** 2 + mu_eff)
    return Parameters(
        n=n,
        population_size=lam,
        weights=weights,
        mu_eff=mu_eff,
        c_sigma=c_sigma,
        d_sigma=1 + c_sigma + 2 * max(0.0, math.sqrt((mu_eff - 1) / (n + 1)) - 1),
        c_c=(4 + mu_eff / n) / (n + 4 + 2 * mu_eff / n),
        c_1=c_1,
        c_mu=min(1 - c_1, 2 * (mu_eff - 2 + 1 / mu_eff) / ((n + 2) ** 2 + mu_eff)),
        chi_n=math.sqrt(n) * (1 - 1 / (4 * n) + 1 / (21 * n**2)),
    )
