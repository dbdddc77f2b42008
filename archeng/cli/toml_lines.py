"""On which line of a TOML file a key stands; `tomllib` does not say.

The text must have passed `tomllib`: this only walks over it, it checks nothing.
"""

from __future__ import annotations

import re
import tomllib

Path = tuple[str | int, ...]
"""Keys from the outside in; a number for the elements of arrays."""

_QUOTES = ('"""', "'''", '"', "'")
_SPACE = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
_KEY_PART = re.compile(r"""\s*(?:"(?:\\.|[^"\\])*"|'[^']*'|[A-Za-z0-9_-]+)\s*""")
_PLAIN = re.compile(r"[^,\]}#\n]*")  # numbers, dates, true and false


def key_lines(text: str) -> dict[Path, int]:
    """Return the line, from 1, of every table, key and array element of a TOML document."""
    return _Walk(text.replace("\r\n", "\n")).document()


class _Walk:
    """A position in the text, and what has been found before it."""

    def __init__(self, text: str) -> None:
        self.text, self.at = text, 0
        self.lines: dict[Path, int] = {}
        self._counts: dict[Path, int] = {}

    def document(self) -> dict[Path, int]:
        table: Path = ()
        self._skip()
        while self.at < len(self.text):
            if self.text[self.at] == "[":
                table = self._header()
            else:
                self._pair(table)
            self._skip()
        return self.lines

    def _header(self) -> Path:
        """Walk over ``[a.b]`` or ``[[a.b]]`` and return where its keys belong."""
        begin, array = self.at, self.text.startswith("[[", self.at)
        self.at += 2 if array else 1
        path = self._inside(self._key())
        self.at = self.text.index("]", self.at) + (2 if array else 1)
        if array:
            number = self._counts.get(path, 0)
            self._counts[path] = number + 1
            path = (*path, number)
        self._note(path, begin)
        return path

    def _inside(self, key: list[str]) -> Path:
        """Return the path of a header; a table within an array belongs to its last element."""
        path: Path = ()
        for k, part in enumerate(key):
            path = (*path, part)
            if path in self._counts and k < len(key) - 1:
                path = (*path, self._counts[path] - 1)
        return path

    def _pair(self, table: Path) -> None:
        begin = self.at
        path = (*table, *self._key())
        self._note(path, begin)
        self.at = self.text.index("=", self.at) + 1
        self._skip()
        self._value(path)

    def _key(self) -> list[str]:
        """Walk over a key, dotted or not, and return its parts."""
        begin = self.at
        while True:
            found = _KEY_PART.match(self.text, self.at)
            assert found is not None  # tomllib has read it
            self.at = found.end()
            if self.text[self.at] != ".":
                break
            self.at += 1
        parts = []
        data = tomllib.loads(self.text[begin : self.at].strip() + " = 0")
        while isinstance(data, dict):
            ((part, data),) = data.items()
            parts.append(part)
        return parts

    def _value(self, path: Path) -> None:
        for quote in _QUOTES:
            if self.text.startswith(quote, self.at):
                self._string(quote)
                return
        if self.text[self.at] == "[":
            self._array(path)
        elif self.text[self.at] == "{":
            self._table(path)
        else:
            self._move(_PLAIN)

    def _string(self, quote: str) -> None:
        self.at += len(quote)
        while not self.text.startswith(quote, self.at):
            self.at += 2 if self.text[self.at] == "\\" and quote[0] == '"' else 1
        self.at += len(quote)
        while len(quote) == 3 and self.text.startswith(quote[0], self.at):
            self.at += 1  # quotes of the text itself stand before the closing ones

    def _array(self, path: Path) -> None:
        self.at += 1
        number = 0
        self._skip()
        while self.text[self.at] != "]":
            self._note((*path, number), self.at)
            self._value((*path, number))
            number += 1
            self._comma()
        self.at += 1

    def _table(self, path: Path) -> None:
        self.at += 1
        self._skip()
        while self.text[self.at] != "}":
            self._pair(path)
            self._comma()
        self.at += 1

    def _comma(self) -> None:
        self._skip()
        if self.text[self.at] == ",":
            self.at += 1
            self._skip()

    def _skip(self) -> None:
        """Walk over blanks, ends of lines and comments."""
        self._move(_SPACE)

    def _move(self, pattern: re.Pattern[str]) -> None:
        found = pattern.match(self.text, self.at)
        assert found is not None  # both patterns match the empty text
        self.at = found.end()

    def _note(self, path: Path, position: int) -> None:
        line = self.text.count("\n", 0, position) + 1
        for k in range(1, len(path) + 1):
            self.lines.setdefault(path[:k], line)
