"""Figures singly: every kind, and runs that are hard to draw."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
import pytest
from report_studies import HOSTILE, run

import archeng
from archeng import Result
from archeng.dashboard import serve
from archeng.errors import ArchengError, MissingPackageError, SettingsError
from archeng.report.figures import KINDS, plot, sensible
from archeng.report.figures.style import to_svg

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def beam() -> Result:
    return run("beam")


@pytest.fixture(scope="module")
def strange() -> Result:
    return run("strange")


def texts(figure: Any) -> set[str]:
    """Every text of a figure, and that none of the user's is taken as mathematics."""
    from matplotlib.text import Text

    found = [t for t in figure.findobj(Text) if t.get_text()]
    for t in found:
        assert not t.get_parse_math() or t.get_text().count("$") in (0, 2), t.get_text()
    return {t.get_text() for t in found}


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_can_be_drawn(beam: Result, kind: str) -> None:
    figure = beam.plot(kind)
    assert to_svg(figure).startswith(b"<?xml")
    assert any("beam" in text for text in texts(figure))


def test_the_same_figure_is_the_same_file(beam: Result) -> None:
    assert to_svg(beam.plot("activity")) == to_svg(beam.plot("activity"))


def test_unknown_kinds_are_named(beam: Result) -> None:
    with pytest.raises(SettingsError, match=r"kind must be one of .*'pie'") as caught:
        beam.plot("pie")
    assert all(kind in str(caught.value) for kind in KINDS)


def test_what_the_figures_show(beam: Result) -> None:
    n = len(beam.evaluations)
    convergence = beam.plot("convergence").axes[0]
    lines = {line.get_label(): line for line in convergence.get_lines()}
    assert len(lines["best so far"].get_xdata()) == n
    assert lines["best so far"].get_ydata()[-1] == beam.fun
    assert len(lines["no result"].get_xdata()) == sum(not e.good for e in beam.evaluations) > 0
    time = beam.plot("time").axes[0]
    best = next(line for line in time.get_lines() if line.get_label() == "best so far")
    np.testing.assert_array_equal(best.get_xdata(), [e.elapsed for e in beam.evaluations])
    panels = beam.plot("variables").axes
    assert [axes.get_title() for axes in panels] == ["width [m]", "depth [m]"]
    best_width = panels[0].get_lines()[1].get_ydata()
    assert best_width[-1] == beam.design["width"]
    parallel = beam.plot("parallel").axes[0]
    assert [t.get_text() for t in parallel.get_xticklabels()] == [
        "width\n[m]",
        "depth\n[m]",
        "objective",
    ]
    repairs = beam.plot("repairs").axes[0]
    assert sum(line.get_ydata()[-1] for line in repairs.get_lines()) == n
    assert any("failed (" in text for text in texts(beam.plot("failures")))


def test_search_shows_eigenvalues_or_the_condition_number() -> None:
    result = run("can", settings=archeng.Settings(surrogate="none"))
    axes = result.plot("search").axes
    assert len(axes) == 4
    assert len(axes[3].get_lines()) == 2
    old = [dataclasses.replace(g, eigenvalues=()) for g in result.history]
    axes = dataclasses.replace(result, history=tuple(old)).plot("search").axes
    assert "condition" in axes[3].get_title()
    assert max(axes[3].get_lines()[0].get_ydata()) == max(g.condition for g in result.history)


@pytest.mark.parametrize("kind", KINDS)
def test_names_are_text(strange: Result, kind: str) -> None:
    figure = strange.plot(kind)
    found = " ".join(texts(figure))
    figure.set_layout_engine("none")
    to_svg(figure)
    if kind in ("variables", "parallel"):
        assert "<script>" in found
        assert "$\\frac{x$" in found
        assert "very_long" in found
        assert max(map(len, found.split())) < 60
    assert HOSTILE not in found or kind not in ("variables", "parallel")  # it is cut


def cases() -> dict[str, Result]:
    whole = run("beam")
    first = next(e for e in whole.evaluations if e.acceptable)
    failed = [
        dataclasses.replace(e, status="failed", objective=math.nan, constraints={}, violated=())
        for e in whole.evaluations
    ]
    nan = np.full(2, np.nan)
    infinite = [dataclasses.replace(e, repair_distance_squared=math.nan) for e in whole.evaluations]
    return {
        "no call": dataclasses.replace(
            whole, evaluations=(), history=(), x=nan, fun=math.nan, activity=()
        ),
        "one call": dataclasses.replace(
            whole, evaluations=(dataclasses.replace(first, index=0),), history=whole.history[:1]
        ),
        "no success": dataclasses.replace(
            whole, evaluations=tuple(failed), x=nan, fun=math.nan, activity=()
        ),
        "nothing acceptable": dataclasses.replace(
            whole,
            evaluations=tuple(
                dataclasses.replace(e, violated=("stress",)) if e.good else e
                for e in whole.evaluations
            ),
        ),
        "not a number": dataclasses.replace(whole, evaluations=tuple(infinite)),
        "no times": dataclasses.replace(
            whole,
            evaluations=tuple(
                dataclasses.replace(e, elapsed=math.nan, seconds=0.0) for e in whole.evaluations
            ),
        ),
    }


@pytest.fixture(scope="module")
def edge_cases() -> dict[str, Result]:
    return cases()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "case", ["no call", "one call", "no success", "nothing acceptable", "not a number", "no times"]
)
def test_edge_cases_are_drawn(edge_cases: dict[str, Result], case: str, kind: str) -> None:
    figure = edge_cases[case].plot(kind)
    figure.set_layout_engine("none")  # the layout is tested elsewhere, and takes long
    assert to_svg(figure)


def test_hundreds_of_variables() -> None:
    result = run("many", max_evaluations=25)
    (axes, _) = result.plot("variables").axes
    (image,) = axes.get_images()
    assert image.get_array().shape == (150, 25)
    parallel = result.plot("parallel").axes[0]
    assert len(parallel.get_xticklabels()) == 17
    assert "vary most" in parallel.get_title()


def test_many_calls_are_pixels_not_vectors() -> None:
    result = run("can", max_evaluations=20)
    many = dataclasses.replace(result, evaluations=result.evaluations * 400)
    assert len(to_svg(plot("convergence", many))) < 400_000


def test_what_is_sensible(beam: Result, edge_cases: dict[str, Result]) -> None:
    assert sensible(beam) == list(KINDS)
    assert sensible(edge_cases["no call"]) == ["simulated"]
    assert "parallel" not in sensible(edge_cases["no success"])


def test_archeng_does_not_import_matplotlib() -> None:
    import subprocess
    import sys

    code = "import sys, archeng.cli; print([m for m in ('matplotlib',) if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_without_matplotlib(beam: Result, monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ArchengError, match=r"pip install 'archeng\[plot\]'"):
        beam.plot()
    with pytest.raises(ImportError, match="matplotlib"):
        beam.report(tmp_path / "run.html")
    with pytest.raises(ImportError, match="matplotlib"):
        beam.report(tmp_path / "run.pdf")
    assert not list(tmp_path.iterdir())
    with pytest.raises(MissingPackageError, match="matplotlib"):
        serve(tmp_path / "run.db")
