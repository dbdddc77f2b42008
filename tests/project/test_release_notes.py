"""A version's section of the change log becomes its release page."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

import archeng

SCRIPT = Path(__file__).resolve().parents[2] / ".ci/release_notes.py"
SPEC = importlib.util.spec_from_file_location("release_notes", SCRIPT)
assert SPEC is not None
assert SPEC.loader is not None
release = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(release)

CHANGELOG = """# Changelog

Words about the format.

## 1.1.0 (unreleased)

### Added
- not yet

## [1.0.10] - 2026-01-02

### Fixed
- ten

### Added
- more

## 1.0.1 (2026-01-01)
- one

## 1.0.0 (2025-12-31)
"""


def test_the_section_of_a_version_and_no_other() -> None:
    assert release.notes(CHANGELOG, "1.0.10") == "### Fixed\n- ten\n\n### Added\n- more\n"
    assert release.notes(CHANGELOG, "1.0.1") == "- one\n"


@pytest.mark.parametrize(
    ("version", "message"),
    [
        ("1.1.0", "says that 1.1.0 is unreleased"),
        ("1.0.0", "says nothing about 1.0.0"),
        ("1.0", "no section for 1.0; it has 1.1.0, 1.0.10, 1.0.1, 1.0.0"),
    ],
)
def test_what_cannot_be_released_is_said(version: str, message: str) -> None:
    with pytest.raises(release.ReleaseError, match=message):
        release.notes(CHANGELOG, version)


def test_the_version_is_read_from_the_package() -> None:
    source = (SCRIPT.parents[1] / "archeng/_version.py").read_text("utf-8")
    assert release.package_version(source) == archeng.__version__
    with pytest.raises(release.ReleaseError):
        release.package_version("version = 1")


def test_a_tag_of_another_version_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert release.main("v99.0.0") == 1
    assert "the tag says 99.0.0" in capsys.readouterr().err


def test_our_own_change_log_has_a_section_for_this_version() -> None:
    text = (SCRIPT.parents[1] / "CHANGELOG.md").read_text("utf-8")
    released = text.replace(f"## {archeng.__version__} (unreleased)", f"## {archeng.__version__}")
    assert "- " in release.notes(released, archeng.__version__)


def test_the_command() -> None:
    done = subprocess.run([sys.executable, SCRIPT], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "release_notes.py VERSION" in done.stderr
