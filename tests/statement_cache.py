"""SQL of the store is compiled once a process, not once for each store: a third of a command's time in tests."""

from typing import Any, Final

from sqlalchemy import Engine
from sqlalchemy.dialects.sqlite.pysqlite import SQLiteDialect_pysqlite
from sqlalchemy.util import LRUCache

from store import _engines

_COMPILED: Final = LRUCache[Any, Any](5000)


class _AnySqlite(SQLiteDialect_pysqlite):
    """The dialect of every store in a file: what is compiled for one is right for all."""

    supports_statement_cache = True

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _AnySqlite)

    def __hash__(self) -> int:
        return hash(_AnySqlite)


def share_compiled_statements() -> None:
    """Let all stores of this process that lie in files share the statements they compiled."""
    create_engine = _engines.create_engine

    def create(*words: Any, **options: Any) -> Engine:
        engine: Engine = create_engine(*words, **options)
        if type(engine.dialect) is SQLiteDialect_pysqlite:
            engine.dialect.__class__ = _AnySqlite
            engine._compiled_cache = _COMPILED
        return engine

    _engines.create_engine = create
