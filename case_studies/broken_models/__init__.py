"""Twenty small design models with a planted mistake, to test ``archeng.diagnose``."""

from case_studies.broken_models.definition import Broken
from case_studies.broken_models.structure import Structural, judge_structure
from case_studies.broken_models.suite import MODELS, STRUCTURAL, Verdict, judge

__all__ = [
    "MODELS",
    "STRUCTURAL",
    "Broken",
    "Structural",
    "Verdict",
    "judge",
    "judge_structure",
]
