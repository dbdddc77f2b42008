"""The experiments by name. A new one is an import and a line here."""

from __future__ import annotations

from case_studies.paper import (
    active_set,
    al_mcr,
    general,
    invariance,
    median,
    methods,
    nearest,
    single,
    systems,
    taxonomy,
)
from case_studies.paper.harness import Experiment

EXPERIMENTS: dict[str, Experiment] = {
    "active-set": active_set,
    "al-mcr": al_mcr,
    "methods": methods,
    "median": median,
    "general": general,
    "single": single,
    "nearest": nearest,
    "invariance": invariance,
    "taxonomy": taxonomy,
    "systems": systems,
}
