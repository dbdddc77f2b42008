"""The text of a `Structure`."""

from __future__ import annotations

from collections.abc import Iterator

from archeng.diagnose.conflict_text import listed
from archeng.diagnose.structure import NOT_DETERMINED, Block, Mismatch, Structure

_HANDFUL = 5  # equations from which on the structure of a sound model is shown


def structure_text(structure: Structure | None, freedom: str) -> str:
    """Return the text; without ``freedom``, a line that counts the degrees of freedom, with one."""
    if structure is None:
        return freedom
    lines = [freedom] if freedom else []
    if structure.equations >= _HANDFUL or structure.named or structure.mismatches:
        lines += [*([] if freedom else [_counts(structure)]), *_summary(structure)]
    parts = ["\n".join(lines), *(_mismatch(m) for m in structure.mismatches)]
    return "\n\n".join(part for part in parts if part)


def _counts(s: Structure) -> str:
    return (
        f"equations: {s.equations} for {s.variables} free variables, so that "
        f"{s.degrees_of_freedom} can be chosen"
    )


def _summary(s: Structure) -> Iterator[str]:
    if s.named:
        yield f"  independent, named: {listed(s.named)}"
    if s.chosen:
        yield f"  independent, chosen by archeng: {listed(s.chosen)}"
    if s.largest is not None:
        loops = f", {s.loops} of them with more than one equation" if s.loops else ""
        yield f"  solved in {s.blocks} block{'s' * (s.blocks > 1)}{loops}"
        if s.loops:
            yield from _largest(s.largest)


def _largest(block: Block) -> Iterator[str]:
    yield f"  largest block: {len(block.equations)} equations, {listed(block.equations)}"
    yield f"    for {listed(block.variables)}"


def _mismatch(m: Mismatch) -> str:
    p, n = len(m.equations), len(m.variables)
    named = ", the named independent variables given" if m.named else ""
    equations = f"{p} equation{'s' * (p != 1)}"
    unknowns = f"{n} unknown{'s' * (n != 1)}"
    if m.kind == NOT_DETERMINED:
        title = f"not determined: {unknowns} in {equations}{named}"
    else:
        title = f"too many equations: {equations} for {unknowns}{named}"
    written = [
        f"{name} ({source})" if source else name
        for name, source in zip(m.equations, m.sources, strict=True)
    ]
    lines = [title]
    if m.kind == NOT_DETERMINED:
        lines.append(f"  unknowns: {listed(m.variables)}")
        lines += [f"  equations that hold them: {listed(written)}"] if written else []
    else:
        lines.append(f"  equations: {listed(written)}")
        lines += [f"  unknowns: {listed(m.variables)}"] if n else []
    return "\n".join([*lines, f"  {m.text}"])
