"""The benchmark networks and what was published on them, read from ``networks.json``."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Aim = Literal["resilience", "cost"]
Sizes = Literal["any", "catalogue"]

NAMES = ("two_loop", "hanoi")
LEAST_PRESSURE = 30.0
"""Metres of water, at every junction."""
FASTEST = 2.0
"""Most velocity in a pipe whose flow is known, m/s."""
INCH = 0.0254  # m


@dataclass(frozen=True)
class Pipe:
    """A pipe between two nodes; the length in m."""

    name: str
    start: str
    end: str
    length: float


@dataclass(frozen=True)
class Published:
    """A published design: diameters in inches (None if not at hand) and its cost."""

    design: tuple[float, ...] | None
    cost: float
    what: str
    source: str


@dataclass(frozen=True, eq=False)
class Network:
    """A network fed by one source.

    Attributes
    ----------
    name, title, source : str
        ``source`` says where the data come from.
    source_node : str
    head : float
        Of the source, m.
    roughness : float
        Coefficient of Hazen and Williams.
    elevations, demands : dict
        Of the junctions, in m and m3/h.
    pipes : tuple of Pipe
    diameter : tuple of float
        Least and largest, inches.
    catalogue : tuple of arrays or None
        Diameters in inches and prices in dollars per metre.
    formula : tuple of float or None
        Factor and exponent of the price, where there is no catalogue.
    price_list : tuple of arrays
        Diameters in inches that can be bought, and their prices in dollars per metre.
    downstream : tuple of (str, str)
        Pairs of pipes, of which the second must not be wider than the first.
    branches : dict
        Pipes whose flow is known, and the junctions that they feed.
    budget : float
        Dollars.
    published : tuple of Published
    """

    name: str
    title: str
    source: str
    source_node: str
    head: float
    roughness: float
    elevations: dict[str, float]
    demands: dict[str, float]
    pipes: tuple[Pipe, ...]
    diameter: tuple[float, float]
    catalogue: tuple[Floats, Floats] | None
    formula: tuple[float, float] | None
    price_list: tuple[Floats, Floats]
    downstream: tuple[tuple[str, str], ...]
    branches: dict[str, tuple[str, ...]]
    budget: float
    published: tuple[Published, ...]

    def flow(self, pipe: str) -> float:
        """Flow in a pipe of ``branches``, m3/s."""
        return sum(self.demands[j] for j in self.branches[pipe]) / 3600

    def position(self, pipe: str) -> int:
        """Position of a pipe in the vector of diameters."""
        return [p.name for p in self.pipes].index(pipe)

    @property
    def parts(self) -> dict[str, tuple[float, float]]:
        """The price list by the names of its rows: (diameter, dollars per metre)."""
        return {f"{d:g} in": (d, p) for d, p in zip(*map(_listed, self.price_list), strict=True)}

    def diameters(self, design: Mapping[str, Any]) -> Floats:
        """Return the diameters of a design in inches, NaN for a pipe that is not on the list."""
        if "diameter" in design:
            return np.asarray(design["diameter"], dtype=float)
        unknown = (np.nan, np.nan)
        return np.array([self.parts.get(str(name), unknown)[0] for name in design["pipe"]])

    def ways(self) -> dict[str, tuple[tuple[int, int], ...]]:
        """Return a way with the fewest pipes from the source to each node.

        A way is a sequence of (position of a pipe, 1 or -1 if it is passed against its direction).
        """
        found: dict[str, tuple[tuple[int, int], ...]] = {self.source_node: ()}
        todo = [self.source_node]
        while todo:
            here = todo.pop(0)
            for i, pipe in enumerate(self.pipes):
                for start, end, sign in ((pipe.start, pipe.end, 1), (pipe.end, pipe.start, -1)):
                    if start == here and end not in found:
                        found[end] = (*found[here], (i, sign))
                        todo.append(end)
        return found

    @property
    def lengths(self) -> Floats:
        """Of all pipes, m."""
        return np.array([p.length for p in self.pipes])


def _listed(values: Floats) -> list[float]:
    return [float(v) for v in values]


@cache
def network(name: str) -> Network:
    """Return a network by its name."""
    path = Path(__file__).with_name("networks.json")
    data: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))["networks"]
    if name not in data:
        raise ValueError(f"name must be one of {', '.join(data)}; got {name!r}.")
    d = data[name]
    low, high = d["diameter"]
    catalogue, formula = d.get("catalogue"), d.get("price_formula")
    prices = d.get("price_list") or catalogue
    return Network(
        name=name,
        title=d["title"],
        source=d["source"],
        source_node=d["source_node"],
        head=d["head"],
        roughness=d["roughness"],
        elevations={k: v["elevation"] for k, v in d["junctions"].items()},
        demands={k: v["demand"] for k, v in d["junctions"].items()},
        pipes=tuple(Pipe(*p) for p in d["pipes"]),
        diameter=(low, high),
        catalogue=catalogue and tuple(np.array(catalogue[k], float) for k in ("diameter", "price")),
        formula=formula and (formula["factor"], formula["exponent"]),
        price_list=(np.array(prices["diameter"], float), np.array(prices["price"], float)),
        downstream=tuple((a, b) for a, b in d["downstream"]),
        branches={k: tuple(v) for k, v in d["branches"].items()},
        budget=d["budget"],
        published=tuple(
            Published(
                p["design"] and tuple(map(float, p["design"])), p["cost"], p["what"], p["source"]
            )
            for p in d["published"]
        ),
    )


def simulated_limits(net: Network) -> dict[str, tuple[float, None]]:
    """Return the limits of the pressures, by name."""
    return {f"pressure at {name} (m)": (LEAST_PRESSURE, None) for name in net.demands}
