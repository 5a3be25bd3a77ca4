"""Die at a named point, so that tests can prove that dying there loses nothing. Inert outside these tests.

A point is armed by two variables of the environment at once, read when the program starts: `TABLEWATCH_CRASH_TEST=1`
says that this is such a test, `TABLEWATCH_FAILPOINT=after-claim` (or `after-claim:3`, at the third passing) names it.
Elsewhere a point costs one look into an empty dictionary.
"""

import os
import signal
from collections.abc import Mapping
from enum import StrEnum
from typing import Final


class FailPoint(StrEnum):
    """The points where tests let the process die, as by `kill -9`: each between two steps that a crash may part."""

    AFTER_CLAIM = "after-claim"
    """Slots are taken, no table is checked yet."""
    BEFORE_REMEMBER = "before-remember"
    """Tables were checked, no result is in the store."""
    AFTER_REMEMBER = "after-remember"
    """The results are in the store, no message is."""
    AFTER_ANNOUNCE = "after-announce"
    """Messages are written, none is sent."""
    AFTER_LEASE = "after-lease"
    """A message is leased, and not sent."""
    AFTER_ANSWER = "after-answer"
    """The other side has answered, the store does not know."""
    BEFORE_REPORT_NAMED = "before-report-named"
    """A report is on the disk, under another name."""
    AFTER_REPORT_NAMED = "after-report-named"
    """A report has its name, its message is not written."""
    IN_MIGRATION = "in-migration"
    """The tables are changed, and the change is not committed."""
    IN_BACKUP = "in-backup"
    """A copy of the store is whole, and has no name yet."""
    IN_RESTORE = "in-restore"
    """The present store is kept under another name, the copy is not in its place yet."""
    IN_RESTORE_LOG_MOVED = "in-restore-log-moved"
    """Of a store that cannot be read the log is moved aside, and the file is not replaced yet."""
    AFTER_RENAME = "after-rename"
    """The store knows a table by its new name, the configuration by its old one."""
    BEFORE_MOVE = "before-move"
    """A store is marked, and the tables that it moves to are not committed."""
    IN_MOVE = "in-move"
    """A part of the rows of a store is in the database that it moves to."""
    AFTER_MOVE = "after-move"
    """The store is marked as moved, the copy is not in use yet."""
    BEFORE_CHARGE = "before-charge"
    """A charge is written to the ledger, and not committed."""
    AFTER_CHARGE = "after-charge"
    """A charge is in the ledger, its anchor does not know."""
    IN_ANCHOR = "in-anchor"
    """The new anchor is on the disk, under another name."""
    BEFORE_EXPORT_PROVED = "before-export-proved"
    """The file of a release is on the disk, under another name, and was not verified."""
    AFTER_EXPORT_HELD = "after-export-held"
    """The people in the file are in the store, the export is not."""
    BEFORE_EXPORT_NAMED = "before-export-named"
    """That the file was given out is in the store, it does not have its name yet."""


def _read(environment: Mapping[str, str]) -> dict[FailPoint, int]:
    """Return the point at which to die, and at which passing; nothing unless it is a test of that."""
    text = environment.get("TABLEWATCH_FAILPOINT")
    if environment.get("TABLEWATCH_CRASH_TEST") != "1" or not text:
        return {}
    name, _, passing = text.partition(":")
    return {FailPoint(name): int(passing or 1)}


_armed: Final = _read(os.environ)


def reached(point: FailPoint) -> None:
    """Kill the process here, if a test of crash safety requests it."""
    if point not in _armed:
        return
    _armed[point] -= 1
    if _armed[point] == 0:
        os.kill(os.getpid(), signal.SIGKILL)
