"""Completion in a real bash; the scripts of the other shells are made from the same parser."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pexpect
import pytest
from cli_helpers import PATIENCE, command, environment

from archeng.cli.new import templates

BASH = shutil.which("bash") or "bash"
COMMANDS = {
    "new", "check", "run", "resume", "status", "report", "dashboard", "export", "compare",
    "explain", "completion",
}  # fmt: skip


@pytest.fixture
def script(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    assert command("completion", "bash") == 0
    path = tmp_path / "archeng.bash"
    path.write_text(capsys.readouterr().out)
    return path


def complete(script: Path, line: str) -> set[str]:
    """Return what bash offers at the end of a line."""
    words = line.split(" ")
    quoted = " ".join(f"'{w}'" for w in words)
    text = (
        f"source {script}; COMP_WORDS=({quoted}); COMP_CWORD={len(words) - 1}; _archeng; "
        'printf "%s\\n" "${COMPREPLY[@]}"'
    )
    ended = subprocess.run(
        [BASH, "--norc", "-u", "-c", text],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert ended.stderr == ""
    return set(ended.stdout.split())


def test_commands_options_and_values(script: Path) -> None:
    assert complete(script, "archeng ") >= COMMANDS
    assert complete(script, "archeng re") == {"resume", "report"}
    assert "run" not in complete(script, "archeng re")
    assert complete(script, "archeng --") == {"--help", "--version"}
    assert complete(script, "archeng new my --te") == {"--template"}
    assert complete(script, "archeng new my --template ") == set(templates())
    assert complete(script, "archeng new my --template c") == {"casadi", "cluster", "command"}
    assert complete(script, "archeng run --max-") == {
        "--max-evaluations", "--max-time", "--max-failures",
    }  # fmt: skip
    assert complete(script, "archeng run --sense m") == {"minimize", "maximize"}
    assert complete(script, "archeng completion ") == {"bash", "zsh", "fish"}
    assert "--json" in complete(script, "archeng status -")


def test_files_are_left_to_the_shell(script: Path) -> None:
    assert complete(script, "archeng run --journal ") == set()
    assert complete(script, "archeng status ") == set()
    assert complete(script, "archeng run --seed ") == set()


def test_the_tab_key(script: Path, tmp_path: Path) -> None:
    """In an interactive shell on a terminal: words, and files where files belong."""
    (tmp_path / "long_name_of_a_journal.db").write_text("")
    shell = pexpect.spawn(
        BASH,
        ["--norc", "--noprofile", "-i"],
        cwd=str(tmp_path),
        env={**environment(), "PS1": "$ ", "INPUTRC": "/dev/null"},
        encoding="utf-8",
        timeout=PATIENCE,
    )
    shell.sendline(f"bind 'set enable-bracketed-paste off'; source {script}; echo rea''dy")
    shell.expect("ready")
    shell.send("echo; archeng stat\tlong\t")
    shell.expect(r"archeng status long_name_of_a_journal\.db")
    shell.send("\x15archeng new x --template pyo\t")
    shell.expect("--template pyomo")
    shell.close(force=True)


def test_fish_and_zsh_scripts_know_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    command("completion", "fish")
    fish = capsys.readouterr().out
    for name in COMMANDS:
        assert f"__fish_use_subcommand -a {name} -d '" in fish
    assert '-l sense -x -a "minimize maximize"' in fish
    command("completion", "zsh")
    zsh = capsys.readouterr().out
    assert zsh.startswith("autoload -U +X bashcompinit && bashcompinit\n")
    command("completion", "bash")
    assert zsh.endswith(capsys.readouterr().out)
