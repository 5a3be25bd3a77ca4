"""The small words people type: durations, weekdays, clock times, zones."""

import re
from datetime import time, timedelta
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ValidationError

from checks.parameters.scalars import (
    Clock,
    Duration,
    PositiveDuration,
    SchemaOfText,
    Weekdays,
    Zone,
    parse_clock,
    parse_duration,
    say,
)

HOUR = timedelta(hours=1)


class Form(BaseModel):
    """A form with one field of each kind."""

    age: Duration = 26 * HOUR
    window: PositiveDuration = 7 * 24 * HOUR
    days: Weekdays = Weekdays.parse("mon-fri")
    start: Clock = time(9)
    zone: Zone = "UTC"


def problem(**given):
    """Return the message of the one error in a form."""
    with pytest.raises(ValidationError) as error:
        Form(**given)
    (one,) = error.value.errors()
    return one["msg"].removeprefix("Value error, ")


@pytest.mark.parametrize(
    ("text", "length"),
    [
        ("90s", timedelta(seconds=90)),
        ("15m", timedelta(minutes=15)),
        ("26h", 26 * HOUR),
        ("1d", 24 * HOUR),
        ("1w", 7 * 24 * HOUR),
        ("1h30m", 1.5 * HOUR),
        ("1w2d3h4m5s", timedelta(weeks=1, days=2, hours=3, minutes=4, seconds=5)),
        ("0s", timedelta()),
        ("1095d", timedelta(days=1095)),
    ],
)
def test_duration(text, length):
    """A duration is whole numbers with units, the largest first."""
    assert parse_duration(text) == length


@pytest.mark.parametrize(
    "wrong",
    ["", "26", "26 hours", "26H", "30m1h", "1h1h", "-1h", "+1h", "1.5h", " 1h", "1h ", "1y", "h", "PT1H", "1٣h"],
)
def test_what_is_no_duration(wrong):
    """Everything else is refused, and the message shows one that works."""
    assert problem(age=wrong).startswith(f"a duration such as 26h, not {wrong!r}; whole numbers with units")


def test_numbers_are_no_durations():
    """A bare number is refused with the text that was probably meant."""
    assert problem(age=60) == "a duration such as 26h, not the bare number 60; write 60s if seconds were meant"
    assert problem(age=True).startswith("a duration such as 26h, not True")
    assert problem(age=None).startswith("a duration such as 26h, not None")


def test_bounds_of_durations():
    """A duration is at most a hundred years, and where it must be, longer than nothing."""
    assert parse_duration("36525d") == timedelta(days=36_525)
    assert "between 0s and 36525d" in problem(age="36526d")
    assert "between 0s and 36525d" in problem(age="9999999999w")
    assert "between 0s and 36525d" in problem(age=timedelta(seconds=0.5))
    assert "between 0s and 36525d" in problem(age=timedelta(seconds=-1))
    assert problem(window="0s") == "a duration longer than 0s"


@given(st.integers(0, 36_525 * 86_400))
def test_duration_reads_back(seconds):
    """The text of a duration is read as the same duration."""
    length = timedelta(seconds=seconds)
    assert parse_duration(say(length)) == length


@pytest.mark.parametrize(
    ("length", "text"), [(26 * HOUR, "26h"), (24 * HOUR, "1d"), (1.5 * HOUR, "90m"), (timedelta(seconds=61), "61s")]
)
def test_text_of_a_duration(length, text):
    """A duration is written in the largest unit that divides it."""
    assert say(length) == text


@pytest.mark.parametrize(
    ("text", "numbers", "written"),
    [
        ("mon-fri", {0, 1, 2, 3, 4}, "mon-fri"),
        ("mon,wed", {0, 2}, "mon,wed"),
        ("sat-mon", {5, 6, 0}, "sat-mon"),
        ("sat,sun", {5, 6}, "sat,sun"),
        ("MON - Wed, sun", {0, 1, 2, 6}, "sun-wed"),
        ("sun-sat", {0, 1, 2, 3, 4, 5, 6}, "mon-sun"),
        ("tue", {1}, "tue"),
        ("mon-mon", {0}, "mon"),
    ],
)
def test_weekdays(text, numbers, written):
    """Ranges, also over the end of the week, and single days; Monday is 0."""
    days = Weekdays.parse(text)
    assert days.numbers == numbers
    assert list(days) == sorted(numbers)
    assert all((day in days) == (day in numbers) for day in range(7))
    assert str(days) == written


