"""Column types: what they take comes back the same; what they cannot keep is refused."""

import math
from collections.abc import Mapping
from datetime import UTC, date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import Column, MetaData, Table, create_engine, insert, select
from sqlalchemy.dialects import sqlite
from sqlalchemy.exc import StatementError

from checks import Severity
from store._columns import Blob, Flag, Json, Line, Seconds, UtcTime, Whole, Word, map_all_rows
from store._errors import RowRefused
from store._json import from_text, to_text
from tests.store.made import AT

TIMES = [column for table in map_all_rows().sorted_tables for column in table.c if isinstance(column.type, UtcTime)]
DIALECT = sqlite.dialect()


def test_every_time_column_refuses_a_naive_time() -> None:
    """A time that does not say where it was read gets into no column of any table."""
    for column in TIMES:
        write = column.type.bind_processor(DIALECT)
        assert write is not None, column
        assert write(AT) == 1_795_165_200_000_000, column
        with pytest.raises(RowRefused, match="without a zone"):
            write(AT.replace(tzinfo=None))


def test_no_column_holds_a_time_in_another_way() -> None:
    """Every column whose name says microseconds is of one of our types, and no column is of a type that loses zones."""
    ours = (UtcTime, Seconds, Line, Word, Json, Flag, Whole, Blob)
    for table in map_all_rows().sorted_tables:
        for column in table.c:
            is_key = column.primary_key or column.foreign_keys
            assert is_key or isinstance(column.type, ours), f"{column} has another type"
            is_time = column.name.endswith("_us") and column.name not in {"duration_us", "cost_us", "uptime_us"}
            assert isinstance(column.type, UtcTime) == is_time


@pytest.mark.parametrize(
    ("kind", "odd"),
    [
        (UtcTime(), date(2026, 11, 20)),
        (UtcTime(), 12),
        (Whole(), 2**63),
        (Whole(), -(2**63) - 1),
        (Whole(), 1.0),
        (Whole(), True),
        (Flag(), 1),
        (Line(), 1.5),
        (Line(), "nul \0"),
        (Line(), "half \ud800"),
        (Word(Severity), "fatal"),
        (Json(), b"bytes"),
    ],
    ids=repr,
)
def test_what_a_column_cannot_keep_is_refused(kind: UtcTime, odd: object) -> None:
    """STRICT tables would turn some of these into something else silently; the types refuse all of them."""
    write = kind.bind_processor(DIALECT)
    assert write is not None
    with pytest.raises(RowRefused):
        write(odd)


_COLUMNS = {"line": Line, "whole": Whole, "at": UtcTime, "flag": Flag, "json": Json}


@given(
    line=st.none() | st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")),
    whole=st.none() | st.integers(-(2**63), 2**63 - 1),
    at=st.none() | st.datetimes(timezones=st.just(UTC)),
    flag=st.none() | st.booleans(),
)
def test_what_a_column_takes_comes_back(**row: object) -> None:
    """Text, whole numbers, times and flags are the same after a STRICT table kept them, and so is NULL."""
    table = Table("t", MetaData(), *(Column(name, kind()) for name, kind in _COLUMNS.items()), sqlite_strict=True)
    engine = create_engine("sqlite://")
    try:
        with engine.begin() as connection:
            table.create(connection)
            connection.execute(insert(table), {**row, "json": row})
            found = dict(connection.execute(select(table)).mappings().one())
        assert found == {**row, "json": row}
    finally:
        engine.dispose()


def test_a_refusal_inside_a_statement_keeps_its_reason() -> None:
    """What a type refuses stays findable when SQLAlchemy reports it."""
    table = Table("t", MetaData(), Column("at", UtcTime()))
    engine = create_engine("sqlite://", hide_parameters=True)
    try:
        with engine.begin() as connection, pytest.raises(StatementError) as caught:
            connection.execute(insert(table), {"at": AT.replace(tzinfo=None)})
        assert isinstance(caught.value.orig, RowRefused)
    finally:
        engine.dispose()


_scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text()
    | st.decimals(allow_nan=False)
    | st.dates()
    | st.datetimes(timezones=st.just(UTC))
    | st.timedeltas()
)
_keys = st.text() | st.sampled_from(["$time", "$map", "$", "$number", "columns"])
_values = st.recursive(_scalars, lambda some: st.lists(some) | st.dictionaries(_keys, some), max_leaves=12)


@given(_values)
def test_json_comes_back_as_it_was(value: object) -> None:
    """Numbers, texts, times, durations, amounts, lists and mappings with any keys survive as canonical text."""
    text = to_text(value)
    back = from_text(text)
    assert back == value
    assert type(back) is type(value)
    assert to_text(back) == text
    text.encode()


@given(st.dictionaries(st.text(), st.integers()))
def test_equal_mappings_have_equal_text(value: Mapping[str, int]) -> None:
    """Canonical: the order of keys leaves no trace."""
    assert to_text(dict(reversed(list(value.items())))) == to_text(value)


def test_not_a_number_survives() -> None:
    """NaN, which JSON does not have and which equals nothing, comes back as itself."""
    assert math.isnan(from_text(to_text({"x": [math.nan]}))["x"][0])


def test_what_becomes_something_else() -> None:
    """Tuples become lists and keys that are numbers become text, also next to what JSON does not know."""
    assert from_text(to_text((1, (2,)))) == [1, [2]]
    assert from_text(to_text({1: "a", None: timedelta(1)})) == {"1": "a", "null": timedelta(1)}
    assert from_text(to_text({2: 1, 1.5: math.inf, None: 0})) == {"2": 1, "1.5": math.inf, "null": 0}
