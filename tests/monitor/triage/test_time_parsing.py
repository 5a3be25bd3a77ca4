"""Reading the times that people type."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.triage.time_parsing import TimeReader, UnreadableTime, format_time

_NOW = datetime(2026, 11, 20, 9, 0, tzinfo=UTC)
_TOKYO = TimeReader("Asia/Tokyo", _NOW)
_NEW_YORK = TimeReader("America/New_York", _NOW)


@pytest.mark.parametrize(
    "text",
    [
        "2026-11-11T10:10+09:00",
        "2026-11-11T01:10Z",
        "2026-11-11 01:10 z",
        "2026-11-11T10:10:00.000+0900",
        "2026-11-10T20:10:00,000000-05:00",
    ],
)
def test_an_offset_settles_the_moment(text: str) -> None:
    """A time with an offset is the same moment whatever the project's zone, and nothing is assumed."""
    for reader in (_TOKYO, _NEW_YORK):
        moment = reader.read(text)
        assert moment.at == datetime(2026, 11, 11, 1, 10, tzinfo=UTC)
        assert not moment.assumed


@pytest.mark.parametrize("text", ["2026-11-11T10:10", "2026-11-11 10:10", " 2026-11-11  10:10:00 "])
def test_a_time_without_an_offset_is_the_projects(text: str) -> None:
    """A time without an offset is read on the project's wall clock, and that is said."""
    moment = _TOKYO.read(text)
    assert (moment.at, moment.assumed) == (datetime(2026, 11, 11, 1, 10, tzinfo=UTC), True)


@pytest.mark.parametrize("patterns", [(), ("%d/%m/%Y",)])
def test_numbers_of_a_file_are_seconds_or_milliseconds_since_1970(patterns: tuple[str, ...]) -> None:
    """Ticket systems export them; users do not type them, so there they are refused."""
    files = TimeReader("Asia/Tokyo", _NOW, patterns, relative=False)
    second = datetime(2025, 11, 24, 9, 12, 33, tzinfo=UTC)
    assert files.read("1763975553") == (second, False)
    assert files.read(" 1763975553123 ") == (second + timedelta(milliseconds=123), False)
    for text in ("176397555", "17639755531", "1763975553.5"):
        with pytest.raises(UnreadableTime):
            files.read(text)
    with pytest.raises(UnreadableTime):
        _TOKYO.read("1763975553")


def test_a_form_that_is_not_known_names_the_option() -> None:
    """Of a file, the next step is to say what its times look like."""
    with pytest.raises(UnreadableTime, match="--time-format names another form"):
        TimeReader("UTC", _NOW, relative=False).read("24/Nov/25 9:12 AM")


def test_times_may_be_told_from_now() -> None:
    """`now` and `2h ago` are relative to the present."""
    assert _TOKYO.read("now").at == _NOW
    assert _TOKYO.read("2h ago").at == _NOW - timedelta(hours=2)
    assert _TOKYO.read("1h30m ago").at == _NOW - timedelta(minutes=90)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("2026-11-11", "is a date without a time; expected a date and time"),
        ("2026/11/11", "is a date without a time; expected a date and time"),
        ("2026/13/11 10:10", "not a valid date or time"),
        ("2026-11-31", "not a valid date or time"),
        ("yesterday", "is not a valid time; expected 2026-11-11T10:10+09:00"),
        ("2026-02-30T10:00", "not a valid date or time"),
        ("2026-11-11T25:00", "not a valid date or time"),
        ("11/11/2026 10:10", "is not a valid time"),
        ("2026-11-11T10:10+99:00", "not a valid date or time"),
        ("0001-01-01T00:00+14:00", "is out of range; expected a year from 1970 to 2199"),
        ("two hours ago", "a duration such as 26h"),
        ("", "is not a valid time"),
    ],
)
def test_what_is_no_time_is_refused(text: str, said: str) -> None:
    """What is no time is refused with a form that works."""
    with pytest.raises(UnreadableTime, match=said.replace("+", r"\+")):
        _TOKYO.read(text)


