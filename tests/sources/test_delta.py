"""What only Delta has: column mapping, addresses, names of folders, a log; see `test_lake.py`."""

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sources import QueryFailed, Unreachable
from sources import open_source as opened
from tests.sources.lake import ROWS, count, lake, write

pytestmark = pytest.mark.delta

KIND = "delta"
_MOMENT = datetime(2026, 10, 25, 1, 30, tzinfo=UTC)


def test_columns_with_other_names_in_the_files_are_read(tmp_path: Path) -> None:
    """Column mapping gives each column a name of its own in the files."""
    from deltalake import write_deltalake

    mapped = {"delta.columnMapping.mode": "name"}
    write_deltalake(tmp_path / "orders", pa.table(dict(ROWS)), configuration=mapped)
    with opened(lake(KIND, tmp_path)) as source:
        assert list(source.table("orders").columns) == list(ROWS)
        assert count(source, "note = 'é' AND x > 1") == 1


def test_moments_that_spark_wrote_in_96_bits_come_exactly(tmp_path: Path) -> None:
    """Nanoseconds since noon of a Julian day, which Arrow would take for nanoseconds since 1970."""
    data = pa.table({"at": pa.array([_MOMENT, datetime(1600, 1, 1, tzinfo=UTC)], pa.timestamp("us", "UTC"))})
    write(KIND, tmp_path, "orders", data)
    [file] = (tmp_path / "orders").glob("*.parquet")
    pq.write_table(data, file, use_deprecated_int96_timestamps=True)
    with opened(lake(KIND, tmp_path)) as source:
        rows = source.fetch('SELECT "at" FROM orders ORDER BY 1')
    assert [row["at"] for row in rows] == sorted(data["at"].to_pylist())


def test_names_of_partitions_that_a_path_cannot_hold_are_read(tmp_path: Path) -> None:
    """A slash, a percent sign and Unicode are escaped in the names of folders, once more in the log."""
    notes = ["a/b", "50%", "日本", "a b", None]
    write(KIND, tmp_path, "orders", pa.table({"id": range(5), "note": notes}), by="note")
    with opened(lake(KIND, tmp_path)) as source:
        rows = source.fetch("SELECT note FROM orders ORDER BY id")
    assert [row["note"] for row in rows] == notes


def test_an_address_is_a_table(tmp_path: Path) -> None:
    """The way of object stores, on a folder."""
    write(KIND, tmp_path, "orders", pa.table({"id": [1]}))
    spec = replace(lake(KIND, tmp_path), delta=f"file://{tmp_path}/orders")
    with opened(spec) as source:
        assert source.tables() == ["orders"]
        assert count(source, "id = 1") == 1


def test_two_folders_of_one_name_are_refused(tmp_path: Path) -> None:
    """One table would hide the other."""
    for folder in ("a", "b"):
        write(KIND, tmp_path / folder, "orders", pa.table({"id": [1]}))
    spec = replace(lake(KIND, tmp_path), delta="*/*")
    with pytest.raises(Unreachable, match="would both be table 'orders'; narrow the glob"), opened(spec):
        pass


def test_a_broken_log_is_an_error_of_its_table(tmp_path: Path) -> None:
    """The others are read."""
    for name in ("orders", "refunds"):
        write(KIND, tmp_path, name, pa.table({"id": [1]}))
    [log] = (tmp_path / "refunds" / "_delta_log").glob("*.json")
    log.write_text("{")
    with opened(lake(KIND, tmp_path)) as source:
        assert count(source, "id = 1") == 1
        with pytest.raises(QueryFailed, match="the log of 'refunds' is incomplete"):
            source.table("refunds")
