"""The best design of a run with noise: by what is estimated of it, not by its luckiest call."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from archeng.distribution import Distribution, Floats
from archeng.ledger import Ledger
from archeng.model import FeasibleSet
from archeng.records import CallRecord, Estimate
from archeng.repair import RepairKind
from archeng.runner.options import Options
from archeng.surrogate import Estimates, best_estimated


class Estimated(NamedTuple):
    """The best design by its estimate."""

    call: CallRecord  # the last one of that design
    estimate: Estimate
    rows: Floats  # expected simulated constraints (m,) ...
    deviations: Floats  # ... and their standard deviations
    holds: bool  # whether these hold with confidence
    models: Estimates

    def worst(self, sign: float) -> float:
        """Return the end of the interval that is worse; ``sign`` is -1 for a maximum."""
        return self.estimate.upper if sign > 0 else self.estimate.lower


def is_noisy(calls: Sequence[CallRecord], options: Options) -> bool:
    """Whether the simulator is known to be noisy: the user says so, or repeats differ."""
    if options.noise is not None:
        return any(noise.size > 0 for noise in options.noise.values())
    repeats = [call for call in calls if call.repair_kind == RepairKind.REPEATED and call.good]
    designs = {call.x.tobytes() for call in repeats}
    seen: dict[bytes, tuple[float, ...]] = {}
    for call in calls:
        key = call.x.tobytes()
        if key in designs and call.good:
            values = (call.objective, *call.constraints.values())
            if seen.setdefault(key, values) != values:
                return True
    return False


def estimated(
    fs: FeasibleSet,
    ledger: Ledger,
    options: Options,
    wide: Distribution,
    centre: Floats | None,
) -> Estimated | None:
    """Return the best design by its estimate; None without noise, or with too few calls.

    ``centre`` (n,) is where the search under noise stands, if there was one.
    """
    if fs.lattice is not None or not is_noisy(ledger.calls, options):
        return None
    past, best = ledger.arrays(), ledger.best
    if centre is None:
        if best is None:
            return None
        centre = fs.reduce(best.x)
    found = best_estimated(wide, centre, past, ledger.limits, options.confidence, options.noise)
    if found is None:
        return None
    position, models = found
    call = ledger.calls[position]
    x = past.points[position][None]
    (value,), (deviation,) = models.values(x)
    rows, deviations = models.rows(x)
    half = _quantile((1 + options.confidence) / 2, models, options) * float(deviation)
    value = options.sign * float(value)
    noise = models.noise()
    return Estimated(
        call,
        Estimate(
            value=value,
            deviation=float(deviation),
            lower=value - half,
            upper=value + half,
            confidence=options.confidence,
            noise=noise.size,
            relative=noise.relative,
            calls=sum(np.array_equal(one.x, call.x) for one in ledger.calls),
        ),
        rows[0],
        deviations[0],
        bool(np.all(models.excess(x) == 0)),
        models,
    )


def _quantile(probability: float, models: Estimates, options: Options) -> float:
    """Return how many deviations an interval is wide: more if the noise is known from few calls."""
    if options.noise is not None:
        return NormalDist().inv_cdf(probability)
    from scipy.special import stdtrit  # here, because it takes longer to import than archeng

    p, n = models.objective.A.shape
    return float(stdtrit(max(p - n - 2, 2), probability))
