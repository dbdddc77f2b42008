"""Every keyword of every public function, with values that make no sense: only our own errors.

The functions are found by their names, their keywords by their signatures: a new keyword is
covered by itself, and a new function fails the first test until it is listed here.
"""

from __future__ import annotations

import contextlib
import inspect
import os
import tomllib
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np
import pyomo.environ as pyo
import pytest

import archeng
from archeng.cli import main
from archeng.cli.study_file import read_study
from archeng.errors import ArchengError, SimulatorError
from archeng.options import OPTION_NAMES, OPTIONS, RESUME_NAMES, Option

Call = Callable[[], tuple[Callable[..., Any], dict[str, Any]]]
"""Makes a function anew, with arguments that are right."""


class Broken:
    """Nothing that Python asks of it works."""

    def __repr__(self) -> str:
        raise ZeroDivisionError("no text")

    def __eq__(self, other: object) -> bool:
        raise ZeroDivisionError("not comparable")

    __hash__ = None  # type: ignore[assignment]

    def __array__(self, *arguments: Any, **options: Any) -> Any:
        raise ZeroDivisionError("no array")


TEXTS = (
    "0", "1", "-1", "4", "1.5", "-0.0", "inf", "-inf", "nan", "true", '""', '"abc"', '"raise"',
    '"maximize"', '"model"', "[]", "[1]", '["a"]', '"threads:2"', "{ failed = 1 }", "{ x = 1 }",
    "1979-05-27", "9223372036854775807",
)  # fmt: skip
"""Values of TOML."""

VALUES: list[Any] = [
    None, float("nan"), float("inf"), -float("inf"), -1, 0, 1.5, 10**400, -(10**400), 1e308, 1j,
    "", "abc", "a\0b", b"abc", [1], [], (), ("a", "b"), {}, {"x": 1}, {1: 2}, {"x": None},
    {"x": "abc"}, {"x": 10**400}, {"a\0b": (0, 1)}, object(), Broken(), np.array([1.0, 2.0]),
    np.array([["a"]]), np.array([np.nan]), np.array(10**400, dtype=object), np.ma.masked,
    np.datetime64("2020-01-01"), lambda: None, ca.SX.sym("z"), ca.DM([1, 2]), Path("none.db"),
    Ellipsis, [None], [[1, 2], [3]], {"objective": 1},
]  # fmt: skip


def model() -> archeng.Model:
    made = archeng.Model("plate")
    x = made.variable("x", lower=0, upper=2)
    y = made.variable("y", lower=0, upper=2)
    made.subject_to(x + y >= 1)
    made.set_objective(x + 2 * y)
    return made


def grey() -> archeng.Model:
    """Return a model with a parameter, an output and formulas of both."""
    made = archeng.Model("bracket")
    x = made.variable("x", lower=1, upper=2)
    load, stress = made.parameter("load", 2.0), made.output("stress")
    made.subject_to(stress <= 5 * load, name="strength")
    made.minimize(x + stress)
    return made


class Simulator:
    """Counts its calls."""

    calls = 0

    def __call__(self, design: Any) -> Any:
        Simulator.calls += 1
        return float(np.sum(np.asarray(design)))


class GreySimulator(Simulator):
    """Returns what the model declares."""

    def __call__(self, design: Any) -> Any:
        super().__call__(design)
        return {"stress": design.parameters["load"] / design["x"]}


def options() -> dict[str, Any]:
    return {"max_evaluations": 3, "population_size": 4, "seed": 1}


def run(**more: Any) -> archeng.Run:
    return archeng.Run(model(), Simulator(), **{**options(), **more})


def asked() -> archeng.Run:
    begun = archeng.Run(model(), **options())
    begun.ask()
    return begun


def journal() -> Path:
    path = Path("good.db")
    if not path.exists():
        archeng.solve(model(), Simulator(), **options(), journal=path)
    return path


def resumable() -> Path:
    path = Path(f"copy{len(list(Path().glob('copy*.db')))}.db")
    path.write_bytes(journal().read_bytes())
    return path


def opti() -> ca.Opti:
    made = ca.Opti()
    x = made.variable()
    made.subject_to(made.bounded(0, x, 1))
    made.minimize(x)
    return made


