"""Two tables compare by value, whichever engines hold them."""

import re
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time
from decimal import Decimal
from functools import cache
from itertools import combinations_with_replacement
from pathlib import Path
from typing import Any

import duckdb
import ibis
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sources import Source, SourceSpec, open_source
from sources.canonical_text import CellKind, cell, cell_of_sqlite
from sources.table_diff import (
    ComparedColumns,
    DifferingKeys,
    DiffSide,
    NotComparable,
    TableDifference,
    difference,
    side_by_side,
)
from tests.duckdb_rows import insert_rows

TYPES: Mapping[str, str] = {
    "id": "BIGINT",
    "part": "TEXT",
    "amount": "DECIMAL(15, 4)",
    "x": "DOUBLE PRECISION",
    "note": "TEXT",
    "flag": "BOOLEAN",
    "day": "DATE",
    "made": "TIMESTAMP",
    "seen": "TIMESTAMPTZ",
    "clock": "TIME",
    "raw": "BYTEA",
}
"""In the words of PostgreSQL."""
_WORDS: Mapping[str, Mapping[str, str]] = {
    "mysql": {
        "TIMESTAMP": "DATETIME(6)",
        "TIMESTAMPTZ": "TIMESTAMP(6) NULL",
        "TIME": "TIME(6)",
        "BYTEA": "BLOB",
    },
    "sqlite": {"TIMESTAMPTZ": "TIMESTAMP", "BYTEA": "BLOB"},
    "duckdb": {"BYTEA": "BLOB"},
    "postgres": {},
}  # fmt: skip
AT = datetime(2026, 1, 31, 23, 59, 58, 120_000, UTC)
Row = tuple[Any, ...]


def _wall(*parts: int) -> datetime:
    return datetime(*parts, tzinfo=UTC).replace(tzinfo=None)  # type: ignore[misc, arg-type] # year, month, day ...


NOW = AT.replace(tzinfo=None)
NO_MORE = (None,) * 3
BIG, EARLY, MUCH = "日本'\"\\%_\n", _wall(1969, 12, 31, 23, 59, 59, 999_999), Decimal("12345678901.2345")
ROWS: Sequence[Row] = (
    (1, "a", Decimal("1.5"), 0.1, "\u00e9", True, date(2026, 1, 31), NOW, AT, time(1, 2, 3, 500_000), b"\0\xff"),
    (2, "A", Decimal(-100), 1e20, "", False, date(1970, 1, 1), NOW, AT.replace(microsecond=1), time(0), b""),
    (3, "a ", Decimal("0.0001"), -1.5e-7, *[None] * 7),
    (4, "\u00df", None, None, "a|b", True, date(9999, 12, 31), EARLY, AT.replace(year=2037), time.max, b"|"),
    (-5, "", MUCH, 123456789.125, BIG, False, date(1, 1, 1), _wall(1000, 1, 1), AT.replace(year=1999), time(12), b"a"),
    (6, "ss", Decimal(0), 0.0, " ", None, date(2024, 2, 29), NOW.replace(microsecond=0), AT, time(1), b"A"),
    (7, "b", Decimal(10**10), 1e15, "A", True, None, NOW, *NO_MORE),
    (8, "c", Decimal("99.9900"), 100000.0, "a", True, None, NOW, *NO_MORE),
    (9, "d", Decimal("-0.5"), 1 / 3, "aa", True, None, NOW, *NO_MORE),
)
NAMES = list(TYPES)
CHANGES: Mapping[str, tuple[int, Any]] = {
    "amount": (1, Decimal("1.5001")),
    "x": (9, 0.33333333333333337),
    "note": (8, "A"),
    "flag": (2, None),
    "day": (4, date(9999, 12, 30)),
    "made": (4, _wall(1969, 12, 31, 23, 59, 59, 999_998)),
    "seen": (2, AT.replace(microsecond=2)),
    "clock": (1, time(1, 2, 3, 500_001)),
    "raw": (6, b"a"),
}
"""By column: the key of a row, and its other value."""
POSTGRES = pytest.param("postgres", marks=pytest.mark.postgres)
MYSQL = pytest.param("mysql", marks=pytest.mark.mysql)
ENGINES = ("duckdb", "parquet", "sqlite", "postgres", "mysql")
_MARKS = {"postgres": pytest.mark.postgres, "mysql": pytest.mark.mysql}


