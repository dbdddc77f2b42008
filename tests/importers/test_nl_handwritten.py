"""`from_nl` on files as AMPL writes them: every segment, header and operator."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from importer_helpers import random_points, row_values
from nl_examples import AMPL, ampl_objective, ampl_rows, outcomes, with_header

import archeng
from archeng.errors import ModelError, UnsupportedModelError
from archeng.model import Model
from archeng.model.nl.reader import integer_positions

INF = np.inf


def read(folder: Path, text: str, **options: Any) -> Model:
    path = folder / "two.nl"
    path.write_text(text, encoding="utf-8")
    return archeng.from_nl(path, **options)


def assert_ampl(model: Model) -> None:
    for x in random_points(model):
        values, expected = row_values(model, x), ampl_rows(x)
        assert list(values) == list(expected)
        np.testing.assert_allclose(list(values.values()), list(expected.values()), rtol=1e-12)


def test_every_segment(tmp_path: Path) -> None:
    model = read(tmp_path, AMPL, objective=True)
    assert_ampl(model)
    assert model.name == "two"
    assert model.objective_sense == "maximize"
    for x in random_points(model, seed=1):
        assert model.objective_function()(x) == pytest.approx(ampl_objective(x), rel=1e-12)
    limits = {c.name: (c.rows[0].lower, c.rows[0].upper) for c in model.constraints}
    assert limits == {"c0": (-7, 8), "c1": (-INF, 9), "c2": (2.5, 2.5), "c3": (-3, INF)}
    assert {c.source for c in model.constraints} == {"two.nl"}
    bounds = [(v.name, v.lower[0], v.upper[0]) for v in model.variables]
    assert bounds == [("x0", 0.5, 4), ("x1", 0.1, INF), ("x2", -INF, INF)]
    assert [v.start[0] for v in model.variables] == [1.25, 0.1, -0.5]
    assert [v.scale[0] for v in model.variables[1:]] == [0.2, 0.2]
    assert np.isnan(model.variables[0].scale[0])


def test_arguments(tmp_path: Path) -> None:
    model = read(tmp_path, AMPL, name="mine", tolerance=0.125, scale={"x1": 3, "x0": 2})
    assert (model.name, model.has_objective) == ("mine", False)
    assert [v.scale[0] for v in model.variables] == [2, 3, 0.2]
    assert model.constraints[2].tolerance == 0.125
    with pytest.raises(ModelError, match="nope"):
        read(tmp_path, AMPL, scale={"nope": 1})
    for wrong in (0, -1, "a"):
        with pytest.raises(ModelError, match="tolerance"):
            read(tmp_path, AMPL, tolerance=wrong)


def test_minimised(tmp_path: Path) -> None:
    model = read(tmp_path, AMPL.replace("O0 1", "O0 0"), objective=True)
    assert model.objective_sense == "minimize"
    assert model.objective_function()([1, 2, 3]) == ampl_objective([1, 2, 3])


def test_the_first_of_two_objectives(tmp_path: Path) -> None:
    text = with_header(2, " 3 5 2 1 1")
    text = text.replace("d1\n", "O1 0\no2\nv0\nn100\nd1\n").replace("G0 3", "G1 1\n0 7\nG0 3")
    model = read(tmp_path, text, objective=True)
    assert model.objective_function()([1, 2, 3]) == ampl_objective([1, 2, 3])
    assert model.objective_sense == "maximize"


def test_no_objective(tmp_path: Path) -> None:
    text = with_header(2, " 3 5 0 1 1")
    text = text.replace("O0 1\t#profit\no2\nv4\nv2\n", "")[: AMPL.index("G0 3")]
    text = text.split("G0 3")[0]
    assert_ampl(read(tmp_path, text))
    with pytest.raises(ModelError, match="objective"):
        read(tmp_path, text, objective=True)
    with pytest.raises(ModelError, match="objective"):
        archeng.solve(tmp_path / "two.nl")


@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
@pytest.mark.parametrize("comments", [True, False])
def test_line_ends_and_comments(tmp_path: Path, line_end: str, comments: bool) -> None:
    lines = [line if comments else line.split("\t#")[0] for line in AMPL.splitlines()]
    path = tmp_path / "a.nl"
    path.write_bytes(line_end.join([*lines, ""]).encode())
    assert_ampl(archeng.from_nl(path))
    path.write_bytes(line_end.join(lines).encode())
    assert_ampl(archeng.from_nl(path))


HEADERS = {
    "flags of the first line": (1, "g10 0 1 0 0 0 0 0 0 0 0"),
    "one flag": (1, "g3"),
    "three sizes": (2, " 3 5 1"),
    "no logical constraints": (2, " 3 5 1 1 1 0"),
    "no complementarity": (3, " 2 1 0 0 0 0"),
    "no objective in common": (5, " 2 3"),
    "no arithmetic": (6, " 0 0"),
    "no flags": (6, " 0 0 0"),
    "two kinds of discrete variables": (7, " 0 0"),
    "names": (9, " 12 7"),
}


def test_header_lines_of_other_lengths() -> None:
    plain, *others = outcomes(
        [AMPL.encode(), *(with_header(*h).encode() for h in HEADERS.values())]
    )
    assert plain.startswith("model")
    wrong = {k: text for k, text in zip(HEADERS, others, strict=True) if text != plain}
    assert wrong == {}


@pytest.mark.parametrize(
    ("line", "text", "word"),
    [
        (2, " 3 5 1 1 1 2", "logical"),
        (3, " 2 1 1 0 0 0", "complementarity"),
        (3, " 2 1 0 1 0 0", "complementarity"),
        (6, " 0 1 0 1", "function"),
    ],
)
def test_unsupported_counts_of_the_header(tmp_path: Path, line: int, text: str, word: str) -> None:
    with pytest.raises(UnsupportedModelError, match=word) as caught:
        read(tmp_path, with_header(line, text))
    assert "two.nl" in str(caught.value)
    assert len(caught.value.problems) == 1


@pytest.mark.parametrize(
    ("sizes", "counts", "expected"),
    [  # variables; nonlinear in rows, goals, both; binary, integer, integer in both, rows, goals
        ((9, 5, 7, 3), (1, 1, 1, 1, 1), {2, 4, 6, 7, 8}),
        ((9, 5, 4, 3), (0, 0, 1, 2, 0), {2, 3, 4}),
        ((9, 0, 4, 0), (0, 2, 0, 0, 3), {1, 2, 3, 7, 8}),
        ((4, 0, 0, 0), (2, 2, 0, 0, 0), {0, 1, 2, 3}),
        ((4, 4, 4, 4), (0, 0, 0, 0, 0), set()),
    ],
)
def test_where_the_integers_are(
    sizes: tuple[int, ...], counts: tuple[int, ...], expected: set[int]
) -> None:
    assert integer_positions(sizes[0], list(sizes[1:]), list(counts)) == expected


@pytest.mark.parametrize("line", [" 4 0 0 0 0", " 0 0 3 0 0", " 2 2 0 0 0", " 0 0 0 0 9"])
def test_more_integers_than_variables_are_damage(tmp_path: Path, line: str) -> None:
    with pytest.raises(ModelError, match=r"damaged.*discrete variables"):
        read(tmp_path, with_header(7, line))


def test_all_that_is_unsupported_at_once(tmp_path: Path) -> None:
    text = with_header(2, " 3 5 1 1 1 2", with_header(3, " 2 1 0 1 0 0"))
    text = with_header(6, " 0 1 0 1", text)
    text = text.replace("C1\no16", "C1\no58\nv0").replace("o2\nv4", "o59\n2\nv4")
    text = text.replace("o5\t", "o57\t")
    (tmp_path / "two.row").write_text("first\npressure[2,a]\nthird\nfourth\nfifth\nprofit\n")
    with pytest.raises(UnsupportedModelError) as caught:
        read(tmp_path, text)
    assert len(caught.value.problems) == 5  # the objective is not wanted
    with pytest.raises(UnsupportedModelError) as caught:
        read(tmp_path, text, objective=True)
    assert len(caught.value.problems) == 6
    message = str(caught.value)
    for word in ("logical", "complementarity", "function"):
        assert word in message
    assert "trunc" in caught.value.problems["constraint pressure[2,a]"][0]
    assert "count" in caught.value.problems["objective 0"][0]
    assert "round" in caught.value.problems["common expression 3"][0]


# -- operators -------------------------------------------------------------------------------

ONE_ROW = """\
g3 0 1 0
 2 1 0 0 0
 1 0
 0 0
 2 0 0
 0 0 0 1
 0 0 0 0 0
 2 0
 0 0
 0 0 0 0 0
