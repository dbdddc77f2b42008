"""Damaged ``.nl`` files: an ArchengError or the whole model, never anything else."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyomo.environ as pyo
import pytest
from importer_helpers import write_nl
from nl_examples import AMPL, outcomes, with_header

import archeng
from archeng.errors import ArchengError, ModelError


def pyomo_file(folder: Path) -> bytes:
    m = pyo.ConcreteModel()
    m.x = pyo.Var([1, 2, 3], bounds=(0.5, 4), initialize=1.5)
    m.e = pyo.Expression(expr=m.x[1] * m.x[2])
    m.c1 = pyo.Constraint(expr=m.e + pyo.exp(m.x[3]) <= 9)
    m.c2 = pyo.Constraint(expr=(0.25, m.e**2 - m.x[3], 7))
    m.c3 = pyo.Constraint(expr=m.x[1] + 2 * m.x[3] == 3)
    m.o = pyo.Objective(expr=m.e * m.x[3] + 3 * m.x[1])
    return write_nl(m, folder).read_bytes()


@pytest.fixture
def sources(tmp_path: Path) -> list[bytes]:
    """Return a file by AMPL and one by Pyomo."""
    return [AMPL.encode(), pyomo_file(tmp_path)]


def bad(files: Sequence[bytes], found: Sequence[str], allowed: Any) -> list[str]:
    """Outcomes that are neither an ArchengError nor allowed, with the end of their file."""
    return [
        f"{text[:120]} <- {file[-40:]!r}"
        for file, text in zip(files, found, strict=True)
        if not text.startswith("error ") and not allowed(text)
    ]


def is_model(text: str) -> bool:
    return text.startswith("model ")


def test_cut_between_two_lines(sources: list[bytes]) -> None:
    """A file that lacks whole lines is noticed: no constraint may silently be lost."""
    files = list(sources)
    for source in sources:
        lines = source.splitlines(keepends=True)
        files += [b"".join(lines[:k]) for k in range(len(lines))]
    found = outcomes(files)
    whole = found[: len(sources)]
    assert all(is_model(text) for text in whole)
    assert bad(files, found, lambda text: text in whole) == []


def test_cut_anywhere(sources: list[bytes]) -> None:
    files = [source[:k] for source in sources for k in range(0, len(source), 5)]
    assert bad(files, outcomes(files), is_model) == []


@pytest.mark.slow
def test_random_bytes_changed(sources: list[bytes]) -> None:
    rng = np.random.default_rng(1)
    likely = np.frombuffer(b"0123456789-. \n#vonbkJCGOrxdSV\xff\x00\xc3", dtype=np.uint8)
    files = []
    for k in range(400):
        data = np.frombuffer(sources[k % 2], dtype=np.uint8).copy()
        where = rng.integers(len(data), size=rng.choice([1, 1, 2, 5]))
        data[where] = rng.choice(likely, size=len(where))
        files.append(data.tobytes())
    assert bad(files, outcomes(files), is_model) == []


def test_lines_deleted_doubled_and_swapped(sources: list[bytes]) -> None:
    rng = np.random.default_rng(3)
    files = []
    for k in range(100):
        lines = sources[k % 2].splitlines(keepends=True)
        i, j = sorted(rng.integers(len(lines), size=2))
        files.append(b"".join([*lines[:i], *lines[i + 1 :]]))
        files.append(b"".join([*lines[:i], lines[j], *lines[i:]]))
        lines[i], lines[j] = lines[j], lines[i]
        files.append(b"".join(lines))
    assert bad(files, outcomes(files), is_model) == []


def test_garbage() -> None:
    rng = np.random.default_rng(4)
    files = [b"g" + rng.integers(256, size=300, dtype=np.uint8).tobytes() for _ in range(20)]
    files += [
        b"g3 1 1 0\n" + b"0 " * 500,
        b"g\n" * 30,
        b"g" + b"\n" * 50,
        b"g3\n" + b" 1 1 1\n" * 40,
    ]
    header = AMPL.split("S0")[0].encode()
    files += [header, header * 3, header + b"\xff\xfe" * 50, header + b"C0\n" * 50]
    assert bad(files, outcomes(files), lambda text: False) == []


BROKEN = {
    "rows missing": ("r\t#5 ranges (rhs's)\n0 -7 8\n1 9\n4 2.5\n2 -3\n3\n", ""),
    "bounds missing": ("b\t#3 bounds (on variables)\n0 0.5 4\n2 0.1\n3\n", ""),
    "a constraint body missing": ("C1\no16\nv3\n", ""),
    "a linear part missing": ("J1 2\n0 0\n1 3\n", ""),
    "the objective missing": ("O0 1\t#profit\no2\nv4\nv2\n", ""),
    "column too large": ("J4 1\n2 1", "J4 1\n99 1"),
    "column of a common expression": ("J4 1\n2 1", "J4 1\n4 1"),
    "row too large": ("J4 1\n2 1", "J44 1\n2 1"),
    "unknown common expression": ("v4\nv2", "v5\nv2"),
    "infinite coefficient": ("1 4\n2 0\n", "1 Infinity\n2 0\n"),
    "NaN coefficient": ("1 3\nJ2", "1 nan\nJ2"),
    "number too large": ("n2\n", "n1e999\n"),
    "NaN limit": ("0 -7 8", "0 nan 8"),
    "row at most minus infinity": ("1 9\n", "1 -Infinity\n"),
    "row at least infinity": ("2 -3\n", "2 1e999\n"),
    "row equal to infinity": ("4 2.5\n", "4 inf\n"),
    "limits given twice": ("b\t#3", "r\n3\n3\n3\n3\n3\nb\t#3"),
    "bounds given twice": ("k2\t#", "b\n3\n3\n3\nk2\t#"),
    "a constraint given twice": ("C2\t#l1\nn0\n", "C2\t#l1\nn0\nC0\nn0\n"),
    "limits crossed": ("0 -7 8", "0 8 -7"),
    "bounds crossed": ("0 0.5 4", "0 5 4"),
    "limit type": ("0 -7 8", "9 -7 8"),
    "complementarity row": ("2 -3\n3", "5 1 2\n3"),
    "word in the start": ("2 -.5", "two -.5"),
    "NaN start": ("2 -.5", "2 nan"),
    "start of an unknown variable": ("2 -.5", "22 -.5"),
    "broken start": ("0 1.25\n2 -.5", "0\n1.25\n2 -.5"),
    "number of 5000 digits": ("o16", "o" + "3" * 5000),
    "constraint of 5000 digits": ("C1\no16", "C" + "3" * 5000 + "\no35"),
    "string of 5000 digits": ("C1\no16", "C1\nh" + "3" * 5000 + ":a"),
    "negative count": ("J1 2", "J1 -2"),
    "bytes that are not text": ("o5\t#^\nv1", "\udcff\udcfe\nv1"),
}


def test_broken_in_a_known_place() -> None:
    files = []
    for old, new in BROKEN.values():
        assert old in AMPL
        files.append(AMPL.replace(old, new, 1).encode("utf-8", errors="surrogateescape"))
    found = outcomes(files)
    wrong = {k: t[:150] for k, t in zip(BROKEN, found, strict=True) if not t.startswith("error ")}
    assert wrong == {}


SIZES = {
    "too few variables": " 2 5 1 1 1",
    "too many variables": " 4 5 1 1 1",
    "too few rows": " 3 4 1 1 1",
    "too many rows": " 3 6 1 1 1",
    "no rows": " 3 0 1 1 1",
    "negative variables": " -3 5 1 1 1",
    "negative rows": " 3 -5 1 1 1",
    "no numbers": " three five",
    "nothing": "",
    "ten million million variables": " 10000000000000 5 1 1 1",
    "ten million million rows": " 3 10000000000000 1 1 1",
    "a very long number": " 3" + "0" * 40 + " 5 1 1 1",
    "a number of 5000 digits": " " + "3" * 5000 + " 5 1 1 1",
}


def test_wrong_sizes_in_the_header() -> None:
    found = outcomes([with_header(2, line).encode() for line in SIZES.values()])
    wrong = {k: t[:150] for k, t in zip(SIZES, found, strict=True) if not t.startswith("error ")}
    assert wrong == {}


# -- files that are not there, not text, or not beside it ------------------------------------


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"nope\.nl"):
        archeng.from_nl(tmp_path / "nope.nl")
    (tmp_path / "folder.nl").mkdir()
    with pytest.raises(ModelError, match=r"folder\.nl"):
        archeng.from_nl(tmp_path / "folder.nl")
    for content, word in ((b"", "not"), (b"b3 0 1 0\n\x00\x01", "binary"), (b"hello", "not")):
        (tmp_path / "x.nl").write_bytes(content)
        with pytest.raises(ModelError, match=word) as caught:
            archeng.from_nl(str(tmp_path / "x.nl"))
        assert "x.nl" in str(caught.value)


@pytest.mark.parametrize("what", ["too few", "too many", "twice", "empty", "none"])
@pytest.mark.parametrize("suffix", [".col", ".row"])
def test_names_that_do_not_fit(tmp_path: Path, suffix: str, what: str) -> None:
    path = tmp_path / "x.nl"
    path.write_text(AMPL)
    names = path.with_suffix(suffix)
    good = ["a", "b", "c"] if suffix == ".col" else ["r1", "r2", "r3", "r4", "r5", "profit"]
    names.write_text("\n".join(good) + "\n")
    archeng.from_nl(path)
    wrong = {
        "too few": good[:2],
        "too many": [*good, "more", "and more"],
        "twice": [good[0], *good[:-1]],
        "empty": [good[0], "", *good[2:]],
        "none": [],
    }[what]
    names.write_text("".join(f"{name}\n" for name in wrong))
    with pytest.raises(ArchengError):
        archeng.from_nl(path)


@pytest.mark.parametrize("suffix", [".col", ".row"])
def test_names_that_are_not_text(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / "x.nl"
    path.write_text(AMPL)
    path.with_suffix(suffix).write_bytes("Höhe\nb\nc\nd\ne\nf\n".encode("latin-1"))
    with pytest.raises(ArchengError, match=suffix):
        archeng.from_nl(path)
    path.with_suffix(suffix).unlink()
    path.with_suffix(suffix).mkdir()
    with pytest.raises(ArchengError, match=suffix):
        archeng.from_nl(path)
