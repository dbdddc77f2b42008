"""Run an experiment: tasks in worker processes, a CSV that grows, a summary and figures.

An experiment is a module with these names. It is registered by one line in ``experiments.py``.

``NAME : str``
    Name on the command line and of the files ``DIR/NAME.csv``, ``.md``, ``.meta.json``, ``*.png``.
``HELP : str``
    One line for ``--help``.
``RUNS, QUICK_RUNS : int``
    Number of runs (seeds) without ``--runs``; ``QUICK_RUNS`` with ``--quick``.
``tasks(runs: int, quick: bool) -> list[Task]``
    What has to be done. A task is a dict of text and numbers with the same keys in all tasks: the
    key columns of the CSV. A task is done if a row with these values is in the CSV, so anything
    that changes the result belongs in the key (``quick`` does not: quick results and full ones
    are never mixed in one folder). More runs must only add tasks. Tasks begin in this order:
    with the seed in the outer loop an unfinished experiment already has something of everything.
``run_task(task: Task) -> list[Row]``
    Do one of them, in a worker process, and return its rows: at least one, all with the same
    columns, the key columns of the task among them. Values are text, numbers, truth values
    (kept as 0 and 1) and None (an empty cell). The task alone determines the rows: seed every
    random generator from it. If it raises, the others go on, and the next start tries it again.
``summary(rows: list[Row]) -> str``
    Markdown, from the rows of all finished tasks, in the order in which they finished. Cells are
    read back as int, else float, else str; empty ones as None. Some tasks may be missing.
``figures(rows: list[Row], out: Path) -> list[Path]``
    Save figures as ``out/NAME*.png`` and return their paths. Import matplotlib inside, and use
    ``matplotlib.figure.Figure`` so that no display is needed.

The rows of a task are appended to the CSV at once when it ends. Stopping a run at any moment and
starting it again loses nothing but the tasks under way.
"""

from __future__ import annotations

import importlib
import os
import signal
import sys
import traceback
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Protocol

from case_studies.benchmarks.record import provenance
from case_studies.paper.progress import Progress
from case_studies.paper.results import Row, Store, Task, add_start, label, read_meta, read_rows


class Experiment(Protocol):
    """A module that follows the contract above."""

    __name__: str
    __doc__: str | None
    NAME: str
    HELP: str
    RUNS: int
    QUICK_RUNS: int

    def tasks(self, runs: int, quick: bool) -> list[Task]: ...  # noqa: D102

    def run_task(self, task: Task) -> list[Row]: ...  # noqa: D102

    def summary(self, rows: list[Row]) -> str: ...  # noqa: D102

    def figures(self, rows: list[Row], out: Path) -> list[Path]: ...  # noqa: D102


@dataclass(frozen=True)
class Request:
    """What the command line asked for.

    Attributes
    ----------
    out : Path
        Folder of the results.
    runs : int or None
        Number of runs; None takes that of the experiment.
    jobs : int
        Worker processes.
    quick : bool
        The small slice.
    only : sequence of str
        Keep the tasks whose ``name=value name=value ...`` contains all of these.
    command : str
        The command as typed, for the record.
    """

    out: Path
    runs: int | None = None
    jobs: int = 2
    quick: bool = False
    only: Sequence[str] = ()
    command: str = ""


def run(experiment: Experiment, request: Request) -> int:
    """Do the tasks that are not done yet, then report. Return how many of them failed.

    Raises
    ------
    ResultsError
        The folder holds something that does not fit, or another process writes there.
    KeyboardInterrupt
        Ctrl-C; the finished tasks are kept.
    """
    tasks = _selected(experiment, request)
    failures = 0
    with Store(request.out / f"{experiment.NAME}.csv") as store:
        add_start(store.path, request.quick, provenance(request.command))
        left = [t for t in tasks if not store.has(t)]
        progress = Progress(experiment.NAME, len(tasks), len(tasks) - len(left))
        try:
            for task, rows, error in _outcomes(experiment.__name__, left, request.jobs):
                if error:
                    failures += 1
                    progress.say(f"failed: {label(task)}\n{error}")
                else:
                    store.append(task, rows)
                progress.step()
        finally:
            progress.close()
    report(experiment, request.out)
    return failures


def report(experiment: Experiment, out: Path) -> None:
    """Print the summary of the finished tasks, and write it and the figures.

    Raises
    ------
    ResultsError
        There are no results, or not of this experiment.
    """
    path = out / f"{experiment.NAME}.csv"
    rows = read_rows(path)
    if not rows:
        print(f"{experiment.NAME}: no finished tasks in {path}", file=sys.stderr)
        return
    text = experiment.summary(rows)
    print(f"{text}\n", flush=True)
    saved = [p.name for p in experiment.figures(rows, out)]
    starts = "\n".join(
        f"- {', '.join(f'{key} `{value}`' for key, value in start.items())}"
        for start in read_meta(path)["starts"]
    )
    pictures = "".join(f"\n![{name}]({name})\n" for name in saved)
    page = (
        f"# {experiment.NAME}: {experiment.HELP}\n\n{(experiment.__doc__ or '').strip()}\n\n"
        f"## Results\n\n{text}\n{pictures}\n## How it was made\n\n{starts}\n"
    )
    path.with_suffix(".md").write_text(page, encoding="utf-8")
    print(f"written: {', '.join([path.name, path.with_suffix('.md').name, *saved])} in {out}")


def _selected(experiment: Experiment, request: Request) -> list[Task]:
    default = experiment.QUICK_RUNS if request.quick else experiment.RUNS
    runs = default if request.runs is None else request.runs
    tasks = experiment.tasks(runs, request.quick)
    return [t for t in tasks if all(part in label(t) for part in request.only)]


def _outcomes(
    module: str, tasks: Sequence[Task], jobs: int
) -> Iterator[tuple[Task, list[Row], str]]:
    """Each task with its rows, or with the traceback of its error, as they finish."""
    if not tasks:
        return
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # read by the workers at their start
    with get_context("spawn").Pool(min(jobs, len(tasks)), _ignore_interrupts) as pool:
        yield from pool.imap_unordered(partial(_work, module), tasks, chunksize=1)


def _ignore_interrupts() -> None:
    """Leave Ctrl-C to the parent: a run cut short in a worker must not look finished."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _work(module: str, task: Task) -> tuple[Task, list[Row], str]:
    try:
        return task, importlib.import_module(module).run_task(task), ""
    except Exception:
        return task, [], traceback.format_exc()
