"""Tables of `taxonomy`: ours beside the paper's, with what explains where they differ."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from case_studies.benchmarks.record import markdown_table
from case_studies.paper.results import Row
from case_studies.paper.transformations import CONDITIONS, OF_F, OF_G, SIGN, UNITS

TAKES = "takes"
TAKEN = 0.1  # distance from the optimum with which a kind of constraint counts as taken
SAME = 1e-6  # largest difference of runs that are the same
MODERATE = tuple(kind for kind, condition in CONDITIONS.items() if condition < 1e6)
LINEAR = "on bounds"


@dataclass(frozen=True)
class Cells:
    """A line of [SA22 tab:class]."""

    name: str
    takes: str
    taxonomy: str
    increasing: str = "increasing"
    affine: str = "affine"


NOT = "x"
PAPER = {
    "arch": Cells("ARCH", "nlc", "QUAK"),
    "arch-paper": Cells("ARCH", "nlc", "QUAK"),
    "ap-bch": Cells("AP-BCH", "bnds", "QUAK", NOT, NOT),
    "lccmsa-es": Cells("lcCMSA-ES", "lc", "QUAK", affine=NOT),
    "active-set-es": Cells("Active-set ES", "nlc", "QUAK", affine=NOT),
    "al": Cells("AL", "nlc", "QRSK", NOT),
    "stochastic-ranking": Cells("Stochastic ranking", "nlc", "QRSK", NOT),
    "mcr": Cells("MCR", "nlc", "QRSK"),
    "one-plus-one-ach": Cells("(1+1)-CMA-ES with ACH", "nlc", "NUSK"),
    "mu-lambda-ach": Cells("(mu, lambda)-CMA-ES with ACH", "nlc", "NRSK"),
    "xcma-es-ach": Cells("xCMA-ES with ACH", "nlc", "NUSK"),
    "ma-es-ach": Cells("MA-ES with ACH", "nlc", "NUSK"),
    "resampling": Cells("Resampling technique", "nlc", "NUSH"),
    "lexicographic": Cells("lexicographic order (text)", "nlc", "QRSK"),
    "epsilon-lexicographic": Cells("eps-lexicographic order (text)", "nlc", "QRSK"),
}
"""[SA22 tab:class]; others have no line in the paper.

Lines with "(text)" are of methods that its section 2.2.3 names and the table does not: R and
*increasing* are said there, nlc, Q, S, K and *affine* follow from what the methods are.
"""

EXPLAINED = {
    ("S", "A"): "Constraints are formulas here. The method needs only their values, so it could "
    "have them from a simulator, but only `arch` takes simulated constraints.",
    ("A", "S"): "`arch` also takes constraints that the simulator returns, by ranking and models; "
    "that is not in [SA22].",
    ("K", "H"): "A call that fails has the worst objective, with every handler: where no declared "
    "constraint is violated it ranks last, so a constraint that nobody declares is handled like by "
    "death penalty.",
    ("R", "U"): "Only feasible candidates are simulated here.",
    ("U", "R"): "Here designs that violate constraints are simulated.",
    ("increasing", LINEAR): "On sets with curved boundaries the repair looks for the intersection "
    "of the violated ones first; whether its solver finds that depends on the formula. Transformed "
    "rows that are bounds in truth, and factors, change nothing to 1e-6.",
    ("affine", "in distribution"): "`Settings.paper()` has the symmetric root of C, which turns "
    "the samples of a seed: the law of the runs is the same, the runs are not.",
    ("active-set-es", "affine"): "The publication is isotropic in the given coordinates. Here the "
    "metric of the initial distribution, which is mapped with the problem, is the metric of all "
    "projections.",
    ("Q", "N"): "A repaired point depends on the feasible set and on which constraints are "
    "violated; values and gradients of the constraints are what the solver needs to find it.",
    (NOT, "of f only"): "Transformations of f never change the order; those of g do, since the "
    "violations of different constraints are summed.",
    ("increasing", "of f only"): "The violations of different constraints are summed, so that "
    "factors and curved forms change the order of infeasible candidates.",
}
"""Why a cell of ours differs, by the cells or by handler and cell."""


def summary(rows: list[Row]) -> str:
    """Return the table beside the paper's, what explains it, and the figures behind it."""
    handlers = list(dict.fromkeys(str(r["handler"]) for r in rows))
    seeds = {len({r["seed"] for r in rows if r["handler"] == h}) for h in handlers}
    number = f"{min(seeds)}" if len(seeds) == 1 else f"{min(seeds)} to {max(seeds)}"
    parts = [
        f"Seeds of each handler: {number}.",
        "### The paper's table and ours [SA22 tab:class]\n\n" + _classes(rows, handlers),
        _letters(),
        "### What is taken\n\n" + _taken(rows, handlers),
        "### Largest differences\n\n" + _differences(rows, handlers),
    ]
    refusals = dict.fromkeys(str(r["note"]) for r in rows if r["note"])
    parts.append("### Refusals\n\n" + "\n".join(f"- {text}" for text in refusals))
    return "\n\n".join(parts)


