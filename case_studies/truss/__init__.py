"""Trusses sized and laid out with an external finite-element program.

The ten-bar truss (ten areas) and the 18-bar truss (four areas, eight coordinates). Rules of
geometry and statics are explicit; stresses, buckling and displacements come from the program, as
simulated constraints. Run it with ``python -m case_studies.truss``; see README.md here.

Examples
--------
>>> import archeng
>>> from case_studies.truss import build_model, build_simulator
>>> result = archeng.solve(
...     build_model("layout"),
...     build_simulator("layout"),
...     max_evaluations=60,
...     seed=1,
... )  # doctest: +SKIP
"""

from case_studies.truss.cases import CASES, Case
from case_studies.truss.model import build_model
from case_studies.truss.reference import reference
from case_studies.truss.rules import broken_rules
from case_studies.truss.simulator import build_simulator

__all__ = ["CASES", "Case", "broken_rules", "build_model", "build_simulator", "reference"]
