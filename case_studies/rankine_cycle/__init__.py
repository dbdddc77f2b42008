"""Organic Rankine cycle: the cheapest kilowatt from geothermal brine at 150 C.

Run it with ``python -m case_studies.rankine_cycle``; what and why is in README.md in this
directory. The simulator needs CoolProp (``pip install 'archeng[cycle]'``), the model does not.
"""

from case_studies.rankine_cycle.model import build_model
from case_studies.rankine_cycle.simulator import CycleOutputs, SpecificCost

__all__ = ["CycleOutputs", "SpecificCost", "build_model"]
