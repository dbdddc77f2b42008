"""Classical engineering design problems as archeng models with black-box objectives.

Explicit constraints, continuous variables, reference optima. See README.md in this directory.

Examples
--------
>>> from case_studies.engineering import names, problem
>>> len(names())
17
>>> round(problem("ten_bar_truss").f_opt, 2)
5060.85
"""

from case_studies.engineering.definition import Definition
from case_studies.engineering.suite import Problem, Published, names, problem

__all__ = ["Definition", "Problem", "Published", "names", "problem"]
