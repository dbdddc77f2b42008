"""The table of options: every option of a run, declared once.

The checks of :func:`archeng.solve`, `Run` and :func:`archeng.resume`, their docstrings, the flags
of the command line, the keys of ``study.toml``, the options of the Pyomo solver and the tables of
the reference are made from it. How the method works inside is in `archeng.settings`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from functools import partial
from types import MappingProxyType
from typing import Any, Literal, get_args

from archeng.checks import (
    Check,
    between,
    choice,
    file_path,
    flag,
    integer,
    optional,
    real,
    seconds,
    takes_one,
)
from archeng.earlier_options import earlier_data, names_of_columns
from archeng.model import IMPORT_HINTS, Sense
from archeng.noise import checked_noise
from archeng.option_checks import (
    anything,
    costs,
    journals,
    limits_by_name,
    population,
    positive,
    settings_or_default,
    values_by_name,
)
from archeng.simulator import OnFailure, check_workers, retry_counts

SimulatorTakes = Literal["design", "model"]

_LARGEST_SEED = 2**128 - 1  # that of NumPy's own entropy, which results show as their seed


class OnResume(Enum):
    """What becomes of an option when a run goes on; the value is shown in the reference."""

    FIXED = "no"  # that of the journal counts
    LIMIT = "yes"  # replaces that of the journal, if it is given
    FREE = "may"  # each process has its own
    SAME = "must be the same"  # if it is given


@dataclass(frozen=True)
class Option:
    """An option of a run."""

    name: str
    kind: str  # its type, as the documentation has it
    check: Check
    help: str  # one line
    more: str = ""  # what else there is to say, for the reference
    default: Any = None  # of `archeng.solve`
    without: str = "none"  # what holds if it is not given
    on_resume: OnResume = OnResume.FIXED
    words: tuple[str, ...] = ()  # all values, if it is one of a few words
    flag: bool = True  # whether the command line has it
    each: str = ""  # what the flag of a mapping is called, which is typed for each entry
    section: str | None = "run"  # of ``study.toml`` that has it
    pyomo: bool = True  # whether it goes into ``options`` of the Pyomo solver
    solve: bool = True  # whether `archeng.solve` has it; else only `archeng.resume`

    @property
    def flag_name(self) -> str:
        """How it is typed on the command line."""
        return f"--{(self.each or self.name).replace('_', '-')}"

    def checked(self, value: Any) -> Any:
        """Return a value in its plain type, or raise an error that names the option."""
        return self.check(self.name, value)


def _one_of(literal: Any) -> dict[str, Any]:
    """Return type, words and check of an option that is one of the words of a Literal."""
    words = get_args(literal)
    kind = "{" + ", ".join(f'"{word}"' for word in words) + "}"
    return {"kind": kind, "words": words, "check": partial(choice, allowed=words)}


_TABLE = (
    Option(
        "simulated", "mapping, optional", limits_by_name,
        "Limits of the constraints that the simulator returns: {name: (lower, upper)}.",
        'Such as `{"stress": (None, 250e6), "first_mode": (40.0, None)}`. They may be violated '
        "during the search; the result says whether they hold.",
        flag=False, section=None,
    ),
    Option(
        "max_evaluations", "int, optional", optional(partial(integer, least=1)),
        "Hard limit on simulator calls.",
        "With several simulators, on calls of the last one; the others are limited by `max_cost`.",
        on_resume=OnResume.LIMIT,
    ),
    Option(
        "cost", "sequence of float, optional", costs,
        "What a call of each of several simulators costs, the cheapest first.",
        "Such as `cost=[0.05, 1.0]` for `solve(model, [coarse, fine], ...)`. The answer is about "
        "the last one; the others teach. In `study.toml` beside "
        '`simulator = ["coarse.py", "fine.py"]`.',
        without="there is one simulator",
        flag=False, section="study",
    ),
    Option(
        "max_cost", "float, optional", optional(positive),
        "Hard limit on what all calls together cost, in the units of cost=.",
        "With one simulator each call costs 1.",
        on_resume=OnResume.LIMIT,
    ),
    Option(
        "max_time", "float, optional", optional(seconds),
        "Seconds after which no further call is made; inf is no limit.",
        "The search for a first feasible design counts, and without this option ends after two "
        "minutes if it has found none. A run that goes on counts from its first beginning.",
        on_resume=OnResume.LIMIT,
    ),
    Option(
        "target", "float, optional", optional(real),
        "Stop as soon as a design is at least this good.",
        on_resume=OnResume.LIMIT,
    ),
    Option(
        "seed", "int, optional", optional(partial(integer, least=0, most=_LARGEST_SEED)),
        "Same seed, same run, bit for bit.",
        without="a random one, recorded",
    ),
    Option(
        "start", "mapping or array, optional", anything,
        "Where to begin; it is repaired if infeasible.",
        without="the variables' `start`, or a feasible design that archeng prepares",
        flag=False, section=None,
    ),
    Option(
        "sigma", "float, array, mapping or matrix, optional", anything,
        "Initial standard deviation: for all variables, for each, or a covariance matrix.",
        without="the variables' `scale`, or a fifth of the width between their bounds",
        flag=False, section=None,
    ),
    Option(
        "parameters", "mapping, optional", values_by_name,
        "Values of parameters of the model, by name, instead of those that it declares.",
        'Such as `{"load": 15e3}`; see `Model.parameter`. Stored in the journal with the model. In '
        "`study.toml` the section `[parameters]`; on the command line `--parameter load=15e3`, a "
        "vector as `--parameter loads=1,2,3`.",
        without="those of the model",
        each="parameter", section=None,
    ),
    Option(
        "sense", '{"minimize", "maximize"}, optional',
        optional(partial(choice, allowed=get_args(Sense))),
        '"minimize" or "maximize" the objective.',
        without='`"minimize"`; without a simulator the sense of the model\'s own objective',
        words=get_args(Sense), section="study",
    ),
    Option(
        "noise", "float, str or mapping, optional", checked_noise,
        'Standard deviation of the simulator\'s values: a number, or relative to them as "5%".',
        "How much they differ if the same design is simulated again; 0: not at all. A mapping "
        'gives it by name, `{"objective": "5%", "stress": 2e6}`. With noise the best design is the '
        "one with the best estimate, which the result shows with its interval.",
        without="found out from the calls, and from repeats once they look noisy",
        pyomo=True,
    ),
    Option(
        "confidence", "float", partial(between, low=0.5, high=0.999),
        "Probability with which noisy constraints hold at the best design, and of its interval.",
        default=0.95,
    ),
    Option(
        "restarts", "int", partial(integer, least=0),
        "BIPOP restarts after convergence, for objectives with several optima.",
        default=0,
    ),
    Option(
        "population_size", 'int or "auto"', population,
        "Candidates per generation, at least 4.",
        '`"auto"`: 4 + floor(3 ln n), as a multiple of `parallel`, and as many as `parallel` where '
        "that is more, up to 512. Four times that or more make a global search, in which the "
        "surrogate is asked only once the candidates have gathered.",
        default="auto", without='`"auto"`',
    ),
    Option(
        "parallel", "int, optional", optional(partial(integer, least=1)),
        "Calls that are made at a time: how many designs a batch of proposals has.",
        "Part of the run: the same seed and the same width give the same run on any `workers`, and "
        "after it goes on with others. `parallel=1` needs the fewest calls.",
        without="the number of workers; 1 if nobody knows it",
    ),
    Option(
        "asynchronous", "bool", flag,
        "Use each finished call at once: no generation waits for its slowest call.",
        "As many calls as `parallel` are kept under way. For simulators whose calls take very "
        "different times; the run then depends on the order in which calls end, which the journal "
        "keeps. Only with ARCH.",
        default=False,
    ),
    Option(
        "callback", "callable, optional", optional(takes_one),
        "Called with the Run after each generation; raise StopIteration to stop.",
        on_resume=OnResume.FREE, flag=False, section=None, pyomo=False,
    ),
    Option(
        "settings", "Settings, optional", settings_or_default,
        "How the method works inside.",
        without="`archeng.Settings()`",
        on_resume=OnResume.SAME, flag=False, section=None,
    ),
    Option(
        "simulator_takes", **_one_of(SimulatorTakes),
        help='What the simulator is called with: a Design, or (Pyomo) the "model" itself.',
        more='With `"model"` it gets a copy of the Pyomo model with the values of the design '
        "loaded, one copy per worker.",
        default="design", on_resume=OnResume.FREE, flag=False, section="study", pyomo=False,
    ),
    Option(
        "workers", "int, str, executor or Dask client, optional", check_workers,
        "Where calls run: processes (-1: one per core), threads:N, a Dask scheduler's address.",
        "Also any executor with `submit`, or a Dask client; in `study.toml` also a function of the "
        'study, `"cluster.py:workers"`. The result depends on `parallel` only.',
        without="one call at a time, in this process",
        on_resume=OnResume.FREE,
    ),
    Option(
        "timeout", "float, optional", optional(seconds),
        "Seconds that one call may take, then its process is killed; inf is no limit.",
        "Needs worker processes (one is used if `workers` is not given).",
        on_resume=OnResume.FREE,
    ),
    Option(
        "retries", "int or mapping, optional", retry_counts,
        "How often a failed call is repeated: one number, or one for each way to fail.",
        "Such as `{failed: 1, timed_out: 0, lost: 2}`; one number holds for these three.",
        without="a lost call (its worker died) once",
        on_resume=OnResume.FREE,
    ),
    Option(
        "max_failures", "int, optional", optional(partial(integer, least=0)),
        "Stop when more calls than this have failed for good.",
        on_resume=OnResume.FREE,
    ),
    Option(
        "on_failure", **_one_of(OnFailure),
        help='Failed candidates "rank_last", or the first failure is to "raise" an error.',
        default="rank_last", on_resume=OnResume.FREE,
    ),
    Option(
        "journal", "path, optional", optional(file_path),
        "SQLite file that keeps every call; a run that dies goes on with resume.",
    ),
    Option(
        "reuse", "sequence of paths", journals,
        "Journals of earlier runs, whose finished designs are not simulated again.",
        "A run that is not the same as that of a journal (another seed, other constraints) also "
        "takes it as `data`.",
        default=(), on_resume=OnResume.FREE,
    ),
    Option(
        "data", "sequence of tables, results or journals", earlier_data,
        "Earlier designs that teach the models and say where to begin: CSV files, journals.",
        "Also a `DataFrame`, a `Result`, or a list of `(design, value)` pairs, and lists of these. "
        "Of the same simulator or of a similar one; constraints, objective and values of "
        "parameters may be others; infeasible, failed and incomplete rows are welcome. "
        "[How columns are found](../how-to/data.md).",
        default=(),
    ),
    Option(
        "data_columns", "mapping of texts, optional", names_of_columns,
        "What the columns of `data` are called: {name in the model: name in the table}.",
        'Such as `{"thickness": "t_mm", "objective": "mass"}`; columns of the same names are found '
        "by themselves.",
        each="data_column",
    ),
    Option(
        "verbose", "bool", flag,
        "Show progress on standard error.",
        default=False, on_resume=OnResume.FREE, flag=False, section=None,
    ),
    Option(
        "model", "optional", anything,
        "Must be that of the journal; needed if that cannot hold it, such as CasADi MX functions.",
        on_resume=OnResume.SAME, flag=False, section=None, pyomo=False, solve=False,
    ),
    Option(
        "retry_failed", "bool", flag,
        "Simulate the failed calls of the unfinished generation again.",
        "For a simulator that has been mended. The run is then no longer the one that would have "
        "been.",
        default=False, on_resume=OnResume.FREE, section=None, pyomo=False, solve=False,
    ),
)  # fmt: skip

OPTIONS: Mapping[str, Option] = MappingProxyType({option.name: option for option in _TABLE})
"""All options by name."""

OPTION_NAMES = tuple(o.name for o in _TABLE if o.solve)
"""Options of :func:`archeng.solve` and `Run`."""

RESUME_NAMES = tuple(o.name for o in _TABLE if o.on_resume is not OnResume.FIXED)
"""Options of :func:`archeng.resume`."""

LIMIT_NAMES = tuple(o.name for o in _TABLE if o.on_resume is OnResume.LIMIT)
"""Options that a run that goes on may have others of than its journal."""

_CALLS = "archeng counts simulator calls: use max_evaluations=."
FOREIGN_NAMES = MappingProxyType(
    {
        **dict.fromkeys(("max_iter", "max_iterations", "maxiter", "maxfev", "max_evals"), _CALLS),
        "n_jobs": "Use workers=.",
        "discrete": IMPORT_HINTS["discrete"],
        "bounds": "Bounds belong to the model: model.variable(name, lower=..., upper=...).",
        "constraints": "Formulas belong to the model: model.subject_to(...); limits of what the "
        "simulator returns into simulated=.",
        "tol": "Use target= or max_evaluations=, or Settings(tol_x=..., tol_objective=...).",
    }
)
"""What other packages call it, and what to write here."""


def parameters(names: tuple[str, ...]) -> Iterator[tuple[str, str, str]]:
    """Yield name, type and help of options, for docstrings."""
    for name in names:
        yield name, OPTIONS[name].kind, OPTIONS[name].help
