"""The data itself may say when it went bad."""

from datetime import UTC, date, datetime, timedelta, timezone

import pytest

from checks import Measurement, Occurrence, OccurrenceMethod, Zones
from checks._judge import as_utc, from_bad_rows
from tests.checks.ask import NOW

NAIVE = datetime(2026, 11, 20, 9, 0)  # noqa: DTZ001 - as a driver gives a naive column


@pytest.mark.parametrize(
    ("value", "zone", "moment"),
    [
        (NAIVE, "UTC", datetime(2026, 11, 20, 9, 0, tzinfo=UTC)),
        (NAIVE, "Asia/Tokyo", datetime(2026, 11, 20, 0, 0, tzinfo=UTC)),
        (NAIVE.replace(tzinfo=timezone(timedelta(hours=9))), None, datetime(2026, 11, 20, 0, 0, tzinfo=UTC)),
        ("2026-11-20 09:00:00", "UTC", datetime(2026, 11, 20, 9, 0, tzinfo=UTC)),
        ("2026-11-20T09:00:00Z", None, datetime(2026, 11, 20, 9, 0, tzinfo=UTC)),
        (date(2026, 11, 20), "Asia/Tokyo", datetime(2026, 11, 19, 15, 0, tzinfo=UTC)),
        (NAIVE, None, None),
        ("yesterday", "UTC", None),
        (1763629200, "UTC", None),
        (None, "UTC", None),
        (datetime(1, 1, 1), "Asia/Tokyo", None),  # noqa: DTZ001 - a sentinel
        (datetime(9999, 12, 31, 23, 59), "America/New_York", None),  # noqa: DTZ001 - a sentinel
    ],
)
def test_as_utc(value, zone, moment):
    """Times, dates and ISO text become moments; what names none, or only with a guess, becomes nothing."""
    assert as_utc(value, zone) == moment


def test_earliest_of_the_bad_rows():
    """The earliest known load time counts."""
    measurement = Measurement(NOW, {"first_bad_load": NOW}, loaded_at="loaded")
    earlier = NOW - timedelta(hours=1)
    assert from_bad_rows(measurement) == Occurrence(NOW, OccurrenceMethod.BAD_ROWS)
    assert from_bad_rows(measurement, None, earlier, "unknown") == Occurrence(earlier, OccurrenceMethod.BAD_ROWS)


def test_nothing_known():
    """Without a load time, or a zone for a naive one, the rows say nothing."""
    assert from_bad_rows(Measurement(NOW, {"first_bad_load": NOW})) is None
    assert from_bad_rows(Measurement(NOW, {}, loaded_at="loaded")) is None
    naive = Measurement(NOW, {"first_bad_load": NAIVE}, loaded_at="loaded")
    assert from_bad_rows(naive) is None
    declared = Measurement(NOW, {"first_bad_load": NAIVE}, loaded_at="loaded", zones=Zones(None, {"loaded": "UTC"}))
    assert from_bad_rows(declared).at == NAIVE.replace(tzinfo=UTC)
