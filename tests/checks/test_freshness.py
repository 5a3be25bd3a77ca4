"""New rows keep arriving."""

from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from checks import Misconfigured, OccurrenceMethod, Status, UnknownReason, Zones
from checks._instants import Calendar, latest_local_time, read_local_time
from checks.freshness import Freshness
from checks.parameters.scalars import Weekdays
from tests.checks.ask import ENGINES, EXAMPLES, NOW, Question, Rows, ask, place
from tests.monitor.config.effects.effect import ABSENT
from tests.tiers import examples

OBSERVED = {"newest", "age_s", "expected_age_s", "future_rows"}
_FRESH = {"column": "at", "max_age": "2h", "timezone": "UTC"}
_OLD = {"column": "old", "max_age": "2h", "timezone": "UTC"}
EFFECTS = {
    "column": ({**_FRESH}, "at", "old"),
    "max_age": (_FRESH, "2h", "30m"),
    "skew": ({**_FRESH, "column": "ahead"}, "5m", "15m"),
    "timezone": (_FRESH, "UTC", "Asia/Tokyo"),
    "epoch": ({"column": "id", "max_age": f"{int(NOW.timestamp()) - 2}s"}, "seconds", "milliseconds"),
    "expected": (_OLD, ABSENT, {"start": "08:45", "timezone": "UTC"}),
    "where": (_FRESH, ABSENT, "id > 1"),
    "warn": (_FRESH, ABSENT, {"max_age": "30m"}),
    "on_empty": ({**_FRESH, "where": "id > 99"}, "unknown", "pass"),
}
CANARIES = [
    {"column": "loaded_at", "max_age": "3h"},
    {"column": "loaded_at", "max_age": "3650d"},
    {"column": "name", "max_age": "1d"},
    {"column": "age", "max_age": "1d"},
    {"column": "seen", "max_age": "1d"},
    {"column": "born", "max_age": "1d"},
    {"column": "code", "max_age": "1d", "where": "name LIKE 'q%'"},
    {"column": "loaded_at", "max_age": "3h", "by": "email"},
]

HOUR = timedelta(hours=1)
TYPES = {"at": "timestamp", "kind": "text"}
UTC_ZONE = Zones("UTC")
CHECK = Freshness(column="at", max_age="26h")


def table(*moments, kind="timestamp"):
    """Return a table of rows at these moments."""
    return Rows({"at": kind, "kind": "text"}, [(moment, "x") for moment in moments])


def naive(moment, zone="UTC"):
    """Return the naive wall clock of a moment."""
    return moment.astimezone(ZoneInfo(zone)).replace(tzinfo=None)


def test_newest_row_is_young_enough(dialect):
    """Return the newest row, its age and the rows in the future."""
    with place(dialect, t=table(naive(NOW - 30 * HOUR), naive(NOW - 2 * HOUR), None)) as here:
        outcome = ask(CHECK, here, zones=UTC_ZONE)
    assert outcome.status is Status.PASS
    assert outcome.observed == {
        "newest": "2026-11-20T07:15:02+00:00",
        "age_s": 7200,
        "expected_age_s": 7200,
        "future_rows": 0,
    }
    assert outcome.expected == {"max_age_s": 26 * 3600.0}
    assert str(outcome.message) == "the newest row is 2 h old"


@pytest.mark.parametrize(("epoch", "many"), [("seconds", 1), ("milliseconds", 1000)])
def test_numbers_since_1970_are_moments(dialect, epoch, many):
    """Whole seconds or milliseconds are read in UTC; those in the future are counted, and NULL is left out."""
    check = Freshness(column="at", max_age="1h", epoch=epoch)
    moments = [NOW - 30 * HOUR, NOW - 2 * HOUR, NOW + HOUR]
    rows = [(int(moment.timestamp()) * many, "x") for moment in moments]
    with place(dialect, t=Rows({"at": "int", "kind": "text"}, [*rows, (None, "x")])) as here:
        outcome = ask(check, here)
        assert (outcome.status, outcome.observed["age_s"], outcome.observed["future_rows"]) == (Status.FAIL, 7200, 1)
        assert outcome.observed["newest"] == "2026-11-20T07:15:02+00:00"
        assert outcome.occurrence.at == NOW - HOUR
        with pytest.raises(Misconfigured, match="'epoch: seconds' or 'epoch: milliseconds'"):
            ask(CHECK, here)
        with pytest.raises(Misconfigured, match="needs whole numbers"):
            ask(Freshness(column="kind", max_age="1h", epoch=epoch), here)


