"""Docstrings and messages on the reference pages, asked for by comments in the Markdown.

``<!-- autodoc: function archeng.solve -->`` becomes the docstring of that function,
``<!-- autodoc: others -->`` those of all public names that the page does not have yet, and
``<!-- messages: ModelError -->`` the list of all messages with which that error is raised.
"""

from __future__ import annotations

import ast
import functools
import inspect
import pydoc
import re
from pathlib import Path
from typing import Any

import archeng

_AUTODOC = re.compile(r"^<!-- autodoc: (\w+) ([\w.]+) -->$", re.MULTILINE)
_OTHERS = re.compile(r"^<!-- autodoc: others -->$", re.MULTILINE)
_MESSAGES = re.compile(r"^<!-- messages: (\w+) -->$", re.MULTILINE)
_OPTIONS = {"class": ("members",), "exception": ("show-inheritance", "members")}
PACKAGE = Path(__file__).resolve().parents[2] / "archeng"


def setup(app: Any) -> None:
    """Replace the comments when a page is read."""
    app.connect("source-read", _replace)


def _replace(app: Any, docname: str, source: list[str]) -> None:
    named = {name for _, name in _AUTODOC.findall(source[0])}
    text = _OTHERS.sub(lambda match: _others(named), source[0])
    text = _AUTODOC.sub(lambda match: _directive(match[1], match[2]), text)
    source[0] = _MESSAGES.sub(lambda match: _details(match[1]), text)


def _directive(kind: str, name: str) -> str:
    named = [*_OPTIONS.get(kind, ())] + ["inherited-members"] * _inherits(pydoc.locate(name))
    options = "".join(f"   :{option}:\n" for option in named)
    return f"```{{eval-rst}}\n.. auto{kind}:: {name}\n{options}```"


def _inherits(value: Any) -> bool:
    """Whether a class has members of other classes of archeng, and of no others."""
    bases = value.__mro__[1:-1] if inspect.isclass(value) else ()
    return bool(bases) and all(base.__module__.startswith("archeng.") for base in bases)


def _others(named: set[str]) -> str:
    """Return comments for the public classes and functions that are not named."""
    found = []
    for name in sorted(archeng.__all__):
        value = getattr(archeng, name)
        kind = "class" if inspect.isclass(value) else "function" if callable(value) else ""
        if kind and f"archeng.{name}" not in named:
            found.append(f"### {name}\n\n<!-- autodoc: {kind} archeng.{name} -->")
    return "\n\n".join(found)


def _details(error: str) -> str:
    found = messages().get(error, [])
    listed = "\n".join(f"- `` {text} ``" for text in found)
    return f"All messages, with … for the values ({len(found)}):\n\n{listed}"


@functools.cache
def messages() -> dict[str, list[str]]:
    """Return the messages of each error class, as they stand in the source of archeng."""
    found: dict[str, set[str]] = {}
    for file in sorted(PACKAGE.rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Name)
                and node.func.id.endswith("Error")
                and node.args
            ):
                text = " ".join(_text(node.args[0]).split())
                if text.strip("… .:"):
                    found.setdefault(node.func.id, set()).add(text)
    return {error: sorted(texts, key=str.lower) for error, texts in found.items()}


def _text(node: ast.expr) -> str:
    """Return the text of an expression with … where a value goes."""
    if isinstance(node, ast.Constant):
        return str(node.value)
    if isinstance(node, ast.JoinedStr):
        return "".join(_text(part) for part in node.values)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return _text(node.left) + _text(node.right)
    return "…"
