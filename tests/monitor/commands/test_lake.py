"""The first commands on Delta and Iceberg tables."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pytest

from monitor.cli import run
from monitor.terminal.output import Invocation
from sources import SourceSpec
from tests.sources.lake import LAKES, lake, write

_SOURCES = {"delta": "lake", "iceberg": "iceberg+sqlite:///lake/lake.db"}


def _run(*words: str) -> int:
    return run(words, Invocation())


@pytest.fixture(params=LAKES)
def kind(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Work in a folder beside two tables of a kind."""
    name = str(request.param)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "lake").mkdir()
    assert isinstance(lake(name, tmp_path), SourceSpec)
    start = datetime.now(UTC).replace(microsecond=0)
    times = [start - timedelta(hours=hour) for hour in range(50)]
    for table in ("orders", "refunds"):
        write(name, tmp_path / "lake", table, pa.table({"id": list(range(50)), "loaded_at": times}))
    return name


def test_init_writes_one_source_whose_checks_pass(kind: str, capsys: pytest.CaptureFixture[str]) -> None:
    """It knows a folder of Delta tables by its logs, a catalogue by its address; `doctor` and `suggest` read them."""
    assert _run("init", "--source", _SOURCES[kind], "--format", "json") == 0
    result = json.loads(capsys.readouterr().out)
    assert (result["sources"], result["tables"]) == (1, 2)
    assert _run("config", "check") == 0
    assert _run("check") == 0
    assert _run("doctor", "--format", "json") in {0, 1}
    findings = capsys.readouterr().out
    assert "holds 2 tables, 2 of them monitored" in findings
    table = "orders" if kind == "delta" else "shop.orders"
    assert _run("suggest", table) == 0
    assert f"{table}  50 rows" in capsys.readouterr().out


def test_a_check_counts_the_rows_of_the_newest_version(kind: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A key that was written twice is found, in a partition or not."""
    _run("init", "--source", _SOURCES[kind])
    write(kind, Path("lake").resolve(), "orders", pa.table({"id": [7], "loaded_at": [datetime.now(UTC)]}))
    capsys.readouterr()
    assert _run("check") == 1
    assert "duplicate" in capsys.readouterr().out
