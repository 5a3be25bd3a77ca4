"""What the daemon says while it runs: one line per event on standard error, in our words only.

The lines hold names, counts and times, never values: what libraries log (tracebacks, statements, addresses) goes
nowhere. Secrets are masked and control characters shown as escapes, so that a name cannot forge a line.
"""

import json
import logging
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Final

from monitor.terminal.redaction import visible

LOG: Final = logging.getLogger("tablewatch")


def keep_journal(mask: Callable[[str], str], *, as_json: bool) -> None:
    """Send what the daemon says to standard error, and what libraries log nowhere."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Line(mask, as_json=as_json))
    logging.getLogger().handlers[:] = [logging.NullHandler()]
    logging.raiseExceptions = False
    LOG.handlers[:] = [handler]
    LOG.propagate = False
    LOG.setLevel(logging.INFO)


class _Line(logging.Formatter):
    def __init__(self, mask: Callable[[str], str], *, as_json: bool) -> None:
        super().__init__()
        self._mask, self._as_json = mask, as_json

    def format(self, record: logging.LogRecord) -> str:
        at = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        text = visible(self._mask(record.getMessage()))
        level = record.levelname.lower()
        if self._as_json:
            return json.dumps({"at": at, "level": level, "message": text}, ensure_ascii=False)
        return f"{at} {level:<7} {text}"
