"""Feasible designs before the first simulation: a few to begin at, or many that cover the set."""

from archeng.sampling.designs import Designs
from archeng.sampling.fill import space_filling_points
from archeng.sampling.search import deviations, feasible_points

__all__ = ["Designs", "deviations", "feasible_points", "space_filling_points"]