def test_too_old(dialect):
    """Fails beyond the limit, not at it; the data went bad when the limit was reached."""
    with place(dialect, t=table(naive(NOW - 26 * HOUR))) as here:
        assert ask(CHECK, here, zones=UTC_ZONE).status is Status.PASS
        outcome = ask(CHECK, here, zones=UTC_ZONE, now=NOW + HOUR)
    assert outcome.status is Status.FAIL
    assert str(outcome.message) == "the newest row is 1 d 3 h old, limit 1 d 2 h"
    assert outcome.occurrence.at == NOW
    assert outcome.occurrence.method is OccurrenceMethod.FRESHNESS_DEADLINE


def test_softer_limit_warns(dialect):
    """An age between the limit of `warn` and the limit is a warning."""
    check = Freshness(column="at", max_age="26h", warn={"max_age": "90m"})
    for age, status in [(HOUR, Status.PASS), (2 * HOUR, Status.WARN), (27 * HOUR, Status.FAIL)]:
        with place(dialect, t=table(naive(NOW - age))) as here:
            assert ask(check, here, zones=UTC_ZONE).status is status


def test_zone_of_naive_values(dialect):
    """A naive value is read in the zone of the check, else of the column, else of the source."""
    with place(dialect, t=table(naive(NOW - HOUR, "Asia/Tokyo"))) as here:
        for check, zones in [
            (Freshness(column="at", max_age="2h", timezone="Asia/Tokyo"), UTC_ZONE),
            (Freshness(column="at", max_age="2h"), Zones("UTC", {"at": "Asia/Tokyo"})),
            (Freshness(column="at", max_age="2h"), Zones("Asia/Tokyo")),
        ]:
            assert ask(check, here, zones=zones).observed["age_s"] == 3600


def test_naive_values_without_a_zone_are_not_guessed():
    """Naive values without a declared zone cannot be judged, in any engine."""
    with (
        place("duckdb", t=table(naive(NOW))) as here,
        pytest.raises(Misconfigured, match="at has timestamps without a time zone; declare"),
    ):
        ask(CHECK, here)
    with place("sqlite", t=table(naive(NOW))) as here:
        outcome = ask(CHECK, here)
    assert outcome.reason is UnknownReason.MISCONFIGURED
    assert str(outcome.message) == "at has timestamps without a time zone; declare one for the source or the column"


def test_values_that_know_their_zone(dialect):
    """Aware values need no declared zone, and a declared one does not bend them."""
    with place(dialect, t=table((NOW - HOUR).astimezone(ZoneInfo("Asia/Tokyo")), kind="timestamptz")) as here:
        assert ask(CHECK, here).observed["age_s"] == 3600
        assert ask(CHECK, here, zones=Zones("America/New_York")).observed["age_s"] == 3600


@pytest.mark.parametrize("text", ["2026-11-20T08:15:02Z", "2026-11-20 17:15:02+09:00", "2026-11-20T08:15:02.000+00:00"])
def test_text_with_an_offset(dialect, text):
    """Text with an offset names its moment."""
    with place(dialect, t=table(text, "2026-11-01T00:00:00Z", None, kind="text")) as here:
        assert ask(CHECK, here).observed["newest"] == "2026-11-20T08:15:02+00:00"


def test_text_without_an_offset(dialect):
    """Text without an offset is a wall clock of the declared zone; without one it cannot be judged."""
    with place(dialect, t=table("2026-11-20 08:15", "2026-11-19", kind="text")) as here:
        assert ask(CHECK, here, zones=UTC_ZONE).observed["age_s"] == 3602
        assert ask(CHECK, here).reason is UnknownReason.MISCONFIGURED