def test_an_hour_that_clocks_skip_or_repeat_is_not_guessed() -> None:
    """A time that clocks skip is refused; one they show twice asks for its offset, and with the offset it is read."""
    with pytest.raises(UnreadableTime, match="does not exist in America/New_York"):
        _NEW_YORK.read("2026-03-08T02:30")
    with pytest.raises(UnreadableTime, match=r"is ambiguous.*-04:00 or -05:00"):
        _NEW_YORK.read("2026-11-01T01:30")
    assert _NEW_YORK.read("2026-11-01T01:30-05:00").at == datetime(2026, 11, 1, 6, 30, tzinfo=UTC)


def test_a_windows_ends_may_be_days_and_lengths() -> None:
    """An end of a window may be a day, which begins at midnight in the project's zone, or a length of time ago."""
    assert _TOKYO.read_bound("2026-11-01") == datetime(2026, 10, 31, 15, tzinfo=UTC)
    assert _TOKYO.read_bound("7d") == _NOW - timedelta(days=7)
    assert _TOKYO.read_bound("2026-11-01T00:00Z") == datetime(2026, 11, 1, tzinfo=UTC)
    with pytest.raises(UnreadableTime, match="not a valid date or time"):
        _TOKYO.read_bound("2026-11-31")
    with pytest.raises(UnreadableTime, match="out of range"):
        _TOKYO.read_bound("9999-12-31")
    with pytest.raises(UnreadableTime, match="is not a valid time"):
        _TOKYO.read_bound("last week")


def test_a_ticket_system_has_its_own_way_of_writing_times() -> None:
    """With a pattern, times without an offset are read by it only; they are the zone's."""
    reader = TimeReader("Asia/Tokyo", _NOW, ("%d/%m/%Y %H:%M",))
    assert reader.read("29/2/2016 01:16").at == datetime(2016, 2, 28, 16, 16, tzinfo=UTC)
    with pytest.raises(UnreadableTime, match="not a time of the form %d/%m/%Y"):
        reader.read("2016-02-29 01:16")
    assert reader.read("2016-02-29T01:16Z").at == datetime(2016, 2, 29, 1, 16, tzinfo=UTC)


def test_patterns_that_disagree_are_not_guessed_between() -> None:
    """Of several patterns the one that fits is used; a time that two of them read differently is refused."""
    reader = TimeReader("Asia/Tokyo", _NOW, ("%d/%m/%Y %H:%M", "%m/%d/%Y %H:%M"))
    assert reader.read("29/2/2016 01:16") == reader.read("2/29/2016 01:16")
    assert reader.read("2/2/2016 01:16").at == datetime(2016, 2, 1, 16, 16, tzinfo=UTC)
    with pytest.raises(UnreadableTime, match="is ambiguous between"):
        reader.read("3/4/2016 01:16")


@pytest.mark.parametrize(
    "text", ["2026/11/05 09:30", "2026/11/5 9:30", "2026/11/05 09:30:00", "2026/11/05 09:30+09:00"]
)
def test_a_year_may_be_followed_by_slashes(text: str) -> None:
    """A time as spreadsheets write it in Japan, its year first, is read without a pattern."""
    assert _TOKYO.read(text).at == datetime(2026, 11, 5, 0, 30, tzinfo=UTC)


def test_only_what_is_read_is_proposed() -> None:
    """Where times are not relative to now, `2h ago` is refused and not proposed."""
    with pytest.raises(UnreadableTime, match="or '2h ago'"):
        _TOKYO.read("soon")
    for text in ("soon", "2h ago", "now"):
        with pytest.raises(UnreadableTime, match=r"is not a valid time; expected (?!.*ago)"):
            TimeReader("Asia/Tokyo", _NOW, relative=False).read(text)


@given(st.datetimes(min_value=datetime(1990, 1, 1), max_value=datetime(2090, 1, 1)))  # noqa: DTZ001 - made aware below
def test_what_is_written_is_read_back(naive: datetime) -> None:
    """Any moment written with its offset is read back exactly."""
    moment = naive.replace(tzinfo=UTC)
    assert _NEW_YORK.read(moment.isoformat()).at == moment


def test_times_are_said_on_the_projects_clock() -> None:
    """A moment is said on the project's wall clock."""
    assert format_time(datetime(2026, 11, 11, 1, 10, tzinfo=UTC), "Asia/Tokyo") == "Wed 2026-11-11 10:10"
