"""The water network: EPANET against published pressures, formulas against NumPy, runs, commands."""

from __future__ import annotations

import builtins
import os
import pickle
import tempfile

import numpy as np
import pytest
from study_commands import is_picture, refused, run_twice

import archeng
from archeng.model import compile_model
from case_studies.water_network import PipeNetwork, build_model, network, simulated_limits
from case_studies.water_network.__main__ import main
from case_studies.water_network.catalogue_search import legal_designs, two_loop_pressures
from case_studies.water_network.limits import cost, exceeded, list_cost
from case_studies.water_network.model import resilience
from case_studies.water_network.networks import LEAST_PRESSURE, NAMES
from case_studies.water_network.reference import gradient_optimum
from case_studies.water_network.simulator import Epanet, _close, water_network
from case_studies.water_network.study import Setup, optima, run_seed

pytest.importorskip("wntr")  # it has no wheels for the newest Python
pytestmark = pytest.mark.slow

TWO_LOOP, HANOI = network("two_loop"), network("hanoi")
BEST_KNOWN = {net.name: next(p for p in net.published if p.design) for net in (TWO_LOOP, HANOI)}


@pytest.fixture(params=NAMES)
def net(request):
    return network(request.param)


def designs(net, k: int, seed: int) -> np.ndarray:
    """Diameters on both sides of the limits: the optimum a little narrower, one pipe changed."""
    rng = np.random.default_rng(seed)
    n = len(net.pipes)
    found = np.tile(optima()[net.name]["resilience"]["design"], (k, 1)) * 0.985
    found[np.arange(k), rng.integers(n, size=k)] *= rng.uniform(0.8, 1.25, k)
    found = np.clip(found, *net.diameter)
    found[:: k // 10 + 1] = rng.uniform(*net.diameter, found[:: k // 10 + 1].shape)
    return found


def with_diameters(net, diameters):
    model = water_network(net)
    for pipe, d in zip(net.pipes, diameters, strict=True):
        model.get_link(pipe.name).diameter = d * 0.0254
    return model


# -- EPANET -----------------------------------------


def test_pressures_and_cost_of_the_best_known_two_loop_network():
    # Savic and Walters (1997): 53.25, 30.46, 43.45, 33.81, 30.44, 30.55 m.
    design = BEST_KNOWN["two_loop"].design
    found = Epanet(TWO_LOOP)(design)
    published = [53.25, 30.46, 43.45, 33.81, 30.44, 30.55]
    np.testing.assert_allclose(found.pressures, published, atol=0.011)
    assert cost(TWO_LOOP, design) == pytest.approx(419_000, abs=1e-6)
    assert exceeded(TWO_LOOP, {"diameter": design}, budget=True) == []


def test_pressures_and_cost_of_the_best_known_hanoi_network():
    design = BEST_KNOWN["hanoi"].design
    found = Epanet(HANOI)(design)
    assert found.pressures.min() == pytest.approx(30.01, abs=0.005)  # at node 13
    assert list(HANOI.demands)[int(found.pressures.argmin())] == "13"
    assert found.pressures[0] == pytest.approx(97.14, abs=0.005)
    assert cost(HANOI, design) == pytest.approx(6.081e6, rel=1e-4)
    assert exceeded(HANOI, {"diameter": design}, budget=True) == []


def test_the_library_agrees_with_both_simulators_of_wntr(net, tmp_path):
    import wntr

    design = BEST_KNOWN[net.name].design
    found = Epanet(net)(design)
    model = with_diameters(net, design)
    names = list(net.demands)
    epanet = wntr.sim.EpanetSimulator(model).run_sim(file_prefix=str(tmp_path / "net"))
    own = wntr.sim.WNTRSimulator(model).run_sim()
    for other in (epanet, own):
        pressures = other.node["pressure"][names].iloc[0].to_numpy()
        np.testing.assert_allclose(found.pressures, pressures, atol=5e-3)
    index = wntr.metrics.todini_index(
        *(own.node[k] for k in ("head", "pressure", "demand")), own.link["flowrate"], model, 30.0
    )
    assert resilience(net, found.pressures, net.head) == pytest.approx(
        float(index.iloc[0]), abs=1e-4
    )


def test_known_flows_are_those_of_epanet(net):
    flows = Epanet(net)(BEST_KNOWN[net.name].design).flows
    for pipe in net.branches:
        assert flows[net.position(pipe)] / 3600 == pytest.approx(net.flow(pipe), rel=1e-5)


def test_calls_do_not_depend_on_earlier_ones(net):
    first, second = designs(net, 2, seed=1)
    epanet = Epanet(net)
    before = epanet(first).pressures
    epanet(second)
    other = Epanet(net)  # two at the same time
    np.testing.assert_array_equal(epanet(first).pressures, before)
    np.testing.assert_array_equal(other(first).pressures, before)


def test_files_are_private_and_removed(monkeypatch, tmp_path):
    work, place = tmp_path / "work", tmp_path / "temporary"
    work.mkdir()
    place.mkdir()
    monkeypatch.chdir(work)
    monkeypatch.setattr(tempfile, "tempdir", str(place))
    simulator = PipeNetwork()
    value = simulator({"diameter": BEST_KNOWN["two_loop"].design}).objective
    assert len(list(place.iterdir())) == 1
    simulator.close()
    assert list(place.iterdir()) == list(work.iterdir()) == []
    assert simulator({"diameter": BEST_KNOWN["two_loop"].design}).objective == value
    del simulator
    assert list(place.iterdir()) == []


def test_a_forked_process_leaves_the_files_of_its_parent_alone(tmp_path):
    _close(None, tmp_path, process=os.getpid() + 1)
    assert tmp_path.exists()


def test_worker_processes_give_the_same_run():
    runs = [
        archeng.solve(
            build_model(form="black"),
            PipeNetwork(),
            simulated=simulated_limits(TWO_LOOP),
            sense="maximize",
            max_evaluations=20,
            seed=1,
            workers=workers,
            parallel=2,
            settings=archeng.Settings(surrogate="none"),
        )
        for workers in (None, 2)
    ]
    points = [np.array([e.x for e in run.evaluations]) for run in runs]
    np.testing.assert_array_equal(points[0], points[1])
    pressures = [[e.constraints for e in run.evaluations] for run in runs]
    assert pressures[0] == pressures[1]
    assert all(e.status == "ok" for e in runs[1].evaluations)


def test_simulator_counts_and_can_be_pickled():
    simulator = PipeNetwork("two_loop", "cost")
    design = np.array(BEST_KNOWN["two_loop"].design)
    found = simulator({"diameter": design})
    assert found.objective == pytest.approx(419_000)
    assert list(found.constraints) == list(simulated_limits(TWO_LOOP))
    simulator({"diameter": design[::-1]})
    assert (simulator.n_calls, simulator.n_infeasible) == (2, 1)
    copy = pickle.loads(pickle.dumps(simulator))
    assert copy({"diameter": design}).objective == found.objective
    assert (copy.aim, copy.n_calls, copy.n_infeasible) == ("cost", 3, 1)


def test_a_network_that_is_not_balanced_is_a_failure(monkeypatch):
    epanet = Epanet(TWO_LOOP)

    def unbalanced() -> None:
        epanet._engine.errcode = 1

    monkeypatch.setattr(epanet._engine, "ENrunH", unbalanced)
    with pytest.raises(RuntimeError, match="not balanced"):
        epanet(BEST_KNOWN["two_loop"].design)


def test_without_wntr_the_message_says_what_to_install(monkeypatch):
    real = builtins.__import__

    def without(name, *args, **kwargs):
        if name.split(".")[0] == "wntr":
            raise ImportError("no wntr here")
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ImportError, match=r"archeng\[water\]"):
        PipeNetwork()({"diameter": BEST_KNOWN["two_loop"].design})