def boxed() -> ca.Opti:
    made, s = opti(), ca.SX.sym("s")
    x, p = made.x, made.parameter()
    made.set_value(p, 2)
    made.subject_to(ca.Function("square", [s], [s**2])(p * x) <= p)
    return made


def nlp() -> dict[str, Any]:
    x = ca.SX.sym("x", 2)
    return {"x": x, "f": ca.sumsqr(x), "g": x[0] + x[1]}


def nl_file() -> Path:
    path = Path("good.nl")
    if not path.exists():
        pyomo().write(str(path), io_options={"symbolic_solver_labels": False})
    return path


def pyomo() -> pyo.ConcreteModel:
    made = pyo.ConcreteModel("plant")
    made.x = pyo.Var(bounds=(0, 1), initialize=0.5)
    made.c = pyo.Constraint(expr=made.x >= 0.2)
    made.o = pyo.Objective(expr=made.x)
    return made


def result() -> archeng.Result:
    return archeng.solve(model(), **options())


def box() -> dict[str, Any]:
    return {"lbx": 0, "ubx": 1, "lbg": 0, "ubg": 1}


FUNCTIONS: dict[str, Call] = {
    "solve": lambda: (archeng.solve, {"model": model(), "simulator": Simulator(), **options()}),
    "solve of an nlp": lambda: (
        archeng.solve, {"model": nlp(), "simulator": Simulator(), **options(), **box()}
    ),
    "Run": lambda: (archeng.Run, {"model": model(), "simulator": Simulator(), **options()}),
    "Run.resume": lambda: (archeng.Run.resume, {"journal": resumable(), "simulator": Simulator()}),
    "Run.tell": lambda: (asked().tell, {"objectives": [1.0, 2.0, 3.0]}),
    "Run.tell of one": lambda: (lambda answer: asked().tell([answer, 1.0, 2.0]), {"answer": 1.0}),
    "solve with an answer": lambda: (
        lambda answer: archeng.solve(model(), lambda design: answer, **options()), {"answer": 1.0},
    ),
    "resume": lambda: (archeng.resume, {"journal": resumable(), "simulator": Simulator()}),
    "minimize": lambda: (
        archeng.minimize, {"fun": Simulator(), "x0": [1, 1], "bounds": [(0, 2)] * 2, **options()}
    ),
    "sample_feasible": lambda: (archeng.sample_feasible, {"model": model(), "n": 2, "seed": 1}),
    "diagnose": lambda: (archeng.diagnose, {"model": model(), "samples": 100}),
    "read_journal": lambda: (archeng.read_journal, {"path": journal()}),
    "Result.load": lambda: (archeng.Result.load, {"path": "none.json"}),
    "Result.save": lambda: (result().save, {"path": "saved.json"}),
    "Result.plot": lambda: (result().plot, {}),
    "Result.report": lambda: (result().report, {"path": "report.html"}),
    "Result.load_into": lambda: (archeng.solve(pyomo(), **options()).load_into, {"model": pyomo()}),
    "Settings": lambda: (archeng.Settings, {}),
    "CommandSimulator": lambda: (
        archeng.CommandSimulator, {"command": ["true"], "read": archeng.read_json()}
    ),
    "read_json": lambda: (archeng.read_json, {}),
    "read_regex": lambda: (archeng.read_regex, {"pattern": "(.*)"}),
    "Evaluation": lambda: (archeng.Evaluation, {"objective": 1.0}),
    "Model": lambda: (archeng.Model, {}),
    "Model.variable": lambda: (archeng.Model().variable, {"name": "x", "lower": 0, "upper": 1}),
    "Model.variable of a shape": lambda: (
        archeng.Model().variable, {"name": "x", "lower": 0, "upper": 1, "shape": (2, 2)}
    ),
    "Model.integer": lambda: (archeng.Model().integer, {"name": "n", "lower": 0, "upper": 9}),
    "Model.integer of a shape": lambda: (
        archeng.Model().integer,
        {"name": "n", "lower": [0, 1], "upper": 9, "shape": 2},
    ),
    "Model.binary": lambda: (archeng.Model().binary, {"name": "b"}),
    "Model.choice": lambda: (archeng.Model().choice, {"name": "t", "values": [4, 5, 6.5]}),
    "Model.category": lambda: (
        archeng.Model().category,
        {"name": "m", "table": {"a": {"E": 1.0}, "b": {"E": 2.0}}},
    ),
    "Model.catalogue": lambda: (
        archeng.Model().catalogue,
        {"name": "s", "table": [{"name": "a", "A": 1.0}, {"name": "b", "A": 2.0}], "order": "A"},
    ),
    "Model.subject_to": lambda: _constraint({}),
    "Model.subject_to with limits": lambda: _constraint({"lower": 0, "upper": 1}),
    "Model.independent": lambda: _independent(),
    "Model.output": lambda: (archeng.Model().output, {"name": "z"}),
    "Model.parameter": lambda: (archeng.Model().parameter, {"name": "p", "value": 1.0}),
    "Model.minimize": lambda: _objective("minimize"),
    "Model.maximize": lambda: _objective("maximize"),
    "Model.set_objective": lambda: _objective("set_objective"),
    "Model.with_parameters": lambda: (grey().with_parameters, {"values": {"load": 2.0}}),
    "Model.with_parameters of a name": lambda: (
        lambda load: grey().with_parameters(load=load), {"load": 2.0}
    ),
    "sweep": lambda: (
        archeng.sweep,
        {
            "model": grey(),
            "simulator": GreySimulator(),
            "parameters": {"load": [2.0]},
            "learn": True,
            "journal": None,
            **options(),
        },
    ),
    "solve with outputs": lambda: (
        archeng.solve, {"model": grey(), "simulator": GreySimulator(), **options()}
    ),
    "solve with a parameter": lambda: (
        lambda load: archeng.solve(
            grey(), GreySimulator(), parameters={"load": load}, **options()
        ),
        {"load": 2.0},
    ),
    "solve with an output": lambda: (
        lambda value: archeng.solve(grey(), lambda design: {"stress": value}, **options()),
        {"value": 1.0},
    ),
    "solve with a gradient": lambda: (
        lambda value: archeng.solve(
            grey(),
            lambda design: archeng.Evaluation(outputs={"stress": 1}, gradients={"stress": value}),
            **options(),
        ),
        {"value": [1.0]},
    ),
    "Model.flat": lambda: (model().flat, {"design": [1, 1]}),
    "Model.violations": lambda: (model().violations, {"design": [1, 1]}),
    "from_nlp": lambda: (archeng.from_nlp, {"nlp": nlp(), **box()}),
    "from_opti": lambda: (archeng.from_opti, {"opti": opti()}),
    "from_opti with a black box": lambda: (
        archeng.from_opti, {"opti": boxed(), "black_boxes": ["square"], "parameter_names": ["p"]}
    ),
    "from_pyomo": lambda: (archeng.from_pyomo, {"model": pyomo()}),
    "from_nl": lambda: (archeng.from_nl, {"path": nl_file()}),
    "from_scipy": lambda: (archeng.from_scipy, {"x0": [1.0, 1.0]}),
    "ProgressLine": lambda: (archeng.ProgressLine, {}),
    "SolverFactory": lambda: (
        pyo.SolverFactory("archeng").solve, {"model": pyomo(), "options": options()}
    ),
}  # fmt: skip

