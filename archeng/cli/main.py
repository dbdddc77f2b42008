"""Argument parser of the command line. Each command is one function that returns an exit code."""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
from collections.abc import Sequence
from typing import Any

from archeng._version import __version__
from archeng.checks import did_you_mean
from archeng.cli.check import check
from archeng.cli.compare import compare
from archeng.cli.completion import SHELLS, completion
from archeng.cli.explain import explain
from archeng.cli.journals import export, status
from archeng.cli.new import new
from archeng.cli.showing import dashboard, report
from archeng.cli.study import INTERRUPTED, go_on, run
from archeng.cli.texts import EXAMPLES, EXIT_CODES, OVERVIEW
from archeng.errors import ArchengError
from archeng.plain_text import visible

_Commands = argparse._SubParsersAction

_STUDY = "a study's folder, its study.toml, or a Python file (default: the present folder)"
_RUN = "a study's folder, its study.toml, or a journal (default: the present folder)"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; 0 if all went well, 1 if the answer is no, 2 for a wrong input."""
    for stream in (sys.stdout, sys.stderr):  # consoles that do not know all characters
        with contextlib.suppress(AttributeError, OSError, ValueError):
            stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    options = _parsed(arguments)
    try:
        code = int(options.command(options))
        sys.stdout.flush()
        return code
    except ArchengError as error:
        sys.stderr.write(
            visible(f"archeng: error: {error} [{error.id}]\n")
            + f"archeng: `archeng explain {error.id}` says what to do\n"
        )
        return 2
    except KeyboardInterrupt:
        sys.stderr.write("archeng: interrupted\n")
        return INTERRUPTED
    except BrokenPipeError:  # the reader of our output, such as `head`, has enough
        with contextlib.suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


def _parsed(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Parse what was typed; of options that do not exist, the ones that were meant are named."""
    options, unknown = make_parser().parse_known_args(arguments)
    if unknown:
        known = [text for action in options.parser._actions for text in action.option_strings]
        typed = [word.split("=")[0] for word in unknown if word.startswith("-")]
        hints = "".join(did_you_mean(word, known) for word in typed)
        options.parser.error(f"unrecognized arguments: {' '.join(unknown)}{hints and '.' + hints}")
    return options


def make_parser() -> argparse.ArgumentParser:
    """Return the parser of all commands."""
    parser = argparse.ArgumentParser(
        prog="archeng",
        description="Engineering design with expensive simulators.",
        epilog=OVERVIEW,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"archeng {__version__}")
    commands = parser.add_subparsers(title="commands", required=True, metavar="command")
    _add_new(commands)
    _add_check(commands)
    _add_run(commands)
    _add_resume(commands)
    _add_status(commands)
    _add_report(commands)
    _add_dashboard(commands)
    _add_export(commands)
    _add_compare(commands)
    _add_explain(commands)
    _add_completion(commands)
    return parser


def _command(
    commands: _Commands[argparse.ArgumentParser], name: str, function: Any, **texts: Any
) -> argparse.ArgumentParser:
    """Add a command with its examples and the exit codes."""
    parser = commands.add_parser(
        name,
        epilog=f"{EXAMPLES[name]}\n{EXIT_CODES}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        **texts,
    )
    parser.set_defaults(command=function, parser=parser)
    return parser


def _add_new(commands: _Commands[argparse.ArgumentParser]) -> None:
    parser = _command(
        commands,
        "new",
        new,
        help="make a new study from a template",
        description="Make a folder with a complete small study that runs at once, to be edited.",
    )
    parser.add_argument("name", nargs="?", help="name of the study and of its folder")
    parser.add_argument("--template", metavar="NAME", help="which one (default casadi)")
    parser.add_argument("--list", action="store_true", help="describe the templates")
    parser.add_argument("--directory", metavar="DIR", help="where the folder is made (default .)")
    parser.add_argument(
        "--force",
        action="store_true",
        help="write the files of the template into a folder that exists; journals, results and "
        "your other files stay",
    )
    _add_json(parser)


def _add_check(commands: _Commands[argparse.ArgumentParser]) -> None:
    parser = _command(
        commands,
        "check",
        check,
        help="show a model and diagnose its constraints",
        description="Print variables, rows with their kinds, and a diagnosis: a feasible design\n"
        "or a minimal set of conflicting constraints; degrees of freedom, redundant and badly\n"
        "scaled rows. Exit code 1 if no feasible design is found. No simulator is called, except\n"
        "with --simulate: once, at the first design of the run.",
    )
    parser.add_argument(
        "file", nargs="?", help="a study's folder, study.toml, Python file, .nl file or journal"
    )
    _add_object(parser)
    parser.add_argument("--seed", type=int, default=0, help="seed of the search (default 0)")
    parser.add_argument(
        "--simulate",
        action="store_true",
        help="make one call of the simulator; show its answer and its time",
    )
    _add_json(parser)


