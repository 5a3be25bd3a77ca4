"""Sources: a table of any engine or file as an Ibis expression, read-only.

Importing this package is cheap: each kind of source loads its engine when it is first opened.
"""

from sources._columns import Column
from sources._contract import (
    NOTHING_TOLD,
    NotTemporal,
    PermissionDenied,
    QueryFailed,
    ReadVolume,
    Source,
    SourceError,
    TableNotFound,
    TimedOut,
    Unreachable,
)
from sources._deadline import reporting_stuck
from sources._file_tables import delta_tables
from sources._identity import is_same_table, table_identity
from sources._names import did_you_mean, nearest
from sources._open import dialect_of, one_connection, open_source
from sources._spec import CsvOptions, FileTimes, IcebergCatalog, SourceSpec, path_in_url
from sources.expressions import engine_function
from sources.moments import Moment, as_moment

__all__ = [
    "NOTHING_TOLD",
    "Column",
    "CsvOptions",
    "FileTimes",
    "IcebergCatalog",
    "Moment",
    "NotTemporal",
    "PermissionDenied",
    "QueryFailed",
    "ReadVolume",
    "Source",
    "SourceError",
    "SourceSpec",
    "TableNotFound",
    "TimedOut",
    "Unreachable",
    "as_moment",
    "delta_tables",
    "dialect_of",
    "did_you_mean",
    "engine_function",
    "is_same_table",
    "nearest",
    "one_connection",
    "open_source",
    "path_in_url",
    "reporting_stuck",
    "table_identity",
]
