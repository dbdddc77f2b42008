"""``archeng import``: a table of earlier designs as a journal."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from archeng.cli import flags
from archeng.cli.output import write, write_json
from archeng.cli.study_import import opened
from archeng.cli.targets import JournalRun, study_or_file
from archeng.options import OPTIONS
from archeng.runner.importing import import_table

_OF_THE_PROBLEM = ("simulated", "sense", "settings", "start", "sigma")


@flags.command(
    "import",
    """\
  archeng import old.csv old.db              of the study in this folder
  archeng import old.csv old.db --data-column thickness=t_mm --data-column objective=mass
  archeng import old.csv old.db ../wing      of another study
""",
)
@flags.target("table", required=True)
@flags.target("journal", required=True)
@flags.target("study")
@flags.from_the_table([OPTIONS["parameters"], OPTIONS["data_columns"]])
@flags.object_name
@flags.as_json()
def import_(
    table: str,
    journal: str,
    study: str | None,
    parameters: Mapping[str, Any] | None,
    data_columns: Mapping[str, str] | None,
    object_name: str | None,
    as_json: bool,
) -> int:
    """Make a journal of a table of earlier designs.

    TABLE is a CSV file with one row for each design: variables, objective, simulated constraints,
    outputs and parameters in columns of their names. JOURNAL, which must not exist, is readable by
    all commands. STUDY says what the columns mean: a folder with study.toml, or a Python file.
    Nothing is simulated.
    """
    with opened(study_or_file(study, "import"), object_name) as parts:
        own = parts.options
        keywords = {name: own[name] for name in _OF_THE_PROBLEM if name in own}
        model = parts.with_parameters(parameters)
        columns = {**own.get("data_columns", {}), **(data_columns or {})}
        import_table(table, journal, model, parts.simulator, columns, **keywords)
    run = JournalRun.read(Path(journal))
    if as_json:
        write_json(run.data())
        return 0
    calls = run.result.evaluations
    known = sum(call.good for call in calls)
    outside = sum(not call.feasible for call in calls)
    write(
        f"{journal}: {len(calls)} designs, {known} with all values, {outside} that violate "
        "explicit constraints"
    )
    return 0
