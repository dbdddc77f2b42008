"""Airfoil section: most lift over drag, or least drag at given lift, by NeuralFoil.

Shape and angle of attack are variables, geometry is explicit, lift, moment and the confidence of
the network are simulated. Run it with ``python -m case_studies.airfoil``; what and why is in
README.md in this directory. The simulator needs NeuralFoil (``pip install 'archeng[airfoil]'``),
the model does not.
"""

from case_studies.airfoil.cases import CASES, Case, simulated_limits
from case_studies.airfoil.model import build_model
from case_studies.airfoil.simulator import SectionDrag, build_simulator

__all__ = ["CASES", "Case", "SectionDrag", "build_model", "build_simulator", "simulated_limits"]
