"""``archeng compare``: runs side by side."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from archeng.cli import flags
from archeng.cli.output import write, write_json
from archeng.cli.targets import JournalRun, journal_of
from archeng.errors import SettingsError
from archeng.journal import readable
from archeng.model import differences, text_table
from archeng.options import OPTIONS
from archeng.report.figures.calls import plot_comparison


@flags.command(
    "compare",
    """\
  archeng compare first/run.db second/run.db
  archeng compare first second third         folders of studies
  archeng compare first second --plot convergence.png
""",
)
@flags.target("journals", metavar="JOURNAL...", nargs=-1, required=True)
@flags.file("--plot", help="Save a figure of the convergences.")
@flags.as_json()
def compare(journals: Sequence[str], plot: str | None, as_json: bool) -> int:
    """Put runs side by side.

    What differs in the set-up, and what came of it: calls, best objective, calls to reach the best
    of the others, simulated constraints, failures, time, designs. A JOURNAL may also be a study.
    """
    if len(journals) < 2:
        raise SettingsError("compare needs at least two journals or studies.")
    paths = [journal_of(argument, "compare") for argument in journals]
    with readable(" or ".join(map(str, paths))):
        runs = [Compared(n, JournalRun.read(p)) for n, p in zip(_labels(paths), paths, strict=True)]
        if plot is not None:
            _save_figure(runs, plot)
        if as_json:
            write_json(_data(runs))
        else:
            parts = (_setup(runs), _outcome(runs), _designs(runs))
            write("\n\n".join(part for part in parts if part))
    return 0


@dataclass(frozen=True, eq=False)
class Compared:
    """A run, and how it is called in tables."""

    label: str
    run: JournalRun

    @property
    def maximize(self) -> bool:
        """Whether larger objectives are better."""
        return self.run.result.maximize

    @property
    def objective(self) -> float | None:
        """The best objective of a design that satisfies everything."""
        return None if self.run.best is None else self.run.best.objective

    @property
    def state(self) -> str:
        """Running, stopped, or why it ended."""
        result = self.run.result
        return self.run.state + (f": {result.stop_reason.name.lower()}" if result.ended else "")

    @property
    def failed(self) -> int:
        """Calls that did not end well."""
        return sum(not e.good for e in self.run.result.evaluations)

    @property
    def own_seconds(self) -> float:
        """Time spent on repairs and on the strategy."""
        return sum(g.repair_seconds + g.strategy_seconds for g in self.run.result.history)

    @property
    def elapsed(self) -> float:
        """Seconds from the beginning to the last finished generation."""
        return float(self.run.result.provenance["elapsed"])

    @property
    def limits(self) -> Mapping[str, tuple[float | None, float | None]]:
        """Limits of the simulated constraints."""
        limits: Mapping[str, Any] = self.run.options["simulated"]
        return limits

    def violated(self, name: str) -> int | None:
        """Return how many calls violated a simulated constraint."""
        if name not in self.limits:
            return None
        return sum(name in e.violated for e in self.run.result.evaluations)

    def calls_to_reach(self, objective: float | None) -> int | None:
        """Return how many calls it took to be at least as good; None if it never was."""
        if objective is None:
            return None
        best = self.run.result.best_so_far
        good = best >= objective if self.maximize else best <= objective
        return int(good.argmax()) + 1 if good.any() else None

    def data(self) -> dict[str, Any]:
        """Return the run as plain data."""
        return {
            **self.run.data(),
            "label": self.label,
            "failed_calls": self.failed,
            "archeng_seconds": self.own_seconds,
            "elapsed_seconds": self.elapsed,
            "violated_calls": {name: self.violated(name) for name in self.limits},
        }


def _labels(paths: Sequence[Path]) -> list[str]:
    """Return the shortest names that tell the journals apart."""
    absolute = [os.path.abspath(p) for p in paths]
    names = [Path(p).name for p in absolute]
    if len(set(names)) < len(names):
        common = os.path.commonpath([os.path.dirname(p) for p in absolute])
        names = [os.path.relpath(p, common) for p in absolute]
    return [f"{n} ({k + 1})" if names.count(n) > 1 else n for k, n in enumerate(names)]


def _comparable(runs: Sequence[Compared]) -> bool:
    """Whether objectives can be compared: the same sense."""
    return len({r.maximize for r in runs}) == 1


def _data(runs: Sequence[Compared]) -> dict[str, Any]:
    reached = None
    if _comparable(runs):
        reached = {r.label: {o.label: r.calls_to_reach(o.objective) for o in runs} for r in runs}
    return {
        "runs": [r.data() for r in runs],
        "differences": {r.label: changes(runs[0].run, r.run) for r in runs[1:]},
        "calls_to_reach_best_of": reached,
    }


def _setup(runs: Sequence[Compared]) -> str:
    lines = ["what differs in the set-up"]
    for other in runs[1:]:
        texts = changes(runs[0].run, other.run)
        lines.append(f"{runs[0].label} -> {other.label}:" + ("" if texts else " nothing"))
        lines += [f"  {text}" for text in texts]
    return "\n".join(lines)


def changes(one: JournalRun, other: JournalRun) -> list[str]:
    """Say how the set-up of a run differs from that of another."""
    a, b = one.result.provenance, other.result.provenance
    texts = _model_changes(one.header, other.header)
    texts += _unequal("", _plain_options(one), _plain_options(other))
    texts += _unequal("simulated ", one.options["simulated"], other.options["simulated"])
    texts += _unequal("setting ", a["settings"], b["settings"])
    return texts + _unequal("version of ", one.header["versions"], other.header["versions"])


def _plain_options(run: JournalRun) -> dict[str, Any]:
    """Return the options of the table that are numbers or words."""
    stored = {**run.options, "seed": run.result.provenance["seed"]}
    return {name: stored[name] for name in OPTIONS if name in stored and name != "simulated"}


def _model_changes(a: Mapping[str, Any], b: Mapping[str, Any]) -> list[str]:
    if a["fingerprint"] == b["fingerprint"]:
        return []
    if a["model"] is None or b["model"] is None:
        return ["the model"]
    return [f"model: {text}" for text in differences(a["model"], b["model"])] or ["the model"]


def _unequal(prefix: str, a: Mapping[str, Any], b: Mapping[str, Any]) -> list[str]:
    return [
        f"{prefix}{k}: {_short(a.get(k))} became {_short(b.get(k))}"
        for k in dict.fromkeys([*a, *b])
        if a.get(k) != b.get(k)
    ]


def _short(value: Any) -> str:
    if isinstance(value, tuple):
        return f"({', '.join('-' if v is None else f'{v:g}' for v in value)})"
    return "none" if value is None else f"{value}"


def _outcome(runs: Sequence[Compared]) -> str:
    rows: list[tuple[str, ...]] = []

    def row(title: str, cell: Callable[[Compared], Any]) -> None:
        rows.append((title, *(_cell(cell(r)) for r in runs)))

    row("study", lambda r: r.run.result.name)
    row("state", lambda r: r.state)
    row("seed", lambda r: r.run.result.provenance["seed"])
    row("calls", lambda r: r.run.result.nfev)
    row("  failed", lambda r: r.failed)
    row("  at infeasible designs", lambda r: r.run.result.n_infeasible_calls)
    row("best objective", lambda r: r.objective)
    row("  found at call", lambda r: None if r.run.best is None else r.run.best.index + 1)
    for other in runs if _comparable(runs) else ():
        title = f"calls to reach the best of {other.label}"
        row(title, lambda r, o=other: r.calls_to_reach(o.objective))  # type: ignore[misc]
    for name in dict.fromkeys(name for r in runs for name in r.limits):
        title = f"simulated: {name} {_limit(runs, name)}"
        row(title, lambda r, n=name: r.run.best and r.run.best.constraints.get(n))  # type: ignore[misc]
        row("  violated by calls", lambda r, n=name: r.violated(n))  # type: ignore[misc]
    row("seconds in the simulator", lambda r: round(r.run.simulator_seconds, 3))
    row("  a call", lambda r: round(r.run.simulator_seconds / max(r.run.result.nfev, 1), 6))
    row("seconds of archeng", lambda r: round(r.own_seconds, 3))
    row("seconds from begin to end", lambda r: round(r.elapsed, 3))
    text = text_table(("", *(r.label for r in runs)), rows)
    return text if _comparable(runs) else text + "\none minimises, another maximises"


def _limit(runs: Sequence[Compared], name: str) -> str:
    """Return the limits of a simulated constraint if they are the same everywhere."""
    pairs = {tuple(r.limits[name]) for r in runs if name in r.limits}
    if len(pairs) > 1:
        return ""
    low, high = pairs.pop()
    parts = [f">= {low:g}" if low is not None else "", f"<= {high:g}" if high is not None else ""]
    return " and ".join(p for p in parts if p)


def _designs(runs: Sequence[Compared]) -> str:
    names = dict.fromkeys(name for r in runs for name in r.run.design)
    if not names:
        return ""
    rows = [(name, *(_cell(r.run.design.get(name)) for r in runs)) for name in names]
    return text_table(("best design", *(r.label for r in runs)), rows)


def _cell(value: Any) -> str:
    if value is None:
        return "-"
    return f"{value:.8g}" if isinstance(value, float) else str(value)


def _save_figure(runs: Sequence[Compared], path: str) -> None:
    target = Path(path)
    if target.is_dir() or not target.resolve().parent.is_dir():
        raise SettingsError(f"--plot {path}: there is no such directory, or it is one.")
    try:
        figure = plot_comparison({r.label: r.run.result for r in runs})
        figure.savefig(target, dpi=150)
    except ImportError as error:
        raise SettingsError(f"--plot: {error}") from error
    except (OSError, ValueError) as error:  # matplotlib: an ending that it does not know
        raise SettingsError(f"--plot {path}: cannot be written ({error}).") from error
