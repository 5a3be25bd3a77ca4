"""The remedies on tables of engines: what comes out is what comes out of a file with the same rows."""

import json
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any, TypeAlias
from uuid import UUID

import duckdb
import pytest

from monitor.cli import run
from monitor.terminal.output import Invocation
from tests.duckdb_rows import insert_rows

Rows: TypeAlias = Sequence[tuple[Any, ...]]
Engine: TypeAlias = Callable[[Rows], str]
"""Makes the table `people` and gives what a configuration says of its source."""

CONFIG = """\
version: 1
project: clinic
sources: {{lake: {source}}}
tables: [{{name: people, source: lake}}]
"""
COLUMNS = {
    "id": "BIGINT",
    "age": "INT",
    "zip": "VARCHAR(5)",
    "joined": "DATE",
    "pay": "DECIMAL(12,2)",
    "weight": "REAL",
    "ill": "VARCHAR(9)",
}
HIERARCHIES = ("--hierarchy", "age=5,10,20", "--hierarchy", "zip=mask:1,2,5", "--hierarchy", "joined=month,year")
ASKED = ("-q", "age,zip,joined", *HIERARCHIES, "--k", "4", "--suppress", "5%")


def people() -> Rows:
    """Return 240 people: postcodes with zeros in front or none, pay with cents, weights that no float64 is."""
    codes, ills = ("01234", "01239", "22311", None), ("flu", "cold", "ulcer", "a, b", None)
    days = [date(2020 + number % 2, 1 + number % 3, 1 + number % 5) for number in range(240)]
    return [
        (
            number,
            20 + number * 7 % 45,
            codes[number * 5 % 4],
            day,
            Decimal(number % 6 * 125025) / 100,
            number % 9 / 10,
            ills[number % 5],
        )
        for number, day in enumerate(days)
    ]


def _created(types: dict[str, str]) -> str:
    return f"CREATE TABLE people ({', '.join(f'{name} {kind}' for name, kind in types.items())})"


def _sqlite(rows: Rows) -> str:
    types = COLUMNS | {"pay": "REAL", "joined": "TEXT"}
    with closing(sqlite3.connect("people.db")) as connection, connection:
        connection.execute(_created(types))
        plain = [(*row[:3], str(row[3]), float(row[4]), *row[5:]) for row in rows]
        connection.executemany("INSERT INTO people VALUES (?, ?, ?, ?, ?, ?, ?)", plain)
    return "{url: 'sqlite:///people.db'}"


def _duckdb(rows: Rows) -> str:
    with duckdb.connect("people.db") as connection:
        connection.execute(_created(COLUMNS))
        insert_rows(connection, "INSERT INTO people VALUES (?, ?, ?, ?, ?, ?, ?)", rows)
    return "{url: 'duckdb:///people.db'}"


_SPARK = (pytest.mark.spark, pytest.mark.filterwarnings("ignore::ResourceWarning"))  # of its bridge to Java


@pytest.fixture(params=["sqlite", "duckdb", "postgresql", pytest.param("spark", marks=_SPARK)])
def engine(request: pytest.FixtureRequest) -> Iterator[Engine]:
    """Yield what makes the table in each engine."""
    yield _engine(request)
    if request.param == "postgresql":
        _gone(request.getfixturevalue("postgres_url"))


def _engine(request: pytest.FixtureRequest) -> Engine:
    kind: str = request.param
    if kind in {"sqlite", "duckdb"}:
        return {"sqlite": _sqlite, "duckdb": _duckdb}[kind]
    if kind == "postgresql":
        url: str = request.getfixturevalue("postgres_url")
        return lambda rows: _postgresql(url, rows)
    session = request.getfixturevalue("spark_session")
    return lambda rows: _spark(session, rows)


def _gone(url: str) -> None:
    import psycopg

    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("DROP TABLE IF EXISTS people")


def _postgresql(url: str, rows: Rows) -> str:
    import psycopg

    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("DROP TABLE IF EXISTS people")
        connection.execute(_created(COLUMNS).encode())
        with connection.cursor() as cursor:
            cursor.executemany("INSERT INTO people VALUES (%s, %s, %s, %s, %s, %s, %s)", rows)
    return f"{{url: '{url}'}}"


def _spark(session: Any, rows: Rows) -> str:
    session.sql("DROP TABLE IF EXISTS people")
    told = {"REAL": "FLOAT", "VARCHAR(5)": "STRING", "VARCHAR(9)": "STRING"}
    kinds = ", ".join(f"{name} {told.get(kind, kind)}" for name, kind in COLUMNS.items())
    session.createDataFrame(list(rows), kinds).write.saveAsTable("people")
    return "{spark: 'local[2]'}"


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in an empty folder."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def _configured(source: str) -> None:
    Path("tablewatch.yaml").write_text(CONFIG.format(source=source), encoding="utf-8")


