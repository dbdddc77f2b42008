"""Print the section of CHANGELOG.md that belongs to a version, for its release page.

python .ci/release_notes.py VERSION    # 1.2.0, or the tag v1.2.0
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
_HEADING = re.compile(r"^## \[?(?P<version>[0-9][^\s\]]*)\]?(?P<rest>.*)$", re.MULTILINE)


class ReleaseError(ValueError):
    """The version cannot be released as things are."""


def notes(changelog: str, version: str) -> str:
    """Return the text below the heading of a version, without the heading.

    Raises
    ------
    ReleaseError
        There is no such section, it is empty, or its heading still says that it is unreleased.
    """
    headings = list(_HEADING.finditer(changelog))
    for heading, following in zip(headings, [*headings[1:], None], strict=True):
        if heading["version"] != version:
            continue
        if "unreleased" in heading["rest"].lower():
            raise ReleaseError(f"CHANGELOG.md says that {version} is unreleased: write its date.")
        text = changelog[heading.end() : following.start() if following else None].strip()
        if not text:
            raise ReleaseError(f"CHANGELOG.md says nothing about {version}.")
        return text + "\n"
    there = ", ".join(heading["version"] for heading in headings) or "none"
    raise ReleaseError(f"CHANGELOG.md has no section for {version}; it has {there}.")


def package_version(source: str) -> str:
    """Return the version that the package calls its own."""
    match = re.search(r'^__version__ = "([^"]+)"$', source, re.MULTILINE)
    if match is None:
        raise ReleaseError('archeng/_version.py has no line __version__ = "...".')
    return match[1]


def main(tag: str) -> int:
    """Print the notes of a tag; 1 with a sentence if it cannot be released."""
    version = tag.removeprefix("v")
    try:
        ours = package_version((ROOT / "archeng/_version.py").read_text(encoding="utf-8"))
        if ours != version:
            raise ReleaseError(f"the tag says {version}, archeng/_version.py says {ours}.")
        text = notes((ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), version)
    except ReleaseError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    print(text, end="")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:2]) if len(sys.argv) == 2 else __doc__)
