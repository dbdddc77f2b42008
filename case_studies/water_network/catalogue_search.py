"""The best designs from the price list: ``python -m case_studies.water_network.catalogue_search``.

It writes ``catalogue.json``. Two loops: all legal designs up to the published cost are computed, by
Newton's method for thousands of designs at a time, in NumPy. Hanoi: 6**34 designs are too many;
EPANET computes all designs that cost less than the published one and differ from it in up to three
pipes.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from case_studies.water_network.limits import exceeded, list_cost
from case_studies.water_network.networks import LEAST_PRESSURE, Floats, Network, network
from case_studies.water_network.simulator import Epanet

Integers = NDArray[np.int64]

AT_ONCE = 100_000  # designs
STEPS = 60  # of Newton's method, at most
BALANCED = 1e-6  # m of head around a loop
ACCURACY = 1e-3  # m of pressure, between this solution and EPANET's
UNIT = 101.94  # m3/h in a cubic foot per second, as EPANET has it
STILL = 1e-6  # cubic feet per second; keeps derivatives away from zero
FARTHEST = 3  # pipes that are changed at a time (Hanoi)

LOOPS = np.array([[0, 1, -1, -1, 0, 0, 1, 0], [0, 0, 0, 1, -1, -1, 0, 1]], dtype=float)
"""Signs of the pipes around both loops of the two-loop network."""


def two_loop_pressures(diameters: Floats) -> Floats:
    """Return the pressures (k, 6) of two-loop networks with diameters (k, 8) in inches.

    Flows that satisfy the demands, plus a flow around each loop: Newton's method finds the two
    for which the losses around each loop add up to zero.
    """
    net = network("two_loop")
    head = 4.727 * net.lengths / (net.roughness**1.852 * (diameters / 12) ** 4.871)
    fed = {"1": "234567", "2": "35", "3": "467", "4": "", "5": "67", "6": "7", "7": "5", "8": ""}
    tree = np.array([sum(net.demands[j] for j in fed[p.name]) for p in net.pipes]) / UNIT
    around = np.zeros((len(diameters), 2))
    for _ in range(STEPS):
        flow = tree + around @ LOOPS
        size = np.maximum(np.abs(flow), STILL)
        losses = head * flow * size**0.852
        slope = 1.852 * head * size**0.852
        missing = losses @ LOOPS.T
        if np.abs(missing).max() < BALANCED:
            break
        matrix = np.einsum("kp,ip,jp->kij", slope, LOOPS, LOOPS)
        around -= np.linalg.solve(matrix, missing[..., None])[..., 0]
    else:
        raise RuntimeError("a two-loop network was not balanced")
    lost: dict[str, Any] = {net.source_node: 0.0}
    for i, pipe in enumerate(net.pipes[:7]):  # the last one only closes a loop
        lost.setdefault(pipe.end, lost[pipe.start] + losses[:, i])
    return np.stack([net.head - net.elevations[j] - lost[j] for j in net.demands], axis=1)


def legal_designs(budget: float) -> Iterator[Floats]:
    """Yield the legal two-loop designs (k, 8) that cost no more, in batches."""
    net = network("two_loop")
    sizes, prices = net.price_list
    levels = range(len(sizes))
    branches = [(i, j, k) for i in levels for j in range(i + 1) for k in range(j + 1)]  # 2, 7, 8
    mains = [(i, j, *t) for i in levels for j in range(i + 1) for t in _falling(i)]  # 3, 4, 5, 6
    upper, lower = np.array(branches), np.array(mains)
    length = net.lengths[0]  # they are all alike
    for first in levels:
        if "pipe 1 is too fast" in exceeded(net, {"diameter": [sizes[first]] * 8}, budget=False):
            continue
        a, b = upper[upper[:, 0] <= first], lower[lower[:, 0] <= first]
        cost = prices[first] + prices[a].sum(axis=1)[:, None] + prices[b].sum(axis=1)
        i, j = np.nonzero(length * cost <= budget + 1e-6)
        found = np.column_stack((np.full(len(i), first), a[i, 0], b[j], a[i, 1:]))
        for k in range(0, len(found), AT_ONCE):
            yield sizes[found[k : k + AT_ONCE]]


def _falling(first: int) -> list[tuple[int, int]]:
    return [(i, j) for i in range(first + 1) for j in range(i + 1)]


def exhaust_two_loop() -> dict[str, Any]:
    """Return the best of all legal designs up to the published cost."""
    net = network("two_loop")
    known = next(p for p in net.published if p.design is not None)
    n, candidates = 0, []
    for batch in legal_designs(known.cost):
        n += len(batch)
        enough = two_loop_pressures(batch).min(axis=1) >= LEAST_PRESSURE - ACCURACY
        candidates += batch[enough].tolist()
    epanet = Epanet(net)
    found = [d for d in candidates if epanet(d).pressures.min() >= LEAST_PRESSURE]
    epanet.close()
    cost, design = min((list_cost(net, d), d) for d in found)
    method = (
        f"all {n} designs that satisfy the explicit rules and cost at most {known.cost:,.0f} $ "
        f"were computed: {len(found)} of them has enough pressure, by EPANET as well"
    )
    return {"objective": cost, "design": design, "method": method}


def exchange_hanoi() -> dict[str, Any]:
    """Return the published design, or a cheaper one that differs in up to three pipes."""
    net = network("hanoi")
    known = next(p.design for p in net.published if p.design is not None)
    sizes, _ = net.price_list
    here = np.searchsorted(sizes, known)
    epanet, n, better = Epanet(net), 0, []
    for changed in range(1, FARTHEST + 1):
        for design in _cheaper(net, here, changed):
            n += 1
            if epanet(sizes[design]).pressures.min() >= LEAST_PRESSURE:
                better.append((list_cost(net, sizes[design]), sizes[design].tolist()))
    lowest = epanet(known).pressures.min()
    epanet.close()
    best = min([(list_cost(net, known), list(known)), *better])
    method = (
        f"the published design, {lowest:.3f} m at its critical junction; of {n} cheaper designs "
        f"that differ from it in up to {FARTHEST} pipes {len(better)} have enough pressure ("
        "designs with only narrower pipes were left out, and the rules of the model not asked for)"
        ". No proof"
    )
    return {"objective": best[0], "design": best[1], "method": method}


def _cheaper(net: Network, here: Integers, changed: int) -> Iterator[Integers]:
    """Yield cheaper designs with so many other pipes, one of them wider (or only one)."""
    prices = net.lengths[:, None] * net.price_list[1]
    extra = prices - prices[np.arange(len(here)), here][:, None]
    others = [[k for k in range(prices.shape[1]) if k != h] for h in here]
    for pipes in itertools.combinations(range(len(here)), changed):
        where = list(pipes)
        for levels in itertools.product(*(others[i] for i in pipes)):
            wider = any(k > here[i] for i, k in zip(pipes, levels, strict=True))
            cost = sum(extra[i, k] for i, k in zip(pipes, levels, strict=True))
            if cost < 0 and (wider or changed == 1):
                design = here.copy()
                design[where] = levels
                yield design


def main() -> None:
    """Compute the best designs and write ``catalogue.json``."""
    optima = {"two_loop": {"cost": exhaust_two_loop()}, "hanoi": {"cost": exchange_hanoi()}}
    about = "cheapest designs with diameters of the price list; dollars, inches"
    text = json.dumps({"about": about, "optima": optima}, indent=1)
    text = re.sub(r"(?<=[\d,])\s+(?=-?\d)", " ", text)  # numbers side by side
    Path(__file__).with_name("catalogue.json").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
