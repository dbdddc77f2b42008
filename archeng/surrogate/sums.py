"""Sums of models with different centres: a teacher's model, and what is left to be learned."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from archeng.distribution import Floats, Integers
from archeng.surrogate.interpolant import Interpolant, Several


@dataclass(frozen=True, eq=False)
class Sum:
    """The sum of several models, as a model."""

    terms: tuple[Interpolant, ...]

    @property
    def is_quadratic(self) -> bool:
        """Whether all terms are."""
        return all(term.is_quadratic for term in self.terms)

    def value(self, v: Floats) -> float:
        """Value at v (n,)."""
        return sum(term.value(v) for term in self.terms)

    def values(self, V: Floats) -> Floats:
        """Values (k,) at points (k, n)."""
        return np.asarray(sum(term.values(V) for term in self.terms), dtype=float)

    def slope(self, v: Floats) -> Floats:
        """Gradient (n,) at v."""
        return np.asarray(sum(term.slope(v) for term in self.terms), dtype=float)

    def derivatives(self, v: Floats) -> tuple[Floats, Floats]:
        """Gradient (n,) and Hessian (n, n) at v."""
        both = [term.derivatives(v) for term in self.terms]
        return (
            np.asarray(sum(gradient for gradient, _ in both), dtype=float),
            np.asarray(sum(hessian for _, hessian in both), dtype=float),
        )

    def divided_by(self, size: float) -> Sum:
        """Return the sum over a size."""
        return Sum(tuple(term.divided_by(size) for term in self.terms))


class SeveralSums:
    """Models of several quantities, evaluated together where they have the same centres."""

    def __init__(self, models: Sequence[Interpolant | Sum]) -> None:
        groups: dict[int, tuple[list[int], list[Interpolant]]] = {}
        for row, model in enumerate(models):
            for term in model.terms if isinstance(model, Sum) else (model,):
                rows, terms = groups.setdefault(id(term.centres), ([], []))
                rows.append(row)
                terms.append(term)
        self._size = len(models)
        self._groups: list[tuple[Integers, Several]] = [
            (np.array(rows, dtype=np.intp), Several(terms)) for rows, terms in groups.values()
        ]

    def values(self, v: Floats) -> Floats:
        """Values (m,) at v."""
        values = np.zeros(self._size)
        for rows, several in self._groups:
            np.add.at(values, rows, several.values(v))
        return values

    def values_of_many(self, V: Floats) -> Floats:
        """Values (k, m) at points (k, n)."""
        values = np.zeros((self._size, len(V)))
        for rows, several in self._groups:
            np.add.at(values, rows, several.values_of_many(V).T)
        return values.T

    def slopes(self, v: Floats) -> Floats:
        """Gradients (m, n) at v."""
        slopes = np.zeros((self._size, len(v)))
        for rows, several in self._groups:
            np.add.at(slopes, rows, several.slopes(v))
        return slopes


def several(models: Sequence[Interpolant | Sum]) -> Several | SeveralSums:
    """Return models of several quantities as one."""
    plain = [model for model in models if isinstance(model, Interpolant)]
    if len(plain) == len(models) and all(m.centres is plain[0].centres for m in plain):
        return Several(plain)
    return SeveralSums(models)
