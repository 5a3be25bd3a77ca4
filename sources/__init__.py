"""Reach: a table wherever it lives, as an Ibis expression, read-only."""

from sources._contract import (
    NotTemporal,
    PermissionDenied,
    QueryFailed,
    Source,
    SourceError,
    TableNotFound,
    TimedOut,
    Unreachable,
)
from sources._names import did_you_mean
from sources._spec import CsvOptions, SourceSpec

__all__ = [
    "CsvOptions",
    "NotTemporal",
    "PermissionDenied",
    "QueryFailed",
    "Source",
    "SourceError",
    "SourceSpec",
    "TableNotFound",
    "TimedOut",
    "Unreachable",
    "did_you_mean",
]
