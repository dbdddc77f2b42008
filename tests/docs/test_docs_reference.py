"""The reference has every public name, setting, status and error, and nothing else."""

from __future__ import annotations

import importlib.util
import inspect
import re
import sys
from dataclasses import fields
from pathlib import Path
from types import ModuleType

import pytest
from docs_pages import ROOT

import archeng
from archeng.cli import main
from archeng.errors import ArchengError
from archeng.options import OPTIONS

REFERENCE = ROOT / "docs" / "reference"


def imported(name: str) -> ModuleType:
    """Import a module of docs/site."""
    path = ROOT / "docs" / "site" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(f"docs_site_{name}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def errors() -> list[type[ArchengError]]:
    found = [
        value
        for value in vars(archeng.errors).values()
        if inspect.isclass(value) and issubclass(value, ArchengError)
    ]
    assert {e.__name__ for e in found} == set(archeng.errors.__all__)
    return found


@pytest.mark.parametrize("page", sorted(REFERENCE.glob("*.md")), ids=lambda p: p.name)
def test_tables_are_those_of_the_code(page: Path) -> None:
    text = page.read_text("utf-8")
    assert imported("tables").renewed(text) == text, "run `make docs` and commit what it renews"


def test_every_error_is_on_its_page_and_no_other() -> None:
    text = (REFERENCE / "errors.md").read_text("utf-8")
    sections = re.findall(r"^## (ARCH[A-Z-]*)\n\n`(\w+)`", text, re.MULTILINE)
    assert sorted(sections) == sorted((e.id, e.__name__) for e in errors())
    listed = re.findall(r"^\| \[(ARCH[A-Z-]*)\]\(#(.*?)\) \| `(\w+)` \|", text, re.MULTILINE)
    assert sorted(listed) == sorted((e.id, e.id.lower(), e.__name__) for e in errors())
    for part in re.split(r"^## ", text, flags=re.MULTILINE)[1:]:
        assert len(part.split("<!--")[0].split()) > 10, f"what to do: {part[:40]}"


def test_subclasses_of_the_errors_elsewhere_are_private() -> None:
    """Whatever else derives from an error of archeng must be in archeng.errors."""

    def below(cls: type[ArchengError]) -> set[type[ArchengError]]:
        return {cls}.union(*(below(sub) for sub in cls.__subclasses__()))

    own = {e for e in below(ArchengError) if e.__module__.startswith("archeng")}
    assert own == set(errors())


def test_ids_are_unique_and_made_from_the_names() -> None:
    ids = [e.id for e in errors()]
    assert len(set(ids)) == len(ids)
    assert archeng.errors.InfeasibleModelError.id == "ARCH-INFEASIBLE-MODEL"
    assert ArchengError.id == "ARCH"


def test_tracebacks_show_the_id_and_messages_stay_as_they_are() -> None:
    error = archeng.errors.JournalError("run.db: is damaged")
    assert str(error) == "run.db: is damaged"
    assert error.__notes__ == ["[ARCH-JOURNAL] `archeng explain ARCH-JOURNAL` says what to do."]


def test_the_command_line_shows_the_id(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["status", "no_such.db"]) == 2
    assert "[ARCH-JOURNAL]" in capsys.readouterr().err


def test_every_setting_is_on_its_page_with_its_default() -> None:
    text = (REFERENCE / "settings.md").read_text("utf-8")
    rows = re.findall(r"^\| `(\w+)` \| `(.*?)` \| (.+) \|$", text, re.MULTILINE)
    assert [name for name, _, _ in rows] == [f.name for f in fields(archeng.Settings)]
    assert {n: d for n, d, _ in rows}["margin"] == "1e-11"
    assert all(len(meaning) > 20 for _, _, meaning in rows)


def test_every_option_is_on_its_pages() -> None:
    settings = (REFERENCE / "settings.md").read_text("utf-8")
    commands = (REFERENCE / "cli.md").read_text("utf-8")
    for option in OPTIONS.values():
        assert f"`{option.name}`" in settings
        assert not option.solve or f"| `{option.name}` | {option.help}" in settings
        if option.section is not None:
            assert f"| `{option.name}` | {option.help}" in commands


def test_every_status_and_stop_reason_has_advice() -> None:
    tables = imported("tables")
    assert {r.name for r in archeng.StopReason} <= set(tables.AFTER_STOP)
    assert {s.name for s in archeng.Status} <= set(tables.AFTER_STATUS)
    text = (REFERENCE / "statuses.md").read_text("utf-8")
    for member in [*archeng.Status, *archeng.StopReason]:
        assert f"| `{member.name}` | {member.value} |" in text


def test_every_public_name_is_in_the_api() -> None:
    text = (REFERENCE / "api.md").read_text("utf-8")
    listed = re.findall(r"^\| \[`(\w+)`\]", text, re.MULTILINE)
    assert sorted(listed) == sorted(set(archeng.__all__) - {"__version__", "errors"})
    assert text.rstrip().endswith("<!-- autodoc: others -->")  # names without a place of their own


def test_every_public_name_has_a_docstring() -> None:
    for name in set(archeng.__all__) - {"__version__"}:
        assert inspect.getdoc(getattr(archeng, name)), name


def test_messages_of_errors_are_found_in_the_source() -> None:
    messages = imported("autodoc_comments").messages()
    public = {e.__name__ for e in errors()} - {"ArchengError"}
    assert public <= set(messages)
    assert "…: there is no such journal." in messages["JournalError"]
    assert any("named … exists already" in m for m in messages["ModelError"])


def test_every_part_of_the_package_is_on_the_map() -> None:
    text = (ROOT / "docs" / "explanation" / "architecture.md").read_text("utf-8")
    for part in (ROOT / "archeng").iterdir():
        if part.name.startswith(("_", "py.typed", ".")):
            continue
        name = f"`{part.name}/`" if part.is_dir() else f"`{part.stem}`"
        assert name in text, f"{name} is not in docs/explanation/architecture.md"
