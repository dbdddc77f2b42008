"""The tables of the reference that are made from the code: names, options, settings, statuses.

They stand in the Markdown between ``<!-- table: NAME -->`` and ``<!-- end -->``, so that they can
be read everywhere. ``python docs/site/tables.py`` writes them anew (``make docs`` does); a test
fails if they are not those of the code.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterable, Sequence
from dataclasses import fields
from enum import StrEnum
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
REFERENCE = ROOT / "docs" / "reference"
_BLOCK = re.compile(r"(<!-- table: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)

AFTER_STOP = {
    "TARGET": "nothing: you have what you asked for",
    "MAX_EVALUATIONS": "go on with `archeng.resume(..., max_evaluations=)` if there was a journal",
    "MAX_TIME": "the same with `max_time=`",
    "CALLBACK": "your callback raised `StopIteration`",
    "INTERRUPTED": "Ctrl-C; `archeng.resume` goes on exactly there",
    "RUNNING": "wait; `archeng status` and `archeng dashboard` look at the journal meanwhile",
    "CUT_OFF": "`archeng.resume` goes on exactly where it was",
    "MAX_FAILURES": "read `result.evaluations[i].message`; mend the simulator, then resume",
    "MAX_ITERATIONS": "the objective is hard for this population: allow `restarts=`",
    "RESTART_BUDGET": "seen within a run: small restarts of BIPOP have a limit of their own",
    "CONVERGED": "usually nothing; `restarts=` if there may be better valleys",
    "MAX_COST": "the same with `max_cost=`",
    "NOISE": "use `result.estimate`; more can only be seen with less noise",
    "IMPORTED": "give the journal to a run as `data=` or `reuse=`",
    "MODEL_EXHAUSTED": "look at `result.optimality`: noise or a kink? `restarts=` may help",
    "TOL_OBJECTIVE": "usually nothing; `restarts=` if there may be better valleys",
    "EQUAL_OBJECTIVES": "check whether the simulator rounds, or ignores some variables",
    "TOL_X": "usually nothing; `restarts=` if there may be better valleys",
    "TOL_UP_SIGMA": "look for a missing bound; give `start=` and a larger `scale=`",
    "STAGNATION": "noise of the simulator is the usual cause; `restarts=` may help",
    "CONDITION": "look at `archeng.diagnose`; a variable may have no influence",
    "NOTHING_TO_SIMULATE": "look at failures, and at the repair kinds in `result.history`",
    "NO_EFFECT_AXIS": "usually nothing: the search has reached floating point",
    "NO_EFFECT_COORDINATE": "usually nothing: the search has reached floating point",
}
AFTER_STATUS = {
    "TARGET": "use the design",
    "WITHIN_NOISE": "use the design; `result.estimate` has its interval",
    "CONVERGED": "use the design; it is a local optimum of a black box, not a proof",
    "STOPPED": "the design may be used; more calls may find a better one",
    "SO_FAR": "the run has not ended: wait, or resume it",
    "VIOLATING": "look at `result.simulated`: relax a limit, or allow more calls",
    "NONE": "read the messages in `result.evaluations`",
}


_GOOD = ("TARGET", "WITHIN_NOISE", "CONVERGED")


def settings() -> str:
    """Every field of `archeng.Settings` with its default and what it means."""
    from archeng import Settings

    usual = Settings()
    rows = [
        (f"`{f.name}`", f"`{_short(getattr(usual, f.name))}`", _plain(f.metadata["help"]))
        for f in fields(Settings)
    ]
    return _table(("setting", "default", "meaning"), rows)


def options() -> str:
    """Return every option of a run, and whether it may be another when the run goes on."""
    from archeng.options import OPTIONS

    rows = [
        (f"`{o.name}`", _plain(f"{o.help} {o.more}"), _default(o), o.on_resume.value)
        for o in OPTIONS.values()
        if o.solve
    ]
    return _table(("option", "meaning", "without it", "changes on resume"), rows)


def run_keys() -> str:
    """Return the keys of the section ``[run]`` of study.toml."""
    return _keys("run", journal='`"run.db"`')


def study_keys() -> str:
    """Return the keys of the section ``[study]`` of study.toml that are options of a run."""
    return _keys("study")


def _keys(section: str, **defaults: str) -> str:
    from archeng.options import OPTIONS

    rows = [
        (f"`{o.name}`", _plain(f"{o.help} {o.more}"), defaults.get(o.name, _default(o)))
        for o in OPTIONS.values()
        if o.section == section
    ]
    return _table(("key", "meaning", "default"), rows)


def _default(option: Any) -> str:
    return option.without if option.default in (None, ()) else f"`{option.default!r}`"


def statuses() -> str:
    """Return what the best design may be."""
    from archeng import Status

    rows = [
        (f"`{s.name}`", s.value, "yes" if s.name in _GOOD else "no",
         AFTER_STATUS.get(s.name, ""))
        for s in Status
    ]  # fmt: skip
    return _table(("`Status`", "the design is", "`success`", "what to do"), rows)


def stop_reasons() -> str:
    """Return why a run may end."""
    from archeng import StopReason

    rows = [(f"`{r.name}`", r.value, AFTER_STOP.get(r.name, "")) for r in StopReason]
    return _table(("`StopReason`", "the run ended because", "what to do"), rows)


def call_statuses() -> str:
    """Return how a simulator call may end."""
    from archeng.simulator import CallStatus

    return _table(("status", "the call"), _commented(CallStatus))


def repair_kinds() -> str:
    """Return what a repair may be."""
    from archeng.repair import RepairKind

    return _table(("kind", "the repaired point"), _commented(RepairKind))


def names() -> str:
    """Every public name of archeng with the first line of its docstring."""
    import archeng

    rows = []
    for name in sorted(set(archeng.__all__) - {"__version__", "errors"}, key=str.lower):
        first = (inspect.getdoc(getattr(archeng, name)) or "").split("\n\n")[0]
        rows.append((f"[`{name}`](#{name.lower()})", _plain(first)))
    return _table(("name", "what it is"), rows)


def _commented(enumeration: type[StrEnum]) -> list[tuple[str, str]]:
    """Members of an enumeration with the comments beside them."""
    source = inspect.getsource(enumeration)
    said = dict(re.findall(r'^ +(\w+) = ".*?"(?:  # (.*))?$', source, re.MULTILINE))
    return [(f"`{m.value}`", said[m.name] or "ended well") for m in enumeration]


def _short(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else repr(value)


def _plain(text: str) -> str:
    """Return reStructuredText of a docstring as Markdown for one cell of a table."""
    text = re.sub(r":\w+:`~?([^`]+)`", r"`\1`", " ".join(text.split()))
    return text.replace("``", "`").replace("|", "\\|")


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "".join("| " + " | ".join(cells) + " |\n" for cells in lines)


TABLES = {
    f.__name__: f
    for f in (
        settings, options, run_keys, study_keys, statuses, stop_reasons, call_statuses,
        repair_kinds, names,
    )
}  # fmt: skip


def renewed(text: str) -> str:
    """Return a page with its tables made anew."""
    return _BLOCK.sub(lambda m: f"{m[1]}\n{TABLES[m[2]]()}\n{m[3]}", text)


def main() -> int:
    """Write the tables of all reference pages; say which pages have changed."""
    for page in sorted(REFERENCE.glob("*.md")):
        text = page.read_text(encoding="utf-8")
        if renewed(text) != text:
            page.write_text(renewed(text), encoding="utf-8")
            sys.stdout.write(f"{page.relative_to(ROOT)}: tables renewed\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
