"""Compare the schema of a store with the known one of its revision: what is missing, what was added, what differs.

The known schema is no list of its own: it is made by the same statements that make a new store, in memory on SQLite, on
PostgreSQL in a schema of a transaction that is taken back. A trigger that was dropped no longer guards the facts; one
that was added runs with every write.
"""

import re
import sqlite3
from collections.abc import Callable, Mapping
from contextlib import closing
from functools import lru_cache
from typing import Final, TypeAlias

from sqlalchemy import Connection, text
from sqlalchemy.exc import DBAPIError

Schema: TypeAlias = Mapping[tuple[str, str], object]
"""The definition of each object, normalised, by its kind and name."""

ADDED: Final = "was added"
_MOST: Final = 5
_LONGEST_NAME: Final = 60
_TOKEN: Final = re.compile(r"""'(?:[^']|'')*'|"(?:[^"]|"")*"|\w+|[^\s\w]""")
_OF_SQLITE: Final = re.compile(r"sqlite_(autoindex_.*|sequence|stat[1-4])")
_OBJECTS: Final = "SELECT type, name, tbl_name, sql FROM sqlite_schema"
_EXPECTED: Final = "tablewatch_expected_schema"
_CATALOGUE: Final = """
SELECT 'table', c.relname, concat_ws(' ', c.relkind, c.relpersistence, c.relrowsecurity, c.relforcerowsecurity,
    (SELECT count(*) FROM pg_inherits h WHERE c.oid IN (h.inhparent, h.inhrelid)))
FROM pg_class c WHERE c.relnamespace = CAST(:schema AS regnamespace) AND c.relname = ANY(:tables)
UNION ALL SELECT 'column', c.relname || '.' || a.attname,
    concat_ws(' ', format_type(a.atttypid, a.atttypmod), a.attnotnull, a.attgenerated, pg_get_expr(d.adbin, d.adrelid))
FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum
WHERE c.relnamespace = CAST(:schema AS regnamespace) AND c.relname = ANY(:tables)
UNION ALL SELECT 'constraint', c.relname || '.' || o.conname, pg_get_constraintdef(o.oid)
FROM pg_constraint o JOIN pg_class c ON c.oid = o.conrelid
WHERE c.relnamespace = CAST(:schema AS regnamespace) AND c.relname = ANY(:tables) AND o.contype <> 'n'
UNION ALL SELECT 'index', x.relname, pg_get_indexdef(x.oid)
FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid JOIN pg_class x ON x.oid = i.indexrelid
WHERE c.relnamespace = CAST(:schema AS regnamespace) AND c.relname = ANY(:tables)
UNION ALL SELECT 'trigger', c.relname || '.' || t.tgname, concat_ws(' ', t.tgenabled, pg_get_triggerdef(t.oid))
FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid
WHERE c.relnamespace = CAST(:schema AS regnamespace) AND c.relname = ANY(:tables) AND NOT t.tgisinternal
UNION ALL SELECT 'rule', c.relname || '.' || r.rulename, pg_get_ruledef(r.oid)
FROM pg_rewrite r JOIN pg_class c ON c.oid = r.ev_class
WHERE c.relnamespace = CAST(:schema AS regnamespace) AND c.relname = ANY(:tables)
UNION ALL SELECT 'function', p.proname, concat_ws(' ', p.prosrc, p.prosecdef, p.proconfig)
FROM pg_proc p WHERE p.pronamespace = CAST(:schema AS regnamespace)
    AND p.oid IN (SELECT t.tgfoid FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid
        WHERE c.relnamespace = CAST(:schema AS regnamespace) AND c.relname = ANY(:tables))
"""


def sqlite_problems(connection: sqlite3.Connection, statements: tuple[str, ...]) -> list[str]:
    """Describe how the schema of a SQLite file differs from that of statements that make a new store."""
    return _differences(_objects(connection), _known(statements))


def stray_guards(connection: sqlite3.Connection, statements: tuple[str, ...]) -> list[str]:
    """Describe triggers and views of an older store that no revision has: they would run while it is upgraded."""
    known = _known(statements)
    strays = {
        key: sql for key, sql in _objects(connection).items() if key[0] in {"trigger", "view"} and key not in known
    }
    return _differences(strays, {})


def postgres_problems(
    connection: Connection, create: Callable[[Connection], None], tables: frozenset[str]
) -> list[str] | None:
    """Describe how the tables of a store on PostgreSQL differ from those that a function creates.

    None if the user may not create a schema: then there is nothing to compare with. The caller takes the transaction
    back.
    """
    present = _catalogue(connection, tables)
    try:
        connection.execute(text(f"CREATE SCHEMA {_EXPECTED}"))
    except DBAPIError:
        return None
    connection.execute(text(f"SET LOCAL search_path = {_EXPECTED}"))
    create(connection)
    return _differences(present, _catalogue(connection, tables))


def _objects(connection: sqlite3.Connection) -> Schema:
    rows = connection.execute(_OBJECTS).fetchall()
    ours = [row for row in rows if not _OF_SQLITE.fullmatch(row[1])]
    return {(kind, name): (table, _tokens(sql or "")) for kind, name, table, sql in ours}


@lru_cache(maxsize=1)
def _known(statements: tuple[str, ...]) -> Schema:
    with closing(sqlite3.connect(":memory:")) as connection:
        for statement in statements:
            connection.execute(statement)
        return _objects(connection)


def _tokens(sql: str) -> tuple[str, ...]:
    """Return the tokens of a statement; whether a name stands in quotation marks does not matter."""
    tokens = (match.group() for match in _TOKEN.finditer(sql))
    return tuple(token[1:-1].replace('""', '"') if token[0] == '"' else token for token in tokens)


def _catalogue(connection: Connection, tables: frozenset[str]) -> Schema:
    quoted = connection.scalars(text("SELECT quote_ident(current_schema())")).one()
    rows = connection.execute(text(_CATALOGUE), {"schema": quoted, "tables": sorted(tables)})
    return {(kind, name): definition.replace(f"{quoted}.", "") for kind, name, definition in rows}


def _differences(present: Schema, known: Schema) -> list[str]:
    by_problem = {
        ADDED: present.keys() - known.keys(),
        "is missing": known.keys() - present.keys(),
        "differs": {key for key in present.keys() & known.keys() if present[key] != known[key]},
    }
    problems = [
        f"{kind} {name[:_LONGEST_NAME]} {how}" for how, keys in by_problem.items() for kind, name in sorted(keys)
    ]
    more = [f"and {len(problems) - _MOST} more"] if len(problems) > _MOST else []
    return problems[:_MOST] + more
