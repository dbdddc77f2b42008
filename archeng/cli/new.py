"""``archeng new``: a study from a template; how a copy is made without any accident."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import tempfile
import textwrap
from pathlib import Path
from typing import Any

import click

import archeng
from archeng.checks import did_you_mean
from archeng.cli import flags
from archeng.cli.new_data import guessed_study
from archeng.cli.output import write, write_json
from archeng.cli.study_file import FILE, NAME
from archeng.errors import StudyFileError

DEFAULT = "casadi"
_IGNORED = re.compile(
    r"__pycache__|\.ipynb_checkpoints|\.pytest_cache|out|failed|run\.(html|pdf)"
    r"|.*\.(pyc|db|db-wal|db-shm|lock|orig)"
)
_NAMED = {FILE: ('^name = ".*"$', 'name = "{}"'), "README.md": (r"\A# .*$", "# {}")}
_RESERVED = {"con", "prn", "aux", "nul", *(f"{p}{k}" for p in ("com", "lpt") for k in range(10))}


def _names(context: Any, parameter: Any, begun: str) -> list[str]:
    """Return the templates whose names begin so, for the completion of a shell."""
    try:
        return [name for name in templates() if name.startswith(begun)]
    except StudyFileError:
        return []


@flags.command(
    "new",
    """\
  archeng new --list                        what templates there are
  archeng new my_study                      model in CasADi, simulator in Python
  archeng new my_study --template command   an external program as the simulator
  archeng new my_study --directory studies  in another folder
  archeng new my_study --data old.csv       variables and their ranges from a table