# -- formulas -----------------------------------------


def test_prices_meet_the_catalogue_and_rise():
    sizes, prices = TWO_LOOP.catalogue
    for size, price in zip(sizes, prices, strict=True):
        assert cost(TWO_LOOP, np.full(8, size)) == pytest.approx(8000 * price, rel=1e-12)
    fine = np.array([cost(TWO_LOOP, np.full(8, d)) for d in np.linspace(1, 24, 500)])
    assert (np.diff(fine) > 0).all()


def test_the_judge_agrees_with_the_model(net):
    model, legal = build_model(net.name), 0
    for d in designs(net, 300, seed=2):
        table = model.violations({"diameter": d})
        feasible = table.maximum == 0
        assert (exceeded(net, {"diameter": d}, budget=True) == []) == feasible
        assert table["budget (1000 $)"].value == pytest.approx(cost(net, d) / 1000, rel=1e-12)
        legal += feasible
    assert 30 < legal < 270


def test_rows_of_the_model():
    d = np.array(BEST_KNOWN["two_loop"].design)
    table = build_model("two_loop").violations({"diameter": d})
    assert table["pipe 8 no wider than 7 (in)"].value == 9
    speed = (1120 / 3600) / (np.pi / 4 * 0.4572**2)
    assert table["velocity in 1 (m/s)"].value == pytest.approx(speed, rel=1e-12)
    assert table["velocity in 1 (m/s)"].upper == 2
    assert len(table) == 8 + 1 + 7 + 1
    assert len(build_model("two_loop", aim="cost").violations({"diameter": d})) == 16


