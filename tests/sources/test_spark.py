"""Spark, by a master and by Spark Connect."""

import socket
import subprocess
import sys
import traceback
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from sources import QueryFailed, SourceSpec, TableNotFound, TimedOut, Unreachable, open_source
from sources._contract import Source
from sources._deadline import Deadlines

pytestmark = [
    pytest.mark.spark,
    pytest.mark.filterwarnings("ignore::ResourceWarning"),  # Spark's bridge to Java leaves sockets to the collector
]

SERVER = """
import sys
from pyspark.sql import SparkSession
settings = {"spark.ui.enabled": "false", "spark.plugins": "org.apache.spark.sql.connect.SparkConnectPlugin",
            "spark.connect.grpc.binding.port": sys.argv[1], "spark.sql.warehouse.dir": sys.argv[2]}
builder = SparkSession.builder.master("local[2]")
for name, value in settings.items():
    builder = builder.config(name, value)
session = builder.getOrCreate()
session.sql("CREATE TABLE orders USING parquet AS SELECT 1 AS id, TIMESTAMP_LTZ '2026-01-01 00:00:00+09:00' AS at")
print("up", flush=True)
sys.stdin.read()
"""
ALONE = """
import sys
from datetime import timedelta
from pathlib import Path
from pyspark.sql import SparkSession
from sources import SourceSpec, SourceError, open_source
for _ in range(2):
    with open_source(SourceSpec("alone", Path(), spark="local[2]")) as source:
        print(source.fetch("SELECT 1 AS one"), source.tables())
        try:
            source.fetch("SELECT CAST('canary' || rand() AS INT) AS x FROM range(3)")
        except SourceError as error:
            print(error)
    print(SparkSession.getActiveSession())
"""


def source_of(address: str, **rest: Any) -> Source:
    """Declare the source."""
    return open_source(SourceSpec("cluster", Path(), spark=address, **rest))


@pytest.fixture
def connect(tmp_path: Path) -> Iterator[str]:
    """Yield the address of a Spark Connect server of its own process."""
    port = _free_port()
    command = [sys.executable, "-c", SERVER, str(port), str(tmp_path / "warehouse")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as server:
        assert server.stdout is not None
        assert server.stdout.readline() == b"up\n"
        yield f"sc://127.0.0.1:{port}"
        server.communicate()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def test_a_connect_server_is_a_source_like_any_other(connect: str) -> None:
    """By Spark Connect tables are found, measured and framed, statements stopped, and nothing is written."""
    endless = "SELECT count(*) AS n FROM range(1000000000000) WHERE id % 7 = rand() * 7"
    with source_of(connect, query_timeout=timedelta(seconds=60)) as source:
        assert source.tables() == ["orders"]
        orders = source.table("orders")
        assert source.fetch(source.compile(orders)) == [{"id": 1, "at": datetime(2025, 12, 31, 15, tzinfo=UTC)}]
        assert list(source.frame("orders", ["id"], 5)["id"]) == [1]
        for name in ("ordres", "nowhere.orders", "no.where.orders"):
            with pytest.raises(TableNotFound):
                source.table(name)
        with pytest.raises(QueryFailed, match="only one SELECT"):
            source.fetch("DROP TABLE orders")
        with pytest.raises(QueryFailed, match="Spark refused the statement: CAST_INVALID_INPUT") as caught:
            source.fetch("SELECT CAST('canary' AS INT) AS x")
        assert "canary" not in str(caught.value)
    with source_of(connect, query_timeout=timedelta(seconds=2)) as source, pytest.raises(TimedOut):
        source.fetch(endless)


@pytest.mark.parametrize(
    "address", ["sc://127.0.0.1:{port}/;token=canary", "spark://127.0.0.1:{port}", "sc://canary:x", "sc://[canary"]
)
def test_a_server_that_is_not_there_is_unreachable_at_once(address: str) -> None:
    """Spark would try for ten minutes; we knock first, and keep the secret of the address."""
    with pytest.raises(Unreachable, match="no answer from the address within 2 s; see connect_timeout") as caught:
        source_of(address.format(port=_free_port()), connect_timeout=timedelta(seconds=2)).__enter__()
    assert "canary" not in "".join(traceback.format_exception(caught.value))


def test_a_session_that_cannot_be_asked_to_stop_is_asked_again() -> None:
    """A network that fails for a moment does not leave statements without a deadline."""
    from pyspark.errors import PySparkException

    from sources.spark import Spark

    asked, again = [], Event()

    class Session:
        def interruptAll(self) -> None:  # noqa: N802 - Spark's name
            asked.append(1)
            if len(asked) > 1:
                again.set()
            raise PySparkException("the server is away")

    source: Any = Spark.__new__(Spark)
    source._session = Session()
    with Deadlines(timedelta(0), source._interrupt) as deadlines, deadlines.work():
        assert again.wait(60)


def test_a_session_of_somebody_else_is_left_running(spark_session: Any) -> None:
    """A session that runs already is used beside its owner, who keeps it."""
    with source_of("local[2]") as source:
        assert source.fetch("SELECT 1 AS one") == [{"one": 1}]
    assert spark_session.sql("SELECT 1 AS one").collect()[0].one == 1


def test_a_session_of_our_own_ends_with_the_pass_and_logs_no_value() -> None:
    """Without a running session one is made and ended, twice; neither Spark nor its Python side logs a cell."""
    done = subprocess.run([sys.executable, "-c", ALONE], check=True, capture_output=True, text=True, timeout=280)
    result = "source 'alone': Spark refused the statement: CAST_INVALID_INPUT (NumberFormatException)"
    assert done.stdout.splitlines() == ["[{'one': 1}] []", result, "None"] * 2
    assert "canary" not in done.stderr
