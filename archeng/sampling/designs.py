"""`Designs`: a list of designs that is also a table."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any, SupportsIndex, overload

import numpy as np

from archeng.checks import needed
from archeng.distribution import Floats
from archeng.errors import SettingsError
from archeng.model import has_discrete, plain_values
from archeng.plain_text import cell
from archeng.simulator import Design


class Designs(list[Design]):
    """A list of designs; one row per design and one column per scalar variable as a table.

    ``designs[0]["thickness"]`` is a value by name, ``designs.x`` the matrix in the order of the
    model, ``dict(designs[0])`` a dictionary.
    """

    @property
    def x(self) -> Floats:
        """The matrix (k, n) in declaration order, fixed variables included."""
        return np.array([d.x for d in self]).reshape(len(self), len(self.names))

    @property
    def names(self) -> list[str]:
        """Names of the columns, ``t`` or, for the entries of an array, ``w[0]``, ``w[1]``."""
        return [name for v in self[0].variables for name in v.element_names()] if self else []

    def to_pandas(self) -> Any:
        """Return the table as a `pandas.DataFrame`. Needs ``archeng[pandas]``."""
        needed("pandas", "pandas", SettingsError)
        import pandas

        if not self or not has_discrete(self[0].variables):
            return pandas.DataFrame(self.x, columns=self.names)
        rows = [plain_values(d.variables, d.x) for d in self]
        return pandas.DataFrame(rows, columns=self.names)

    def to_csv(self, path: str | Path) -> None:
        """Write the table as a CSV file: a line of names, then exact floats; rows by their names.

        Raises
        ------
        SettingsError
            If the file cannot be written.
        """
        try:
            with Path(path).open("w", newline="", encoding="utf-8") as stream:
                writer = csv.writer(stream)
                writer.writerow([cell(name) for name in self.names])
                writer.writerows(map(cell, plain_values(d.variables, d.x)) for d in self)
        except OSError as error:
            raise SettingsError(f"{path}: cannot be written ({error.strerror}).") from error

    @overload
    def __getitem__(self, index: SupportsIndex) -> Design: ...
    @overload
    def __getitem__(self, index: slice) -> Designs: ...
    def __getitem__(self, index: SupportsIndex | slice) -> Design | Designs:
        if isinstance(index, slice):
            return Designs(super().__getitem__(index))
        return super().__getitem__(index)

    def __repr__(self) -> str:
        return f"<archeng.Designs: {len(self)} of {', '.join(self.names)}>"
