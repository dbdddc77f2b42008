"""Completion: what is offered, and the Tab key in real shells, as far as they are installed."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pexpect
import pytest
from cli_helpers import PATIENCE, command, environment

from archeng.cli.new import templates

COMMANDS = {
    "new", "check", "run", "resume", "status", "report", "dashboard", "export", "compare",
    "explain", "completion", "import",
}  # fmt: skip


@pytest.fixture
def offered(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    """Return what is offered at the end of a line, as the script of bash asks for it."""

    def ask(line: str) -> set[str]:
        words = line.split(" ")
        monkeypatch.setenv("_ARCHENG_COMPLETE", "bash_complete")
        monkeypatch.setenv("COMP_WORDS", line)
        monkeypatch.setenv("COMP_CWORD", str(len(words) - 1))
        capsys.readouterr()
        assert command() == 0
        return set(capsys.readouterr().out.split())

    return ask


def plain(*words: str) -> set[str]:
    return {f"plain,{word}" for word in words}


def test_commands_options_and_values(offered) -> None:
    assert offered("archeng ") == plain(*COMMANDS)
    assert offered("archeng re") == plain("resume", "report")
    assert offered("archeng --") == plain("--help", "--version")
    assert offered("archeng new my --te") == plain("--template")
    assert offered("archeng new my --template ") == plain(*templates())
    assert offered("archeng new my --template c") == plain(
        "casadi", "catalogue", "cluster", "command"
    )
    assert offered("archeng run --max-") == plain(
        "--max-evaluations", "--max-time", "--max-failures", "--max-cost"
    )
    assert offered("archeng run --sense m") == plain("minimize", "maximize")
    assert offered("archeng completion ") == plain("bash", "zsh", "fish")
    assert plain("--json") <= offered("archeng status -")


def test_files_are_left_to_the_shell(offered) -> None:
    assert offered("archeng run --journal r") == {"file,r"}
    assert offered("archeng status r") == {"file,r"}
    assert offered("archeng run --seed ") == set()


SHELLS = {
    "bash": ("bash", ["--norc", "--noprofile", "-i"], "bind 'set enable-bracketed-paste off'; "),
    "zsh": ("zsh", ["-f", "-i"], "autoload -U compinit; compinit -u; "),
    "fish": ("fish", ["--no-config", "-i"], ""),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", SHELLS)
def test_the_tab_key(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """In an interactive shell on a terminal: words, and files where files belong."""
    program, arguments, before = SHELLS[name]
    if shutil.which(program) is None:
        pytest.skip(f"{program} is not installed")
    assert command("completion", name) == 0
    (tmp_path / "script").write_text(capsys.readouterr().out)
    (tmp_path / "bin").mkdir()
    own = tmp_path / "bin" / "archeng"
    own.write_text(f'#!/bin/sh\nexec {sys.executable} -m archeng "$@"\n')
    own.chmod(0o755)
    (tmp_path / "long_name_of_a_journal.db").write_text("")
    path = f"{own.parent}:{environment()['PATH']}"
    shell = pexpect.spawn(
        program,
        arguments,
        cwd=str(tmp_path),
        env={
            **environment(),
            "PATH": path,
            "PS1": "$ ",
            "INPUTRC": "/dev/null",
            "HOME": str(tmp_path),
        },
        dimensions=(50, 200),
        encoding="utf-8",
        timeout=PATIENCE,
    )
    shell.sendline(f"{before}source {tmp_path / 'script'}; echo rea''dy")
    shell.expect("ready\r")
    shell.send("archeng stat\t")
    shell.expect("status")
    shell.send("long\t")
    shell.expect(r"_name_of_a_journal\.db")
    shell.send("\x15archeng new x --template pyo\t")
    shell.expect("pyo.*mo")
    shell.close(force=True)