def test_data_of_the_networks(net):
    assert sum(net.demands.values()) == {"two_loop": 1120, "hanoi": 19940}[net.name]
    assert (len(net.pipes), len(net.demands)) == {"two_loop": (8, 6), "hanoi": (34, 31)}[net.name]
    with pytest.raises(ValueError, match="three_loop"):
        network("three_loop")


# -- the grey form -----------------------------------------


@pytest.mark.parametrize("aim", ["resilience", "cost"])
@pytest.mark.parametrize("form", ["grey", "direct"])
def test_formulas_are_what_epanet_says(net, aim, form):
    model = build_model(net.name, aim=aim, form=form)
    feasible_set = compile_model(model)
    simulator, black = PipeNetwork(net.name, aim, form), PipeNetwork(net.name, aim)
    (output,) = model.outputs
    assert output.size == {"grey": len(net.pipes), "direct": len(net.demands)}[form]
    sign = -1 if aim == "resilience" else 1
    known = [optima()[net.name][aim]["design"], BEST_KNOWN[net.name].design]
    for d in [*known, *designs(net, 10, seed=3)[5:]]:
        answer, expected = simulator({"diameter": d}), black({"diameter": d})
        objective, rows = feasible_set.formulas.at(np.array(d), answer.outputs[output.name])
        pressures = list(expected.constraints.values())
        np.testing.assert_allclose(rows, pressures, rtol=1e-7, atol=2e-6)
        assert sign * objective == pytest.approx(expected.objective, rel=1e-6)


def test_a_lower_reservoir_needs_no_other_flows():
    design = BEST_KNOWN["two_loop"].design
    model = build_model(aim="cost").with_parameters({"reservoir head": 200.0})
    low = archeng.Design(model.variables, np.array(design), model.parameters)
    found, usual = PipeNetwork()(low), PipeNetwork()({"diameter": design})
    np.testing.assert_array_equal(found.outputs["flow"], usual.outputs["flow"])
    expected = [p - 10 for p in usual.constraints.values()]  # the source is at 210 m
    np.testing.assert_allclose(list(found.constraints.values()), expected, rtol=1e-12)
    _, rows = compile_model(model).formulas.at(low.x, found.outputs["flow"])
    np.testing.assert_allclose(rows, expected, atol=1e-5)


@pytest.mark.parametrize("form", ["grey", "direct"])
def test_without_models_all_forms_are_the_same_search(form):
    found, black = (
        run_seed(Setup("two_loop", "cost", calls=120, plain=True, form=f), seed=1)
        for f in (form, "black")
    )
    assert (found.calls, found.infeasible_calls) == (120, 0)
    assert [n for n, _ in found.curve] == [n for n, _ in black.curve]
    assert found.objective == pytest.approx(black.objective, rel=1e-6)
    assert found.lowest_pressure == pytest.approx(black.lowest_pressure, abs=1e-4)