LEFT_OUT = {
    "Candidate": "a record that Run.ask returns",
    "Design": "a record that simulators receive",
    "Diagnosis": "a record that diagnose returns",
    "Item": "a record that designs hold",
    "Result": "a record that solve returns; its methods are above",
    "Status": "an enumeration",
    "StopReason": "an enumeration",
    "Model.add_constraints": "takes finished records, for importers",
    "Model.add": "takes finished records, for importers",
    "Model.declare": "for importers",
    "Model.keep": "for importers",
    "Model.name_independents": "for importers",
    "Model.objective_function": "takes nothing",
    "Model.element_names": "takes nothing",
}


def _constraint(limits: dict[str, Any]) -> tuple[Callable[..., Any], dict[str, Any]]:
    made = archeng.Model()
    x = made.variable("x", lower=0, upper=1)
    return made.subject_to, {"relation": x if limits else x**2 == 0.5, **limits}


def _independent() -> tuple[Callable[..., Any], dict[str, Any]]:
    made = archeng.Model()
    x = made.variable("x", lower=0, upper=1)
    return lambda symbol: made.independent(symbol), {"symbol": x}


def _objective(method: str) -> tuple[Callable[..., Any], dict[str, Any]]:
    made = archeng.Model()
    return getattr(made, method), {"expression": made.variable("x", lower=0, upper=1)}


