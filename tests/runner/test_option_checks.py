"""Options are checked by the same rules everywhere, and a typo is answered with what was meant."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np
import pyomo.environ as pyo
import pytest

import archeng
from archeng.cli import main
from archeng.errors import SettingsError


def line() -> archeng.Model:
    model = archeng.Model("line")
    model.variable("x", lower=0, upper=1)
    return model


def never(design: Any) -> float:
    raise AssertionError("nothing may be simulated")


@pytest.mark.parametrize("integer", [np.int64(5), np.uint8(5), np.int32(5)])
def test_integers_of_numpy_are_integers(integer: Any, tmp_path: Path) -> None:
    result = archeng.solve(
        line(),
        lambda design: float(design["x"]),
        max_evaluations=integer,
        max_failures=integer,
        population_size=integer,
        retries=integer,
        restarts=integer,
        seed=integer,
        settings=archeng.Settings(proposals=integer),
        journal=tmp_path / "run.db",
    )
    assert result.nfev == 5


@pytest.mark.parametrize("option", ["max_time", "timeout"])
@pytest.mark.parametrize("value", [-float("inf"), float("nan"), 0, -1.0, True, "5", 10**400, 1e300])
def test_lengths_of_time_are_checked_alike(option: str, value: Any) -> None:
    with pytest.raises(SettingsError, match=f"{option} must be positive seconds"):
        archeng.solve(line(), never, **{option: value})
    if option == "timeout":
        with pytest.raises(SettingsError, match="timeout must be positive seconds"):
            archeng.CommandSimulator(["true"], read=archeng.read_json(), timeout=value)


@pytest.mark.parametrize("value", [float("inf"), np.inf, np.float64("inf")])
def test_an_infinite_time_is_no_limit(value: Any, tmp_path: Path) -> None:
    def simulator(design: Any) -> float:
        return float(design["x"])

    journal = tmp_path / "run.db"
    result = archeng.solve(
        line(), simulator, max_time=value, timeout=value, max_evaluations=4, journal=journal
    )
    assert result.nfev == 4
    assert result.provenance["options"]["max_time"] is None
    command = archeng.CommandSimulator(["true"], read=archeng.read_json(), timeout=value)
    assert command.timeout is None
    limited = archeng.resume(journal, simulator, max_time=1e-9, max_evaluations=9)
    assert limited.stop_reason is archeng.StopReason.MAX_TIME
    assert archeng.resume(journal, simulator, max_time=value, max_evaluations=9).nfev > 4


def test_a_long_seed_of_a_result_is_a_seed() -> None:
    first = archeng.solve(line(), lambda design: float(design["x"]), max_evaluations=5)
    seed = first.provenance["seed"]
    again = archeng.solve(line(), lambda design: float(design["x"]), max_evaluations=5, seed=seed)
    assert [e.objective for e in first.evaluations] == [e.objective for e in again.evaluations]


TYPOS = {
    "solve": lambda: archeng.solve(line(), never, max_evaluation=5),
    "Run": lambda: archeng.Run(line(), never, max_evaluation=5),
    "resume": lambda: archeng.resume("run.db", never, max_evaluation=5),
    "minimize": lambda: archeng.minimize(never, [0.0], max_evaluation=5),
    "Pyomo": lambda: pyo.SolverFactory("archeng").solve(
        pyo.ConcreteModel(), options={"max_evaluation": 5}
    ),
}


def nlp() -> dict[str, Any]:
    x = ca.SX.sym("x", 2)
    return {"x": x, "g": x[0] + x[1]}


def opti() -> ca.Opti:
    made = ca.Opti()
    made.minimize(made.variable() ** 2)
    return made


@pytest.mark.parametrize(
    "model", [line, nlp, opti, pyo.ConcreteModel, lambda: "plant.nl", lambda: 3]
)
def test_a_typo_does_not_blame_the_model(model: Any) -> None:
    for function in (archeng.solve, archeng.Run):
        with pytest.raises(SettingsError, match=r"Did you mean max_evaluations\?"):
            function(model(), never, max_evaluation=5)


@pytest.mark.parametrize("where", TYPOS)
def test_a_typo_is_answered_with_the_option(where: str) -> None:
    with pytest.raises(SettingsError) as caught:
        TYPOS[where]()
    said = str(caught.value)
    assert said.endswith("has no option max_evaluation. Did you mean max_evaluations?")


def test_other_typos() -> None:
    with pytest.raises(SettingsError, match=r"handlr\. Did you mean handler\?"):
        archeng.Settings(handlr="arch")  # type: ignore[call-arg]
    with pytest.raises(SettingsError, match=r"'resamplin'\. Did you mean resampling\?"):
        archeng.Settings(handler="resamplin")  # type: ignore[arg-type]
    with pytest.raises(SettingsError, match=r"sample_feasible\(\) has no option sed"):
        archeng.sample_feasible(line(), 3, sed=1)
    with pytest.raises(SettingsError, match=r"diagnose\(\) .*Did you mean samples\?"):
        archeng.diagnose(line(), sample=1000)
    with pytest.raises(SettingsError, match=r"read_json\(\) .*Did you mean file\?"):
        archeng.read_json(fil="out.json")  # type: ignore[call-arg]


def test_names_of_other_packages() -> None:
    with pytest.raises(SettingsError, match=r"max_iter.* use max_evaluations="):
        archeng.solve(line(), never, max_iter=5)
    with pytest.raises(SettingsError, match="keeps that of its journal"):
        archeng.resume("run.db", never, sigma=0.1)  # type: ignore[call-arg]


def test_the_command_line_names_the_option(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "--max-evalutions", "5"]) == 2
    said = capsys.readouterr().err
    assert "Did you mean" in said
    assert "--max-evaluations" in said


def test_a_table_is_no_journal(tmp_path: Path) -> None:
    table = tmp_path / "calls.csv"
    table.write_text("x,objective\n0.5,1.0\n")
    for reuse in (table, str(table), [table]):
        with pytest.raises(SettingsError, match=r"calls\.csv is a table, not a journal.*journal="):
            archeng.solve(line(), never, reuse=reuse)
