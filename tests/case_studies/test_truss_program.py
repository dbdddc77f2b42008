"""The finite-element program of the trusses: closed forms, and what it refuses."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from case_studies.truss.simulator import PROGRAM


def run_program(folder: Path, text: str) -> tuple[int, str, dict[str, list[float]]]:
    """Exit code, standard error, and numbers of the output by 'mass', 'node 1', 'bar 1', ..."""
    (folder / "t.inp").write_text(text)
    command = [sys.executable, "-I", "-S", str(PROGRAM), "t.inp", "t.out"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    numbers = {}
    if done.returncode == 0:
        for line in (folder / "t.out").read_text().splitlines():
            key, values = re.fullmatch(r"((?:node|bar) +\d+|\w+) +(.*)", line).groups()
            numbers[" ".join(key.split())] = [float(v) for v in values.split()]
    return done.returncode, done.stderr, numbers


# -- answers -----------------------------------------


def test_one_bar_is_hooke(tmp_path):
    text = "material 200 2\nnode 1 0 0\nnode 2 3 4\nbar 7 1 2 0.5\nfix 1 xy\nfix 2 x\nload 2 9 8\n"
    code, said, found = run_program(tmp_path, text)
    assert (code, said) == (0, "")
    # Only y is free: stiffness E A / L (4/5)^2 = 20 * 0.64.
    v = 8 / 12.8
    assert found["node 1"] == [0, 0]
    assert found["node 2"] == pytest.approx([0, v], rel=1e-14)
    stress = 200 * v * 0.8 / 5
    assert found["bar 7"] == pytest.approx([5, 0.5 * stress, stress, 0], rel=1e-14)
    assert found["mass"] == pytest.approx([5.0])
    assert found["compliance"] == pytest.approx([8 * v])
    assert found["largest_displacement"] == pytest.approx([v])
    assert found["largest_stress"] == pytest.approx([stress])


def test_three_bars_against_the_closed_form(tmp_path):
    """The three-bar truss: redundant, with the stresses printed in every textbook."""
    a1, a2, load = 0.7, 0.4, 2.0
    text = f"""
    material 1 1   # E cancels
    node 1 -1 1
    node 2 0 1
    node 3 1 1
    node 4 0 0
    bar 1 1 4 {a1}
    bar 2 2 4 {a2}
    bar 3 3 4 {a1}
    fix 1 xy
    fix 2 xy
    fix 3 xy
    load 4 {load * 0.5**0.5} {-load * 0.5**0.5}
    """
    code, _, found = run_program(tmp_path, text)
    assert code == 0
    common = 2**0.5 * a1**2 + 2 * a1 * a2
    expected = [
        load * (2**0.5 * a1 + a2) / common,
        load / (a1 + 2**0.5 * a2),
        -load * a2 / common,
    ]
    stresses = [found[f"bar {b}"][2] for b in (1, 2, 3)]
    assert stresses == pytest.approx(expected, rel=1e-12)


def test_buckling_is_the_fraction_of_the_euler_stress(tmp_path):
    text = "material 100 1\nbuckling 4\nnode 1 0 0\nnode 2 2 0\nbar 1 1 2 3\nfix 1 xy\nfix 2 y\n"
    _, _, found = run_program(tmp_path, text + "load 2 -6 0\n")
    assert found["bar 1"][1:] == pytest.approx([-6, -2, 2 / (4 * 100 * 3 / 4)])
    _, _, found = run_program(tmp_path, text + "load 2 6 0\n")
    assert found["bar 1"][3] == pytest.approx(-2 / 300)


# -- refusals -----------------------------------------

FRAME = "material 1 1\nnode 1 0 0\nnode 2 1 0\nnode 3 1 1\nnode 4 0 1\nbar 1 1 2 1\nbar 2 2 3 1\n"


@pytest.mark.parametrize(
    ("text", "code", "words"),
    [
        (FRAME + "bar 3 3 4 1\nfix 1 xy\nfix 4 xy\n", 2, r"mechanism: node [23] can move in [xy]"),
        (FRAME + "bar 3 3 4 1\nbar 4 1 3 1\nfix 1 xy\nfix 4 y\n", 2, "mechanism: node 4 can move"),
        (FRAME + "fix 1 xy\nfix 2 xy\nfix 3 xy\n", 2, "node 4 can move in x without"),
        (FRAME + "node 5 1 1\nbar 5 3 5 1\nfix 1 xy\n", 2, "bar 5 has no length: nodes 3 and 5"),
        (FRAME + "bar 5 1 9 1\n", 1, "bar 5 is at node 9, which is not there"),
        (FRAME + "bar 5 1 3 -1\n", 1, "line 8: cannot read 'bar 5 1 3 -1'.*positive"),
        (FRAME + "bar 5 1 3 nan\n", 1, "line 8.*finite"),
        (FRAME + "bar 2 1 3 1\n", 1, "line 8.*there already"),
        (FRAME + "fix 1 z\n", 1, "line 8.*x, y or xy"),
        (FRAME + "wheel 1\n", 1, "line 8.*unknown keyword"),
        (FRAME + "node 8 1\n", 1, "line 8"),
        ("node 1 0 0\n", 1, "no line 'material'"),
        ("material 1 1\nnode 1 0 0\n", 1, "no bars"),
    ],
)
def test_what_the_program_refuses(tmp_path, text, code, words):
    found, said, _ = run_program(tmp_path, text)
    assert found == code
    assert re.search(words, said), said
    assert said.startswith("truss_solver: t.inp: ")
    assert "Traceback" not in said
    assert not (tmp_path / "t.out").exists()


def test_usage_and_missing_files(tmp_path):
    for arguments, words in (([], "usage"), (["none.inp", "t.out"], "none.inp")):
        command = [sys.executable, str(PROGRAM), *arguments]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 1
        assert words in done.stderr
