"""The report as a list of sections."""

from __future__ import annotations

from archeng.report.asked import asked, reproduce
from archeng.report.blocked import constraints, failures, repairs, search
from archeng.report.blocks import Section
from archeng.report.found import best_design, convergence, designs, summary
from archeng.report.shown import Shown


def sections(shown: Shown) -> list[Section]:
    """Return everything that there is to say about a run, the most important first."""
    parts = (
        summary, best_design, asked, convergence, designs, constraints, repairs, failures, search,
        reproduce,
    )  # fmt: skip
    return [part(shown) for part in parts]
