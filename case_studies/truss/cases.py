"""The cases as data: the ten-bar truss, with limits and areas in two forms, and 18 bars."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from case_studies.engineering import trusses as ten_bar

Floats = NDArray[np.float64]
Limits = Mapping[str, tuple[float | None, float | None]]


@dataclass(frozen=True, eq=False)
class Case:
    """A truss and what may change in it. Units are kip, in, ksi and lb.

    Attributes
    ----------
    template : str
        Input file of the program, with fields for the variables.
    nodes : ndarray, shape (k, 2)
        Coordinates before the layout changes.
    bars : ndarray, shape (m, 2)
        Both nodes of each bar, counted from 0.
    groups : ndarray, shape (m,)
        Which area each bar has.
    loads : ndarray, shape (k, 2)
    load : float
        What they are multiples of, in kips: a parameter of the model.
    supports : tuple of int
        Nodes that are fixed.
    areas : mapping of str to float
        The area variables and their values before.
    area_bounds : (float, float)
    sections : tuple of float
        The only areas that can be bought, ascending; empty if any can.
    moved : mapping of int to ((float, float), (float, float))
        Nodes that may move, and the bounds of their x and y.
    mass_budget : float
        No design that weighs more is of interest.
    limits : mapping
        The simulated constraints.
    """

    name: str
    title: str
    template: str
    nodes: Floats
    bars: NDArray[np.int64]
    groups: NDArray[np.int64]
    loads: Floats
    load: float
    supports: tuple[int, ...]
    areas: Mapping[str, float]
    area_bounds: tuple[float, float]
    mass_budget: float
    limits: Limits
    sections: tuple[float, ...] = ()
    moved: Mapping[int, tuple[tuple[float, float], tuple[float, float]]] = field(
        default_factory=dict
    )

    @property
    def start(self) -> Floats:
        """The design before, as a flat vector: areas, then x and y of each moved node."""
        return np.concatenate([list(self.areas.values()), *(self.nodes[i] for i in self.moved)])

    def geometry(self, x: ArrayLike) -> tuple[Floats, Floats]:
        """Return coordinates of all nodes, and areas of all bars, of a design."""
        x = np.asarray(x, dtype=float)
        nodes = self.nodes.astype(float)
        nodes[list(self.moved)] = x[len(self.areas) :].reshape(-1, 2)
        return nodes, x[: len(self.areas)][self.groups]

    def lengths(self, nodes: Floats) -> Floats:
        """Return the length of each bar."""
        spans = nodes[self.bars[:, 1]] - nodes[self.bars[:, 0]]
        return np.hypot(spans[:, 0], spans[:, 1])


YOUNG = ten_bar.YOUNG
DENSITY = ten_bar.DENSITY
EULER = 4.0
"""The Euler stress of a bar is EULER * YOUNG * area / length^2 (layout)."""

# -- sizing: ten bars ------------------------------------------------------------------------

SIZING_STRESS = 25.0  # ksi
SIZING_DISPLACEMENT = 2.0  # in
TIP_LOAD = 100.0
"""Load at node 2 in kips. Stiffness is this over the displacement downwards."""


UNIT_FORCES: dict[int, dict[int, float]] = {
    1: {1: -2.0, 3: 1.0, 4: 1.0, 6: 1.0, 8: 2**0.5, 9: -(2**0.5)},
    2: {1: -2.0, 3: 1.0, 4: 1.0, 8: 2**0.5, 9: -(2**0.5)},
}
"""Forces by bar that balance a unit load upwards at a node of the tip; other bars carry nothing.

