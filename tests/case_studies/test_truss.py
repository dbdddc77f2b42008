"""The trusses: explicit rules, known designs, failures, runs, command line."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest
from study_commands import is_picture, refused, run_twice

import archeng
from archeng.model import compile_model
from case_studies.engineering import problem
from case_studies.truss import (
    CASES,
    broken_rules,
    build_model,
    build_simulator,
    reference,
    section_search,
)
from case_studies.truss.__main__ import main
from case_studies.truss.cases import DENSITY, EULER, YOUNG
from case_studies.truss.optimum import ends
from case_studies.truss.rules import crossing, least_panel
from case_studies.truss.study import Record, run_seed


def by_stiffness(case, x) -> tuple[float, np.ndarray, np.ndarray, np.ndarray]:
    """Mass, displacements, stresses and buckling by numpy, with strains as a matrix."""
    nodes, areas = case.geometry(x)
    span = nodes[case.bars[:, 1]] - nodes[case.bars[:, 0]]
    lengths = np.linalg.norm(span, axis=1)
    strain = np.zeros((len(areas), *nodes.shape))
    for b, (i, j) in enumerate(case.bars):
        strain[b, j], strain[b, i] = span[b] / lengths[b] ** 2, -span[b] / lengths[b] ** 2
    free = [i for i in range(len(nodes)) if i not in case.supports]
    b = strain[:, free].reshape(len(areas), -1)
    u = np.zeros(nodes.shape)
    loads = case.loads[free].ravel()
    u[free] = np.linalg.solve((b.T * (YOUNG * areas * lengths)) @ b, loads).reshape(-1, 2)
    stresses = YOUNG * b @ u[free].ravel()
    mass = DENSITY * areas @ lengths
    return mass, u, stresses, -stresses * lengths**2 / (EULER * YOUNG * areas)


def designs(name: str, k: int, seed: int) -> np.ndarray:
    """Designs around the one before, on both sides of the rules."""
    case = CASES[name]
    rng = np.random.default_rng(seed)
    n = len(case.areas)
    x = np.tile(case.start, (k, 1))
    x[:, :n] *= rng.uniform(0.05, 1.3, (k, n))
    if case.sections:  # the nearest ones
        levels = np.array(case.sections)
        x = levels[np.abs(x[..., None] - levels).argmin(axis=-1)]
    x[:, n:] += rng.choice([10.0, 150.0], (k, 1)) * rng.standard_normal((k, x.shape[1] - n))
    return x


def simulate(name: str, x, form: str = "black") -> archeng.Evaluation:
    model = build_model(name, form)
    return build_simulator(name, form)(
        archeng.Design(model.variables, np.array(x), model.parameters)
    )


# -- the program behind its templates -----------------------------------------


@pytest.mark.parametrize("name", CASES)
def test_program_and_templates_agree_with_numpy(name):
    case = CASES[name]
    for x in [reference(name).x, *designs(name, 8, seed=1)]:
        mass, u, stresses, buckling = by_stiffness(case, x)
        answer = simulate(name, x)
        assert answer.objective == pytest.approx(mass, rel=1e-12)
        assert list(answer.constraints) == list(case.limits)
        values = [answer.constraints[f"stress in bar {b + 1} (ksi)"] for b in range(len(stresses))]
        np.testing.assert_allclose(values, stresses, rtol=1e-9, atol=1e-9)
        if name in ("sizing", "sections"):
            values = [answer.constraints[f"displacement of node {n} (in)"] for n in (1, 2)]
            np.testing.assert_allclose(values, u[:2, 1], rtol=1e-10)
        elif name == "stiffness":
            values = [answer.constraints[f"stiffness at node {n} (kip/in)"] for n in (1, 2)]
            np.testing.assert_allclose(values, -100 / u[:2, 1], rtol=1e-10)
        else:
            values = [answer.constraints[f"buckling of bar {b + 1}"] for b in range(18)]
            np.testing.assert_allclose(values, buckling, rtol=1e-9, atol=1e-10)
        outputs = answer.outputs
        assert outputs["largest stress (ksi)"] == pytest.approx(np.abs(stresses).max())
        assert outputs["largest displacement (in)"] == pytest.approx(np.abs(u).max())
        assert outputs["compliance (kip in)"] == pytest.approx((case.loads * u).sum())


# -- the explicit rules -----------------------------------------


@pytest.mark.parametrize(
    ("name", "rows"), [("sizing", 7), ("stiffness", 7), ("sections", 7), ("layout", 40)]
)
def test_the_referee_agrees_with_the_model(name, rows):
    model = build_model(name)
    assert len(model.violations(CASES[name].start)) == model.n_variables + rows
    legal = 0
    for x in designs(name, 300, seed=2):
        feasible = model.violations(x).maximum == 0
        assert (not broken_rules(name, x)) == feasible, x
        legal += feasible
    assert 30 < legal < 270
    assert broken_rules(name, np.full(model.n_variables, np.nan)) == ["a value is not finite"]


def test_values_of_the_rows():
    table = build_model("sizing", "black").violations(np.arange(1.0, 11))
    root = 0.5**0.5
    expected = {
        "mass budget (lb)": 36 * 21 + 36 * 2**0.5 * 34,
        "shear, inner bay (kip)": 25 * root * 15,
        "shear, outer bay (kip)": 25 * root * 19,
        "moment, inner bay, upper chord (kip in)": 25 * 360 * (1 + 7 * root),
        "moment, inner bay, lower chord (kip in)": 25 * 360 * (3 + 8 * root),
        "moment, outer bay, upper chord (kip in)": 25 * 360 * (2 + 9 * root),
        "moment, outer bay, lower chord (kip in)": 25 * 360 * (4 + 10 * root),
    }
    for row, value in expected.items():
        assert table[row].value == pytest.approx(value, rel=1e-12)
    table = build_model("layout").violations(CASES["layout"].start)
    assert table["length of bar 2 squared (in2)"].value == 2 * 250**2
    assert table["panel 4-5-3 (in2)"].value == 250**2 / 2
    assert table["node 7 right of node 9 (in)"].value == 250


@pytest.mark.parametrize("seed", range(3))
def test_statics_rules_out_only_what_the_stresses_rule_out(seed):
    """Forces within the limits carry the loads across every cut, so the rows take nothing away."""
    model, case = build_model("sizing", "black"), CASES["sizing"]
    rng = np.random.default_rng(seed)
    for x in rng.uniform(0.1, 14, (200, 10)):
        _, _, stresses, _ = by_stiffness(case, x)
        x = x * np.abs(stresses).max() / 25  # all forces stay, the largest stress becomes 25
        rows = [e for e in model.violations(x) if e.name.startswith(("shear", "moment"))]
        assert len(rows) == 6
        assert all(e.value >= e.lower * (1 - 1e-12) for e in rows)


def test_no_bars_cross_in_legal_layouts():
    case = CASES["layout"]
    legal, crossed = 0, 0
    for x in designs("layout", 600, seed=3):
        nodes, _ = case.geometry(x)
        crosses = bool(crossing(case, nodes))
        crossed += crosses
        if least_panel(nodes) >= 1000 and (-np.diff(nodes[[2, 4, 6, 8], 0]) >= 50).all():
            legal += 1
            assert not crosses
    assert legal > 100
    assert crossed > 50


# -- known designs -----------------------------------------


@pytest.mark.parametrize("name", CASES)
def test_reference_and_start(name):
    known, case = reference(name), CASES[name]
    answer = simulate(name, known.x)
    assert answer.objective == pytest.approx(known.mass, rel=1e-12)
    assert broken_rules(name, known.x) == []
    used = []
    for key, (lower, upper) in case.limits.items():
        sides = [(key, upper - answer.constraints[key], upper)] if upper is not None else []
        sides += [(key, answer.constraints[key] - lower, lower)] if lower is not None else []
        assert all(room >= -1e-9 * abs(limit) for _, room, limit in sides)
        used += [key.split()[0] for key, room, limit in sides if room <= 1e-6 * abs(limit)]
    expected = {
        "sizing": ["displacement", "stress"],
        "stiffness": ["stiffness", "stress"],
        "sections": [],  # standard sections leave a little room
        "layout": ["buckling"] * 8 + ["stress"] * 2,
    }
    assert sorted(used) == expected[name]
    before = simulate(name, case.start)
    assert broken_rules(name, case.start) == []
    assert before.objective > 1.4 * known.mass
    for key, (lower, upper) in case.limits.items():
        assert lower is None or before.constraints[key] >= lower
        assert upper is None or before.constraints[key] <= upper


def test_the_reference_of_the_sizing_is_the_one_of_the_engineering_problems():
    known = reference("sizing")
    assert known.mass == problem("ten_bar_truss").f_opt == pytest.approx(5060.85, abs=0.005)
    # Limits that are not simulated here hold at the optimum: the other displacements.
    _, u, _, _ = by_stiffness(CASES["sizing"], known.x)
    assert np.abs(u).max() <= 2 * (1 + 1e-12)


def test_published_layout():
    known = reference("layout")
    (published,) = known.published
    answer = simulate("layout", published.x)
    assert answer.objective == pytest.approx(published.mass, abs=0.005)
    assert known.mass < published.mass
    assert broken_rules("layout", published.x) == []
    buckling = max(v for k, v in answer.constraints.items() if k.startswith("buckling"))
    assert 1 < buckling < 1 + 1e-6  # rounding of the printed coordinates
    steps = np.array(published.x[:4]) / 0.25
    np.testing.assert_array_equal(steps, steps.round())


def test_published_designs_with_standard_sections():
    known, case = reference("sections"), CASES["sections"]
    assert known.mass == pytest.approx(5490.738, abs=5e-4)
    assert len(case.sections) == 42
    for published in known.published:
        mass, u, stresses, _ = by_stiffness(case, published.x)
        assert mass == pytest.approx(published.mass, abs=0.01)
        assert mass > known.mass
        assert np.abs(u).max() <= 2
        assert np.abs(stresses).max() <= 25
        assert broken_rules("sections", published.x) == []
    _, u, _, _ = by_stiffness(case, known.x)
    assert 1.99 < np.abs(u).max() <= 2  # all displacements, not only those that are simulated


def test_the_referee_knows_the_list_of_sections():
    x = np.array(reference("sections").x)
    between = np.where(x == 7.97, 8.0, x)
    assert broken_rules("sections", between) == ["value 7 is 8.0, no section"]
    assert broken_rules("sizing", between) == []
    x[0] = np.nextafter(x[0], 0)
    assert len(broken_rules("sections", x)) == 1
    assert not compile_model(build_model("sections")).is_feasible(between)


def test_the_reference_of_the_sections_is_found_again():
    found = section_search.ends(starts=12, seed=3)
    known = reference("sections")
    assert found[0] == (pytest.approx(known.mass, rel=1e-12), list(known.x))


def test_the_reference_of_the_layout_is_found_again():
    found = ends(starts=4, seed=5)
    assert len(found) == 4
    known = reference("layout")
    for mass, x in found:
        assert mass == pytest.approx(known.mass, rel=1e-8)
        np.testing.assert_allclose(x, known.x, rtol=1e-4)


# -- the grey form -----------------------------------------


@pytest.mark.parametrize("form", ["grey", "direct"])
@pytest.mark.parametrize("name", CASES)
def test_formulas_are_what_the_program_says(name, form):
    model, case = build_model(name, form), CASES[name]
    formulas = compile_model(model).formulas
    assert formulas.row_names == tuple(case.limits)
    for x in [reference(name).x, *designs(name, 3, seed=4)]:
        answer, known = simulate(name, x, form), simulate(name, x)
        z = np.concatenate([answer.outputs[output.name] for output in model.outputs])
        mass, rows = formulas.at(np.array(x), z)
        assert mass == pytest.approx(known.objective, rel=1e-12)
        expected = [known.constraints[label] for label in case.limits]
        np.testing.assert_allclose(rows, expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(("name", "form", "q"), [
    ("sizing", "grey", 10), ("stiffness", "grey", 12), ("layout", "grey", 18),
    ("sections", "grey", 10), ("sections", "direct", 12),
    ("sizing", "direct", 12), ("stiffness", "direct", 12), ("layout", "direct", 36),
])  # fmt: skip
def test_number_of_outputs(name, form, q):
    assert sum(output.size for output in build_model(name, form).outputs) == q


def test_twice_the_load():
    x = reference("sizing").x
    model = build_model("sizing").with_parameters(load=200.0)
    answer = build_simulator("sizing")(
        archeng.Design(model.variables, np.array(x), model.parameters)
    )
    force = np.array(answer.outputs["force"])
    np.testing.assert_allclose(force, 2 * np.array(simulate("sizing", x, "grey").outputs["force"]))
    _, rows = compile_model(model).formulas.at(np.array(x), force)
    displacement = rows[-2:]
    assert np.abs(displacement).max() == pytest.approx(4.0, rel=1e-6)
    shear = model.violations(x)["shear, inner bay (kip)"]
    usual = build_model("sizing").violations(x)["shear, inner bay (kip)"]
    room = [e.upper - e.value for e in (usual, shear)]  # what could be carried less the load
    assert room[0] - room[1] == pytest.approx(200.0, rel=1e-9)


@pytest.mark.parametrize("form", ["grey", "direct"])
def test_stiffness_does_not_depend_on_the_load(form):
    x, rows = reference("stiffness").x, []
    for load in (100.0, 150.0):
        model = build_model("stiffness", form).with_parameters(load=load)
        design = archeng.Design(model.variables, np.array(x), model.parameters)
        outputs = build_simulator("stiffness", form)(design).outputs
        z = np.concatenate([outputs[output.name] for output in model.outputs])
        rows.append(compile_model(model).formulas.at(design.x, z)[1])
    np.testing.assert_allclose(rows[1][-2:], rows[0][-2:], rtol=1e-9)
    np.testing.assert_allclose(rows[1][:10], 1.5 * rows[0][:10], rtol=1e-9)


# -- failures and runs -----------------------------------------


def no_rules() -> archeng.Model:
    """Node 9 may move up to node 8, and the repair puts many samples just there."""
    model, case = archeng.Model("no rules"), CASES["layout"]
    model.parameter("load", case.load)
    for label, area in case.areas.items():
        model.variable(label, lower=area, upper=21.75, start=area)
    for i in case.moved:
        for axis, value in zip("xy", case.nodes[i], strict=True):
            label = f"{axis}{i + 1}"
            upper, start = (250.0, 249.0) if label == "y9" else (value, value)
            model.variable(label, lower=value, upper=upper, start=start)
    return model


def test_words_of_the_program_reach_the_result():
    simulator = build_simulator("layout", "black", keep="none")
    options = {"simulated": CASES["layout"].limits, "max_evaluations": 9, "seed": 1}
    result = archeng.solve(no_rules(), simulator, **options)
    failed = [e for e in result.evaluations if not e.good]
    assert 0 < len(failed) < 9
    for e in failed:
        assert e.status == "failed"
        assert "ended with exit code 2" in e.message
        assert "bar 15 has no length: nodes 8 and 9 are at the same place" in e.message
    with pytest.raises(archeng.errors.SimulatorError, match="bar 15 has no length"):
        archeng.solve(no_rules(), simulator, on_failure="raise", **options)


def test_the_program_gets_only_legal_designs(tmp_path):
    """Judged from the input files themselves, whatever the records say."""
    result = archeng.solve(
        build_model("layout"),
        build_simulator("layout", keep="all", directory=tmp_path),
        max_evaluations=40,
        seed=1,
    )
    inputs = sorted(tmp_path.glob("call-*/truss.inp"))
    assert len(inputs) == result.nfev == 40
    seen = set()
    for path in inputs:
        text = path.read_text()
        nodes = {int(n): xy for n, *xy in re.findall(r"(?m)^node +(\d+) +(\S+) (\S+)", text)}
        areas = {int(b): a for b, a in re.findall(r"(?m)^bar +(\d+) +\d+ \d+ +(\S+)", text)}
        x = [areas[1], areas[2], areas[3], areas[5], *nodes[3], *nodes[5], *nodes[7], *nodes[9]]
        assert broken_rules("layout", [float(v) for v in x]) == []
        seen.add(tuple(float(v) for v in x))
    assert seen == {tuple(e.x.tolist()) for e in result.evaluations}
    assert result.fun < 0.98 * 6463
    assert all(s.holds for s in result.simulated)
    assert set(result.outputs) >= {"largest stress (ksi)", "compliance (kip in)"}


@pytest.mark.slow
def test_the_program_gets_only_standard_sections(tmp_path):
    """Judged from the input files themselves, whatever the records say."""
    result = archeng.solve(
        build_model("sections"),
        build_simulator("sections", keep="all", directory=tmp_path),
        max_evaluations=40,
        seed=1,
    )
    inputs = sorted(tmp_path.glob("call-*/truss.inp"))
    assert len(inputs) == result.nfev == 40
    seen = set()
    for path in inputs:
        words = re.findall(r"(?m)^bar +\d+ +\d+ \d+ +(\S+)", path.read_text())
        areas = tuple(float(a) for a in words)
        assert set(areas) <= set(CASES["sections"].sections)
        assert broken_rules("sections", areas) == []
        seen.add(areas)
    assert len(seen) == 40  # no design twice
    assert all(s.holds for s in result.simulated)
    assert 5490.7 < result.fun < 8350


def test_one_seed_does_not_depend_on_the_workers():
    records = [run_seed("sizing", 2, 18, workers=w) for w in (1, 2)]
    first, second = records
    assert first.x == second.x
    assert first.curve == second.curve
    assert (first.calls, first.illegal, first.failed, first.holds) == (18, 0, 0, True)
    assert first.curve[-1][1] == first.mass < 8392.9
    assert first.calls_to(first.mass) == first.curve[-1][0]
    assert first.calls_to(first.mass - 1) is None
    _, _, stresses, _ = by_stiffness(CASES["sizing"], first.x)
    np.testing.assert_allclose(first.stresses, stresses, rtol=1e-9)
    assert Record.from_data(json.loads(json.dumps(first.__dict__))) == first


# -- the command line -----------------------------------------


def test_command_line(tmp_path, capsys):
    pytest.importorskip("matplotlib")
    out = tmp_path / "new" / "truss"
    arguments = ["--case", "sizing", "--seeds", "1", "--calls", "16", "--out", str(out)]
    shown, data = run_twice(main, arguments, out / "sizing_grey.json", capsys)
    assert "- illegal calls: 0 of 16, judged in numpy; failed calls: 0" in shown.out
    assert "| before | 8392.94 | +65.840 % | yes | yes |" in shown.out
    assert (
        "| reference, with formulas and gradients | 5060.85 | +0.000 % | yes | yes |" in shown.out
    )
    assert "16/16 calls" in shown.err
    assert f"| grey | 1 | {data['seeds'][0]['mass']:.7g} |" in shown.out
    assert is_picture(out / "sizing_grey_truss.png")
    assert is_picture(out / "sizing_grey_convergence.png")
    arguments[5] = "17"
    assert "choose another --out" in refused(main, arguments, capsys)


def test_an_interrupted_seed_is_not_recorded(tmp_path, capsys, monkeypatch):
    def interrupt(run):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_seed("sizing", 1, 30, callback=interrupt)
    monkeypatch.setattr(archeng, "ProgressLine", lambda: interrupt)
    assert main(["--case", "sizing", "--out", str(tmp_path)]) == 130
    assert "the same command goes on from here" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_command_line_mistakes(capsys):
    for option, value in (("--case", "roof"), ("--seeds", "0"), ("--workers", "none")):
        assert option in refused(main, [option, value], capsys)
