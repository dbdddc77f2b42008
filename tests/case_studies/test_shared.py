"""What several case studies share: records of seeds, curves, command lines, suites."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import pytest

from case_studies import cec2006, engineering, hock_schittkowski
from case_studies.shared.arguments import chosen, command_of, interruptible
from case_studies.shared.referee import exceeded
from case_studies.shared.seeds import SeedFile, SeedRecord, improvements

CALLS = [(9.0, False), (12.0, True), (10.0, False), (13.0, True), (11.0, True)]


@dataclass(frozen=True, kw_only=True)
class Record(SeedRecord):
    mass: float


def seed_file(path: Path, calls: int = 10) -> SeedFile[Record]:
    return SeedFile(path, Record, {"calls": calls}, "python -m study", ["numpy"])


def test_curves_skip_calls_that_violate_something_and_follow_the_sense() -> None:
    assert improvements(CALLS) == [(2, 12.0), (5, 11.0)]
    assert improvements(CALLS, sign=-1.0) == [(2, 12.0), (4, 13.0)]


def test_calls_to_a_value_follow_the_sense() -> None:
    record = SeedRecord(seed=1, curve=[(2, 12.0), (5, 11.0)])
    assert [record.calls_to(f) for f in (12.5, 12.0, 11.5, 10.0)] == [2, 2, 5, None]
    record = SeedRecord(seed=1, curve=[(2, 12.0), (4, 13.0)])
    assert [record.calls_to(f, sign=-1.0) for f in (11.0, 12.5, 14.0)] == [2, 4, None]


def test_seeds_are_kept_and_not_run_again(tmp_path: Path) -> None:
    path = tmp_path / "new" / "seeds.json"
    file = seed_file(path)
    assert file.missing(range(1, 4)) == [1, 2, 3]
    for seed in (3, 1):
        file.add(Record(seed=seed, curve=[(1, 2.0)], mass=2.0))
    again = seed_file(path)
    assert again.records == file.records
    assert [record.seed for record in again.records] == [1, 3]
    assert again.missing(range(1, 4)) == [2]
    data = json.loads(path.read_text("utf-8"))
    assert data["provenance"]["command"] == "python -m study"
    assert data["provenance"]["numpy"]
    assert data["calls"] == 10
    assert [entry.name for entry in path.parent.iterdir()] == ["seeds.json"]


def test_seeds_of_another_set_up_are_not_mixed(tmp_path: Path) -> None:
    path = tmp_path / "seeds.json"
    seed_file(path).add(Record(seed=1, curve=[], mass=2.0))
    with pytest.raises(ValueError, match="another set-up: choose another --out"):
        seed_file(path, calls=11)
    for text in ("no JSON", "{}", '{"calls": 10, "seeds": [{}]}', "[]"):
        path.write_text(text)
        with pytest.raises(ValueError, match=r"cannot be read .* choose another --out"):
            seed_file(path)


def test_a_limit_that_is_met_exactly_is_not_exceeded() -> None:
    infinite = float("inf")
    limits = {
        "exact": (3.0, -infinite, 3.0),
        "last digit": (3.0 * (1 + 1e-10), 0.0, 3.0),
        "above": (3.0 * (1 + 1e-8), 0.0, 3.0),
        "below": (-1e-8, 0.0, infinite),
    }
    assert exceeded(limits) == ["above", "below"]
    assert exceeded(limits, slack=1e-7) == []


def test_methods_are_chosen_by_name() -> None:
    assert chosen(None, {"a": 1, "b": 2}) == ["a", "b"]
    assert chosen("b, a,b", ["a", "b"]) == ["b", "a"]
    with pytest.raises(ValueError, match="no method is named c; there are a, b"):
        chosen("a,c", ["a", "b"])
    with pytest.raises(ValueError, match="there are a, b"):
        chosen(" ,", ["a", "b"])


def test_ctrl_c_ends_a_command_with_a_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    @interruptible
    def main(argv: object = None) -> int:
        raise KeyboardInterrupt

    assert main() == 130
    assert "the same command goes on from here" in capsys.readouterr().err


def test_commands_are_recorded_as_typed() -> None:
    typed = ["--seeds", "2"]
    assert command_of("truss", typed) == "python -m case_studies.truss --seeds 2"


@pytest.mark.parametrize("suite", [cec2006, engineering, hock_schittkowski])
def test_unknown_problems_are_refused_with_the_names(suite) -> None:
    with pytest.raises(KeyError, match=f"'hs999'; the names are .*{suite.names()[-1]}"):
        suite.problem("hs999")