By the principle of virtual forces the displacement there is the sum of force * unit force * length
/ (YOUNG * area) over the bars, with any forces that balance the unit load."""


SECTIONS = (
    1.62, 1.80, 1.99, 2.13, 2.38, 2.62, 2.63, 2.88, 2.93, 3.09, 3.13, 3.38, 3.47, 3.55,
    3.63, 3.84, 3.87, 3.88, 4.18, 4.22, 4.49, 4.59, 4.80, 4.97, 5.12, 5.74, 7.22, 7.97,
    11.50, 13.50, 13.90, 14.20, 15.50, 16.00, 16.90, 18.80, 19.90, 22.00, 22.90, 26.50,
    30.00, 33.50,
)  # fmt: skip
"""Areas in in2 of the 42 standard sections (Rajeev and Krishnamoorthy 1992)."""


def _sizing(name: str, tip: Limits, sections: tuple[float, ...] = ()) -> Case:
    """Return the ten-bar truss with these limits on the motion of its tip, nodes 1 and 2."""
    loads = np.zeros((6, 2))
    loads[:4] = ten_bar.LOADS[1].reshape(4, 2)
    stresses = [f"stress in bar {i} (ksi)" for i in range(1, 11)]
    return Case(
        name=name,
        title=f"ten-bar truss, {name}",
        template="ten_bar.inp.template",
        nodes=ten_bar.NODES.astype(float),
        bars=ten_bar.BARS,
        groups=np.arange(10),
        loads=loads,
        load=TIP_LOAD,
        supports=(4, 5),
        areas={f"area {i}": 19.9 if sections else 20.0 for i in range(1, 11)},
        area_bounds=(sections[0], sections[-1]) if sections else (0.1, 35.0),
        mass_budget=8500.0,
        limits={**dict.fromkeys(stresses, (-SIZING_STRESS, SIZING_STRESS)), **tip},
        sections=sections,
    )


_DISPLACEMENT: Limits = {
    f"displacement of node {i} (in)": (-SIZING_DISPLACEMENT, SIZING_DISPLACEMENT) for i in (1, 2)
}
_STIFFNESS: Limits = {
    f"stiffness at node {i} (kip/in)": (TIP_LOAD / SIZING_DISPLACEMENT, None) for i in (1, 2)
}

# -- layout: 18 bars -------------------------------------------------------------------------

LAYOUT_STRESS = 20.0  # ksi

_NODES = [(x, y) for x in (1000, 750, 500, 250, 0) for y in (250, 0)]
_BARS = [(1, 2), (1, 3), (2, 3), (2, 4), (3, 4), (3, 5), (4, 5), (4, 6), (5, 6),
         (5, 7), (6, 7), (6, 8), (7, 8), (7, 9), (8, 9), (8, 10), (9, 10), (9, 11)]  # fmt: skip
_GROUPS = [0, 1, 2, 0, 3, 1, 2, 0, 3, 1, 2, 0, 3, 1, 2, 0, 3, 1]

PANELS = ((1, 2, 3), (2, 4, 3), (4, 5, 3), (4, 6, 5), (6, 7, 5), (6, 8, 7), (8, 9, 7),
          (8, 10, 9), (10, 11, 9))  # fmt: skip
"""The triangles between the bars of the 18-bar truss: nodes, counted from 1, anticlockwise."""


def _layout() -> Case:
    loads = np.zeros((11, 2))
    loads[[0, 1, 3, 5, 7], 1] = -20.0
    bars = range(1, 19)
    stresses = [f"stress in bar {i} (ksi)" for i in bars]
    limits: dict[str, tuple[float | None, float | None]]
    limits = dict.fromkeys(stresses, (-LAYOUT_STRESS, LAYOUT_STRESS))
    limits |= dict.fromkeys([f"buckling of bar {i}" for i in bars], (None, 1.0))
    height = (-225.0, 245.0)
    return Case(
        name="layout",
        title="18-bar truss, layout",
        template="eighteen_bar.inp.template",
        nodes=np.array([(1250, 250), *_NODES], dtype=float),
        bars=np.array(_BARS) - 1,
        groups=np.array(_GROUPS),
        loads=loads,
        load=20.0,
        supports=(9, 10),
        areas={
            "area, upper chord": 10.1,
            "area, lower chord": 21.7,
            "area, verticals": 12.6,
            "area, diagonals": 7.1,
        },
        area_bounds=(2.0, 21.75),
        mass_budget=6500.0,
        limits=limits,
        moved={
            2: ((775.0, 1225.0), height),
            4: ((525.0, 975.0), height),
            6: ((275.0, 725.0), height),
            8: ((25.0, 475.0), height),
        },
    )


CASES: dict[str, Case] = {
    case.name: case
    for case in (
        _sizing("sizing", _DISPLACEMENT),
        _sizing("stiffness", _STIFFNESS),
        _sizing("sections", _DISPLACEMENT, SECTIONS),
        _layout(),
    )
}
"""All cases by name."""
