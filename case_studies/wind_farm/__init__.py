"""Wind farm layout, IEA Wind Task 37 case study 1, with py_wake as the simulator.

16, 36 or 64 turbines in a circle; all spacings explicit. Run it with
``python -m case_studies.wind_farm``; the problem, the published results and what archeng reaches
are in README.md in this directory.

Examples
--------
>>> import archeng
>>> from case_studies.wind_farm import MinusAnnualEnergy, build_model
>>> simulator = MinusAnnualEnergy(16)
>>> result = archeng.solve(build_model(16), simulator, max_evaluations=100, seed=1)
>>> simulator.n_calls, simulator.n_infeasible
(100, 0)
"""

from case_studies.wind_farm.model import build_model
from case_studies.wind_farm.published import scenario
from case_studies.wind_farm.simulator import MinusAnnualEnergy, annual_energy, is_feasible

__all__ = ["MinusAnnualEnergy", "annual_energy", "build_model", "is_feasible", "scenario"]