def _file(rows: Rows) -> str:
    """Make the same table as a file."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    kinds = (pa.int64(), pa.int32(), pa.string(), pa.date32(), pa.decimal128(12, 2), pa.float32(), pa.string())
    columns = [pa.array(cells, kind) for cells, kind in zip(zip(*rows, strict=True), kinds, strict=True)]
    pq.write_table(pa.table(columns, names=list(COLUMNS)), "same.parquet")
    return "same.parquet"


def _value(*words: str, capsys: pytest.CaptureFixture[str]) -> Any:
    code = run(["privacy", "remedy", *words, "--format", "json"], Invocation())
    out = capsys.readouterr().out
    assert code == 0, out
    return json.loads(out)


def _rows_of(path: str) -> list[tuple[Any, ...]]:
    """Read an output: texts as they stand there, numbers as numbers."""
    columns = "age::TEXT, zip::TEXT, left(joined::TEXT, 10), round(pay::DOUBLE, 2), round(weight::DOUBLE, 6), ill"
    whole = path if path.endswith(".parquet") else f"read_csv({path!r}, all_varchar = true)"
    source = f"'{whole}'" if path.endswith(".parquet") else whole
    return sorted(duckdb.sql(f"SELECT id::INT, {columns} FROM {source}").fetchall(), key=lambda row: row[0])


@pytest.mark.combinations
@pytest.mark.parametrize("end", ["csv", "parquet"])
@pytest.mark.parametrize(
    "words",
    [
        ("generalise", *ASKED),
        ("generalise", "-q", "age,zip", "--search", "mondrian"),
        ("suppress", "-q", "zip,joined", "--k", "4"),
        ("suppress", "-q", "zip,joined,ill", "--k", "9", "--cells"),
        ("code", "--top", "age=60,pay=5000.5", "--bottom", "age=25"),
        ("code", "--top", "age=60", "--as", "label"),
    ],
    ids=["generalise", "mondrian", "suppress", "cells", "code", "label"],
)
def test_an_engine_gives_what_a_file_gives(
    engine: Engine, words: tuple[str, ...], end: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Rows, levels, k and what was lost are those of a Parquet file of the same rows."""
    given = _file(people())
    wanted = _value(words[0], given, f"wanted.{end}", *words[1:], capsys=capsys)
    _configured(engine(people()))
    found = _value(words[0], "people", f"found.{end}", *words[1:], capsys=capsys)
    assert _rows_of(f"found.{end}") == _rows_of(f"wanted.{end}")
    same = ("rows", "rows_suppressed", "rows_changed", "cells_changed", "guarantee")
    assert {name: found["bill"][name] for name in same} == {name: wanted["bill"][name] for name in same}
    assert found["bill"]["information_lost"] == pytest.approx(wanted["bill"]["information_lost"])
    assert found.get("levels") == wanted.get("levels")


def test_an_engine_has_the_same_lattice(engine: Engine, capsys: pytest.CaptureFixture[str]) -> None:
    """Counted in the engine, the nodes that hold are those of a file."""
    wanted = _value("lattice", _file(people()), *ASKED, capsys=capsys)
    _configured(engine(people()))
    found = _value("lattice", "people", *ASKED, capsys=capsys)
    for one, other in zip(found["listed"], wanted["listed"], strict=True):
        assert (one["levels"], one["is_minimal"]) == (other["levels"], other["is_minimal"])
        assert one["utilities"]["total"]["loss"] == pytest.approx(other["utilities"]["total"]["loss"])
    assert found["holding"] > found["minimal"] > 0


@pytest.mark.combinations
@pytest.mark.parametrize("end", ["csv", "parquet"])
@pytest.mark.parametrize("limit", ["weight=0.9", "weight=0.9:ordered", "pay=0.9:ordered", "ill=0.9", "joined=0.9"])
def test_sensitive_values_are_found_again(
    engine: Engine, limit: str, end: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whatever type the engine, and then the file, gives them: t is measured against the table that was given."""
    name = limit.partition("=")[0]
    words = ("-q", "zip", "--k", "4", "--t", limit)
    wanted = _value("suppress", _file(people()), "wanted.parquet", *words, capsys=capsys)
    _configured(engine(people()))
    ordered = limit.replace(":ordered", "") if name == "joined" else limit
    found = _value("suppress", "people", f"found.{end}", *words[:-1], ordered, capsys=capsys)
    reached = [value["bill"]["guarantee"]["reached"]["t"][name]["t"] for value in (found, wanted)]
    assert reached[0] == pytest.approx(reached[1], abs=1e-12)


def test_what_postgresql_alone_has(postgres_url: str, capsys: pytest.CaptureFixture[str]) -> None:
    """UUIDs become texts, and JSON, of which there is no equality, is reported."""
    import psycopg

    columns = "i, gen_random_uuid() AS u, '{}'::json AS j, 'x' AS a"
    made = f"CREATE TABLE people AS SELECT {columns} FROM generate_series(1, 9) i"
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute("DROP TABLE IF EXISTS people")
        connection.execute(made.encode())
    _configured(f"{{url: '{postgres_url}'}}")
    for end in ("csv", "parquet"):
        for words in (
            ("suppress", "-q", "a"),
            ("generalise", "-q", "u", "--hierarchy", "u=flat"),
            ("code", "--top", "i=5"),
        ):
            _value(words[0], "people", f"{words[0]}.{end}", *words[1:], capsys=capsys)
        (texts,) = zip(*duckdb.sql(f"SELECT u::TEXT FROM 'suppress.{end}'").fetchall(), strict=True)
        assert len({UUID(text) for text in texts}) == 9
    assert run(["privacy", "remedy", "suppress", "people", "j.csv", "-q", "j", "--format", "json"], Invocation()) == 2
    assert "json has no =" in json.loads(capsys.readouterr().out)["error"]
    _gone(postgres_url)
