"""`Result`: attributes, files, tables, figures; `ProgressLine`; `Settings`."""

from __future__ import annotations

import dataclasses
import io
import json
import math
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import archeng
from archeng import Design, Model, ProgressLine, Result, Settings
from archeng.errors import ResultFileError, SettingsError


def make() -> Model:
    model = Model("beam")
    h = model.variable("height", lower=0, upper=5, unit="mm")
    w = model.variable("w", shape=(1, 2), lower=0, start=1, scale=1, unit="kg")
    model.variable("fixed", lower=7, upper=7)
    model.subject_to(h + w[0] + w[1] >= 1, name="strength")
    model.subject_to(h * w[0] >= 0.1, name="product")
    model.subject_to(h + w[1] <= 40, name="slack")
    return model


def objective(design: Design) -> float:
    return float(2 * design["height"] + design["w"].sum())


class Fragile:
    """Every fifth call fails, every seventh returns NaN."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, design: Design) -> float:
        self.calls += 1
        if self.calls % 5 == 0:
            raise RuntimeError("too high: π²")
        return np.nan if self.calls % 7 == 0 else objective(design)


@pytest.fixture(scope="module", params=["auto", "none"])
def result(request: pytest.FixtureRequest) -> Result:
    settings = Settings(surrogate=request.param)
    return archeng.solve(make(), Fragile(), seed=1, max_evaluations=150, settings=settings)


def same(a: Any, b: Any) -> bool:
    """Equality of records, NaN equal to NaN, arrays bit for bit, types included."""
    if dataclasses.is_dataclass(a):
        return type(a) is type(b) and all(
            same(getattr(a, f.name), getattr(b, f.name)) for f in dataclasses.fields(a)
        )
    if isinstance(a, np.ndarray):
        return isinstance(b, np.ndarray) and a.shape == b.shape and a.tobytes() == b.tobytes()
    if isinstance(a, tuple | list):
        return (
            isinstance(b, tuple | list)
            and len(a) == len(b)
            and all(same(x, y) for x, y in zip(a, b, strict=True))
        )
    if isinstance(a, dict):
        return isinstance(b, dict) and a.keys() == b.keys() and all(same(a[k], b[k]) for k in a)
    if isinstance(a, float) and math.isnan(a):
        return isinstance(b, float) and math.isnan(b)
    return a == b and isinstance(b, float) == isinstance(a, float)


# -- attributes -----------------------------------------


def test_result_knows_its_design(result: Result) -> None:
    assert isinstance(result.design, Design)
    assert result.design["fixed"] == 7
    assert result.design["w"].shape == (1, 2)
    np.testing.assert_array_equal(result.design.x, result.x)
    assert result.fun == objective(result.design)


def test_the_run_met_everything_that_the_other_tests_need(result: Result) -> None:
    assert {e.status for e in result.evaluations} == {"ok", "invalid", "failed"}
    proposed = sum(e.repair_kind == "proposed" for e in result.evaluations)
    if result.provenance["settings"]["surrogate"] == "auto":
        assert proposed > 5
        assert result.nfev <= 150
    else:
        assert proposed == 0
        assert result.nfev == 150
    assert {"strength", "product"} & set(result.active)
    assert "slack" not in result.active


def test_rows_at_the_best_design(result: Result) -> None:
    rows = {r.name: r for r in result.rows}
    h, w0, w1, _ = result.x
    assert rows["strength"].value == pytest.approx(h + w0 + w1, rel=1e-14)
    assert rows["strength"].kind == "linear"
    assert rows["product"].value == pytest.approx(h * w0, rel=1e-14)
    assert rows["product"].kind == "nonlinear"
    assert (rows["product"].lower, rows["product"].upper) == (0.1, np.inf)
    assert rows["slack"].source.startswith("test_result.py:")
    assert all(r.lower <= r.value <= r.upper for r in result.rows)


def test_history_counts_calls_and_repairs(result: Result) -> None:
    assert [g.generation for g in result.history] == list(range(len(result.history)))
    assert result.history[-1].evaluations == result.nfev
    best = [g.best for g in result.history]
    assert best == sorted(best, reverse=True)
    assert best[-1] == result.fun
    for g in result.history:
        candidates = sum(g.repairs.values())
        if set(g.repairs) != {"repeated"}:  # the best design once more, to see whether it is noisy
            assert candidates == (g.repairs.get("proposed") or g.population_size)
        assert g.sigma > 0
        assert g.condition >= 1


def test_provenance(result: Result) -> None:
    p = result.provenance
    assert p["archeng"] == archeng.__version__
    assert p["seed"] == 1
    assert p["options"]["max_evaluations"] == 150
    assert p["settings"] == dataclasses.asdict(Settings(surrogate=p["settings"]["surrogate"]))
    assert {"python", "casadi", "numpy", "scipy"} <= set(p)


def test_pickle(result: Result) -> None:
    assert same(pickle.loads(pickle.dumps(result)), result)


# -- files -----------------------------------------


@pytest.mark.parametrize("as_path", [str, Path])
def test_save_and_load_is_exact(result: Result, tmp_path: Path, as_path: Any) -> None:
    path = as_path(tmp_path / "result.json")
    result.save(path)
    loaded = Result.load(path)
    for field in dataclasses.fields(Result):
        assert same(getattr(result, field.name), getattr(loaded, field.name)), field.name
    assert str(loaded) == str(result)
    assert repr(loaded) == repr(result)
    assert any(math.isnan(e.objective) for e in loaded.evaluations)
    assert any(r.upper == np.inf for r in loaded.rows)
    assert any("π²" in e.message for e in loaded.evaluations)


def test_saved_file_is_strict_json(result: Result, tmp_path: Path) -> None:
    path = tmp_path / "result.json"
    result.save(path)

    def refuse(token: str) -> float:
        raise AssertionError(f"{token} is not JSON")

    data = json.loads(path.read_text(encoding="utf-8"), parse_constant=refuse)
    assert data["format"] == "archeng-result"


def test_a_loaded_result_can_be_saved_again(result: Result, tmp_path: Path) -> None:
    first, second = tmp_path / "1.json", tmp_path / "2.json"
    result.save(first)
    Result.load(first).save(second)
    assert first.read_bytes() == second.read_bytes()


def without_design() -> Result:
    run = archeng.Run(make(), seed=1, max_evaluations=8)
    while not run.stopped:
        run.tell([None] * len(run.ask()))
    return run.result()


def test_a_result_without_design_survives(tmp_path: Path) -> None:
    empty = without_design()
    empty.save(tmp_path / "r.json")
    loaded = Result.load(tmp_path / "r.json")
    assert math.isnan(loaded.fun)
    assert np.isnan(loaded.x).all()
    assert loaded.status is empty.status
    assert str(loaded) == str(empty)


def test_infinite_settings_survive(tmp_path: Path) -> None:
    settings = Settings(max_condition=np.inf)
    before = archeng.solve(make(), objective, seed=1, settings=settings, max_evaluations=5)
    before.save(tmp_path / "r.json")
    after = Result.load(tmp_path / "r.json")
    assert after.provenance["settings"]["max_condition"] == np.inf


def test_numpy_numbers_as_options_survive(tmp_path: Path) -> None:
    before = archeng.solve(
        make(),
        objective,
        seed=np.int64(3),
        max_evaluations=np.int64(5),
        population_size=np.int32(5),
        target=np.float32(-1.5),
    )
    before.save(tmp_path / "r.json")
    options = Result.load(tmp_path / "r.json").provenance["options"]
    assert options["max_evaluations"] == 5
    assert options["target"] == -1.5


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"[1, 2]", b"null", b"{}", b'{"format": "something else"}', b"\xff\xfe\x00abc",
     b"x,y\n1,2\n"],
)  # fmt: skip
def test_foreign_files_are_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "foreign.json"
    path.write_bytes(content)
    with pytest.raises(ResultFileError, match=r"foreign\.json"):
        Result.load(path)


def test_missing_file_and_directory(tmp_path: Path) -> None:
    with pytest.raises(ResultFileError, match="nothing"):
        Result.load(tmp_path / "nothing.json")
    with pytest.raises(ResultFileError):
        Result.load(tmp_path)


def change(*keys: Any, to: Any) -> Any:
    def edit(data: Any) -> None:
        for key in keys[:-1]:
            data = data[key]
        data[keys[-1]] = to

    return edit


def drop(*keys: Any) -> Any:
    def edit(data: Any) -> None:
        for key in keys[:-1]:
            data = data[key]
        del data[keys[-1]]

    return edit


@pytest.mark.parametrize(
    "edit",
    [
        change("version", to=99),
        drop("version"),
        drop("x"),
        drop("status"),
        drop("evaluations"),
        drop("evaluations", 0, "x"),
        drop("rows", 0, "value"),
        change("x", to="abc"),
        change("x", to=["a"]),
        change("x", to=None),
        change("x", to=[1.0]),  # three numbers are missing
        change("fun", to=None),
        change("status", to="FANTASTIC"),
        change("stop_reason", to="BOREDOM"),
        change("evaluations", to=3),
        change("evaluations", to=[3]),
        change("evaluations", 0, "x", to=["?"]),
        change("evaluations", 0, "objective", to="many"),
        change("evaluations", 0, "surprise", to=1),
        change("variables", to=[]),
        change("variables", 0, "shape", to=3),
        change("history", 0, "sigma", to=None),
    ],
)
def test_damaged_files_are_refused(result: Result, tmp_path: Path, edit: Any) -> None:
    path = tmp_path / "damaged.json"
    result.save(path)
    data = json.loads(path.read_text(encoding="utf-8"))
    edit(data)
    path.write_text(json.dumps(data), encoding="utf-8")
    with pytest.raises(ResultFileError, match=r"damaged\.json"):
        Result.load(path)


@pytest.mark.parametrize("part", [0.1, 0.5, 0.99])
def test_truncated_files_are_refused(result: Result, tmp_path: Path, part: float) -> None:
    path = tmp_path / "short.json"
    result.save(path)
    text = path.read_text(encoding="utf-8")
    path.write_text(text[: int(part * len(text))], encoding="utf-8")
    with pytest.raises(ResultFileError):
        Result.load(path)


# -- tables -----------------------------------------


def test_print_shows_names_units_and_active_constraints(result: Result) -> None:
    text = str(result)
    lines = [line.split() for line in text.splitlines()]
    assert text.startswith("beam: ")
    (height,) = [row for row in lines if row[:1] == ["height"]]
    assert height[1:] == [f"{result.x[0]:.8g}", "mm", "0", "5"]
    (w,) = [row for row in lines if row[:1] == ["w[0,1]"]]
    assert w[2:] == ["kg", "0", "-"]
    assert f"{result.nfev} simulator calls, 0 of them at infeasible designs" in text
    for name in result.active:
        reached, blocking = [line for line in text.splitlines() if line.startswith(f"{name} ")]
        assert "<=" in reached or ">=" in reached
        assert "times" in blocking
    assert "slack" not in text
    assert result.message in text
    assert f"{result.fun:.10g}" in text


def test_print_without_active_constraints() -> None:
    model = Model("inside")
    model.variable("x", shape=2, lower=-5, upper=5)
    result = archeng.solve(model, lambda d: float(d.x @ d.x), seed=1, max_evaluations=60)
    assert "2 of 2 constraints are not active" in str(result)
    assert result.active == []


def test_equalities_are_always_active() -> None:
    model = Model()
    x = model.variable("x", shape=2, lower=-5, upper=5)
    model.subject_to(x[0] + x[1] == 1, name="sum", tolerance=0.5)
    result = archeng.solve(model, lambda d: abs(d.x.sum() - 1), seed=1, max_evaluations=60)
    (row,) = [r for r in result.rows if r.name == "sum"]
    assert row.kind == "equality"
    assert row.active


def test_repr_is_one_line(result: Result) -> None:
    assert repr(result).startswith("<archeng.Result 'beam': fun=")
    assert "\n" not in repr(result)


# -- figures -----------------------------------------


@pytest.mark.parametrize("kind", ["convergence", "search"])
def test_plot_returns_a_figure_that_can_be_drawn(result: Result, kind: str) -> None:
    figure_module = pytest.importorskip("matplotlib.figure")
    figure = result.plot(kind)
    assert isinstance(figure, figure_module.Figure)
    stream = io.BytesIO()
    figure.savefig(stream, format="png", dpi=40)
    assert stream.getvalue().startswith(b"\x89PNG")
    assert "beam" in figure.axes[0].get_title()


def test_plot_is_convergence_by_default(result: Result) -> None:
    pytest.importorskip("matplotlib")
    assert "convergence" in result.plot().axes[0].get_title()


@pytest.mark.parametrize("maximize", [False, True])
def test_best_so_far_is_monotone_in_the_figure(maximize: bool) -> None:
    pytest.importorskip("matplotlib")
    sense: Any = "maximize" if maximize else "minimize"
    result = archeng.solve(
        make(), lambda d: float(d["height"]), seed=1, max_evaluations=30, sense=sense
    )
    axes = result.plot().axes[0]
    (line,) = [a for a in axes.get_lines() if a.get_label() == "best so far"]
    steps = np.diff(line.get_ydata())
    assert np.all(steps >= 0) if maximize else np.all(steps <= 0)


@pytest.mark.parametrize("kind", ["convergence", "search"])
def test_plot_of_a_run_without_any_result(kind: str) -> None:
    pytest.importorskip("matplotlib")
    result = without_design()
    result.plot(kind).savefig(io.BytesIO(), format="png", dpi=40)


@pytest.mark.parametrize("kind", ["", "Convergence", "pie", None])
def test_unknown_plot(result: Result, kind: Any) -> None:
    with pytest.raises(SettingsError, match="must be one of convergence, search"):
        result.plot(kind)


# -- progress -----------------------------------------


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_progress_writes_one_line_per_generation_to_a_plain_stream() -> None:
    stream = io.StringIO()
    result = archeng.solve(
        make(),
        lambda d: float(d["height"]),
        seed=1,
        max_evaluations=20,
        callback=ProgressLine(stream, every=0),
    )
    lines = stream.getvalue().splitlines()
    assert len(lines) == len(result.history)
    assert lines[0].startswith(f"{result.history[0].evaluations}/20 calls")
    assert lines[-1].startswith("20/20 calls")
    assert f"best {result.fun:.8g}" in lines[-1]
    assert "\r" not in stream.getvalue()


def test_progress_rewrites_one_line_on_a_terminal() -> None:
    stream = Terminal()
    result = archeng.solve(
        make(),
        lambda d: float(d["height"]),
        seed=1,
        max_evaluations=20,
        callback=ProgressLine(stream, every=0),
    )
    text = stream.getvalue()
    assert text.count("\r") == len(result.history)
    assert text.count("\n") == 1
    assert text.endswith("\n")  # the last line is left standing
    assert text.split("\r")[-1].startswith("20/20 calls")


def test_progress_shows_only_the_first_and_the_last_line_if_updates_are_rare() -> None:
    stream = io.StringIO()
    result = archeng.solve(
        make(),
        lambda d: float(d["height"]),
        seed=1,
        max_evaluations=20,
        callback=ProgressLine(stream, every=1000),
    )
    assert len(result.history) > 2
    lines = stream.getvalue().splitlines()
    assert len(lines) == 2
    assert lines[-1].startswith("20/20 calls")


def test_progress_without_budget_shows_no_total() -> None:
    stream = io.StringIO()
    archeng.solve(
        make(), lambda d: float(d["height"]), seed=1, target=100, callback=ProgressLine(stream, 0)
    )
    assert stream.getvalue().startswith("1 calls")


def test_progress_goes_to_standard_error_by_default(capsys: pytest.CaptureFixture[str]) -> None:
    archeng.solve(
        make(),
        lambda d: float(d["height"]),
        seed=1,
        max_evaluations=5,
        callback=ProgressLine(every=0),
    )
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "5/5 calls" in captured.err
