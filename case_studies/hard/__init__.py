"""Problems on which archeng was beaten, missed the optimum, or was slow: one table.

``python -m case_studies.hard --help``
"""

from case_studies.hard.suite import Problem, definition, names, problem

__all__ = ["Problem", "definition", "names", "problem"]
