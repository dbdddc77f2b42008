"""Settings of the method: frozen, keyword-only, with presets named after papers."""

# ruff: noqa: RUF009  (a field is declared by one call)

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property, partial
from types import MappingProxyType
from typing import Any, Literal, Self, get_args

from archeng.checks import (
    Check,
    between,
    choice,
    documented,
    flag,
    integer,
    plain_mapping,
    shown,
    unknown_options,
)
from archeng.errors import SettingsError

RepairSolver = Literal["auto", "qp", "sqp", "ipopt"]
Elimination = Literal["auto", "never"]
SquareRoot = Literal["covariant", "symmetric"]
MetricName = Literal["auto", "full", "diagonal"]
RestartShares = Literal["adaptive", "equal"]
SurrogateName = Literal["auto", "none"]
HandlerName = Literal[
    "arch",
    "arch-nearest",
    "resampling",
    "death-penalty",
    "ap-bch",
    "al",
    "mcr",
    "stochastic-ranking",
    "active-set-es",
    "lccmsa-es",
    "ma-es-ach",
    "lexicographic",
    "epsilon-lexicographic",
    "one-plus-one-ach",
    "xcma-es-ach",
    "mu-lambda-ach",
]

HANDLER_OPTIONS = MappingProxyType(
    {"max_samples": ("resampling", 500), "ranking_probability": ("stochastic-ranking", 0.45)}
)
"""Names that were settings and are options of a handler now: of which, and their default."""


def _setting(default: Any, check: Check, text: str) -> Any:
    """Declare a setting beside its type: default (dict: an empty one), check and meaning."""
    about = {"check": check, "help": " ".join(text.split())}
    if default is dict:
        return field(default_factory=dict, hash=False, metadata=about)
    return field(default=default, metadata=about)


def _words(literal: Any) -> Check:
    """Return the check of a setting that is one of the words of a Literal."""
    return partial(choice, allowed=get_args(literal))


_COUNT: Check = partial(integer, least=1)


def _count_or_auto(name: str, value: Any) -> int | str:
    if isinstance(value, str) and value == "auto":
        return value
    if isinstance(value, str):
        raise SettingsError(f'{name} must be "auto" or an integer, got {shown(value)}.')
    return integer(name, value, least=1)


def _documented(cls: type[Settings]) -> type[Settings]:
    """Put the declared settings into the docstring; of a Literal its words are the type."""
    entries = []
    for f in fields(cls):
        words = get_args(globals().get(str(f.type)))
        kind = "{" + ", ".join(map(repr, words)) + "}" if words else str(f.type)
        entries.append((f.name, kind, f.metadata["help"]))
    return documented(entries)(cls)


