"""Twenty small design models with a planted mistake, to test ``archeng.diagnose``."""

from case_studies.broken_models.definition import Broken
from case_studies.broken_models.suite import MODELS, Verdict, judge

__all__ = ["MODELS", "Broken", "Verdict", "judge"]
