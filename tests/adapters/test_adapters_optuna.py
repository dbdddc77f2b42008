"""Runs as studies of the real Optuna: in memory, in SQLite, from journals, by the CLI."""

from __future__ import annotations

import json
import sys
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from wsgiref.util import setup_testing_defaults

import numpy as np
import optuna
import optuna_dashboard
import pytest
from optuna.trial import TrialState

import archeng
from archeng.adapters.optuna import EXPLICIT, to_study
from archeng.checks import needed
from archeng.cli import main
from archeng.errors import MissingPackageError, SettingsError


@pytest.fixture(autouse=True)
def _quiet() -> Any:
    before = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    yield
    optuna.logging.set_verbosity(before)


def can() -> archeng.Model:
    model = archeng.Model("can")
    r = model.variable("radius", lower=1, upper=10, start=5.5, unit="cm")
    h = model.variable("height", lower=1, start=8, scale=3, unit="cm")
    model.subject_to(3.14159 * r**2 * h >= 330, name="volume")
    return model


def surface(design: archeng.Design) -> archeng.Evaluation:
    r, h = design["radius"], design["height"]
    if r > 5.6:
        raise ArithmeticError("the mesher gave up")
    return archeng.Evaluation(
        2 * 3.14159 * r * (r + h), constraints={"ratio": h / r}, outputs={"lid": 3.14159 * r**2}
    )


LIMITS = {"ratio": (1.0, 1.8)}