def figures(rows: list[Row], out: Path) -> list[Path]:
    """Draw nothing: the tables say it."""
    return []


# ----- the table --------------------------------------------------------------------------------


def _classes(rows: list[Row], handlers: Sequence[str]) -> str:
    lines, notes = [], []
    for handler in handlers:
        mine = [r for r in rows if r["handler"] == handler]
        paper, ours = PAPER.get(handler), cells(mine)
        line = [f"`{handler}`", "-" if paper is None else paper.name]
        for name in ("takes", "taxonomy", "increasing", "affine"):
            value = getattr(ours, name)
            line += ["-" if paper is None else getattr(paper, name), value]
            if paper is not None:
                notes += explanations(handler, name, getattr(paper, name), value)
        lines.append([*line, _number(mine, OF_F), _number(mine, OF_G), _number(mine, MODERATE)])
    header = ["handler", "paper's method"]
    header += [f"{n}, {who}" for n in ("takes", "taxonomy", "increasing", "affine")
               for who in ("paper", "ours")]  # fmt: skip
    header += ["f transformed", "g transformed", "affine map"]
    table = markdown_table(header, lines)
    grouped: dict[str, list[str]] = {}
    for handler, text in notes:
        grouped.setdefault(text, []).append(f"`{handler}`")
    found = [f"- {', '.join(dict.fromkeys(who))}: {text}" for text, who in grouped.items()]
    return table + "\n\nWhere ours differ from the paper's:\n\n" + "\n".join(found or ["- nowhere"])


def _letters() -> str:
    return (
        "Takes: bnds, lc, nlc are bounds, linear and nonlinear inequalities; eq: equalities, too. "
        "Taxonomy, each letter from a run: Q or N, whether `g sign` changes a run (refused: Q); R "
        "or U, whether any call was made at a design that violates a constraint; S or A, whether "
        "a simulated constraint is taken; H or K, whether a run with an undeclared constraint "
        "comes to the optimum; what is taken is so with every seed. Increasing and affine: whether "
        "runs stay the same to 1e-6, over all transformations of f and g, and maps of condition 10 "
        "and 1e4. Last columns: the largest difference in the first five generations / in whole "
        "runs.\n\n"
        "Transformations that are refused do not count: *increasing* of `lccmsa-es` rests on f and "
        "on `g scaled` only, since it refuses `g cube` and `g exp`, which are nonlinear. `units` "
        "is an affine map, too, but does not count for *affine*: the box stays a box there, so its "
        "rows become larger or smaller with the variables, while the rows of the other maps keep "
        "their values. That changes the order of methods that "
        "weigh violations of different constraints against each other (`al`, "
        "`stochastic-ranking`, `lexicographic`, `epsilon-lexicographic`), as `g scaled` does. In "
        'the lines with "(text)" R and *increasing* are what the text of the paper says; nlc, '
        "Q, S, K and *affine* are inferred by us, they are not in its table."
    )


def cells(rows: Sequence[Row]) -> Cells:
    """Return what the runs of one handler say."""
    runs = [r for r in rows if r["check"] == TAKES]
    taken = {k: all(is_taken(r) for r in runs if r["change"] == k) for k in kinds_of(runs)}
    kinds = [k for k, word in (("nonlinear", "nlc"), ("linear", "lc"), ("bounds", "bnds"))
             if taken.get(k)]  # fmt: skip
    takes = {"nonlinear": "nlc", "linear": "lc", "bounds": "bnds"}[kinds[0]] if kinds else "none"
    equalities = taken.get("nonlinear equality" if takes == "nlc" else "linear equality")
    sign = _pick(rows, (SIGN,))
    outside = any((r["outside"] or 0) > 0 for r in runs)
    taxonomy = "".join(
        (
            "N" if sign and all(_same(r) for r in sign) else "Q",
            "R" if outside else "U",
            "S" if taken.get("simulated") else "A",
            "H" if taken.get("hidden") else "K",
        )
    )
    return Cells(
        "",
        takes + (" + eq" if equalities else ""),
        taxonomy,
        _increasing(rows),
        _affine(rows),
    )


def kinds_of(runs: Sequence[Row]) -> list[str]:
    """Return the kinds of constraints of these runs, each once."""
    return list(dict.fromkeys(str(r["change"]) for r in runs))


