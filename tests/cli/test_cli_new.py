"""``archeng new``: names and folders are checked, nothing is overwritten by accident."""

from __future__ import annotations

import json
import os
import tomllib
from pathlib import Path

import pytest
from cli_helpers import ROOT, command, contents, process, write_study

from archeng.cli.new import files_of, templates
from archeng.cli.study_file import read_study


def test_the_list_describes_every_template(capsys: pytest.CaptureFixture[str]) -> None:
    assert command("new", "--list") == 0
    shown = capsys.readouterr().out
    folders = {p.parent.name for p in (ROOT / "templates").glob("*/study.toml")}
    assert set(templates()) == folders >= {
        "casadi", "pyomo", "command", "mixed", "cluster", "notebook",
    }  # fmt: skip
    for name in folders:
        (line,) = [text for text in shown.splitlines() if text.startswith(f"{name} ")]
        assert len(line.split()) > 5
    assert command("new", "--list", "--json") == 0
    data = json.loads(capsys.readouterr().out)
    assert {d["name"] for d in data} == folders
    assert data[0]["name"] == "casadi"  # the default comes first
    assert all(d["description"] for d in data)


def test_each_template_is_complete() -> None:
    for template in templates().values():
        files = {str(f) for f in files_of(template)}
        assert files >= {"README.md", "model.py", "simulator.py", "study.toml"}
        assert any(f.startswith("tests/test_") for f in files)
        read_study(template / "study.toml")


def test_a_copy_has_the_name_of_the_study(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert command("new", "wing-2") == 0
    shown = capsys.readouterr().out
    assert "template casadi" in shown
    assert "cd wing-2" in shown
    assert "archeng run" in shown
    copy, original = contents(tmp_path / "wing-2"), contents(ROOT / "templates" / "casadi")
    assert tomllib.loads(copy["study.toml"].decode())["study"]["name"] == "wing-2"
    assert copy["README.md"].decode().startswith("# wing-2\n")
    same = set(copy) - {"README.md", "study.toml"}
    assert {k: copy[k] for k in same} == {k: original[k] for k in same}
    assert [p.name for p in tmp_path.iterdir()] == ["wing-2"]  # nothing else is left


def test_what_a_run_leaves_in_a_template_is_not_copied(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = write_study(tmp_path / "archeng" / "templates" / "casadi")
    (folder / "README.md").write_text("# a\n\nA template.\n")
    for name in ("run.db", "run.db-wal", "run.db.lock", "__pycache__/model.pyc", "out/figure.png"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text("x")
    monkeypatch.setattr("archeng.__file__", str(tmp_path / "archeng" / "__init__.py"))
    assert command("new", "s", "--directory", tmp_path) == 0
    assert set(contents(tmp_path / "s")) == {
        "README.md", "model.py", "simulator.py", "study.toml",
    }  # fmt: skip


def test_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert command("new", "s", "--directory", tmp_path, "--template", "mixed", "--json") == 0
    data = json.loads(capsys.readouterr().out)
    assert data["template"] == "mixed"
    assert {Path(f) for f in data["files"]} == set((tmp_path / "s").rglob("*.*"))
    assert data["replaced"] == []


NAMES = ["..", ".", "", "a/b", "../a", "/tmp/a", "a\\b", "-x", "1a", "a b", "a.b", "ü", "a\n", "~",
         "x" * 65, "con", "NUL", "a\0b", "$(id)"]  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_names_that_are_none(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    monkeypatch.chdir(folder)
    assert command("new", "--force", "--", name) == 2
    assert "is not a name for a study" in capsys.readouterr().err
    assert list(tmp_path.rglob("*")) == [folder]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "needs a name"),
        (("s", "--template", "casady"), "Did you mean casadi"),
        (("s", "--template", "../casadi"), "no template"),
        (("s", "--template", "README.md"), "no template"),
        (("s", "--directory", "missing"), "no such folder"),
    ],
)
def test_wrong_arguments_are_refused(
    arguments: tuple[str, ...],
    said: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert command("new", *arguments) == 2
    assert said in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_a_folder_that_is_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "empty").mkdir()
    assert command("new", "empty", "--directory", tmp_path) == 0  # nothing to lose
    mine = write_study(tmp_path / "mine")
    (mine / "run.db").write_text("a journal")
    (mine / "results").mkdir()
    (mine / "results" / "figure.png").write_text("a figure")
    before = contents(mine)
    assert command("new", "mine", "--directory", tmp_path) == 2
    assert "--force" in capsys.readouterr().err
    assert contents(mine) == before
    assert command("new", "mine", "--directory", tmp_path, "--force") == 0
    shown = capsys.readouterr().out
    after = contents(mine)
    assert after["run.db"] == b"a journal"
    assert after["results/figure.png"] == b"a figure"
    assert after["model.py"] == (ROOT / "templates" / "casadi" / "model.py").read_bytes()
    assert f"{mine / 'model.py'} (replaced)" in shown
    assert f"{mine / 'README.md'}\n" in shown


def test_files_and_links_in_the_way(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    elsewhere = write_study(tmp_path / "elsewhere")
    before = contents(elsewhere)
    os.symlink(elsewhere, tmp_path / "linked")
    (tmp_path / "file").write_text("mine")
    for name in ("linked", "file"):
        assert command("new", name, "--directory", tmp_path, "--force") == 2
        assert "not a folder" in capsys.readouterr().err
    inside = write_study(tmp_path / "inside")
    (inside / "model.py").unlink()
    os.symlink(elsewhere / "model.py", inside / "model.py")
    assert command("new", "inside", "--directory", tmp_path, "--force") == 2
    assert "is a link; nothing has been written" in capsys.readouterr().err
    folder = write_study(tmp_path / "folder")
    os.symlink(elsewhere, folder / "tests")
    assert command("new", "folder", "--directory", tmp_path, "--force") == 2
    blocked = write_study(tmp_path / "blocked")
    (blocked / "README.md").mkdir()
    assert command("new", "blocked", "--directory", tmp_path, "--force") == 2
    assert "in the way" in capsys.readouterr().err
    assert contents(elsewhere) == before
    assert (tmp_path / "file").read_text() == "mine"
    assert set(contents(folder)) == {"model.py", "simulator.py", "study.toml"}


def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    """As a user without rights, also if the tests run as root."""
    if os.geteuid() == 0:
        place = Path("/proc")  # where even root makes no folders
    else:
        place = tmp_path
        tmp_path.chmod(0o500)
    ended = process(tmp_path, "new", "s", "--directory", place)
    assert ended.returncode == 2
    assert "cannot be written" in ended.stderr
    assert "Traceback" not in ended.stderr
