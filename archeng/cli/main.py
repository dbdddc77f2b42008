"""Argument parser of the command line. Each command is one function that returns an exit code."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from archeng._version import __version__
from archeng.cli.check import check
from archeng.cli.journals import export, status
from archeng.cli.showing import dashboard, report
from archeng.cli.study import go_on, run
from archeng.errors import ArchengError

_Commands = argparse._SubParsersAction


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; 0 if all went well, 1 if the answer is no, 2 for a wrong input."""
    options = _parser().parse_args(arguments)
    try:
        return int(options.command(options))
    except ArchengError as error:
        sys.stderr.write(f"archeng: error: {error}\n")
        return 2
    except BrokenPipeError:  # the reader of our output, such as `head`, has enough
        return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="archeng", description="Engineering design with expensive simulators."
    )
    parser.add_argument("--version", action="version", version=f"archeng {__version__}")
    commands = parser.add_subparsers(title="commands", required=True, metavar="command")
    _add_check(commands)
    _add_run(commands)
    _add_resume(commands)
    _add_status(commands)
    _add_report(commands)
    _add_dashboard(commands)
    _add_export(commands)
    return parser


def _add_check(commands: _Commands[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "check",
        help="show a model and diagnose its constraints",
        description="Print variables, rows with their kinds, and a diagnosis: a feasible design "
        "or a minimal set of conflicting constraints; degrees of freedom, redundant and badly "
        "scaled rows. Exit code 1 if no feasible design is found. No simulator is called.",
    )
    parser.add_argument("file", help="an .nl file, or a Python file that defines a model")
    _add_object(parser)
    parser.add_argument("--seed", type=int, default=0, help="seed of the search (default 0)")
    parser.add_argument("--json", action="store_true", help="print the diagnosis as JSON")
    parser.set_defaults(command=check)


def _add_run(commands: _Commands[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "run",
        help="solve a study",
        description="Solve the study of a Python file, which defines `model`, `simulator` and, if "
        "wanted, `options` (a dictionary of keywords of archeng.solve).",
    )
    parser.add_argument("study", help="a Python file")
    _add_object(parser)
    _add_limits(parser)
    parser.add_argument("--seed", type=int, help="same seed, same run")
    parser.add_argument("--restarts", type=int, help="BIPOP restarts after convergence")
    parser.add_argument("--population-size", type=int, help="candidates per generation")
    parser.add_argument("--sense", choices=("minimize", "maximize"))
    parser.add_argument("--journal", help="SQLite file that keeps every call, for `resume`")
    parser.add_argument(
        "--reuse", action="append", metavar="JOURNAL", help="journal of an earlier run"
    )
    _add_runtime(parser)
    parser.set_defaults(command=run)


def _add_resume(commands: _Commands[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "resume",
        help="go on with a run that was stopped, or that died",
        description="Go on with the run of a journal, exactly. The limits, if given, replace those "
        "of the journal. The study is needed for its simulator.",
    )
    parser.add_argument("journal", help="the file that `archeng run --journal` wrote")
    parser.add_argument("study", nargs="?", help="the Python file of the study")
    _add_object(parser)
    _add_limits(parser)
    parser.add_argument(
        "--retry-failed",
        action="store_true",
        help="simulate the failed calls of the unfinished generation again",
    )
    _add_runtime(parser)
    parser.set_defaults(command=go_on)


def _add_status(commands: _Commands[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "status",
        help="show where a run stands, also while it runs",
        description="Print calls, best design and state of the run of a journal.",
    )
    parser.add_argument("journal")
    parser.set_defaults(command=status)


def _add_report(commands: _Commands[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "report",
        help="write a report of a run as one HTML file, or as PDF",
        description="Write a report of a run: what was asked, the best design, convergence, what "
        "blocks the design, failures, and how to reproduce it. The HTML file needs no other file "
        "and no network. Also while the run goes on; the journal is only read.",
    )
    parser.add_argument("run", help="a journal, or a result saved as JSON")
    parser.add_argument(
        "-o", "--output", metavar="FILE", help="the HTML file (default: beside the run)"
    )
    parser.add_argument(
        "--pdf",
        nargs="?",
        const="",
        metavar="FILE",
        help="also a PDF (default name: that of the HTML file)",
    )
    parser.set_defaults(command=report)


def _add_dashboard(commands: _Commands[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "dashboard",
        help="follow a run in the browser while it goes on",
        description="Serve the report of a journal on 127.0.0.1 and keep it up to date while the "
        "run goes on. The journal is only read. Ctrl-C ends the dashboard, not the run.",
    )
    parser.add_argument("journal")
    parser.add_argument(
        "--port", type=int, help="where to listen (default: 8517, or a free one if that is taken)"
    )
    parser.add_argument("--no-browser", action="store_true", help="do not open a browser")
    parser.set_defaults(command=dashboard)


def _add_export(commands: _Commands[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "export",
        help="write every call of a journal as CSV, or into an Optuna study",
        description="Write every finished call of a journal as CSV, with full precision, or as "
        "trials of an Optuna study.",
    )
    parser.add_argument("journal")
    parser.add_argument("--csv", metavar="FILE", help="where to; standard output by default")
    parser.add_argument("--optuna", metavar="URL", help="storage, such as sqlite:///study.db")
    parser.add_argument("--study", metavar="NAME", help="name of the Optuna study")
    parser.add_argument("--update", action="store_true", help="add what an Optuna study lacks")
    parser.set_defaults(command=export)


def _add_object(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--object",
        help="name of the model, or of a function without arguments that returns it, in a "
        "Python file (default: `model`, or the only model in it)",
    )


def _add_limits(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--max-evaluations", type=int, help="limit on simulator calls")
    parser.add_argument("--max-time", type=float, help="limit in seconds")
    parser.add_argument("--target", type=float, help="stop at a design this good")


def _add_runtime(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--workers",
        type=_workers,
        help="processes (-1: one per core), threads:N, or the address of a Dask scheduler",
    )
    parser.add_argument("--timeout", type=float, help="seconds that one call may take")
    parser.add_argument("--retries", type=int, help="how often a failed call is repeated")
    parser.add_argument("--max-failures", type=int, help="stop when more calls have failed")
    parser.add_argument("--on-failure", choices=("rank_last", "raise"))
    parser.add_argument("--output", metavar="FILE", help="save the result as JSON")
    parser.add_argument("--quiet", action="store_true", help="no progress")


def _workers(text: str) -> int | str:
    try:
        return int(text)
    except ValueError:
        return text
