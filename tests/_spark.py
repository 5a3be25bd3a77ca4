"""One Spark session for all tests of a process."""

import os
import sys
from collections.abc import Iterator
from contextlib import chdir
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture(scope="session")
def spark_session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Yield a Spark session that holds the tables; sources make sessions of their own beside it."""
    from pyspark.sql import SparkSession

    warehouse = str(tmp_path_factory.mktemp("warehouse"))
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.sql.shuffle.partitions", "2")  # not 200 for a few rows
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # tasks need the libraries of the tests
    with chdir(Path(__file__).parents[1]):  # its Python workers live where Java was started, and folders of tests go
        session = builder.config("spark.sql.warehouse.dir", warehouse).getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    session.sql(
        "CREATE TABLE orders USING parquet AS "
        "SELECT id, CAST(amount AS DECIMAL(10, 2)) AS amount, note, placed_at FROM VALUES "
        "(1, 10.50, NULL, TIMESTAMP_NTZ '2026-01-01 10:00:00'), "
        "(2, 0.25, 'late', TIMESTAMP_NTZ '2026-01-02 10:00:00.5'), (3, NULL, 'gift', NULL) "
        "AS rows (id, amount, note, placed_at)"
    )
    session.sql("CREATE SCHEMA sales")
    session.sql("CREATE TABLE sales.refunds USING parquet AS SELECT 7 AS id")
    yield session
    session.stop()
