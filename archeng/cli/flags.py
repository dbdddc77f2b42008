"""Flags of commands: those of the table of options, and what several commands share."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any

import click

from archeng.options import OPTIONS, Option

Decorator = Callable[[Any], Any]

EXIT_CODES = """\
exit codes:
  0    done
  1    done, but the answer is no: no feasible design (check), or no design that
       satisfies all constraints (run, resume)
  2    not done: wrong arguments, a wrong study, model or journal, a simulator that
       cannot be used; standard error says why
  130  stopped by Ctrl-C; what was simulated is in the journal
"""
_WORDS = {
    "int": int,
    "int, optional": int,
    "int or mapping, optional": int,
    "float, optional": float,
    "path, optional": click.Path(),
}
"""What a word after a flag is, by the type of its option; of others a number or a text."""

CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


def verbatim(*texts: str) -> str:
    """Return paragraphs that click shows as they are, not wrapped."""
    return "\n\n".join(f"\b\n{text.rstrip()}" for text in texts)


def command(name: str, examples: str) -> Decorator:
    """Declare a command; its docstring is the help, which ends with examples and exit codes."""
    epilog = verbatim(f"examples:\n{examples}", EXIT_CODES)
    return click.command(name, epilog=epilog, context_settings=CONTEXT)


def target(name: str, **more: Any) -> Decorator:
    """Declare the argument that names a study, a file or a journal; none is the present folder."""
    return click.argument(name, type=click.Path(), **{"required": False, **more})


def file(*names: str, help: str, **more: Any) -> Decorator:
    """Declare a flag that takes the path of a file."""
    return click.option(*names, type=click.Path(), **{"metavar": "FILE", **more}, help=help)


def switch(*names: str, help: str) -> Decorator:
    """Declare a flag without a value."""
    return click.option(*names, is_flag=True, help=help)


def as_json(help: str = "Print JSON, for scripts.") -> Decorator:
    """Declare ``--json``."""
    return switch("--json", "as_json", help=help)


object_name = click.option(
    "--object",
    "object_name",
    metavar="NAME",
    help="Name of the model, or of a function without arguments that returns it, in a Python file "
    "(default: `model`, or the only model in it).",
)


def _all(*flags: Decorator) -> Decorator:
    """Declare several flags, in their order."""
    return lambda function: functools.reduce(lambda f, flag: flag(f), reversed(flags), function)


of_a_run = _all(
    object_name,
    file("--output", help="Save the result as JSON."),
    switch("--quiet", help="No progress."),
    as_json("Print the result as JSON, for scripts."),
)
"""What `run` and `resume` share beside the options of the table."""


def from_the_table(options: Iterable[Option]) -> Decorator:
    """Declare the flags of options; those that are not typed are None, or empty."""
    return _all(*(_flag(option) for option in options if option.flag))


def _flag(option: Option) -> Decorator:
    name = option.flag_name
    if option.each:
        texts = "texts" in option.kind
        how: dict[str, Any] = {
            "type": _text_pair if texts else _pair,
            "metavar": "NAME=TEXT" if texts else "NAME=VALUE",
            "callback": _by_name,
        }
        return click.option(name, option.name, multiple=True, help=option.help, **how)
    if option.kind == "bool":
        return switch(name, help=option.help)
    if option.kind.startswith("sequence of"):
        what = "JOURNAL" if option.kind == "sequence of paths" else "FILE"
        return file(name, help=option.help, multiple=True, metavar=what)
    kind: Any = click.Choice(option.words) if option.words else _WORDS.get(option.kind)
    metavar = None if kind else option.name.upper()
    return click.option(name, type=kind or _number_or_text, metavar=metavar, help=option.help)


def _pair(text: str) -> tuple[str, float | list[float]]:
    """Return a name with a number, or with several: ``load=15e3``, ``loads=1,2,3``."""
    name, _, value = text.rpartition("=")
    try:
        numbers = [float(part) for part in value.split(",")] if name.strip() else []
    except ValueError:
        numbers = []
    if not numbers:
        raise click.BadParameter(f"expected NAME=NUMBER or NAME=NUMBER,NUMBER,..., got {text!r}.")
    return name.strip(), numbers if "," in value else numbers[0]


def _text_pair(text: str) -> tuple[str, str]:
    """Return a name with a text: ``thickness=t_mm``."""
    name, _, value = text.partition("=")
    if not name.strip() or not value.strip():
        raise click.BadParameter(f"expected NAME=TEXT, got {text!r}.")
    return name.strip(), value.strip()


def _by_name(
    ctx: click.Context, param: click.Parameter, pairs: tuple[tuple[str, Any], ...]
) -> dict[str, Any] | None:
    """Return what was typed as a dictionary; None if nothing was."""
    names = [name for name, _ in pairs]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise click.BadParameter(f"{', '.join(twice)}: typed twice.", ctx, param)
    return dict(pairs) or None


parameters = _flag(OPTIONS["parameters"])
"""For commands that need the values of parameters without a run."""


def _number_or_text(text: str) -> int | str:
    """Return an integer where one is typed: ``4``, but ``threads:4``."""
    try:
        return int(text)
    except ValueError:
        return text


def typed(options: dict[str, Any]) -> dict[str, Any]:
    """Return the options that were typed; the others keep the study's or the library's default."""
    return {k: v for k, v in options.items() if v is not None and v != () and v is not False}
