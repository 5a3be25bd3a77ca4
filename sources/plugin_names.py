"""What a source of another distribution needs of this package."""

from sources._contract import QueryFailed, Source, Unreachable
from sources._engine import CatalogueEntry, EngineSource, FetchedRows, refuse_other_words
from sources._spec import SourceSpec, file_of

__all__ = [
    "CatalogueEntry",
    "EngineSource",
    "FetchedRows",
    "QueryFailed",
    "Source",
    "SourceSpec",
    "Unreachable",
    "file_of",
    "refuse_other_words",
]
