"""Command line: ``python -m case_studies.random_models --help``."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence

from case_studies.benchmarks.record import command_line, markdown_table, write
from case_studies.random_models.study import (
    TARGET_NOT_FOUND,
    Judged,
    as_data,
    by_kind,
    run_all,
    summary,
)

_EVERY = 5.0  # seconds between two lines of progress
_HEADER = (
    "kind", "models", "calls", "infeasible calls", "raw exceptions", "refused", "not found",
    "median s", "longest s",
)  # fmt: skip


def main(argv: Sequence[str] | None = None) -> int:
    """Solve and judge random models; return 0 if no call was infeasible and no exception raw."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", type=int, default=1000, help="how many (default 1000)")
    parser.add_argument("--seed", type=int, default=0, help="the first seed (default 0)")
    parser.add_argument("--jobs", type=int, default=1, help="processes (default 1)")
    parser.add_argument("--record", action="store_true", help="write docs/benchmarks")
    chosen = parser.parse_args(argv)
    if chosen.models < 1 or chosen.jobs < 1 or chosen.seed < 0:
        parser.error("--models and --jobs must be at least 1, --seed not negative")
    results: list[Judged] = []
    last = time.monotonic()
    for result in run_all(range(chosen.seed, chosen.seed + chosen.models), chosen.jobs):
        results.append(result)
        if result.infeasible or result.outcome == "raw":
            print(f"seed {result.seed} ({result.kind}): {result.infeasible} infeasible calls, "
                  f"{result.outcome} {result.message}")  # fmt: skip
        if time.monotonic() - last > _EVERY:
            last = time.monotonic()
            print(f"{len(results)} of {chosen.models}", file=sys.stderr, flush=True)
    found, table = summary(results), markdown_table(_HEADER, by_kind(results))
    print(table, *(f"{key}: {value}" for key, value in found.items()), sep="\n")
    if chosen.record:
        figures = "\n".join(f"- {key}: {value}" for key, value in found.items())
        text = (
            "Random models with a planted feasible design, each solved with a small budget; every "
            "call is judged by exact arithmetic on the formulas, without archeng and CasADi "
            f"(wanted: no infeasible call, no raw exception, not found below "
            f"{TARGET_NOT_FOUND:.0%}). Kinds: "
            "[README](../../case_studies/random_models/README.md).\n\n"
            f"Seeds {chosen.seed} to {chosen.seed + chosen.models - 1}.\n\n{figures}\n\n{table}"
        )
        command = command_line("case_studies.random_models")
        write("random_models", "Random models", text, as_data(results), command)
    return int(bool(found["infeasible calls"] or found["raw exceptions"]))


if __name__ == "__main__":
    sys.exit(main())
