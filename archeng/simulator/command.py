"""`CommandSimulator`: an external program as the simulator.

For each call: a fresh directory, input files written from templates, the program without a
shell, its answer read back. Whatever goes wrong keeps the program's own words.
"""

from __future__ import annotations

import contextlib
import re
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np

from archeng.checks import (
    choice,
    file_path,
    function,
    is_integer,
    mapping,
    named_options,
    seconds,
    shown,
)
from archeng.distribution import Floats
from archeng.errors import SettingsError, SimulationTimeoutError
from archeng.model import Item, Model, Parameter, Variable
from archeng.simulator.answer import Evaluation
from archeng.simulator.call import MISTAKES
from archeng.simulator.design import Design
from archeng.simulator.readers import Reader
from archeng.simulator.watchdog import Tree

Keep = Literal["all", "failed", "none"]

_FIELD = re.compile(r"\{\{\s*(?P<name>[^{}:]+?)\s*(?::(?P<format>[^{}]*))?\}\}")
_PLACE = re.compile(r"(?<!\{)\{([^{}]+)\}(?!\})")
_OUTPUTS = ("stdout.txt", "stderr.txt")
_TAIL = 4000  # characters of standard output and error that a message keeps


class CommandError(Exception):
    """The program reported an error, or its answer cannot be read."""


class WrongReaderError(CommandError, LookupError):
    """A reader looks for something that the answer does not have, or is written wrongly."""


