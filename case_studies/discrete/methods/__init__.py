"""The methods by name: archeng, and what users would take instead.

An adapter is a function of a `Trial` that runs until the recorder raises `Finished`, or returns
earlier; those that converge begin again. All call the black box at feasible designs only.
"""

from __future__ import annotations

from case_studies.discrete.definition import Problem
from case_studies.peers.adapters import Method

ARCHENG = "archeng"

METHODS: dict[str, Method] = {
    name: Method(name, package, adapter, folder=__name__)
    for name, package, adapter in (
        (ARCHENG, "archeng", "arch:solve"),
        ("scipy-de", "scipy", "scipy_global:solve"),
        ("catcmawm", "cmaes", "margin:catcmawm"),
        ("cmawm", "cmaes", "margin:cmawm"),
        ("pycma", "cma", "pycma:solve"),
        ("nomad", "PyNomadBBO", "nomad:solve"),
        ("optuna-tpe", "optuna", "tpe:solve"),
        ("pymoo-ga", "pymoo", "mixed_genetic:solve"),
        ("nevergrad", "nevergrad", "never_grad:solve"),
    )
}


def applies(method: str, problem: Problem) -> bool:
    """Whether a method can be asked for a problem: CMAwM has no categories."""
    return method != "cmawm" or all(values.ordered for values in problem.space)
