"""Run every check on the hostile tables in a fake Snowflake, and print what came out otherwise than in plain Python.

A program of an environment of its own, since the fake needs other versions than we do: `python -m ... SITE_PACKAGES`,
with those of the tests, from which everything else comes. The fake translates the SQL of Snowflake to DuckDB: it shows
that our dialect is Snowflake's, not what a server is like.
"""

import json
import sys
import warnings
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any, Final

_TYPES: Final = {
    "id": "INT", "code": "INT", "x": "DOUBLE", "amount": "NUMBER(38, 9)", "at": "TIMESTAMP_TZ",
    "wall": "TIMESTAMP_NTZ", "note": "VARCHAR", "town": "VARCHAR", "ill": "VARCHAR",
}  # fmt: skip


def _literal(value: Any, kind: str) -> str:
    if value is None:
        return "NULL"
    text = str(value).replace("\\", "\\\\").replace("'", "''")
    return f"'{text}'::{kind}" if isinstance(value, str | float | datetime) else text


def _fill(connection: Any) -> None:
    from tests.checks.hostile import TABLES, rows_of

    cursor = connection.cursor()
    for name in TABLES:
        columns = ", ".join(f'"{column}" {kind}' for column, kind in _TYPES.items())
        cursor.execute(f'CREATE TABLE "{name}" ({columns})')
        for row in rows_of("snowflake", name):
            values = ", ".join(_literal(value, _TYPES[column]) for column, value in row.items())
            cursor.execute(f'INSERT INTO "{name}" SELECT {values}')


def _wrong() -> Mapping[str, str]:
    from monitor.clock import SimulatedClock
    from monitor.config import load_tree
    from monitor.config.project import Project
    from monitor.config.python_values import node_of
    from monitor.scan.results import targets_of
    from monitor.scan.run import Engine
    from sources import SourceSpec
    from tests.checks.hostile import NOW, TABLES, rows_of
    from tests.checks.test_every_engine import CASES, _alike, tree

    clock = SimulatedClock(NOW)
    project = Project(load_tree(node_of(tree(), "")), clock)
    spec = SourceSpec("s", Path(), url="snowflake://u:p@a/D/S?create_object_udfs=false")
    targets = [replace(target, source=spec) for target in targets_of(project, ["t", "empty"])]
    outcomes = {result.check.name: result.outcome for result in Engine(clock).run(targets)}
    tables = {name: rows_of("snowflake", name) for name in TABLES}
    wrong = {}
    for name, (_, compute) in CASES.items():
        observed = {**outcomes[name].observed, "status": outcomes[name].status.value}
        if not all(_alike(observed.get(key), value) for key, value in compute(tables).items()):
            wrong[name] = f"{outcomes[name].message}: {observed}"
    return wrong


def main() -> None:
    """Print a JSON object: by check, what was observed instead."""
    warnings.simplefilter("ignore")
    sys.path.append(sys.argv[1])
    import fakesnow
    from fakesnow.cursor import FakeSnowflakeCursor

    FakeSnowflakeCursor.__iter__ = lambda cursor: iter(cursor.fetchall())  # which the real one has, and Ibis uses
    with fakesnow.patch(nop_regexes=["(?i)^ALTER SESSION"]):
        import snowflake.connector

        _fill(snowflake.connector.connect(user="u", password="p", account="a", database="D", schema="S"))  # noqa: S106
        sys.stdout.write(json.dumps(_wrong()) + "\n")


if __name__ == "__main__":
    main()
