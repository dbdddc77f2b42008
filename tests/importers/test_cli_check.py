"""``archeng check``: tables, degrees of freedom, exit codes, and every kind of input."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pyomo.environ as pyo
import pytest
from importer_helpers import write_nl
from nl_examples import AMPL

import archeng
from archeng.cli import main

HAND = """
import archeng
m = archeng.Model("tank")
x = m.variable("x", lower=0, upper=2, unit="cm")
y = m.variable("y", lower=0, upper=2, start=0.5)
"""
PYOMO = """
import pyomo.environ as pyo
m = pyo.ConcreteModel(name="plant")
m.x = pyo.Var([1, 2], bounds=(0, 1))
m.free = pyo.Var()
m.c = pyo.Constraint(expr=m.x[1] + m.free == 3)
m.o = pyo.Objective(expr=m.x[1])
"""
OPTI = """
import casadi as ca
opti = ca.Opti()
x = opti.variable(2)
opti.subject_to(opti.bounded(0, x, 1))
opti.subject_to(ca.sum1(x) == 1)
"""


class Cli:
    """Run ``archeng check`` on a Python file with the given text."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.folder, self.capsys = folder, capsys
        self.err = ""

    def __call__(self, text: str, *arguments: str, name: str = "cli_case.py") -> tuple[int, str]:
        path = self.folder / name
        path.write_text(text)
        code = main(["check", str(path), *arguments])
        out, self.err = self.capsys.readouterr()
        return code, out


