"""Where a run computes, and what changed when it goes on elsewhere: rounding may differ there.

The candidates of the open generation are in the journal, so that no finished call is lost. Those of
later generations are computed anew, and may differ in their last digits from what the run would
have made where it began.
"""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_info

from archeng._version import __version__

_PACKAGES = ("casadi", "numpy", "scipy")


def versions() -> dict[str, str]:
    """Versions of everything that may change a result."""
    numbers = {"archeng": __version__, "python": platform.python_version()}
    for package in _PACKAGES:
        try:
            numbers[package] = version(package)
        except PackageNotFoundError:
            numbers[package] = "unknown"
    return numbers


def numerics() -> dict[str, str]:
    """Return what rounding depends on beside the versions: processor and BLAS."""
    built = np.show_config(mode="dicts") or {}
    blas = built.get("Build Dependencies", {}).get("blas", {})
    extensions = built.get("SIMD Extensions", {}).get("found", [])
    loaded = (i for i in threadpool_info() if "numpy" in i["filepath"])
    kernels = next((i["architecture"] for i in loaded if "architecture" in i), "")
    return {
        "processor": " ".join([platform.machine(), *extensions, _processor_model()]).strip(),
        "blas": " ".join([blas.get("name", "unknown"), blas.get("version", ""), kernels]).strip(),
    }


def _processor_model() -> str:
    """Return vendor, family and model: BLAS adds in another order on other caches."""
    try:
        first = Path("/proc/cpuinfo").read_text(encoding="utf-8").split("\n\n")[0]
    except OSError:
        return platform.processor()
    about = dict(line.split(":", 1) for line in first.splitlines() if ":" in line)
    known = {key.strip(): value.strip() for key, value in about.items()}
    return " ".join(known[k] for k in ("vendor_id", "cpu family", "model") if k in known)


def moved(
    header: Mapping[str, Any], moves: Sequence[Mapping[str, Any]], calls: int
) -> dict[str, Any] | None:
    """Return what to note if a run goes on where rounding may differ; None if it may not.

    Compared with where it computed last: as the header, or the last of its moves, says.
    ``calls`` are those that had finished.
    """
    before = moves[-1] if moves else header
    here = {"versions": versions(), "numerics": numerics()}
    changes = [
        f"{name} {old[name]} became {new}"
        for part, values in here.items()
        if (old := before.get(part)) is not None  # an earlier archeng did not note it
        for name, new in values.items()
        if name in old and old[name] != new
    ]
    if not changes:
        return None
    at = datetime.now(UTC).isoformat(timespec="seconds")
    return {"at": at, "machine": platform.node(), "calls": calls, "changes": changes, **here}
