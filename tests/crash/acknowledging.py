"""Say aloud what the store has taken, for the one who kills and compares."""

import os
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from monitor.scan.results import CheckResult


def acknowledge(results: Sequence[CheckResult]) -> None:
    """Report what is remembered: check, time of measurement (us), status, incident."""
    for result in results:
        at = result.measured_at - datetime(1970, 1, 1, tzinfo=UTC)
        us = at // timedelta(microseconds=1)
        os.write(1, f"ACK {result.check_id} {us} {result.outcome.status} {result.incident}\n".encode())
