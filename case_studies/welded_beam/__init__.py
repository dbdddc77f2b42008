"""The welded beam: the cheapest bar welded to a wall that carries 6000 lb at its free end.

A classic of engineering design with four variables and seven explicit constraints. Run it with
``python -m case_studies.welded_beam``; formulas and sources are in README.md in this directory.

Examples
--------
>>> import archeng
>>> from case_studies.welded_beam import FabricationCost, build_model
>>> simulator = FabricationCost()
>>> result = archeng.solve(build_model(), simulator, max_evaluations=100, seed=1)
>>> simulator.n_calls, simulator.n_illegal
(100, 0)
"""

from case_studies.welded_beam.model import KNOWN_COST, KNOWN_DESIGN, build_model
from case_studies.welded_beam.simulator import FabricationCost

__all__ = ["KNOWN_COST", "KNOWN_DESIGN", "FabricationCost", "build_model"]
