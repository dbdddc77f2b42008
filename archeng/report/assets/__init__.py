"""Files that pages are made with."""

from importlib.resources import files


def asset(name: str) -> str:
    """Return the text of a file of this folder."""
    return files(__name__).joinpath(name).read_text(encoding="utf-8")
