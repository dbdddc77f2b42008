"""Fuel blend: the gases, and the air, that heat a furnace of a steel works most cheaply.

Run it with ``python -m case_studies.fuel_blend``; what and why is in README.md in this directory.
The simulator needs Cantera (``pip install 'archeng[fuel]'``), the model does not.
"""

from case_studies.fuel_blend.model import build_model
from case_studies.fuel_blend.simulator import Furnace, FurnaceOutputs, HeatCost

__all__ = ["Furnace", "FurnaceOutputs", "HeatCost", "build_model"]
