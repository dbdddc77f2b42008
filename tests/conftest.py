"""What every test relies on."""

from __future__ import annotations

import logging
import signal

import pytest

# A shell starts background jobs (``nohup make test &``) with Ctrl-C ignored, and every process they
# start inherits that. The tests of Ctrl-C, and the programs they start, need it as in a terminal.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def _archeng_is_heard() -> None:
    """Undo what packages that configure logging for the whole process do to our logger."""
    logger = logging.getLogger("archeng")
    logger.disabled, logger.propagate = False, True
    logger.setLevel(logging.NOTSET)
