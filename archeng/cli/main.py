"""``archeng``: all commands, each a function of some module that returns an exit code."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Sequence

import click
from click.shell_completion import get_completion_class, shell_complete

from archeng._version import __version__
from archeng.cli.check import check
from archeng.cli.compare import compare
from archeng.cli.explain import explain
from archeng.cli.flags import CONTEXT, EXIT_CODES, command, verbatim
from archeng.cli.journals import dashboard, export, report, status
from archeng.cli.new import new
from archeng.cli.run import INTERRUPTED, resume, run
from archeng.cli.table_import import import_
from archeng.errors import ArchengError
from archeng.plain_text import visible

_OVERVIEW = """\
a study in five commands:
  archeng new my_study     a folder with a model, a simulator and study.toml
  cd my_study
  archeng check            is the model well posed? no simulator is called
  archeng run              simulate; Ctrl-C, crashes and power cuts lose nothing
  archeng resume           go on where it stopped
  archeng report           one HTML file to hand to a colleague

Commands work on the study in the present folder; name another folder, a study.toml,
a Python file or a journal to work on that. `archeng COMMAND --help` has examples.
"""
_COMPLETE = "_ARCHENG_COMPLETE"  # the variable in which a shell asks what may come next


class _InOrder(click.Group):
    """A group that lists its commands in the order of a study, not of the alphabet."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)


@click.group(
    "archeng",
    cls=_InOrder,
    epilog=verbatim(*_OVERVIEW.split("\n\n"), EXIT_CODES),
    context_settings=CONTEXT,
)
@click.version_option(__version__, message="archeng %(version)s")
def commands() -> None:
    """Engineering design with expensive simulators."""


@command(
    "completion",
    """\
  archeng completion bash > ~/.local/share/bash-completion/completions/archeng
  archeng completion zsh >> ~/.zshrc         after the line with compinit
  archeng completion fish > ~/.config/fish/completions/archeng.fish
""",
)
@click.argument("shell", type=click.Choice(("bash", "zsh", "fish")))
def completion(shell: str) -> int:
    """Print a script that lets a shell complete archeng's commands.

    Commands, options, templates and files are completed by the Tab key.
    """
    kind = get_completion_class(shell)
    assert kind is not None  # click knows the three shells
    sys.stdout.write(kind(commands, {}, "archeng", _COMPLETE).source())
    return 0


for _command in (
    new, check, run, resume, status, report, dashboard, export, import_, compare, explain,
    completion,
):  # fmt: skip
    commands.add_command(_command)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; 0 if all went well, 1 if the answer is no, 2 for a wrong input."""
    for stream in (sys.stdout, sys.stderr):  # consoles that do not know all characters
        with contextlib.suppress(AttributeError, OSError, ValueError):
            stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    try:
        if _COMPLETE in os.environ:
            return shell_complete(commands, {}, "archeng", _COMPLETE, os.environ[_COMPLETE])
        words = list(sys.argv[1:] if arguments is None else arguments)
        with commands.make_context("archeng", words) as context:
            code = int(commands.invoke(context))
        sys.stdout.flush()
        return code
    except click.exceptions.Exit as end:  # of --help and --version
        return end.exit_code
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except ArchengError as error:
        sys.stderr.write(
            visible(f"archeng: error: {error} [{error.id}]\n")
            + f"archeng: `archeng explain {error.id}` says what to do\n"
        )
        return 2
    except (KeyboardInterrupt, click.Abort):
        sys.stderr.write("archeng: interrupted\n")
        return INTERRUPTED
    except BrokenPipeError:  # the reader of our output, such as `head`, has enough
        with contextlib.suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
