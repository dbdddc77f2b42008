"""``archeng completion``: scripts for shells, made from the parser so that they are never stale."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from dataclasses import dataclass

from archeng.cli.templates import templates
from archeng.errors import StudyFileError

SHELLS = ("bash", "zsh", "fish")


@dataclass(frozen=True)
class _Option:
    """An option of a command: its names, its help, and what may follow it."""

    names: tuple[str, ...]
    help: str
    takes_value: bool
    values: tuple[str, ...]


@dataclass(frozen=True)
class _Command:
    """A command: its help, its options, and the words that it takes (none: files)."""

    name: str
    help: str
    options: tuple[_Option, ...]
    words: tuple[str, ...]


def completion(options: argparse.Namespace, parser: argparse.ArgumentParser) -> int:
    """Print the script for a shell."""
    commands = list(_commands(parser))
    if options.shell == "fish":
        sys.stdout.write(_fish(commands))
    else:
        head = "autoload -U +X bashcompinit && bashcompinit\n" if options.shell == "zsh" else ""
        sys.stdout.write(head + _bash(commands))
    return 0


def _commands(parser: argparse.ArgumentParser) -> Iterator[_Command]:
    (group,) = (a for a in parser._actions if isinstance(a, argparse._SubParsersAction))
    helps = {a.dest: a.help or "" for a in group._choices_actions}
    for name, command in group.choices.items():
        options: list[_Option] = []
        words: tuple[str, ...] = ()
        for action in command._actions:
            values = tuple(map(str, action.choices or ()))
            if not action.option_strings:
                words = values or words
                continue
            if "--template" in action.option_strings:
                values = _template_names()
            names = tuple(action.option_strings)
            options.append(_Option(names, action.help or "", action.nargs != 0, values))
        yield _Command(name, helps.get(name, ""), tuple(options), words)


def _template_names() -> tuple[str, ...]:
    try:
        return tuple(templates())
    except StudyFileError:
        return ()


_BASH = """\
# Completion of archeng: put this where your shell reads it, or: source <(archeng completion bash)
_archeng() {{
    local current="${{COMP_WORDS[COMP_CWORD]}}" previous="${{COMP_WORDS[COMP_CWORD-1]}}"
    local command="" options="" words="" i
    COMPREPLY=()
    for ((i = 1; i < COMP_CWORD; i++)); do
        case "${{COMP_WORDS[i]}}" in
            {names}) command="${{COMP_WORDS[i]}}"; break ;;
        esac
    done
    case "$command $previous" in
{values}
    esac
    case "$command" in
        "") options="--help --version"; words="{all}" ;;
{commands}
    esac
    if [[ "$current" == -* ]]; then
        COMPREPLY=($(compgen -W "$options" -- "$current"))
    elif [[ -n "$words" ]]; then
        COMPREPLY=($(compgen -W "$words" -- "$current"))
    fi  # without an answer the shell completes files
}}
complete -o bashdefault -o default -F _archeng archeng
"""


def _bash(commands: list[_Command]) -> str:
    values, parts = [], []
    for command in commands:
        for option in command.options:
            if not option.takes_value:
                continue
            pattern = "|".join(f'"{command.name} {name}"' for name in option.names)
            words = " ".join(option.values)
            reply = f'COMPREPLY=($(compgen -W "{words}" -- "$current")); ' if words else ""
            values.append(f"        {pattern}) {reply}return ;;")
        options = " ".join(name for o in command.options for name in o.names)
        words = f'; words="{" ".join(command.words)}"' if command.words else ""
        parts.append(f'        {command.name}) options="{options}"{words} ;;')
    names = [c.name for c in commands]
    return _BASH.format(
        names="|".join(names),
        all=" ".join(names),
        values="\n".join(values),
        commands="\n".join(parts),
    )


def _fish(commands: list[_Command]) -> str:
    lines = ["# Completion of archeng for fish"]
    for command in commands:
        about = f"-a {command.name} -d {_quoted(command.help)}"
        lines.append(f"complete -c archeng -f -n __fish_use_subcommand {about}")
    for command in commands:
        seen = f'-n "__fish_seen_subcommand_from {command.name}"'
        if command.words:
            lines.append(f'complete -c archeng -f {seen} -a "{" ".join(command.words)}"')
        for option in command.options:
            names = " ".join(
                f"-l {n[2:]}" if n.startswith("--") else f"-s {n[1:]}" for n in option.names
            )
            value = f' -x -a "{" ".join(option.values)}"' if option.values else ""
            if option.takes_value and not option.values:
                value = " -r"
            lines.append(f"complete -c archeng {seen} {names}{value} -d {_quoted(option.help)}")
    return "\n".join(lines) + "\n"


def _quoted(text: str) -> str:
    """Return a text in single quotes, as fish wants it."""
    plain = text.replace("%%", "%").replace("\\", "\\\\").replace("'", "\\'")
    return f"'{plain}'"
