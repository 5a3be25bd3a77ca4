"""Freshness is proposed for what holds times: load times by their names, text dates, numbers since 1970."""

import sqlite3
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import duckdb
import pytest

from monitor.clock import SystemClock
from monitor.scan.results import Subject, Target
from monitor.suggest.proposal import Proposal
from monitor.suggest.starter import check_lines
from monitor.suggest.suggest import SuggestionTarget, TableSuggestions, suggest_checks
from sources import SourceSpec
from tests.duckdb_rows import insert_rows

ROWS = 60
KINDS: Mapping[str, str] = {
    "time": "TIMESTAMP",
    "day": "DATE",
    "iso": "VARCHAR",
    "iso day": "VARCHAR",
    "seconds": "BIGINT",
    "milliseconds": "BIGINT",
    "number": "BIGINT",
    "word": "VARCHAR",
}


def _value(kind: str, row: int) -> object:
    moment = datetime.now(UTC) - timedelta(hours=24 * row + 1)
    values = {
        "time": moment.replace(tzinfo=None).isoformat(" "),
        "day": f"{moment:%Y-%m-%d}",
        "iso": f"{moment:%Y-%m-%dT%H:%M:%SZ}",
        "iso day": f"{moment:%Y-%m-%d}",
        "seconds": int(moment.timestamp()),
        "milliseconds": int(moment.timestamp() * 1000),
        "number": row,
        "word": f"user {row}",
    }
    return values[kind]


def _suggested(engine: str, folder: Path, columns: Mapping[str, str]) -> TableSuggestions:
    file = folder / f"t.{engine}"
    connection: Any = sqlite3.connect(file) if engine == "sqlite" else duckdb.connect(file)
    connection.execute(f"CREATE TABLE t ({', '.join(f'{name} {KINDS[kind]}' for name, kind in columns.items())})")
    rows = [[_value(kind, row) for kind in columns.values()] for row in range(ROWS)]
    insert = connection.executemany if engine == "sqlite" else partial(insert_rows, connection)
    insert(f"INSERT INTO t VALUES ({', '.join('?' * len(columns))})", rows)
    connection.commit()
    connection.close()
    spec = SourceSpec("s", folder, url=f"{engine}:///{file.name}")
    (table,) = suggest_checks([SuggestionTarget(Target(Subject("t", "t", ()), spec))], SystemClock()).tables
    return table


def _fresh(table: TableSuggestions) -> Proposal | None:
    return next((proposal for proposal in table.proposals if proposal.kind == "freshness"), None)


@pytest.mark.parametrize("engine", ["sqlite", "duckdb"])
@pytest.mark.parametrize(
    ("columns", "chosen", "epoch", "why"),
    [
        ({"id": "number", "created": "seconds"}, "created", "seconds", "every number is a time since 2000 in seconds"),
        ({"id": "number", "ts": "milliseconds"}, "ts", "milliseconds", "in milliseconds since 1970; 59 gaps"),
        ({"id": "number", "order_date": "iso day"}, "order_date", None, "ISO 8601 text; 59 gaps"),
        ({"seen_at": "time", "_airbyte_extracted_at": "iso"}, "_airbyte_extracted_at", None, "ISO 8601 text; 59 gaps"),
        ({"seen_at": "time", "etl_date": "day"}, "etl_date", None, "59 gaps"),
        ({"seen_at": "time", "load_ts": "seconds"}, "load_ts", "seconds", "59 gaps"),
        ({"created_by": "word", "seen_at": "iso"}, "seen_at", None, "ISO 8601 text; 59 gaps"),
        ({"updated": "word", "n": "number", "session_id": "seconds"}, None, None, ""),
        ({"settled_at": "time", "payload": "iso", "birth_date": "day", "expires": "seconds"}, "settled_at", None, ""),
        ({"birth_date": "iso day", "expires": "seconds"}, None, None, ""),
    ],
)
def test_content_and_name_say_which_column(
    engine: str, columns: Mapping[str, str], chosen: str | None, epoch: str | None, why: str, tmp_path: Path
) -> None:
    """A column is chosen by its name where it holds times; each proposal has its evidence, and passes now."""
    proposal = _fresh(_suggested(engine, tmp_path, columns))
    assert (None if proposal is None else proposal.columns[0]) == chosen
    if proposal is not None and proposal.check is not None and proposal.now is not None:
        assert (proposal.check.get("epoch"), proposal.now.status) == (epoch, "pass")
        assert why in proposal.why


def test_a_load_time_in_seconds_becomes_a_check(tmp_path: Path) -> None:
    """Thirty gaps and the name make it sure; it is written with its unit, and without a time zone."""
    table = _suggested("duckdb", tmp_path, {"id": "number", "loaded_at": "seconds"})
    lines = [line for line in check_lines(table, show_values=False) if "freshness" in line]
    assert lines == ["- {type: freshness, column: loaded_at, max_age: 2d, epoch: seconds}"]
