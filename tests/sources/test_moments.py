"""Times, however they are written, on every engine."""

import random
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb
import ibis
import ibis.expr.types as ir
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sources import Moment, NotTemporal, Source, SourceSpec, as_moment, open_source
from sources.moments import _has_offset, _read, microseconds
from tests.sources.texts import hold

pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning")  # Spark's bridge to Java

AT = "2026-03-01 10:30:00"
AS_UTC = "2026-03-01 01:30:00"

READABLE: Mapping[str, str] = {
    "2026-03-01": "2026-03-01 00:00:00",
    "2026-03-01 10:30": AT,
    "2026-03-01T10:30": AT,
    "2026-03-01 10:30:00": AT,
    "2026-03-01t10:30:00": AT,
    "2026-03-01 10:30:00.000": AT,
    "2026-03-01 10:30:00.5": AT + ".500000",
    "2026-03-01T10:30:00.000001": AT + ".000001",
    "2026-03-01 10:30:00.1234569": AT + ".123456",
    "2026-03-01 10:30:59.9999999": "2026-03-01 10:30:59.999999",
    "2024-02-29 23:59:59": "2024-02-29 23:59:59",
    "2000-02-29": "2000-02-29 00:00:00",
    "0001-01-01": "0001-01-01 00:00:00",
    "9999-12-31 23:59:59.999999": "9999-12-31 23:59:59.999999",
    "2026-03-01 10:30:00Z": AT,
    "2026-03-01t10:30:00z": AT,
    "2026-03-01 10:30Z": AT,
    "2026-03-01 10:30:00 Z": AT,
    "2026-03-01T10:30:00+00:00": AT,
    "2026-03-01T10:30:00-00:00": AT,
    "2026-03-01 10:30:00+09": AS_UTC,
    "2026-03-01 10:30:00+0900": AS_UTC,
    "2026-03-01T10:30:00+09:00": AS_UTC,
    "2026-03-01 10:30:00 +09:00": AS_UTC,
    "2026-03-01T10:30+09:00": AS_UTC,
    "2026-03-01 10:30:00.250000+09:00": AS_UTC + ".250000",
    "2026-03-01 10:30:00-03:30": "2026-03-01 14:00:00",
    "2026-03-01 00:30:00+14:00": "2026-02-28 10:30:00",
}
UNREADABLE = (
    *("", " ", "now", "tomorrow", "infinity", "NaT", "1767225600", "20260301", "2460000.5", "10:30:00"),
    *("2026-02-29", "2026-02-30", "2026-04-31", "2100-02-29", "2026-13-01", "2026-00-10", "2026-01-00", "2026-01-32"),
    *("2026-1-1", "26-01-01", "12026-01-01", "2026/01/01", "01.03.2026", "2026-03-01 ", " 2026-03-01", "0000-01-01"),
    *("2026-03-01 24:00:00", "2026-03-01 10:60", "2026-03-01 10:30:60", "2026-03-01 1:30", "2026-03-01  10:30"),
    *("2026-03-01 10:30:00.", "2026-03-01 10:30:00,5", "2026-03-01 10:30:00.5.5", "2026-03-01 10:30.5", "2026-03-01Z"),
    *(
        "2026-03-01 10:30:00 UTC",
        "2026-03-01 10:30:00 Asia/Tokyo",
        "2026-03-01 10:30:00+9",
        "2026-03-01 10:30:00+15:00",
    ),
    *(
        "2026-03-01 10:30:00+09:60",
        "2026-03-01 10:30:00+09:00Z",
        "2026-03-01 10:30:00 PM",
        "\uff12026-03-01",
        "2026-03-01\n",
    ),
)