def _add_run(commands: _Commands[argparse.ArgumentParser]) -> None:
    parser = _command(
        commands,
        "run",
        run,
        help="solve a study",
        description="Solve a study: a folder with study.toml, or a Python file that defines\n"
        "`model`, `simulator` and, if wanted, `options` (keywords of archeng.solve). What is\n"
        "typed here goes before what the study says.",
    )
    parser.add_argument("study", nargs="?", help=_STUDY)
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
    parser.add_argument(
        "--force",
        action="store_true",
        help="begin anew although there is a journal; it is kept under another name",
    )
    _add_runtime(parser)


def _add_resume(commands: _Commands[argparse.ArgumentParser]) -> None:
    parser = _command(
        commands,
        "resume",
        go_on,
        help="go on with a run that was stopped, or that died",
        description="Go on with a run, exactly: nothing that had finished is simulated again.\n"
        "Limits that are typed, or that study.toml has, replace those of the journal.",
    )
    parser.add_argument("journal", nargs="?", help=_RUN)
    parser.add_argument("study", nargs="?", help="with a journal: the study with its simulator")
    _add_object(parser)
    _add_limits(parser)
    parser.add_argument(
        "--retry-failed",
        action="store_true",
        help="simulate the failed calls of the unfinished generation again",
    )
    _add_runtime(parser)


def _add_status(commands: _Commands[argparse.ArgumentParser]) -> None:
    parser = _command(
        commands,
        "status",
        status,
        help="show where a run stands, also while it runs",
        description="Print calls, best design and state of a run.",
    )
    parser.add_argument("journal", nargs="?", help=_RUN)
    _add_json(parser)


def _add_report(commands: _Commands[argparse.ArgumentParser]) -> None:
    parser = _command(
        commands,
        "report",
        report,
        help="write a report of a run as one HTML file, or as PDF",
        description="Write a report of a run: what was asked, the best design, convergence, what\n"
        "blocks the design, failures, and how to reproduce it. The HTML file needs no other file\n"
        "and no network. Also while the run goes on; the journal is only read.",
    )
    parser.add_argument(
        "run",
        nargs="?",
        help="a study's folder, a journal, or a result saved as JSON (default: the present folder)",
    )
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


def _add_dashboard(commands: _Commands[argparse.ArgumentParser]) -> None:
    parser = _command(
        commands,
        "dashboard",
        dashboard,
        help="follow a run in the browser while it goes on",
        description="Serve the report of a run on 127.0.0.1 and keep it up to date while the run\n"
        "goes on. The journal is only read. Ctrl-C ends the dashboard, not the run.",
    )
    parser.add_argument("journal", nargs="?", help=_RUN)
    parser.add_argument(
        "--port", type=int, help="where to listen (default: 8517, or a free one if that is taken)"
    )
    parser.add_argument("--no-browser", action="store_true", help="do not open a browser")


def _add_export(commands: _Commands[argparse.ArgumentParser]) -> None:
    parser = _command(
        commands,
        "export",
        export,
        help="write every call of a run as CSV or JSON, or into an Optuna study",
        description="Write every finished call of a run, with full precision, or make them\n"
        "trials of an Optuna study.",
    )
    parser.add_argument("journal", nargs="?", help=_RUN)
    parser.add_argument("--output", metavar="FILE", help="where to; standard output by default")
    parser.add_argument("--csv", metavar="FILE", help="the same as --output")
    _add_json(parser, "JSON instead of CSV: a list with one object per call")
    parser.add_argument("--optuna", metavar="URL", help="storage, such as sqlite:///study.db")
    parser.add_argument("--study", metavar="NAME", help="name of the Optuna study")
    parser.add_argument("--update", action="store_true", help="add what an Optuna study lacks")


def _add_compare(commands: _Commands[argparse.ArgumentParser]) -> None:
    parser = _command(
        commands,
        "compare",
        compare,
        help="put runs side by side",
        description="What differs in the set-up, and what came of it: calls, best objective,\n"
        "calls to reach the best of the others, simulated constraints, failures, time, designs.",
    )
    parser.add_argument("journals", nargs="+", metavar="journal", help="journals, or studies")
    parser.add_argument("--plot", metavar="FILE", help="save a figure of the convergences")
    _add_json(parser)


def _add_explain(commands: _Commands[argparse.ArgumentParser]) -> None:
    parser = _command(
        commands,
        "explain",
        explain,
        help="say what to do about an error",
        description="Print what an error means and what to do about it, by the id that messages\n"
        "end with.",
    )
    parser.add_argument("id", nargs="?", help="such as ARCH-MODEL (default: list all)")


def _add_completion(commands: _Commands[argparse.ArgumentParser]) -> None:
    parser = _command(
        commands,
        "completion",
        lambda options: completion(options, make_parser()),
        help="print a script that lets a shell complete archeng's commands",
        description="Print a script for a shell: commands, options, templates and files are\n"
        "completed by the Tab key.",
    )
    parser.add_argument("shell", choices=SHELLS)


def _add_object(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--object",
        help="name of the model, or of a function without arguments that returns it, in a "
        "Python file (default: `model`, or the only model in it)",
    )


def _add_json(parser: argparse.ArgumentParser, text: str = "print JSON, for scripts") -> None:
    parser.add_argument("--json", action="store_true", help=text)


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
    _add_json(parser, "print the result as JSON, for scripts")


def _workers(text: str) -> int | str:
    try:
        return int(text)
    except ValueError:
        return text
