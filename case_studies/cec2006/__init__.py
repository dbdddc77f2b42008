"""The CEC 2006 suite g01 to g24 as archeng models with black-box objectives.

Liang, Runarsson, Mezura-Montes, Clerc, Suganthan, Coello Coello and Deb (2006), "Problem
definitions and evaluation criteria for the CEC 2006 special session on constrained
real-parameter optimization". See README.md in this directory.

Examples
--------
>>> from case_studies.cec2006 import names, problem
>>> len(names())
24
>>> problem("g11").f_opt
0.7499
"""

from case_studies.cec2006.suite import (
    EQUALITY_TOLERANCE,
    Problem,
    add_constraint,
    constraints,
    names,
    problem,
)

__all__ = ["EQUALITY_TOLERANCE", "Problem", "add_constraint", "constraints", "names", "problem"]