def is_taken(row: Row) -> bool:
    """Whether a run came near the optimum."""
    return row["gap"] is not None and abs(float(row["gap"])) <= TAKEN


def _increasing(rows: Sequence[Row]) -> str:
    found = _pick(rows, (*OF_F, *OF_G))
    if all(_same(r) for r in found):
        return "increasing"
    f = _pick(rows, OF_F)
    bounds = [r for r in found if str(r["check"]) != "g09"]
    if all(_same(r) for r in f):
        return LINEAR if all(_same(r) for r in bounds) else "of f only"
    return NOT


def _affine(rows: Sequence[Row]) -> str:
    found = _pick(rows, MODERATE)
    if not found:
        return NOT
    if all(_same(r) for r in found):
        return "affine"
    return "in distribution" if rows[0]["handler"] == "arch-paper" else NOT


def explanations(handler: str, name: str, paper: str, ours: str) -> list[tuple[str, str]]:
    """Return the handler with the reasons for which a cell differs; none if it does not."""
    if name == "takes":
        ours = ours.removesuffix(" + eq")
    pairs = zip(paper, ours, strict=True) if name == "taxonomy" else [(paper, ours)]
    found = []
    for before, after in pairs:
        if before != after:
            unexplained = f"{name}: {before} in the paper, {after} here; not explained."
            reason = EXPLAINED.get((handler, name)) or EXPLAINED.get((before, after), unexplained)
            found.append((handler, f"{before} -> {after}. {reason}"))
    return found


# ----- the figures ------------------------------------------------------------------------------


def _taken(rows: list[Row], handlers: Sequence[str]) -> str:
    """Return calls to the optimum and those outside, the distance left, or the refusal."""
    runs = [r for r in rows if r["check"] == TAKES]
    kinds = kinds_of(runs)
    lines = []
    for handler in handlers:
        line = [f"`{handler}`"]
        for kind in kinds:
            mine = [r for r in runs if r["handler"] == handler and r["change"] == kind]
            line.append(_taken_cell(mine))
        lines.append(line)
    table = markdown_table(["handler", *kinds], lines)
    return (
        f"{table}\n\nMost calls of a seed to a distance of 0.01 from the optimum (outside: at "
        "designs that violate a declared constraint); where a seed did not come so near, the "
        "largest distance that was left when its run ended, at the latest after 1500 calls."
    )


def _taken_cell(rows: Sequence[Row]) -> str:
    if not rows:
        return "-"
    if any(r["note"] for r in rows):
        return "refused"
    calls, outside = max(int(r["calls"]) for r in rows), max(int(r["outside"]) for r in rows)
    text = f"{calls} calls" + (f", {outside} outside" if outside else "")
    gaps = [float("inf") if r["gap"] is None else float(r["gap"]) for r in rows]
    return text if max(gaps) <= 0.01 else f"{text}, {max(gaps):.1e} left"


def _differences(rows: list[Row], handlers: Sequence[str]) -> str:
    """Return every transformation: first generations / whole run, and where they part."""
    changes = (*MODERATE, *(k for k in CONDITIONS if k not in MODERATE), UNITS, *OF_F, *OF_G, SIGN)
    problems = list(dict.fromkeys(str(r["check"]) for r in rows if r["check"] != TAKES))
    lines = []
    for handler in handlers:
        for problem in problems:
            mine = [r for r in rows if r["handler"] == handler and r["check"] == problem]
            measured = [c for c in changes if _pick(mine, (c,))]
            if measured:
                numbers = [_cell(_pick(mine, (c,))) for c in changes]
                lines.append([f"`{handler}`", problem, *numbers])
    return (
        markdown_table(["handler", "problem", *changes], lines)
        + "\n\nLargest difference in the first five generations / in the whole run, in standard "
        "deviations, over all seeds (inf: another number of calls); in brackets the earliest "
        "generation with more than 1e-6. The rows of g09 are nonlinear, its set is convex."
    )


def _cell(rows: Sequence[Row]) -> str:
    if not rows:
        return "refused"
    parted = [int(r["parted"]) for r in rows if r["parted"] is not None]
    return _number(rows) + (f" ({min(parted)})" if parted else "")


def _number(rows: Sequence[Row], changes: Sequence[str] | None = None) -> str:
    found = list(rows) if changes is None else _pick(rows, changes)
    if not found:
        return "refused"
    first, largest = (max(float(r[k]) for r in found) for k in ("first", "largest"))
    return f"{first:.0e} / {largest:.0e}"


def _pick(rows: Sequence[Row], changes: Sequence[str]) -> list[Row]:
    """Return the measured rows of some transformations."""
    return [r for r in rows if r["change"] in changes and r["largest"] is not None]


def _same(row: Row) -> bool:
    return float(row["largest"]) <= SAME