def _pairs() -> Iterator[Any]:
    for pair in combinations_with_replacement(ENGINES, 2):
        marks = [_MARKS[name] for name in sorted(set(pair)) if name in _MARKS]
        yield pytest.param(pair, marks=marks, id="-".join(pair))


PAIRS = list(_pairs())


@dataclass
class Tables:
    """Makes tables in engines."""

    folder: Path
    request: pytest.FixtureRequest

    def make(
        self, engine: str, name: str, rows: Sequence[Row], types: Mapping[str, str] = TYPES
    ) -> tuple[SourceSpec, str]:
        """Make a table, and return where it is."""
        words = _WORDS["duckdb" if engine == "parquet" else engine]
        columns = ", ".join(f"{column} {words.get(kind, kind)}" for column, kind in types.items())
        make = f"CREATE TABLE {name} ({columns})"
        maker: Callable[..., SourceSpec] = getattr(self, f"_in_{engine}")
        return maker(name, make, rows), name

    def _in_duckdb(self, name: str, make: str, rows: Sequence[Row]) -> SourceSpec:
        file = self.folder / f"{name}.duckdb"
        with duckdb.connect(str(file)) as connection:
            _fill_duckdb(connection, name, make, rows)
        return SourceSpec(name, self.folder, url=f"duckdb:///{file.name}")

    def _in_parquet(self, name: str, make: str, rows: Sequence[Row]) -> SourceSpec:
        with duckdb.connect() as connection:
            _fill_duckdb(connection, name, make, rows)
            connection.execute(f"COPY {name} TO '{self.folder}/{name}.parquet' (FORMAT parquet)")
        return SourceSpec(name, self.folder, files=f"{name}.parquet")

    def _in_sqlite(self, name: str, make: str, rows: Sequence[Row]) -> SourceSpec:
        with closing(sqlite3.connect(self.folder / f"{name}.sqlite")) as connection:
            connection.execute(make)
            marks = ", ".join("?" * len(rows[0])) if rows else ""
            connection.executemany(f"INSERT INTO {name} VALUES ({marks})", [[_as_sqlite(v) for v in r] for r in rows])
            connection.commit()
        return SourceSpec(name, self.folder, url=f"sqlite:///{name}.sqlite")

    def _in_postgres(self, name: str, make: str, rows: Sequence[Row]) -> SourceSpec:
        import psycopg

        url = self.request.getfixturevalue("postgres_schema")
        with psycopg.connect(url, autocommit=True, options="-c TimeZone=UTC") as connection:
            connection.execute(make)
            with connection.cursor() as cursor:
                marks = ", ".join(["%s"] * len(rows[0])) if rows else ""
                cursor.executemany(f"INSERT INTO {name} VALUES ({marks})", rows)
        return SourceSpec(name, self.folder, url=url)

    def _in_mysql(self, name: str, make: str, rows: Sequence[Row]) -> SourceSpec:
        from sources.mysql import connect

        url = self.request.getfixturevalue("mysql_schema")
        with closing(connect(url)) as connection, closing(connection.cursor()) as cursor:
            cursor.execute(make)
            marks = ", ".join(["%s"] * len(rows[0])) if rows else ""
            values = [[v.replace(tzinfo=None) if isinstance(v, datetime) else v for v in row] for row in rows]
            cursor.executemany(f"INSERT INTO {name} VALUES ({marks})", values)
        return SourceSpec(name, self.folder, url=url)


