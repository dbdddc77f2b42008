"""The explicit limits once more, in NumPy: an independent check."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.interpolate import pchip_interpolate

from case_studies.water_network.networks import Network

ROUNDING = 1e-9  # relative; a limit that is met exactly must not fail by the last digit


def cost(net: Network, diameters: ArrayLike) -> float:
    """Cost of a network in dollars."""
    d = np.asarray(diameters, dtype=float)
    if net.catalogue is not None:
        sizes, prices = net.catalogue
        each = np.exp(pchip_interpolate(np.log(sizes), np.log(prices), np.log(d)))
    else:
        assert net.formula is not None
        each = net.formula[0] * np.power(d, net.formula[1])
    return float(net.lengths @ each)


def list_cost(net: Network, diameters: ArrayLike) -> float:
    """Cost of a network in dollars by the price list; NaN if a size is not on it."""
    price = dict(net.parts.values())
    each = [price.get(float(d), np.nan) for d in np.asarray(diameters, dtype=float)]
    return float(net.lengths @ np.array(each))


def exceeded(net: Network, design: Mapping[str, Any], *, budget: bool) -> list[str]:
    """Return the limits that a design violates, in words; none if it is legal.

    A design says ``diameter``, any in inches, or ``pipe``, names of the price list.
    """
    d = net.diameters(design)
    low, high = net.diameter
    sizes = dict(zip((p.name for p in net.pipes), d, strict=True))
    more = 1 + ROUNDING
    found = [f"pipe {name} is {x:.6g} in" for name, x in sizes.items() if not low <= x <= high]
    found += [
        f"pipe {b} is wider than {a}" for a, b in net.downstream if not sizes[b] <= more * sizes[a]
    ]
    for pipe, fed in net.branches.items():
        cubic_metres = sum(net.demands[j] for j in fed) / 3600
        bore = np.pi * (sizes[pipe] * 0.0254) ** 2 / 4
        if not cubic_metres <= 2.0 * more * bore:
            found.append(f"pipe {pipe} is too fast")
    if budget and not cost(net, d) <= more * net.budget:
        found.append(f"costs {cost(net, d):.2f} $")
    return found
