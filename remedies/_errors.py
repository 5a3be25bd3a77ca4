"""Errors of this package.

RemedyError
├── Misfit              the input does not fit the remedy: a column, a kind of value, too few rows
└── Refused             what came out does not hold what the remedy promises; nothing is given out
"""


class RemedyError(Exception):
    """The root of this package's errors."""


class Misfit(RemedyError, ValueError):
    """The input does not fit the remedy."""


class Refused(RemedyError):
    """The result was looked at and does not hold what the remedy promises."""