@pytest.fixture(
    params=[
        "duckdb",
        "sqlite",
        pytest.param("mysql", marks=pytest.mark.mysql),
        pytest.param("postgres", marks=pytest.mark.postgres),
        pytest.param("spark", marks=pytest.mark.spark),
    ]
)
def read(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[..., Any]:
    """Return what puts texts into each engine and asks about their moments, row by row or as aggregates."""

    def of(texts: Sequence[str | None], aggregates: Callable[[ir.Table, Moment], Any] | None = None) -> Any:
        with open_source(hold(request.param, texts, folder=tmp_path, request=request)) as source:
            table = source.table("t")
            moment = as_moment(table.x, source.dialect)
            assert moment.offset is not None
            if aggregates is not None:
                [row] = source.fetch(source.compile(table.aggregate(**aggregates(table, moment))))
                return row
            result = {"value": moment.value, "unparsed": moment.unparsed, "offset": moment.offset}
            wanted = table.select("id", **result, us=microseconds(moment, source.dialect))
            return source.fetch(source.compile(wanted.order_by("id")))

    return of


def since_1970(moment: datetime) -> int:
    """Return whole microseconds, of a wall clock as if it were UTC's."""
    return (moment.replace(tzinfo=None) - datetime(1970, 1, 1)) // timedelta(microseconds=1)  # noqa: DTZ001 - as above


def normal(value: Any) -> str | None:
    """Return a moment as the text that Ibis writes for SQLite, whatever the driver gave; aware values are a fault."""
    if value is None or isinstance(value, str):
        return value
    assert value.tzinfo is None, "a wall clock has no zone"
    return str(value)


def test_each_spelling_is_read(read: Callable[..., Any]) -> None:
    """Each spelling of ISO 8601 is one moment on every engine, to the microsecond, in UTC where it has an offset."""
    rows = read([*READABLE, None])
    assert [normal(row["value"]) for row in rows] == [*READABLE.values(), None]
    assert [row["us"] for row in rows] == [*(since_1970(datetime.fromisoformat(v)) for v in READABLE.values()), None]
    assert not any(row["unparsed"] for row in rows)
    carries = [text[10:].strip("Tt 0123456789:.") != "" for text in READABLE]
    assert [row["offset"] if row["offset"] is None else bool(row["offset"]) for row in rows] == [*carries, None]


def test_what_is_no_moment_is_unparsed(read: Callable[..., Any]) -> None:
    """Words, other formats and days that no calendar has are unparsed and have no value; NULL is neither."""
    rows = read([*UNREADABLE, None])
    wrongly_read = [text for text, row in zip(UNREADABLE, rows, strict=False) if row["value"] is not None]
    assert wrongly_read == []
    assert [bool(row["unparsed"]) for row in rows] == [True] * len(UNREADABLE) + [False]


def test_moments_compare_and_sort_by_time(read: Callable[..., Any]) -> None:
    """The newest moment up to a literal is found among all spellings, for literals with and without microseconds."""
    texts = [*READABLE, *UNREADABLE, None]
    known = sorted(READABLE.values())
    for limit in (datetime.fromisoformat(text) for text in (AT, AS_UTC, AT + ".000001", "2026-03-01", "0001-01-01")):
        for literal in (limit, limit.replace(tzinfo=UTC)):

            def wanted(table: ir.Table, moment: Moment, literal: datetime = literal) -> Mapping[str, ir.Value]:
                up_to = moment.value <= ibis.literal(literal)
                return {
                    "newest": moment.value.max(where=up_to),
                    "up_to": table.count(where=up_to),
                    "later": table.count(where=moment.value > ibis.literal(literal)),
                    "unparsed": table.count(where=moment.unparsed),
                }

            found = dict(read(texts, wanted))
            before = [text for text in known if text <= str(limit)]
            assert normal(found.pop("newest")) == before[-1]
            assert found == {"up_to": len(before), "later": len(known) - len(before), "unparsed": len(UNREADABLE)}


def test_engines_agree_on_texts_at_random(read: Callable[..., Any]) -> None:
    """Two thousand texts, most of them one mistake away from a moment, are read alike by every engine."""
    chance = random.Random(20_261_121)
    texts = [_damaged(text, chance) for text in chance.choices(list(READABLE), k=2000)]
    rows = read(texts)
    seen = [
        (text, normal(row["value"]), bool(row["unparsed"]), bool(row["offset"]))
        for text, row in zip(texts, rows, strict=True)
    ]
    expected = [(text, _read(text), _read(text) is None, bool(_has_offset(text))) for text in texts]
    assert seen == expected
    assert 200 < sum(value is None for _, value, _, _ in expected) < 1900


def _damaged(text: str, chance: random.Random) -> str:
    place = chance.randrange(1, len(text))  # the first digit stays: the year 0000 and years beyond 9999 are tried above
    other = chance.choice("0123456789-:. TZ+")
    return chance.choice(
        [
            text,
            text[:place] + other + text[place + 1 :],
            text[:place] + text[place + 1 :],
            text[:place] + other + text[place:],
        ]
    )


@given(
    st.datetimes(min_value=datetime.fromisoformat("0002-01-01"), max_value=datetime.fromisoformat("9998-12-31")),
    st.one_of(st.none(), st.integers(-14 * 60, 14 * 60)),
    st.sampled_from(["T", " ", "t"]),
    st.sampled_from(["", " "]),
    st.text("0123456789", max_size=4),
)
def test_any_moment_survives_its_spelling(
    moment: datetime, offset: int | None, between: str, before: str, digits: str
) -> None:
    """A time written with any separator, offset and further digits is that time in UTC."""
    zone = "" if offset is None else f"{before}{'-' if offset < 0 else '+'}{abs(offset) // 60:02}:{abs(offset) % 60:02}"
    text = f"{moment.date()}{between}{moment.time().isoformat('microseconds')}{digits}{zone}"
    expected = moment - timedelta(minutes=offset or 0)
    assert _read(text) == expected.isoformat(" ")
    assert _has_offset(text) == (offset is not None)


@given(st.text(max_size=40))
def test_any_text_is_read_or_refused(text: str) -> None:
    """No text raises, and what is read is in the one normal form."""
    read = _read(text)
    assert read is None or datetime.fromisoformat(read).isoformat(" ") == read


@pytest.mark.parametrize(
    ("stored", "newest"),
    [(1_767_225_600, None), (1_767_225_600.5, None), (20_260_101, None), (b"2026-01-01", "2026-01-01 00:00:00")],
)
def test_numbers_in_a_column_of_sqlite_are_unparsed(tmp_path: Path, stored: object, newest: str | None) -> None:
    """SQLite lets a column of times hold seconds or days: which is unknown, so they are not guessed."""
    connection = sqlite3.connect(tmp_path / "t.sqlite")
    connection.execute("CREATE TABLE t (x TIMESTAMP)")
    connection.execute("INSERT INTO t VALUES (?)", [stored])
    connection.commit()
    connection.close()
    with open_source(SourceSpec("s", tmp_path, url="sqlite:///t.sqlite")) as source:
        table = source.table("t")
        moment = as_moment(table.x, source.dialect)
        wanted = table.aggregate(unparsed=table.count(where=moment.unparsed), newest=moment.value.max())
        assert source.fetch(source.compile(wanted)) == [{"unparsed": int(newest is None), "newest": newest}]


NATIVE = """
CREATE TABLE t AS SELECT DATE '2026-03-01' AS day, TIMESTAMP '2026-03-01 10:30:00.000001' AS wall,
TIMESTAMP WITH TIME ZONE '2026-03-01 10:30:00.000001+09:00' AS moment, 7 AS number, TIME '10:30:00' AS clock
"""


@pytest.mark.parametrize("dialect", ["duckdb", pytest.param("postgres", marks=pytest.mark.postgres)])
def test_native_times_are_taken_as_they_are(dialect: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    """Dates are their midnight, naive times stay naive, aware ones are moments; all compare with literals."""
    spec = SourceSpec("s", tmp_path, url="duckdb:///t.duckdb")
    if dialect == "duckdb":
        with duckdb.connect(str(tmp_path / "t.duckdb")) as connection:
            connection.execute(NATIVE)
    else:
        import psycopg

        spec = SourceSpec("s", tmp_path, url=request.getfixturevalue("postgres_schema"))
        with psycopg.connect(spec.url or "", autocommit=True) as session:
            session.execute(NATIVE)
    with open_source(spec) as source:
        _check_native(source)


@pytest.mark.spark
def test_spark_tells_moments_from_wall_clocks(spark_session: Any, tmp_path: Path) -> None:
    """Spark's two types of time are distinguished, which Ibis does not, whatever the zone of this machine."""
    spark_session.sql(
        "CREATE TABLE native USING parquet AS SELECT DATE '2026-03-01' AS day, 7 AS number, '10:30:00' AS clock, "
        "TIMESTAMP_NTZ '2026-03-01 10:30:00.000001' AS wall, "
        "TIMESTAMP_LTZ '2026-03-01 10:30:00.000001+09:00' AS moment"
    )
    with open_source(SourceSpec("s", tmp_path, spark="local[2]")) as source:
        _check_native(source, table="native", without_clock=True)
    spark_session.sql("DROP TABLE native")


def _check_native(source: Source, *, table: str = "t", without_clock: bool = False) -> None:
    rows = source.table(table)
    moments = {name: as_moment(rows[name], source.dialect) for name in ("day", "wall", "moment")}
    assert {name: moment.aware for name, moment in moments.items()} == {"day": False, "wall": False, "moment": True}
    assert all(moment.offset is None for moment in moments.values())
    values = {name: moment.value.max() for name, moment in moments.items()}
    counted = {f"us_{name}": microseconds(moment, source.dialect).max() for name, moment in moments.items()}
    unparsed = {f"no_{name}": rows.count(where=moment.unparsed) for name, moment in moments.items()}
    limits = {
        "day": datetime.fromisoformat("2026-03-01"),
        "wall": datetime.fromisoformat("2026-03-01T10:30:00.000001"),
        "moment": datetime.fromisoformat("2026-03-01T10:30:00.000001+09:00").astimezone(UTC),
    }
    reached = {
        f"reached_{name}": rows.count(where=moments[name].value <= ibis.literal(at)) for name, at in limits.items()
    }
    just_before = {name: at - timedelta(microseconds=1) for name, at in limits.items()}
    missed = {
        f"missed_{name}": rows.count(where=moments[name].value <= ibis.literal(at)) for name, at in just_before.items()
    }
    [row] = source.fetch(source.compile(rows.aggregate(**values, **counted, **unparsed, **reached, **missed)))
    assert {name: row[name] for name in limits} == limits
    assert {name: row[f"us_{name}"] for name in limits} == {name: since_1970(at) for name, at in limits.items()}
    assert [row[f"no_{name}"] for name in limits] == [0, 0, 0]
    assert [row[f"reached_{name}"] for name in limits] == [1, 1, 1]
    assert [row[f"missed_{name}"] for name in limits] == [0, 0, 0]
    for name in ("number",) if without_clock else ("number", "clock"):
        with pytest.raises(NotTemporal, match=f"column '{name}' is of type .*; expected a timestamp, a date or ISO"):
            as_moment(rows[name], source.dialect)


def test_other_engines_read_text_without_an_offset_only() -> None:
    """Where the treatment of offsets is unknown, text that carries one does not match the pattern that is read."""
    table = ibis.table({"x": "string"}, name="t")
    moment = as_moment(table.x, "snowflake")
    assert (moment.aware, moment.offset) == (False, None)
    sql = ibis.to_sql(table.select(v=moment.value), dialect="snowflake")
    assert "TRY_CAST" in sql
    assert "Zz" not in sql


def test_equal_questions_are_equal() -> None:
    """Two checks that ask for the same moment give the same expression, so that it is measured once."""
    table = ibis.table({"x": "string"}, name="t")
    for dialect in ("duckdb", "sqlite", "postgres", "spark"):
        assert as_moment(table.x, dialect).value.op() == as_moment(table.x, dialect).value.op()
