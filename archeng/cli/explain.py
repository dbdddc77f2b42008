"""``archeng explain``: what to do about an error, from the page of errors that is installed too."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import click

import archeng
from archeng.checks import did_you_mean
from archeng.cli.flags import command
from archeng.errors import ArchengError, SettingsError

_PREFIX = f"{ArchengError.id}-"


@command(
    "explain",
    """\
  archeng explain                            all ids
  archeng explain ARCH-MODEL
""",
)
@click.argument("identifier", metavar="[ID]", required=False)
def explain(identifier: str | None) -> int:
    """Say what to do about an error.

    Print what the error ID means and what to do about it; messages end with their id. Without one,
    list all.
    """
    page = _page()
    if identifier is None:
        rows = re.findall(r"^\| \[([A-Z-]+)\]\(.*?\) \| `\w+` \| (.*?) \|", page, re.MULTILINE)
        width = max(len(name) for name, _ in rows)
        sys.stdout.write("".join(f"{name:{width}}  {when}\n" for name, when in rows))
        return 0
    sections = re.split(r"^## ", page, flags=re.MULTILINE)[1:]
    by_id = {section.split("\n")[0].strip(): section for section in sections}
    sys.stdout.write(_plain(by_id[_meant(identifier, list(by_id))]))
    return 0


def _page() -> str:
    """Return the page of errors."""
    package = Path(archeng.__file__).resolve().parent
    for page in (package / "errors.md", package.parent / "docs" / "reference" / "errors.md"):
        if page.is_file():  # a wheel; a clone
            return page.read_text(encoding="utf-8")
    raise SettingsError(f"{package}: this installation of archeng has no page of errors.")


def _meant(typed: str, ids: list[str]) -> str:
    """Return the id that is meant: ``ARCH-MODEL``, ``arch-model`` or ``model``."""
    name = typed.strip("[]").upper().replace("_", "-")
    for candidate in (name, _PREFIX + name):
        if candidate in ids:
            return candidate
    hint = did_you_mean(name, ids) or f" There are {', '.join(ids)}."
    raise SettingsError(f"There is no error {typed}.{hint}")


def _plain(section: str) -> str:
    """Return a section of Markdown as text for a terminal."""
    text = re.sub(r"<!--.*?-->\n*", "", section, flags=re.DOTALL)
    text = re.sub(r" ?\(\[[^]]*\]\([^)]*\)\)|^More: .*\n", "", text, flags=re.MULTILINE)
    text = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", text)
    text = re.sub(r"^\|.*\|\n\|(?:---\|)+\n", "", text, flags=re.MULTILINE)
    text = re.sub(r"^\| (.*) \| (.*) \|$", r"- \1:\n    \2", text, flags=re.MULTILINE)
    return text.strip() + "\n"
