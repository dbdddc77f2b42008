"""Medians with success rates, and rank tests with the correction of Bonferroni.

A run is the number of calls to the target, or None if it did not get there. In a test such a run
is worse than every run that did, and equal to the others that did not. Runs with different
budgets are compared as far as the smaller budget reaches: later successes count as none. Two
methods are tested only if each of them reached the target at least once, as in [SA22
ssec:vs-aal-mcr]. The markers of its table cannot come from the successful runs alone: one success
of MCR on g23 against 25 of ARCH gives at best p = 2 / 26, far above the corrected level.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from scipy.stats import mannwhitneyu

Calls = Sequence[int | float | None]
Key = TypeVar("Key", bound=Hashable)


@dataclass(frozen=True)
class Sample:
    """The runs of one method on one problem.

    Attributes
    ----------
    calls : tuple
        Calls to the target of each run, None if it was not reached.
    budget : float
        The most calls of a run.
    """

    calls: tuple[int | float | None, ...]
    budget: float = np.inf

    @property
    def reached(self) -> tuple[int | float, ...]:
        """Calls of the successful runs."""
        return tuple(c for c in self.calls if c is not None)

    @property
    def median(self) -> float | None:
        """Median of the successful runs, None without any."""
        return float(np.median(self.reached)) if self.reached else None

    @property
    def rate(self) -> float:
        """Share of the successful runs, 0 without any run."""
        return len(self.reached) / len(self.calls) if self.calls else 0.0

    def within(self, budget: float) -> tuple[float, ...]:
        """Return the calls of all runs, infinite where the budget was not enough."""
        return tuple(float(c) if c is not None and c <= budget else np.inf for c in self.calls)


@dataclass(frozen=True)
class Comparison:
    """A two-sided test of two samples.

    Attributes
    ----------
    p : float
        Probability of a difference at least as large by chance.
    sign : int
        -1 if the first sample tends to fewer calls, 1 if to more, 0 if to neither.
    significant : bool
        Whether p is below the corrected level.
    """

    p: float
    sign: int
    significant: bool


def mann_whitney(first: Calls, second: Calls) -> tuple[float, int]:
    """Return p of the two-sided Mann-Whitney test, and which sample is smaller (-1: the first).

    Infinite values are allowed, None is not.
    """
    a, b = np.asarray(first, dtype=float), np.asarray(second, dtype=float)
    if len(np.unique(np.concatenate((a, b)))) == 1:
        return 1.0, 0  # all equal: the variance of the statistic is zero
    test = mannwhitneyu(a, b, alternative="two-sided")
    return float(test.pvalue), int(np.sign(test.statistic - len(a) * len(b) / 2))


def compare_all(
    pairs: Mapping[Key, tuple[Sample, Sample]], level: float = 0.05
) -> dict[Key, Comparison]:
    """Test the pairs in which both samples reached the target.

    The level is divided by the number of tests (Bonferroni).
    """
    tested = {key: (a, b) for key, (a, b) in pairs.items() if a.reached and b.reached}
    found: dict[Key, Comparison] = {}
    for key, (a, b) in tested.items():
        budget = min(a.budget, b.budget)
        p, sign = mann_whitney(a.within(budget), b.within(budget))
        found[key] = Comparison(p, sign, p < level / len(tested))
    return found


def geometric_mean(values: Sequence[float]) -> float:
    """Return the geometric mean of positive numbers, NaN without any."""
    return float(np.exp(np.mean(np.log(values)))) if len(values) else float("nan")
