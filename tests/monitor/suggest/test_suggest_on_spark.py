"""Checks are proposed for tables of Spark as for those of any other source."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from monitor.clock import SystemClock
from monitor.scan.results import Subject, Target
from monitor.suggest.catalogue import read_catalogue
from monitor.suggest.suggest import SuggestionTarget, suggest_checks
from sources import SourceSpec

pytestmark = [
    pytest.mark.spark,
    pytest.mark.filterwarnings("ignore::ResourceWarning"),  # Spark's bridge to Java leaves sockets to the collector
]
ROWS = 4_500


@pytest.fixture
def shop(spark_session: Any) -> Iterator[None]:
    """Make customers and their visits: a key with a copy, a NULL, NaN, codes, and a zip code that decides its city."""
    now = datetime.now(UTC).replace(tzinfo=None)
    customers = [(at, f"C-{at:05}") for at in range(900)]
    visits = [
        (
            at if at != 7 else 8,
            at * 7919 % 900,
            f"Z{at * 31 % 40}",
            None if at == 11 else f"city {at * 31 % 40 // 2}",
            float("nan") if at == 13 else at / 4,
            now - timedelta(hours=(ROWS - at) // 10),
        )
        for at in range(ROWS)
    ]
    made = {
        "customer": (customers, "customer_id int, code string"),
        "visit": (
            visits,
            "id int, customer_id int, zip string, city string, paid double, loaded_at timestamp_ntz",
        ),
    }
    for name, (rows, types) in made.items():
        spark_session.createDataFrame(rows, types).write.mode("overwrite").saveAsTable(name)
    yield
    for name in made:
        spark_session.sql(f"DROP TABLE {name}")


@pytest.mark.usefixtures("shop")
def test_proposals(tmp_path: Path) -> None:
    """All kinds of checks are proposed; a copy of a key and a NULL fail now."""
    spec = SourceSpec("lake", tmp_path, spark="local[2]")
    targets = [
        SuggestionTarget(Target(Subject(entry.name, entry.name, ()), spec), entry.key, entry.columns)
        for entry in read_catalogue(spec, only={"customer", "visit"})
    ]
    tables = {table.name: table for table in suggest_checks(targets, SystemClock()).tables}
    assert {table.problem for table in tables.values()} == {None}
    found = {
        (name, item.kind, item.columns): item.now.status.value
        for name, table in tables.items()
        for item in table.proposals
        if item.now is not None
    }
    assert found["customer", "key", ("customer_id",)] == "pass"
    assert found["customer", "pattern", ("code",)] == "pass"
    assert found["visit", "key", ("id",)] == "fail"
    assert found["visit", "not_null", ("city",)] == "fail"
    assert found["visit", "foreign_key", ("customer_id",)] == "pass"
    assert found["visit", "functional_dependency", ("zip", "city")] == "pass"
    assert found["visit", "freshness", ("loaded_at",)] == "pass"
    assert "unknown" not in found.values()
