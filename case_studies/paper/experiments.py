"""The experiments by name. A new one is an import and a line here."""

from __future__ import annotations

from case_studies.paper import active_set
from case_studies.paper.harness import Experiment

EXPERIMENTS: dict[str, Experiment] = {module.NAME: module for module in (active_set,)}