# -- the optima by gradients -----------------------------------------


@pytest.mark.parametrize("aim", ["resilience", "cost"])
def test_epanet_confirms_the_recorded_optima(net, aim):
    known = optima()[net.name][aim]
    simulator = PipeNetwork(net.name, aim)
    found = simulator({"diameter": known["design"]})
    assert simulator.n_infeasible == 0
    assert found.objective == pytest.approx(known["objective"], rel=1e-7)
    assert min(found.constraints.values()) >= 30
    published = simulator({"diameter": BEST_KNOWN[net.name].design}).objective
    sign = -1 if aim == "resilience" else 1
    assert sign * found.objective < sign * published


def test_ipopt_finds_a_recorded_optimum():
    start = np.array(optima()["two_loop"]["cost"]["design"]) * 1.1
    design = gradient_optimum(TWO_LOOP, "cost", np.clip(start, 1, 24), Epanet(TWO_LOOP))
    assert design is not None
    best = optima()["two_loop"]["cost"]["objective"]
    assert cost(TWO_LOOP, design) == pytest.approx(best, rel=1e-5)


# -- the catalogue -----------------------------------------


def test_the_price_lists_give_the_published_costs(net):
    known = BEST_KNOWN[net.name]
    assert list_cost(net, known.design) == pytest.approx(known.cost, abs=0.1)
    assert optima("catalogue")[net.name]["cost"]["design"] == list(known.design)
    assert np.isnan(list_cost(net, np.full(len(net.pipes), 17.0)))


def test_cost_and_rules_of_the_catalogue_are_those_of_numpy(net):
    model = build_model(net.name, aim="cost", form="direct", sizes="catalogue")
    feasible_set = compile_model(model)
    names = list(net.parts)
    rng, legal = np.random.default_rng(4), 0
    best = np.searchsorted(net.price_list[0], BEST_KNOWN[net.name].design)
    for _ in range(200):
        x = np.clip(best + rng.integers(-1, 2, len(best)) * (rng.random(len(best)) < 0.1),
                    0, len(names) - 1).astype(float)  # fmt: skip
        design = {"pipe": [names[int(k)] for k in x]}
        broken = exceeded(net, design, budget=False)
        assert feasible_set.is_feasible(x) == (not broken), broken
        legal += not broken
        cost_found, _ = feasible_set.formulas.at(x, np.zeros(len(net.demands)))
        assert cost_found == pytest.approx(list_cost(net, net.diameters(design)), rel=1e-12)
    assert 20 < legal < 190
    assert not feasible_set.is_feasible(best + 0.25)
    assert exceeded(net, {"pipe": ["17 in"] * len(best)}, budget=False)


def test_the_simulator_takes_names_of_pipes():
    names = [f"{d:g} in" for d in BEST_KNOWN["two_loop"].design]
    simulator = PipeNetwork("two_loop", "cost")
    by_name = simulator({"pipe": names})
    by_size = simulator({"diameter": BEST_KNOWN["two_loop"].design})
    assert by_name.constraints == by_size.constraints
    assert by_name.objective == 419_000
    assert simulator.n_infeasible == 0


def test_newtons_method_agrees_with_epanet():
    designs = next(legal_designs(419_000.0))[::9999]
    assert len(designs) > 5
    epanet = Epanet(TWO_LOOP)
    for d, pressures in zip(designs, two_loop_pressures(designs), strict=True):
        assert exceeded(TWO_LOOP, {"diameter": d}, budget=False) == []
        found = epanet(d).pressures
        near = found > -1e3  # below, a thin pipe has lost all
        np.testing.assert_allclose(pressures[near], found[near], atol=1e-3, rtol=1e-5)


def test_no_other_two_loop_design_of_the_list_costs_as_little():
    """A slice of `exhaust_two_loop`, which tries them all: every tenth design."""
    known, tried, good = optima("catalogue")["two_loop"]["cost"], 0, []
    for batch in legal_designs(known["objective"]):
        pressures = two_loop_pressures(batch[::10]).min(axis=1)
        tried += len(pressures)
        good += batch[::10][pressures >= LEAST_PRESSURE].tolist()
    assert tried > 77_000
    assert good in ([], [known["design"]])
    assert two_loop_pressures(np.array([known["design"]])).min() >= LEAST_PRESSURE
    assert known["objective"] == 419_000


