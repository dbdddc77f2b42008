"""``archeng report`` and ``archeng dashboard``: a run to look at, and to hand to a colleague."""

from __future__ import annotations

import argparse
import contextlib
import sys
import threading
import webbrowser
from pathlib import Path

from archeng.cli.target import journal_of
from archeng.dashboard import serve
from archeng.errors import JournalError, SettingsError
from archeng.result import Result
from archeng.runner import read_journal


def report(options: argparse.Namespace) -> int:
    """Write a report as HTML and, if wanted, as PDF."""
    source = journal_of(options.run, "report")
    page = source.with_suffix(".html") if options.output is None else Path(options.output)
    files = [page]
    if options.pdf is not None:
        files.append(Path(options.pdf) if options.pdf else page.with_suffix(".pdf"))
        if files[1].suffix.lower() != ".pdf":
            raise SettingsError(f"--pdf {files[1]}: the name of a PDF must end in .pdf.")
    for file in files:
        if file.resolve() == source.resolve():
            raise SettingsError(f"{file}: the report would overwrite the run that it shows.")
    result = _result(source)
    for file in files:
        result.report(file)
        sys.stdout.write(f"{file}\n")
    return 0


def _result(source: Path) -> Result:
    """Read a journal, or a result that was saved."""
    try:
        with source.open("rb") as stream:
            begin = stream.read(16)
    except OSError as error:
        raise JournalError(
            f"{source}: cannot be read ({error.strerror}). Give a journal (solve(..., "
            "journal=...), `archeng run --journal`) or a result (`result.save`)."
        ) from error
    if begin.lstrip()[:1] == b"{":
        return Result.load(source)
    return read_journal(source)


def dashboard(options: argparse.Namespace) -> int:
    """Serve the report of a journal until Ctrl-C."""
    server = serve(journal_of(options.journal, "dashboard"), options.port)
    sys.stdout.write(f"{server.live.name}: {server.url} (on this machine only; Ctrl-C ends)\n")
    sys.stdout.flush()
    if not options.no_browser:
        threading.Thread(target=webbrowser.open, args=(server.url,), daemon=True).start()
    try:
        with contextlib.suppress(KeyboardInterrupt):
            server.serve_forever(poll_interval=0.2)
    finally:
        server.server_close()
        server.live.close()
    return 0
