"""Command line: ``python -m case_studies.broken_models --help``."""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Sequence
from typing import Any

import archeng
from archeng.diagnose import Diagnosis
from archeng.model import text_table
from case_studies import hock_schittkowski
from case_studies.broken_models import (
    MODELS,
    STRUCTURAL,
    judge,
    judge_structure,
    planting,
)


def main(argv: Sequence[str] | None = None) -> int:
    """Diagnose broken models and print a table; 1 if a planted conflict was missed."""
    parser = argparse.ArgumentParser(prog="python -m case_studies.broken_models")
    parser.add_argument("names", nargs="*", metavar="model", help="default: all")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--show", action="store_true", help="print each diagnosis in full")
    parser.add_argument(
        "--planted",
        choices=("pair", "cycle", "slip"),
        help="plant conflicts at random into the models of other case studies instead",
    )
    parser.add_argument(
        "--healthy", action="store_true", help="diagnose the healthy models of other case studies"
    )
    parser.add_argument(
        "--structure",
        action="store_true",
        help="models with an equation too many, without one, or with a loop without a solution",
    )
    options = parser.parse_args(argv)
    if options.healthy:
        return _healthy(options)
    known: Any = planting.models() if options.planted else MODELS
    known = STRUCTURAL if options.structure else known
    unknown = sorted(set(options.names) - set(known))
    if unknown:
        parser.error(f"unknown: {', '.join(unknown)}; known: {', '.join(known)}")
    if options.structure:
        return _structure(options)
    if options.planted:
        return _at_random(options)
    return _by_hand(options)


def _structure(options: argparse.Namespace) -> int:
    rows, right, quiet = [], 0, 0
    names = options.names or list(STRUCTURAL)
    for name in names:
        broken = STRUCTURAL[name]
        diagnosis, seconds = _timed(broken.build(True), options)
        verdict = judge_structure(broken, diagnosis)
        twin, _ = _timed(broken.build(False), options)
        said = _said(twin)
        right, quiet = right + verdict.right, quiet + (said == "nothing")
        counts = diagnosis.structure
        size = "-" if counts is None else f"{counts.equations} in {counts.variables}"
        written = "Pyomo" if broken.pyomo else "Model"
        named = "all" if not verdict.missing else f"not {', '.join(verdict.missing)}"
        innocent = ", ".join(verdict.innocent) or "none"
        about = (name, broken.kind, broken.mistake, written, size)
        about += (f"{len(broken.planted)} of {verdict.names}",)
        rows.append((*about, named, innocent, said, f"{seconds:.1f}"))
    header = ("model", "kind", "mistake", "written in", "equations", "planted", "named")
    print(text_table((*header, "innocent named", "said of the twin", "seconds"), rows))
    print(f"\nnamed, and called what it is, in {right} of {len(names)}; ", end="")
    print(f"nothing said of the healthy twin in {quiet} of {len(names)}")
    return 0 if right == quiet == len(names) else 1


def _said(twin: Diagnosis) -> str:
    """Return what is said about the structure of a healthy model."""
    structure = twin.structure
    kinds = {} if structure is None else dict.fromkeys(m.kind for m in structure.mismatches)
    words = [*kinds, *(["dependent"] if twin.dependent else [])]
    words += [] if twin.feasible else ["no design"]
    return ", ".join(words) or "nothing"


def _by_hand(options: argparse.Namespace) -> int:
    rows, named, clean = [], 0, 0
    names = options.names or list(MODELS)
    for name in names:
        broken = MODELS[name]
        diagnosis, seconds = _timed(broken.build(True), options)
        verdict = judge(broken, diagnosis)
        named += not verdict.missing
        clean += not verdict.innocent
        rows.append(
            (
                name,
                broken.kind,
                str(len(broken.planted)),
                "all" if not verdict.missing else f"not {', '.join(verdict.missing)}",
                ", ".join(verdict.innocent) or "none",
                diagnosis.proof or "not found",
                f"{seconds:.1f}",
            )
        )
    header = ("model", "kind", "planted", "named", "innocent named", "no design", "seconds")
    print(text_table(header, rows))
    print(f"\nplanted conflict named in {named} of {len(names)}; ", end="")
    print(f"nothing innocent named in {clean} of {len(names)}")
    return 0 if named == len(names) else 1


def _at_random(options: argparse.Namespace) -> int:
    rows, right, total, healthy = [], 0, 0, 0
    for seed, (name, model) in enumerate(planting.models().items()):
        if options.names and name not in options.names:
            continue
        wanted = planting.plant(model, options.planted, options.seed * 1000 + seed)
        if not wanted:
            continue
        diagnosis, seconds = _timed(model, options)
        if options.planted == "slip" and diagnosis.feasible:
            healthy += 1
            continue
        total += 1
        found = {label for conflict in diagnosis.conflicts for label in conflict.names}
        missing, more = sorted(wanted - found), sorted(found - wanted)
        if options.planted == "slip":  # what it collides with is right if it is needed
            more = [] if len(diagnosis.conflicts) == 1 and diagnosis.conflicts[0].minimal else more
        right += not missing and not more
        rows.append(
            (
                name,
                "all" if not missing else f"not {', '.join(missing)}",
                ", ".join(more) or "none",
                diagnosis.proof or "not found",
                f"{seconds:.1f}",
            )
        )
    print(text_table(("model", "named", "innocent named", "no design", "seconds"), rows))
    print(f"\nplanted rows named, and nothing innocent, in {right} of {total}")
    if healthy:
        print(f"({healthy} models have designs in spite of the slip)")
    return 0 if right == total else 1


def _healthy(options: argparse.Namespace) -> int:
    known: dict[str, Any] = dict(planting.models())
    known |= {n: MODELS[n].build(False) for n in MODELS}
    known |= {n: hock_schittkowski.problem(n).model for n in hock_schittkowski.names()}
    rows, wrong, times = [], [], []
    for name in options.names or known:
        diagnosis, seconds = _timed(known[name], options)
        times.append(seconds)
        if not diagnosis.feasible:
            wrong.append(name)
        share = "-" if diagnosis.share is None else f"{diagnosis.share.value:.2g}"
        counts = (
            diagnosis.free_variables,
            diagnosis.degrees_of_freedom,
            len(diagnosis.redundant),
            len(diagnosis.undefined),
            len(diagnosis.regions),
        )
        rows.append((name, *map(str, counts), share, f"{seconds:.1f}"))
    header = ("model", "variables", "freedom", "redundant", "undefined", "regions", "share", "s")
    print(text_table(header, rows))
    print(f"\n{len(rows) - len(wrong)} of {len(rows)} feasible; seconds: ", end="")
    print(f"median {statistics.median(times):.2f}, most {max(times):.1f}")
    if wrong:
        print(f"said to be infeasible: {', '.join(wrong)}")
    return 0 if not wrong else 1


def _timed(model: Any, options: argparse.Namespace) -> tuple[Diagnosis, float]:
    begin = time.process_time()
    diagnosis = archeng.diagnose(model, seed=options.seed)
    seconds = time.process_time() - begin
    if options.show:
        print(f"{diagnosis.name}\n\n{diagnosis}\n")
    return diagnosis, seconds


if __name__ == "__main__":
    sys.exit(main())
