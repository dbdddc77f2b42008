"""The tables in the READMEs of the case studies are those of the records in docs/benchmarks."""

import json
from pathlib import Path

import pytest

from case_studies import airfoil, flange, fuel_blend, rankine_cycle, truss, water_network
from case_studies import wind_farm as wind
from case_studies.shared import comparison

ROOT = Path(__file__).parents[2]
RECORDS = ROOT / "docs/benchmarks"


def read(path: Path) -> dict:
    return json.loads(path.read_text("utf-8"))


def seeds_of(record, path):
    data = read(path)
    return data, [record.from_data(seed) for seed in data["seeds"]]


def wind_table(path):
    from case_studies.wind_farm import number_study, published, report, study

    if "number" in path.stem:
        _, records = seeds_of(number_study.NumberRecord, path)
        return number_study.number_seeds_table(records)
    data, records = seeds_of(study.Record, path)
    return report.seeds_table(published.scenario(data["setup"]["turbines"]), records)


def truss_table(path):
    from case_studies.truss import report, study

    _, records = seeds_of(study.Record, path)
    name, *_ = path.stem.removeprefix("truss_").split("_")  # of the case; then the form
    return report.seeds_table(name, records)


def water_table(path):
    pytest.importorskip("wntr")
    from case_studies.water_network import report, study

    data, records = seeds_of(study.Record, path)
    return report.seeds_table(study.Setup(**data["setup"]), records)


def airfoil_table(path):
    from case_studies.airfoil import cases, report, study

    data, records = seeds_of(study.Record, path)
    return report.seeds_table(cases.CASES[data["setup"]["case"]], records)


def flange_table(path):
    from case_studies.flange import report, study

    _, records = seeds_of(study.Record, path)
    return report.seeds_table(records)


def methods_table(path):
    from case_studies.fuel_blend.__main__ import COLUMNS as FUEL
    from case_studies.rankine_cycle.__main__ import COLUMNS as CYCLE

    columns = {"fuel_blend": FUEL, "rankine_cycle": CYCLE}[path.stem]
    return comparison.table(read(path)["runs"], columns)


TABLES = {
    "wind_farm_*": (wind, wind_table),
    "truss_*": (truss, truss_table),
    "water_network_*": (water_network, water_table),
    "airfoil_*": (airfoil, airfoil_table),
    "flange_*": (flange, flange_table),
    "fuel_blend": (fuel_blend, methods_table),
    "rankine_cycle": (rankine_cycle, methods_table),
}
CASES = [
    pytest.param(study, table, path, id=path.stem)
    for pattern, (study, table) in TABLES.items()
    for path in sorted(RECORDS.glob(f"{pattern}.json"))
]


def test_every_study_has_a_record():
    for pattern in TABLES:
        assert list(RECORDS.glob(f"{pattern}.json")), pattern


@pytest.mark.parametrize(("study", "table", "path"), CASES)
def test_readme_has_the_table_of_the_record(study, table, path):
    readme = Path(study.__file__).with_name("README.md").read_text("utf-8")
    assert table(path) in readme


@pytest.mark.parametrize("path", [p.values[2] for p in CASES], ids=lambda p: p.stem)
def test_records_have_no_infeasible_call(path):
    data = read(path)
    rows = data.get("seeds") or [r for r in data["runs"] if r["method"].startswith("archeng")]
    assert rows
    for row in rows:
        assert row.get("infeasible_calls", row.get("illegal")) == 0


@pytest.mark.parametrize("path", [p.values[2] for p in CASES], ids=lambda p: p.stem)
def test_records_say_which_form_they_are_of(path):
    data = read(path)
    if path.stem.startswith("wind_farm"):  # each of its aims has one form
        return
    if "runs" in data:
        methods = {run["method"] for run in data["runs"]}
        assert "archeng black box" in methods
        assert "archeng" not in methods
        return
    form = data.get("setup", data)["form"]
    assert form == ("grey" if "_grey" in path.stem else "black")


@pytest.mark.parametrize("path", [p.values[2] for p in CASES], ids=lambda p: p.stem)
def test_records_say_how_they_were_made(path):
    made = read(path)["provenance"]
    study = path.stem
    module = made["command"].removeprefix("python -m case_studies.").split()[0]
    assert study.startswith(module)
    assert made["commit"] != "unknown"