def _fill_duckdb(connection: duckdb.DuckDBPyConnection, name: str, make: str, rows: Sequence[Row]) -> None:
    connection.execute("SET TimeZone = 'UTC'")
    connection.execute(make)
    if rows:
        insert_rows(connection, f"INSERT INTO {name} VALUES ({', '.join('?' * len(rows[0]))})", rows)


def _as_sqlite(value: Any) -> Any:
    if isinstance(value, Decimal):
        return str(value)
    if isinstance(value, date | time):
        return value.isoformat(*(" ",) if isinstance(value, datetime) else ())
    return value


@pytest.fixture
def tables(tmp_path: Path, request: pytest.FixtureRequest) -> Tables:
    """Return what makes tables."""
    return Tables(tmp_path, request)


def side(source: Source, name: str, **more: Any) -> DiffSide:
    """Return a side of a comparison."""
    return DiffSide(
        name=f"{source.name}.{name}",
        table=source.table(name),
        dialect=source.dialect,
        source=source,
        compile=source.compile,
        predicate=lambda _: ibis.literal(value=True),
        now=lambda *_: ibis.now(),
        **more,
    )


@contextmanager
def opened(place: tuple[SourceSpec, str], **more: Any) -> Iterator[DiffSide]:
    """Open the source of a table."""
    with open_source(place[0]) as source:
        yield side(source, place[1], **more)


def compared(
    left: tuple[SourceSpec, str],
    right: tuple[SourceSpec, str],
    *,
    of: Sequence[str] = ("id",),
    columns: Sequence[str] | None = None,
) -> TableDifference:
    """Compare two tables by checksums."""
    with opened(left) as one, side_by_side(one, opened(right), key=of, columns=columns) as comparison:
        return comparison.run()


def in_engine(left: tuple[SourceSpec, str], right: tuple[SourceSpec, str], *, of: Sequence[str]) -> TableDifference:
    """Compare two tables of one source by one statement."""
    with open_source(left[0]) as source:
        one, other = side(source, left[1]), side(source, right[1])
        columns = ComparedColumns.of(one, other, key=of)
        [row] = source.fetch(source.compile(difference(one, other, columns)))
        return TableDifference.of_row(row)


def changed() -> list[Row]:
    """Return the rows with all changes, without the key 3, with the key 10."""
    rows = {row[0]: list(row) for row in ROWS}
    for column, (key, value) in CHANGES.items():
        rows[key][NAMES.index(column)] = value
    del rows[3]
    rows[10] = [10, "new", *[None] * (len(NAMES) - 2)]
    return [tuple(row) for row in rows.values()]


def expected(left: Sequence[Row], right: Sequence[Row]) -> TableDifference:
    """Return what plain Python finds."""
    ones, others = ({row[0]: row for row in rows} for rows in (left, right))
    both = ones.keys() & others.keys()
    columns = {name: sum(ones[k][at] != others[k][at] for k in both) for at, name in enumerate(NAMES) if at}
    return TableDifference(
        len(left),
        len(right),
        len(ones.keys() - others.keys()),
        len(others.keys() - ones.keys()),
        sum(ones[k] != others[k] for k in both),
        columns=columns,
    )


@pytest.mark.parametrize("pair", PAIRS)
def test_every_pair_of_engines_agrees_on_equal_rows_and_on_each_change(pair: tuple[str, str], tables: Tables) -> None:
    """Equal rows are equal in any two engines, and a change of one value is a change of its column."""
    left = tables.make(pair[0], "old_rows", ROWS)
    same = tables.make(pair[1], "same_rows", ROWS[::-1])
    other = tables.make(pair[1], "new_rows", changed())
    assert compared(left, same) == expected(ROWS, ROWS)
    assert compared(left, other) == expected(ROWS, changed())
    assert expected(ROWS, changed()).columns == {"part": 0, **dict.fromkeys(CHANGES, 1)}


