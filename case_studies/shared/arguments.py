"""Command lines of case studies: options that they share, and what they mean."""

from __future__ import annotations

import argparse
import functools
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

Main = Callable[[Sequence[str] | None], int]


def study_parser(
    study: str, description: str, *, seeds: str, calls: str, out: str, quick: str
) -> argparse.ArgumentParser:
    """Return a parser with ``--seeds``, ``--calls``, ``--out`` and ``--quick``.

    Parameters
    ----------
    study : str
        The package below ``case_studies``.
    description : str
    seeds, calls, out, quick : str
        Help of the options: what they count, and what is usual.
    """
    parser = argparse.ArgumentParser(
        prog=f"python -m case_studies.{study}", description=description
    )
    parser.add_argument("--seeds", type=positive, metavar="N", help=seeds)
    parser.add_argument("--calls", type=positive, metavar="N", help=calls)
    parser.add_argument("--out", type=Path, metavar="DIR", help=out)
    parser.add_argument("--quick", action="store_true", help=quick)
    return parser


def command_of(study: str, argv: Sequence[str] | None) -> str:
    """Return the command that ``argv`` stands for (None: that of this process)."""
    words = sys.argv[1:] if argv is None else argv
    return " ".join([f"python -m case_studies.{study}", *words])


def interruptible(main: Main) -> Main:
    """Let Ctrl-C end a command that saves what it has with a sentence and exit code 130."""

    @functools.wraps(main)
    def wrapped(argv: Sequence[str] | None = None) -> int:
        try:
            return main(argv)
        except KeyboardInterrupt:
            print("stopped; the same command goes on from here.", file=sys.stderr)
            return 130

    return wrapped


def positive(text: str) -> int:
    """Read a positive number from the command line."""
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"must be at least 1, got {number}")
    return number


def chosen(names: str | None, methods: Iterable[str], kind: str = "method") -> list[str]:
    """Return the methods (or another kind) of a comma-separated list, all of them for None.

    Raises
    ------
    ValueError
        There is none of that name; the message lists those there are.
    """
    every = list(methods)
    if names is None:
        return every
    wanted = list(dict.fromkeys(name.strip() for name in names.split(",") if name.strip()))
    unknown = [name for name in wanted if name not in every]
    if unknown or not wanted:
        what = f"no {kind} is named {', '.join(unknown)}" if unknown else f"no {kind} is named"
        raise ValueError(f"{what}; there are {', '.join(every)}.")
    return wanted
