"""Showing results: text tables, progress lines, figures."""

from archeng.report.progress import ProgressLine
from archeng.report.tables import result_table

__all__ = ["ProgressLine", "result_table"]