class CommandSimulator:
    """Simulate by running a program.

    Parameters
    ----------
    command : sequence of str
        The program and its arguments, run without a shell in a fresh directory. ``{input}``
        stands for the (only) input file, ``{name.ext}`` for the input file of that name,
        ``{directory}`` for the directory, ``{{variable}}`` for a value of the design.
    templates : mapping of str to path or str
        Input files by name: the path of a template, or its text. ``{{variable}}`` in it is
        replaced by the design's value with all its digits, ``{{variable:.3f}}`` by a formatted
        one. Names are those of the model, elements too: ``{{b.x[3]}}``, ``{{w[0]}}``; parameters
        of the model stand there like variables. Integers are written without a point, rows of
        tables by their names; ``{{section[area]}}`` is an attribute of the row.
    read : callable, optional
        How to get the objective: :func:`read_json`, :func:`read_regex`, or a function of the
        directory (a `Path`) and the standard output (a `str`) that returns it. None if the
        objective of the model is a formula.
    constraints, outputs : mapping of str to callable, optional
        The same for simulated constraints; and for outputs: those that the model declares, and
        others that are only recorded.
    timeout : float, optional
        Seconds; then the program and everything that it started is killed.
    ok_exit_codes : sequence of int
        Other exit codes mean that the call failed.
    keep : {"failed", "all", "none"}
        Which directories stay. They hold ``stdout.txt`` and ``stderr.txt`` too.
    directory : path, optional
        Where the directories are made; the system's place for temporary files by default.
    environment : mapping, optional
        Environment variables besides the present ones, and besides ``ARCHENG_SEED``: the
        design's ``seed``, for programs that draw random numbers.

    Examples
    --------
    >>> simulator = CommandSimulator(
    ...     ["solver", "{input}"],
    ...     templates={"beam.inp": "thickness = {{thickness}}"},
    ...     read=read_regex(r"mass = (.*)"),
    ... )  # doctest: +SKIP
    """

    @named_options()
    def __init__(
        self,
        command: Sequence[str | Path],
        *,
        read: Reader | None = None,
        constraints: Mapping[str, Reader] | None = None,
        outputs: Mapping[str, Reader] | None = None,
        templates: Mapping[str, str | Path] | None = None,
        timeout: float | None = None,
        ok_exit_codes: Sequence[int] = (0,),
        keep: Keep = "failed",
        directory: str | Path | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self.command = _command(command)
        self.templates = {n: _text(n, t) for n, t in mapping("templates", templates).items()}
        self.read = None if read is None else function("read", read)
        self.constraints = _readers("constraints", constraints)
        self.outputs = _readers("outputs", outputs)
        self.timeout = None if timeout is None else seconds("timeout", timeout)
        if not isinstance(ok_exit_codes, list | tuple) or not all(map(is_integer, ok_exit_codes)):
            raise SettingsError(
                f"ok_exit_codes must be a list of integers, got {shown(ok_exit_codes)}."
            )
        self.ok_exit_codes = tuple(int(code) for code in ok_exit_codes)
        self.keep = choice("keep", keep, get_args(Keep))
        self.directory = None
        if directory is not None:
            self.directory = str(file_path("directory", directory).resolve())
        self.environment = mapping("environment", environment)
        for name, value in self.environment.items():
            if not isinstance(value, str) or "\0" in name + value or "=" in name:
                raise SettingsError(
                    f"environment must map names to strings, got {shown(name)}: {shown(value)}."
                )
        if self.read is None and not self.outputs:
            raise SettingsError(
                "read, which gets the objective out of the program's answer, is missing. Only if "
                "the objective of the model is a formula it is left out: then outputs={...} has "
                "the readers of its outputs."
            )
        self._check_command()

    def check_variables(
        self, variables: Sequence[Variable], parameters: Sequence[Parameter] = ()
    ) -> None:
        """Raise, before any call, if a template names what the model does not have."""
        first, *others = _trials(variables)
        values = first | {name: 1.0 for p in parameters for name in p.element_names()}
        for source, said in self._fields().items():
            wanted = {match["name"] for match in _FIELD.finditer(said)}
            unknown = sorted(wanted - set(values))
            if unknown:
                what = "variables or parameters" if parameters else "variables"
                raise SettingsError(
                    f"{source}: unknown {what} {unknown}; there are {sorted(values)}."
                )
            try:
                for trial in (first, *others):
                    _filled(said, values | trial)
            except (TypeError, ValueError) as error:
                raise SettingsError(f"{source}: a field has a wrong format: {error}") from error

    def check_model(self, model: Model) -> None:
        """Raise, before any call, if templates or readers do not fit the model."""
        self.check_variables(model.variables, model.parameters)
        declared = [output.name for output in model.outputs]
        missing = [name for name in declared if name not in self.outputs]
        if missing:
            raise SettingsError(
                f"outputs: there are no readers of {missing}, which model {model.name!r} declares; "
                f"there are {list(self.outputs)}."
            )
        by_formula = bool(declared) and model.has_objective
        if by_formula and self.read is not None:
            raise SettingsError(
                f"read: the objective of model {model.name!r} is a formula, so leave it out; what "
                "is only to be recorded belongs into outputs."
            )
        if not by_formula and self.read is None:
            raise SettingsError(
                f"read is missing: the objective of model {model.name!r} is no formula of outputs "
                "(model.minimize), so the program's answer must have it."
            )

    def _fields(self) -> dict[str, str]:
        """Return all texts that values of the design are put into."""
        return {**self.templates, "command": " ".join(self.command)}

    def __call__(self, design: Design) -> Any:
        """Run the program at a design and return what the readers find."""
        if self.directory is not None:
            Path(self.directory).mkdir(parents=True, exist_ok=True)
        folder = Path(tempfile.mkdtemp(prefix="call-", dir=self.directory))
        good = False
        try:
            values = self._values(design)
            for name, template in self.templates.items():
                (folder / name).write_text(_filled(template, values), encoding="utf-8")
            output = self._run(folder, values, design.seed)
            try:
                value = self._answer(folder, output)
            except Exception as error:
                kind = WrongReaderError if isinstance(error, MISTAKES) else CommandError
                raise kind(
                    f"the answer cannot be read ({type(error).__name__}: {error}){_words(folder)}"
                ) from error
            good = True
            return value
        finally:
            if self.keep == "none" or (self.keep == "failed" and good):
                shutil.rmtree(folder, ignore_errors=True)

    def _values(self, design: Design) -> dict[str, Any]:
        """Return the design by names, with the parameters that a template names."""
        values = _by_name(design.variables, design.x)
        wanted = {m["name"] for said in self._fields().values() for m in _FIELD.finditer(said)}
        for name in design.parameters:
            labels = design.parameters.element_names(name)
            if wanted.intersection(labels):  # only what is looked at is noted as read
                flat = np.ravel(design.parameters[name], order="F")
                values |= dict(zip(labels, map(float, flat), strict=True))
        return values

    def _answer(self, folder: Path, output: str) -> Any:
        """Return the objective, with constraints and outputs if there are readers of some."""
        objective = None if self.read is None else self.read(folder, output)
        if not self.constraints and not self.outputs:
            return objective
        return Evaluation(
            objective,
            {name: read(folder, output) for name, read in self.constraints.items()},
            {name: read(folder, output) for name, read in self.outputs.items()},
        )

    # -- helpers ----------------------------------------------------------------------------

    def _check_command(self) -> None:
        files = sorted(self.templates)
        for part in self.command:
            for name in set(_PLACE.findall(part)) - set(self._places(Path())):
                if name == "input":
                    raise SettingsError(
                        f"{part}: {{input}} needs exactly one template, there are {len(files)}; "
                        "use the name of the file in braces."
                    )
                raise SettingsError(
                    f"{part}: {{{name}}} is neither {{input}}, {{directory}} nor one of the "
                    f"templates {files}. A value of the design has double braces."
                )

    def _places(self, folder: Path) -> dict[str, str]:
        """Return what the names in single braces stand for."""
        files = {name: str(folder / name) for name in self.templates}
        places = {"directory": str(folder), **files}
        if len(files) == 1:
            places.setdefault("input", *files.values())
        return places

    def _run(self, folder: Path, values: Mapping[str, Any], seed: int | None) -> str:
        """Run the program to its end; return its standard output."""
        environment = {} if seed is None else {"ARCHENG_SEED": str(seed)}
        places = self._places(folder)
        arguments = [_PLACE.sub(lambda m: places[m[1]], _filled(p, values)) for p in self.command]
        with (
            (folder / "stdout.txt").open("wb") as output,
            (folder / "stderr.txt").open("wb") as errors,
        ):
            try:
                code = Tree(
                    arguments,
                    {**environment, **self.environment},
                    folder if self.keep == "none" else None,
                    cwd=folder,
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=errors,
                ).wait(self.timeout)
            except OSError as error:
                raise CommandError(f"{self.command[0]} cannot be started: {error}") from error
            except subprocess.TimeoutExpired:
                raise SimulationTimeoutError(
                    f"{self.command[0]} took more than {self.timeout:g} s and was killed"
                    f"{_words(folder)}"
                ) from None
        if code not in self.ok_exit_codes:
            how = f"was killed by signal {-code}" if code < 0 else f"ended with exit code {code}"
            raise CommandError(f"{self.command[0]} {how}{_words(folder)}")
        return (folder / "stdout.txt").read_text(encoding="utf-8", errors="replace")


def _command(command: Any) -> list[str]:
    parts = command if isinstance(command, list | tuple) else ()
    if not parts or not all(isinstance(p, str | Path) and "\0" not in str(p) for p in parts):
        raise SettingsError(
            f'command must be a list such as ["solver", "{{input}}"], got {shown(command)}. There '
            "is no shell."
        )
    return [str(part) for part in parts]


def _readers(option: str, given: Any) -> dict[str, Reader]:
    readers = mapping(option, given)
    return {name: function(f"{option}[{name!r}]", read) for name, read in readers.items()}


def _text(name: str, template: str | Path) -> str:
    """Text of a template given as a path or as the text itself."""
    if name in ("..", *_OUTPUTS) or Path(name).name != name:
        raise SettingsError(
            f"templates: {name!r} must be a plain file name, without folders, other than "
            f"{' and '.join(_OUTPUTS)}."
        )
    if isinstance(template, str) and ("{{" in template or "\n" in template):
        return template
    path = file_path(f"templates[{name!r}]", template)
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(
            f"templates[{name!r}]: {path} cannot be read ({error}). Give the path of a template "
            "file, or its text with {{variable}} fields."
        ) from error


def _by_name(variables: Sequence[Variable], x: Floats) -> dict[str, Any]:
    """Return a flat vector (n,) by names as it was written: numbers, names of rows, attributes."""
    values: dict[str, Any] = {}
    first = 0
    for v in variables:
        for name, number in zip(v.element_names(), x[first : first + v.size].tolist(), strict=True):
            values[name] = value = v.domain.value(number)
            if isinstance(value, Item):
                values[name] = str(value)
                values |= {f"{name}[{key}]": entry for key, entry in value.attributes.items()}
        first += v.size
    return values


def _trials(variables: Sequence[Variable]) -> list[dict[str, Any]]:
    """Return values by name with which formats are tried; all types that a table has in a row."""
    different: list[list[float]] = []
    for v in variables:
        rows: dict[Any, float] = {}
        for k, item in enumerate(v.domain.table.items if v.domain.table is not None else ()):
            rows.setdefault(tuple(map(type, item.attributes.values())), float(k))
        different.append(list(rows.values()) or [v.domain.natural_bounds[0]])
    trials = []
    for k in range(max(map(len, different))):
        tried = [np.full(v.size, d[k % len(d)]) for v, d in zip(variables, different, strict=True)]
        x = np.concatenate(tried)
        trials.append(_by_name(variables, np.where(np.isfinite(x), x, 1.0)))
    return trials


def _filled(text: str, values: Mapping[str, Any]) -> str:
    def written(match: re.Match[str]) -> str:
        value, how = values[match["name"]], match["format"]
        if how is not None:
            return format(value, how)
        return value if isinstance(value, str) else repr(value)

    return _FIELD.sub(written, text)


def _words(folder: Path) -> str:
    """Return what the program said, and where everything is."""
    parts = [f"\ndirectory: {folder}"]
    for name in _OUTPUTS:
        with contextlib.suppress(OSError):
            text = (folder / name).read_text(encoding="utf-8", errors="replace").strip()
            if text:
                parts.append(f"\n--- {name} ---\n{text[-_TAIL:]}")
    return "".join(parts)