def test_text_of_both_kinds(dialect):
    """Values with and without an offset in one column cannot be judged."""
    with place(dialect, t=table("2026-11-20T08:15:02Z", "2026-11-20 08:15:02", kind="text")) as here:
        outcome = ask(CHECK, here, zones=UTC_ZONE)
    assert outcome.reason is UnknownReason.MISCONFIGURED
    assert str(outcome.message) == "at: 1 of 2 values have an offset, the others have none"


def test_values_that_do_not_parse(dialect):
    """Values that are no time make the question unanswerable, and are counted but not shown."""
    with place(dialect, t=table("2026-11-20T08:15:02Z", "secret", "20.11.2026", None, kind="text")) as here:
        outcome = ask(CHECK, here)
    assert outcome.reason is UnknownReason.MISCONFIGURED
    assert outcome.observed == {"unparsed": 2}
    assert str(outcome.message) == "at: 2 values are not valid timestamps"


def test_date_column(dialect):
    """A date is its midnight in the declared zone."""
    with place(dialect, t=table(date(2026, 11, 20), kind="date")) as here:
        observed = ask(CHECK, here, zones=Zones("Asia/Tokyo")).observed
    assert observed["newest"] == "2026-11-19T15:00:00+00:00"


def test_future_rows_do_not_count(dialect):
    """Rows beyond now and skew are left out and counted; a row within the skew has no age, never a negative one."""
    soon, later, never = NOW + timedelta(minutes=3), NOW + HOUR, datetime(9999, 12, 31, tzinfo=UTC)
    with place(dialect, t=table(naive(soon), naive(later), naive(never), naive(NOW - 9 * HOUR))) as here:
        observed = ask(CHECK, here, zones=UTC_ZONE).observed
        assert (observed["newest"], observed["age_s"], observed["future_rows"]) == (soon.isoformat(), 0, 2)
        strict = Freshness(column="at", max_age="2h", skew="0s")
        observed = ask(strict, here, zones=UTC_ZONE).observed
        assert (observed["age_s"], observed["future_rows"]) == (9 * 3600, 3)


def test_only_future_rows_fail(dialect):
    """A table whose every row lies in the future is not fresh."""
    with place(dialect, t=table(naive(NOW + HOUR), naive(NOW + 2 * HOUR), None)) as here:
        outcome = ask(CHECK, here, zones=UTC_ZONE)
    assert outcome.status is Status.FAIL
    assert outcome.observed == {"newest": None, "age_s": None, "expected_age_s": None, "future_rows": 2}
    assert str(outcome.message) == "all 2 rows have future timestamps"
    assert outcome.occurrence is None


def test_nothing_to_look_at(dialect):
    """No rows, and rows without a value, are unknown."""
    with place(dialect, t=table()) as here:
        assert ask(CHECK, here, zones=UTC_ZONE).reason is UnknownReason.NO_DATA
    with place(dialect, t=table(None, None)) as here:
        outcome = ask(CHECK, here, zones=UTC_ZONE)
    assert outcome.reason is UnknownReason.NO_DATA
    assert str(outcome.message) == "at is NULL in every row"


def test_filter(dialect):
    """Only rows of the `where` count, also among those in the future."""
    rows = [(naive(NOW - HOUR), "a"), (naive(NOW), "b"), (naive(NOW + HOUR), "b"), (None, "c")]
    with place(dialect, t=Rows(TYPES, rows)) as here:
        observed = ask(Freshness(column="at", max_age="2h", where="kind = 'a'"), here, zones=UTC_ZONE).observed
        assert (observed["age_s"], observed["future_rows"]) == (3600, 0)
        empty = Freshness(column="at", max_age="2h", where="kind = 'c'")
        assert ask(empty, here, zones=UTC_ZONE).reason is UnknownReason.NO_DATA


NEW_YORK = "America/New_York"
FRIDAY_18 = datetime(2026, 11, 13, 18, 0, tzinfo=UTC)
MONDAY_10 = datetime(2026, 11, 16, 10, 0, tzinfo=UTC)


