"""Sizes of a checkout's package: lines, files, longest module, longest function, silent constants.

    python tests/architecture/sizes.py [--repo CHECKOUT]

Lines are all lines of the ``.py`` files below ``archeng/``, docstrings, comments and blank lines
included. A function's length runs from its first decorator to its last line, docstring included;
its *code* is what is left without the docstring. A module-level numeric constant is an assignment
of a number (or of a tuple of numbers) to one name; it is explained by a comment on its lines or on
the line above, or by a string below it. A comment above several constants explains the first only.
"""

from __future__ import annotations

import argparse
import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Place:
    """A function or module, and how many lines it has (``code``: without its docstring)."""

    name: str
    lines: int
    code: int = 0
    arguments: int = 0  # lines of the list of arguments


def modules(repo: Path = REPOSITORY) -> list[Place]:
    """Every module of the package."""
    return [
        Place(str(file.relative_to(repo)), len(file.read_text("utf-8").splitlines()))
        for file in _files(repo)
    ]


def functions(repo: Path = REPOSITORY) -> list[Place]:
    """Every function and method of the package, nested ones too."""
    return [
        Place(f"{file.relative_to(repo)}:{node.lineno} {node.name}", *_lengths(node))
        for file in _files(repo)
        for node in ast.walk(ast.parse(file.read_text("utf-8")))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]


def silent_constants(repo: Path = REPOSITORY) -> list[str]:
    """Module-level numeric constants that nothing explains."""
    return [
        f"{file.relative_to(repo)}:{line} {name}"
        for file in _files(repo)
        for line, name in _silent(file.read_text("utf-8"))
    ]


def _files(repo: Path) -> list[Path]:
    return sorted((repo / "archeng").rglob("*.py"))


def _lengths(node: ast.FunctionDef | ast.AsyncFunctionDef) -> tuple[int, int, int]:
    """All lines of a function, those without its docstring, and those of its arguments."""
    lines = _last(node) - min([node.lineno, *(d.lineno for d in node.decorator_list)]) + 1
    text = node.body[0]
    code = lines - (_last(text) - text.lineno + 1 if _is_string(text) else 0)
    return lines, code, text.lineno - node.lineno - 1


def _last(node: ast.stmt) -> int:
    assert node.end_lineno is not None
    return node.end_lineno


def _silent(source: str) -> Iterator[tuple[int, str]]:
    body, lines = ast.parse(source).body, source.splitlines()
    for node, below in zip(body, [*body[1:], None], strict=True):
        name = _constant(node)
        if name is None or _is_string(below):
            continue
        own = lines[node.lineno - 1 : node.end_lineno]
        above = lines[node.lineno - 2].lstrip() if node.lineno > 1 else ""
        if not above.startswith("#") and not any("#" in line for line in own):
            yield node.lineno, name


def _constant(node: ast.stmt) -> str | None:
    """The name that a statement gives to a number, if that is what it does."""
    if isinstance(node, ast.Assign) and len(node.targets) == 1:
        target = node.targets[0]
    elif isinstance(node, ast.AnnAssign):
        target = node.target
    else:
        return None
    return target.id if isinstance(target, ast.Name) and _is_number(node.value) else None


def _is_number(node: ast.expr | None) -> bool:
    """Whether an expression is made of numbers only (``-1``, ``2**20``, ``(0.1, 0.2)``)."""
    match node:
        case ast.Constant(value=value):
            return isinstance(value, int | float) and not isinstance(value, bool)
        case ast.UnaryOp(operand=operand):
            return _is_number(operand)
        case ast.BinOp(left=left, right=right):
            return _is_number(left) and _is_number(right)
        case ast.Tuple(elts=elements) | ast.List(elts=elements):
            return bool(elements) and all(_is_number(element) for element in elements)
    return False


def _is_string(node: ast.stmt | None) -> bool:
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )


def main(arguments: list[str] | None = None) -> None:
    """Print the sizes of a checkout."""
    parser = argparse.ArgumentParser(description="Sizes of the package of a checkout.")
    parser.add_argument("--repo", type=Path, default=REPOSITORY, help="the checkout to measure")
    repo = parser.parse_args(arguments).repo.resolve()
    files, routines = modules(repo), functions(repo)
    module = max(files, key=lambda place: place.lines)
    function = max(routines, key=lambda place: place.lines)
    longest_code = max(routines, key=lambda place: place.code)
    print(f"files: {len(files)}\nlines: {sum(place.lines for place in files)}")
    print(f"longest module: {module.name}, {module.lines} lines")
    print(f"longest function: {function.name}, {function.lines} lines")
    print(f"longest function's code: {longest_code.name}, {longest_code.code} lines")
    print(f"functions above 60 lines: {sum(place.lines > 60 for place in routines)}")
    print(f"modules above 400 lines: {sum(place.lines > 400 for place in files)}")
    print(f"numeric constants that nothing explains: {len(silent_constants(repo))}")


if __name__ == "__main__":
    main()
