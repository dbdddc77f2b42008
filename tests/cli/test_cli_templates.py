"""Each template, as a user meets it: new, check, run, a kill, resume, in a real terminal."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nbclient
import nbformat
import pexpect
import psutil
import pytest
from cli_helpers import PATIENCE, ROOT, calls, command, environment, process, terminal, typed

from archeng.cli.new import templates
from archeng.errors import JournalError

pytestmark = pytest.mark.slow


@dataclass(frozen=True)
class Known:
    """What a template is known to give: its objective, and the budget that suffices."""

    objective: float
    budget: int


KNOWN = {
    "casadi": Known(0.3145373, 30),
    "catalogue": Known(4911.603, 30),
    "cluster": Known(2.8013, 40),
    "command": Known(4.625648, 30),
    "flowsheet": Known(761.1048, 40),
    "mixed": Known(218.0210, 30),
    "notebook": Known(0.68685, 30),
    "pyomo": Known(254973.7, 30),
}
"""Found with several seeds and larger budgets."""

LOOKING = (
    ("status",),
    ("export", "--output", "calls.csv"),
    ("compare", ".", "."),
)
"""Commands that look at a finished study, and what is typed after them."""

TYPED = "casadi"
"""The template with all commands in processes of their own; of the others, run and resume are."""

REPEATED = ("casadi", "cluster", "command")
"""Templates whose run is made again in one go: one without workers, and those with workers."""


def test_every_template_is_tested_here() -> None:
    assert set(templates()) == set(KNOWN)


@pytest.mark.parametrize("name", KNOWN)
def test_from_nothing_to_a_result(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def said(folder: Path, *arguments: str) -> tuple[int, str]:
        if name == TYPED:
            return typed(folder, *arguments)
        monkeypatch.chdir(folder)
        return command(*arguments), capsys.readouterr().out

    known, study = KNOWN[name], tmp_path / "my_study"
    code, shown = said(tmp_path, "new", "my_study", "--template", name)
    assert code == 0
    assert "archeng run" in shown
    code, shown = said(study, "check")
    assert code == 0, shown
    assert shown.startswith("my_study: ")
    assert "feasible design: found" in shown
    budget = ("--max-evaluations", known.budget)
    done = run_and_kill(study, *budget)
    code, shown = typed(study, "resume", *budget)
    assert code == 0, shown
    assert "0 of them at infeasible designs" in shown
    assert f"/{known.budget} calls" in shown  # the progress line
    monkeypatch.chdir(study)
    assert command("status", "--json") == 0
    status = json.loads(capsys.readouterr().out)
    assert status["infeasible_calls"] == 0
    assert status["calls_by_status"] == {"ok": status["calls"]}
    assert status["best"]["objective"] == pytest.approx(known.objective, rel=0.01)
    for arguments in LOOKING:
        assert command(*arguments) == 0
    capsys.readouterr()
    code, shown = said(study, "report")
    assert code == 0, shown
    assert shown == "run.html\n"
    page = (study / "run.html").read_text(encoding="utf-8")
    assert "my_study" in page
    assert all(variable in page for variable in status["best"]["design"])
    assert calls(study / "run.db")[: len(done)] == done
    if name in REPEATED:  # one call at a time: neither a kill nor workers change a run
        one = ("--quiet", "--journal", "undisturbed.db", "--workers", "threads:1")
        assert command("run", *one, *budget) == 0
        assert calls(study / "undisturbed.db") == calls(study / "run.db")


def run_and_kill(study: Path, *arguments: object) -> list[tuple[str, float, str]]:
    """Run in a terminal, kill in the middle, and return the calls that had finished."""
    for _ in range(3):
        child = terminal(study, "run", *arguments)
        wait_for_calls(child, study / "run.db", 10)
        others = psutil.Process(child.pid).children(recursive=True) if child.isalive() else []
        child.kill(signal.SIGKILL)
        child.close()
        if child.signalstatus == signal.SIGKILL:
            psutil.wait_procs(others, timeout=PATIENCE)
            assert not [p for p in others if p.is_running()], "processes were left behind"
            return calls(study / "run.db")
        (study / "run.db").unlink()  # this machine was slow: it had ended before
    raise AssertionError("the run could not be killed in time")


def wait_for_calls(child: Any, journal: Path, number: int) -> None:
    """Wait until a run in a terminal has made some calls, or has ended."""
    begin = time.monotonic()
    while finished(journal) < number and child.isalive():
        assert time.monotonic() < begin + PATIENCE
        with contextlib.suppress(pexpect.TIMEOUT, pexpect.EOF):
            child.read_nonblocking(4096, timeout=0.005)


def finished(journal: Path) -> int:
    try:
        return len(calls(journal))
    except JournalError:  # there is none yet
        return 0


@pytest.mark.parametrize("name", KNOWN)
def test_the_tests_of_a_template(name: str, tmp_path: Path) -> None:
    command("new", "my_study", "--template", name, "--directory", tmp_path)
    ended = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"],
        cwd=tmp_path / "my_study",
        env={**environment(), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        text=True,
        timeout=2 * PATIENCE,
        check=False,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert " passed" in ended.stdout
    assert "skipped" not in ended.stdout


def printed(cell: Any) -> str:
    """What a cell printed: a busy kernel may send one line in several pieces."""
    return "".join(piece.text for piece in cell.outputs if piece.output_type == "stream")


def test_the_notebook_runs_and_runs_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    command("new", "my_study", "--template", "notebook", "--directory", tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    notebook = nbformat.read(tmp_path / "my_study" / "study.ipynb", 4)
    client = nbclient.NotebookClient(
        notebook, timeout=PATIENCE, resources={"metadata": {"path": str(tmp_path / "my_study")}}
    )
    with client.setup_kernel():
        for index, cell in enumerate(notebook.cells):
            client.execute_cell(cell, index)
        (run,) = [c for c in notebook.cells if "archeng.resume(" in c.source]
        first = printed(run)
        client.execute_cell(run, 0)
    assert "0 of them at infeasible designs" in first
    assert printed(run) == first
    figures = [o for c in notebook.cells for o in c.get("outputs", ()) if "data" in o]
    assert [sorted(f.data) for f in figures] == [["image/png", "text/plain"]] * 2


def test_ctrl_c_on_the_terminal_of_a_cluster(tmp_path: Path) -> None:
    """The terminal sends it to the workers too; nobody wants to read their tracebacks."""
    command("new", "my_study", "--template", "cluster", "--directory", tmp_path)
    child = terminal(tmp_path / "my_study", "run")
    wait_for_calls(child, tmp_path / "my_study" / "run.db", 3)
    child.sendintr()
    child.expect(pexpect.EOF)
    child.close()
    assert child.exitstatus == 130
    assert "interrupted by the user" in child.before
    assert "`archeng resume` goes on with it" in child.before
    assert "Traceback" not in child.before


def test_the_cluster_becomes_slurm_by_one_line(tmp_path: Path) -> None:
    """With programs that stand for those of SLURM: they run the very script of the job."""
    command("new", "my_study", "--template", "cluster", "--directory", tmp_path)
    study, bin_, jobs = tmp_path / "my_study", tmp_path / "bin", tmp_path / "jobs"
    bin_.mkdir()
    jobs.mkdir()
    (bin_ / "sbatch").write_text(
        f'#!/bin/sh\ncp "$1" {jobs}/$$.sh\nsetsid sh {jobs}/$$.sh >{jobs}/$$.log 2>&1 &\n'
        'echo "Submitted batch job $!"\n'
    )
    (bin_ / "scancel").write_text(f'#!/bin/sh\necho "$@" >>{jobs}/cancelled\nkill -TERM -- "-$1"\n')
    for program in bin_.iterdir():
        program.chmod(0o755)
    text = (study / "cluster.py").read_text()
    assert text.count("make_cluster = local  # on SLURM: make_cluster = slurm") == 1
    (study / "cluster.py").write_text(text.replace("make_cluster = local", "make_cluster = slurm"))
    path = {**environment(), "PATH": f"{bin_}:{os.environ['PATH']}"}
    ended = process(study, "run", "--json", "--quiet", "--max-evaluations", 10, env=path)
    assert ended.returncode == 0, ended.stderr
    assert json.loads(ended.stdout)["calls"] == 10
    scripts = [p.read_text() for p in jobs.glob("*.sh")]
    assert len(scripts) == 2
    assert all("#SBATCH -p standard" in s and "#SBATCH -t 02:00:00" in s for s in scripts)
    assert len((jobs / "cancelled").read_text().split()) == 2
