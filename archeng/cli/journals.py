"""Commands that look at a run, also while it goes on: status, report, dashboard and export."""

from __future__ import annotations

import contextlib
import csv
import sys
import threading
import webbrowser
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import click

from archeng.cli import flags
from archeng.cli.output import by_name, value_text, write, write_json
from archeng.cli.targets import JournalRun, journal_of
from archeng.dashboard import serve
from archeng.errors import JournalError, SettingsError
from archeng.journal import is_database
from archeng.plain_text import cell
from archeng.records import call_table, parameters_of
from archeng.result import Result
from archeng.runner import read_journal
from archeng.strategy import StopReason

_COLUMNS = (
    "index", "generation", "restart", "objective", "status", "seconds", "attempts",
    "max_violation", "repair_kind", "repair_solver", "repair_distance_squared", "message",
)  # fmt: skip


@flags.command(
    "status",
    """\
  archeng status                             the study in this folder
  archeng status run.db
  archeng status --json | jq .best.objective
""",
)
@flags.target("journal")
@flags.as_json()
def status(journal: str | None, as_json: bool) -> int:
    """Show where a run stands, also while it runs.

    Print calls, best design and state of the run of a study's folder, of its study.toml, or of a
    JOURNAL.
    """
    data = JournalRun.read(journal_of(journal, "status")).data()
    if as_json:
        write_json(data)
    else:
        write("\n".join(_lines(data)))
    return 0


def _lines(data: Mapping[str, Any]) -> Iterator[str]:
    yield f"{data['name']}: {_situation(data)}"
    yield f"begun {data['begun']} on {data['machine']}, seed {data['seed']}"
    for move in data["moves"]:
        changes = "; ".join(move["changes"])
        yield f"rounding may differ after call {move['calls']}, on {move['machine']}: {changes}"
    calls, budget, counts = data["calls"], data["max_evaluations"], data["calls_by_status"]
    kinds = ", ".join(f"{n} {kind}" for kind, n in counts.items()) or "none yet"
    yield f"calls: {calls}{f' of {budget}' if budget else ''} ({kinds})"
    if calls:
        seconds = data["simulator_seconds"]
        yield f"time in the simulator: {seconds:.1f} s, {seconds / calls:.2g} s a call"
    if data["generations"]:
        yield (
            f"generations: {data['generations']}, restarts: {data['restarts']}, "
            f"step {data['sigma']:.2e}, active constraints {data['active_constraints']}"
        )
    for name, value in data["parameters"].items():
        yield f"parameter {name} = {value}"
    best, goal = data["best"], data["objective_name"]
    if best is not None:
        yield f"best objective{f' ({goal})' * bool(goal)}: {best['objective']:.10g}"
        for name, value in best["design"].items():
            yield f"  {name} = {value_text(value)}"
        for name, value in best["constraints"].items():
            yield f"  {name} = {value:.10g} (simulated constraint)"
        for name, value in best["declared_outputs"].items():
            yield f"  {name} = {value:.10g} (output)"
    elif data["simulated"]:
        yield "no design satisfies all simulated constraints yet"


def _situation(data: Mapping[str, Any]) -> str:
    """Say in words whether a run goes on, has ended, or was stopped."""
    if data["state"] == "running":
        return "running"
    if data["state"] == "ended":
        return f"ended because {StopReason[data['stop_reason']].value}"
    return f"not running, it was cut off or ended with an error; {data['resume']} goes on with it"


@flags.command(
    "report",
    """\
  archeng report                             the study in this folder: run.html
  archeng report run.db --output wing.html
  archeng report run.db --pdf                and a PDF
""",
)
@flags.target("run")
@flags.file("-o", "--output", help="The HTML file (default: beside the run).")
@flags.file(
    "--pdf", is_flag=False, flag_value="", help="Also a PDF (default name: that of the HTML file)."
)
def report(run: str | None, output: str | None, pdf: str | None) -> int:
    """Write a report of a run as one HTML file, or as PDF.

    It has what was asked, the best design, convergence, what blocks the design, failures, and how
    to reproduce it. The HTML file needs no other file and no network. Also while the run goes on;
    the journal is only read. RUN is a study's folder, a journal, or a result saved as JSON.
    """
    source = journal_of(run, "report")
    page = source.with_suffix(".html") if output is None else Path(output)
    files = [page]
    if pdf is not None:
        files.append(Path(pdf) if pdf else page.with_suffix(".pdf"))
        if files[1].suffix.lower() != ".pdf":
            raise SettingsError(f"--pdf {files[1]}: the name of a PDF must end in .pdf.")
    for file in files:
        if file.resolve() == source.resolve():
            raise SettingsError(f"{file}: the report would overwrite the run that it shows.")
    result = _result(source)
    for file in files:
        result.report(file)
        write(f"{file}")
    return 0


