"""Random models with a planted feasible design, solved and judged by an independent referee.

See README.md in this directory.
"""

from case_studies.random_models.models import KINDS, Case, Row, make_case
from case_studies.random_models.referee import violated

__all__ = ["KINDS", "Case", "Row", "make_case", "violated"]