""",
)
@click.argument("name", required=False)
@click.option(
    "--template",
    metavar="NAME",
    default=DEFAULT,
    shell_complete=_names,
    help=f"Which one (default {DEFAULT}).",
)
@flags.file("--data", help="A table of earlier designs, from which the study is guessed.")
@flags.switch("--list", "describe", help="Describe the templates.")
@flags.file("--directory", metavar="DIR", default=".", help="Where the folder is made (default .).")
@flags.switch(
    "--force",
    help="Write the files of the template into a folder that exists; journals, results and your "
    "other files stay.",
)
@flags.as_json()
def new(
    name: str | None,
    template: str,
    data: str | None,
    describe: bool,
    directory: str,
    force: bool,
    as_json: bool,
) -> int:
    """Make a new study from a template, or from a table of earlier designs.

    It is a folder NAME with a complete small study that runs at once, to be edited. Of a table, the
    variables and their ranges are guessed, and its designs are used; the simulator is yours.
    """
    all_templates = templates()
    if describe:
        _list(all_templates, as_json)
        return 0
    with _chosen(all_templates, name, template, data) as chosen:
        study = Path(directory) / str(name)
        replaced = instantiate(chosen, str(name), study.parent, force)
        if as_json:
            files = [str(study / file) for file in files_of(chosen)]
            made = {"study": str(study), "template": chosen.name, "files": files}
            write_json({**made, "replaced": [str(study / file) for file in replaced]})
        else:
            write(_made(chosen, study, replaced))
    return 0


def _chosen(
    all_templates: dict[str, Path], name: str | None, template: str, data: str | None
) -> contextlib.AbstractContextManager[Path]:
    """Return the template, or one that is made of a table of earlier designs."""
    if name is None:
        raise StudyFileError(
            "A new study needs a name, such as `archeng new my_study`. Templates: "
            f"{', '.join(all_templates)}; `archeng new --list` describes them."
        )
    if data is not None:
        return guessed_study(Path(data))
    if template not in all_templates:
        hint = did_you_mean(template, all_templates, 0.6)
        names = ", ".join(all_templates)
        raise StudyFileError(f"There is no template {template!r}; there are {names}.{hint}")
    return contextlib.nullcontext(all_templates[template])


def templates() -> dict[str, Path]:
    """Return the folders of the templates that came with archeng; raise if there are none."""
    package = Path(archeng.__file__).resolve().parent
    for folder in (package / "templates", package.parent / "templates"):  # a wheel; a clone
        folders = [p.parent for p in folder.glob(f"*/{FILE}")]
        if folders:
            ordered = sorted(folders, key=lambda p: (p.name != DEFAULT, p.name))
            return {p.name: p for p in ordered}
    raise StudyFileError(f"{package}: this installation of archeng has no templates.")


def files_of(template: Path) -> list[Path]:
    """Return the files of a copy, relative to its folder, in the order of their names."""
    files = (p.relative_to(template) for p in template.rglob("*") if p.is_file())
    return sorted(f for f in files if not any(map(_IGNORED.fullmatch, f.parts)))


def instantiate(template: Path, name: str, parent: Path, force: bool) -> list[Path]:
    """Make the folder of a new study; return its files that were there before and are replaced.

    Nothing is written if anything is wrong. With ``force`` only files of the template are
    replaced.

    Raises
    ------
    StudyFileError
        The name is not valid, the folder exists, or something in it is in the way.
    """
    check_name(name)
    if not parent.is_dir():
        raise StudyFileError(f"{parent}: there is no such folder to make the study in.")
    target = parent / name
    try:
        replaced = _check_target(template, target, force)
        _make(template, name, target)
    except OSError as error:
        raise StudyFileError(f"{target}: cannot be written ({error.strerror}).") from error
    return replaced


def _make(template: Path, name: str, target: Path) -> None:
    """Write the copy aside, then put it into its place."""
    with tempfile.TemporaryDirectory(prefix=f".{name}-", dir=target.parent) as workshop:
        made = Path(workshop) / name
        for file in files_of(template):
            (made / file).parent.mkdir(parents=True, exist_ok=True)
            _copy(template / file, made / file, name)
        if not target.exists():
            made.rename(target)
            return
        for file in files_of(template):
            (target / file).parent.mkdir(parents=True, exist_ok=True)
            os.replace(made / file, target / file)


def check_name(name: str) -> None:
    """Raise unless a name is good for a study and its folder."""
    if NAME.fullmatch(name) is not None and name.lower() not in _RESERVED:
        return
    hint = " A folder is named by --directory." if "/" in name or "\\" in name else ""
    raise StudyFileError(
        f"{name!r} is not a name for a study: letters, digits, - and _, beginning with a letter, "
        f"at most 64.{hint}"
    )


def _check_target(template: Path, target: Path, force: bool) -> list[Path]:
    """Raise if a copy must not be made there; return the files that it replaces."""
    if target.is_symlink() or (target.exists() and not target.is_dir()):
        raise StudyFileError(f"{target}: is a file or a link, not a folder; choose another name.")
    if not target.exists() or not any(target.iterdir()):
        return []
    if not force:
        raise StudyFileError(
            f"{target}: exists already and is not empty. Choose another name, or say --force to "
            "replace the files of the template in it (journals, results and other files stay)."
        )
    replaced = []
    for file in files_of(template):
        for part in (target / file, *(target / p for p in file.parents if p != Path())):
            if part.is_symlink():
                raise StudyFileError(f"{part}: is a link; nothing has been written.")
        if (target / file).is_dir() or any(
            (target / p).exists() and not (target / p).is_dir() for p in file.parents
        ):
            raise StudyFileError(f"{target / file}: is in the way; nothing has been written.")
        if (target / file).exists():
            replaced.append(file)
    return replaced


def _copy(source: Path, made: Path, name: str) -> None:
    """Copy a file; the study's name goes into ``study.toml`` and the title of the README."""
    if source.name not in _NAMED:
        shutil.copy(source, made)
        return
    old, new = _NAMED[source.name]
    text = source.read_text(encoding="utf-8")
    text = re.sub(old, new.format(name), text, count=1, flags=re.MULTILINE)
    made.write_text(text, encoding="utf-8")


def _description(folder: Path) -> str:
    """Return the first paragraph of a template's README, without its title."""
    paragraphs = (folder / "README.md").read_text(encoding="utf-8").split("\n\n")
    return " ".join(paragraphs[1].split())


def _list(all_templates: dict[str, Path], as_json: bool) -> None:
    if as_json:
        about = all_templates.items()
        write_json([{"name": name, "description": _description(t)} for name, t in about])
        return
    width = max(map(len, all_templates)) + 2
    for name, template in all_templates.items():
        lines = textwrap.wrap(_description(template), 96 - width)
        write(name.ljust(width) + ("\n" + " " * width).join(lines))
    write(f"\narcheng new my_study --template NAME   (default: {DEFAULT})")


def _made(template: Path, target: Path, replaced: list[Path]) -> str:
    text = f"{target}: a new study from the template {template.name}\n"
    about = _description(template)
    text += textwrap.fill(about, 88, initial_indent="  ", subsequent_indent="  ") + "\n\n"
    for file in files_of(template):
        text += f"  {target / file}{' (replaced)' if file in replaced else ''}\n"
    return text + (
        "\nwhat to do next:\n"
        f"  cd {target}\n"
        "  archeng check      is the model well posed?\n"
        "  archeng run        run it as it is\n"
        "  archeng report     one HTML file with the result\n"
        "  then edit model.py, simulator.py and study.toml; README.md says what is what"
    )
