"""``simulated=``: good and bad limits, and who can use them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from simulated_helpers import DISC, disc, gap, plane

import archeng
from archeng import Evaluation, Model, Run, Settings
from archeng.errors import SettingsError
from archeng.outcomes import Limits
from archeng.settings import HandlerName

NAN, INF = float("nan"), float("inf")

BAD: list[tuple[Any, list[str]]] = [
    (["size"], ["simulated must map names", "['size']"]),
    ("size", ["simulated must map names", "'size'"]),
    (4.0, ["simulated must map names", "4.0"]),
    ([("size", (None, 4.0))], ["simulated must map names"]),
    ({"size": 4.0}, ["simulated['size']", "(lower, upper)", "4.0"]),
    ({"size": None}, ["simulated['size']", "None"]),
    ({"size": "<4"}, ["simulated['size']", "'<4'"]),
    ({"size": (4.0,)}, ["simulated['size']", "(4.0,)"]),
    ({"size": (0.0, 2.0, 4.0)}, ["simulated['size']", "(0.0, 2.0, 4.0)"]),
    ({"size": {"upper": 4.0}}, ["simulated['size']", "{'upper': 4.0}"]),
    ({"size": (NAN, 4.0)}, ["simulated['size']", "nan"]),
    ({"size": (None, NAN)}, ["simulated['size']", "nan"]),
    ({"size": (None, "4")}, ["simulated['size']", "'4'"]),
    ({"size": (None, True)}, ["simulated['size']", "True"]),
    ({"size": (None, 4j)}, ["simulated['size']", "4j"]),
    ({"size": (4.0, 4.0)}, ["simulated['size']", "4.0", "band"]),
    ({"size": (5.0, 4.0)}, ["simulated['size']", "5.0", "4.0"]),
    ({"size": (None, None)}, ["simulated['size']", "no limit", "outputs"]),
    ({"size": (-INF, INF)}, ["simulated['size']", "no limit"]),
    ({"size": (None, INF)}, ["simulated['size']", "no limit"]),
    ({"": (None, 4.0)}, ["names", "''"]),
    ({3: (None, 4.0)}, ["names", "3"]),
    ({None: (None, 4.0)}, ["names", "None"]),
    ({"good": (None, 1.0), "size": (1.0, -1.0)}, ["simulated['size']"]),
]


@pytest.mark.parametrize(("simulated", "words"), BAD)
def test_bad_limits_are_refused_before_any_call(simulated: Any, words: list[str]) -> None:
    def never(design: Any) -> float:
        raise AssertionError("nothing may be simulated")

    for begin in (archeng.solve, Run):
        with pytest.raises(SettingsError) as caught:
            begin(plane(), never, simulated=simulated, seed=1, max_evaluations=5)
        assert all(word in str(caught.value) for word in words), str(caught.value)


GOOD: list[tuple[Any, float, float]] = [
    ((None, 4), -INF, 4.0),
    ((1, None), 1.0, INF),
    ([1.0, 4.0], 1.0, 4.0),
    ((np.float32(0.5), np.int64(4)), 0.5, 4.0),
    ((-INF, 4.0), -INF, 4.0),
    ((0.0, INF), 0.0, INF),
    ((-1e300, 1e300), -1e300, 1e300),
]


@pytest.mark.parametrize(("limits", "lower", "upper"), GOOD)
def test_good_limits(limits: Any, lower: float, upper: float) -> None:
    run = Run(plane(), simulated={"size": limits}, seed=1)
    found = run.ledger.limits
    assert (found.names, found.lower.tolist(), found.upper.tolist()) == (
        ("size",),
        [lower],
        [upper],
    )


@pytest.mark.parametrize("simulated", [None, {}])
def test_nothing_declared_is_a_run_without_them(simulated: Any) -> None:
    def simulator(design: Any) -> float:
        return gap(design.x)

    one = archeng.solve(plane(), simulator, simulated=simulated, max_evaluations=10, seed=1)
    two = archeng.solve(plane(), simulator, max_evaluations=10, seed=1)
    assert [e.x.tobytes() for e in one.evaluations] == [e.x.tobytes() for e in two.evaluations]
    assert one.simulated == ()


OTHERS: tuple[HandlerName, ...] = (
    "al",
    "mcr",
    "stochastic-ranking",
    "resampling",
    "death-penalty",
    "ap-bch",
    "active-set-es",
    "lccmsa-es",
    "ma-es-ach",
    "lexicographic",
    "epsilon-lexicographic",
    "one-plus-one-ach",
    "xcma-es-ach",
    "mu-lambda-ach",
)


@pytest.mark.parametrize("handler", OTHERS)
def test_other_handlers_refuse_them(handler: HandlerName) -> None:
    settings = Settings(handler=handler, simulator_defined_everywhere=True)
    with pytest.raises(SettingsError) as caught:
        archeng.solve(plane(), disc, simulated=DISC, settings=settings, max_evaluations=5)
    assert repr(handler) in str(caught.value)
    assert "size" in str(caught.value)
    archeng.solve(  # it is not the handler that is wrong
        plane(), lambda d: gap(d.x), settings=settings, max_evaluations=5, seed=1
    )


@pytest.mark.parametrize(
    "settings", [Settings.paper(), Settings(handler="arch-nearest")], ids=["paper", "nearest"]
)
def test_all_forms_of_arch_take_them(settings: Settings) -> None:
    result = archeng.solve(
        plane(), disc, simulated=DISC, settings=settings, max_evaluations=200, seed=1
    )
    assert result.simulated[0].holds
    assert result.fun < 3.0


def test_a_resumed_run_keeps_its_limits(tmp_path: Any) -> None:
    path = tmp_path / "run.db"
    archeng.solve(plane(), disc, simulated=DISC, max_evaluations=6, seed=1, journal=path)
    run = Run.resume(path, disc)
    assert dict(run.options.simulated) == DISC
    run.close()
    with pytest.raises(SettingsError, match="simulated"):
        Run.resume(path, disc, simulated={"size": (None, 9.0)})


# -- Limits -----------------------------------------------------------------------------------


def test_violations_and_what_holds() -> None:
    limits = Limits(("a", "b"), np.array([-INF, 1.0]), np.array([4.0, 2.0]))
    values = np.array([[4.0, 1.0], [5.0, 0.5], [-1e9, 2.5], [NAN, 1.5]])
    expected = [[0, 0], [1, 0.5], [0, 0.5], [INF, 0]]
    np.testing.assert_array_equal(limits.violations(values), expected)
    assert limits.hold(values).tolist() == [True, False, False, False]
    assert len(limits) == 2
    assert not Limits()


def test_values_at_a_limit_hold() -> None:
    """Limits belong to the allowed range; the next float does not."""
    model = Model("m")
    model.variable("x", lower=0, upper=1)
    values = iter([4.0, np.nextafter(4.0, 5), 1.0, np.nextafter(1.0, 0)])
    run = Run(model, simulated={"c": (1.0, 4.0)}, max_evaluations=4, seed=1, population_size=4)
    run.tell([Evaluation(1.0, {"c": next(values)}) for _ in run.ask()])
    assert [e.violated for e in run.evaluations] == [(), ("c",), (), ("c",)]
