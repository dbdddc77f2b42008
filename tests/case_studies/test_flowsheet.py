"""Models with many equalities: their equations, their referee and judge, runs and the record."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np
import pytest
from study_commands import refused

from case_studies.flowsheet import experiment, steam, tables
from case_studies.flowsheet.__main__ import main
from case_studies.flowsheet.judge import Judge, tolerances
from case_studies.flowsheet.methods import METHODS
from case_studies.flowsheet.power import PUBLISHED, network
from case_studies.flowsheet.referee import Formulas, formulas, local_optimum, optimum
from case_studies.flowsheet.suite import PROBLEMS, known, names
from case_studies.flowsheet.trial import Ended, Trial, run, sizes

SIZES = {
    "case9": (60, 55, 5),
    "case14": (118, 109, 9),
    "case14s": (126, 116, 10),
    "case30": (236, 225, 11),
    "case57": (448, 435, 13),
    "chain10": (59, 50, 9),
    "chain100": (509, 500, 9),
    "chain1000": (5009, 5000, 9),
    "rankine": (69, 62, 7),
    "hda": (112, 105, 7),
    "rod": (508, 500, 8),
}
SMALL = [name for name in SIZES if name != "chain1000"]


def solved(name: str, given: dict[str, float]) -> dict[str, float]:
    """Return the values that follow from the independent variables, without other limits."""
    f = formulas(PROBLEMS[name])
    low, high = (np.full(len(f.names), sign * np.inf) for sign in (-1, 1))
    for variable, value in given.items():
        low[f.names.index(variable)] = high[f.names.index(variable)] = value
    equal = np.flatnonzero(f.equality).tolist()
    square = Formulas(
        f.x, ca.SX(0), f.g[equal], f.start, (low, high), tuple(s[equal] for s in f.limits),
        f.names, [f.rows[k] for k in equal],
    )  # fmt: skip
    value, x = local_optimum(square, np.clip(f.start, low, high))
    assert value == 0.0
    return dict(zip(f.names, x.tolist(), strict=True))


def test_sizes_are_those_of_the_readme() -> None:
    assert list(SIZES) == names()
    for name, (n, equalities, dof) in SIZES.items():
        assert sizes(PROBLEMS[name]) == {"n": n, "equalities": equalities, "dof": dof}
        assert len(PROBLEMS[name].independent) == dof
    assert names(held_out=True) == ["case57", "hda"]
    readme = Path("case_studies/flowsheet/README.md").read_text("utf-8").replace("*", "")
    for name, size in SIZES.items():
        line = [name, *(f"{k:,}" for k in size), f"{known(name):.8g}"]
        assert f"| {' | '.join(line)} |" in readme


def test_power_flow_of_nine_buses_is_that_of_anderson_and_fouad() -> None:
    """Power System Control and Stability, example 2.6; buses 5 to 9 have other numbers there."""
    v = solved(
        "case9",
        {"vm[1]": 1.04, "vm[2]": 1.025, "vm[3]": 1.025, "pg[2]": 1.63, "pg[3]": 0.85},
    )
    assert v["pg[1]"] == pytest.approx(0.716, abs=1e-3)
    assert [v[f"qg[{k}]"] for k in (1, 2, 3)] == pytest.approx([0.270, 0.067, -0.109], abs=1e-3)
    published = {4: (1.026, -2.2), 9: (0.996, -4.0), 5: (1.013, -3.7), 8: (1.026, 3.7),
                 7: (1.016, 0.7), 6: (1.032, 2.0), 2: (1.025, 9.3), 3: (1.025, 4.7)}  # fmt: skip
    for bus, (size, angle) in published.items():
        assert v[f"vm[{bus}]"] == pytest.approx(size, abs=6e-4)
        assert math.degrees(v[f"va[{bus}]"]) == pytest.approx(angle, abs=0.06)


def test_power_flow_of_fourteen_buses_is_that_of_the_archive() -> None:
    grid = network("case14")
    given = {f"vm[{g['bus']}]": g["vg"] for g in grid["generators"].values()}
    given |= {f"pg[{k}]": g["pg"] / 100 for k, g in grid["generators"].items() if k > 1}
    v = solved("case14", given)
    assert v["pg[1]"] == pytest.approx(2.324, abs=1e-3)
    for bus, data in grid["buses"].items():
        assert v[f"vm[{bus}]"] == pytest.approx(data["vm"], abs=2e-3)
        assert math.degrees(v[f"va[{bus}]"]) == pytest.approx(data["va"], abs=0.02)


def test_steam_is_that_of_the_tables() -> None:
    """IAPWS-97; the entropy of saturated water at 1 bar and of steam at 100 bar and 500 C."""
    at = {name: steam.saturated(name, 1.0, math.log) for name in steam.SATURATED}
    assert at["temperature"] == pytest.approx(372.76, abs=0.02)
    assert at["liquid enthalpy"] == pytest.approx(417.4, abs=0.2)
    assert at["vapour entropy"] == pytest.approx(7.359, abs=1e-3)
    assert steam.steam("enthalpy", 773.15, 100.0, math.log) == pytest.approx(3375.1, abs=2.0)
    assert steam.steam("entropy", 773.15, 100.0, math.log) == pytest.approx(6.599, abs=5e-3)


def test_ten_tanks_follow_one_after_the_other() -> None:
    """Tank by tank by bisection of its temperature, without the model."""
    given = {"flow": 3e-3, "inlet": 325.0, "volume": 6.0}
    jackets = {f"jacket[{j}]": 325.0 for j in range(1, 7)}
    v = solved("chain10", {**given, **jackets})
    a, b, t = 2.0, 0.0, 325.0
    hours = 6.0 / 10 / 3e-3
    for i in range(1, 11):

        def tank(hot: float, a: float = a, b: float = b, t: float = t) -> tuple[float, ...]:
            k1 = 1.4e6 * math.exp(-60e3 / 8.314 / hot)
            k2 = 9e11 * math.exp(-105e3 / 8.314 / hot)
            new_a = a / (1 + hours * k1)
            new_b = (b + hours * k1 * new_a) / (1 + hours * k2)
            heat = 1e3 * (45 * k1 * new_a + 60 * k2 * new_b) - 1.2 * (hot - 325.0)
            return new_a, new_b, 3.2e3 * (hot - t) - hours * heat

        low, high = 300.0, 360.0
        for _ in range(60):
            middle = (low + high) / 2
            low, high = (middle, high) if tank(middle)[2] < 0 else (low, middle)
        a, b, _ = tank(low)
        t = low
        assert [v[f"A[{i}]"], v[f"B[{i}]"], v[f"T[{i}]"]] == pytest.approx([a, b, t], rel=1e-7)


def test_energy_and_atoms_are_kept() -> None:
    f = formulas(PROBLEMS["hda"])
    _, x = local_optimum(f, f.start)
    v = dict(zip(f.names, x.tolist(), strict=True))
    carbon = {"CH4": 1, "benzene": 6, "toluene": 7, "diphenyl": 12}
    out = sum(
        n * v.get(f"F[{s},{j}]", 0.0)
        for s in ("purge", "product", "bottoms")
        for j, n in carbon.items()
    )
    assert out == pytest.approx(7 * 0.3 + v["F[hydrogen,CH4]"], rel=1e-7)
    ends = sum(v[f"H[{s}]"] for s in ("purge", "product", "bottoms"))
    duties = v["furnace"] + v["work"] + v["flash1.duty"] + v["flash2.duty"]
    assert ends == pytest.approx(v["H[hydrogen]"] + v["H[toluene]"] + duties, rel=1e-7)
    f = formulas(PROBLEMS["rankine"])
    _, x = local_optimum(f, f.start)
    v = dict(zip(f.names, x.tolist(), strict=True))
    assert v["F[10]"] == pytest.approx(v["F[1]"], rel=1e-8)  # the loop is closed
    heat = v["Q[boiler]"] + v["Q[reheater]"] - v["Q[condenser]"]
    assert heat == pytest.approx(100.0, rel=1e-7)


@pytest.mark.parametrize("name", SMALL)
def test_known_optima_are_found_again_and_feasible_for_pyomo(name: str) -> None:
    problem = PROBLEMS[name]
    f = formulas(problem)
    value, x = local_optimum(f, f.start)
    assert value == pytest.approx(known(name), rel=1e-8)
    if name in PUBLISHED:
        assert value == pytest.approx(PUBLISHED[name], abs=0.006)
    design = dict(zip(f.names, x.tolist(), strict=True))
    assert problem.cost(design, math) == pytest.approx(value, rel=1e-9)  # the black box is the same
    verdict = Judge(problem, tolerances(problem))(design)
    assert verdict.broken == ()
    assert verdict.excess <= 1e-9
    slopes = ca.Function("slopes", [f.x], [ca.jacobian(f.g, f.x)])(x).full()
    dependent = [k for k, n in enumerate(f.names) if n not in problem.independent]
    square = slopes[np.ix_(f.equality, dependent)]
    square = square / np.abs(square).max(axis=1, keepdims=True)
    assert np.linalg.matrix_rank(square / np.abs(square).max(axis=0)) == len(dependent)


@pytest.mark.slow
def test_the_longest_chain_has_its_optimum() -> None:
    assert optimum(PROBLEMS["chain1000"]).f == pytest.approx(known("chain1000"), rel=1e-8)


def test_several_starts_agree_where_they_end() -> None:
    found = optimum(PROBLEMS["rankine"], starts=4, seed=2)
    assert (found.agreeing, found.ended) == (4, 4)


def test_the_judge_finds_what_is_broken() -> None:
    problem = PROBLEMS["hda"]
    f = formulas(problem)
    _, x = local_optimum(f, f.start)
    design = dict(zip(f.names, x.tolist(), strict=True))
    judge = Judge(problem, tolerances(problem))
    assert judge(design).broken == ()
    verdict = judge({**design, "work": design["work"] + 1e-3})
    assert verdict.broken == ("compressor",)
    assert verdict.residual == pytest.approx(1e-3, rel=1e-3)
    verdict = judge({**design, "purged": 0.6})
    assert "bounds of purged" in verdict.broken
    assert verdict.excess == pytest.approx(0.1)
    assert judge({**design, "T[toluene]": 310.0}).broken == ("bounds of T[toluene]",)  # fixed
    assert "bounds of T[vapour]" in judge({**design, "T[vapour]": math.nan}).broken


def test_a_run_is_measured_and_judged() -> None:
    f = formulas(PROBLEMS["case9"])
    _, best = local_optimum(f, f.start)

    def method(trial: Trial) -> Ended:
        trial.names = f.names
        for k in range(3):
            x = best.copy()
            x[f.names.index("pg[1]")] += 0.1 * (k == 0)  # no balance
            trial.at(x)
        return Ended("converged", True, 0)

    row = run(method, Trial(PROBLEMS["case9"], 1, 10, 60))
    assert (row["calls"], row["infeasible"], row["calls_to_target"]) == (3, 1, 2)
    assert (row["first_broken"], row["claims"], row["stop"]) == ("p_balance[1]", 1, "converged")
    assert row["largest_residual"] == pytest.approx(0.1, rel=1e-6)
    assert abs(row["gap"]) < 1e-8
    assert row["first_wall"] <= row["wall"]


def test_a_run_without_end_is_interrupted_and_errors_are_kept() -> None:
    def endless(trial: Trial) -> Ended:
        while True:
            pass

    row = run(endless, Trial(PROBLEMS["case9"], 1, 10, 0.2))
    assert (row["stop"], row["calls"], row["calls_to_target"]) == ("time", 0, None)

    def broken(trial: Trial) -> Ended:
        raise ValueError("no design")

    row = run(broken, Trial(PROBLEMS["case9"], 1, 10, 1.0))
    assert (row["stop"], row["error"]) == ("error", "ValueError: no design")


@pytest.mark.parametrize("name", ["case9", "chain10"])
def test_ipopt_pays_for_differences(name: str) -> None:
    row = experiment.measured(name, "ipopt-fd", seed=1, budget=1, seconds=60)
    assert row["claims"] == 1
    assert 5 * row["n"] < row["calls_to_target"] <= row["calls"]
    assert row["infeasible"] > row["n"]
    assert abs(row["gap"]) < 1e-5


def test_archeng_in_all_variables_makes_no_infeasible_call() -> None:
    row = experiment.measured("case9", "archeng-all", seed=1, budget=10, seconds=60)
    assert (row["calls"], row["infeasible"], row["own_infeasible"]) == (10, 0, 0)
    assert row["first_process"] > 0


@pytest.mark.parametrize(
    ("name", "most"),
    [
        ("case9", 80),
        ("chain10", 110),
        ("rankine", 180),
        pytest.param("case30", 150, marks=pytest.mark.slow),
        pytest.param("rod", 120, marks=pytest.mark.slow),
    ],
)
def test_archeng_searches_in_the_degrees_of_freedom(name: str, most: int) -> None:
    row = experiment.measured(name, "archeng", seed=1, budget=most, seconds=100)
    assert row["calls_to_target"] is not None, row
    assert (row["infeasible"], row["error"]) == (0, "")
    assert not row["claims"] or row["gap"] < tables.FALSE


def test_independent_variables_can_be_named() -> None:
    row = experiment.measured("chain10", "archeng-named", seed=1, budget=100, seconds=60)
    assert row["calls_to_target"] is not None, row
    assert (row["infeasible"], row["error"]) == (0, "")


def _row(name: str, method: str, calls: int | None, **more: Any) -> dict[str, Any]:
    row = {
        "problem": name, "held_out": 0, "method": method, "version": "1", "optimum": 10.0,
        "budget": 300, "seconds": 60, "seed": 1, "n": 20, "equalities": 15, "dof": 5,
        "calls": 300, "infeasible": 0, "largest_residual": 1e-8, "largest_excess": 0.0,
        "calls_to_target": calls, "gap": 1e-6 if calls else 2e-3, "claims": 1, "first_wall": 0.5,
        "first_process": 0.4, "overhead_ms": 3.0, "simulator_ms": 1.0, "stop": "", "error": "",
    }  # fmt: skip
    return {**row, **more}


def test_the_summary_shows_losses() -> None:
    rows = [
        *(_row("case9", "archeng", c, seed=s) for s, c in enumerate((30, 40, None))),
        _row("case9", "ipopt-fd", 900, infeasible=700),
        _row("hda", "archeng", 80, held_out=1, infeasible=2),
        _row("hda", "ipopt-fd", 60, held_out=1, version="0"),
        _row("hda", "ipopt-fd", 70, held_out=1),
    ]
    text = tables.summary(rows)
    assert "| case9 | 20 | 15 | 5 | 10 | 40 (2/3), 1.0e-06 | 900, 1.0e-06 |" in text
    assert "| hda | 20 | 15 | 5 | 10 | 80, 1.0e-06 | 70, 1.0e-06 |" in text
    assert "0 of 900; 1.0e-08, 0.0e+00; 3 of 3 (1, 1) | 700 of 300;" in text
    assert "- case9: 1 of 3 runs miss the target (gap 2.0e-03)" in text
    assert "- case9: 1 false claims of convergence" in text
    assert "- hda: ipopt-fd needs 70 calls, archeng 80" in text
    assert "- hda: 2 calls at infeasible designs" in text
    assert tables.losses(rows[3:4]) == "Nowhere."


@pytest.mark.slow
def test_the_command_goes_on_where_it_stopped(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["--only", "case9,chain10", "--methods", "ipopt-fd", "--seeds", "1"]
    arguments += ["--jobs", "1", "--out", str(tmp_path)]
    assert main(arguments) == 0
    first = (tmp_path / "flowsheet.csv").read_bytes()
    assert first.count(b"\n") == 3
    assert "### Problems: calls" in (tmp_path / "flowsheet.md").read_text("utf-8")
    assert main(arguments) == 0
    assert (tmp_path / "flowsheet.csv").read_bytes() == first
    starts = json.loads((tmp_path / "flowsheet.meta.json").read_text("utf-8"))["starts"]
    assert [s["command"] for s in starts] == [starts[0]["command"]] * 2
    capsys.readouterr()


def test_one_run_and_optima_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["solve", "case9", "--method", "ipopt-fd", "--seed", "2"]) == 0
    assert (
        "case9 by ipopt-fd, seed 2; optimum of the referee 5296.686204" in capsys.readouterr().out
    )
    assert main(["optima", "rankine"]) == 0
    assert "| rankine | 56.7984246857 | 56.7984246857 | 12 of 12 | - |" in capsys.readouterr().out


def test_bad_names_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert "no problem is named case118" in refused(main, ["--only", "case118"], capsys)
    assert "no method is named nobody" in refused(main, ["--methods", "nobody"], capsys)
    assert "solve needs the name of one problem" in refused(main, ["solve"], capsys)


def test_who_runs_what() -> None:
    tasks = experiment.tasks(2, quick=False)
    assert {t["problem"] for t in tasks} == set(names())
    assert {t["method"] for t in tasks} == set(METHODS)
    lost = experiment.failed(tasks[0], "killed")
    assert (lost["calls"], lost["stop"], lost["error"]) == (0, "lost", "killed")