C0
{}r
1 1e9
b
0 -10 10
0 -10 10
k1
1
J0 2
0 0
1 0
"""

UNARY = {
    13: math.floor, 14: math.ceil, 15: abs, 16: lambda a: -a, 34: lambda a: float(not a),
    37: math.tanh, 38: math.tan, 39: math.sqrt, 40: math.sinh, 41: math.sin, 42: math.log10,
    43: math.log, 44: math.exp, 45: math.cosh, 46: math.cos, 47: math.atanh, 49: math.atan,
    50: math.asinh, 51: math.asin, 53: math.acos,
}  # fmt: skip
BINARY = {
    0: lambda a, b: a + b, 1: lambda a, b: a - b, 2: lambda a, b: a * b, 3: lambda a, b: a / b,
    4: math.fmod, 5: lambda a, b: a**b, 6: lambda a, b: max(a - b, 0.0),
    20: lambda a, b: bool(a or b), 21: lambda a, b: bool(a and b),
    22: lambda a, b: a < b, 23: lambda a, b: a <= b, 24: lambda a, b: a == b,
    28: lambda a, b: a >= b, 29: lambda a, b: a > b, 30: lambda a, b: a != b, 48: math.atan2,
}  # fmt: skip
NAMED = {57: "round", 58: "trunc", 64: "piecewise", 72: "implies", 73: "iff", 74: "alldiff"}


@pytest.mark.parametrize("code", UNARY)
def test_unary_operators(tmp_path: Path, code: int) -> None:
    model = read(tmp_path, ONE_ROW.format(f"o{code}\nv0\n"))
    for a in (0.25, 0.6, 0.97):
        assert row_values(model, [a, 0.0])["c0"] == pytest.approx(UNARY[code](a), rel=1e-12)


@pytest.mark.parametrize("code", BINARY)
def test_binary_operators(tmp_path: Path, code: int) -> None:
    model = read(tmp_path, ONE_ROW.format(f"o{code}\nv0\nv1\n"))
    for a, b in ((0.6, 0.35), (0.35, 0.6), (0.5, 0.5), (2.5, 1.5)):
        expected = float(BINARY[code](a, b))
        assert row_values(model, [a, b])["c0"] == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("text", ["n3.5", "n-2e-3", "s7", "l70000", "n.5", "n1e+2"])
def test_numbers(tmp_path: Path, text: str) -> None:
    model = read(tmp_path, ONE_ROW.format(f"o2\nv0\n{text}\n"))
    assert row_values(model, [2, 0])["c0"] == pytest.approx(2 * float(text[1:]), rel=1e-15)


def test_sums(tmp_path: Path) -> None:
    model = read(tmp_path, ONE_ROW.format("o54\n4\nv0\nv1\nn2.5\no16\no54\n3\nv0\nv0\nn1\n"))
    assert row_values(model, [0.5, 3])["c0"] == 0.5 + 3 + 2.5 - 2


def test_lists_and_conditions(tmp_path: Path) -> None:
    for code, function in ((11, min), (12, max)):
        model = read(tmp_path, ONE_ROW.format(f"o{code}\n3\nv0\nv1\nn0.4\n"))
        for a, b in ((0.1, 0.9), (0.9, 0.1), (0.5, 0.6)):
            assert row_values(model, [a, b])["c0"] == function(a, b, 0.4)
    model = read(tmp_path, ONE_ROW.format("o35\no22\nv0\nv1\no44\nv0\no16\nv1\n"))
    assert row_values(model, [0.1, 0.9])["c0"] == pytest.approx(math.exp(0.1), rel=1e-15)
    assert row_values(model, [0.9, 0.1])["c0"] == -0.1
    model = read(tmp_path, ONE_ROW.format("o52\nv0\n"))
    assert row_values(model, [1.75, 0])["c0"] == pytest.approx(math.acosh(1.75), rel=1e-12)


def test_deep_expressions_need_no_recursion(tmp_path: Path) -> None:
    model = read(tmp_path, ONE_ROW.format("o0\nv0\n" * 20000 + "v1\n"))
    assert row_values(model, [1, 0.5])["c0"] == 20000.5


@pytest.mark.parametrize("code", [*NAMED, 55, 59, 60, 62])
def test_unsupported_operators_name_the_constraint(tmp_path: Path, code: int) -> None:
    count = "2\n" if code in (59, 60, 74) else ""
    text = ONE_ROW.format(f"o2\nv0\no{code}\n{count}v0\nv1\n")
    (tmp_path / "two.row").write_text("stress\n")
    with pytest.raises(UnsupportedModelError) as caught:
        read(tmp_path, text)
    assert list(caught.value.problems) == ["constraint stress"]
    assert NAMED.get(code, "") in caught.value.problems["constraint stress"][0]


@pytest.mark.parametrize("code", [7, 36, 99, 77])
def test_operators_that_do_not_exist(tmp_path: Path, code: int) -> None:
    with pytest.raises(ModelError, match=str(code)):
        read(tmp_path, ONE_ROW.format(f"o2\nv0\no{code}\nv0\nv1\n"))


def test_strings_are_not_comments_or_segments(tmp_path: Path) -> None:
    """A file with an imported function of a string argument: reported, whatever is in it."""
    text = with_header(6, " 0 1 0 1").replace("C1\no16\nv3", "C1\nf0 2\nh7:C0 # o4\nv3")
    text = text.replace("S0 1", "F0 1 -1 name\nS0 1")
    with pytest.raises(UnsupportedModelError, match="function") as caught:
        read(tmp_path, text)
    assert "rem" not in str(caught.value)
