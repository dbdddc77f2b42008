"""The designs: every variable over the calls, and the best designs side by side."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from archeng.model import REAL, Domain
from archeng.plain_text import short
from archeng.records import Floats, VariableAtBest
from archeng.report.figures import style
from archeng.result import Result

MOST_PANELS = 12  # variables that get a panel each; more of them share one picture
_COLUMNS = 400  # of the picture of many variables
_NAMED = 60  # variables of which a picture shows the names
_DESIGNS = 40  # best designs in parallel coordinates
_AXES = 16  # variables in parallel coordinates
_TICKS = 8  # values of a discrete variable that are named at its axis
_NAME = 14  # letters of such a name
_DIGITS = 4  # of the ends of an axis
_LEVEL = 8  # variables whose names fit side by side; more are written aslant


def free_variables(result: Result) -> list[int]:
    """Positions of the variables that are not fixed by their bounds, nor follow from others."""
    own = set(result.independents)
    every = enumerate(result.variables_at_best)
    return [j for j, v in every if v.lower != v.upper and (not own or v.name in own)]


def variables(figure: Any, result: Result, prefix: str) -> None:
    """Draw each variable at every call and in the best design so far."""
    free = free_variables(result)
    draw = _panels if len(free) <= MOST_PANELS else _picture
    draw(figure, result, free, prefix)


def _panels(figure: Any, result: Result, free: list[int], prefix: str) -> None:
    free = free or [0]
    what = "variables (dots: every call; blue: best so far; dashed: bounds)"
    grid = style.panels(figure, len(free), 2.1, f"{prefix}{what}" if prefix else "", sharex=True)
    calls, designs = style.call_numbers(result.evaluations), _designs(result)
    best = _best_calls(result)
    after_first = best >= 0
    for axes, j in zip(grid, free, strict=True):
        v, values = result.variables_at_best[j], designs[:, j]
        style.dots(axes, calls, values, style.DOT)
        style.steps(axes, calls[after_first], values[best[after_first]], style.BLUE)
        few = _all_levels(v)
        low, high = _view(values if few is None else few, v.lower, v.upper)
        axes.set_ylim(low, high)
        for bound in (v.lower, v.upper) if v.domain.is_ordered else ():
            if low <= bound <= high:
                axes.axhline(bound, color=style.ORANGE, lw=1, ls="--")
        _name_levels(axes, v, low, high)
        unit = f" [{short(v.unit, 12)}]" if v.unit else ""
        style.title(axes, short(v.name, 22) + unit, fontsize=9.5)


def _all_levels(v: VariableAtBest) -> Floats | None:
    """Return the values of a discrete variable that has a few; they are all shown."""
    levels = v.domain.levels_between(v.lower, v.upper)
    return levels if levels is not None and len(levels) <= _TICKS else None


def _name_levels(axes: Any, v: VariableAtBest, low: float, high: float) -> None:
    """Put ticks at the values of a discrete variable, with names of rows; at some of many."""
    levels = v.domain.levels_between(max(low, v.lower), min(high, v.upper))
    if levels is None or not len(levels):
        return
    shown = levels[:: -(-len(levels) // _TICKS)]
    labels = [short(v.domain.shown(level), _NAME) for level in shown]
    axes.set_yticks(shown, labels, parse_math=False)


def _view(values: Floats, lower: float, upper: float) -> tuple[float, float]:
    """Limits of an axis: what the values need, and bounds that are not far from them."""
    finite = values[np.isfinite(values)]
    low, high = (finite.min(), finite.max()) if len(finite) else (0.0, 1.0)
    width = max(high - low, 1e-9 * max(abs(low), abs(high)), 1e-300)
    low = max(lower, low - 0.5 * width)
    high = min(upper, high + 0.5 * width)
    pad = 0.06 * max(high - low, width)
    return float(low - pad), float(high + pad)


def _picture(figure: Any, result: Result, free: list[int], prefix: str) -> None:
    """Draw many variables: one line of a picture each, the best design so far over the calls."""
    figure.set_size_inches(10, float(np.clip(0.16 * len(free) + 1.2, 4, 8.5)))
    axes = figure.subplots()
    best = _best_calls(result)
    source = np.where(best >= 0, best, np.arange(len(best)))
    columns = np.unique(np.linspace(0, len(best) - 1, _COLUMNS).astype(int))
    image = _places(result, _designs(result)[source[columns]])[:, free].T
    drawn = axes.imshow(
        image,
        aspect="auto",
        extent=(1, len(best) + 1, len(free) - 0.5, -0.5),
        vmin=0,
        vmax=1,
        cmap="viridis",
        interpolation="nearest",
    )
    axes.grid(False)
    step = -(-len(free) // _NAMED)
    names = [short(result.variables_at_best[j].name, 24) for j in free[::step]]
    axes.set_yticks(range(0, len(free), step), names, parse_math=False, fontsize=6.5)
    axes.set_xlabel("simulator calls")
    bar = figure.colorbar(drawn, ax=axes, pad=0.01)
    bar.set_ticks([0, 0.5, 1], labels=["lower\nbound", "middle", "upper\nbound"])
    bar.outline.set_visible(False)
    style.title(axes, f"{prefix}variables in the best design so far")


def parallel(figure: Any, result: Result, prefix: str) -> None:
    """Draw the best designs as lines across one axis per variable."""
    best = result.best_calls[:_DESIGNS]
    if not best:
        style.nothing(figure.subplots(), "no design satisfies all constraints yet")
        return
    free = free_variables(result)
    places = _places(result, np.array([e.x for e in best]))
    spread = np.ptp(places, axis=0)
    chosen = sorted(sorted(free, key=lambda j: -spread[j])[:_AXES])
    objectives = np.array([e.objective for e in best])
    lowest, width = objectives.min(), max(float(np.ptp(objectives)), 1e-300)
    lines = np.column_stack((places[:, chosen], (objectives - lowest) / width))
    figure.set_size_inches(10, 5.0 if len(chosen) > _LEVEL else 4.2)
    axes = figure.subplots()
    _lines(axes, lines)
    low, high = _ends(result)
    names = [result.variables_at_best[j] for j in chosen]
    for k, (j, v) in enumerate(zip(chosen, names, strict=True)):
        _scale(axes, k, low[j], high[j], v.domain)
    _scale(axes, len(chosen), objectives.min(), objectives.max(), REAL)
    labels = [short(v.name, 20) + (f"\n[{short(v.unit, 10)}]" if v.unit else "") for v in names]
    labels.append("objective")
    aslant: dict[str, Any] = {"rotation": 35, "ha": "right"} if len(chosen) > _LEVEL else {}
    axes.set_xticks(range(len(labels)), labels, parse_math=False, **aslant)
    axes.tick_params(axis="x", length=0, pad=14)
    axes.set(ylim=(-0.08, 1.08), xlim=(-0.4, len(labels) - 0.6), yticks=[])
    axes.grid(False)
    for side in axes.spines.values():
        side.set_visible(False)
    fewer = f", the {len(chosen)} variables that vary most" if len(chosen) < len(free) else ""
    style.title(axes, f"{prefix}the {len(best)} best designs{fewer} (orange: the best)", pad=16)


def _scale(axes: Any, place: int, low: float, high: float, domain: Domain) -> None:
    """Draw the axis of a variable with what its ends mean, and the rows of a short table."""
    axes.vlines(place, 0, 1, color=style.GREY, lw=1, zorder=1)
    ends = [short(domain.value_shown(end, _DIGITS), _NAME) for end in (low, high)]
    below: dict[str, Any] = {"ha": "center", "va": "top"}
    above: dict[str, Any] = {"ha": "center", "va": "bottom"}
    axes.text(place, -0.03, ends[0], fontsize=8, parse_math=False, **below)
    axes.text(place, 1.03, ends[1], fontsize=8, parse_math=False, **above)
    levels = domain.levels_between(low, high)
    if levels is None or domain.table is None or len(levels) > _TICKS:
        return
    for level in levels[1:-1]:
        text = f" {short(domain.shown(level), _NAME)}"
        where = (level - low) / (high - low)
        axes.text(place, where, text, va="center", fontsize=7, color=style.INK, parse_math=False)


def _lines(axes: Any, lines: Floats) -> None:
    import matplotlib

    colors = matplotlib.colormaps["Blues"](np.linspace(0.85, 0.25, len(lines)))
    across = np.arange(lines.shape[1])
    for line, color in reversed(list(zip(lines[1:], colors[1:], strict=True))):
        axes.plot(across, line, color=color, lw=1.1, alpha=0.8, zorder=2)
    axes.plot(across, lines[0], color=style.ORANGE, lw=2.4, marker="o", ms=4, zorder=3)


def _designs(result: Result) -> Floats:
    """Designs (k, n) of all calls."""
    return np.array([e.x for e in result.evaluations], dtype=float).reshape(-1, len(result.x))


def _best_calls(result: Result) -> NDArray[np.intp]:
    """Positions (k,) of the best call up to each; -1 before the first acceptable one."""
    acceptable = np.array([e.acceptable for e in result.evaluations], dtype=bool)
    better = np.append(True, np.diff(result.best_so_far) != 0)
    return np.maximum.accumulate(np.where(acceptable & better, np.arange(len(acceptable)), -1))


def _ends(result: Result) -> tuple[Floats, Floats]:
    """Bounds (n,) of the variables; the extremes of the calls where there is no bound."""
    designs = _designs(result)
    lower = np.array([v.lower for v in result.variables_at_best])
    upper = np.array([v.upper for v in result.variables_at_best])
    low = np.where(np.isfinite(lower), lower, designs.min(axis=0))
    return low, np.where(np.isfinite(upper), upper, designs.max(axis=0))


def _places(result: Result, designs: Floats) -> Floats:
    """Where the values of designs (k, n) lie between the ends, 0 to 1."""
    low, high = _ends(result)
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        return np.nan_to_num((designs - low) / np.where(high > low, high - low, 1.0), nan=0.5)
