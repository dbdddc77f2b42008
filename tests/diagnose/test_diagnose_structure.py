"""Degrees of freedom, unlimited variables, redundant, always active, undefined, badly scaled."""

from __future__ import annotations

import casadi as ca
import pytest

import archeng
from archeng.diagnose import Diagnosis, Finding
from archeng.model import Model


def names(findings: tuple[Finding, ...]) -> set[str]:
    return {f.name for f in findings}


def square(n: int = 3) -> tuple[Model, list]:
    model = Model("square")
    return model, [model.variable(f"x{i}", lower=0, upper=10) for i in range(n)]


def diagnosed(model: Model) -> Diagnosis:
    diagnosis = archeng.diagnose(model)
    assert diagnosis.feasible
    return diagnosis


def test_degrees_of_freedom_and_the_equality_that_depends() -> None:
    model, (x, y, z) = square()
    model.subject_to(x * y == 4, name="one", tolerance=1e-4)
    model.subject_to(y + z == 5, name="two")
    model.subject_to(x * y + y + z == 9, name="both", tolerance=1e-3)
    d = diagnosed(model)
    assert (d.free_variables, d.equalities, d.independent_equalities) == (3, 3, 2)
    assert d.degrees_of_freedom == 1
    assert names(d.dependent) == {"both"}


def test_variables_that_nothing_limits() -> None:
    model = Model("free")
    a = model.variable("in a disc")
    b = model.variable("below a line", lower=0)
    model.variable("in no row")
    model.variable("boxed", lower=0, upper=1)
    c = model.variable("half a line", start=1.0, scale=1.0)
    model.subject_to(a**2 + b**2 <= 9, name="disc")
    model.subject_to(c >= ca.sqrt(b + 1), name="line")
    found = {f.name: f.text for f in diagnosed(model).unlimited}
    assert set(found) == {"in no row", "half a line"}
    assert "above" in found["in no row"]
    assert "below" in found["in no row"]
    assert "above" in found["half a line"]
    assert "below" not in found["half a line"]


def test_linear_rows_can_let_a_variable_escape() -> None:
    model = Model("line")
    x = model.variable("x", start=0.0, scale=1.0)
    y = model.variable("y", start=0.0, scale=1.0)
    z = model.variable("z", start=0.0, scale=1.0)
    model.subject_to(x + y == 3, name="sum")
    model.subject_to(z + x <= 1, name="one")
    model.subject_to(z + x >= -1, name="two")
    model.subject_to(y - z <= 5, name="three")
    model.subject_to(y - z >= -5, name="four")
    assert {f.name for f in diagnosed(model).unlimited} == {"x", "y", "z"}
    model.subject_to(x - y <= 4, name="five")
    model.subject_to(x - y >= -4, name="six")
    assert diagnosed(model).unlimited == ()


def test_redundant_rows() -> None:
    model, (x, y, z) = square()
    model.subject_to(x + y <= 8, name="tight")
    model.subject_to(x + y <= 9, name="looser")
    model.subject_to(x * y <= 200, name="in the box")
    model.subject_to(x * y <= 70, name="by rows")
    model.subject_to(y * z >= 2, name="needed")
    model.subject_to(2 * y * z >= 4, name="twice")
    d = diagnosed(model)
    found = {f.name.split(" <")[0].split(" >")[0]: f for f in d.redundant}
    assert set(found) == {"looser", "in the box", "by rows", "twice"}
    assert "linear rows" in found["looser"].text
    assert "everywhere in the box" in found["in the box"].text
    assert "same as needed" in found["twice"].text
    assert all(f.proved for f in found.values())


def test_a_limit_that_no_design_reaches_is_only_sampled() -> None:
    model, (x, y, _) = square()
    model.subject_to(x**2 + y**2 <= 16, name="disc")
    model.subject_to(ca.sin(x) * y + ca.cos(y) * x <= 6.2, name="waves")
    (waves,) = diagnosed(model).redundant
    assert waves.name.startswith("waves")
    assert not waves.proved
    assert "by sampling" in str(archeng.diagnose(model))


def test_always_active_rows() -> None:
    model, (x, y, z) = square()
    model.subject_to(x + y <= 3, name="at most")
    model.subject_to(2 * x + 2 * y >= 6, name="at least")
    model.subject_to(y + z <= 12, name="free")
    d = diagnosed(model)
    assert {f.name.split(" <")[0].split(" >")[0] for f in d.always_active} == {
        "at most",
        "at least",
    }
    assert all(f.proved for f in d.always_active)


def test_a_tight_row_is_not_always_active() -> None:
    """Every repaired sample lies on it, but the designs inside do not."""
    model, (x, y, z) = square()
    model.subject_to((x - 5) ** 2 + (y - 5) ** 2 + (z - 5) ** 2 <= 0.01, name="ball")
    assert diagnosed(model).always_active == ()


@pytest.mark.parametrize(
    ("row", "why"),
    [
        (lambda x, y: ca.sqrt(x - 3) <= y, "square root"),
        (lambda x, y: ca.log(x - y) <= 3, "logarithm"),
        (lambda x, y: (x - 5) ** 1.5 <= y, "broken power"),
        (lambda x, y: y / (x - 5) <= 3, "changes its sign"),
        (lambda x, y: 1 / x + y <= 30, "division by zero"),
    ],
)
def test_rows_that_are_undefined_somewhere(row: object, why: str) -> None:
    model, (x, y, _) = square()
    assert callable(row)
    model.subject_to(row(x, y), name="partial")
    model.subject_to(ca.sqrt(x + 1) <= y + 9, name="whole")
    (found,) = diagnosed(model).undefined
    assert found.name == "partial"
    assert why in found.text


def test_badly_scaled_rows() -> None:
    model, (x, y, z) = square()
    model.subject_to(1e12 * x * y == 4e12, name="below rounding", tolerance=1e-5)
    model.subject_to(y * z == 4, name="no equality", tolerance=1e3)
    model.subject_to(ca.exp(10 * z) <= 1e20, name="steep")
    model.subject_to(x + z <= 12, name="fine")
    found = {(f.name, f.text) for f in archeng.diagnose(model).badly_scaled}
    for name, text in (
        ("below rounding", "rounding errors"),
        ("no equality", "hardly an equality"),
        ("steep", "slope"),
    ):
        assert any(n == name and text in t for n, t in found)
    assert all(n != "fine" for n, _ in found)