def test_weekend_is_not_expected(dialect):
    """Only expected time makes data old: from Friday 18:00 to Monday 10:00 that is 16 hours of 64."""
    check = Freshness(column="at", max_age="15h", expected={"days": "mon-fri"})
    with place(dialect, t=table(naive(FRIDAY_18))) as here:
        outcome = ask(check, here, zones=UTC_ZONE, now=MONDAY_10)
        assert ask(check, here, zones=UTC_ZONE, now=MONDAY_10 - HOUR).status is Status.PASS
    assert outcome.status is Status.FAIL
    assert (outcome.observed["age_s"], outcome.observed["expected_age_s"]) == (64 * 3600, 16 * 3600)
    assert outcome.occurrence.at == MONDAY_10 - HOUR
    assert str(outcome.message) == "no new row for 16 h of expected time, limit 15 h"


def test_zone_of_the_calendar():
    """Days and clocks are those of the calendar's zone, else of the column, else of the project."""
    tokyo, new_york = "Asia/Tokyo", "America/New_York"
    rows, utc = table(FRIDAY_18, kind="timestamptz"), Zones(None, {}, calendar="UTC")
    for expected, timezone, zones, hours in [
        ({"days": "mon-fri"}, None, utc, 6 + 10),
        ({"days": "mon-fri", "timezone": tokyo}, None, utc, 19),  # Saturday has come there, and Monday 19:00
        ({"days": "mon-fri"}, tokyo, utc, 19),
        ({"days": "mon-fri"}, None, Zones(None, {}, calendar=new_york), 11 + 5),
    ]:
        check = Freshness(column="at", max_age="99d", expected=expected, timezone=timezone)
        with place("duckdb", t=rows) as here:
            assert ask(check, here, zones=zones, now=MONDAY_10).observed["expected_age_s"] == hours * 3600


def test_holidays_and_clock_times():
    """Holidays and the hours outside the window do not make data old."""
    expected = {"days": "mon-fri", "holidays": ["2026-11-16"], "start": "09:00", "end": "17:00"}
    check = Freshness(column="at", max_age="1h", expected=expected)
    with place("duckdb", t=table(naive(FRIDAY_18))) as here:
        assert ask(check, here, zones=UTC_ZONE, now=MONDAY_10).observed["expected_age_s"] == 0
        assert ask(check, here, zones=UTC_ZONE, now=MONDAY_10 + 24 * HOUR).observed["expected_age_s"] == 3600


def test_a_time_of_the_day_by_which_rows_are_there(dialect):
    """Between two such times nothing is judged; what was missed lasts until a row comes, from when it was due."""
    check = Freshness(column="at", max_age="12h", expected={"days": "mon-fri", "by": "09:00"})
    tuesday_9, tuesday_3 = MONDAY_10 + 23 * HOUR, MONDAY_10 + 17 * HOUR
    with place(dialect, t=table(naive(MONDAY_10 - 4 * HOUR))) as here:  # Monday 06:00: three hours before it is due
        for now in (MONDAY_10, tuesday_9 - timedelta(seconds=1)):
            outcome = ask(check, here, zones=UTC_ZONE, now=now)
            assert (outcome.status, outcome.observed["expected_age_s"]) == (Status.PASS, 3 * 3600)
        for now in (tuesday_9, tuesday_9 + 20 * HOUR, tuesday_9 + 50 * HOUR):
            outcome = ask(check, here, zones=UTC_ZONE, now=now)
            assert (outcome.status, outcome.occurrence.at) == (Status.FAIL, tuesday_9)
    assert str(ask_message(check, naive(MONDAY_10 - 4 * HOUR), tuesday_9 + HOUR)) == (
        "the newest row was 1 d 3 h old when it was due at 2026-11-17T09:00:00+00:00, limit 12 h"
    )
    with place(dialect, t=table(naive(tuesday_3))) as here:
        assert ask(check, here, zones=UTC_ZONE, now=tuesday_9 + 20 * HOUR).status is Status.PASS
    with place(dialect, t=table(naive(tuesday_9 + HOUR))) as here:  # late, but there
        assert ask(check, here, zones=UTC_ZONE, now=tuesday_9 + 2 * HOUR).status is Status.PASS


