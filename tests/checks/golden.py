"""The SQL of every check in dialects whose servers are not here, as text to read: `python -m tests.checks.golden`.

Each file holds, for every case of `test_every_engine.py`, the statements that the planner would run, or why there is
none. They were parsed by sqlglot and never tried on a server. A dialect that is close to Snowflake's has in its file
what differs from that, case by case; `python -m tests.checks.golden DIALECT` prints its statements in full.
"""

import sys
from collections.abc import Iterator, Mapping
from dataclasses import replace
from difflib import unified_diff
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, Final

import ibis
import ibis.expr.types as ir
import sqlglot
from ibis.common.exceptions import IbisError

from monitor.clock import SimulatedClock
from monitor.config import load_tree
from monitor.config.project import Project
from monitor.config.python_values import node_of
from monitor.scan.planner import plan
from monitor.scan.results import Subject, targets_of
from monitor.scan.sql_template import SqlTemplate, TimeLiterals
from monitor.scan.table_plan import TablePlan
from sources import QueryFailed
from tests.checks.hostile import NOW
from tests.checks.test_every_engine import tree

FOLDER: Final = Path(__file__).parent / "golden"
DIALECTS: Final = ("bigquery", "databricks", "mssql", "snowflake", "trino")
_LIKE_SNOWFLAKE: Final = {"bigquery": '`"', "databricks": '`"', "trino": ""}
"""Dialects whose files say what differs from Snowflake, and how they quote names where that does; it is read as `"`."""
_COMPILERS: Final[Mapping[str, str]] = {
    "bigquery": "BigQueryCompiler",
    "databricks": "DatabricksCompiler",
    "mssql": "MSSQLCompiler",
    "snowflake": "SnowflakeCompiler",
    "trino": "TrinoCompiler",
}
_SCHEMA: Final = {
    "id": "int64", "code": "int64", "x": "float64", "amount": "decimal(38, 9)", "at": "timestamp('UTC', 6)",
    "wall": "timestamp(6)", "note": "string", "town": "string", "ill": "string",
}  # fmt: skip


class Unopened:
    """A source of a dialect that compiles, as one that Ibis reaches by URL does, and that nothing is read from."""

    name = "s"
    types_declared = True

    def __init__(self, dialect: str) -> None:
        self.dialect = dialect
        self._compiler: Any = getattr(import_module(f"ibis.backends.sql.compilers.{dialect}"), _COMPILERS[dialect])()

    def table(self, name: str) -> ir.Table:
        """Return a table of the hostile ones."""
        return ibis.table(_SCHEMA, name=name)

    def compile(self, expression: ir.Expr) -> str:
        """Return the SQL text of an expression, laid out to be read."""
        try:
            tree = self._compiler.to_sqlglot(expression.unbind())
        except IbisError as error:
            text = f"{self.dialect} does not support this expression ({type(error).__name__})"
            raise QueryFailed(text) from None
        return str(tree.sql(dialect=self._compiler.dialect))


def file_of(dialect: str) -> Path:
    """Return the file of a dialect."""
    return FOLDER / f"{dialect}.{'diff' if dialect in _LIKE_SNOWFLAKE else 'sql'}"


def text_of_file(dialect: str) -> str:
    """Return what the file of a dialect must hold."""
    quotes = _LIKE_SNOWFLAKE.get(dialect)
    if quotes is None:
        return golden(dialect)
    head, *cases = golden(dialect).split("\n-- ")
    exchanged = '; in it, ` and " are exchanged' if quotes else ""
    lines = [head.rstrip(), f"-- What differs from snowflake.sql{exchanged}."]
    for (name, *theirs), (_, *ours) in zip(
        (case.translate(str.maketrans(quotes, quotes[::-1])).splitlines() for case in cases),
        (case.splitlines() for case in golden("snowflake").split("\n-- ")[1:]),
        strict=True,
    ):
        if difference := list(unified_diff(ours, theirs, n=0, lineterm=""))[2:]:
            lines += ["", f"-- {name}", *difference]
    return "\n".join([*lines, ""])


@cache
def golden(dialect: str) -> str:
    """Return the statements of a dialect, case by case."""
    source: Any = Unopened(dialect)
    project = Project(load_tree(node_of(tree(), "")), SimulatedClock(NOW))
    [target] = targets_of(project, ["t"])
    lines = [f"-- Written by `python -m tests.checks.golden`. Compiled for {dialect}; not tried on a server.", ""]
    for check_id, check in target.subject.checks:
        lines += [f"-- {check.name}: {check.type}"]
        subject = replace(target.subject, checks=((check_id, check),))
        lines += [*_statements(subject, source), ""]
    return "\n".join(lines)


def _statements(subject: Subject, source: Any) -> Iterator[str]:
    try:
        made = plan(subject, source)
    except QueryFailed as error:
        yield f"-- not supported: {error}"
        return
    yield from (f"-- not supported: {outcome.message}" for outcome in made.refused.values())
    literals = TimeLiterals(source)
    for template in _templates(made):
        text = template.fill(NOW, literals)
        yield sqlglot.parse_one(text, dialect=source.dialect).sql(dialect=source.dialect, pretty=True) + ";"
    if any(wants.schema for wants in made.wants.values()):
        yield "-- the catalogue alone"


def _templates(made: TablePlan) -> Iterator[SqlTemplate]:
    if made.fused is not None:
        yield made.fused
    yield from (query.template for query in (*made.queries, *made.counts, *made.union_queries))


def main() -> None:
    """Write the files again."""
    FOLDER.mkdir(exist_ok=True)
    for dialect in DIALECTS:
        file_of(dialect).write_text(text_of_file(dialect), encoding="utf-8")


if __name__ == "__main__":
    sys.stdout.writelines(map(golden, sys.argv[1:]))
    if not sys.argv[1:]:
        main()
