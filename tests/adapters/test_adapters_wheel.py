"""The wheel in an empty environment: it installs, it is complete, it runs the demo, it is typed.

The environment is a fresh one that holds the wheel and the declared dependencies, nothing else:
these are linked from the environment of the tests (they are hundreds of megabytes), each with
the files that its own record names. The checkout is not on its path.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import Distribution, distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement

import archeng

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Built:
    """The two files that ``python -m build`` makes, and the environment with the wheel."""

    wheel: Path
    sdist: Path
    python: Path
    directory: Path

    def run(self, *arguments: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        """Run Python of the environment in an empty directory."""
        return subprocess.run(
            [self.python, *arguments],
            cwd=self.directory,
            env=clean_environment(),
            capture_output=True,
            text=True,
            check=check,
            timeout=200,
        )


def clean_environment() -> dict[str, str]:
    return {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "VIRTUAL_ENV"))}


def needed_by(requirements: list[str]) -> Iterator[Distribution]:
    """Return the distributions that requirements without extras lead to."""
    todo, seen = list(requirements), set()
    while todo:
        requirement = Requirement(todo.pop())
        wanted = requirement.marker is None or requirement.marker.evaluate({"extra": ""})
        if not wanted or requirement.name in seen:
            continue
        seen.add(requirement.name)
        found = distribution(requirement.name)
        todo += found.requires or []
        yield found


def link(found: Distribution, target: Path) -> None:
    """Link the top-level files and packages of a distribution."""
    assert found.files is not None
    for name in {file.parts[0] for file in found.files if file.parts[0] != ".."}:
        source = Path(str(found.locate_file(name)))
        if name != "__pycache__" and not (target / name).exists():
            (target / name).symlink_to(source)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    base = tmp_path_factory.mktemp("wheel")
    quiet = {"check": True, "capture_output": True, "env": clean_environment(), "timeout": 200}
    subprocess.run(
        [sys.executable, "-m", "build", "--no-isolation", "--outdir", base / "dist", ROOT], **quiet
    )
    (wheel,), (sdist,) = base.glob("dist/*.whl"), base.glob("dist/*.tar.gz")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", base / "venv"], **quiet)
    python = base / "venv" / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", python]
    subprocess.run([*pip, "install", "--quiet", "--no-deps", "--no-index", wheel], **quiet)
    (packages,) = base.glob("venv/lib/python*/site-packages")
    (record,) = packages.glob("archeng-*.dist-info")
    requires = Distribution.at(record).requires or []
    for found in needed_by(requires):
        link(found, packages)
    (base / "empty").mkdir()
    return Built(wheel, sdist, python, base / "empty")


def test_the_environment_has_the_wheel_and_not_the_checkout(built: Built) -> None:
    code = (
        "import json, sys, archeng, importlib.util as u;"
        "known = [n for n in ('matplotlib', 'pytest', 'optuna', 'case_studies', 'cma')"
        "         if u.find_spec(n)];"
        "print(json.dumps([archeng.__file__, archeng.__version__, sys.path, known]))"
    )
    file, version, path, known = json.loads(built.run("-c", code).stdout)
    assert "site-packages" in file
    assert version == archeng.__version__
    assert not any(Path(p).resolve().is_relative_to(ROOT) for p in path if p)
    assert known == []


def test_demo_runs(built: Built) -> None:
    done = built.run("-m", "archeng.demo")
    assert "a feasible design to which the search has converged" in done.stdout
    assert "0 of them at infeasible designs" in done.stdout
    assert re.search(r"radius\s+3\.47", done.stdout)


def test_command_line_is_installed(built: Built) -> None:
    command = built.python.with_name("archeng")
    done = subprocess.run(
        [command, "--version"], env=clean_environment(), capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == f"archeng {archeng.__version__}"


def test_errors_can_be_looked_up(built: Built) -> None:
    done = built.run("-m", "archeng", "explain", "ARCH-MODEL")
    assert done.stdout.startswith("ARCH-MODEL\n\n`ModelError`")
    code = "import archeng; archeng.Model('').variable('x', lower=2, upper=1)"
    failed = built.run("-c", code, check=False)
    assert failed.stderr.endswith("[ARCH-MODEL] `archeng explain ARCH-MODEL` says what to do.\n")


def test_readme_of_the_metadata_runs(built: Built) -> None:
    """What a package index shows: its first example works as it stands."""
    code = (
        "import re; from importlib.metadata import metadata;"
        "text = metadata('archeng').get_payload();"
        "exec(re.search('```python\\n(.*?)```', text, re.S)[1])"
    )
    assert "can: a feasible design" in built.run("-c", code).stdout


def test_adapters_name_what_is_missing(built: Built) -> None:
    for module, extra in (("openmdao", "openmdao"), ("optuna", "optuna"), ("pycma", "cma")):
        done = built.run("-c", f"import archeng.adapters.{module}", check=False)
        assert done.returncode == 1
        assert f"pip install 'archeng[{extra}]'" in done.stderr
    code = (
        "import archeng; from scipy.optimize import LinearConstraint as L;"
        "print(archeng.minimize(lambda x: x @ x, [2, 2], constraints=L([1, 1], 1), seed=1).x)"
    )
    assert "0.5" in built.run("-c", code).stdout


def test_contents(built: Built) -> None:
    with zipfile.ZipFile(built.wheel) as archive:
        names = archive.namelist()
        (metadata,) = (n for n in names if n.endswith("METADATA"))
        text = archive.read(metadata).decode()
    assert "archeng/py.typed" in names
    roots = {name.split("/")[0] for name in names}
    assert roots == {"archeng", f"archeng-{archeng.__version__}.dist-info"}
    modules = {str(p.relative_to(ROOT)) for p in (ROOT / "archeng").rglob("*.py")}
    assert modules <= set(names)
    assert not [name for name in names if name.endswith((".pyc", ".db"))]
    assert "License-Expression: BSD-3-Clause" in text
    assert "Requires-Python: >=3.11" in text
    for extra in ("cma", "openmdao", "optuna", "plot"):
        assert f"Provides-Extra: {extra}" in text
    with tarfile.open(built.sdist) as archive:
        inside = {name.split("/", 1)[-1] for name in archive.getnames()}
    assert {"pyproject.toml", "README.md", "LICENSE", "archeng/py.typed"} <= inside


STUDY = """\
import archeng

model = archeng.Model("m")
x = model.variable("x", lower=0, upper=1)
result = archeng.solve(model, lambda design: float(design["x"]), max_evaluations=10, seed=1)
reveal_type(result)
reveal_type(result.fun)
reveal_type(archeng.read_journal("run.db"))
"""


def test_type_information_is_shipped(built: Built, tmp_path: Path) -> None:
    good, bad = tmp_path / "good.py", tmp_path / "bad.py"
    good.write_text(STUDY)
    bad.write_text(STUDY.replace("max_evaluations=10", 'max_evaluations="ten"'))
    mypy = [sys.executable, "-m", "mypy", "--strict", "--python-executable", str(built.python)]
    mypy += ["--cache-dir", str(tmp_path / "cache"), "--follow-imports", "silent"]
    said = {}
    for file in (good, bad):
        done = subprocess.run(
            [*mypy, file], cwd=tmp_path, env=clean_environment(), capture_output=True, text=True
        )
        said[file] = (done.returncode, done.stdout)
    code, text = said[good]
    assert code == 0, text
    assert text.count('Revealed type is "archeng.result.Result"') == 2
    assert 'Revealed type is "float"' in text or "builtins.float" in text
    code, text = said[bad]
    assert code == 1
    assert 'Argument "max_evaluations" to "solve" has incompatible type "str"' in text
