"""Dates and times in weeks, months, years and so on."""

from datetime import UTC, date, datetime, timedelta
from typing import Any

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from remedies import Misfit
from remedies.generalisation import DateLevel, dates
from tests.remedies.generalisation.hierarchy_laws import assert_sound

_CHAINS = st.sets(st.sampled_from([level for level in DateLevel if level is not DateLevel.WEEK]), min_size=1).map(
    lambda found: sorted(found, key=list(DateLevel).index)
)


def test_a_date_at_every_level() -> None:
    """From the day to the decade."""
    levels = ["day", "month", "quarter", "year", "5-year", "decade"]
    made = dates([date(2024, 5, 17), date(1999, 12, 31), None], levels=levels)
    assert list(zip(*made.levels, strict=True)) == [
        ("1999-12-31", "1999-12-31", "1999-12", "1999-Q4", "1999", "1995-1999", "1990-1999", "*"),
        ("2024-05-17", "2024-05-17", "2024-05", "2024-Q2", "2024", "2020-2024", "2020-2029", "*"),
    ]


def test_weeks_are_those_of_iso_8601() -> None:
    """The last days of a year may be in the first week of the next."""
    made = dates(["2024-12-29", "2024-12-30", "2021-01-03"], levels=["day", "week"], root=None)
    assert made.levels[2] == ("2020-W53", "2024-W52", "2025-W01")


def test_times_and_other_spellings_are_dates() -> None:
    """A pandas column of times, a time with a zone by its own clock, and texts with a pattern."""
    times = pd.Series(pd.to_datetime(["2024-05-17 10:30", "2024-05-17"], format="ISO8601"))
    assert dates(times, levels=["day"]).levels[:2] == (("2024-05-17", "2024-05-17T10:30:00"), ("2024-05-17",) * 2)
    late = datetime(2024, 5, 31, 23, 59, tzinfo=UTC)
    assert dates([late], levels=["month"]).levels[1] == ("2024-05",)
    born = ["1/21/76", "4/13/86", "2/28/76"]
    assert dates(born, levels=["year"], pattern="%m/%d/%y").levels == (
        ("1/21/76", "2/28/76", "4/13/86"),
        ("1976", "1976", "1986"),
        ("*",) * 3,
    )


@given(st.lists(st.dates(), min_size=1), _CHAINS)
def test_levels_nest(days: list[date], levels: list[DateLevel]) -> None:
    """Whatever levels are taken, as long as no week is among them; values ascend."""
    made = dates(days, levels=levels)
    assert_sound(made, days)
    assert list(made.values) == sorted(made.values)


@given(st.dates(date(1, 1, 1), date(9999, 12, 30)))
def test_a_week_has_seven_days(day: date) -> None:
    """Monday to Sunday."""
    monday = min(max(day - timedelta(day.weekday()), date(1, 1, 1)), date(9999, 12, 20))
    week = [monday + timedelta(number) for number in range(7)]
    assert len(set(dates(week, levels=["week"]).levels[1])) == 1


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"levels": []}, "no level; expected some of day, week"),
        ({"levels": ["hour"]}, "no level 'hour' of dates"),
        ({"levels": ["week", "month"]}, "level 'month' splits level 'week': a week may begin in one month"),
        ({"levels": ["week", "5-year"]}, "level '5-year' splits level 'week'"),
        ({"levels": ["year", "month"]}, "level 'month' comes after 'year'; expected each level once, from fine"),
        ({"levels": ["year", "year"]}, "level 'year' comes after 'year'"),
        ({"levels": ["year"], "pattern": "%d.%m.%Y"}, "1 of 1 values are no dates; expected the pattern %d.%m.%Y"),
    ],
)
def test_levels_that_do_not_nest_are_refused(given: dict[str, Any], message: str) -> None:
    """It says which level splits which."""
    with pytest.raises(Misfit, match=message):
        dates(["2024-05-17"], **given)


def test_what_is_no_date_is_counted() -> None:
    """And not shown."""
    with pytest.raises(Misfit, match="2 of 3 values are no dates; expected ISO dates such as 2024-05-17") as caught:
        dates(["2024-05-17", "yesterday", "2024-13-01"], levels=["year"])
    assert "yesterday" not in str(caught.value)
