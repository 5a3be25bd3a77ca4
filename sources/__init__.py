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
    TableRemoved,
    TimedOut,
    Unreachable,
)
from sources._deadline import reporting_stuck
from sources._extras import MissingExtra, import_extra, require_extra
from sources._file_tables import delta_tables, remedy_of, table_files, why_no_file
from sources._identity import is_same_table, table_identity
from sources._names import did_you_mean, is_misspelling, nearest
from sources._open import OWN_SCHEMES, dialect_of, one_connection, open_source
from sources._plugins import Plugin, PluginError, PluginGroup, refused_plugins, usable_plugins
from sources._spec import CsvOptions, FileTimes, IcebergCatalog, SourceSpec, is_file, path_in_url
from sources.expressions import engine_function, is_engine_type
from sources.moments import Moment, as_moment

__all__ = [
    "NOTHING_TOLD",
    "OWN_SCHEMES",
    "Column",
    "CsvOptions",
    "FileTimes",
    "IcebergCatalog",
    "MissingExtra",
    "Moment",
    "NotTemporal",
    "PermissionDenied",
    "Plugin",
    "PluginError",
    "PluginGroup",
    "QueryFailed",
    "ReadVolume",
    "Source",
    "SourceError",
    "SourceSpec",
    "TableNotFound",
    "TableRemoved",
    "TimedOut",
    "Unreachable",
    "as_moment",
    "delta_tables",
    "dialect_of",
    "did_you_mean",
    "engine_function",
    "import_extra",
    "is_engine_type",
    "is_file",
    "is_misspelling",
    "is_same_table",
    "nearest",
    "one_connection",
    "open_source",
    "path_in_url",
    "refused_plugins",
    "remedy_of",
    "reporting_stuck",
    "require_extra",
    "table_files",
    "table_identity",
    "usable_plugins",
    "why_no_file",
]
