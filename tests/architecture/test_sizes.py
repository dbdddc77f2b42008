"""The package stays readable: short functions, short modules, constants that say what they mean."""

from __future__ import annotations

from pathlib import Path

import pytest
import sizes

LONGEST_FUNCTION = 60  # lines, docstring included, the list of arguments not
LONGEST_MODULE = 400  # lines


def test_no_function_is_longer_than_a_screen() -> None:
    lengths = [(p.name, p.lines - p.arguments) for p in sizes.functions()]
    too_long = [f"{name}: {lines}" for name, lines in lengths if lines > LONGEST_FUNCTION]
    assert not too_long, "\n".join(too_long)


def test_no_module_is_longer_than_a_reader_holds() -> None:
    too_long = [f"{p.name}: {p.lines}" for p in sizes.modules() if p.lines > LONGEST_MODULE]
    assert not too_long, "\n".join(too_long)


def test_every_numeric_constant_says_what_it_means() -> None:
    silent = sizes.silent_constants()
    assert not silent, "\n".join(silent)


SOURCE = """
EXPLAINED = 3  # why three
# why four
ABOVE = 4
SILENT = -2**20
PAIR: tuple[float, float] = (0.1, 0.2)
BELOW = 5
'''Why five.'''
NO_NUMBER = "text"
FLAG = True

@decorated(
    1,
)
def three_and_three(x):
    y = x
    return y
"""


def test_what_is_counted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "archeng").mkdir()
    (tmp_path / "archeng" / "small.py").write_text(SOURCE)
    assert [place.split()[-1] for place in sizes.silent_constants(tmp_path)] == ["SILENT", "PAIR"]
    assert [place.lines for place in sizes.functions(tmp_path)] == [6]
    assert [place.lines for place in sizes.modules(tmp_path)] == [17]
    sizes.main(["--repo", str(tmp_path)])
    assert "lines: 17" in capsys.readouterr().out
