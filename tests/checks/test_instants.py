"""Time columns are read as moments, or the reason why not is said."""

from datetime import UTC, date, datetime, timedelta, timezone

import ibis
import pytest
from hypothesis import given
from hypothesis import strategies as st

from checks import Context, Measurement, Misconfigured, Outcome, UnknownReason, Zones
from checks._instants import ZonedReading, moment_of, placed, reading_of, time_column, zoned_column
from tests.checks.ask import NOW

TABLE = ibis.table(
    {"naive": "timestamp", "aware": "timestamp('UTC')", "day": "date", "text": "string", "n": "int64"}, name="t"
)
JST = timezone(timedelta(hours=9))
WALL = datetime(2026, 11, 20, 9, 0)  # noqa: DTZ001 - a wall clock


def context(dialect="duckdb", zone=None):
    """Return what a check may know of a table."""
    return Context(TABLE, dialect, lambda _shift, _zone: ibis.literal(NOW), zones=Zones(zone))


@pytest.mark.parametrize(
    ("column", "dialect", "zone", "clocks"),
    [
        ("naive", "duckdb", "Asia/Tokyo", [ZonedReading("wall", "Asia/Tokyo")]),
        ("day", "duckdb", None, [ZonedReading("wall", None)]),
        ("aware", "duckdb", "Asia/Tokyo", [ZonedReading("utc", None)]),
        ("text", "duckdb", "Asia/Tokyo", [ZonedReading("utc", "UTC"), ZonedReading("wall", "Asia/Tokyo")]),
        ("aware", "sqlite", None, [ZonedReading("utc", "UTC"), ZonedReading("wall", None)]),
    ],
)
def test_clocks(column, dialect, zone, clocks):
    """The type says by which clocks a column may be read; where it cannot, both are possible."""
    assert list(time_column(context(dialect, zone), column).clocks) == clocks


def test_clocks_with_a_zone():
    """Where a zone is needed, wall clocks without one are left out, and refused if nothing is left."""
    assert list(zoned_column(context("sqlite"), "aware").clocks) == [ZonedReading("utc", "UTC")]
    assert list(zoned_column(context(), "naive", "Asia/Tokyo").clocks) == [ZonedReading("wall", "Asia/Tokyo")]
    with pytest.raises(Misconfigured, match="naive has timestamps without a time zone; declare one"):
        zoned_column(context(), "naive")
    with pytest.raises(Misconfigured, match="day has dates, and it is not known where their days begin; declare a"):
        zoned_column(context(), "day")


def test_column_that_holds_no_time():
    """A column of numbers is named with its type."""
    with pytest.raises(Misconfigured, match="column 'n' is of type int64"):
        time_column(context(), "n")


def measured(filled, unparsed=0, with_offset=None, readings=("utc", "wall")):
    """Return the evidence about a column."""
    values = {"filled": filled, "unparsed": unparsed, **{f"newest_{reading}": 1 for reading in readings}}
    return Measurement(NOW, values if with_offset is None else {**values, "with_offset": with_offset})


@pytest.mark.parametrize(
    ("measurement", "answer"),
    [
        (measured(3, with_offset=3), "utc"),
        (measured(3, with_offset=0), "wall"),
        (measured(3, readings=("wall",)), "wall"),
        (measured(3, readings=("utc",)), "utc"),
        (measured(3, with_offset=1), "c: 1 of 3 values have an offset, the others have none"),
        (
            measured(3, with_offset=0, readings=("utc",)),
            "c has timestamps without a time zone; declare one for the source or the column",
        ),
        (measured(3, unparsed=1, with_offset=3), "c: 1 value is not a valid timestamp"),
        (measured(0, unparsed=2), "c: 2 values are not valid timestamps"),
        (measured(0), "c is NULL in every row"),
    ],
)
def test_reading(measurement, answer):
    """The rows decide how a column is read; the reason why it cannot be is said."""
    found = reading_of(measurement, "c", "newest")
    if isinstance(found, Outcome):
        no_data = answer.endswith("every row")
        assert found.reason is (UnknownReason.NO_DATA if no_data else UnknownReason.MISCONFIGURED)
        found = str(found.message)
    assert found == answer


@pytest.mark.parametrize(
    ("seen", "moment"),
    [
        (WALL, datetime(2026, 11, 20, 0, 0, tzinfo=UTC)),
        (WALL.replace(tzinfo=UTC), datetime(2026, 11, 20, 9, 0, tzinfo=UTC)),
        ("2026-11-20 09:00:00", datetime(2026, 11, 20, 0, 0, tzinfo=UTC)),
        (date(2026, 11, 20), datetime(2026, 11, 19, 15, 0, tzinfo=UTC)),
        ("-infinity", None),
        (5, None),
        (None, None),
    ],
)
def test_moment_of(seen, moment):
    """What a driver returns becomes a moment in UTC, or nothing."""
    assert moment_of(seen, "Asia/Tokyo", not_after=NOW) == moment


TOKYO, UTC_TYPED, UTC_TEXT = ZonedReading("wall", "Asia/Tokyo"), ZonedReading("utc", None), ZonedReading("utc", "UTC")


@pytest.mark.parametrize(
    ("limit", "clock", "zone", "expected"),
    [
        (date(2026, 11, 20), TOKYO, "Asia/Tokyo", datetime(2026, 11, 20)),  # noqa: DTZ001 - a wall clock
        (WALL, ZonedReading("wall", None), None, WALL),
        (WALL.replace(tzinfo=JST), TOKYO, "Asia/Tokyo", WALL),
        (WALL.replace(tzinfo=JST), ZonedReading("wall", None), None, None),
        (WALL, UTC_TYPED, "Asia/Tokyo", datetime(2026, 11, 20, 0, 0, tzinfo=UTC)),
        (WALL, UTC_TEXT, "Asia/Tokyo", datetime(2026, 11, 20)),  # noqa: DTZ001 - a wall clock
        (WALL, UTC_TYPED, None, None),
        (WALL.replace(tzinfo=JST), UTC_TYPED, None, datetime(2026, 11, 20, 0, 0, tzinfo=UTC)),
        (WALL.replace(tzinfo=JST), UTC_TEXT, None, datetime(2026, 11, 20)),  # noqa: DTZ001 - a wall clock
    ],
)
def test_placed(limit, clock, zone, expected):
    """A limit is written as the column is read; where a zone would have to be guessed, it cannot be."""
    assert placed(limit, clock, zone) == expected


@given(st.datetimes(datetime(1970, 1, 1), datetime(2100, 1, 1)))  # noqa: DTZ001 - wall clocks
def test_placed_limits_name_one_moment(wall):
    """A limit names the same moment whether the column holds moments or wall clocks."""
    zone = "Asia/Tokyo"
    aware = placed(wall, UTC_TYPED, zone)
    assert aware == moment_of(placed(wall, TOKYO, zone), zone, not_after=aware)
    assert placed(aware, TOKYO, zone) == wall
