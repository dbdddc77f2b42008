"""A bolted flange joint with parts from catalogues, and a ring model as the simulator.

Bolts, gasket, plate and steel are parts of lists; room, preload and cost are explicit; pressures of
the gasket, rotation and stresses are simulated. Run it with ``python -m case_studies.flange``; what
and why is in README.md in this directory.
"""

from case_studies.flange.model import build_model
from case_studies.flange.rules import Parts, beyond_limits, broken_rules, cost
from case_studies.flange.simulator import RingModel

__all__ = ["Parts", "RingModel", "beyond_limits", "broken_rules", "build_model", "cost"]