def _result(source: Path) -> Result:
    """Read a journal, or a result that was saved."""
    try:
        with source.open("rb") as stream:
            begin = stream.read(16)
    except OSError as error:
        raise JournalError(
            f"{source}: cannot be read ({error.strerror}). Give a journal (solve(..., "
            "journal=...), `archeng run --journal`) or a result (`result.save`)."
        ) from error
    return Result.load(source) if begin.lstrip()[:1] == b"{" else read_journal(source)


@flags.command(
    "dashboard",
    """\
  archeng dashboard                          the study in this folder, while it runs
  archeng dashboard run.db --port 8600 --no-browser
""",
)
@flags.target("journal")
@click.option("--port", type=int, help="Where to listen (default: 8517, or a free one).")
@flags.switch("--no-browser", help="Do not open a browser.")
def dashboard(journal: str | None, port: int | None, no_browser: bool) -> int:
    """Follow a run in the browser while it goes on.

    Serve the report of the run of a study's folder or of a JOURNAL on 127.0.0.1 and keep it up to
    date. The journal is only read. Ctrl-C ends the dashboard, not the run.
    """
    server = serve(journal_of(journal, "dashboard"), port)
    write(f"{server.live.name}: {server.url} (on this machine only; Ctrl-C ends)")
    sys.stdout.flush()
    if not no_browser:
        threading.Thread(target=webbrowser.open, args=(server.url,), daemon=True).start()
    with contextlib.closing(server.live), server, contextlib.suppress(KeyboardInterrupt):
        server.serve_forever(poll_interval=0.2)
    return 0


@flags.command(
    "export",
    """\
  archeng export --output calls.csv          every call of the study in this folder
  archeng export run.db --json --output calls.json
  archeng export | head                      CSV on standard output
""",
)
@flags.target("journal")
@flags.file("--output", help="Where to; standard output by default.")
@flags.file("--csv", "as_csv", help="The same as --output.")
@flags.as_json("JSON instead of CSV: a list with one object per call.")
@click.option("--optuna", metavar="URL", help="Storage, such as sqlite:///study.db.")
@click.option("--study", metavar="NAME", help="Name of the Optuna study.")
@flags.switch("--update", help="Add what an Optuna study lacks.")
def export(
    journal: str | None,
    output: str | None,
    as_csv: str | None,
    as_json: bool,
    optuna: str | None,
    study: str | None,
    update: bool,
) -> int:
    """Write every call of a run as CSV or JSON, or into Optuna.

    Every finished call of the run of a study's folder or of a JOURNAL, with full precision.
    """
    if as_json and as_csv:
        raise SettingsError("--csv and --json exclude each other; use --json --output FILE.")
    result = read_journal(journal_of(journal, "export"))
    if optuna is not None:
        from archeng.adapters.optuna import to_study

        made = to_study(result, optuna, study, update=update)
        write(f"study {made.study_name!r}: {len(made.trials)} trials")
        return 0
    with contextlib.ExitStack() as stack:
        stream: Any = sys.stdout
        path = output or as_csv
        if path not in (None, "-"):
            stream = stack.enter_context(_created(Path(str(path))))
        (_write_json if as_json else _write_csv)(result, stream)
    return 0


def _created(path: Path) -> Any:
    """Open a file to write to; a journal is never overwritten."""
    try:
        if path.is_file() and is_database(path):
            raise SettingsError(f"{path}: is a journal, which is not overwritten.")
        return path.open("w", newline="", encoding="utf-8")
    except OSError as error:
        raise SettingsError(f"{path}: cannot be written ({error.strerror}).") from error


def _write_csv(result: Result, stream: Any) -> None:
    columns = (*_COLUMNS, "level") if result.cheaper else _COLUMNS
    calls = result.all_calls
    header, rows = call_table(calls, columns, result.variables, result.declared_outputs)
    csv.writer(stream).writerows(map(cell, row) for row in (header, *rows))


def _write_json(result: Result, stream: Any) -> None:
    """Write a list with one object per call."""
    parameters = parameters_of(result.parameters)
    calls = [
        {
            **{c: getattr(e, c) for c in (*_COLUMNS, *(["level"] if result.cheaper else []))},
            "design": by_name(result, e.x),
            "constraints": e.constraints,
            "violated": e.violated,
            "outputs": e.outputs,
            "parameters": parameters,
        }
        for e in result.all_calls
    ]
    write_json(calls, stream)
