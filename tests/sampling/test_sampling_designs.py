"""The table of designs that `sample_feasible` returns."""

from __future__ import annotations

import csv
import pickle
from pathlib import Path

import numpy as np
import pytest

import archeng
from archeng import Design, Model
from archeng.errors import SettingsError
from archeng.sampling import Designs


@pytest.fixture
def designs() -> Designs:
    model = Model("beam")
    t = model.variable("t", lower=0, upper=1, unit="m")
    w = model.variable("w", shape=2, lower=1, upper=3)
    model.variable("load", lower=7, upper=7)
    model.subject_to(t + w[0] <= 2)
    return archeng.sample_feasible(model, 12, seed=1)


def test_a_list_of_designs(designs: Designs) -> None:
    assert isinstance(designs, list)
    assert len(designs) == 12
    assert all(isinstance(d, Design) for d in designs)
    assert set(dict(designs[0])) == {"t", "w", "load"}
    assert designs[3]["load"] == 7


def test_the_matrix_is_in_the_order_of_the_model(designs: Designs) -> None:
    assert designs.names == ["t", "w[0]", "w[1]", "load"]
    assert designs.x.shape == (12, 4)
    for row, design in zip(designs.x, designs, strict=True):
        np.testing.assert_array_equal(row, design.x)
        assert row[2] == design["w"][1]


def test_csv_has_names_and_exact_floats(designs: Designs, tmp_path: Path) -> None:
    designs.to_csv(tmp_path / "designs.csv")
    with (tmp_path / "designs.csv").open(newline="") as stream:
        header, *rows = csv.reader(stream)
    assert header == designs.names
    assert np.array(rows, dtype=float).tobytes() == designs.x.tobytes()


def test_csv_that_cannot_be_written(designs: Designs, tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"no_folder.*cannot be written"):
        designs.to_csv(tmp_path / "no_folder" / "designs.csv")


def test_pandas(designs: Designs) -> None:
    pytest.importorskip("pandas")
    table = designs.to_pandas()
    assert list(table.columns) == designs.names
    np.testing.assert_array_equal(table.to_numpy(), designs.x)


def test_pandas_is_optional(designs: Designs, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "pandas", None)
    with pytest.raises(SettingsError, match="pip install"):
        designs.to_pandas()


def test_slices_are_tables(designs: Designs) -> None:
    part = designs[2:5]
    assert isinstance(part, Designs)
    np.testing.assert_array_equal(part.x, designs.x[2:5])
    assert designs[:0].x.shape == (0, 0)
    assert isinstance(designs[-1], Design)


def test_copies_and_text(designs: Designs) -> None:
    again = pickle.loads(pickle.dumps(designs))
    assert isinstance(again, Designs)
    assert again == designs
    assert repr(designs) == "<archeng.Designs: 12 of t, w[0], w[1], load>"
