"""Small tables that Great Expectations can look at: in a SQLite file, or as a frame."""

import atexit
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from urllib.parse import quote

import ibis
import ibis.expr.types as ir
import pandas as pd

from checks import Context, Measurement, Outcome, Zones
from checks._judge import judge
from checks.expectation import Expectation
from checks.gx.caller import PRELOAD, Caller
from checks.gx.worker_door import GxRequest, evaluate
from monitor.workers import WorkerCalls

CALLER = WorkerCalls(PRELOAD)
"""The process of Great Expectations that all tests share: it takes seconds to import."""
atexit.register(CALLER.close)

NOW = datetime(2026, 11, 20, 9, 15, tzinfo=UTC)


@dataclass
class Tables:
    """A source of our own making: any Ibis backend, with or without a URL for Great Expectations' SQL engine."""

    name: str
    dialect: str
    backend: Any
    url: str | None = None
    query_timeout: timedelta = timedelta(seconds=60)
    caller: Caller = CALLER

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.backend.disconnect()

    def tables(self) -> Sequence[str]:
        """Name the tables."""
        return list(self.backend.list_tables())

    def table(self, name: str) -> ir.Table:
        """Return a table."""
        return self.backend.table(name)

    def compile(self, expression: ir.Expr) -> str:
        """Return the SQL text."""
        return str(ibis.to_sql(expression, dialect=self.dialect))

    def fetch(self, sql: str) -> Sequence[Mapping[str, Any]]:
        """Run a statement."""
        cursor = self.backend.con.execute(sql)
        names = [column[0] for column in cursor.description]
        return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]

    def frame(self, table: str, columns: Sequence[str], max_rows: int) -> pd.DataFrame:
        """Return a frame; DuckDB only."""
        rows = self.backend.table(table).select(*columns).limit(max_rows + 1)
        return self.backend.con.sql(self.compile(rows)).df()

    def sqlalchemy_url(self) -> str | None:
        """Return the URL."""
        return self.url

    def ask(self, table: str, check: Expectation, deadline: timedelta = timedelta(seconds=60)) -> Outcome:
        """Return the outcome of an expectation, as a pass would."""
        relation = self.table(table)
        context = Context(relation, self.dialect, no_clock)
        wants = check.wants(context)
        request = GxRequest.of(check, self, relation=table, frame=wants.frame)
        found = evaluate(request, self.caller, deadline=deadline)
        rows = self.fetch(self.compile(relation.count().name("n").as_table()))[0]["n"]
        return judge(check, Measurement(NOW, {"rows": rows}, frame_result=found, zones=Zones()))


def no_clock(_shift: timedelta, _zone: str | None) -> ir.TimestampValue:
    """Stand in for the clock, which expectations do not ask."""
    raise AssertionError("an expectation asks for no time")


def sqlite_tables(path: Path) -> Tables:
    """Open a SQLite file that exists already."""
    return Tables("sqlite", "sqlite", ibis.sqlite.connect(path), f"sqlite:///file:{quote(str(path))}?mode=ro&uri=true")
