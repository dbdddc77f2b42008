"""COCO's suite bbob-constrained: 54 functions with explicit constraints.

``python -m case_studies.bbob_constrained --help``
"""
