"""Table, statements and figure of `al_mcr`, from its rows and the figures of the paper."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from case_studies.benchmarks.record import markdown_table
from case_studies.paper.results import Row
from case_studies.paper.statistics import Comparison, Sample, compare_all, geometric_mean

PAPER = json.loads(Path(__file__).with_name("paper_tables.json").read_text(encoding="utf-8"))[
    "vs_al_mcr"
]["rows"]
PAPER_BUDGET = 500_000
LABELS = {"al": "AL", "mcr": "MCR", "arch": "ARCH", "arch-default": "ARCH, default settings"}
TESTED = ("al", "mcr", "arch")
MARKERS = {("al", "arch"): r"\*", ("al", "mcr"): "+", ("mcr", "arch"): "∘"}
SPECIAL = ("g02", "g16", "g21", "g22")
"""Problems that ARCH does not solve in the paper, but for g20, which has no feasible point."""

Group = tuple[str, str]
Groups = dict[Group, list[Row]]


def summary(rows: list[Row]) -> str:
    """Return the table of the paper with ours beside it, and what differs."""
    groups = grouped(rows)
    samples = {key: sample(runs) for key, runs in groups.items()}
    tests = compare_all(
        {
            (name, pair): (samples[name, pair[0]], samples[name, pair[1]])
            for name in _problems(groups)
            for pair in combinations(TESTED, 2)
            if (name, pair[0]) in samples and (name, pair[1]) in samples
        }
    )
    header = ["problem"]
    for method in LABELS:
        header += [LABELS[method], "paper"] if method in TESTED else [LABELS[method]]
    lines = [_line(name, groups, tests) for name in _problems(groups)]
    parts = [
        markdown_table(header, lines),
        _legend(len(tests)),
        *(_beside_the_paper(method, samples) for method in LABELS),
        "\n".join(f"- {text}" for text in _statements(groups)),
        _cuts(samples),
        _totals(groups),
    ]
    return "\n\n".join(part for part in parts if part)


def grouped(rows: Sequence[Row]) -> Groups:
    """Return the runs by problem and method; of several budgets those with the largest."""
    groups: Groups = {}
    for row in rows:
        groups.setdefault((str(row["problem"]), str(row["method"])), []).append(row)
    most = {key: max(r["budget"] for r in runs) for key, runs in groups.items()}
    return {key: [r for r in runs if r["budget"] == most[key]] for key, runs in groups.items()}


def sample(runs: Sequence[Row]) -> Sample:
    """Return the calls of the runs; the budget is the smallest of theirs."""
    return Sample(tuple(r["calls"] for r in runs), min(r["budget"] for r in runs))


def marks(name: str, method: str, tests: Mapping[Any, Comparison]) -> tuple[str, bool]:
    """Return the markers of the tests that a method wins, and whether it wins all of them."""
    mine = {pair: tests[name, pair] for pair in MARKERS if method in pair and (name, pair) in tests}
    won = [p for p, t in mine.items() if t.significant and (t.sign < 0) == (p[0] == method)]
    return "".join(MARKERS[p] for p in won), bool(mine) and len(won) == len(mine)


def _line(name: str, groups: Groups, tests: Mapping[Any, Comparison]) -> list[object]:
    line: list[object] = [name]
    for method in LABELS:
        line.append(_cell(name, method, groups.get((name, method), []), tests))
        if method in TESTED:
            paper = PAPER[name][method]
            text = "-" if paper["nfes"] is None else f"{paper['nfes']} ({paper['restarts']:.2f})"
            line.append(f"{text} {100 * paper['sr']:.0f} %")
    return line


def _cell(name: str, method: str, runs: list[Row], tests: Mapping[Any, Comparison]) -> str:
    """Median calls, mean restarts of the successful runs, markers, successes, a cut budget."""
    if not runs:
        return ""
    s = sample(runs)
    share = f"{len(s.reached)}/{len(runs)}"
    if s.budget < PAPER_BUDGET:
        share += f" in {s.budget:g}"
    if s.median is None:
        return f"- {share}"
    restarts = np.mean([r["restarts"] for r in runs if r["calls"] is not None])
    markers, best = marks(name, method, tests)
    median = f"**{s.median:.0f}**" if best else f"{s.median:.0f}"
    return f"{median} ({restarts:.2f}){markers} {share}"


def _legend(m: int) -> str:
    return (
        "Cells: median calls of the successful runs, (their mean number of restarts), successes / "
        "runs, and the budget if it is below the paper's 500000 calls. At the better of two "
        f"methods: {MARKERS['al', 'arch']} AL and ARCH, + AL and MCR, ∘ MCR and ARCH differ by the "
        f"two-sided Mann-Whitney test at 5 % / m, m = {m} tests (pairs in which both methods "
        "succeed at least once). Runs without success count as worse than all others; with "
        "different budgets the smaller one counts for both. Bold: better than every method it "
        "was tested with. ARCH with default settings is not part of the tests."
    )


def _beside_the_paper(method: str, samples: Mapping[Group, Sample]) -> str:
    """Return what differs from the paper's figures of this method."""
    paper = {name: PAPER[name][method if method in TESTED else "arch"] for name in PAPER}
    here = {n: s for n in PAPER if (s := samples.get((n, method))) is not None}
    if not here:
        return ""

    def rates(pick: list[str]) -> str:
        shown = (f"{n} {100 * here[n].rate:.0f} % ({100 * paper[n]['sr']:.0f} %)" for n in pick)
        return ", ".join(shown) or "none"

    below = [n for n, s in here.items() if s.rate < paper[n]["sr"] - 1e-9]
    above = [n for n, s in here.items() if s.rate > paper[n]["sr"] + 1e-9]
    cut = [n for n in below if here[n].budget < (paper[n]["nfes"] or np.inf)]
    ratios = {
        n: s.median / paper[n]["nfes"]
        for n, s in here.items()
        if s.median is not None and paper[n]["nfes"] is not None
    }
    slower = ", ".join(f"{n} {r:.2f}" for n, r in ratios.items() if r > 1) or "none"
    lines = [
        f"**{LABELS[method]}** beside the paper's {LABELS[method].split(',')[0]}:",
        "",
        f"- success below the paper's: {rates([n for n in below if n not in cut])}",
        f"- success above the paper's: {rates(above)}",
        f"- more calls than the paper's (ratio of the medians): {slower}",
        f"- geometric mean of the ratio over {len(ratios)} problems: "
        f"{geometric_mean(list(ratios.values())):.2f}",
    ]
    if cut:
        needs = ", ".join(f"{n} {paper[n]['nfes']} ({here[n].budget:g})" for n in cut)
        lines.append(
            f"- not comparable, the paper's median is above our cut budget: {needs}; "
            f"success {rates(cut)}"
        )
    return "\n".join(lines)