@_documented
@dataclass(frozen=True, kw_only=True)
class Settings:
    """How the method works inside. The defaults are meant to be left alone.

    Parameters
    ----------
    {options}
    """

    handler: HandlerName = _setting(
        "arch",
        _words(HandlerName),
        """The constraint handler. ``arch`` is the method of this package; the others are
        there to be compared with it: ``arch-nearest`` (repairs to the nearest feasible point
        only [SA22 app:repair]), ``resampling``, ``death-penalty``, ``ap-bch`` (bounds only),
        ``active-set-es``, ``lccmsa-es`` (linear rows only), ``ma-es-ach``,
        ``one-plus-one-ach``, ``xcma-es-ach``, ``lexicographic``; and ``al``, ``mcr``,
        ``stochastic-ranking``, ``epsilon-lexicographic``, ``mu-lambda-ach``, which simulate
        designs that violate constraints and need ``simulator_defined_everywhere=True``.""",
    )
    handler_options: Mapping[str, Any] = _setting(
        dict,
        plain_mapping,
        """Options of a handler, by name, such as ``{"max_samples": 500}`` of ``resampling``;
        the handler checks them. ``arch`` has ``{"alike": "x, y"}``: the components of these
        vectors with one index are an item, and exchanging two items changes nothing.""",
    )
    simulator_defined_everywhere: bool = _setting(
        False,
        flag,
        """Allow calls at designs that violate constraints. Only the handlers that need it
        make them.""",
    )
    elimination: Elimination = _setting(
        "auto",
        _words(Elimination),
        """``auto``: a model with at least 30 equalities without outputs, and at least half as
        many as variables, or with named independents, is searched in its independent variables
        only; the dependent ones follow by solving the equations. ``never``: all variables are
        searched.""",
    )
    repair_solver: RepairSolver = _setting(
        "auto",
        _words(RepairSolver),
        """``auto`` tries the fast solvers first and IPOPT last; the others force one solver
        (``qp`` needs a model with linear rows only).""",
    )
    square_root: SquareRoot = _setting(
        "covariant",
        _words(SquareRoot),
        """Factor of the covariance matrix that turns normal samples into steps.
        ``symmetric`` is the paper's; ``covariant`` moves with the coordinate system, which
        makes whole runs exactly invariant to affine maps of the design space.""",
    )
    metric: MetricName = _setting(
        "auto",
        _words(MetricName),
        """What CMA-ES learns: a ``full`` covariance matrix, or the ``diagonal`` of one, which
        costs n instead of n^3 operations and is learned in fewer calls, but is invariant to
        scalings of single variables only, not to other affine maps. ``auto``: the diagonal if
        there are more than 150 variables, all of them real, unless ``sigma`` is a matrix with
        correlations.""",
    )
    margin: float = _setting(
        1e-11,
        partial(between, low=0.0, high=1e-3),
        """How far inside a boundary a repair aims, in standard deviations of the search
        distribution across that boundary (never less than rounding noise).""",
    )
    ipopt_max_iterations: int = _setting(150, _COUNT, "Iterations IPOPT may use for one repair.")
    repair_nodes: int = _setting(
        200,
        _COUNT,
        """Nodes that the branch and bound of a repair may look at, in a model with discrete
        variables. With more, a repair is more often proven to be the nearest, and slower.""",
    )
    start_candidates: int = _setting(
        20,
        _COUNT,
        """Feasible designs prepared before the first simulation, from which the run and its
        restarts begin.""",
    )
    tol_x: float = _setting(
        1e-12,
        partial(between, low=0.0, high=1.0),
        "Stop when all steps are below this fraction of the initial ones.",
    )
    tol_objective: float = _setting(
        1e-12,
        partial(between, low=0.0, high=math.inf),
        "Stop when the best objectives of recent generations differ by less than this.",
    )
    max_condition: float = _setting(
        1e14,
        partial(between, low=1.0, high=math.inf),
        "Stop when the condition number of the covariance matrix exceeds this.",
    )
    stop_tests: bool = _setting(
        True,
        flag,
        """Whether the tests of BIPOP-CMA-ES may end a restart. Without them only the target,
        the budget or the callback ends a run, as in [SA22 ssec:vs-active-set].""",
    )
    restart_shares: RestartShares = _setting(
        "adaptive",
        _words(RestartShares),
        """How restarts with small and with large populations share the calls. ``equal`` is
        BIPOP-CMA-ES; ``adaptive`` gives less to the small ones while the large ones find the
        better designs.""",
    )
    reuse_designs: bool = _setting(
        True,
        flag,
        """Do not simulate a design again that differs from an earlier one by less than 1e-8
        standard deviations of the search (many candidates are repaired to the same vertex).""",
    )
    surrogate: SurrogateName = _setting(
        "auto",
        _words(SurrogateName),
        """``auto``: a model of the objective, chosen by how well it predicts, proposes
        designs between the generations of ARCH. ``none``: ARCH alone. Other handlers have
        none.""",
    )
    proposals: int | Literal["auto"] = _setting(
        "auto",
        _count_or_auto,
        """Designs that the model proposes at a time: a number, or ``auto``, as many as calls are
        made at a time (``parallel``). One at a time needs the fewest calls.""",
    )

    def __new__(cls, *_: Any, **keywords: Any) -> Self:
        """Refuse names that are no settings, with those that were meant."""
        names = [f.name for f in fields(cls)]
        unknown = keywords.keys() - set(names)
        if unknown:
            hints = {
                name: f'Say Settings(handler="{handler}", handler_options={{"{name}": ...}}).'
                for name, (handler, _) in HANDLER_OPTIONS.items()
            }
            raise SettingsError(unknown_options("Settings()", unknown, names, hints))
        return super().__new__(cls)

    def __post_init__(self) -> None:
        for f in fields(self):
            checked = f.metadata["check"](f.name, getattr(self, f.name))
            object.__setattr__(self, f.name, checked)

    def proposals_at(self, width: int) -> int:
        """Return how many designs are proposed at a time, if so many calls are made."""
        return width if isinstance(self.proposals, str) else self.proposals

    @cached_property
    def intersection_first(self) -> bool:
        """Whether repairs try the intersection of the violated boundaries first [SA22]."""
        return self.handler != "arch-nearest"

    @classmethod
    def paper(cls) -> Settings:
        """Return the algorithm of Sakamoto and Akimoto (2022) as published [SA22]."""
        return cls(
            square_root="symmetric", restart_shares="equal", reuse_designs=False, surrogate="none"
        )

    @classmethod
    def from_stored(cls, stored: Mapping[str, Any]) -> Settings:
        """Return settings as a journal or a saved result has them, of earlier versions as well."""
        values = dict(stored)
        for name, (handler, default) in HANDLER_OPTIONS.items():
            value = values.pop(name, default)
            if values.get("handler") == handler and value != default:
                values["handler_options"] = {**values.get("handler_options", {}), name: value}
        return cls(**values)
