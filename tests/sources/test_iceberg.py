"""What only Iceberg has: a catalogue, columns by number, files of deletes; see `test_lake.py`."""

from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sources import IcebergCatalog, Unreachable
from sources import open_source as opened
from tests.sources.lake import count, iceberg_catalog, lake, write

pytestmark = pytest.mark.iceberg

KIND = "iceberg"


@pytest.fixture(autouse=True)
def _no_configuration_of_this_machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PYICEBERG_HOME", str(tmp_path))


def test_without_a_namespace_tables_carry_theirs(tmp_path: Path) -> None:
    """Also in statements."""
    write(KIND, tmp_path, "orders", pa.table({"id": [1]}))
    with opened(replace(lake(KIND, tmp_path), iceberg=IcebergCatalog(uri="sqlite:///lake.db"))) as source:
        assert source.tables() == ["shop.orders"]
        assert source.fetch("SELECT id FROM shop.orders") == [{"id": 1}]
        table = source.table("shop.orders")
        assert source.fetch(source.compile(table)) == [{"id": 1}]


@pytest.mark.parametrize("change", ["added", "renamed", "widened", "taken"])
def test_columns_are_found_by_number_in_older_files(change: str, tmp_path: Path) -> None:
    """Whether one was added, renamed, given a wider type, or its name was taken by another."""
    write(KIND, tmp_path, "orders", pa.table({"id": pa.array([1], pa.int32()), "note": ["a"]}))
    with closing(iceberg_catalog(tmp_path)) as catalog:
        table = catalog.load_table("shop.orders")
        _evolve(table, change)
        table = catalog.load_table("shop.orders")
        schema = table.scan().to_arrow().schema
        table.append(
            pa.table(
                [pa.array([value], field.type) for value, field in zip([2, "b", "c"], schema, strict=False)],
                schema=schema,
            )
        )
    expected = {
        "added": [(1, "a", None), (2, "b", "c")],
        "renamed": [(1, "a"), (2, "b")],
        "widened": [(1, "a"), (2, "b")],
        "taken": [(1, None), (2, "b")],
    }
    with opened(lake(KIND, tmp_path)) as source:
        rows = source.fetch("SELECT * FROM orders ORDER BY id")
    assert [tuple(row.values()) for row in rows] == expected[change]


def test_rows_that_a_file_of_deletes_names_are_gone(tmp_path: Path, monkeypatch: Any) -> None:
    """Other files of the table are read as they lie."""
    from pyiceberg.manifest import DataFile, DataFileContent, FileFormat
    from pyiceberg.table import DataScan

    for at in range(2):
        write(KIND, tmp_path, "orders", pa.table({"id": [10 * at, 10 * at + 1]}))
    plan = DataScan.plan_files

    def with_deletes(scan: DataScan) -> Any:
        first, *others = plan(scan)
        deletes = tmp_path / "deletes.parquet"
        pq.write_table(pa.table({"file_path": [first.file.file_path], "pos": pa.array([0], pa.int64())}), deletes)
        first.delete_files.add(
            DataFile.from_args(
                content=DataFileContent.POSITION_DELETES, file_path=f"file://{deletes}", file_format=FileFormat.PARQUET,
                record_count=1, file_size_in_bytes=deletes.stat().st_size,
            )
        )  # fmt: skip
        return [first, *others]

    monkeypatch.setattr(DataScan, "plan_files", with_deletes)  # the library reads such files, and writes none
    with opened(lake(KIND, tmp_path)) as source:
        assert sum(count(source, f"id = {number}") for number in (0, 1, 10, 11)) == 3


def test_a_catalogue_is_not_made_and_not_written(tmp_path: Path) -> None:
    """A database that is none is an error, and stays as it is."""
    (tmp_path / "lake.db").touch()
    with (
        pytest.raises(Unreachable, match="the catalogue does not answer, or is none"),
        opened(lake(KIND, tmp_path)) as source,
    ):
        source.tables()
    assert (tmp_path / "lake.db").read_bytes() == b""


def test_an_unknown_namespace_and_an_unknown_catalogue_are_unreachable(tmp_path: Path) -> None:
    """Neither is an empty source."""
    write(KIND, tmp_path, "orders", pa.table({"id": [1]}))
    spec = lake(KIND, tmp_path)
    for declared in (IcebergCatalog(uri="sqlite:///lake.db", namespace="none"), IcebergCatalog(catalog="nowhere")):
        with pytest.raises(Unreachable), opened(replace(spec, iceberg=declared)) as source:
            source.tables()


def _evolve(table: Any, change: str) -> None:
    from pyiceberg.types import LongType, StringType

    with table.update_schema(allow_incompatible_changes=True) as schema:
        if change == "added":
            schema.add_column("more", StringType())
        elif change == "renamed":
            schema.rename_column("note", "text")
        elif change == "widened":
            schema.update_column("id", LongType())
        else:
            schema.delete_column("note")
    if change == "taken":
        with table.update_schema() as schema:
            schema.add_column("note", StringType())