def _statements(groups: Groups) -> Iterator[str]:
    """Yield a line for each problem that ARCH does not solve in the paper."""
    for name in SPECIAL:
        for method in ("arch", "arch-default"):
            runs = groups.get((name, method))
            if not runs:
                continue
            s = sample(runs)
            errors = [r["best_error"] for r in runs if r["best_error"] is not None]
            median = "" if s.median is None else f", median {s.median:.0f} calls"
            nearest = f"; smallest f - f* {min(errors):.3g}" if errors else ""
            yield (
                f"{name}, {LABELS[method]}: {len(s.reached)} of {len(runs)} runs within "
                f"{s.budget:g} calls{median} (paper: 0 %){nearest}."
            )
    runs = [r for (name, _), found in groups.items() if name == "g20" for r in found]
    said = [r for r in runs if r["stop"] == "NO_FEASIBLE_DESIGN"]
    if runs:
        text = f"g20: {len(said)} of {len(runs)} runs end before the first call because archeng "
        text += "finds no feasible design, and there is none."
        yield text + (f" The rows in conflict ({said[0]['error']})." if said else "")


def _cuts(samples: Mapping[Group, Sample]) -> str:
    """Return the budgets below the paper's."""
    found: dict[tuple[str, float], list[str]] = {}
    for (name, method), s in sorted(samples.items()):
        if s.budget < PAPER_BUDGET:
            found.setdefault((LABELS[method], s.budget), []).append(name)
    if not found:
        return f"All runs had {PAPER_BUDGET} calls."
    lines = [f"- {who}, {b:g} calls: {', '.join(where)}" for (who, b), where in found.items()]
    return "Budgets below the paper's 500000 calls:\n\n" + "\n".join(lines)


def _totals(groups: Groups) -> str:
    lines = []
    for method in LABELS:
        found = [r for (_, m), runs in groups.items() if m == method for r in runs]
        runs = [r for r in found if r["evaluations"]]
        calls = sum(r["evaluations"] for r in runs)
        if runs:
            lines.append(
                f"- {LABELS[method]}: {len(runs)} runs with {calls} calls, "
                f"{sum(r['infeasible_calls'] for r in runs)} of them infeasible; "
                f"{1e3 * sum(r['overhead_seconds'] for r in runs) / calls:.2f} ms per call besides "
                "the objective, the preparation of feasible points included"
            )
    return "\n".join(lines)


def figures(rows: list[Row], out: Path) -> list[Path]:
    """Draw the median calls of each method; hollow markers are the paper's."""
    from matplotlib.figure import Figure

    groups = grouped(rows)
    problems = _problems(groups)
    styles = {
        "al": ("C0", "^"),
        "mcr": ("C1", "s"),
        "arch": ("C2", "o"),
        "arch-default": ("C3", "D"),
    }
    figure = Figure(figsize=(7.0, 1.2 + 0.3 * len(problems)), layout="constrained")
    axes = figure.subplots()
    for k, (method, (colour, marker)) in enumerate(styles.items()):
        heights = {name: i + 0.15 * (k - 1.5) for i, name in enumerate(problems)}
        ours = [
            (s.median, y) for n, y in heights.items() if (s := _sample(groups, n, method)).median
        ]
        axes.plot(*_columns(ours), marker, color=colour, ms=5, label=LABELS[method])
        if method in TESTED:
            theirs = [(PAPER[n][method]["nfes"], y) for n, y in heights.items()]
            points = _columns([p for p in theirs if p[0] is not None])
            axes.plot(
                *points, marker, color=colour, ms=6, mfc="none", label=f"{LABELS[method]}, paper"
            )
    axes.set_xscale("log")
    axes.set_yticks(range(len(problems)), problems)
    axes.set_ylim(len(problems) - 0.5, -0.5)
    axes.set_xlabel("median calls of the successful runs")
    axes.grid(axis="x", alpha=0.3)
    figure.legend(loc="outside upper center", ncols=4, fontsize="small")
    path = out / "al-mcr.png"
    figure.savefig(path, dpi=150)
    return [path]


def _sample(groups: Groups, name: str, method: str) -> Sample:
    runs = groups.get((name, method))
    return sample(runs) if runs else Sample(())


def _columns(points: Sequence[tuple[float | None, float]]) -> tuple[list[Any], list[float]]:
    return [p[0] for p in points], [p[1] for p in points]


def _problems(groups: Groups) -> list[str]:
    return sorted({name for name, _ in groups})
