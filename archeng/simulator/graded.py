"""Several simulators of the same thing, cheap and dear, as one that is called at a level."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from archeng.simulator.call import Simulator
from archeng.simulator.design import Design


class Graded:
    """Calls the simulator whose number the design has: 0 for the cheapest."""

    def __init__(self, simulators: Sequence[Simulator]) -> None:
        self.simulators = tuple(simulators)

    def __call__(self, design: Design) -> Any:
        """Return what the simulator of that level returns."""
        return self.simulators[design.level](design)