@given(st.frozensets(st.integers(0, 6), min_size=1))
def test_weekdays_read_back(numbers):
    """The text of weekdays is read as the same days."""
    assert Weekdays.parse(str(Weekdays(numbers))) == Weekdays(numbers)


def test_what_is_no_weekday():
    """An unknown day is refused, and the one meant is suggested."""
    assert problem(days="friday") == "weekdays such as mon-fri or mon,wed,sat, not 'friday'; did you mean 'fri'?"
    for wrong in ("", "mon-", "-mon", "mon,,tue", "mon;tue", 5, None):
        assert problem(days=wrong).startswith("weekdays such as mon-fri")


def test_clock():
    """A clock time is two digits, a colon, two digits, from 00:00 to 23:59."""
    assert parse_clock("00:00") == time()
    assert parse_clock("23:59") == time(23, 59)
    for wrong in ("9:00", "24:01", "12:60", "12", "12:00:00", "", None, 12.5):
        assert problem(start=wrong).startswith(f'a time such as "09:00", not {wrong!r}')


def test_traps_of_clocks():
    """Midnight at the end of a day, and clocks that YAML read as a number, are explained."""
    assert problem(start="24:00").endswith('; write "00:00" for midnight')
    assert problem(start=1140).endswith("; put it in quotes, YAML reads an unquoted 19:00 as a number")


@pytest.mark.parametrize("name", ["UTC", "Asia/Tokyo", "America/Argentina/Buenos_Aires", "Etc/GMT+9"])
def test_zone(name):
    """A zone is one that IANA names."""
    assert Form(zone=name).zone == name


@pytest.mark.parametrize(
    "name",
    [
        "Asia/Tokio",
        "JST+9",
        "America",
        "",
        "/etc/passwd",
        "../UTC",
        "localtime",
        "posix/UTC",
        "right/UTC",
        "posixrules",
        "\0",
    ],
)
def test_what_is_no_zone(name):
    """Unknown names, folders and other files are no zones."""
    assert problem(zone=name).startswith(f"an IANA time zone such as Asia/Tokyo, not {name!r}")


def test_nearest_zone_is_suggested():
    """A misspelt zone is corrected."""
    assert problem(zone="asia/tokio").endswith("; did you mean 'Asia/Tokyo'?")


def test_is_written_as_text():
    """A form is written back as it was typed, and read again as the same form."""
    form = Form(age="1h30m", days="sat-mon,wed", start="09:30", zone="Asia/Tokyo")
    text = {"age": "90m", "window": "7d", "days": "wed,sat-mon", "start": "09:30", "zone": "Asia/Tokyo"}
    assert form.model_dump() == form.model_dump(mode="json") == text
    assert Form.model_validate(text) == form


def test_values_are_taken_as_they_are():
    """What is a duration, weekdays or a clock time already needs no reading."""
    form = Form(age=HOUR, days=Weekdays.parse("sun"), start=time(7, 30))
    assert (form.age, str(form.days), form.start) == (HOUR, "sun", time(7, 30))


def test_schema_for_editors():
    """The schema has a pattern, a description and examples of each kind, and defaults as they are typed."""
    properties = Form.model_json_schema(schema_generator=SchemaOfText)["properties"]
    assert {name: one["default"] for name, one in properties.items()} == Form().model_dump()
    for name, one in properties.items():
        assert one["description"]
        assert all(re.search(one["pattern"], example) for example in one["examples"]), name
        assert all(Form.model_validate({name: example}) for example in one["examples"])
        assert re.search(one["pattern"], str(one["default"]))


@given(st.text(max_size=8))
def test_pattern_of_durations_is_what_is_read(text):
    """The pattern that editors check is the one that is read."""
    pattern = Form.model_json_schema()["properties"]["age"]["pattern"]
    try:
        parse_duration(text)
    except ValueError:
        readable = False
    else:
        readable = True
    assert not readable or re.search(pattern, text)


def test_ranks():
    """Days in a range follow one another."""
    assert all(later - earlier == 1 for earlier, later in pairwise(Weekdays.parse("mon-sun")))
