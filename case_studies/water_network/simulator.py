"""The simulator: pressures of a network by EPANET 2.2, the library that wntr brings along."""

from __future__ import annotations

import logging
import os
import shutil
import tempfile
import weakref
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from archeng import Evaluation
from case_studies.shared.forms import Form
from case_studies.water_network.limits import cost, exceeded, list_cost
from case_studies.water_network.model import FLOW, HEAD, PRESSURE, resilience
from case_studies.water_network.networks import (
    INCH,
    Aim,
    Floats,
    Network,
    network,
    simulated_limits,
)

_NEW_FLOWS = (
    10  # EPANET begins every solution with the same flows, so calls do not depend on others
)
_UNBALANCED = (1, 2)  # warnings of EPANET that the equations were not solved


@dataclass(frozen=True, eq=False)
class Hydraulics:
    """Pressures at the junctions in m, and flows in the pipes in m3/h."""

    pressures: Floats
    flows: Floats


class Epanet:
    """A network in EPANET, opened once in a folder of its own.

    The folder is removed when the object is no longer used.

    Parameters
    ----------
    net : Network

    Raises
    ------
    ImportError
        Without wntr.
    """

    def __init__(self, net: Network) -> None:
        try:
            from wntr.epanet.toolkit import ENepanet
            from wntr.epanet.util import EN
            from wntr.network import write_inpfile
        except ImportError as error:
            raise ImportError(
                "This case study needs wntr: pip install 'archeng[water]'. "
                f"The import failed with: {error}"
            ) from error
        logging.getLogger("wntr.epanet.toolkit").setLevel(logging.ERROR)  # negative pressures
        folder = Path(tempfile.mkdtemp(prefix="archeng-epanet-"))
        self._codes = EN
        self._engine = ENepanet()
        self._close = weakref.finalize(self, _close, self._engine, folder, os.getpid())
        write_inpfile(water_network(net), str(folder / "net.inp"), units="CMH")
        self._engine.ENopen(*(str(folder / f"net.{kind}") for kind in ("inp", "rpt", "bin")))
        self._engine.ENopenH()
        self._pipes = [self._engine.ENgetlinkindex(p.name) for p in net.pipes]
        self._junctions = [self._engine.ENgetnodeindex(name) for name in net.demands]

    def __call__(self, diameters: ArrayLike) -> Hydraulics:
        """Solve the network with these diameters, in inches.

        Raises
        ------
        RuntimeError
            If EPANET does not solve the equations.
        """
        engine, codes = self._engine, self._codes
        for pipe, d in zip(self._pipes, np.asarray(diameters, dtype=float), strict=True):
            engine.ENsetlinkvalue(pipe, codes.DIAMETER, float(d) * INCH * 1000)
        engine.errcodelist.clear()
        engine.ENinitH(_NEW_FLOWS)
        engine.ENrunH()
        if engine.errcode in _UNBALANCED:
            raise RuntimeError(f"EPANET warns that the network is not balanced: {engine.errcode}.")
        return Hydraulics(
            np.array([engine.ENgetnodevalue(j, codes.PRESSURE) for j in self._junctions]),
            np.array([engine.ENgetlinkvalue(p, codes.FLOW) for p in self._pipes]),
        )

    def close(self) -> None:
        """Close EPANET and remove the folder."""
        self._close()


class PipeNetwork:
    """A network in EPANET. It judges every design by itself, in NumPy, and counts.

    It can be pickled; EPANET is opened once in every process.

    Parameters
    ----------
    name : str
        Of the network.
    aim : {"resilience", "cost"}
        What the objective is: the index of Todini, or dollars.
    form : {"grey", "direct", "black"}
        What it returns: flows; pressures; the objective with the pressures as simulated
        constraints.

    Attributes
    ----------
    n_calls, n_infeasible : int
        Calls so far, and how many of them were at designs that exceed an explicit limit. In worker
        processes each worker has its own count.
    """

    def __init__(
        self, name: str = "two_loop", aim: Aim = "resilience", form: Form = "black"
    ) -> None:
        self.net, self.aim, self.form = network(name), aim, form
        self.n_calls = 0
        self.n_infeasible = 0
        self._epanet: Epanet | None = None

    def __call__(self, design: Mapping[str, Any]) -> Evaluation:
        """Simulate a design: diameters, or names of pipes on the price list."""
        self.n_calls += 1
        self.n_infeasible += bool(exceeded(self.net, design, budget=self.aim == "resilience"))
        if self._epanet is None:
            self._epanet = Epanet(self.net)
        head = getattr(design, "parameters", {}).get(HEAD, self.net.head)
        diameters = self.net.diameters(design)
        found = self._epanet(diameters)
        pressures = found.pressures + (head - self.net.head)  # of the only source
        index = resilience(self.net, pressures, head)
        price = cost if "diameter" in design else list_cost
        dollars = price(self.net, diameters)
        outputs = {"cost": dollars, "resilience": index, FLOW: found.flows, PRESSURE: pressures}
        if self.form != "black":
            return Evaluation(outputs=outputs)
        return Evaluation(
            index if self.aim == "resilience" else dollars,
            constraints=dict(zip(simulated_limits(self.net), pressures, strict=True)),
            outputs=outputs,
        )

    def close(self) -> None:
        """Close EPANET; the next call opens it again."""
        if self._epanet is not None:
            self._epanet.close()
            self._epanet = None

    def __getstate__(self) -> dict[str, Any]:
        return {
            "setup": (self.net.name, self.aim, self.form),
            "counts": (self.n_calls, self.n_infeasible),
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(*state["setup"])  # type: ignore[misc]
        self.n_calls, self.n_infeasible = state["counts"]


def water_network(net: Network) -> Any:
    """Return the network as wntr's model, with the least diameters."""
    from wntr.network import WaterNetworkModel

    model = WaterNetworkModel()
    model.add_reservoir(net.source_node, base_head=net.head)
    for name, demand in net.demands.items():
        model.add_junction(name, base_demand=demand / 3600, elevation=net.elevations[name])
    for p in net.pipes:
        bore = net.diameter[0] * INCH
        model.add_pipe(p.name, p.start, p.end, p.length, diameter=bore, roughness=net.roughness)
    model.options.hydraulic.headloss = "H-W"
    model.options.hydraulic.accuracy = 1e-8
    model.options.hydraulic.trials = 500
    model.options.time.duration = 0
    return model


def _close(engine: Any, folder: Path, process: int) -> None:
    """Close EPANET and remove its files, unless they belong to the parent of a forked process."""
    if os.getpid() != process:
        return
    if engine.fileLoaded:
        engine.ENclose()
    shutil.rmtree(folder, ignore_errors=True)