@pytest.mark.parametrize("pair", PAIRS)
def test_a_composite_key_of_texts_and_nulls(pair: tuple[str, str], tables: Tables) -> None:
    """Texts of a key differ by each letter, blanks included; NULL is a key of its own, and no empty text."""
    types = {"part": "TEXT", "id": "BIGINT", "x": "DOUBLE PRECISION"}
    rows = [("a", 1, 1.0), ("A", 1, 1.0), ("a ", 1, 1.0), ("", 1, 1.0), (None, 1, 1.0), ("a", None, 1.0)]
    rows.append(("\u00e9", 1, 2.0))
    others = [("a", 1, 2.0), ("A", 1, 1.0), ("a ", 1, 1.0), (None, 1, 3.0), ("a", None, 1.0), ("e\u0301", 1, 2.0)]
    left = tables.make(pair[0], "old_rows", rows, types)
    right = tables.make(pair[1], "new_rows", others, types)
    assert compared(left, right, of=("part", "id")) == TableDifference(7, 6, 2, 1, 2, columns={"x": 2})


@pytest.mark.parametrize("engine", ["duckdb", "sqlite", POSTGRES, MYSQL])
def test_one_statement_of_an_engine_finds_the_same(engine: str, tables: Tables) -> None:
    """Where one engine has both tables, one statement without hashes finds what checksums find."""
    if engine in {"duckdb", "sqlite"}:
        left, right = _in_one_file(engine, tables)
    else:
        left, right = tables.make(engine, "old_rows", ROWS), tables.make(engine, "new_rows", changed())
    assert in_engine(left, right, of=["id"]) == compared(left, right) == expected(ROWS, changed())


def _in_one_file(engine: str, tables: Tables) -> tuple[tuple[SourceSpec, str], tuple[SourceSpec, str]]:
    spec, name = tables.make(engine, "old_rows", ROWS)
    other, _ = tables.make(engine, "new_rows", changed())
    assert other.url is not None
    file = tables.folder / other.url.rpartition("/")[2]
    target = tables.folder / f"old_rows.{engine}"
    if engine == "duckdb":
        with duckdb.connect(str(target)) as connection:
            connection.execute(f"ATTACH '{file}' AS other; CREATE TABLE new_rows AS FROM other.new_rows")
    else:
        with closing(sqlite3.connect(target)) as connection:
            [[make]] = connection.execute("SELECT sql FROM sqlite_schema").fetchall()
            connection.execute(make.replace("old_rows", "new_rows"))
            connection.execute(f"ATTACH '{file}' AS other")
            connection.execute("INSERT INTO new_rows SELECT * FROM other.new_rows")
            connection.commit()
    return (spec, name), (spec, "new_rows")


def _numbers(keys: Sequence[int], value: int = 0) -> list[Row]:
    return [(key, str(key), value) for key in keys]


SKEWED = [*range(3000), *range(10**15, 10**15 + 3000), -(10**6)]
CASES: Mapping[str, Sequence[int]] = {
    "dense": range(20_000),
    "skewed": SKEWED,
    "wide": [-(2**63), *range(5000), 2**63 - 1],
}


