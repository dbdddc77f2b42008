"""Problems of the Hock and Schittkowski collection as Pyomo models.

W. Hock and K. Schittkowski (1981), "Test Examples for Nonlinear Programming Codes", Lecture
Notes in Economics and Mathematical Systems 187, Springer. See README.md in this directory.

Examples
--------
>>> from case_studies.hock_schittkowski import names, problem
>>> len(names())
79
>>> problem("hs071").source
'HS81 problem 71'
"""

from case_studies.hock_schittkowski.suite import Problem, names, problem

__all__ = ["Problem", "names", "problem"]
