"""Every key of ``study.toml``: what it may be, said as a sentence if it is not."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import fields
from pathlib import PurePosixPath, PureWindowsPath
from typing import Any

from archeng.errors import SettingsError
from archeng.settings import Settings

Check = Callable[[Any], str | None]
"""What was expected, or None if the value is right."""

NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}")
"""Names of studies: they are names of folders too."""

_SOURCE = re.compile(r"(?P<file>.+\.(?:py|nl))(?::(?P<name>[A-Za-z_]\w*))?")
_FUNCTION = re.compile(r".+\.py:[A-Za-z_]\w*")
_WORKERS = re.compile(r"threads:[1-9]\d*|[a-z]+://\S+")
_RETRIES = ("failed", "timed_out", "lost")


def source_parts(text: str) -> tuple[str, str | None]:
    """Split ``model.py:make_model`` into the file and the name of an object in it, if given."""
    found = _SOURCE.fullmatch(text)
    return (text, None) if found is None else (found["file"], found["name"])


def is_function(workers: Any) -> bool:
    """Whether ``workers`` names a function in a Python file that makes them."""
    return isinstance(workers, str) and _FUNCTION.fullmatch(workers) is not None


def inside(text: str) -> bool:
    """Whether a path is a plain relative one that does not leave its folder."""
    windows, posix = PureWindowsPath(text), PurePosixPath(text)
    absolute = windows.is_absolute() or windows.drive or windows.root or posix.is_absolute()
    return not absolute and ".." not in (*windows.parts, *posix.parts) and "\0" not in text


def _is_int(value: Any, least: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= least


def _is_real(value: Any) -> bool:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return number and math.isfinite(value)


def _integer(least: int) -> Check:
    expected = f"expected an integer of at least {least}"
    return lambda value: None if _is_int(value, least) else expected


def _number(value: Any) -> str | None:
    return None if _is_real(value) else "expected a finite number"


def _positive(value: Any) -> str | None:
    return None if _is_real(value) and value > 0 else "expected a positive number of seconds"


def _choice(*allowed: str) -> Check:
    expected = "expected " + " or ".join(f'"{word}"' for word in allowed)
    return lambda value: None if value in allowed else expected


def _name(value: Any) -> str | None:
    if isinstance(value, str) and NAME.fullmatch(value):
        return None
    return "expected a name of letters, digits, - and _ that begins with a letter (at most 64)"


def _file(*endings: str) -> Check:
    named = " or ".join(endings)

    def check(value: Any) -> str | None:
        if not isinstance(value, str) or not source_parts(value)[0].endswith(endings):
            return f'expected a {named} file of the study, such as "model.py" or "model.py:name"'
        if not inside(source_parts(value)[0]):
            return "expected a file inside the folder of the study"
        return None

    return check


def _journal(value: Any) -> str | None:
    if not isinstance(value, str) or not value or value.endswith(("/", "\\", ".py", ".toml")):
        return 'expected the name of a file, such as "run.db"'
    if not inside(value):
        return (
            "expected a file inside the folder of the study; for another place say "
            "`archeng run --journal FILE`"
        )
    return None


def _paths(value: Any) -> str | None:
    if isinstance(value, list) and all(isinstance(v, str) and v for v in value):
        return None
    return 'expected a list of journals, such as ["../first/run.db"]'


def _workers(value: Any) -> str | None:
    if _is_int(value, 1) or (_is_int(value, -1) and value != 0):
        return None
    if isinstance(value, str) and _WORKERS.fullmatch(value):
        return None
    if is_function(value) and inside(source_parts(value)[0]):
        return None
    return (
        'expected a number of processes (-1: one per core), "threads:N", the address of a Dask '
        'scheduler, or a function in a file of the study, such as "cluster.py:workers"'
    )


def _retries(value: Any) -> str | None:
    if _is_int(value, 0):
        return None
    if isinstance(value, dict) and all(k in _RETRIES and _is_int(v, 0) for k, v in value.items()):
        return None
    return f"expected a number from 0, or a table with numbers for {', '.join(_RETRIES)}"


STUDY: Mapping[str, Check] = {
    "name": _name,
    "model": _file(".py", ".nl"),
    "simulator": _file(".py"),
    "sense": _choice("minimize", "maximize"),
    "simulator_takes": _choice("design", "model"),
}

RUN: Mapping[str, Check] = {
    "max_evaluations": _integer(1),
    "max_time": _positive,
    "target": _number,
    "seed": _integer(0),
    "restarts": _integer(0),
    "population_size": _integer(4),
    "workers": _workers,
    "timeout": _positive,
    "retries": _retries,
    "max_failures": _integer(0),
    "on_failure": _choice("rank_last", "raise"),
    "journal": _journal,
    "reuse": _paths,
}


def _setting(name: str) -> Check:
    def check(value: Any) -> str | None:
        try:
            Settings(**{name: value})
        except (SettingsError, TypeError) as error:
            return re.split("[,;] got ", str(error))[0].rstrip(".")
        return None

    return check


SETTINGS: Mapping[str, Check] = {f.name: _setting(f.name) for f in fields(Settings)}

SECTIONS: Mapping[str, Mapping[str, Check] | None] = {
    "study": STUDY,
    "run": RUN,
    "simulated": None,  # any name
    "settings": SETTINGS,
}


def limits(value: Any) -> str | None:
    """Check the limits of a simulated constraint: ``{ lower = 1.0, upper = 2.0 }``."""
    if not isinstance(value, dict) or not value or set(value) - {"lower", "upper"}:
        return "expected limits such as { upper = 250e6 } or { lower = 40.0, upper = 60.0 }"
    if not all(_is_real(v) for v in value.values()):
        return "expected finite numbers; leave out a limit that there is not"
    if len(value) == 2 and not value["lower"] < value["upper"]:
        return "expected a lower limit below the upper one (a band, if it is to be one value)"
    return None
