"""Argument parser of the command line. Each command is one function that returns an exit code."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from archeng._version import __version__
from archeng.cli.check import check
from archeng.errors import ArchengError


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; 0 if all went well, 1 if the answer is no, 2 for a wrong input."""
    options = _parser().parse_args(arguments)
    try:
        return int(options.command(options))
    except ArchengError as error:
        sys.stderr.write(f"archeng: error: {error}\n")
        return 2


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="archeng", description="Engineering design with expensive simulators."
    )
    parser.add_argument("--version", action="version", version=f"archeng {__version__}")
    commands = parser.add_subparsers(title="commands", required=True, metavar="command")
    _add_check(commands)
    return parser


def _add_check(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "check",
        help="show a model and whether a feasible design exists",
        description="Print variables, rows with their kinds, degrees of freedom, and a feasible "
        "design if one is found. Exit code 1 if none is found. No simulator is called.",
    )
    parser.add_argument("file", help="an .nl file, or a Python file that defines a model")
    parser.add_argument(
        "--object",
        help="name of the model, or of a function without arguments that returns it, in a "
        "Python file (default: `model`, or the only model in it)",
    )
    parser.add_argument("--seed", type=int, default=0, help="seed of the search (default 0)")
    parser.set_defaults(command=check)