def keywords(name: str) -> Iterator[str]:
    """Names of what a function takes; of ``**options`` those of a run."""
    function, right = FUNCTIONS[name]()
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind is parameter.VAR_KEYWORD:
            yield "no_such_option"
            if name in ("Run", "minimize"):
                yield from OPTION_NAMES
            if name == "Run.resume":
                yield from RESUME_NAMES
        elif parameter.kind is not parameter.VAR_POSITIONAL:
            yield parameter.name
    yield from right


def raw_exceptions(name: str, keyword: str) -> list[str]:
    """Try all values for one keyword; return what was raised and is not of archeng."""
    found = []
    for value in VALUES:
        function, right = FUNCTIONS[name]()
        Simulator.calls = 0
        try:
            made = function(**{**right, keyword: value})
            if isinstance(made, archeng.Run):
                made.close()
        except SimulatorError:
            pass
        except ArchengError as error:
            if Simulator.calls:
                found.append(f"{keyword}={_shown(value)}: {Simulator.calls} calls before {error}")
        except Exception as error:
            place = traceback.extract_tb(error.__traceback__)
            own = [s for s in place if f"{os.sep}archeng{os.sep}" in s.filename] or [*place]
            at = f"{Path(own[-1].filename).name}:{own[-1].lineno}"
            found.append(
                f"{keyword}={_shown(value)}: {type(error).__name__} at {at}: {error}"[:300]
            )
    return found


def _shown(value: Any) -> str:
    return type(value).__name__ if isinstance(value, int | Broken) else f"{value!r:.40}"


@pytest.mark.parametrize("option", OPTIONS)
def test_every_check_of_the_table(option: str) -> None:
    for value in VALUES:
        with contextlib.suppress(ArchengError):
            OPTIONS[option].checked(value)


@pytest.mark.parametrize("option", [o for o in OPTIONS.values() if o.section], ids=lambda o: o.name)
def test_every_key_of_a_study(option: Option, tmp_path: Path) -> None:
    """The file is refused if and only if the check refuses the value, apart from files."""
    (tmp_path / "model.py").write_text("")
    for text in TEXTS:
        (tmp_path / "study.toml").write_text(f"[{option.section}]\n{option.name} = {text}\n")
        value = tomllib.loads(f"x = {text}")["x"]
        expected = _passes(option.checked, value)
        read = _passes(read_study, tmp_path / "study.toml")
        assert read == expected or option.name in ("journal", "workers"), f"{option.name} = {text}"


@pytest.mark.parametrize("option", [o for o in OPTIONS.values() if o.flag], ids=lambda o: o.name)
def test_every_flag(option: Option, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Words that make no sense are exit code 2, before anything is simulated."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "study.py").write_text("import archeng\nmodel = archeng.Model()\n")
    command = "run" if option.solve else "resume"
    for word in (
        "",
        "abc",
        "-1",
        "1.5",
        "nan",
        "1e400",
        "a b",
        "\\",
        "--json",
        "=1",
        "a=",
        "a=1,x",
    ):
        assert main([command, "study.py", "--quiet", option.flag_name, word]) == 2


def _passes(function: Callable[..., Any], *arguments: Any) -> bool:
    try:
        function(*arguments)
    except ArchengError:
        return False
    return True


def test_every_public_function_is_tried() -> None:
    public = {n for n in archeng.__all__ if callable(getattr(archeng, n))}
    for kind in (archeng.Model, archeng.Run, archeng.Result):
        for name, member in inspect.getmembers(kind, inspect.isroutine):
            if name.startswith("_") or not callable(member):  # as cached properties are
                continue
            if len(inspect.signature(member).parameters) > 1:
                public.add(f"{kind.__name__}.{name}")
    tried = {name.split(" ")[0] for name in FUNCTIONS}
    assert public - tried - set(LEFT_OUT) == set()


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # overflow of 1e308
@pytest.mark.parametrize("name", FUNCTIONS)
def test_only_our_own_errors(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    found = [
        line for keyword in dict.fromkeys(keywords(name)) for line in raw_exceptions(name, keyword)
    ]
    assert not found, f"{name}: {len(found)} raw exceptions\n" + "\n".join(found)
