"""AMPL ``.nl`` files as archeng models."""

from archeng.model.nl.importer import from_nl

__all__ = ["from_nl"]