@pytest.fixture(scope="module")
def journal(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("optuna") / "run.db"
    archeng.solve(can(), surface, simulated=LIMITS, max_evaluations=30, seed=1, journal=path)
    return path


def test_every_call_is_a_trial(journal: Path) -> None:
    result = archeng.read_journal(journal)
    study = to_study(result)
    assert study.study_name == "can"
    assert study.direction == optuna.study.StudyDirection.MINIMIZE
    assert len(study.trials) == len(result.evaluations) > 10
    assert study.user_attrs["archeng.constraints"] == ["ratio >= 1", "ratio <= 1.8"]
    states = {t.state for t in study.trials}
    assert states == {TrialState.COMPLETE, TrialState.FAIL}
    assert any(e.violated for e in result.evaluations)
    for trial, call in zip(study.trials, result.evaluations, strict=True):
        assert (trial.state is TrialState.COMPLETE) == call.good
        assert list(trial.params.values()) == call.x.tolist()
        assert trial.user_attrs["archeng.repair_kind"] == call.repair_kind
        if call.good:
            assert trial.value == call.objective
            assert trial.user_attrs["outputs.lid"] == call.outputs["lid"]
            ratio = call.constraints["ratio"]
            assert list(trial.constraints.values()) == [1.0 - ratio, ratio - 1.8]
            assert all(v <= 0 for v in trial.constraints.values()) == call.acceptable
        else:
            assert "the mesher gave up" in trial.user_attrs["archeng.message"]


def test_sqlite_study_is_the_same_when_loaded_again(journal: Path, tmp_path: Path) -> None:
    result = archeng.read_journal(journal)
    url = f"sqlite:///{tmp_path / 'study.db'}"
    to_study(result, url, "lids")
    loaded = optuna.load_study(study_name="lids", storage=url)
    assert loaded.best_value == result.fun
    assert loaded.best_params == dict(result.design)
    assert loaded.user_attrs["archeng.units"] == {"radius": "cm", "height": "cm"}
    assert loaded.best_trial.distributions["radius"].low == 1.0
    assert loaded.best_trial.distributions["radius"].high == 10.0
    assert len(loaded.trials_dataframe()) == len(result.evaluations)
    importances = optuna.importance.get_param_importances(
        loaded, evaluator=optuna.importance.PedAnovaImportanceEvaluator()
    )
    assert set(importances) == {"radius", "height"}


def test_the_dashboard_opens_a_run(journal: Path, tmp_path: Path) -> None:
    result = archeng.read_journal(journal)
    url = f"sqlite:///{tmp_path / 'shown.db'}"
    to_study(result, url, "shown")
    dashboard = optuna_dashboard.wsgi(url)
    said: dict[str, str] = {}

    def get(path: str) -> Any:
        request: dict[str, Any] = {"PATH_INFO": path}
        setup_testing_defaults(request)
        body = dashboard(request, lambda status, headers, error=None: said.update(status=status))
        return json.loads(b"".join(body))

    (summary,) = get("/api/studies")["study_summaries"]
    assert summary["study_name"] == "shown"
    detail = get(f"/api/studies/{summary['study_id']}")
    assert said["status"].startswith("200")
    assert len(detail["trials"]) == len(result.evaluations)
    for trial, call in zip(detail["trials"], result.evaluations, strict=True):
        assert trial["state"] == ("Complete" if call.good else "Fail")
        if call.good:
            assert trial["values"] == [call.objective]
            assert all(value <= 0 for value in trial["constraints"]) == call.acceptable
    assert {p["name"] for p in detail["union_search_space"]} == {"radius", "height"}


def test_trials_have_the_times_of_the_calls(journal: Path) -> None:
    result = archeng.read_journal(journal)
    begun = datetime.fromisoformat(result.provenance["created"]).astimezone().replace(tzinfo=None)
    for trial, call in zip(to_study(result).trials, result.evaluations, strict=True):
        assert trial.datetime_complete == begun + timedelta(seconds=call.elapsed)
        assert trial.duration is not None
        assert trial.duration.total_seconds() == pytest.approx(call.seconds, abs=2e-6)


def test_update_adds_what_is_missing(tmp_path: Path) -> None:
    path, url = tmp_path / "run.db", f"sqlite:///{tmp_path / 'study.db'}"
    archeng.solve(can(), surface, simulated=LIMITS, max_evaluations=8, seed=1, journal=path)
    to_study(archeng.read_journal(path), url)
    with pytest.raises(SettingsError, match="has a study 'can' already"):
        to_study(archeng.read_journal(path), url)
    archeng.resume(path, surface, max_evaluations=14)
    result = archeng.read_journal(path)
    study = to_study(result, url, update=True)
    assert [t.params for t in study.trials] == [
        dict(zip(("radius", "height"), e.x.tolist(), strict=True)) for e in result.evaluations
    ]
    assert len(to_study(result, url, update=True).trials) == len(result.evaluations)
    other = archeng.solve(can(), surface, simulated=LIMITS, max_evaluations=8, seed=2)
    with pytest.raises(SettingsError, match="another run"):
        to_study(other, url, update=True)


def test_maximising_vectors_and_fixed_variables() -> None:
    model = archeng.Model("bars")
    w = model.variable("w", lower=0, upper=1, shape=2)
    model.variable("fixed", lower=3, upper=3)
    model.subject_to(w[0] + w[1] <= 1, name="sum")
    result = archeng.solve(
        model, lambda d: d["w"] @ [1, 2] + d["fixed"], sense="maximize", max_evaluations=40, seed=1
    )
    study = to_study(result, study_name="max")
    assert study.direction == optuna.study.StudyDirection.MAXIMIZE
    assert study.best_value == result.fun == pytest.approx(5.0, abs=1e-6)
    np.testing.assert_array_equal(
        [study.best_params[k] for k in ("w[0]", "w[1]", "fixed")], result.x
    )


def test_infeasible_calls_are_never_the_best_trial() -> None:
    model = archeng.Model("box")
    x = model.variable("x", lower=-1, upper=1, shape=2)
    model.subject_to(x[0] + x[1] >= 0.5, name="plane")
    settings = archeng.Settings(handler="mcr", simulator_defined_everywhere=True, surrogate="none")
    result = archeng.solve(
        model, lambda d: d["x"] @ d["x"], max_evaluations=60, seed=1, settings=settings
    )
    assert result.n_infeasible_calls > 0
    study = to_study(result)
    assert study.best_value == result.fun
    assert study.user_attrs["archeng.constraints"] == [EXPLICIT]
    violated = sum(t.constraints["0"] > 0 for t in study.trials)
    assert violated == result.n_infeasible_calls


def test_export_command(journal: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    url = f"sqlite:///{tmp_path / 'cli.db'}"
    assert main(["export", str(journal), "--optuna", url, "--study", "mine"]) == 0
    calls = len(archeng.read_journal(journal).evaluations)
    assert f"study 'mine': {calls} trials" in capsys.readouterr().out
    assert main(["export", str(journal), "--optuna", url, "--study", "mine"]) == 2
    assert "already" in capsys.readouterr().err
    assert main(["export", str(journal), "--optuna", url, "--study", "mine", "--update"]) == 0
    assert len(optuna.load_study(study_name="mine", storage=url).trials) == calls
    assert main(["export", str(journal), "--optuna", "nowhere"]) == 2
    assert "storage 'nowhere' cannot be used" in capsys.readouterr().err


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "optuna", None)
    with pytest.raises(MissingPackageError, match=r"archeng\[optuna\]"):
        needed("optuna", "optuna")


@pytest.mark.slow
def test_discrete_variables_have_distributions_of_their_kind() -> None:
    model = archeng.Model("parts")
    model.variable("x", lower=0, upper=1)
    model.integer("bolts", lower=4, upper=9)
    model.binary("stiffener")
    model.choice("even", [2, 4, 6])
    model.choice("half", [0.5, 1.0, 1.5])
    model.choice("odd", [1, 2.5, 7])
    model.category("material", {"steel": {"price": 1.0}, "wood": {"price": 2.0}})

    def simulator(design: archeng.Design) -> float:
        return float(design["x"] + design["bolts"] + design["even"] + design["material"]["price"])

    result = archeng.solve(model, simulator, max_evaluations=12, seed=1)
    study = to_study(result)
    kinds = study.trials[0].distributions
    d = optuna.distributions
    assert kinds["bolts"] == d.IntDistribution(4, 9)
    assert kinds["stiffener"] == d.IntDistribution(0, 1)
    assert kinds["even"] == d.IntDistribution(2, 6, step=2)
    assert kinds["half"] == d.FloatDistribution(0.5, 1.5, step=0.5)
    assert kinds["odd"] == d.CategoricalDistribution([1, 2.5, 7])
    assert kinds["material"] == d.CategoricalDistribution(["steel", "wood"])
    for trial, call in zip(study.trials, result.evaluations, strict=True):
        assert trial.params["bolts"] == call.x[1]
        assert trial.params["material"] == ("steel", "wood")[int(call.x[6])]
    assert study.best_params["material"] == "steel"
