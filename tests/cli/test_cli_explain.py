"""`archeng explain` knows every error, and every message leads to it."""

from __future__ import annotations

import inspect

import pytest
from cli_helpers import command

import archeng
from archeng.errors import ArchengError

ERRORS = [
    value
    for value in vars(archeng.errors).values()
    if inspect.isclass(value) and issubclass(value, ArchengError)
]


@pytest.mark.parametrize("error", ERRORS)
def test_every_error_is_explained(
    error: type[ArchengError], capsys: pytest.CaptureFixture[str]
) -> None:
    assert command("explain", error.id) == 0
    shown = capsys.readouterr().out
    assert shown.startswith(f"{error.id}\n\n`{error.__name__}`")
    assert len(shown.split()) > 12
    assert not {"<!--", "](", "| ", "()"} & set(shown.split())


def test_a_terminal_gets_no_markdown_tables_or_links(capsys: pytest.CaptureFixture[str]) -> None:
    for error in ERRORS:
        assert command("explain", error.id) == 0
    shown = capsys.readouterr().out
    assert "](" not in shown
    assert "<!--" not in shown
    assert not any(line.startswith("|") for line in shown.splitlines())
    assert ".md" not in shown


def test_all_ids_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert command("explain") == 0
    shown = capsys.readouterr().out
    assert {line.split()[0] for line in shown.splitlines()} == {e.id for e in ERRORS}
    assert all(len(line.split()) > 2 for line in shown.splitlines())


@pytest.mark.parametrize("typed", ["ARCH-STUDY-FILE", "arch-study-file", "study_file"])
def test_an_id_may_be_typed_in_several_ways(typed: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert command("explain", typed) == 0
    assert capsys.readouterr().out.startswith("ARCH-STUDY-FILE\n")


def test_an_unknown_id(capsys: pytest.CaptureFixture[str]) -> None:
    assert command("explain", "ARCH-JOURNL") == 2
    assert "There is no error ARCH-JOURNL. Did you mean ARCH-JOURNAL?" in capsys.readouterr().err
    assert command("explain", "coffee") == 2
    assert "There are ARCH, ARCH-MODEL" in capsys.readouterr().err


def test_errors_on_the_command_line_say_where_to_look(capsys: pytest.CaptureFixture[str]) -> None:
    assert command("status", "no_such.db") == 2
    assert "`archeng explain ARCH-JOURNAL` says what to do" in capsys.readouterr().err
