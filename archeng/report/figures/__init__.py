"""Figures (needs matplotlib: ``pip install archeng[plot]``)."""

from archeng.report.figures.choice import KINDS, check_matplotlib, plot, sensible
from archeng.report.figures.draw import to_pdf, to_png, to_svg
from archeng.report.figures.insides import KIND_NAMES

__all__ = [
    "KINDS",
    "KIND_NAMES",
    "check_matplotlib",
    "plot",
    "sensible",
    "to_pdf",
    "to_png",
    "to_svg",
]
