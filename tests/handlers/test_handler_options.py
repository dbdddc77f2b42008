"""Options of handlers, and a handler that is one class and one entry in a table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, get_args

import numpy as np
import pytest
from handlers_helpers import SearchName, box, settings_of, wedge

import archeng
from archeng.codec import decode, dumps, loads
from archeng.errors import SettingsError
from archeng.handlers import HandlerParts, Population, Resampling, Search
from archeng.handlers.base import Handler, as_sampled, last_if_undefined, updated
from archeng.runner import handlers
from archeng.settings import HandlerName
from archeng.strategy import sample
from archeng.surrogate import AssistedSearch

REFUSED: dict[str, tuple[str, Mapping[str, Any], list[str]]] = {
    "typo": ("resampling", {"max_sample": 5}, ["handler='resampling'", "max_samples"]),
    "of another": ("mcr", {"max_samples": 5}, ["handler='mcr'", "It takes none"]),
    "of arch": ("arch", {"ranking_probability": 0.5}, ["handler='arch'", "It takes none"]),
    "of no samples": ("death-penalty", {"max_samples": 5}, ["handler='death-penalty'"]),
    "text": ("resampling", {"max_samples": "many"}, ["max_samples", "integer", "'many'"]),
    "none": ("resampling", {"max_samples": 0}, ["max_samples", "at least 1", "0"]),
    "beyond": ("stochastic-ranking", {"ranking_probability": 1.5}, ["between 0 and 1", "1.5"]),
    "flag": ("stochastic-ranking", {"ranking_probability": True}, ["between 0 and 1", "True"]),
}


@pytest.mark.parametrize("case", REFUSED)
def test_wrong_options_are_refused_before_any_call(case: str) -> None:
    name, options, words = REFUSED[case]
    settings = archeng.Settings(
        handler=name,  # type: ignore[arg-type]
        handler_options=options,
        simulator_defined_everywhere=True,
    )
    calls = []
    with pytest.raises(SettingsError) as refused:
        archeng.solve(wedge(), calls.append, settings=settings, max_evaluations=10)
    assert not calls
    for word in words:
        assert word in str(refused.value)


def test_every_name_of_the_settings_is_in_the_table() -> None:
    assert set(handlers.HANDLERS) == set(get_args(HandlerName))


class Greedy(Handler[Search]):
    """A new handler: samples, simulates the feasible ones, ranks by the objective."""

    state_type = Search

    def ask(self, search: Search, rng: np.random.Generator, known: Any) -> Any:
        x = sample(search.state, search.parameters, rng)
        return search, Population(x, tuple(as_sampled(self._set, point) for point in x))

    def tell(
        self, search: Search, population: Population, found: Any, known: Any, rng: Any
    ) -> Search:
        order = np.argsort(last_if_undefined(found.objectives), kind="stable")
        return updated(search, population.sampled[order], self._settings)


def test_a_new_handler_is_a_class_and_an_entry(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    """With journal and resume, like any other."""
    monkeypatch.setitem(handlers.HANDLERS, "resampling", Greedy)  # type: ignore[arg-type]
    settings = archeng.Settings(handler="resampling")
    options: dict[str, Any] = {"seed": 1, "settings": settings}

    def bowl(design: archeng.Design) -> float:
        return float(np.sum(design.x**2))

    whole = archeng.solve(box(2, 0), bowl, max_evaluations=80, **options)
    path = tmp_path / "run.db"
    archeng.solve(box(2, 0), bowl, max_evaluations=30, journal=path, **options)
    resumed = archeng.resume(path, bowl, max_evaluations=80)
    assert [e.x.tobytes() for e in resumed.evaluations] == [
        e.x.tobytes() for e in whole.evaluations
    ]
    assert whole.fun < whole.evaluations[0].objective


def test_options_reach_the_handler() -> None:
    class Counting(Resampling):
        def __init__(self, parts: HandlerParts) -> None:
            super().__init__(parts)
            seen.append(self._max_samples)

    seen: list[int] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(handlers.HANDLERS, "resampling", Counting)  # type: ignore[arg-type]
        for given in ({}, {"max_samples": 77}):
            settings = archeng.Settings(handler="resampling", handler_options=given)
            archeng.Run(box(2, 0), seed=1, settings=settings)
    assert seen == [500, 77]


STATES = [*get_args(HandlerName), "assisted"]


@pytest.mark.parametrize("name", STATES)
def test_states_are_written_and_read_by_their_types(name: SearchName) -> None:
    """After every generation, bit for bit: nothing of a search is lost in a journal."""
    model = box(3, 2) if name == "ap-bch" else wedge()

    def bowl(design: archeng.Design) -> float:
        return float(np.sum((design.x - 0.5) ** 2))

    run = archeng.Run(model, bowl, seed=1, max_evaluations=60, settings=settings_of(name))
    kind = run.search.handler.state_type
    while not run.stopped:
        run.step()
        text = dumps(run.state.search)
        assert dumps(decode(kind, loads(text))) == text


def test_the_state_of_a_local_search_too() -> None:
    def disc(design: archeng.Design) -> archeng.Evaluation:
        x = design.x
        return archeng.Evaluation(float(np.sum(x)), constraints={"size": float(np.sum(x**2))})

    run = archeng.Run(wedge(), disc, seed=1, max_evaluations=40, simulated={"size": (None, 9.0)})
    trials = set()
    while not run.stopped:
        run.step()
        search = run.state.search
        assert isinstance(search, AssistedSearch)
        assert dumps(decode(AssistedSearch, loads(dumps(search)))) == dumps(search)
        if search.local is not None and search.local.trial is not None:
            trials.add(search.local.trial.kind)
    assert trials