def ask_message(check, newest, now):
    """Return what a check says of a table with one row."""
    with place("duckdb", t=table(newest)) as here:
        return ask(check, here, zones=UTC_ZONE, now=now).message


def test_nothing_is_due_on_days_without_expected_rows():
    """Over a weekend Friday's time counts; where a year has no expected day, nothing is ever due."""
    by_nine = {"days": "mon-fri", "by": "09:00"}
    holidays = [(FRIDAY_18.date() - timedelta(days=day)).isoformat() for day in range(-10, 400)]
    for expected, status in ((by_nine, Status.FAIL), ({**by_nine, "holidays": holidays}, Status.PASS)):
        check = Freshness(column="at", max_age="1h", expected=expected)
        with place("duckdb", t=table(naive(FRIDAY_18 - 34 * HOUR))) as here:
            outcome = ask(check, here, zones=UTC_ZONE, now=FRIDAY_18 + 40 * HOUR)
        assert outcome.status is status
    assert outcome.observed["expected_age_s"] == 0


@given(
    days=st.sets(st.sampled_from(["mon", "tue", "wed", "thu", "fri", "sat", "sun"]), min_size=1),
    clock=st.times().map(lambda at: at.replace(second=0, microsecond=0, tzinfo=None)),
    since=st.datetimes(datetime(2024, 1, 1), datetime(2027, 1, 1)).map(lambda at: at.replace(tzinfo=UTC)),  # noqa: DTZ001
    zone=st.sampled_from(["UTC", "Asia/Tokyo", NEW_YORK, "Europe/London"]),
)
@settings(max_examples=examples(100))
def test_the_last_time_is_before_the_next(days, clock, since, zone):
    """No time of the day lies between the last up to a moment and the next after it, which are on expected days."""
    calendar = Calendar(ZoneInfo(zone), Weekdays.parse(",".join(days)), start=clock, end=clock)
    last, following = calendar.last_opening(since), calendar.next_opening(since + timedelta(microseconds=1))
    assert last <= since < following
    assert calendar.last_opening(following - timedelta(microseconds=1)) == last
    for moment in (last, following):
        assert f"{moment.astimezone(ZoneInfo(zone)):%a}".lower() in days


@pytest.mark.parametrize(
    ("wall", "now", "newest", "future"),
    [
        # 05:50 UTC was 01:50 for the first time; at 06:15 UTC the clock shows 01:15 again
        ("2026-11-01 01:50", "2026-11-01 06:15", "2026-11-01T05:50:00+00:00", 0),
        ("2026-11-01 01:10", "2026-11-01 06:15", "2026-11-01T06:10:00+00:00", 0),
        ("2026-11-01 02:30", "2026-11-01 06:15", None, 1),
        ("2026-11-01 01:50", "2026-11-01 05:30", None, 1),
        ("2026-11-01 01:50", "2026-11-01 07:30", "2026-11-01T06:50:00+00:00", 0),
        # 02:30 is skipped in spring: it lies before 03:10, whatever it means
        ("2026-03-08 02:30", "2026-03-08 07:10", "2026-03-08T06:30:00+00:00", 0),
    ],
)
def test_clocks_that_change(dialect, wall, now, newest, future):
    """A wall clock that is shown twice means the latest moment that is not after now, and is not taken for future."""
    with place(dialect, t=table(datetime.fromisoformat(wall))) as here:
        now = datetime.fromisoformat(now).replace(tzinfo=UTC)
        outcome = ask(Freshness(column="at", max_age="1h", skew="0s"), here, zones=Zones(NEW_YORK), now=now)
    assert outcome.observed["newest"] == newest
    assert outcome.observed["future_rows"] == future


