"""What workflows, hooks and templates call is there: targets, extras, scripts, programs."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml
from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
TARGETS = set(re.findall(r"^([a-z0-9-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))
FORMS = sorted((ROOT / ".github/ISSUE_TEMPLATE").glob("*.yml"))
RUN = (ROOT / ".ci/run").read_text("utf-8")


def read(path: Path) -> Any:
    return yaml.safe_load(path.read_text("utf-8"))


def script(name: str) -> ModuleType:
    """A script of ``.ci`` as a module."""
    spec = importlib.util.spec_from_file_location(name, ROOT / f".ci/{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def commands(path: Path) -> Iterator[str]:
    """The shell commands of a workflow."""
    for job in read(path)["jobs"].values():
        for step in job.get("steps", ()):
            if "run" in step:
                yield step["run"]


# -- workflows ---------------------------------------------------------------------------------


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_workflows_call_what_is_there(path: Path) -> None:
    modes = set(re.findall(r"^ {4}(\w+)\)", RUN, re.MULTILINE))
    assert modes == {"test", "docs", "lowest"}
    for job in read(path)["jobs"].values():
        if called := job.get("uses"):
            assert (ROOT / called).is_file(), called
    for command in commands(path):
        for file, mode in re.findall(r"(\.ci/[\w.]+)(?: (\w+))?", command):
            assert (ROOT / file).is_file(), command
            assert not file.endswith("run") or mode in modes | {""}, command


def test_every_way_of_running_ci_is_used() -> None:
    used = set(commands(ROOT / ".github/workflows/test.yml"))
    assert {".ci/run", ".ci/run lowest", ".ci/run docs"} <= used


def test_the_entry_of_ci_calls_what_is_there() -> None:
    assert os.access(ROOT / ".ci/run", os.X_OK)
    assert set(re.findall(r"\bmake (\w+)", RUN)) <= TARGETS
    folders = re.findall(r"\btests/\w+", RUN)
    assert folders
    assert all((ROOT / folder).is_dir() for folder in folders)
    (extras,) = re.findall(r"extras=([\w,]+)", RUN)
    assert {*extras.split(","), "test"} <= PROJECT["optional-dependencies"].keys()


def test_an_unknown_way_of_running_ci_is_refused() -> None:
    done = subprocess.run([ROOT / ".ci/run", "all"], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "test|docs|lowest" in done.stderr


def test_oldest_and_newest_python_are_tested() -> None:
    matrix = read(ROOT / ".github/workflows/test.yml")["jobs"]["everything"]["strategy"]["matrix"]
    oldest = PROJECT["requires-python"].removeprefix(">=")
    assert matrix["python"][0] == oldest
    named = [c.rpartition(" :: ")[2] for c in PROJECT["classifiers"] if "Python :: 3." in c]
    assert named[0] == oldest
    assert named[-1] in matrix["python"]


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_workflows_may_do_little_and_end(path: Path) -> None:
    workflow = read(path)
    assert workflow["permissions"] == {"contents": "read"}
    for name, job in workflow["jobs"].items():
        assert "uses" in job or job["timeout-minutes"] <= 60, name


def test_no_file_names_a_host_to_install_from() -> None:
    for path in [*WORKFLOWS, *sorted((ROOT / ".ci").iterdir()), ROOT / ".pre-commit-config.yaml"]:
        if path.is_file():
            assert "://" not in path.read_text("utf-8"), path


# -- oldest versions ---------------------------------------------------------------------------


def test_lowest_versions_are_those_of_the_project() -> None:
    lines = script("lowest").constraints(["plot", "pandas", "dask"])
    asked = [Requirement(line) for line in PROJECT["dependencies"]]
    for extra in ("plot", "pandas", "dask"):
        asked += [Requirement(line) for line in PROJECT["optional-dependencies"][extra]]
    assert lines == [f"{r.name}=={next(iter(r.specifier)).version}" for r in asked]


def test_lowest_reads_markers_and_extras(tmp_path: Path) -> None:
    file = tmp_path / "pyproject.toml"
    file.write_text(
        "[project]\ndependencies = ['a >= 1.2', 'b']\n[project.optional-dependencies]\n"
        "more = ['own[x]', \"c-d>=3; python_version < '4'\"]\n"
    )
    assert script("lowest").constraints(["more"], file) == ["a==1.2", "c-d==3"]
    with pytest.raises(KeyError):
        script("lowest").constraints(["less"], file)


# -- hooks before a commit ---------------------------------------------------------------------


def test_hooks_are_local_and_their_programs_are_installed_by_us() -> None:
    (repository,) = read(ROOT / ".pre-commit-config.yaml")["repos"]
    assert repository["repo"] == "local"
    lint = {Requirement(line).name for line in PROJECT["optional-dependencies"]["lint"]}
    programs = {"ruff": "ruff", "mypy": "mypy", "lint-imports": "import-linter"}
    called = set()
    for hook in repository["hooks"]:
        assert hook["language"] == "system"
        program = Path(hook["entry"].split()[0])
        assert program.parent == Path(".venv/bin")
        assert programs[program.name] in lint
        called.add(program.name)
    assert called == set(programs)


# -- issue templates ---------------------------------------------------------------------------


def test_there_are_templates_for_bugs_wishes_and_wrong_claims() -> None:
    assert [path.stem for path in FORMS] == ["bug", "config", "feature", "wrong_claim"]


@pytest.mark.parametrize(
    "path", [path for path in FORMS if path.stem != "config"], ids=lambda path: path.name
)
def test_issue_forms_have_what_github_asks_for(path: Path) -> None:
    form = read(path)
    assert {"name", "description", "body"} <= form.keys()
    names = [field["id"] for field in form["body"]]
    assert len(names) == len(set(names)) >= 3
    assert any(field.get("validations", {}).get("required") for field in form["body"])
    for field in form["body"]:
        assert field["type"] in {"textarea", "input", "dropdown", "checkboxes"}
        assert field["attributes"]["label"]


def test_versions_for_a_bug_report_can_be_printed() -> None:
    text = (ROOT / ".github/ISSUE_TEMPLATE/bug.yml").read_text("utf-8")
    (code,) = re.findall(r'python -c "([^"]+)"', text)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert len(done.stdout.split()) == 4


def test_the_pull_request_template_names_what_is_there() -> None:
    text = (ROOT / ".github/pull_request_template.md").read_text("utf-8")
    named = re.findall(r"`([\w.]+(?:/[\w.]+)*)`", text)
    assert named
    assert all((ROOT / name).exists() for name in named)
