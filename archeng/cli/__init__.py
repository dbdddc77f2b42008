"""The command line: ``archeng check``, also as ``python -m archeng``."""

from archeng.cli.main import main

__all__ = ["main"]