@pytest.mark.parametrize("kind", ["int", "bool", "float"])
def test_column_that_holds_no_time(kind):
    """A column that is neither a time nor text is refused with its name and type."""
    with place("duckdb", t=table(kind=kind)) as here, pytest.raises(Misconfigured, match="column 'at' is of type"):
        Question(CHECK, here).wants()


@pytest.mark.parametrize(
    "wrong",
    [
        {"max_age": "0s"},
        {"max_age": "26 hours"},
        {"timezone": "Asia/Tokio"},
        {"expected": {"days": "someday"}},
        {"expected": {"start": "9:00"}},
        {"expected": {"by": "25:00"}},
        {"warn": {"skew": "1h"}},
        {"warn": {}},
    ],
)
def test_parameters(wrong):
    """Refuses lengths, days, clocks and zones that do not exist, and softer limits that are none."""
    with pytest.raises(ValidationError):
        Freshness(**{"column": "at", "max_age": "1h", **wrong})


def test_ancient_sentinel(dialect):
    """A table that holds only the first day of all calendars is old, not an error."""
    with place(dialect, t=table(datetime(1, 1, 1))) as here:  # noqa: DTZ001 - a naive column
        assert ask(CHECK, here, zones=Zones("Asia/Tokyo")).status is Status.FAIL


@pytest.mark.parametrize("dialect", ["duckdb", pytest.param("postgres", marks=pytest.mark.postgres)], indirect=True)
@pytest.mark.parametrize("kind", ["date", "timestamp", "timestamptz"])
@pytest.mark.parametrize("value", ["0044-03-15 BC", "-infinity"])
@pytest.mark.parametrize("zone", ["America/New_York", "Asia/Tokyo"])
@pytest.mark.parametrize("expected", [None, {"days": "mon-fri", "start": "09:00", "end": "18:00"}])
def test_a_date_before_the_year_1_is_older_than_any_limit(dialect, kind, value, zone, expected):
    """No driver reads it, and no calendar counts its days one by one."""
    written = value.replace("BC", "(BC)") if dialect == "duckdb" else value
    with place(dialect, t=table(written, kind=kind)) as here:
        check = Freshness(column="at", max_age="100d", expected=expected)
        outcome = ask(check, here, zones=Zones(zone))
    assert (outcome.status, outcome.observed["future_rows"]) == (Status.FAIL, 0)
    assert outcome.observed["newest"].startswith("0001-01-01")


def test_nanoseconds_are_read():
    """A type that begins after the year 1 has a newest value too."""
    with place("duckdb", t=table("2026-11-20 08:59:00.123456789", kind="timestamp_ns")) as here:
        assert ask(CHECK, here, zones=UTC_ZONE).status is Status.PASS


OFFSETS = st.timedeltas(-timedelta(hours=4), timedelta(hours=2)).map(
    lambda ago: timedelta(seconds=round(ago.total_seconds()))
)
AROUND_FALL_BACK = st.timedeltas(-3 * HOUR, 3 * HOUR).map(
    lambda apart: datetime(2026, 11, 1, 6, 0, tzinfo=UTC) + timedelta(seconds=round(apart.total_seconds()))
)


@settings(max_examples=examples(EXAMPLES))
@given(st.lists(OFFSETS, min_size=1, max_size=6), AROUND_FALL_BACK)
def test_agrees_with_python_around_the_repeated_hour(offsets, now):
    """Both engines find the newest wall clock that may have been written by now, and count the others."""
    zone = ZoneInfo(NEW_YORK)
    walls = [(now + offset).astimezone(zone).replace(tzinfo=None) for offset in offsets]
    usable = [wall for wall in walls if wall <= latest_local_time(now, zone)]
    newest = read_local_time(max(usable), zone, not_after=now).isoformat() if usable else None
    for dialect in ENGINES:
        with place(dialect, t=table(*walls)) as here:
            check = Freshness(column="at", max_age="1h", skew="0s", timezone=NEW_YORK)
            observed = ask(check, here, now=now).observed
        assert observed["newest"] == newest
        assert observed["future_rows"] == len(walls) - len(usable)
        assert observed["age_s"] is None or observed["age_s"] >= 0
