"""The twenty broken models, their healthy twins, healthy models of other suites, and g20."""

from __future__ import annotations

import numpy as np
import pytest
from diagnose_helpers import assert_minimal
from scipy.optimize import linprog

import archeng
from archeng.diagnose.designs import DesignSearch
from archeng.model import Model
from case_studies import cec2006, engineering
from case_studies.broken_models import MODELS, judge, planting, pyomo_tools
from case_studies.broken_models.__main__ import main
from case_studies.cec2006.g17_g20 import _G20_DENSITY, _G20_MASS, _G20_PRESSURE
from case_studies.cec2006.suite import EQUALITY_TOLERANCE

pytestmark = pytest.mark.slow

HEALTHY = ["g01", "g05", "g08", "g09", "g10", "g14", "g19", "g24"]
HEALTHY += ["welded_beam", "spring", "speed_reducer", "pressure_vessel", "reactor_network"]


def test_there_are_twenty_of_all_kinds() -> None:
    kinds = [b.kind for b in MODELS.values()]
    assert len(kinds) == 20
    assert {k: kinds.count(k) for k in set(kinds)} == {
        "pair": 5, "cycle": 3, "equation": 5, "units": 5, "domain": 2,
    }  # fmt: skip


@pytest.mark.parametrize("name", MODELS)
def test_the_planted_conflict_is_named_and_nothing_innocent(name: str) -> None:
    broken = MODELS[name]
    model = broken.build(True)
    diagnosis = archeng.diagnose(model)
    assert not diagnosis.feasible
    assert diagnosis.proof
    verdict = judge(broken, diagnosis)
    assert verdict.missing == ()
    assert verdict.innocent == ()
    (conflict,) = diagnosis.conflicts
    assert_minimal(model, conflict)
    if broken.kind == "units":
        (slipped,) = [m for m in conflict.members if m.name in broken.planted]
        assert "check the units" in slipped.note
    if broken.kind == "domain":
        assert any("undefined" in m.note for m in conflict.members)


@pytest.mark.parametrize("name", MODELS)
def test_the_healthy_twin_has_designs(name: str) -> None:
    model = MODELS[name].build(False)
    (design,) = archeng.sample_feasible(model, 1, seed=1)
    assert model.violations(design.x).maximum == 0.0


def suite_model(name: str) -> Model:
    suite = cec2006 if name in cec2006.names() else engineering
    return suite.problem(name).model


@pytest.mark.parametrize("name", HEALTHY)
def test_healthy_models_are_feasible(name: str) -> None:
    model = suite_model(name)
    diagnosis = archeng.diagnose(model)
    assert diagnosis.feasible
    assert diagnosis.conflicts == ()
    assert diagnosis.design is not None
    assert model.violations(list(diagnosis.design.values())).maximum == 0.0


@pytest.mark.parametrize(("name", "kind"), [("g09", "pair"), ("g04", "cycle"), ("i_beam", "slip")])
def test_conflicts_planted_at_random(name: str, kind: str) -> None:
    model = suite_model(name)
    wanted = planting.plant(model, kind, seed=3)
    diagnosis = archeng.diagnose(model)
    assert len(diagnosis.conflicts) == 1
    found = set(diagnosis.conflicts[0].names)
    assert found == wanted if kind != "slip" else found > wanted
    assert_minimal(model, diagnosis.conflicts[0])


def test_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["gears", "network"]) == 0
    out = capsys.readouterr().out
    assert "planted conflict named in 2 of 2; nothing innocent named in 2 of 2" in out
    with pytest.raises(SystemExit):
        main(["no such model"])


# -- g20 -------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def g20() -> archeng.Diagnosis:
    with pytest.MonkeyPatch.context() as patch:  # the search of a run, tested elsewhere
        patch.setattr(DesignSearch, "last_resort", lambda search, k, rng: np.zeros((0, 24)))
        return archeng.diagnose(cec2006.problem("g20").model)


def test_g20_is_infeasible_and_the_conflict_is_minimal(g20: archeng.Diagnosis) -> None:
    assert not g20.feasible
    (conflict,) = g20.conflicts
    assert_minimal(cec2006.problem("g20").model, conflict)
    assert all(m.kind == "row" for m in conflict.members)
    assert all(a.endswith(">= 0") for a in conflict.assumed)


def test_the_conflict_of_g20_is_one(g20: archeng.Diagnosis) -> None:
    """The argument of the README of the suite, with the named rows only.

    Substances that a named g_j excludes are absent; named h_j tie the gas to the liquid. The
    lightest gas that they allow, times the moles that h14 asks for, outweighs the whole of h13.
    """
    rows = set(g20.conflicts[0].rows)
    assert {"h13", "h14"} <= rows
    limited = dict(zip(("g1", "g2", "g3", "g4", "g5", "g6"), (0, 1, 2, 6, 7, 8), strict=True))
    absent = {i for name, i in limited.items() if name in rows}
    left = [i for i in range(12) if i not in absent]
    mass, pressure, density = (
        np.array(a).ravel()[left] for a in (_G20_MASS, _G20_PRESSURE, _G20_DENSITY)
    )
    k = len(left)
    tied = [j for j, i in enumerate(left) if f"h{i + 1}" in rows]
    link = np.hstack((np.eye(k), -np.diag(pressure / 40)))[tied]
    one, zero = np.ones(k), np.zeros(k)
    lightest = linprog(
        np.concatenate((mass, zero)),
        A_ub=np.vstack((link, -link)),
        b_ub=np.full(2 * len(tied), EQUALITY_TOLERANCE),
        A_eq=np.array([np.concatenate((one, zero)), np.concatenate((zero, one))]),
        b_eq=[1.0, 1.0],
    ).fun
    whole = 1 + EQUALITY_TOLERANCE
    moles = (1.671 - EQUALITY_TOLERANCE - whole / density.min()) / (0.7302 * 530 * 14.7 / 40)
    assert moles * lightest > whole


def test_pyomo_calls_a_row_impossible_that_holds(capsys: pytest.CaptureFixture[str]) -> None:
    pyomo_tools.compare_rounding(1e12, np.random.default_rng(1))
    text = capsys.readouterr().out
    assert "called impossible by archeng 0" in text
    assert "by fbbt 0" not in text
