"""Water network: pipe diameters for a budget, with EPANET as the simulator.

Cost and rules of the water works are explicit, pressures are simulated. Run it with
``python -m case_studies.water_network``; what and why is in README.md in this directory. The
simulator needs wntr (``pip install 'archeng[water]'``), the model does not.
"""

from case_studies.water_network.model import build_model
from case_studies.water_network.networks import network, simulated_limits
from case_studies.water_network.simulator import PipeNetwork

__all__ = ["PipeNetwork", "build_model", "network", "simulated_limits"]
