"""Earlier data: tables, frames, pairs, journals; what they teach, where a run begins, errors."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest

import archeng
from archeng.errors import DataError, SettingsError

OPTIONS: dict[str, Any] = {"seed": 1, "simulated": {"stress": (None, 1.0)}}
COLUMNS = {"thickness": "t_mm"}


def beam(**bounds: Any) -> archeng.Model:
    model = archeng.Model("beam")
    width = model.variable("width", lower=1, upper=10)
    model.variable("höhe", lower=1, upper=10)
    model.variable("thickness", **{"lower": 0.5, "upper": 5, **bounds})
    model.parameter("load", 20.0)
    model.subject_to(width <= 8, name="narrow")
    return model


def simulate(w: float, h: float, t: float, load: float = 20.0) -> tuple[float, float]:
    return t * (w + h) + 0.1 * h**2, load / (t * h * (w + h / 6))


def simulator(design: archeng.Design) -> archeng.Evaluation:
    mass, stress = simulate(*design.x.tolist(), design.parameters["load"])
    return archeng.Evaluation(mass, constraints={"stress": stress})


def old(k: int = 40, load: float = 20.0) -> pandas.DataFrame:
    X = np.random.default_rng(0).uniform([1, 1, 0.5], [10, 10, 5], (k, 3))
    values = [simulate(*x, load) for x in X.tolist()]
    frame = pandas.DataFrame(X, columns=["Width [mm]", "höhe", "t_mm"])
    frame["objective"], frame["stress"] = zip(*values, strict=True)
    frame["load"], frame["remark"] = load, "seen"
    return frame


def calls(result: archeng.Result) -> list[list[float]]:
    return [e.x.tolist() for e in result.evaluations]


def solved(data: Any = (), **more: Any) -> archeng.Result:
    columns = None if isinstance(data, tuple) and not data else COLUMNS
    return archeng.solve(beam(), simulator, data=data, data_columns=columns, **{**OPTIONS, **more})


@pytest.fixture(scope="module")
def fresh() -> archeng.Result:
    return solved()


def test_a_table_saves_calls_and_its_forms_are_the_same(
    tmp_path: Path, fresh: archeng.Result
) -> None:
    table = tmp_path / "old.csv"
    old().to_csv(table, index=False)
    target = fresh.fun * 1.001
    by_file = solved(table, target=target)
    assert by_file.success
    assert by_file.nfev < 0.7 * solved(target=target).nfev
    assert calls(solved(old(), target=target)) == calls(by_file)
    pairs = [
        ({"width": r[0], "höhe": r[1], "thickness": r[2]}, {"objective": r[3], "stress": r[4]})
        for r in old().itertuples(index=False, name=None)
    ]
    again = archeng.solve(beam(), simulator, data=pairs, **OPTIONS, target=target)
    assert calls(again) == calls(by_file)


def test_semicolons_decimal_commas_comments_and_gaps(tmp_path: Path) -> None:
    frame = old()
    frame.loc[3, "objective"], frame.loc[5, "t_mm"] = np.nan, np.nan
    table = tmp_path / "old.csv"
    text = frame.to_csv(index=False, sep=";", decimal=",")
    table.write_text(f"# of the year before last\n{text}", encoding="utf-8-sig")
    assert calls(solved(table, max_evaluations=4)) == calls(solved(frame, max_evaluations=4))


def test_the_start_is_the_best_row_under_the_present_constraints() -> None:
    frame = old()
    good = frame[(frame["Width [mm]"] <= 8) & (frame["stress"] <= 1)]
    best = good.loc[good["objective"].idxmin()]
    first = solved(frame, max_evaluations=1).evaluations[0]
    np.testing.assert_allclose(first.x, best.iloc[:3].to_numpy(float))
    given = solved(frame, max_evaluations=1, start=[4, 4, 4])
    np.testing.assert_allclose(given.evaluations[0].x, [4, 4, 4])
    wide = frame.assign(**{"Width [mm]": 9.5})  # all of them violate an explicit constraint
    assert solved(wide, max_evaluations=1).evaluations[0].feasible


def test_another_load_case_helps_and_useless_data_do_not_hurt(fresh: archeng.Result) -> None:
    target = fresh.fun * 1.001
    without = solved(target=target).nfev
    assert solved(old(load=25.0), target=target).nfev < without
    useless = old()
    order = np.random.default_rng(1).permutation(len(useless))
    for name in ("objective", "stress"):
        useless[name] = useless[name].to_numpy()[order]
    assert solved(useless, target=target).nfev <= 1.3 * without


def test_resume_is_exact_and_needs_no_table(tmp_path: Path) -> None:
    whole = solved(old(), max_evaluations=12)
    journal = tmp_path / "run.db"
    solved(old(), max_evaluations=5, journal=journal)
    again = archeng.resume(journal, simulator, max_evaluations=12)
    assert calls(again) == calls(whole)


def test_reuse_with_another_seed_teaches(tmp_path: Path, fresh: archeng.Result) -> None:
    journal = tmp_path / "run.db"
    first = solved(journal=journal)
    same = solved(reuse=journal)
    assert same.nfev == 0
    assert calls(same) == calls(first)
    other = solved(reuse=journal, seed=2, target=fresh.fun * 1.0001)
    assert other.nfev == 0
    assert other.evaluations[0].status == "reused"
    longer = solved(reuse=journal, seed=2)
    assert longer.nfev < 0.7 * fresh.nfev


def test_discrete_values_by_their_names() -> None:
    model = archeng.Model("bolts")
    model.category("steel", {"S235": {}, "S355": {}})
    model.integer("bolts", lower=1, upper=9)
    model.variable("grip", lower=0, upper=1)
    rows = [
        ("S235", 3, 0.5, 3.0),
        ("S355", 2, 0.1, 1.5),
        ("gold", 2, 0.1, 0.1),
        ("S355", 2.5, 0, 0),
    ]
    frame = pandas.DataFrame(rows, columns=["steel", "bolts", "grip", "objective"])
    result = archeng.solve(model, lambda d: d["bolts"] + d["grip"], data=frame, max_evaluations=1)
    assert result.evaluations[0].x.tolist() == [1, 2, 0.1]


def test_unused_columns_are_logged(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "archeng"):
        solved(old(), max_evaluations=1)
    assert "columns remark are ignored" in caplog.text
    assert "40 earlier designs" in caplog.text


def test_fixed_variables_need_no_column() -> None:
    frame = old().drop(columns="t_mm")
    fixed = beam(lower=2, upper=2)
    archeng.solve(fixed, simulator, data=frame, max_evaluations=1, **OPTIONS)
    with pytest.raises(DataError, match=r"no column of the variables thickness"):
        archeng.solve(beam(), simulator, data=frame, **OPTIONS)


@pytest.mark.parametrize(
    ("change", "columns", "message"),
    [
        (lambda f: f.assign(höhe="abc"), COLUMNS, r"old.csv:2, column 'höhe': expected a number"),
        (lambda f: f.assign(stress="ca. 3"), COLUMNS, r"old.csv:2, column 'stress': expected a n"),
        (lambda f: f, {}, r"old.csv: has no column of the variables thickness"),
        (lambda f: f, {**COLUMNS, "höhe": "h"}, r"no column 'h', which data_columns gives"),
        (lambda f: f, {**COLUMNS, "hohe": "t_mm"}, r"data_columns: \['hohe'\] are neither"),
        (lambda f: f.assign(WIDTH=1.0), COLUMNS, r"'WIDTH'\] may all be width"),
        (
            lambda f: f.drop(columns=["objective", "stress"]), COLUMNS,
            r"has no column of the objective",
        ),
    ],
)  # fmt: skip
def test_errors_name_file_line_and_column(
    tmp_path: Path, change: Any, columns: dict[str, str], message: str
) -> None:
    table = tmp_path / "old.csv"
    change(old().astype(object)).to_csv(table, index=False)
    with pytest.raises(DataError, match=message):
        archeng.solve(beam(), simulator, data=table, data_columns=columns, **OPTIONS)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("width,width\n1,2\n", r":1: columns \['width'\] are there twice"),
        ("width\n", "a header and at least one row"),
        ("a,b\n1,2\n1,2,3\n", r":3: has 3 cells, and the header has 2"),
        (b"a,b\n1,\xff\n", r":2: is not UTF-8"),
    ],
)
def test_files_that_are_no_tables(tmp_path: Path, text: str | bytes, message: str) -> None:
    table = tmp_path / "old.csv"
    table.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(DataError, match=message):
        archeng.solve(beam(), simulator, data=table, **OPTIONS)
    with pytest.raises(DataError, match="cannot be read"):
        archeng.solve(beam(), simulator, data=tmp_path / "none.csv", **OPTIONS)


@pytest.mark.parametrize("data", [3, [3], "old.xlsx", [([1, 2, 3], 1.0), ([1, 2], 1.0)]])
def test_what_is_no_data(data: Any) -> None:
    with pytest.raises(SettingsError, match="data"):
        archeng.solve(beam(), simulator, data=data, **OPTIONS)


def test_a_sweep_of_a_black_box_learns() -> None:
    loads = {"load": [20.0, 22.0]}
    learned = archeng.sweep(beam(), simulator, parameters=loads, **OPTIONS)
    alone = archeng.sweep(beam(), simulator, parameters=loads, learn=False, **OPTIONS)
    for one, other in zip(learned, alone, strict=True):
        assert one.fun == pytest.approx(other.fun, rel=1e-3)
    assert sum(r.nfev for r in learned.results[1:]) < 0.6 * sum(r.nfev for r in alone.results[1:])