def test_a_run_simulates_nothing_that_cannot_be_bought():
    """Judged from what the simulator gets, by names and by NumPy."""
    judged = []

    class Watched(PipeNetwork):
        def __call__(self, design):
            judged.append([str(name) for name in design["pipe"]])
            return super().__call__(design)

    simulator = Watched("two_loop", "cost", "grey")
    result = archeng.solve(
        build_model(aim="cost", sizes="catalogue"), simulator, max_evaluations=25, seed=1
    )
    assert 15 < len(judged) == result.nfev <= 25
    assert simulator.n_infeasible == 0
    assert len({tuple(names) for names in judged}) == len(judged)  # no design twice
    for names in judged:
        assert set(names) <= set(TWO_LOOP.parts)
        assert exceeded(TWO_LOOP, {"pipe": names}, budget=False) == []
    assert result.fun == list_cost(TWO_LOOP, TWO_LOOP.diameters(result.design)) >= 419_000


# -- runs -----------------------------------------


def test_a_short_run_finds_a_network_without_infeasible_calls():
    simulator = PipeNetwork("two_loop", "cost")
    result = archeng.solve(
        build_model("two_loop", aim="cost", form="black"),
        simulator,
        simulated=simulated_limits(TWO_LOOP),
        max_evaluations=30,
        seed=2,
    )
    assert 20 < result.nfev == simulator.n_calls <= 30
    assert result.n_infeasible_calls == simulator.n_infeasible == 0
    assert all(s.holds for s in result.simulated)
    costs = [e.objective for e in result.evaluations[:10]]
    assert result.fun < min(np.median(costs), 600_000)


def test_more_resilience_than_the_published_design_for_the_same_money():
    record = run_seed(Setup("two_loop", "resilience", calls=500, plain=True), seed=2)
    assert (record.calls, record.infeasible_calls) == (500, 0)
    assert record.violating_calls > 0
    assert record.lowest_pressure >= 30
    assert record.cost <= 419_000
    assert record.objective == pytest.approx(record.resilience, rel=1e-6)
    assert record.resilience > 0.30 > 0.2104
    assert exceeded(TWO_LOOP, {"diameter": record.design}, budget=True) == []
    again = PipeNetwork()({"diameter": record.design})
    assert again.objective == pytest.approx(record.objective, rel=1e-6)  # a formula of flows
    assert record.calls_to(0.2104, -1.0) == record.curve[0][0]
    assert record.calls_to(0.99, -1.0) is None


# -- the command line -----------------------------------------


def test_command_line(tmp_path, capsys):
    out = tmp_path / "new" / "folder"
    arguments = ["--plain", "--seeds", "1", "--calls", "250", "--out", str(out)]
    name = "two_loop_resilience_grey_plain_250"
    shown, data = run_twice(main, arguments, out / f"{name}.json", capsys)
    assert "- infeasible calls: 0 of 250, judged in NumPy at every call" in shown.out
    assert "| best known with catalogue sizes | 419,000 | 0.2103 | 30.445 | none |" in shown.out
    assert "optimum by gradients 0.3778803" in shown.out
    assert "250/250 calls" in shown.err
    assert "| grey | 1 | - |" in shown.out  # nothing within the limits so early
    assert "| pressures too low | 250 | 0 | 250 | never |" in shown.out
    assert "- resilience: best none, median none, worst none;" in shown.out
    assert is_picture(out / f"{name}.png")
    assert data["provenance"]["wntr"]


def test_command_line_mistakes(tmp_path, capsys):
    assert "three_loop" in refused(main, ["--network", "three_loop"], capsys)
    (tmp_path / "two_loop_resilience_grey_60.json").write_text('{"seeds": [{}]}')
    arguments = ["--quick", "--out", str(tmp_path)]
    assert "choose another --out" in refused(main, arguments, capsys)
