"""``archeng compare``: runs side by side."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from cli_helpers import MODEL, TOML, command, write_study

import archeng

SLOPE = "def simulator(design):\n    return float(design.x @ design.x)\n"
FAILING = """\
import archeng

def simulator(design):
    if design.x[0] > 1:
        raise ValueError("mesh")
    return archeng.Evaluation(float(design.x @ design.x), {"sum": float(design.x.sum())})
"""


@pytest.fixture
def pair(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path]:
    """Two studies that have run: of one problem, with other budgets and seeds."""
    monkeypatch.chdir(tmp_path)
    first = write_study(tmp_path / "first", simulator=SLOPE)
    second = write_study(
        tmp_path / "second",
        TOML.replace("= 10", "= 16").replace("seed = 1", "seed = 2")
        + "[simulated]\nsum = { lower = 1.5 }\n[settings]\nproposals = 2\n",
        MODEL.replace("upper=5", "upper=4"),
        FAILING,
    )
    assert command("run", "first", "--quiet") == 0
    assert command("run", "second", "--quiet") == 0
    return first, second


def results(pair: tuple[Path, Path]) -> tuple[archeng.Result, archeng.Result]:
    """The same runs in Python."""
    found = []
    for folder, simulator in zip(pair, (SLOPE, FAILING), strict=True):
        namespace: dict[str, object] = {}
        exec(simulator, namespace)
        found.append(archeng.resume(folder / "run.db", namespace["simulator"]))
    return found[0], found[1]


def row(text: str, title: str) -> list[str]:
    (line,) = [t for t in text.splitlines() if re.split(r"\s{2,}", t.strip())[0] == title]
    return re.split(r"\s{2,}", line.strip())[1:]


def test_side_by_side(pair: tuple[Path, Path], capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    assert command("compare", "first", "second") == 0
    shown = capsys.readouterr().out
    one, two = results(pair)
    assert row(shown, "calls") == [str(one.nfev), str(two.nfev)]
    failed = [sum(not e.good for e in r.evaluations) for r in (one, two)]
    assert failed[1] > 0
    assert row(shown, "failed") == [str(n) for n in failed]
    assert row(shown, "at infeasible designs") == ["0", "0"]
    assert [float(v) for v in row(shown, "best objective")] == pytest.approx([one.fun, two.fun])
    assert row(shown, "seed") == ["1", "2"]
    violated = sum("sum" in e.violated for e in two.evaluations)
    assert row(shown, "simulated: sum >= 1.5")[0] == "-"
    assert row(shown, "violated by calls") == ["-", str(violated)]
    assert [float(v) for v in row(shown, "x[0]")] == pytest.approx([one.x[0], two.x[0]])
    setup = shown.split("\n\n")[0]
    for text in (
        "max_evaluations: 10 became 16",
        "seed: 1 became 2",
        "setting proposals: auto became 2",
        "simulated sum: none became (1.5, -)",
        "model: variable 'x', upper",
    ):
        assert text in setup
    assert "name" not in setup
    assert "version" not in setup


def test_calls_to_reach_the_other(
    pair: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    assert command("compare", "first/run.db", "second/run.db", "--json") == 0
    data = json.loads(capsys.readouterr().out)
    reached = data["calls_to_reach_best_of"]
    labels = [r["label"] for r in data["runs"]]
    assert labels == ["first/run.db", "second/run.db"]
    for result, label in zip(results(pair), labels, strict=True):
        for other, name in zip(results(pair), labels, strict=True):
            good = [e.index + 1 for e in result.evaluations
                    if e.acceptable and e.objective <= other.fun]  # fmt: skip
            assert reached[label][name] == (good[0] if good else None)
    assert None in [reached[labels[0]][labels[1]], reached[labels[1]][labels[0]]]
    assert data["runs"][1]["violated_calls"]["sum"] > 0
    assert data["differences"]["second/run.db"]


def test_maximising(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folders = []
    for seed, sense in ((1, "maximize"), (2, "maximize"), (3, "minimize")):
        text = TOML.replace("seed = 1", f"seed = {seed}").replace(
            "[run]", f'sense = "{sense}"\n[run]'
        )
        folders.append(write_study(tmp_path / f"s{seed}", text))
        assert command("run", folders[-1], "--quiet") == 0
    capsys.readouterr()
    assert command("compare", *folders[:2], "--json") == 0
    data = json.loads(capsys.readouterr().out)
    best = [r["best"]["objective"] for r in data["runs"]]
    better, worse = (0, 1) if best[0] > best[1] else (1, 0)
    labels = [r["label"] for r in data["runs"]]
    reached = data["calls_to_reach_best_of"]
    assert reached[labels[better]][labels[worse]] <= 10
    assert reached[labels[worse]][labels[better]] is None or best[0] == best[1]
    assert command("compare", *folders) == 0
    shown = capsys.readouterr().out
    assert "one minimises, another maximises" in shown
    assert "calls to reach" not in shown
    assert "sense: maximize became minimize" in shown


def test_the_same_run_twice(pair: tuple[Path, Path], capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    assert command("compare", "first", "first") == 0
    shown = capsys.readouterr().out
    assert "run.db (1) -> run.db (2): nothing" in shown


def test_a_figure(pair: tuple[Path, Path], capsys: pytest.CaptureFixture[str]) -> None:
    (pair[0] / "run.db").rename(pair[0] / "_$x^2$.db")  # neither hidden nor set as a formula
    arguments = ("compare", "first/_$x^2$.db", "second")
    assert command(*arguments, "--plot", "figure.png") == 0
    assert Path("figure.png").read_bytes().startswith(b"\x89PNG")
    assert command(*arguments, "--plot", "figure.svg") == 0
    capsys.readouterr()
    for wrong in ("figure.nonsense", "missing/figure.png", "."):
        assert command(*arguments, "--plot", wrong) == 2
        assert "--plot" in capsys.readouterr().err


def test_runs_without_a_result(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing satisfies the simulated constraint, so there is no best design to compare."""
    for name in ("a", "b"):
        text = TOML + "[simulated]\nsum = { lower = 99.0 }\n"
        write_study(tmp_path / name, text, simulator=FAILING)
        assert command("run", tmp_path / name, "--quiet") == 1
    capsys.readouterr()
    arguments = ("compare", tmp_path / "a", tmp_path / "b")
    assert command(*arguments, "--plot", tmp_path / "figure.png") == 0
    assert row(capsys.readouterr().out, "best objective") == ["-", "-"]
    assert command(*arguments, "--json") == 0
    data = json.loads(capsys.readouterr().out)
    assert [r["best"] for r in data["runs"]] == [None, None]


def test_what_cannot_be_compared(
    pair: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    Path("notes.txt").write_text("my notes")
    for arguments in (("first",), ("first", "missing.db"), ("first", "notes.txt"), ("first", ".")):
        assert command("compare", *arguments) == 2
        assert "archeng: error: " in capsys.readouterr().err
