"""What an argument of a command stands for: a study, one of its files, or the run of a journal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from archeng.cli.output import by_name
from archeng.cli.study_file import FILE, StudyFile, read_study
from archeng.errors import JournalError, StudyFileError
from archeng.journal import opened_journal
from archeng.records import CallRecord, parameters_of
from archeng.result import Result
from archeng.runner import read_journal

_JOURNALS = ("*.db", "*.sqlite", "*.sqlite3")  # how journals are usually named
_MOVE = ("at", "machine", "calls", "changes")


def study_or_file(argument: str | None, command: str) -> StudyFile | Path:
    """Return the study of a folder or of a ``study.toml``, or the path of another file.

    ``argument`` is as typed (None: the present folder), ``command`` goes into the message.
    """
    path = Path(argument or ".")
    if path.is_dir():
        if not (path / FILE).is_file():
            raise StudyFileError(_no_study(argument, path, command))
        return read_study(path / FILE)
    return read_study(path) if path.suffix == ".toml" else path


def journal_of(argument: str | None, command: str) -> Path:
    """Return the journal of a study, which must have one, or the journal itself."""
    target = study_or_file(argument, command)
    if isinstance(target, Path):
        return target
    if not target.journal.exists():
        raise StudyFileError(
            f"{_short(target.journal)}: this study has no journal yet; `archeng run` begins one."
        )
    return _short(target.journal)


def study_beside(journal: Path) -> StudyFile | None:
    """Return the study of the folder that a journal is in, if it is the study's journal."""
    if not (journal.parent / FILE).is_file():
        return None
    study = read_study(journal.parent / FILE)
    return study if study.journal.resolve() == journal.resolve() else None


@dataclass(frozen=True, eq=False)
class JournalRun:
    """The run of a journal: its result so far, what was stored when it began, and its moves."""

    path: Path
    result: Result
    header: Mapping[str, Any]
    moves: Sequence[Mapping[str, Any]]

    @classmethod
    def read(cls, path: Path) -> JournalRun:
        """Read a journal, also while its run goes on."""
        result = read_journal(path)
        with opened_journal(path) as journal:
            header = journal.header()
            if "own_objective" not in header:
                raise JournalError(
                    f"{path}: the file is damaged (a part of its header is missing)."
                )
            return cls(path, result, header, journal.moves())

    @property
    def best(self) -> CallRecord | None:
        """The call of the best design that satisfies all constraints."""
        return next(iter(self.result.best_calls), None)

    @property
    def options(self) -> Mapping[str, Any]:
        """The options of the run, with the limits of the latest process."""
        options: Mapping[str, Any] = self.result.provenance["options"]
        return options

    @property
    def design(self) -> dict[str, Any]:
        """The best design by name; empty if there is none."""
        return {} if self.best is None else by_name(self.result, self.best.x)

    def data(self) -> dict[str, Any]:
        """Return where the run stands, as plain data."""
        result, best = self.result, self.best
        last = result.history[-1] if result.history else None
        return {
            "journal": str(self.path.resolve()),
            "name": result.name,
            "state": "stopped" if result.state == "cut off" else result.state,
            "stop_reason": result.stop_reason.name if result.ended else None,
            "begun": self.header["created"],
            "machine": self.header["machine"],
            "moves": [{k: move[k] for k in _MOVE} for move in self.moves],
            "seed": result.provenance["seed"],
            "parameters": parameters_of(result.parameters),
            "objective_name": result.objective_name,
            "objective_formula": result.objective_formula,
            "calls": result.nfev,
            "max_evaluations": self.options["max_evaluations"],
            "calls_by_level": list(result.calls_by_level),
            "cost": result.cost,
            "max_cost": self.options.get("max_cost"),
            "calls_by_status": dict(sorted(Counter(e.status for e in result.evaluations).items())),
            "failed_calls": len(result.failures),
            "infeasible_calls": result.n_infeasible_calls,
            "violated_calls": {
                name: sum(name in e.violated for e in result.evaluations)
                for name in (s.name for s in result.simulated)
            },
            "simulator_seconds": sum(e.seconds for e in result.evaluations),
            "archeng_seconds": sum(g.repair_seconds + g.strategy_seconds for g in result.history),
            "elapsed_seconds": float(result.provenance["elapsed"]),
            "generations": len(result.history),
            "restarts": 0 if last is None else last.restart,
            "sigma": None if last is None else last.sigma,
            "active_constraints": None if last is None else last.n_active,
            "simulated": sorted(s.name for s in result.simulated),
            "best": best
            and {
                "call": best.index + 1,
                "objective": best.objective,
                "design": self.design,
                "constraints": dict(best.constraints),
                "outputs": dict(best.outputs),
                "declared_outputs": {o.name: o.value for o in result.outputs_at_best},
            },
            "resume": self.how_to_resume(),
        }

    def how_to_resume(self) -> str:
        """Return what goes on with the run; of a script's the script has to."""
        try:
            beside = study_beside(self.path) is not None
        except StudyFileError:
            beside = True
        shown = _short(self.path.resolve())
        if beside or self.header["own_objective"]:
            return f"`archeng resume {shown}`"
        return (
            f"archeng.resume({str(shown)!r}, simulator), or `archeng resume {shown} FILE.py` with "
            "the file of its simulator,"
        )


def _no_study(argument: str | None, folder: Path, command: str) -> str:
    where = "here" if argument is None else f"in {argument}"
    text = f"There is no {FILE} {where}."
    journals = sorted(p.name for kind in _JOURNALS for p in folder.glob(kind))
    if journals and command not in ("run", "check"):
        shown = journals[0] if argument is None else str(Path(argument) / journals[0])
        return f"{text} For a journal say `archeng {command} {shown}`."
    return f"{text} Make a study with `archeng new my_study`, or name a study's folder or file."


def _short(path: Path) -> Path:
    """Return a path relative to the present folder if it is in it."""
    here = Path.cwd()
    return path.relative_to(here) if path.is_relative_to(here) else path
