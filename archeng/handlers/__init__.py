"""Constraint handlers on one CMA-ES: ARCH, and the methods that it is compared with."""

from archeng.handlers.arch import ArchSearch, Repairs
from archeng.handlers.base import Handler, Population, Search
from archeng.handlers.choice import make_handler

__all__ = ["ArchSearch", "Handler", "Population", "Repairs", "Search", "make_handler"]
