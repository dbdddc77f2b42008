"""Figures as files in memory."""

from __future__ import annotations

import contextlib
import io
import warnings
from collections.abc import Iterator, Sequence
from typing import Any

from archeng.report.figures.style import STYLE


def to_svg(figure: Any) -> bytes:
    """Return a figure as SVG; the same figure gives the same bytes."""
    return _drawn(figure, format="svg", metadata={"Date": None, "Creator": "archeng"})


def to_pdf(figures: Sequence[Any]) -> bytes:
    """Return a PDF with a page for each figure, in its own size."""
    from matplotlib.backends.backend_pdf import PdfPages

    stream = io.BytesIO()
    with _quietly(), PdfPages(stream, metadata={"Creator": "archeng"}) as pages:
        for figure in figures:
            pages.savefig(figure)
    return stream.getvalue()


def to_png(figure: Any, dpi: float = 150) -> bytes:
    """Return a figure as PNG."""
    return _drawn(figure, format="png", dpi=dpi)


def _drawn(figure: Any, **how: Any) -> bytes:
    stream = io.BytesIO()
    with _quietly():
        figure.savefig(stream, **how)
    return stream.getvalue()


@contextlib.contextmanager
def _quietly() -> Iterator[None]:
    """In our style, and without warnings that nobody who asked for a report can use.

    A name in a script that the font lacks is drawn as boxes; panels may be too small for their
    labels.
    """
    import matplotlib

    with warnings.catch_warnings(), matplotlib.rc_context(STYLE):
        warnings.simplefilter("ignore", UserWarning)
        yield
