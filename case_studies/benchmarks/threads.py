"""Measurements as users get them, and with one BLAS thread: in processes of their own, by turns.

Benchmarks that set ``OPENBLAS_NUM_THREADS=1`` would not show what a BLAS with threads costs those
who do not set it. Each figure is measured with the variable unset and set, one after the other;
ratios are of processor time, which other programs on the machine change little and threads that
wait for each other a lot.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

VARIABLE = "OPENBLAS_NUM_THREADS"
WANTED = 1.2
"""Processor time with the variable unset over that with the variable set, at most."""

Figures = dict[str, Any]


def by_turns(
    function: Callable[..., Figures | None], *arguments: Any, repeats: int = 1
) -> tuple[Figures, Figures]:
    """Call a function of a module with the variable unset and set to 1.

    Returns
    -------
    tuple of dict
        Unset and set: what the function returns, or, if that is nothing, its ``seconds`` and
        ``processor`` seconds. Numbers are medians over the repeats.
    """
    unset: list[Figures] = []
    one: list[Figures] = []
    for k in range(repeats):
        for found, count in ((unset, None), (one, "1"))[:: -1 if k % 2 else 1]:
            found.append(_elsewhere(function, arguments, count))
    return _medians(unset), _medians(one)


def beside(function: Callable[..., Figures], *arguments: Any, repeats: int = 1) -> Figures:
    """Return the figures with the variable unset, with the times of set beside them.

    The function returns ``total_ms`` (wall-clock) and ``processor_ms``, among others.
    """
    unset, one = by_turns(function, *arguments, repeats=repeats)
    ratio = unset["processor_ms"] / one["processor_ms"]
    return {**unset, "set_total_ms": one["total_ms"], "set_ms": one["processor_ms"], "ratio": ratio}


def verdict(rows: Sequence[Figures]) -> str:
    """Say what not setting the variable costs, over rows of :func:`beside`."""
    wall = statistics.median(r["total_ms"] / r["set_total_ms"] for r in rows)
    middle, worst = statistics.median(r["ratio"] for r in rows), max(r["ratio"] for r in rows)
    return (
        f"`{VARIABLE}` unset over set to 1, processor time: median {middle:.2f}, largest "
        f"**{worst:.2f}** (wanted: at most {WANTED:g}); wall-clock: median {wall:.2f}.\n"
    )


def compared(workload: Callable[[], None], repeats: int = 3) -> str:
    """Say how long a workload takes with the variable unset and set."""
    unset, one = by_turns(workload, repeats=repeats)
    assert workload.__doc__ is not None
    return (
        f"{workload.__doc__.splitlines()[0]} Processor seconds with `{VARIABLE}` unset and set to "
        f"1, medians of {repeats} by turns: {unset['processor']:.2f} and {one['processor']:.2f}, "
        f"ratio **{unset['processor'] / one['processor']:.2f}** (wanted: at most {WANTED:g})."
    )


def _elsewhere(
    function: Callable[..., Any], arguments: Sequence[Any], count: str | None
) -> Figures:
    environment = {k: v for k, v in os.environ.items() if not k.endswith("_NUM_THREADS")}
    if count is not None:
        environment[VARIABLE] = count
    where = [sys.modules[function.__module__].__spec__.name, function.__name__]  # type: ignore[union-attr]
    done = subprocess.run(
        [sys.executable, "-m", "case_studies.benchmarks.threads", *where, json.dumps(arguments)],
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    figures: Figures = json.loads(done.stdout.splitlines()[-1])
    return figures


def _medians(found: Sequence[Figures]) -> Figures:
    def median(key: str) -> Any:
        values = [f[key] for f in found]
        numbers = all(isinstance(v, float) for v in values)
        return statistics.median(values) if numbers else values[0]

    return {key: median(key) for key in found[0]}


def main(module: str, name: str, arguments: str) -> None:
    """Call the function in this process and print what it returns as the last line."""
    function = getattr(import_module(module), name)
    begin, processor = time.perf_counter(), time.process_time()
    figures = function(*json.loads(arguments))
    times = {
        "seconds": time.perf_counter() - begin,
        "processor": time.process_time() - processor,
    }
    print(json.dumps(times if figures is None else figures))


if __name__ == "__main__":
    main(*sys.argv[1:])
