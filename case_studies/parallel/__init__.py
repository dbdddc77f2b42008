"""Time and calls to a target at several widths: ``python -m case_studies.parallel --help``."""
