"""``archeng new``: a study from a template."""

from __future__ import annotations

import argparse
import difflib
import sys
import textwrap
from pathlib import Path

from archeng.cli.plain import write_json
from archeng.cli.templates import DEFAULT, Template, instantiate, templates
from archeng.errors import StudyFileError


def new(options: argparse.Namespace) -> int:
    """Make a study, or list the templates."""
    known = templates()
    if options.list:
        _list(known, options.json)
        return 0
    if options.name is None:
        raise StudyFileError(
            "A new study needs a name, such as `archeng new my_study`. Templates: "
            f"{', '.join(known)}; `archeng new --list` describes them."
        )
    template = _template(known, options.template or DEFAULT)
    parent = Path(options.directory or ".")
    replaced = instantiate(template, options.name, parent, options.force)
    target = parent / options.name
    if options.json:
        files = [str(target / file) for file in template.files()]
        made = {"study": str(target), "template": template.name, "files": files}
        write_json({**made, "replaced": [str(target / file) for file in replaced]})
    else:
        sys.stdout.write(_made(template, target, replaced))
    return 0


def _template(known: dict[str, Template], name: str) -> Template:
    if name in known:
        return known[name]
    close = difflib.get_close_matches(name, known, 1)
    hint = f" Did you mean {close[0]}?" if close else ""
    raise StudyFileError(f"There is no template {name!r}; there are {', '.join(known)}.{hint}")


def _list(known: dict[str, Template], as_json: bool) -> None:
    if as_json:
        write_json([{"name": t.name, "description": t.text} for t in known.values()])
        return
    width = max(map(len, known)) + 2
    for t in known.values():
        lines = textwrap.wrap(t.text, 96 - width)
        sys.stdout.write(t.name.ljust(width) + ("\n" + " " * width).join(lines) + "\n")
    sys.stdout.write(f"\narcheng new my_study --template NAME   (default: {DEFAULT})\n")


def _made(template: Template, target: Path, replaced: list[Path]) -> str:
    text = f"{target}: a new study from the template {template.name}\n"
    text += textwrap.fill(template.text, 88, initial_indent="  ", subsequent_indent="  ") + "\n\n"
    for file in template.files():
        text += f"  {target / file}{' (replaced)' if file in replaced else ''}\n"
    return text + (
        "\nwhat to do next:\n"
        f"  cd {target}\n"
        "  archeng check      is the model well posed?\n"
        "  archeng run        run it as it is\n"
        "  archeng report     one HTML file with the result\n"
        "  then edit model.py, simulator.py and study.toml; README.md says what is what\n"
    )
