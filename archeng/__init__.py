"""archeng: engineering design with expensive simulators and explicit constraints.

Write the constraints as CasADi formulas, hand over a black-box simulator, and get a good
design with the guarantee that the simulator never ran at an illegal one::

    result = archeng.solve(model, simulator)
"""

from archeng import errors
from archeng._version import __version__
from archeng.adapters.minimize import minimize
from archeng.diagnose import Diagnosis, diagnose
from archeng.model import Item, Model, from_nl, from_nlp, from_opti, from_pyomo, from_scipy
from archeng.progress import ProgressLine
from archeng.pyomo_solver import register as _register_pyomo_solver
from archeng.result import Result, Status
from archeng.runner import (
    Candidate,
    Run,
    read_journal,
    resume,
    sample_feasible,
    solve,
    sweep,
)
from archeng.settings import Settings
from archeng.simulator import CommandSimulator, Design, Evaluation, read_json, read_regex
from archeng.strategy import StopReason

_register_pyomo_solver()

__all__ = [
    "Candidate",
    "CommandSimulator",
    "Design",
    "Diagnosis",
    "Evaluation",
    "Item",
    "Model",
    "ProgressLine",
    "Result",
    "Run",
    "Settings",
    "Status",
    "StopReason",
    "__version__",
    "diagnose",
    "errors",
    "from_nl",
    "from_nlp",
    "from_opti",
    "from_pyomo",
    "from_scipy",
    "minimize",
    "read_journal",
    "read_json",
    "read_regex",
    "resume",
    "sample_feasible",
    "solve",
    "sweep",
]