@pytest.fixture
def cli(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Cli:
    return Cli(tmp_path, capsys)


def cells(out: str, name: str) -> list[str]:
    """Cells of the table line that begins with a name (columns are two blanks apart)."""
    (line,) = [row for row in out.splitlines() if re.split(r"\s{2,}", row)[0] == name]
    return re.split(r"\s{2,}", line)[1:]


# -- what is printed -------------------------------------------------------------------------


def test_variables_rows_and_kinds(cli: Cli) -> None:
    code, out = cli(
        HAND
        + "m.subject_to(x + 2 * y <= 3, name='line')\n"
        + "m.subject_to(x * y >= 0.25, name='curve')\n"
        + "m.subject_to(x + y == 1.5, name='balance', tolerance=0.25)\n"
        + "m.subject_to(x * y**2 == 0.5, name='curved balance', tolerance=0.125)\n"
        + "m.subject_to(x <= 1.5, name='limit')\n"
    )
    assert code == 0
    assert out.startswith("tank: 2 variables, 6 rows\n")
    assert cells(out, "x") == ["0", "2", "-", "cm"]
    assert cells(out, "y") == ["0", "2", "0.5", "-"]
    assert cells(out, "line")[:3] == ["linear", "-", "3"]
    assert cells(out, "curve")[:3] == ["nonlinear", "0.25", "-"]
    assert cells(out, "balance")[:3] == ["linear equality", "1.5 +- 0.25", "1.5"]
    assert cells(out, "curved balance")[:3] == ["nonlinear equality", "0.5 +- 0.125", "0.5"]
    assert cells(out, "bounds of x")[:3] == ["bound", "0", "1.5"]
    assert cells(out, "line")[3].startswith("cli_case.py:")
    assert "limit" in out
    assert "merged" in out
    assert "feasible design: found" in out
    assert cli.err == ""


def test_the_printed_design_is_feasible(cli: Cli) -> None:
    _, out = cli(HAND + "m.subject_to(x * y >= 1.5)\nm.subject_to(x + y <= 2.5)\n")
    design = dict(re.findall(r"^  (\w+) = (\S+)$", out, flags=re.MULTILINE))
    x, y = float(design["x"]), float(design["y"])
    assert x * y >= 1.5 - 1e-8
    assert x + y <= 2.5 + 1e-8


def test_fixed_variables_are_a_note_and_not_free(cli: Cli) -> None:
    code, out = cli(HAND + "k = m.variable('k', lower=3, upper=3)\nm.subject_to(x + k <= 4.5)\n")
    assert code == 0
    assert out.startswith("tank: 3 variables")
    assert "k is fixed at 3" in out
    assert "degrees of freedom: 2 = 2 free variables" in out
    assert "  k = " not in out


@pytest.mark.parametrize(
    ("rows", "freedom", "independent", "equalities"),
    [
        ("", 2, 0, 0),
        ("m.subject_to(x + y <= 1)", 2, 0, 0),
        ("m.subject_to(x + y == 1)", 1, 1, 1),
        ("m.subject_to(x + y == 1); m.subject_to(x - y == 0.5)", 0, 2, 2),
        ("m.subject_to(x + y == 1); m.subject_to(2 * x + 2 * y == 2)", 1, 1, 2),
        ("m.subject_to(x * y == 0.5); m.subject_to((x * y)**2 == 0.25)", 1, 1, 2),
    ],
)
def test_degrees_of_freedom(
    cli: Cli, rows: str, freedom: int, independent: int, equalities: int
) -> None:
    code, out = cli(HAND + rows + "\n")
    assert code == 0
    expected = (
        f"degrees of freedom: {freedom} = 2 free variables - {independent} of {equalities} "
        "equalities"
    )
    assert expected in out
    assert ("depend on the others" in out) is (independent < equalities)


def test_degrees_of_freedom_do_not_depend_on_the_units_of_the_rows(cli: Cli) -> None:
    code, out = cli(
        HAND
        + "m.subject_to(1e10 * (x + y) == 1e10, tolerance=1e4)\n"
        + "m.subject_to(1e-8 * (x - y) == 0, tolerance=1e-14)\n"
    )
    assert code == 0
    assert "degrees of freedom: 0 = 2 free variables - 2 of 2 equalities\n" in out


IMPOSSIBLE = ["x + y >= 10", "x * y >= 10", "x >= 3", "x + y == -1", "k >= 2"]


@pytest.mark.parametrize("row", IMPOSSIBLE)
def test_no_feasible_design_is_exit_code_1(cli: Cli, row: str) -> None:
    code, out = cli(
        HAND
        + "k = m.variable('k', lower=1, upper=1)\n"
        + f"m.subject_to({row}, name='impossible')\n"
    )
    assert code == 1
    assert "NONE FOUND" in out
    assert "impossible" in out.split("NONE FOUND")[1]
    assert "degrees of freedom" not in out
    assert cli.err == ""


def test_seeds(cli: Cli) -> None:
    text = HAND + "m.subject_to(x + y <= 3)\n"
    outs = [cli(text, "--seed", seed)[1] for seed in ("1", "1", "2")]
    assert outs[0] == outs[1] != outs[2]
    assert cli(text)[1] == cli(text, "--seed", "0")[1]


@pytest.mark.parametrize("seed", ["-1", "1.5", "a"])
def test_a_wrong_seed_is_exit_code_2(cli: Cli, seed: str) -> None:
    code, _ = cli(HAND, "--seed", seed)
    assert code == 2


# -- where models come from ------------------------------------------------------------------


def test_nl_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    m = pyo.ConcreteModel()
    m.x = pyo.Var([1, 2], bounds=(0, 3))
    m.load_case = pyo.Constraint(expr=m.x[1] * m.x[2] <= 4)
    m.o = pyo.Objective(expr=m.x[1])
    assert main(["check", str(write_nl(m, tmp_path))]) == 0
    out = capsys.readouterr().out
    assert out.startswith("model: 2 variables, 3 rows")
    assert cells(out, "load_case")[:3] == ["nonlinear", "-", "4"]
    assert cells(out, "x[2]")[:2] == ["0", "3"]
    (tmp_path / "ampl.nl").write_text(AMPL)
    assert main(["check", str(tmp_path / "ampl.nl")]) == 0
    assert "degrees of freedom: 2 = 3 free variables - 1 of 1 equalities" in capsys.readouterr().out


def test_pyomo_models(cli: Cli) -> None:
    code, out = cli(PYOMO)
    assert code == 0
    assert out.startswith("plant: 3 variables, 3 rows")
    assert cells(out, "x[1]") == ["0", "1", "-", "-"]
    assert cells(out, "free")[:2] == ["-", "-"]
    assert cells(out, "c")[0] == "linear equality"
    assert "degrees of freedom: 2 = 3 free variables - 1 of 1 equalities" in out


def test_opti_and_nlp_dictionaries(cli: Cli) -> None:
    code, out = cli(OPTI)
    assert code == 0
    assert "degrees of freedom: 1 = 2 free variables - 1 of 1 equalities" in out
    code, out = cli("import casadi as ca\nmodel = {'x': ca.SX.sym('x')}\n")
    assert code == 2  # read, but an nlp dictionary has no bounds
    assert "bound" in cli.err


def test_a_conflict_of_variables_without_bounds_is_exit_code_1(cli: Cli) -> None:
    code, out = cli(
        OPTI + "y = opti.variable()\nopti.subject_to(y >= 3 + x[0])\nopti.subject_to(y <= 2)\n"
    )
    assert code == 1
    assert "NONE FOUND" in out
    assert cli.err == ""


@pytest.mark.parametrize("name", ["make_model", "build_model", "create_model", "model"])
def test_functions_that_make_a_model(cli: Cli, name: str) -> None:
    body = "".join(f"    {line}\n" for line in HAND.strip().splitlines())
    assert cli(f"def {name}():\n{body}    return m\n")[0] == 0


def test_which_model_of_several(cli: Cli) -> None:
    two = HAND + "n = archeng.Model('other')\nz = n.variable('z', lower=0, upper=1)\n"
    code, out = cli(two)
    assert (code, out) == (2, "")
    assert "m, n" in cli.err
    assert "--object" in cli.err
    for name, title in (("m", "tank"), ("n", "other"), ("f", "other")):
        code, out = cli(two + "def f():\n    return n\n", "--object", name)
        assert code == 0
        assert out.startswith(title)
    assert cli(two + "model = n\n")[1].startswith("other")
    assert cli(HAND + "same = m\n")[0] == 0
    assert cli(two, "--object", "missing")[0] == 2
    assert "missing" in cli.err


def test_the_folder_of_the_file_is_importable_and_nothing_stays_behind(
    cli: Cli, tmp_path: Path
) -> None:
    (tmp_path / "cli_sibling_module.py").write_text(HAND)
    path = list(sys.path)
    assert cli("from cli_sibling_module import m\n")[0] == 0
    assert sys.path == path
    sys.modules.pop("cli_sibling_module")


def test_a_file_that_is_named_like_a_library_does_not_replace_it(cli: Cli) -> None:
    before = sys.modules["json"]
    try:
        assert cli(HAND, name="json.py")[0] == 0
        assert sys.modules["json"] is before is json
    finally:
        sys.modules["json"] = before


WRONG = {
    "syntax error": ("def (\n", "SyntaxError"),
    "exception": ("1 / 0\n", "ZeroDivisionError"),
    "missing import": ("import no_such_module_at_all\n", "no_such_module_at_all"),
    "exit": ("import sys\nsys.exit(0)\n", "cli_case.py"),
    "exit 3": ("import sys\nsys.exit(3)\n", "cli_case.py"),
    "no model": ("x = 3\n", "no model"),
    "function that fails": ("def make_model():\n    return 1 / 0\n", "ZeroDivisionError"),
    "function with arguments": ("def make_model(n):\n    return n\n", "make_model"),
    "function without result": ("def make_model():\n    pass\n", "NoneType"),
    "not a model": ("model = 3\n", "int"),
    "no variables": ("import archeng\nmodel = archeng.Model()\n", "no variables"),
    "nothing free": (
        "import archeng\nm = archeng.Model()\nm.variable('x', lower=1, upper=1)\n",
        "no free variable",
    ),
    "unsupported": (PYOMO + "m.i = pyo.BooleanVar()\n", "logical_to_linear"),
    "abstract": ("import pyomo.environ as pyo\nm = pyo.AbstractModel()\n", "abstract"),
    "indexed block": (PYOMO + "m.b = pyo.Block([1, 2])\nmodel = m.b\n", "indexed"),
}


@pytest.mark.parametrize("what", WRONG)
def test_wrong_input_is_exit_code_2_and_one_message(cli: Cli, what: str) -> None:
    text, word = WRONG[what]
    code, _ = cli(text)
    assert code == 2
    assert cli.err.startswith("archeng: error: ")
    assert word in cli.err
    assert "Traceback" not in cli.err


def test_wrong_files_are_exit_code_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "bad.nl").write_text("hello")
    (tmp_path / "a.txt").write_text("hello")
    (tmp_path / "empty.nl").write_text("")
    for arguments in (
        ["nope.py"],
        ["nope.nl"],
        ["bad.nl"],
        ["a.txt"],
        ["empty.nl"],
        ["."],
        ["bad.nl", "--object", "m"],
    ):
        assert main(["check", str(tmp_path / arguments[0]), *arguments[1:]]) == 2
        out, err = capsys.readouterr()
        assert out == ""
        assert err.startswith("archeng: error: ")


def test_arguments_are_checked(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in ([], ["nonsense"], ["check", "a.nl", "b.nl"]):
        assert main(arguments) == 2
    for arguments, word in (
        (["--version"], archeng.__version__),
        (["check", "--help"], "--object"),
    ):
        assert main(arguments) == 0
        assert word in capsys.readouterr().out


@pytest.mark.slow
def test_as_a_program(tmp_path: Path) -> None:
    (tmp_path / "bad.py").write_text(HAND + "m.subject_to(x + y >= 10)\n")
    env = {**os.environ, "PYTHONPATH": str(Path(archeng.__file__).parents[1])}
    codes = []
    for name in ("bad.py", "nope.py"):
        done = subprocess.run(
            [sys.executable, "-m", "archeng", "check", name],
            cwd=tmp_path,
            env=env,
            capture_output=True,
            text=True,
            check=False,
        )
        codes.append(done.returncode)
        assert bool(done.stderr) is (name == "nope.py")
    assert codes == [1, 2]
