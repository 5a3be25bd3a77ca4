"""Errors of this package.

CheckError
├── Misconfigured       the parameters do not fit the table: becomes `unknown(misconfigured)`
└── CatalogError        a file of this package does not end in `CHECK: Final[type[Check]] = ...`
"""


class CheckError(Exception):
    """The root of this package's errors."""


class Misconfigured(CheckError):
    """A check's parameters do not fit the table that it looks at."""
