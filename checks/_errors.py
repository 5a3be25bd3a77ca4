"""Errors of this room.

CheckError
├── Misconfigured       the parameters do not fit the table: becomes `unknown(misconfigured)`
└── CatalogError        a file of this room does not end in `CHECK: Final[type[Check]] = ...`
"""


class CheckError(Exception):
    """The root of this room's errors."""


class Misconfigured(CheckError):
    """A check's parameters do not fit the table that it looks at."""