@pytest.mark.parametrize("engine", ["sqlite", POSTGRES])
@pytest.mark.parametrize("key", ["id", "name"])
@pytest.mark.parametrize("case", CASES)
def test_ranges_of_keys_are_taken_apart(
    case: str, key: str, engine: str, tables: Tables, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However keys are spread, what differs is found, and few digests of rows are read."""
    types = {"id": "BIGINT", "name": "TEXT", "n": "BIGINT"}
    monkeypatch.setattr("sources.table_diff._READ_AT_ONCE", 50)
    monkeypatch.setattr("sources.table_diff._SMALL", 10)
    keys = CASES[case]
    rows = {row[0]: row for row in _numbers(keys)}
    others = dict(rows)
    changes = set(keys[3:2000:400])
    for changed_key in changes:
        others[changed_key] = (*rows[changed_key][:2], 1)
    del others[keys[2500]]
    others[-77] = (-77, "-77", 0)
    left = tables.make("duckdb", "old_rows", list(rows.values()), types)
    right = tables.make(engine, "new_rows", list(others.values()), types)
    by_column = {"id": 0, "name": 0, "n": 5}
    del by_column[key]
    assert compared(left, right, of=[key]) == TableDifference(len(rows), len(others), 1, 1, 5, columns=by_column)
    noted = DifferingKeys(limit=3)
    with opened(left) as one, side_by_side(one, opened(right), key=[key]) as comparison:
        comparison.run(noted)
        lefts, rights = comparison.rows_of([place for places in noted.places.values() for place in places])
    only_left, only_right = ({row["id"] for row in found} for found in (lefts, rights))
    assert (only_left - only_right, only_right - only_left) == ({keys[2500]}, {-77})
    assert only_left & only_right < changes
    assert len(only_left & only_right) == 3


def test_repeated_keys_are_counted(tables: Tables) -> None:
    """Keys of several rows are counted on each side, and their rows are never compared with another one."""
    types = {"id": "BIGINT", "name": "TEXT", "n": "BIGINT"}
    left = tables.make("duckdb", "old_rows", [*_numbers([1, 2, 2, 3]), (None, "", 0), (None, "", 0)], types)
    right = tables.make("sqlite", "new_rows", _numbers([1, 2, 3, 3], 7), types)
    assert compared(left, right) == TableDifference(6, 4, 2, 0, 1, 2, 1, {"name": 0, "n": 1})
    both = tables.make("duckdb", "all_rows", [*_numbers([1, 2, 2, 3])], types)
    with duckdb.connect(str(tables.folder / "all_rows.duckdb")) as connection:
        connection.execute(
            "CREATE TABLE o AS SELECT id, name, 7::BIGINT AS n FROM all_rows UNION ALL FROM all_rows WHERE id = 3"
        )
    assert in_engine(both, (both[0], "o"), of=["id"]) == TableDifference(4, 5, 0, 0, 1, 1, 2, {"name": 0, "n": 1})


@pytest.mark.parametrize(
    ("left", "right", "is_equal"),
    [
        (("DECIMAL(9, 2)", Decimal("0.10")), ("DOUBLE PRECISION", 0.1), True),
        (("DECIMAL(9, 2)", Decimal("0.10")), ("REAL", 0.1), False),
        (("DECIMAL(9, 7)", Decimal("0.0000010")), ("DOUBLE PRECISION", 1e-6), True),
        (("DECIMAL(9, 7)", Decimal("0.0001")), ("DOUBLE PRECISION", 1e-4), True),
        (("BIGINT", 10**15), ("DOUBLE PRECISION", 1e15), True),
        (("BIGINT", 7), ("DECIMAL(9, 2)", Decimal(7)), True),
        (("BOOLEAN", True), ("INTEGER", 1), True),
        (("DATE", date(2026, 1, 1)), ("TIMESTAMP", _wall(2026, 1, 1)), True),
        (("REAL", 0.1), ("REAL", 0.1), True),
        (("DOUBLE PRECISION", -0.0), ("BIGINT", 0), True),
        (("DOUBLE PRECISION", float("nan")), ("DOUBLE PRECISION", float("nan")), True),
        (("DOUBLE PRECISION", float("-inf")), ("DOUBLE PRECISION", float("inf")), False),
        (("DATE", date(2026, 1, 1)), ("DATE", None), False),
    ],
)
@pytest.mark.parametrize("engine", ["duckdb", POSTGRES])
def test_types_compare_by_value(
    left: tuple[str, Any], right: tuple[str, Any], *, is_equal: bool, engine: str, tables: Tables
) -> None:
    """Numbers of different types are equal if they are the same number, dates if they are the same time."""
    one = tables.make("duckdb", "old_rows", [(1, left[1])], {"id": "BIGINT", "v": left[0]})
    other = tables.make(engine, "new_rows", [(1, right[1])], {"id": "BIGINT", "v": right[0]})
    assert compared(one, other).changed == (not is_equal)


@pytest.mark.parametrize(
    ("left", "right", "why"),
    [
        (
            {"v": "TEXT"},
            {"v": "BIGINT"},
            "type string in old_rows.old_rows and int64 in new_rows.new_rows",
        ),
        ({"v": "TIMESTAMP"}, {"v": "TIMESTAMPTZ"}, "declare the time zone of the source"),
        ({"v": "TEXT"}, {"w": "TEXT"}, "column v is only in old_rows.old_rows; column w is only in new_rows.new_rows"),
        ({"v": "BIGINT[]"}, {"v": "BIGINT[]"}, "leave it out with 'columns'"),
    ],
)
def test_what_does_not_compare_is_refused(
    left: Mapping[str, str], right: Mapping[str, str], why: str, tables: Tables
) -> None:
    """Columns that are missing, or of types that do not compare, are named."""
    one = tables.make("duckdb", "old_rows", [], {"id": "BIGINT", **left})
    other = tables.make("duckdb", "new_rows", [], {"id": "BIGINT", **right})
    with pytest.raises(NotComparable, match=re.escape(why)):
        compared(one, other)
    with pytest.raises(NotComparable, match=r"column 'idd' not found in .*did you mean 'id'"):
        compared(one, other, of=["idd"], columns=[])


COLLATIONS: Mapping[str, str] = {
    "duckdb": "TEXT COLLATE NOCASE",
    "sqlite": "TEXT COLLATE NOCASE",
    "postgres": "TEXT COLLATE ci",
    "mysql": "VARCHAR(20) COLLATE utf8mb4_general_ci",
}
"""By engine: a type of texts where `a` is `A`."""


@pytest.mark.parametrize("engine", ["duckdb", "sqlite", POSTGRES, MYSQL])
def test_texts_differ_by_case_whatever_the_collation(
    engine: str, tables: Tables, request: pytest.FixtureRequest
) -> None:
    """A collation for which two texts are equal neither hides a change nor makes one key of two."""
    if engine == "postgres":
        import psycopg

        with psycopg.connect(request.getfixturevalue("postgres_schema"), autocommit=True) as connection:
            make = "CREATE COLLATION ci (provider = icu, locale = 'und-u-ks-level2', deterministic = false)"
            connection.execute(make)
    types = {"name": COLLATIONS[engine], "note": COLLATIONS[engine], "side": "INT"}
    rows = [("a", "b", 1), ("A", "b", 1), ("a", "B", 2), ("A", "b", 2), ("c", "b", 1), ("C", "b", 2)]
    every = tables.make(engine, "all_rows", rows, types)

    @contextmanager
    def rows_of(number: int) -> Iterator[DiffSide]:
        with opened(every) as whole:
            yield replace(whole, table=whole.table.filter(whole.table.side == number).drop("side"))

    expected_difference = TableDifference(3, 3, 1, 1, 1, columns={"note": 1})
    with rows_of(1) as one:
        other = replace(one, table=one.source.table("all_rows").filter(ibis._.side == 2).drop("side"))
        statement = difference(one, other, ComparedColumns.of(one, other, key=["name"]))
        [row] = one.source.fetch(one.compile(statement))
        assert TableDifference.of_row(row) == expected_difference
        with side_by_side(one, rows_of(2), key=["name"]) as comparison:
            assert comparison.run() == expected_difference


@pytest.mark.postgres
def test_columns_of_the_longest_names_are_told_apart(tables: Tables) -> None:
    """Names of columns as long as PostgreSQL takes them are neither cut nor taken for one another."""
    names = ["n" * 62 + end for end in "ab"]
    types = {"id": "BIGINT", **dict.fromkeys(names, "BIGINT")}
    left, right = (
        tables.make("postgres", name, [(1, 1, at)], types) for at, name in enumerate(("old_rows", "new_rows"))
    )
    assert in_engine(left, right, of=["id"]).columns == compared(left, right).columns == {names[0]: 0, names[1]: 1}


@pytest.mark.parametrize(("kind", "one", "other"), [("wall", "a|b", "a/b"), ("number", b"|", b"\\x7c")])
def test_values_of_a_wrong_type_have_texts_of_their_own(kind: str, one: Any, other: Any) -> None:
    """SQLite takes any value for any column; two that differ have two texts, of which none has a `|`."""
    texts = {cell_of_sqlite(kind, value) for value in (one, other)}
    assert len(texts) == 2
    assert not any("|" in str(text) for text in texts)


@pytest.mark.parametrize("engine", ["duckdb", POSTGRES])
def test_the_least_integer_compares_with_a_float(engine: str, tables: Tables) -> None:
    """The least whole number has no opposite in its type, and is compared."""
    left = tables.make(engine, "old_rows", [(1, -(2**63))], {"id": "BIGINT", "v": "BIGINT"})
    right = tables.make("sqlite", "new_rows", [(1, -1.0)], {"id": "BIGINT", "v": "DOUBLE PRECISION"})
    assert compared(left, right).columns == {"v": 1}


@pytest.mark.parametrize("engine", ["duckdb", "sqlite"])
@pytest.mark.parametrize("declared", [(True, False), (False, True), (True, True), (False, False)])
def test_wall_clocks_and_dates_compare_whatever_zone_is_declared(
    declared: tuple[bool, bool], engine: str, tables: Tables
) -> None:
    """A zone that one source declares changes neither dates nor wall clocks that both have without a zone."""
    types = {"id": "BIGINT", "day": "DATE", "made": "TIMESTAMP"}
    rows = [(1, date(2026, 1, 1), NOW), (2, date(2026, 1, 1), NOW)]
    left = tables.make("duckdb", "old_rows", rows, types)
    right = tables.make(engine, "new_rows", [rows[0], (2, date(2026, 1, 2), AT.replace(tzinfo=None, hour=1))], types)
    one, other = (
        opened(place, is_utc=lambda _, is_utc=is_utc: is_utc)
        for place, is_utc in zip((left, right), declared, strict=True)
    )
    with one as opened_one, side_by_side(opened_one, other, key=["id"]) as comparison:
        assert comparison.run().columns == {"day": 1, "made": 1}


def test_wall_clocks_of_utc_compare_with_times_of_a_zone(tables: Tables) -> None:
    """Where a source declares that its wall clocks are UTC's, they compare with times that know their zone."""
    left = tables.make("duckdb", "old_rows", [(1, NOW), (2, NOW)], {"id": "BIGINT", "v": "TIMESTAMP"})
    rows = [(1, AT), (2, AT.replace(hour=1))]
    right = tables.make("duckdb", "new_rows", rows, {"id": "BIGINT", "v": "TIMESTAMPTZ"})
    with opened(left, is_utc=lambda _: True) as one, side_by_side(one, opened(right), key=["id"]) as comparison:
        assert comparison.run().changed == 1


DIGITS = st.integers(-(10**18), 10**18)


@given(digits=DIGITS, scale=st.integers(0, 18), x=st.floats(allow_nan=False, width=64))
@settings(deadline=None)
def test_numbers_have_the_text_that_python_writes_of_them(digits: int, scale: int, x: float) -> None:
    """DuckDB writes decimals and floats as Python does for SQLite, so equal numbers have equal texts."""
    number = f"{Decimal(digits).scaleb(-scale):f}"
    table = ibis.table({"d": f"decimal(38, {scale})", "x": "float64"}, name="t")
    cells = table.select(d=cell(table.d, CellKind.NUMBER, "duckdb"), x=cell(table.x, CellKind.FLOAT, "duckdb"))
    values = f"SELECT '{number}'::DECIMAL(38, {scale}) AS d, '{x!r}'::DOUBLE AS x"
    [found] = _connection().execute(f"WITH t AS ({values}) {ibis.to_sql(cells, dialect='duckdb')}").fetchall()
    assert found == (cell_of_sqlite("number", number), cell_of_sqlite("float", x))


@cache
def _connection() -> duckdb.DuckDBPyConnection:
    return duckdb.connect()
