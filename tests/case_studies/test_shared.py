"""What several case studies share: records of seeds, curves, command lines, suites."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import pytest

from case_studies import cec2006, engineering, hock_schittkowski
from case_studies.benchmarks.record import provenance
from case_studies.shared.arguments import chosen, command_of, interruptible
from case_studies.shared.forms import forms_of, forms_table
from case_studies.shared.referee import Watched, exceeded
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


def test_forms_are_compared_by_how_far_their_seeds_end_from_the_optimum() -> None:
    def record(seed: int, mass: float, calls: int) -> Record:
        return Record(seed=seed, curve=[(1, 20.0), (calls, mass)], mass=mass)

    groups = {
        "grey": [record(1, 10.0, 30), record(2, 10.04, 50), record(3, 10.2, 70)],
        "black": [record(1, 11.0, 9), record(2, float("nan"), 9)],
    }
    table = forms_table(groups, 10.0, lambda r: r.mass, lambda r: r.seed).splitlines()
    grey, black = ([cell.strip() for cell in line.split("|")[1:-1]] for line in table[2:])
    assert grey == ["grey", "3", "10", "10.04", "10.2", "2.00 %", "2 of 3", "1 of 3", "50", "6"]
    assert black == ["black", "2", "11", "-", "-", "- %", "0 of 2", "0 of 2", "-", "3"]
    best = [Record(seed=1, curve=[(4, 0.1), (8, 0.3984)], mass=0.3984)]
    *_, line = forms_table({"grey": best}, 0.4, lambda r: r.mass, lambda r: 0, -1.0).splitlines()
    assert line == "| grey | 1 | 0.3984 | 0.3984 | 0.3984 | 0.40 % | 1 of 1 | 0 of 1 | 8 | 0 |"


def test_which_forms_an_option_stands_for() -> None:
    assert [forms_of(option) for option in ("grey", "direct", "both")] == [
        ("grey",),
        ("direct",),
        ("grey", "black"),
    ]


def test_the_referee_judges_outputs_by_a_formula() -> None:
    watched = Watched(
        lambda design: {"mass": 2 * design["x"]},
        lambda design: [],
        lambda design, found: found["mass"] + design["x"],
    )
    assert [watched({"x": x}) for x in (2.0, 1.0)] == [{"mass": 4.0}, {"mass": 2.0}]
    assert watched.best == [6.0, 3.0]
    assert watched.best_design == {"x": 1.0}


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


def test_a_record_names_no_folder_of_the_machine(tmp_path: Path) -> None:
    inside = Path.cwd() / "docs" / "benchmarks"
    command = f"python -m study --out {inside} --data {tmp_path / 'old.csv'} --only n=1/2"
    shown = f"python -m study --out {Path('docs', 'benchmarks')} --data old.csv --only n=1/2"
    assert provenance(command)["command"] == shown
