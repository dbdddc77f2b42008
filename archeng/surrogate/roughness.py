"""Whether calls look as if the simulator does not say the same twice.

Of a function with slopes, values differ less the nearer two designs are. Noise does not know how
far they are apart: quotients of differences grow without end there. So the steepest quotients are
looked at, of designs next to the best one and of those farther away. Nothing is simulated for it.
"""

from __future__ import annotations

import numpy as np

from archeng.distribution import Floats
from archeng.surrogate import constants as c


def looks_noisy(u: Floats, values: Floats, best: int) -> bool:
    """Whether values (k,) at coordinates (k, n) differ too much next to the best one.

    NaN where there is no value.
    """
    n = u.shape[1]
    there = np.isfinite(values)
    if int(there.sum()) < n + c.ROUGH_LEAST:
        return False
    gaps = np.abs(values[there] - values[best])
    lengths = np.linalg.norm(u[there] - u[best], axis=1)
    apart = lengths > c.ROUGH_SAME
    gaps, lengths = gaps[apart], lengths[apart]
    if len(lengths) < n + c.ROUGH_LEAST - 1:
        return False
    typical = float(np.median(np.sort(lengths)[: 2 * n + 4]))
    close, far = lengths <= typical / c.ROUGH_CLOSE, lengths >= typical / 2
    if int(close.sum()) < c.ROUGH_PAIRS or not far.any():
        return False
    quotients = gaps / lengths
    felt = gaps[close] > c.ROUGH_ROUNDING * abs(values[best])
    steep = float(np.median(np.where(felt, quotients[close], 0.0)))
    return steep > c.ROUGH_STEEP * float(quotients[far].max())
